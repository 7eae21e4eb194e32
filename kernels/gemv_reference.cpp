// SPDX-License-Identifier: Apache-2.0
// The reference of y = A x. Floating sums: the double sum, and a bound that holds for every kernel which
// gives each lane of an operation a chain of fused steps and then adds the lanes pairwise. Integer sums:
// exact, and so is the rest.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference_case.hpp"
#include "kernels/running_error.hpp"
#include "sim/values/convert.hpp"

namespace npulab::kernels {

namespace {

using isa::DType;

constexpr double kDoubleRoundoff = 0x1p-53;

// Roundings that a product passes on its way into the sum: the chain of its lane and the tree over the lanes.
std::uint64_t depth(const config::Machine& machine, DType element, std::uint64_t columns) {
  const isa::Target target = config::make_target(machine);
  const unsigned bits = target.form == isa::OperandForm::ub ? target.ub_blocks * target.ub_block_bytes * 8
                                                            : target.operation_bits;
  const std::uint64_t lanes = std::max<std::uint64_t>(1, bits / isa::bits(element));
  std::uint64_t tree = 0;
  while ((std::uint64_t{1} << tree) < lanes) ++tree;
  return (columns + lanes - 1) / lanes + tree;
}

struct Sum {
  double value = 0;
  double magnitude = 0;  // of the finite products
};

Sum row_sum(const TensorData& a, const std::vector<double>& x, std::uint64_t row) {
  Sum sum;
  for (std::uint64_t k = 0; k < x.size(); ++k) {
    const double product = a.at(row * x.size() + k) * x[k];
    sum.value += product;
    if (std::isfinite(product)) sum.magnitude += std::fabs(product);
  }
  return sum;
}

Expectation float_element(const Sum& sum, DType accumulate, DType result, std::uint64_t steps,
                          std::uint64_t columns) {
  const FloatLimits limit = float_limits(accumulate);
  // Each product is multiplied by at most (1 + roundoff)^steps on its way.
  const double growth = growth_of(limit.roundoff, steps);
  const auto terms = static_cast<double>(columns);
  Expectation expected;
  expected.value = sum.value;
  expected.bound = (growth + terms * kDoubleRoundoff) * sum.magnitude + terms * limit.tiny * (1 + growth);
  expected.may_overflow = sum.magnitude * (1 + growth) >= limit.overflow;
  if (result != accumulate && isa::info(result).floating) {
    const FloatLimits last = float_limits(result);
    const double most = std::fabs(sum.value) + expected.bound;
    expected.bound += most * last.roundoff + last.tiny;
    expected.may_overflow = expected.may_overflow || most >= last.overflow;
  }
  if (columns == 0) expected.bound = 0;
  return expected;
}

// The rules that gemv/int8 and gemv/int8_requant state.
double integer_element(std::int64_t sum, const std::optional<TensorData>& scale,
                       const std::optional<TensorData>& out_scale, std::uint64_t row, DType result,
                       bool saturate) {
  if (!scale) {
    const auto wrapped = static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
    return isa::info(result).floating
               ? values::decode_float(
                     result, values::encode_float(result, wrapped, isa::Round::nearest_even, saturate))
               : values::encode_integer(result, wrapped);
  }
  auto value = static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
  value *= static_cast<float>(scale->at(row));
  if (out_scale) value *= static_cast<float>(out_scale->at(0));
  if (!isa::info(result).floating) return values::encode_integer(result, static_cast<double>(value));
  return values::decode_float(
      result, values::encode_float(result, static_cast<double>(value), isa::Round::nearest_even, saturate));
}

}  // namespace

std::vector<ExpectedTensor> gemv_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const TensorData a = arguments.input("A", 2);
  const TensorData x = arguments.input("x", 1);
  const isa::Tensor& y = arguments.output("y", 1);
  const DType accumulate = arguments.type("accumulate");
  const auto rows = static_cast<std::uint64_t>(a.tensor->shape[0]);
  const auto columns = static_cast<std::uint64_t>(a.tensor->shape[1]);
  if (x.tensor->elements() != columns)
    arguments.refuse("x", fmt::format("it must have A's {} columns", columns));
  if (y.elements() != rows) arguments.refuse("y", fmt::format("it must have A's {} rows", rows));
  const bool floating = isa::info(accumulate).floating;
  if (!floating && accumulate != DType::i32) arguments.refuse("accumulate", "sums are floating or i32");
  if (isa::info(a.tensor->type).floating != floating || isa::info(x.tensor->type).floating != floating)
    arguments.refuse("accumulate", "floating elements have floating sums, integers have i32");

  std::vector<double> vector(columns);
  for (std::uint64_t k = 0; k < columns; ++k) vector[k] = x.at(k);
  const auto scale = arguments.optional_input("scale", 1);
  if (scale && scale->tensor->elements() != rows)
    arguments.refuse("scale", fmt::format("it must have A's {} rows", rows));
  const auto out_scale = arguments.optional_input("out_scale", 1);
  if (out_scale && out_scale->tensor->elements() != 1) arguments.refuse("out_scale", "it is one element");
  if ((scale || out_scale) && (floating || !scale)) arguments.refuse("scale", "it belongs to i32 sums");

  const std::uint64_t steps = depth(reference.machine, a.tensor->type, columns);
  const bool saturate = reference.machine.numerics.overflow == config::Overflow::saturate;
  ExpectedTensor expected{y.name, std::vector<Expectation>(rows)};
  for (std::uint64_t row = 0; row < rows; ++row) {
    const Sum sum = row_sum(a, vector, row);
    if (floating) {
      expected.elements[row] = float_element(sum, accumulate, y.type, steps, columns);
    } else {  // below 2^53 a double sum of integers is exact
      expected.elements[row].value =
          integer_element(static_cast<std::int64_t>(sum.value), scale, out_scale, row, y.type, saturate);
    }
  }
  return {std::move(expected)};
}

}  // namespace npulab::kernels
