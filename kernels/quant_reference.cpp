// SPDX-License-Identifier: Apache-2.0
// References of quantisation: each element by the rule that the kernels state, so all are exact.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference_case.hpp"
#include "sim/values/convert.hpp"

namespace npulab::kernels {

namespace {

std::uint64_t dimension(const isa::Tensor& tensor, std::size_t index) {
  return static_cast<std::uint64_t>(tensor.shape[index]);
}

std::uint64_t positive(const ReferenceArguments& arguments, const std::string& name) {
  const std::int64_t value = arguments.number(name);
  if (value < 1) arguments.refuse(name, fmt::format("{} is below 1", value));
  return static_cast<std::uint64_t>(value);
}

// Scales of a matrix: one for all its rows or one each, and one for so many columns.
struct Granularity {
  std::uint64_t rows;     // 1 or those of the matrix
  std::uint64_t columns;  // of scales
  std::uint64_t group;    // columns of the matrix with one scale

  std::uint64_t at(std::uint64_t row, std::uint64_t column) const {
    return (rows == 1 ? 0 : row) * columns + column / group;
  }
};

Granularity granularity(const ReferenceArguments& arguments, const isa::Tensor& matrix,
                        const isa::Tensor& scale) {
  const Granularity made{dimension(scale, 0), dimension(scale, 1), positive(arguments, "group")};
  const std::uint64_t rows = dimension(matrix, 0);
  const std::uint64_t columns = dimension(matrix, 1);
  if (made.rows != 1 && made.rows != rows)
    arguments.refuse("scale", fmt::format("it has {} rows, x has {}", made.rows, rows));
  if (columns > 0 && made.columns != (columns + made.group - 1) / made.group)
    arguments.refuse(
        "scale", fmt::format("it has {} columns; {} columns in groups of {} have {}", made.columns, columns,
                             made.group, (columns + made.group - 1) / made.group));
  return made;
}

// The bits of a magnitude, in whose order magnitudes are; NaNs lie above infinity.
std::uint32_t magnitude_bits(const TensorData& x, std::uint64_t index) {
  const std::size_t size = isa::bits(x.tensor->type) / 8;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < size; ++i)
    bits |= std::to_integer<std::uint32_t>(x.elements[index * size + i]) << 8 * i;
  return bits & ~(std::uint32_t{1} << (8 * size - 1));
}

void need_float(const ReferenceArguments& arguments, const TensorData& x) {
  if (!isa::info(x.tensor->type).floating || isa::bits(x.tensor->type) % 8 != 0)
    arguments.refuse("x", fmt::format("elements of {} are no floats", isa::name(x.tensor->type)));
}

}  // namespace

std::vector<ExpectedTensor> rescale_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const TensorData x = arguments.input("x", 2);
  const TensorData scale = arguments.input("scale", 2);
  const isa::Tensor& y = arguments.output("y", 2);
  if (y.shape != x.tensor->shape) arguments.refuse("y", "it has the shape of x");
  const Granularity scales = granularity(arguments, *x.tensor, *scale.tensor);
  const auto& given = reference.header.reference.arguments;
  const bool reciprocal = given.contains("reciprocal") && arguments.number("reciprocal") != 0;
  const double lowest = given.contains("lowest") ? static_cast<double>(arguments.number("lowest"))
                                                 : -std::numeric_limits<double>::infinity();
  const bool saturate = reference.machine.numerics.overflow == config::Overflow::saturate;
  ExpectedTensor expected{y.name, {}, {}};
  const std::uint64_t columns = dimension(y, 1);
  for (std::uint64_t i = 0; i < y.elements(); ++i) {
    auto factor = static_cast<float>(scale.at(scales.at(i / columns, i % columns)));
    if (reciprocal) factor = factor == 0 ? 0.0F : 1.0F / factor;
    const float product = static_cast<float>(x.at(i)) * factor;
    expected.elements.push_back({std::max(stored(y.type, product, saturate), lowest), 0, false});
    if (std::isnan(product) && isa::info(y.type).floating)
      expected.elements.back().value = std::numeric_limits<double>::quiet_NaN();
  }
  return {std::move(expected)};
}

std::vector<ExpectedTensor> absmax_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const TensorData x = arguments.input("x", 2);
  need_float(arguments, x);
  const isa::Tensor& scale = arguments.output("scale", 2);
  const Granularity scales = granularity(arguments, *x.tensor, scale);
  const auto steps = static_cast<float>(positive(arguments, "steps"));
  std::vector<float> most(scale.elements());
  const std::uint64_t columns = dimension(*x.tensor, 1);
  for (std::uint64_t i = 0; i < x.tensor->elements(); ++i) {
    float& one = most[scales.at(i / columns, i % columns)];
    const auto value = static_cast<float>(std::fabs(x.at(i)));
    if (std::isnan(value) || value > one) one = value;
  }
  ExpectedTensor expected{scale.name, {}, {}};
  for (const float one : most) expected.elements.push_back({static_cast<double>(one / steps), 0, false});
  return {std::move(expected)};
}

std::vector<ExpectedTensor> percentile_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const TensorData x = arguments.input("x", 2);
  need_float(arguments, x);
  const isa::Tensor& scale = arguments.output("scale", 1);
  const auto steps = static_cast<float>(positive(arguments, "steps"));
  constexpr std::uint64_t kMillion = 1000000;
  const std::uint64_t ppm = positive(arguments, "ppm");
  const std::uint64_t count = x.tensor->elements();
  float value = 0;
  if (count > 0) {
    std::vector<std::uint32_t> magnitudes(count);
    for (std::uint64_t i = 0; i < count; ++i) magnitudes[i] = magnitude_bits(x, i);
    const std::uint64_t place = (count * ppm + kMillion - 1) / kMillion;
    const auto found = magnitudes.begin() + static_cast<std::ptrdiff_t>(std::min(place, count) - 1);
    std::nth_element(magnitudes.begin(), found, magnitudes.end());
    value = static_cast<float>(values::decode_float(x.tensor->type, *found));
  }
  return {{scale.name, {{static_cast<double>(value / steps), 0, false}}, {}}};
}

}  // namespace npulab::kernels
