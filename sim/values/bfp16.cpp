// SPDX-License-Identifier: Apache-2.0
// bfp16 blocks from and to f32.
#include "sim/values/bfp16.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "isa/error.hpp"
#include "sim/values/convert_core.hpp"

namespace npulab::values {

namespace {

constexpr int kBias = 127;
constexpr int kMantissaUnits = 6;     // a mantissa counts units of 2^(E - bias - 6)
constexpr std::uint64_t kMost = 127;  // size of a mantissa that is written
constexpr int kLargestExponent = 254;
constexpr int kNanExponent = 255;

// |value| / 2^(exponent - bias - 6) rounded to nearest even, exact beyond any mantissa.
std::uint64_t mantissa_size(float value, int exponent) {
  const core::Parts parts = core::split(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  const int unit = exponent - kBias - kMantissaUnits;
  // Not below 44: the exponent of the block is that of its largest value.
  const int shift = unit - (parts.exponent - core::kDoubleMantissa);
  return core::shift_rounded(parts.significand, shift, false, isa::Round::nearest_even);
}

bool is_negative(float value) {
  return std::bit_cast<std::uint32_t>(value) >> 31 != 0;
}

}  // namespace

void encode_bfp16(const float* values, std::byte* block) {
  std::uint32_t largest = 0;  // magnitudes order as integers
  for (std::size_t i = 0; i < kBfp16Values; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffU);
  int exponent = static_cast<int>(largest >> 23);
  std::memset(block, 0, kBfp16Bytes);
  block[0] = static_cast<std::byte>(exponent);
  if (exponent == kNanExponent) return;
  const bool fits = std::all_of(values, values + kBfp16Values,
                                [&](float value) { return mantissa_size(value, exponent) <= kMost; });
  if (!fits && exponent < kLargestExponent) ++exponent;
  block[0] = static_cast<std::byte>(exponent);
  for (std::size_t i = 0; i < kBfp16Values; ++i) {
    const auto size = static_cast<int>(std::min(mantissa_size(values[i], exponent), kMost));
    block[1 + i] = static_cast<std::byte>(is_negative(values[i]) ? -size : size);
  }
}

void decode_bfp16(const std::byte* block, float* values) {
  const int exponent = static_cast<int>(block[0]);
  const double unit = core::power_of_two(exponent - kBias - kMantissaUnits);
  for (std::size_t i = 0; i < kBfp16Values; ++i) {
    const double value = static_cast<double>(static_cast<std::int8_t>(block[1 + i])) * unit;
    const std::uint32_t bits = exponent == kNanExponent ? core::nan_bits(isa::DType::f32)
                                                        : core::encode_float(isa::DType::f32, value,
                                                                             isa::Round::nearest_even, false);
    values[i] = std::bit_cast<float>(bits);
  }
}

void pack_bfp16(const MatrixView& from, const MatrixTarget& to) {
  check(from.form);
  check(to.form);
  if (from.form.type != isa::DType::f32 || from.form.bfp16 || !to.form.bfp16 ||
      from.form.rows != to.form.rows || from.form.columns != to.form.columns)
    throw Error(Category::input, "matrix-shapes",
                fmt::format("{} x {} {} into {} x {} {}: bfp16 is written from f32 of the same shape",
                            from.form.rows, from.form.columns, isa::name(from.form.type), to.form.rows,
                            to.form.columns, to.form.bfp16 ? "bfp16" : isa::name(to.form.type)));
  const bool by_rows = info(to.form.layout.order).elements_by_rows;
  const std::uint64_t lines = by_rows ? to.form.rows : to.form.columns;
  const std::uint64_t length = by_rows ? to.form.columns : to.form.rows;
  for (std::uint64_t line = 0; line < lines; ++line)
    for (std::uint64_t first = 0; first < length; first += kBfp16Values) {
      std::array<float, kBfp16Values> values{};
      for (std::uint64_t i = first; i < std::min<std::uint64_t>(length, first + kBfp16Values); ++i)
        values[i - first] = std::bit_cast<float>(by_rows ? element(from, line, i) : element(from, i, line));
      const std::uint64_t bit =
          by_rows ? element_bit(to.form, line, first) : element_bit(to.form, first, line);
      encode_bfp16(values.data(), to.data + bit / 8 - 1);
    }
}

}  // namespace npulab::values
