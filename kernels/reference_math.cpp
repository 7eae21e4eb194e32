// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference_math.hpp"

#include <cmath>
#include <limits>

namespace npulab::kernels {

namespace {

constexpr double kLn2High = 0x1.62e42fef00000p-1;  // 32 bits: times any exponent exact
constexpr double kLn2Low = 0x1.473de6af278edp-34;

// e^x - 1 by its series, |x| <= 0.6.
double small_expm1(double x) {
  double sum = 1;
  for (int n = 18; n > 1; --n) sum = 1 + sum * x / n;
  return sum * x;
}

}  // namespace

double exp_of(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  const double k = std::floor(x / kLn2High + 0.5);
  return std::ldexp(1 + small_expm1((x - k * kLn2High) - k * kLn2Low), static_cast<int>(k));
}

double log_of(double x) {
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(x)) return x;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int n = 31; n > 0; n -= 2) sum = sum * s * s + 1.0 / n;
  return exponent * kLn2High + (2 * s * sum + exponent * kLn2Low);
}

double tanh_of(double x) {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  if (size > 20) return std::copysign(1.0, x);
  const double minus_one = size < 0.3 ? small_expm1(2 * size) : exp_of(2 * size) - 1;
  return std::copysign(minus_one / (minus_one + 2), x);
}

double erf_of(double x) {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  if (size > 6) return std::copysign(1.0, x);
  // 2 / sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + …): no term takes from another
  double term = size;
  double sum = 0;
  for (int n = 1; term > sum * 0x1p-60; ++n) {
    sum += term;
    term *= 2 * size * size / (2 * n + 1);
  }
  return std::copysign(1.1283791670955126 * exp_of(-size * size) * sum, x);
}

}  // namespace npulab::kernels
