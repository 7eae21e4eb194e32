// SPDX-License-Identifier: Apache-2.0
// a * b + c rounded once, by integers of unlimited width.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "calls.hpp"

namespace npulab::values::testing {

using boost::multiprecision::cpp_int;

// Any type: whole numbers of the product of two smallest subnormals.
inline std::uint32_t fma_reference(DType type, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const double x = decode_float(type, a), y = decode_float(type, b), z = decode_float(type, c);
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) return encode_float(type, x * y + z);
  const int m = static_cast<int>(isa::info(type).mantissa_bits);
  const int unit = (1 << (isa::info(type).exponent_bits - 1)) - 2 + m;  // smallest subnormal = 2^-unit
  const auto units = [unit](double value) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);  // value = fraction * 2^exponent, 53 bits
    cpp_int whole = static_cast<std::int64_t>(std::ldexp(fraction, 53));
    const int shift = exponent - 53 + unit;
    if (shift >= 0)
      whole <<= static_cast<unsigned>(shift);
    else
      whole /= cpp_int(1) << static_cast<unsigned>(-shift);
    return whole;
  };
  const cpp_int sum = units(x) * units(y) + (units(z) << static_cast<unsigned>(unit));
  const std::uint32_t sign_bit = 1U << (isa::bits(type) - 1);
  if (sum == 0) return std::signbit(x) != std::signbit(y) && std::signbit(z) ? sign_bit : 0;
  const std::uint32_t sign = sum < 0 ? sign_bit : 0;
  const cpp_int size = abs(sum);
  const int top = static_cast<int>(msb(size));
  const int shift = std::max(top - m, unit);
  cpp_int kept = size >> static_cast<unsigned>(shift);
  const cpp_int rest = size - (kept << static_cast<unsigned>(shift));
  const cpp_int half = cpp_int(1) << static_cast<unsigned>(shift - 1);
  if (rest > half || (rest == half && bit_test(kept, 0))) ++kept;
  const std::uint64_t bits =
      static_cast<std::uint64_t>(kept) + (static_cast<std::uint64_t>(shift - unit) << m);
  return sign | static_cast<std::uint32_t>(std::min<std::uint64_t>(bits, largest_finite(type) + 1));
}

}  // namespace npulab::values::testing
