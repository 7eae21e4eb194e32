// SPDX-License-Identifier: Apache-2.0
// exp, log, sqrt, rsqrt, reciprocal, tanh, erf: every encoding of the 16-bit types, dense samples of f32,
// against the host's long double functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "calls.hpp"

namespace npulab::values::testing {
namespace {

struct FunctionRow {
  Op op;
  long double (*apply)(long double);
};
const std::array kFunctions{FunctionRow{Op::Vexp, [](long double x) { return std::exp(x); }},
                            FunctionRow{Op::Vlog, [](long double x) { return std::log(x); }},
                            FunctionRow{Op::Vsqrt, [](long double x) { return std::sqrt(x); }},
                            FunctionRow{Op::Vrsqrt, [](long double x) { return 1 / std::sqrt(x); }},
                            FunctionRow{Op::Vrec, [](long double x) { return 1 / x; }},
                            FunctionRow{Op::Vtanh, [](long double x) { return std::tanh(x); }},
                            FunctionRow{Op::Verf, [](long double x) { return std::erf(x); }}};

// To double rounded to odd, so that the rounding to the type is the only one.
double to_odd(long double x) {
  const auto near = static_cast<double>(x);
  const long double lost = x - near;
  auto bits = std::bit_cast<std::uint64_t>(near);
  if (!std::isfinite(near) || lost == 0 || (bits & 1) != 0) return near;
  if (near == 0) return lost > 0 ? 0x1p-1074 : -0x1p-1074;
  return std::bit_cast<double>((lost > 0) == (near > 0) ? bits + 1 : bits - 1);
}

TEST(Functions, correctly_rounded_for_every_16_bit_encoding) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const Bytes a = bytes_from(all);
  for (const DType type : {DType::f16, DType::bf16})
    for (const FunctionRow& function : kFunctions) {
      std::vector<std::uint16_t> expected(all.size());
      for (std::size_t i = 0; i < all.size(); ++i)
        expected[i] = static_cast<std::uint16_t>(
            encode_float(type, to_odd(function.apply(decode_float(type, all[i])))));
      for (const SimdPath path : paths()) {
        const Call call{function.op, type};
        const auto got = elements_from<std::uint16_t>(run(path, call, all.size(), Bytes(a.size()), a));
        for (std::size_t i = 0; i < all.size(); ++i)
          ASSERT_EQ(got[i], expected[i]) << label(path, call) << " of " << decode_float(type, all[i]);
      }
    }
}

// Distance from the exact value in units of the last place of f32 at that value.
double ulps(float got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(static_cast<float>(exact))) return 0;
  if (!std::isfinite(got) || std::fabs(exact) > std::numeric_limits<float>::max()) return INFINITY;
  const int exponent = std::max(std::ilogb(exact), -126);
  return static_cast<double>(std::fabs(got - exact) / std::ldexp(1.0L, exponent - 23));
}

double worst_ulps(SimdPath path, const FunctionRow& function, const std::vector<float>& inputs,
                  float& where) {
  const Bytes a = bytes_from(inputs);
  const auto got =
      elements_from<float>(run(path, {function.op, DType::f32}, inputs.size(), Bytes(a.size()), a));
  double worst = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double error = ulps(got[i], function.apply(inputs[i]));
    if (error > worst) {
      worst = error;
      where = inputs[i];
    }
  }
  return worst;
}

TEST(Functions, f32_within_0_501_ulp) {
  std::mt19937_64 random(9);
  std::vector<float> inputs{0.0F,       -0.0F,     1,           -1,          INFINITY,
                            -INFINITY,  NAN,       0x1p-149F,   0x1p-126F,   3.4028235e38F,
                            88.72284F,  88.72283F, -87.33655F,  -103.97208F, -103.97207F,
                            3.9192059F, 9.010913F, 0.99999994F, 1.0000001F};
  for (int i = 0; i < 60000; ++i)
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (int i = 0; i < 60000; ++i)  // where the functions move
    inputs.push_back(static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 *
                                            (i % 3 == 0   ? 2
                                             : i % 3 == 1 ? 10
                                                          : 180) -
                                        (i % 3 == 0   ? 1
                                         : i % 3 == 1 ? 5
                                                      : 90)));
  for (const SimdPath path : paths())
    for (const FunctionRow& function : kFunctions) {
      float where = 0;
      const double worst = worst_ulps(path, function, inputs, where);
      EXPECT_LE(worst, 0.501) << label(path, {function.op, DType::f32}) << " at " << where;
    }
}

TEST(Functions, special_values) {
  const double infinity = INFINITY;
  for (const SimdPath path : paths())
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const auto apply = [&](Op op, double x, bool saturate = false) {
        const Bytes a = values_of(type, {x});
        const Call call{op, type, DType::none, {Round::nearest_even, saturate, false}};
        return to_double(type, run(path, call, 1, Bytes(a.size()), a).data());
      };
      const double most = decode_float(type, largest_finite(type));
      EXPECT_EQ(apply(Op::Vexp, 0), 1);
      EXPECT_EQ(apply(Op::Vexp, -infinity), 0);
      EXPECT_EQ(apply(Op::Vexp, 1000), infinity);
      EXPECT_EQ(apply(Op::Vexp, 1000, true), most);
      EXPECT_EQ(apply(Op::Vlog, 1), 0);
      EXPECT_FALSE(std::signbit(apply(Op::Vlog, 1)));
      EXPECT_EQ(apply(Op::Vlog, -0.0), -infinity);
      EXPECT_EQ(apply(Op::Vlog, 0, true), -most);
      EXPECT_TRUE(std::isnan(apply(Op::Vlog, -1)));
      EXPECT_EQ(apply(Op::Vlog, infinity), infinity);
      EXPECT_EQ(apply(Op::Vrsqrt, 0), infinity);
      EXPECT_EQ(apply(Op::Vrsqrt, infinity), 0);
      EXPECT_TRUE(std::isnan(apply(Op::Vrsqrt, -1)));
      EXPECT_EQ(apply(Op::Vrsqrt, 0.25), 2);
      EXPECT_TRUE(std::signbit(apply(Op::Vsqrt, -0.0)));
      EXPECT_TRUE(std::isnan(apply(Op::Vsqrt, -1)));
      EXPECT_EQ(apply(Op::Vrec, -0.0), -infinity);
      EXPECT_EQ(apply(Op::Vtanh, infinity), 1);
      EXPECT_EQ(apply(Op::Verf, -infinity), -1);
      EXPECT_TRUE(std::signbit(apply(Op::Verf, -0.0)));
      EXPECT_TRUE(std::signbit(apply(Op::Vtanh, -0.0)));
      for (const FunctionRow& function : kFunctions) EXPECT_TRUE(std::isnan(apply(function.op, NAN)));
    }
}

}  // namespace
}  // namespace npulab::values::testing
