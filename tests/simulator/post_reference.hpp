// SPDX-License-Identifier: Apache-2.0
// What a transfer with post-operations makes of one element, from the definition of the formats in double
// arithmetic: none of the simulator's conversions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "isa/dtype.hpp"
#include "isa/instruction.hpp"

namespace npulab::test {

struct Format {
  explicit Format(isa::DType type) : row(isa::info(type)), finite_only(type == isa::DType::f8e4m3) {}
  const isa::DTypeInfo& row;
  bool finite_only;  // no infinity

  int mantissa() const { return static_cast<int>(row.mantissa_bits); }
  int bias() const { return (1 << (row.exponent_bits - 1)) - 1; }
  std::uint32_t sign() const { return std::uint32_t{1} << (row.bits - 1); }
  double largest() const {
    const int top = finite_only ? bias() + 1 : bias();
    return std::ldexp(2.0 - std::ldexp(finite_only ? 2.0 : 1.0, -mantissa()), top);
  }
  std::uint32_t nan() const {
    const std::uint32_t exponents = ((1U << row.exponent_bits) - 1) << row.mantissa_bits;
    return finite_only ? sign() - 1 : exponents | (1U << (row.mantissa_bits - 1));
  }
  std::uint32_t infinity() const {
    return finite_only ? nan() : ((1U << row.exponent_bits) - 1) << row.mantissa_bits;
  }
};

inline double rounded(double value, isa::Round round) {
  switch (round) {
    case isa::Round::nearest_even:
      return std::nearbyint(value);
    case isa::Round::toward_zero:
      return std::trunc(value);
    case isa::Round::down:
      return std::floor(value);
    case isa::Round::up:
      return std::ceil(value);
    case isa::Round::nearest_away:
      return std::round(value);
  }
  return value;
}

inline double decoded(isa::DType type, std::uint32_t bits) {
  const isa::DTypeInfo& row = isa::info(type);
  if (!row.floating) return static_cast<double>(static_cast<std::int32_t>(bits));  // i32 alone is read
  const Format f(type);
  const auto field = static_cast<int>(bits >> row.mantissa_bits & ((1U << row.exponent_bits) - 1));
  const std::uint32_t low = bits & ((1U << row.mantissa_bits) - 1);
  const double sign = (bits & f.sign()) != 0 ? -1 : 1;
  if (!f.finite_only && field == (1 << row.exponent_bits) - 1)
    return low != 0 ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  const double fraction = std::ldexp(low, -f.mantissa());
  return sign *
         (field == 0 ? std::ldexp(fraction, 1 - f.bias()) : std::ldexp(1 + fraction, field - f.bias()));
}

inline std::uint32_t encoded_float(isa::DType type, double x, isa::Round round, bool saturate) {
  const Format f(type);
  if (std::isnan(x)) return f.nan();
  const std::uint32_t sign = std::signbit(x) ? f.sign() : 0;
  int exponent = 0;
  if (std::isfinite(x) && x != 0) exponent = std::max(std::ilogb(x), 1 - f.bias());
  const double quantum = std::ldexp(1.0, (x == 0 ? 1 - f.bias() : exponent) - f.mantissa());
  const double value = std::isfinite(x) ? std::fabs(rounded(x / quantum, round)) * quantum : HUGE_VAL;
  const auto finite = [&](double magnitude) {
    const int e = magnitude == 0 ? 0 : std::ilogb(magnitude);
    if (magnitude < std::ldexp(1.0, 1 - f.bias()))
      return sign | static_cast<std::uint32_t>(std::ldexp(magnitude, f.bias() - 1 + f.mantissa()));
    const auto fraction =
        static_cast<std::uint32_t>(std::ldexp(magnitude, f.mantissa() - e)) - (1U << f.row.mantissa_bits);
    return sign | static_cast<std::uint32_t>(e + f.bias()) << f.row.mantissa_bits | fraction;
  };
  if (value <= f.largest()) return finite(value);
  const bool away = !std::isfinite(x) || round == isa::Round::nearest_even ||
                    round == isa::Round::nearest_away ||
                    round == (sign != 0 ? isa::Round::down : isa::Round::up);
  return away && !saturate ? sign | f.infinity() : finite(f.largest());
}

struct PostCall {
  isa::DType type, type2;
  std::optional<float> scale;
  bool relu = false;
  bool saturate = false;
  isa::Round round = isa::Round::nearest_even;

  std::uint32_t operator()(std::uint32_t bits) const {
    const std::uint32_t all = isa::bits(type) == 32 ? ~0U : (1U << isa::bits(type)) - 1;
    double x = decoded(type2, bits);
    if (type == type2 && !scale && !(relu && !(x > 0))) return bits;
    if (scale) {
      x = static_cast<double>(static_cast<float>(x)) * static_cast<double>(*scale);
      x = static_cast<double>(static_cast<float>(x));
      if (saturate && std::isinf(x)) x = std::copysign(std::numeric_limits<float>::max(), x);
    }
    if (relu && !(x > 0) && !std::isnan(x)) x = 0;
    if (isa::info(type).floating)
      return encoded_float(type, x, round, saturate && !(type == type2 && !scale)) & all;
    if (std::isnan(x)) return 0;
    const bool is_signed = isa::info(type).is_signed;
    const double most = std::ldexp(1.0, static_cast<int>(isa::bits(type)) - (is_signed ? 1 : 0)) - 1;
    const double whole = std::clamp(rounded(x, round), is_signed ? -most - 1 : 0.0, most);
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(whole)) & all;
  }
};

}  // namespace npulab::test
