// SPDX-License-Identifier: Apache-2.0
// Scalar conversions against a reference that looks values up in the ordered list of the encodings.
#include "sim/values/convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "calls.hpp"

namespace npulab::values::testing {
namespace {

constexpr std::array kRounds{Round::nearest_even, Round::toward_zero, Round::down, Round::up,
                             Round::nearest_away};
constexpr std::array kNarrow{DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};

// From the definition of the formats: sign, exponent, mantissa.
double value_by_definition(DType type, std::uint32_t bits) {
  const isa::DTypeInfo& row = isa::info(type);
  const int bias = (1 << (row.exponent_bits - 1)) - 1;
  const auto field = static_cast<int>((bits >> row.mantissa_bits) & ((1U << row.exponent_bits) - 1));
  const double fraction =
      std::ldexp(bits & ((1U << row.mantissa_bits) - 1), -static_cast<int>(row.mantissa_bits));
  return field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
}

// The step index to take from encoding k when x lies in [value(k), value(k + 1)].
bool steps_up(std::uint32_t k, double low, double high, double x, bool negative, Round round) {
  if (x == low) return false;
  const double middle = low + (high - low) / 2;  // exact: a few bits
  switch (round) {
    case Round::nearest_even:
      return x > middle || (x == middle && (k & 1) != 0);
    case Round::nearest_away:
      return x >= middle;
    case Round::toward_zero:
      return false;
    case Round::down:
      return negative;
    case Round::up:
      return !negative;
  }
  return false;
}

void check_between(DType type, std::uint32_t k, double low, double high, double x) {
  const std::uint32_t sign = 1U << (isa::bits(type) - 1);
  const std::uint32_t most = largest_finite(type);
  for (const Round round : kRounds)
    for (const bool negative : {false, true})
      for (const bool saturate : {false, true}) {
        std::uint32_t expected = k + (steps_up(k, low, high, x, negative, round) ? 1 : 0);
        if (expected > most && saturate) expected = most;
        if (negative) expected |= sign;
        ASSERT_EQ(encode_float(type, negative ? -x : x, round, saturate), expected)
            << isa::name(type) << " x=" << x << " negative=" << negative << " round=" << isa::name(round);
      }
}

TEST(Convert, decodes_every_encoding) {
  for (const DType type : kNarrow) {
    const std::uint32_t sign = 1U << (isa::bits(type) - 1);
    for (std::uint32_t bits = 0; bits < sign; ++bits) {
      const double value = decode_float(type, bits);
      const double negative = decode_float(type, bits | sign);
      if (bits <= largest_finite(type)) {
        ASSERT_EQ(value, value_by_definition(type, bits)) << isa::name(type) << " " << bits;
        ASSERT_EQ(negative, -value);
        ASSERT_TRUE(std::signbit(negative));
        ASSERT_EQ(encode_float(type, value), bits);
        ASSERT_EQ(encode_float(type, negative), bits | sign);
      } else if (type != DType::f8e4m3 && bits == largest_finite(type) + 1) {
        ASSERT_EQ(value, std::numeric_limits<double>::infinity());
        ASSERT_EQ(negative, -value);
        ASSERT_EQ(encode_float(type, negative), bits | sign);
      } else {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(value), 0x7ff8000000000000U);
        ASSERT_EQ(encode_float(type, negative), canonical_nan(type));
      }
    }
  }
}

TEST(Convert, NU_01_mantissa_carry) {
  EXPECT_EQ(f16_to_f32(f32_to_f16(0.124992706F)), 0.125F);
  // Every neighbour and every midpoint of every narrow type, ± 1 bit, all modes; the last step is overflow.
  for (const DType type : kNarrow) {
    const std::uint32_t most = largest_finite(type);
    for (std::uint32_t k = 0; k <= most; ++k) {
      const double low = value_by_definition(type, k);
      const double high =
          k < most ? value_by_definition(type, k + 1) : 2 * low - value_by_definition(type, k - 1);
      const double middle = low + (high - low) / 2;
      for (const double x : {low, std::nextafter(low, high), std::nextafter(middle, low), middle,
                             std::nextafter(middle, high), std::nextafter(high, low)})
        ASSERT_NO_FATAL_FAILURE(check_between(type, k, low, high, x));
    }
  }
}

TEST(Convert, f32_to_f16_next_to_midpoints) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::uint32_t k = 0; k < 0x7bff; ++k) {
    const float low = f16_to_f32(static_cast<std::uint16_t>(k));
    const float high = f16_to_f32(static_cast<std::uint16_t>(k + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0F)), k);
    ASSERT_EQ(f32_to_f16(middle), k + (k & 1));
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, infinity)), k + 1);
  }
}

TEST(Convert, NU_02_bf16_rounds_to_nearest) {
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(0.26914088F)), 0.26953125F);
  const float nan_in_low_bits = std::bit_cast<float>(0x7f800001U);
  EXPECT_EQ(f32_to_bf16(nan_in_low_bits), 0x7fc0);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xff800001U)), 0x7fc0);
  EXPECT_EQ(f32_to_f16(nan_in_low_bits), 0x7e00);
}

TEST(Convert, NU_04_f8e4m3_overflow_modes) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto convert = [](float x, bool saturate) { return f32_to_f8e4m3(x, Round::nearest_even, saturate); };
  EXPECT_EQ(convert(448, false), 0x7e);
  EXPECT_EQ(convert(449, false), 0x7e);
  EXPECT_EQ(convert(464, false), 0x7e);
  EXPECT_EQ(convert(465, false), 0x7f);
  EXPECT_EQ(convert(-465, false), 0xff);
  EXPECT_EQ(convert(1000, false), 0x7f);
  EXPECT_EQ(convert(infinity, false), 0x7f);
  EXPECT_EQ(convert(-infinity, false), 0xff);
  for (const float x : {448.0F, 449.0F, 464.0F, 465.0F, 1000.0F, infinity}) {
    EXPECT_EQ(convert(x, true), 0x7e) << x;
    EXPECT_EQ(convert(-x, true), 0xfe) << x;
  }
  for (const bool saturate : {false, true})
    EXPECT_EQ(convert(std::bit_cast<float>(0xffc00000U), saturate), 0x7f);
  EXPECT_EQ(f32_to_f8e4m3(1000, Round::toward_zero, false), 0x7e);
}

TEST(Convert, NU_05_f16_overflow_modes) {
  EXPECT_EQ(f32_to_f16(65280), 0x7bf8);
  EXPECT_EQ(f32_to_f16(65519.996F), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520), 0x7c00);
  EXPECT_EQ(f32_to_f16(65536), 0x7c00);
  EXPECT_EQ(f32_to_f16(65536, Round::nearest_even, true), 0x7bff);
  EXPECT_EQ(f32_to_f16(-65536, Round::nearest_even, true), 0xfbff);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity(), Round::nearest_even, true), 0xfbff);
  EXPECT_EQ(f32_to_f16(65536, Round::down), 0x7bff);
  EXPECT_EQ(f32_to_f16(-65536, Round::down), 0xfc00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::infinity(), Round::toward_zero), 0x7c00);
}

TEST(Convert, double_to_f32_is_the_hardware_conversion) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300000; ++i) {
    const std::uint64_t exponent = 1023 - 155 + random() % 290;
    const std::uint64_t bits = (random() & 0x800fffffffffffffU) | (exponent << 52);
    const double x = std::bit_cast<double>(i % 2 == 0 ? bits : bits & ~0x0fffffffU);  // ties often
    ASSERT_EQ(encode_float(DType::f32, x), std::bit_cast<std::uint32_t>(static_cast<float>(x))) << x;
  }
}

TEST(Convert, NU_13_ties_to_integers) {
  for (int k = -130; k <= 130; ++k) {
    const double x = k + 0.5;
    const auto clamped = [](double whole) {
      return static_cast<std::int32_t>(std::fmax(-128, std::fmin(127, whole)));
    };
    const double even = k % 2 == 0 ? k : k + 1;
    EXPECT_EQ(encode_integer(DType::i8, x), clamped(even)) << x;
    EXPECT_EQ(encode_integer(DType::i8, x, Round::down), clamped(k)) << x;
    EXPECT_EQ(encode_integer(DType::i8, x, Round::up), clamped(k + 1)) << x;
    EXPECT_EQ(encode_integer(DType::i8, x, Round::toward_zero), clamped(std::trunc(x))) << x;
    EXPECT_EQ(encode_integer(DType::i8, x, Round::nearest_away), clamped(std::round(x))) << x;
  }
}

TEST(Convert, NU_14_float_to_integer_rounds_then_clamps) {
  EXPECT_EQ(encode_integer(DType::i8, 0.5003), 1);
  EXPECT_EQ(encode_integer(DType::i8, -0.5003), -1);
  EXPECT_EQ(encode_integer(DType::i8, 127.6), 127);
  EXPECT_EQ(encode_integer(DType::i8, -1000), -128);
  EXPECT_EQ(encode_integer(DType::u8, -3), 0);
  EXPECT_EQ(encode_integer(DType::u8, 300), 255);
  EXPECT_EQ(encode_integer(DType::i4, 8), 7);
  EXPECT_EQ(encode_integer(DType::i4, -9), -8);
  EXPECT_EQ(encode_integer(DType::i16, 1e30), 32767);
  EXPECT_EQ(encode_integer(DType::i32, 3e9), 2147483647);
  EXPECT_EQ(encode_integer(DType::i32, -std::numeric_limits<double>::infinity()), -2147483648LL);
  EXPECT_EQ(encode_integer(DType::i32, std::numeric_limits<double>::quiet_NaN()), 0);
}

TEST(Convert, elements_in_memory) {
  std::array<std::byte, 4> data{};
  for (int i = 0; i < 8; ++i)
    from_double(DType::i4, i - 4, data.data(), static_cast<std::uint64_t>(i), Round::nearest_even, false);
  EXPECT_EQ(data[0], std::byte{0xdc});  // -4 in the low nibble, -3 in the high one
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(to_double(DType::i4, data.data(), static_cast<std::uint64_t>(i)), i - 4);
  from_double(DType::i4, 7, data.data(), Round::nearest_even, false);
  EXPECT_EQ(data[0], std::byte{0xd7});
  from_double(DType::u8, 200, data.data(), 1, Round::nearest_even, false);
  EXPECT_EQ(to_double(DType::u8, data.data(), 1), 200);
  from_double(DType::i32, -2147483648.0, data.data(), Round::nearest_even, false);
  EXPECT_EQ(to_double(DType::i32, data.data()), -2147483648.0);
}

TEST(Convert, lanes_equal_the_scalar_conversion) {
  std::mt19937_64 random(11);
  constexpr std::size_t kLanes = 133;
  const isa::InstructionInfo& row = isa::info(Op::Vcvt);
  for (const SimdPath path : paths())
    for (const isa::DTypeInfo& to : isa::kDTypes)
      for (const isa::DTypeInfo& from : isa::kDTypes) {
        if (!isa::legal_types(row, to.type, from.type)) continue;
        for (const Round round : kRounds)
          for (const bool saturate : {false, true}) {
            const Bytes a = random_elements(from.type, kLanes, random);
            Bytes expected(bytes_of(to.type, kLanes));
            for (std::size_t i = 0; i < kLanes; ++i)
              from_double(to.type, to_double(from.type, a.data(), i), expected.data(), i, round, saturate);
            const Call call{Op::Vcvt, to.type, from.type, {round, saturate, false}};
            ASSERT_EQ(run(path, call, kLanes, Bytes(expected.size()), a), expected) << label(path, call);
            Bytes in_place(std::max(a.size(), expected.size()));
            std::copy(a.begin(), a.end(), in_place.begin());
            lane_function_on(path, Op::Vcvt, to.type, from.type, call.modes)(in_place.data(), in_place.data(),
                                                                             nullptr, nullptr, kLanes);
            if (to.type != DType::i4) {
              in_place.resize(expected.size());
              ASSERT_EQ(in_place, expected) << label(path, call) << " in place";
            }
          }
      }
}

}  // namespace
}  // namespace npulab::values::testing
