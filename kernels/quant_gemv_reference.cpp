// SPDX-License-Identifier: Apache-2.0
// References of y = W x with integer weights: with scales of groups and floating sums, within a bound; with x
// quantised on the way, exactly.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "kernels/reference_case.hpp"
#include "sim/values/convert.hpp"

namespace npulab::kernels {

namespace {

std::uint64_t dimension(const isa::Tensor& tensor, std::size_t index) {
  return static_cast<std::uint64_t>(tensor.shape[index]);
}

struct Operands {
  TensorData weights;
  TensorData scale;
  TensorData x;
  const isa::Tensor* y;
  std::uint64_t rows;
  std::uint64_t columns;  // of x; W may have one more that takes no part
  std::uint64_t pitch;    // elements of a row of W
};

Operands operands(const ReferenceArguments& arguments, std::size_t scale_dimensions) {
  Operands all{arguments.input("W", 2),
               arguments.input("scale", scale_dimensions),
               arguments.input("x", 1),
               &arguments.output("y", 1),
               0,
               0,
               0};
  all.rows = dimension(*all.weights.tensor, 0);
  all.pitch = dimension(*all.weights.tensor, 1);
  all.columns = dimension(*all.x.tensor, 0);
  if (all.pitch != all.columns && all.pitch != all.columns + 1)
    arguments.refuse("x", fmt::format("W has {} columns, x has {}", all.pitch, all.columns));
  if (dimension(*all.y, 0) != all.rows || dimension(*all.scale.tensor, 0) != all.rows)
    arguments.refuse("y", fmt::format("W has {} rows, scale {}, y {}", all.rows,
                                      dimension(*all.scale.tensor, 0), dimension(*all.y, 0)));
  if (all.y->type != isa::DType::f32) arguments.refuse("y", "its elements are f32");
  return all;
}

constexpr double kRoundoff = 0x1p-24;  // of f32
constexpr double kTiny = 0x1p-149;

// Of a group: every product passes at most the chain of its lane and the tree over the lanes.
Expectation grouped_row(const Operands& all, std::uint64_t row, std::uint64_t group, std::uint64_t lanes) {
  const std::uint64_t groups = (all.columns + group - 1) / group;
  double sum = 0;
  double magnitude = 0;
  for (std::uint64_t g = 0; g < groups; ++g) {
    double part = 0;
    double part_magnitude = 0;
    for (std::uint64_t k = g * group; k < std::min(all.columns, (g + 1) * group); ++k) {
      const double product = all.weights.at(row * all.pitch + k) * all.x.at(k);
      part += product;
      part_magnitude += std::fabs(product);
    }
    const double scale = all.scale.at(row * groups + g);
    sum += scale * part;
    magnitude += std::fabs(scale) * part_magnitude;
  }
  std::uint64_t tree = 0;
  while ((std::uint64_t{1} << tree) < lanes) ++tree;
  const std::uint64_t chain = (std::min(group, all.columns) + lanes - 1) / lanes;
  const auto steps = static_cast<double>(chain + groups + tree);
  const auto terms = static_cast<double>(all.columns);
  Expectation expected;
  expected.value = sum;
  // (1 + u)^n - 1 <= n u / (1 - n u), and the double sums of this function.
  expected.bound =
      (steps * kRoundoff / (1 - steps * kRoundoff) + terms * 0x1p-52) * magnitude + terms * kTiny;
  expected.may_overflow = magnitude + expected.bound >= 0x1.ffffffp127;
  if (all.columns == 0 || !std::isfinite(sum)) expected.bound = 0;
  return expected;
}

}  // namespace

std::vector<ExpectedTensor> grouped_gemv_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const Operands all = operands(arguments, 2);
  const std::int64_t group = arguments.number("group");
  if (group < 1) arguments.refuse("group", fmt::format("{} is below 1", group));
  const isa::Target target = config::make_target(reference.machine);
  const std::uint64_t lanes =
      std::max<std::uint64_t>(1, target.operation_bits / isa::bits(all.x.tensor->type));
  ExpectedTensor expected{all.y->name, {}, {}};
  for (std::uint64_t row = 0; row < all.rows; ++row)
    expected.elements.push_back(grouped_row(all, row, static_cast<std::uint64_t>(group), lanes));
  return {std::move(expected)};
}

std::vector<ExpectedTensor> dynamic_gemv_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const Operands all = operands(arguments, 1);
  float most = 0;
  for (std::uint64_t k = 0; k < all.columns; ++k) {
    const auto magnitude = static_cast<float>(std::fabs(all.x.at(k)));
    if (std::isnan(magnitude) || magnitude > most) most = magnitude;
  }
  constexpr float kSteps = 127;
  const float step = most / kSteps;
  const float inverse = step == 0 ? 0.0F : 1.0F / step;
  std::vector<std::int64_t> q(all.columns);
  for (std::uint64_t k = 0; k < all.columns; ++k)
    q[k] = values::encode_integer(isa::DType::i8,
                                  static_cast<double>(static_cast<float>(all.x.at(k)) * inverse));
  ExpectedTensor expected{all.y->name, {}, {}};
  for (std::uint64_t row = 0; row < all.rows; ++row) {
    std::int64_t sum = 0;
    for (std::uint64_t k = 0; k < all.columns; ++k)
      sum += static_cast<std::int64_t>(all.weights.at(row * all.pitch + k)) * q[k];
    const float scaled = static_cast<float>(sum) * static_cast<float>(all.scale.at(row));
    expected.elements.push_back({static_cast<double>(scaled * step), 0, false});
  }
  return {std::move(expected)};
}

}  // namespace npulab::kernels
