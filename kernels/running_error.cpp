// SPDX-License-Identifier: Apache-2.0
#include "kernels/running_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference_math.hpp"
#include "sim/values/convert.hpp"

namespace npulab::kernels {

namespace {

constexpr double kMargin = 1 + 0x1p-16;         // for the roundings of the analysis itself
constexpr double kFunctionRoundings = 1.002;    // sim/values: functions of f32 are within 0.501 ULP
constexpr std::uint64_t kPartialSumLevels = 4;  // at most 16 operands of partial sums are added pairwise
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool wild(const Bounded& a, const Bounded& b) {
  return a.wild || b.wild;
}

double product_error(const Bounded& a, const Bounded& b) {
  if (!std::isfinite(a.value) || !std::isfinite(b.value)) return 0;
  return std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
}

// Share of its value that the error of `a` is, of 1 / (1 - share): nothing is known from half on.
struct Relative {
  double growth;
  bool lost;
};
Relative relative(const Bounded& a) {
  if (a.error == 0) return {0, false};
  const double share = a.error / std::fabs(a.value);
  return {share / (1 - share), !(share < 0.5)};
}

}  // namespace

FloatLimits float_limits(isa::DType type) {
  const double roundoff = std::ldexp(1.0, -static_cast<int>(isa::info(type).mantissa_bits) - 1);
  const double largest = values::decode_float(type, values::largest_finite(type));
  return {roundoff, values::decode_float(type, 1), largest * (1 + roundoff / 2)};
}

double growth_of(double roundoff, std::uint64_t steps) {
  double growth = 0;
  double power = roundoff;  // of 1, 2, 4, … steps
  for (; steps != 0; steps >>= 1U) {
    if ((steps & 1U) != 0) growth += power + growth * power;
    power += power + power * power;
  }
  return growth;
}

F32Arithmetic::F32Arithmetic(std::uint64_t lanes, bool saturate)
    : lanes_(lanes),
      saturate_(saturate),
      limits_(float_limits(isa::DType::f32)),
      largest_(values::decode_float(isa::DType::f32, values::largest_finite(isa::DType::f32))) {}

Bounded F32Arithmetic::widened(double value, isa::DType type) const {
  if (saturate_ && std::isinf(value) && type != isa::DType::f32) return {std::copysign(largest_, value)};
  return {value};
}

Bounded F32Arithmetic::rounded(Bounded exact, double roundings) const {
  if (std::isnan(exact.value)) return {exact.value, 0, exact.wild};
  const double size = std::fabs(exact.value);
  if (std::isinf(size) || size - exact.error >= limits_.overflow)
    return {std::copysign(saturate_ ? largest_ : kInfinity, exact.value), 0, exact.wild};
  Bounded result = exact;
  if (size != 0 || exact.error != 0)
    result.error =
        kMargin * (exact.error + roundings * limits_.roundoff * (size + exact.error) + limits_.tiny);
  result.wild = exact.wild || size + result.error >= limits_.overflow;
  return result;
}

Bounded F32Arithmetic::sum(Bounded a, Bounded b) const {
  return rounded({a.value + b.value, a.error + b.error, wild(a, b)});
}

Bounded F32Arithmetic::difference(Bounded a, Bounded b) const {
  return rounded({a.value - b.value, a.error + b.error, wild(a, b)});
}

Bounded F32Arithmetic::product(Bounded a, Bounded b) const {
  return rounded({a.value * b.value, product_error(a, b), wild(a, b)});
}

Bounded F32Arithmetic::quotient(Bounded a, Bounded b) const {
  const Relative below = relative(b);
  const double value = a.value / b.value;
  double error = 0;
  if (std::isfinite(value) && std::isfinite(b.value))
    error = std::fabs(value) * below.growth + a.error / std::fabs(b.value) * (1 + below.growth);
  return rounded({value, error, wild(a, b) || below.lost});
}

Bounded F32Arithmetic::fused(Bounded a, Bounded b, Bounded c) const {
  return rounded({a.value * b.value + c.value, product_error(a, b) + c.error, wild(a, b) || c.wild});
}

Bounded F32Arithmetic::exp(Bounded a) const {
  const double value = exp_of(a.value);
  if (value == 0 && std::isinf(a.value)) return {0, 0, a.wild};
  // e^(a + d) - e^a <= e^a (e^|d| - 1) <= e^a |d| e^|d|
  const double error = std::isfinite(value) ? value * a.error * exp_of(a.error) : 0;
  return rounded({value, error, a.wild}, kFunctionRoundings);
}

Bounded F32Arithmetic::log(Bounded a) const {
  const Relative inside = relative(a);
  return rounded({log_of(a.value), inside.growth, a.wild || inside.lost}, kFunctionRoundings);
}

Bounded F32Arithmetic::tanh(Bounded a) const {
  const double nearest = tanh_of(std::max(0.0, std::fabs(a.value) - a.error));  // where it is steepest
  return rounded({tanh_of(a.value), a.error * (1 - nearest * nearest), a.wild}, kFunctionRoundings);
}

Bounded F32Arithmetic::erf(Bounded a) const {
  constexpr double kSlope = 1.1283791670955126;  // 2 / sqrt(pi), at 0
  const double nearest = std::max(0.0, std::fabs(a.value) - a.error);
  return rounded({erf_of(a.value), a.error * kSlope * exp_of(-nearest * nearest), a.wild},
                 kFunctionRoundings);
}

Bounded F32Arithmetic::rsqrt(Bounded a) const {
  const Relative inside = relative(a);  // (1 - s)^(-1/2) - 1 <= s / (1 - s)
  const double value = 1 / std::sqrt(a.value);
  return rounded({value, std::isfinite(value) ? value * inside.growth : 0, a.wild || inside.lost},
                 kFunctionRoundings);
}

Bounded F32Arithmetic::added(double value, double error, double magnitude, std::uint64_t terms) const {
  std::uint64_t levels = kPartialSumLevels;
  while ((std::uint64_t{1} << (levels - kPartialSumLevels)) < lanes_) ++levels;
  return summed(value, error, magnitude, terms,
                growth_of(limits_.roundoff, (terms + lanes_ - 1) / lanes_ + levels));
}

Bounded F32Arithmetic::chain(double value, double magnitude, std::uint64_t terms) const {
  return summed(value, 0, magnitude, terms, growth_of(limits_.roundoff, terms));
}

Bounded F32Arithmetic::summed(double value, double error, double magnitude, std::uint64_t terms,
                              double growth) const {
  Bounded result{value, 0, false};
  if (!std::isfinite(value)) {
    result.wild = saturate_;  // what an infinity becomes then depends on where in the sum it stands
    return result;
  }
  const double most = magnitude + error;
  if (most != 0) result.error = kMargin * (error + growth * most) + static_cast<double>(terms) * limits_.tiny;
  // Where all terms have one sign, infinity is certain when the sum is beyond the largest number.
  if (value - result.error >= limits_.overflow && magnitude == value) return rounded({kInfinity});
  result.wild = most * (1 + growth) >= limits_.overflow;
  return result;
}

Bounded F32Arithmetic::total(std::span<const Bounded> terms) const {
  double value = 0;
  double error = 0;
  double magnitude = 0;
  bool any_wild = false;
  for (const Bounded& term : terms) {
    value += term.value;
    error += term.error;
    if (std::isfinite(term.value)) magnitude += std::fabs(term.value);
    any_wild = any_wild || term.wild;
  }
  Bounded result = added(value, error, magnitude, terms.size());
  result.wild = result.wild || any_wild;
  return result;
}

Bounded F32Arithmetic::total_of_squares(std::span<const Bounded> terms) const {
  double value = 0;
  double error = 0;
  bool any_wild = false;
  for (const Bounded& term : terms) {
    value += term.value * term.value;
    error += product_error(term, term);
    any_wild = any_wild || term.wild;
  }
  Bounded result = added(value, error, value, terms.size());
  result.wild = result.wild || any_wild;
  return result;
}

Expectation F32Arithmetic::expectation(Bounded a, isa::DType type) const {
  if (a.wild) return {0, kInfinity, true};
  Expectation expected{a.value, a.error, false};
  if (!std::isfinite(a.value)) return expected;
  if (type == isa::DType::f32) return expected;
  const FloatLimits last = float_limits(type);
  const double most = std::fabs(a.value) + a.error;
  if (most != 0) expected.bound = kMargin * (a.error + most * last.roundoff + last.tiny);
  expected.may_overflow = most >= last.overflow;
  return expected;
}

}  // namespace npulab::kernels
