// SPDX-License-Identifier: Apache-2.0
// The comparison with reference operations: what passes, what fails and what is said of it.
#include <limits>

#include "sim/values/convert.hpp"
#include "tests/kernels/support.hpp"

namespace npulab::kernels::test {
namespace {

using isa::DType;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Bytes encoded(DType type, const std::vector<double>& elements) {
  Bytes bytes(elements.size() * isa::bits(type) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    values::from_double(type, elements[i], bytes.data(), i, isa::Round::nearest_even, false);
  return bytes;
}

// y = A x with given numbers and a given result.
struct Question {
  DType type = DType::f16;
  DType result = DType::f16;
  std::string accumulate = "f16";
  std::vector<double> a;
  std::vector<double> x;
  std::vector<double> y;
  std::uint64_t unwritten = 0;
  std::string operation = "gemv";
};

isa::KernelHeader header_of(const Question& question) {
  const auto columns = static_cast<std::int64_t>(question.x.size());
  const auto rows = static_cast<std::int64_t>(question.y.size());
  isa::KernelHeader header;
  header.name = "mine";
  const auto add = [&](const std::string& name, DType type, std::vector<std::int64_t> shape,
                       isa::Direction direction) {
    isa::Tensor one;
    one.name = name;
    one.type = type;
    one.pitch = shape.back();
    one.shape = std::move(shape);
    one.direction = direction;
    header.tensors.push_back(one);
  };
  add("A", question.type, {rows, columns}, isa::Direction::in);
  add("x", question.type, {columns}, isa::Direction::in);
  add("y", question.result, {rows}, isa::Direction::out);
  header.reference = {question.operation,
                      {{"A", "A"}, {"x", "x"}, {"y", "y"}, {"accumulate", question.accumulate}}};
  return header;
}

CheckData answer(const Question& question, const isa::KernelHeader& header) {
  const Bytes a = encoded(question.type, question.a);
  const Bytes x = encoded(question.type, question.x);
  const Bytes y = encoded(question.result, question.y);
  return check(header, machine("tiny"), {{"A", a}, {"x", x}}, {{"y", {y, question.unwritten}}});
}
CheckData answer(const Question& question) {
  return answer(question, header_of(question));
}

TEST(Reference, ExactResultPasses) {
  const CheckData data = answer({.a = {1, 2, 3, 4}, .x = {10, 1}, .y = {12, 34}});
  EXPECT_TRUE(data.passed);
  EXPECT_EQ(data.elements, 2U);
  EXPECT_EQ(data.mismatches, 0U);
  EXPECT_EQ(data.max_ulp, 0.0);
  EXPECT_TRUE(data.worst.empty());
  EXPECT_EQ(data.closest, "");
}

// Off by one at both: of y[0]'s bound that is the larger part.
TEST(Reference, TheElementClosestToItsBoundIsNamedWithIt) {
  const Question question{.a = {16, 1, 2048, 1}, .x = {1, 1}, .y = {16, 2048}};
  const CheckData data = answer(question);
  EXPECT_EQ(data.closest, "y[0]");
  EXPECT_EQ(data.closest_error, 1.0);
  EXPECT_GT(data.closest_bound, 0.0);
  EXPECT_EQ(data.max_ulp, 64.0);
  EXPECT_EQ(data.max_ulp_bound, data.closest_bound * 64);
  EXPECT_FALSE(data.passed);

  const CheckData near = answer({.a = {2048, 1}, .x = {1, 1}, .y = {2048}});
  EXPECT_TRUE(near.passed);
  EXPECT_EQ(near.closest, "y[0]");
  EXPECT_LE(near.closest_error, near.closest_bound);
  EXPECT_LE(near.max_ulp, near.max_ulp_bound);
}

TEST(Reference, WrongElementIsNamed) {
  const CheckData data = answer({.a = {1, 2, 3, 4}, .x = {10, 1}, .y = {12, 35}});
  EXPECT_FALSE(data.passed);
  EXPECT_EQ(data.mismatches, 1U);
  EXPECT_EQ(data.max_abs_error, 1.0);
  EXPECT_EQ(data.max_ulp, 32.0);
  ASSERT_EQ(data.worst.size(), 1U);
  const WrongElement& worst = data.worst[0];
  EXPECT_EQ(worst.tensor, "y");
  EXPECT_EQ(worst.index, std::vector<std::uint64_t>{1});
  EXPECT_EQ(worst.got, 35);
  EXPECT_EQ(worst.expected, 34);
  EXPECT_EQ(worst.ulp, 32.0);
  EXPECT_EQ(worst.relative, 1.0 / 34);
  EXPECT_LT(worst.bound, 1.0);
}

TEST(Reference, RoundingWithinTheBoundPasses) {
  // 2048 + 1 is not an f16.
  const Question question{.a = {2048, 1}, .x = {1, 1}, .y = {2048}};
  EXPECT_TRUE(answer(question).passed);
  EXPECT_EQ(answer(question).max_ulp, 0.5);
  // The same in f32 is a mismatch: it is one there.
  EXPECT_FALSE(
      answer({.result = DType::f32, .accumulate = "f32", .a = {2048, 1}, .x = {1, 1}, .y = {2048}}).passed);
}

TEST(Reference, NanIsNeverEqualByAccident) {
  EXPECT_FALSE(answer({.a = {1, 1}, .x = {1, 1}, .y = {kNan}}).passed);
  EXPECT_FALSE(answer({.a = {kNan, 1}, .x = {1, 1}, .y = {2}}).passed);
  EXPECT_TRUE(answer({.a = {kNan, 1}, .x = {1, 1}, .y = {kNan}}).passed);
  EXPECT_TRUE(answer({.a = {kInf, -kInf}, .x = {1, 1}, .y = {kNan}}).passed);
  EXPECT_TRUE(answer({.a = {kInf, 1}, .x = {0, 1}, .y = {kNan}}).passed);
}

// -log2 of the relative error: one step of f16 at 1 is 2^-10 of it, half of the elements being exact.
TEST(Reference, NU_07_effective_bits_are_those_that_agree) {
  const auto bits = [](const std::vector<double>& y) {
    return answer({.a = std::vector<double>(y.size(), 1), .x = {1}, .y = y}).effective_bits;
  };
  EXPECT_EQ(bits({1, 1}), std::nullopt);
  EXPECT_DOUBLE_EQ(bits({1, 1 + 0x1p-10}).value(), 10.5);
  EXPECT_DOUBLE_EQ(bits({1 + 0x1p-10}).value(), 10.0);
  EXPECT_DOUBLE_EQ(bits({0, 0}).value(), 0.0);
  EXPECT_EQ(bits({1000, 1}), 0.0);
  EXPECT_EQ(bits({1, kNan}), 0.0);
  EXPECT_EQ(bits({1, kInf}), 0.0);
  EXPECT_EQ(answer({.a = {0}, .x = {1}, .y = {1}}).effective_bits, 0.0);
}

TEST(Reference, WhatIsNoNumberHasNoDistance) {
  const CheckData data = answer({.a = {1, 1, 0}, .x = {1}, .y = {kNan, 2, 1}});
  EXPECT_EQ(data.mismatches, 3U);
  ASSERT_EQ(data.worst.size(), 3U);
  EXPECT_EQ(data.worst[0].index, std::vector<std::uint64_t>{0});
  EXPECT_FALSE(data.worst[0].ulp);
  EXPECT_FALSE(data.worst[0].relative);
  for (const WrongElement& one : data.worst) EXPECT_EQ(one.relative.has_value(), one.expected == one.got / 2);
  EXPECT_EQ(data.max_relative_error, 1.0);
}

TEST(Reference, InfinityMustHaveAReason) {
  EXPECT_TRUE(answer({.a = {kInf, 1}, .x = {1, 1}, .y = {kInf}}).passed);
  EXPECT_FALSE(answer({.a = {kInf, 1}, .x = {1, 1}, .y = {-kInf}}).passed);
  EXPECT_FALSE(answer({.a = {1000, 1}, .x = {1, 1}, .y = {kInf}}).passed);
  EXPECT_FALSE(answer({.a = {kInf, 1}, .x = {1, 1}, .y = {65504}}).passed);
  // 60000 + 60000 - 60000 may overflow on the way or not, as the order is.
  EXPECT_TRUE(answer({.a = {60000, 60000, -60000}, .x = {1, 1, 1}, .y = {kInf}}).passed);
  EXPECT_TRUE(answer({.a = {60000, 60000, -60000}, .x = {1, 1, 1}, .y = {60000}}).passed);
  EXPECT_FALSE(answer({.a = {60000, 60000, -60000}, .x = {1, 1, 1}, .y = {1000}}).passed);
}

TEST(Reference, SubnormalsHaveTheirSpacing) {
  constexpr double kTiny = 0x1p-24;  // the smallest f16
  EXPECT_TRUE(answer({.a = {kTiny}, .x = {1}, .y = {kTiny}}).passed);
  EXPECT_TRUE(answer({.a = {kTiny}, .x = {0.25}, .y = {0}}).passed);
  EXPECT_FALSE(answer({.a = {kTiny}, .x = {1}, .y = {8 * kTiny}}).passed);
}

TEST(Reference, SH_15_unwritten_output_is_said) {
  const CheckData data = answer({.a = {1, 2, 3, 4}, .x = {10, 1}, .y = {12, 34}, .unwritten = 2});
  EXPECT_FALSE(data.passed);
  ASSERT_EQ(data.outputs.size(), 1U);
  EXPECT_EQ(data.outputs[0].name, "y");
  EXPECT_EQ(data.outputs[0].unwritten_bytes, 2U);
  EXPECT_EQ(data.outputs[0].bytes, 4U);
  EXPECT_TRUE(data.worst.empty());
}

TEST(Reference, IntegersAreExact) {
  Question question{.type = DType::i8,
                    .result = DType::i32,
                    .accumulate = "i32",
                    .a = {-128, 127},
                    .x = {-128, 1},
                    .y = {16511}};
  EXPECT_TRUE(answer(question).passed);
  question.y = {16512};
  EXPECT_FALSE(answer(question).passed);
}

TEST(Reference, OnlyTheWorstAreListed) {
  Question question{.a = {}, .x = {1}, .y = {}};
  for (int i = 0; i < 40; ++i) {
    question.a.push_back(1);
    question.y.push_back(2 + i);
  }
  const CheckData data = answer(question);
  EXPECT_EQ(data.mismatches, 40U);
  ASSERT_EQ(data.worst.size(), 10U);
  EXPECT_EQ(data.worst[0].index, std::vector<std::uint64_t>{39});
}

TEST(Reference, RefusalsNameTheRule) {
  const Question fine{.a = {1}, .x = {1}, .y = {1}};
  const auto code = [&](const isa::KernelHeader& header) {
    const auto error = refusal([&] { answer(fine, header); });
    return error ? error->code() : "";
  };
  isa::KernelHeader header = header_of(fine);
  header.reference.operation = "";
  EXPECT_EQ(code(header), "no-reference");
  header.reference.operation = "gemmv";
  EXPECT_EQ(code(header), "unknown-reference");
  header = header_of(fine);
  header.reference.arguments.erase("x");
  EXPECT_EQ(code(header), "reference-argument");
  header = header_of(fine);
  header.reference.arguments["x"] = "z";
  EXPECT_EQ(code(header), "reference-argument");
  header = header_of(fine);
  header.reference.arguments["accumulate"] = "i32";
  EXPECT_EQ(code(header), "reference-argument");
  header = header_of(fine);
  header.tensors[0].shape = {1, 1, 1};
  EXPECT_EQ(code(header), "reference-argument");
  header = header_of(fine);
  header.tensors[1].shape = {2};
  EXPECT_EQ(code(header), "wrong-size");
  const auto missing = refusal([&] { check(header_of(fine), machine("tiny"), {}, {}); });
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->code(), "missing-tensor");
}

}  // namespace
}  // namespace npulab::kernels::test
