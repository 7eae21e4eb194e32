// SPDX-License-Identifier: Apache-2.0
// Built-in tensor data: known bits, ranges, refusals.
#include "sim/values/generate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "calls.hpp"
#include "isa/error.hpp"

namespace npulab::values::testing {
namespace {

Bytes filled(DType type, std::uint64_t elements, std::string_view spec) {
  Bytes data(bytes_of(type, elements));
  fill(type, data.data(), elements, spec);
  return data;
}
std::vector<double> filled_values(DType type, std::uint64_t elements, std::string_view spec) {
  return values_from(type, filled(type, elements, spec), elements);
}

std::string refusal(DType type, std::string_view spec) {
  try {
    filled(type, 4, spec);
  } catch (const Error& error) {
    return error.category() == Category::input ? error.code() + "|" + error.message() : "wrong category";
  }
  return "accepted";
}

TEST(Generate, random_is_the_published_generator) {
  // xoshiro256** seeded with splitmix64(1): the first outputs.
  const auto draws = elements_from<std::uint64_t>(filled(DType::i8, 32, "random"));
  EXPECT_EQ(draws[0], 0xb3f2af6d0fc710c5U);
  EXPECT_EQ(draws[1], 0x853b559647364ceaU);
  EXPECT_EQ(filled(DType::i8, 32, "random:1"), filled(DType::i8, 32, "random"));
  EXPECT_NE(filled(DType::i8, 32, "random:2"), filled(DType::i8, 32, "random"));
}

TEST(Generate, random_floats_are_uniform_in_minus_one_to_one) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const auto values = filled_values(type, 100001, "random:5");
    const auto wide = filled_values(DType::f32, 100001, "random:5");
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_LE(std::fabs(wide[i]), 1);
      ASSERT_NE(wide[i], 1);
      ASSERT_EQ(values[i], decode_float(type, encode_float(type, wide[i])));
      sum += wide[i];
      squares += wide[i] * wide[i];
    }
    EXPECT_NEAR(sum / 100001, 0, 0.01);
    EXPECT_NEAR(squares / 100001, 1.0 / 3, 0.01);
  }
}

TEST(Generate, random_integers_cover_their_range) {
  for (const DType type : {DType::i8, DType::u8, DType::i4}) {
    const auto values = filled_values(type, 20001, "random:3");
    const std::set<double> seen(values.begin(), values.end());
    EXPECT_EQ(seen.size(), std::size_t{1} << isa::bits(type));
  }
}

TEST(Generate, plain_data) {
  for (const isa::DTypeInfo& type : isa::kDTypes) {
    EXPECT_EQ(filled_values(type.type, 5, "zeros"), std::vector<double>(5, 0));
    EXPECT_EQ(filled_values(type.type, 5, "ones"), std::vector<double>(5, 1));
    EXPECT_EQ(filled_values(type.type, 5, "arange"), (std::vector<double>{0, 1, 2, 3, 4}));
    EXPECT_EQ(filled_values(type.type, 3, "const:-0"), std::vector<double>(3, 0));
    EXPECT_TRUE(filled_values(type.type, 0, "random").empty());
  }
  EXPECT_EQ(filled_values(DType::i8, 300, "arange")[200], -56);
  EXPECT_EQ(filled_values(DType::u8, 300, "arange")[257], 1);
  EXPECT_EQ(filled_values(DType::i4, 20, "arange")[9], -7);
  EXPECT_EQ(filled_values(DType::f16, 2050, "arange")[2049], 2048);
  EXPECT_EQ(filled_values(DType::f16, 2052, "arange")[2051], 2052);
  EXPECT_EQ(filled_values(DType::f16, 3, "const:0.1")[0], f16_to_f32(f32_to_f16(0.1F)));
  EXPECT_EQ(filled_values(DType::i32, 3, "const:-2147483648")[2], -2147483648.0);
  EXPECT_EQ(filled_values(DType::bf16, 1, "const:-inf")[0], -INFINITY);
  EXPECT_TRUE(std::isnan(filled_values(DType::f8e4m3, 1, "const:nan")[0]));
}

TEST(Generate, refusals_name_the_value_and_the_rule) {
  EXPECT_NE(refusal(DType::f32, "randm").find("unknown-data|'randm': no such data; did you mean 'random'"),
            std::string::npos)
      << refusal(DType::f32, "randm");
  EXPECT_EQ(refusal(DType::f32, "zeros:1"), "unknown-data|'zeros:1': write zeros");
  EXPECT_EQ(refusal(DType::f32, "const"), "unknown-data|'const': write const:V");
  EXPECT_EQ(refusal(DType::f32, "").substr(0, 12), "unknown-data");
  for (const char* seed : {"random:", "random:-1", "random:1x", "random:18446744073709551616", "random: 1"})
    EXPECT_EQ(refusal(DType::f32, seed).substr(0, 9), "bad-seed|") << seed;
  for (const char* value : {"const:", "const:x", "const:1 ", "const:1.5.2"})
    EXPECT_EQ(refusal(DType::f32, value).substr(0, 13), "bad-constant|") << value;
  EXPECT_EQ(refusal(DType::i8, "const:1.5").substr(0, 13), "bad-constant|");
  EXPECT_EQ(refusal(DType::i8, "const:128"),
            "constant-out-of-range|const:128: out of range for i8, -128 … 127");
  EXPECT_EQ(refusal(DType::u8, "const:-1"), "constant-out-of-range|const:-1: out of range for u8, 0 … 255");
  EXPECT_EQ(refusal(DType::i32, "const:99999999999999999999").substr(0, 22), "constant-out-of-range|");
  EXPECT_EQ(refusal(DType::f16, "const:65520"),
            "constant-out-of-range|const:65520: out of range for f16, whose largest finite value is 65504");
  EXPECT_EQ(refusal(DType::f8e4m3, "const:inf").substr(0, 22), "constant-out-of-range|");
  EXPECT_EQ(refusal(DType::f32, "const:1e400").substr(0, 22), "constant-out-of-range|");
  EXPECT_EQ(refusal(DType::f16, "const:65519"), "accepted");
}

}  // namespace
}  // namespace npulab::values::testing
