// SPDX-License-Identifier: Apache-2.0
// Running error analysis: numbers that carry a bound of how far a computation in f32, step by step as a
// kernel states it, may be from the exact result. Exact results are doubles, whose own rounding is lost in
// the margin of each bound.
#pragma once

#include <cstdint>
#include <span>

#include "isa/dtype.hpp"
#include "kernels/reference.hpp"

namespace npulab::kernels {

struct FloatLimits {
  double roundoff;  // relative, of one rounding to nearest
  double tiny;      // spacing of subnormals
  double overflow;  // from here on rounding gives infinity
};
FloatLimits float_limits(isa::DType type);

// (1 + roundoff)^steps - 1, without cancellation.
double growth_of(double roundoff, std::uint64_t steps);

struct Bounded {
  double value = 0;
  double error = 0;   // most distance of what is computed; 0 where value is not finite
  bool wild = false;  // anything: an overflow is possible but not certain, or errors hide whether it is 0
};

// Operations of the vector unit on f32, each rounded once.
class F32Arithmetic {
 public:
  // Sums go as rows.inc and wide.inc have it: `lanes` lanes of f32 in an operation, at most 16 operands of
  // partial sums.
  F32Arithmetic(std::uint64_t lanes, bool saturate);

  // An element of an input; a saturating machine has no infinities behind a conversion.
  Bounded widened(double value, isa::DType type) const;
  Bounded constant(double value) const { return rounded({value}); }
  Bounded sum(Bounded a, Bounded b) const;
  Bounded difference(Bounded a, Bounded b) const;
  Bounded product(Bounded a, Bounded b) const;
  Bounded quotient(Bounded a, Bounded b) const;
  Bounded fused(Bounded a, Bounded b, Bounded c) const;  // a * b + c
  Bounded exp(Bounded a) const;
  Bounded log(Bounded a) const;
  Bounded tanh(Bounded a) const;
  Bounded erf(Bounded a) const;
  Bounded rsqrt(Bounded a) const;
  Bounded total(std::span<const Bounded> terms) const;
  Bounded total_of_squares(std::span<const Bounded> terms) const;
  // A sum of exact products as matrix units have it: one fused rounding each, in a chain. `value` is the
  // exact sum, `magnitude` that of the finite products without their signs.
  Bounded chain(double value, double magnitude, std::uint64_t terms) const;

  // Rounded to the type of an output.
  Expectation expectation(Bounded a, isa::DType type) const;

 private:
  Bounded rounded(Bounded exact, double roundings = 1) const;
  Bounded added(double value, double error, double magnitude, std::uint64_t terms) const;
  Bounded summed(double value, double error, double magnitude, std::uint64_t terms, double growth) const;

  std::uint64_t lanes_;
  bool saturate_;
  FloatLimits limits_;
  double largest_;
};

}  // namespace npulab::kernels
