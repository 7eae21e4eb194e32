// SPDX-License-Identifier: Apache-2.0
// The conversions of convert.hpp as inline functions, for loops over elements with a constant type.
// Everything goes over the bits of a double, which holds every element type exactly.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isa/dtype.hpp"
#include "isa/instruction.hpp"

namespace npulab::values::core {

using isa::DType;
using isa::Round;

static_assert(std::endian::native == std::endian::little, "elements in memory are little-endian");

constexpr int kDoubleMantissa = 52;
constexpr int kDoubleBias = 1023;
constexpr std::uint64_t kDoubleHidden = std::uint64_t{1} << kDoubleMantissa;
constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << kDoubleMantissa;
constexpr std::uint64_t kDoubleNan = std::uint64_t{0x7ff8} << 48;

constexpr int mantissa_bits(DType type) {
  return static_cast<int>(isa::info(type).mantissa_bits);
}
constexpr int bias(DType type) {
  return (1 << (isa::info(type).exponent_bits - 1)) - 1;
}
constexpr std::uint32_t sign_bit(DType type) {
  return std::uint32_t{1} << (isa::bits(type) - 1);
}
// All exponent bits set, no mantissa: infinity where the type has one.
constexpr std::uint32_t exponent_mask(DType type) {
  return ((std::uint32_t{1} << isa::info(type).exponent_bits) - 1) << mantissa_bits(type);
}
constexpr bool has_infinity(DType type) {
  return type != DType::f8e4m3;
}

constexpr std::uint32_t nan_bits(DType type) {
  return has_infinity(type) ? exponent_mask(type) | (std::uint32_t{1} << (mantissa_bits(type) - 1))
                            : sign_bit(type) - 1;
}
constexpr std::uint32_t infinity_bits(DType type) {
  return has_infinity(type) ? exponent_mask(type) : nan_bits(type);
}
constexpr std::uint32_t largest_bits(DType type) {
  return infinity_bits(type) - 1;
}

// A double split as significand * 2^(exponent - 52).
struct Parts {
  bool negative;
  int exponent;
  std::uint64_t significand;
};

constexpr Parts split(std::uint64_t bits) {
  const int field = static_cast<int>((bits >> kDoubleMantissa) & 0x7ff);
  const std::uint64_t fraction = bits & (kDoubleHidden - 1);
  return {bits >> 63 != 0, std::max(field, 1) - kDoubleBias,
          field == 0 ? fraction : fraction | kDoubleHidden};
}

// significand / 2^shift as an integer, rounded; 0 < shift. Without branches on the value: data is
// unpredictable.
constexpr std::uint64_t shift_rounded(std::uint64_t significand, int shift, bool negative, Round round) {
  const int s =
      std::min(shift, 62);  // the significand has 53 bits: beyond, only "not zero, below half" remains
  const std::uint64_t half = std::uint64_t{1} << (s - 1);
  const std::uint64_t below_one = 2 * half - 1;
  switch (round) {
    case Round::nearest_even:
      return (significand + (half - 1) + ((significand >> s) & 1)) >> s;
    case Round::nearest_away:
      return (significand + half) >> s;
    case Round::toward_zero:
      return significand >> s;
    case Round::down:
      return (significand + (negative ? below_one : 0)) >> s;
    case Round::up:
      return (significand + (negative ? 0 : below_one)) >> s;
  }
  return significand >> s;
}

constexpr bool overflow_is_infinite(bool negative, Round round) {
  switch (round) {
    case Round::nearest_even:
    case Round::nearest_away:
      return true;
    case Round::toward_zero:
      return false;
    case Round::down:
      return negative;
    case Round::up:
      return !negative;
  }
  return true;
}

// 2^exponent, for exponents of normal doubles.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleMantissa);
}

inline std::uint32_t load_bits(unsigned bytes, const std::byte* p) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, p, bytes);
  return bits;
}

[[gnu::always_inline]] inline double decode_integer(DType type, std::uint32_t bits) {
  const unsigned unused = 32 - isa::bits(type);
  if (!isa::info(type).is_signed) return static_cast<double>(bits);
  return static_cast<double>(static_cast<std::int32_t>(bits << unused) >> unused);
}

[[gnu::always_inline]] inline double decode_float(DType type, std::uint32_t bits) {
  const std::uint32_t magnitude = bits & (sign_bit(type) - 1);
  const std::uint64_t sign = (bits & sign_bit(type)) != 0 ? std::uint64_t{1} << 63 : 0;
  const int m = mantissa_bits(type);
  if (magnitude > largest_bits(type)) {
    const bool infinite = has_infinity(type) && magnitude == exponent_mask(type);
    return std::bit_cast<double>(infinite ? sign | kDoubleInfinity : kDoubleNan);
  }
  const std::uint32_t field = magnitude >> m;
  if (field == 0) {  // zero or subnormal: a small integer times a power of two, both exact
    const double value = static_cast<double>(magnitude) * power_of_two(1 - bias(type) - m);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | sign);
  }
  const std::uint64_t rebias = static_cast<std::uint64_t>(kDoubleBias - bias(type)) << kDoubleMantissa;
  return std::bit_cast<double>(((static_cast<std::uint64_t>(magnitude) << (kDoubleMantissa - m)) + rebias) |
                               sign);
}

[[gnu::always_inline]] inline std::uint32_t encode_float(DType type, double value, Round round,
                                                         bool saturate) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  if (magnitude > kDoubleInfinity) return nan_bits(type);
  const Parts parts = split(bits);
  const std::uint32_t sign = parts.negative ? sign_bit(type) : 0;
  if (magnitude == kDoubleInfinity) return sign | (saturate ? largest_bits(type) : infinity_bits(type));
  const int m = mantissa_bits(type);
  const int smallest = 1 - bias(type);                      // exponent of the smallest normal value
  const int exponent = std::max(parts.exponent, smallest);  // below: subnormal, with the unit of the smallest
  const int shift = kDoubleMantissa - m + (exponent - parts.exponent);
  // Adding the exponent rather than composing lets a carry out of the mantissa step it.
  const std::uint64_t result = shift_rounded(parts.significand, shift, parts.negative, round) +
                               (static_cast<std::uint64_t>(exponent + bias(type) - 1) << m);
  if (result <= largest_bits(type)) return sign | static_cast<std::uint32_t>(result);
  const bool infinite = !saturate && overflow_is_infinite(parts.negative, round);
  return sign | (infinite ? infinity_bits(type) : largest_bits(type));
}

[[gnu::always_inline]] inline std::int32_t encode_integer(DType type, double value, Round round) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  if ((bits & ~(std::uint64_t{1} << 63)) > kDoubleInfinity) return 0;
  const bool is_signed = isa::info(type).is_signed;
  const std::int64_t least = is_signed ? -(std::int64_t{1} << (isa::bits(type) - 1)) : 0;
  const std::int64_t most = (std::int64_t{1} << (isa::bits(type) - (is_signed ? 1 : 0))) - 1;
  const Parts parts = split(bits);
  if (parts.exponent >= 40) return static_cast<std::int32_t>(parts.negative ? least : most);
  const auto whole = static_cast<std::int64_t>(
      shift_rounded(parts.significand, kDoubleMantissa - parts.exponent, parts.negative, round));
  return static_cast<std::int32_t>(std::clamp(parts.negative ? -whole : whole, least, most));
}

[[gnu::always_inline]] inline std::uint32_t encode(DType type, double value, Round round, bool saturate) {
  if (isa::info(type).floating) return encode_float(type, value, round, saturate);
  return static_cast<std::uint32_t>(encode_integer(type, value, round));
}

[[gnu::always_inline]] inline double to_double(DType type, const std::byte* data, std::uint64_t index) {
  if (type == DType::i4) {
    const std::uint32_t pair = load_bits(1, data + index / 2);
    return decode_integer(type, (index & 1) != 0 ? pair >> 4 : pair & 0xf);
  }
  const unsigned bytes = isa::bits(type) / 8;
  const std::uint32_t bits = load_bits(bytes, data + index * bytes);
  return isa::info(type).floating ? decode_float(type, bits) : decode_integer(type, bits);
}

[[gnu::always_inline]] inline void from_double(DType type, double value, std::byte* data, std::uint64_t index,
                                               Round round, bool saturate) {
  const std::uint32_t bits = encode(type, value, round, saturate);
  if (type == DType::i4) {
    std::byte& pair = data[index / 2];
    const auto nibble = static_cast<std::byte>(bits & 0xf);
    pair = (index & 1) != 0 ? (pair & std::byte{0x0f}) | (nibble << 4) : (pair & std::byte{0xf0}) | nibble;
    return;
  }
  const unsigned bytes = isa::bits(type) / 8;
  std::memcpy(data + index * bytes, &bits, bytes);
}

}  // namespace npulab::values::core
