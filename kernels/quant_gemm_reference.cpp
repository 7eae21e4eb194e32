// SPDX-License-Identifier: Apache-2.0
// References of C = A W^T with integer weights on a matrix unit: exact where A is integer too, with a factor
// for each column; within the bound of a chain where a scale for each group makes the weights floating.
#include <fmt/core.h>

#include <cmath>

#include "kernels/reference_case.hpp"
#include "kernels/running_error.hpp"

namespace npulab::kernels {

namespace {

std::uint64_t dimension(const isa::Tensor& tensor, std::size_t index) {
  return static_cast<std::uint64_t>(tensor.shape[index]);
}

struct Operands {
  TensorData a;
  TensorData weights;
  TensorData scale;
  const isa::Tensor* c;
  std::uint64_t rows;
  std::uint64_t columns;  // of A; W may have one more that takes no part
  std::uint64_t outputs;
  std::uint64_t pitch;  // elements of a row of W
  bool saturate;
};

Operands operands_of(const ReferenceCase& reference, std::size_t scale_dimensions) {
  const ReferenceArguments arguments(reference);
  Operands all{arguments.input("A", 2),
               arguments.input("W", 2),
               arguments.input("scale", scale_dimensions),
               &arguments.output("C", 2),
               0,
               0,
               0,
               0,
               reference.machine.numerics.overflow == config::Overflow::saturate};
  all.rows = dimension(*all.a.tensor, 0);
  all.columns = dimension(*all.a.tensor, 1);
  all.outputs = dimension(*all.weights.tensor, 0);
  all.pitch = dimension(*all.weights.tensor, 1);
  if (all.pitch != all.columns && all.pitch != all.columns + 1)
    arguments.refuse("W", fmt::format("A has {} columns, W has {}", all.columns, all.pitch));
  if (dimension(*all.scale.tensor, 0) != all.outputs)
    arguments.refuse("scale",
                     fmt::format("W has {} rows, scale {}", all.outputs, dimension(*all.scale.tensor, 0)));
  if (dimension(*all.c, 0) != all.rows || dimension(*all.c, 1) != all.outputs)
    arguments.refuse("C", fmt::format("it must be {} x {}", all.rows, all.outputs));
  return all;
}

// A row of W as the matrix unit multiplies it.
std::vector<double> scaled_weights(const Operands& all, std::uint64_t row, std::uint64_t group) {
  const std::uint64_t groups = (all.columns + group - 1) / group;
  std::vector<double> weights(all.columns);
  for (std::uint64_t k = 0; k < all.columns; ++k) {
    const auto scale = static_cast<float>(all.scale.at(row * groups + k / group));
    const auto weight = static_cast<float>(all.weights.at(row * all.pitch + k));
    weights[k] = stored(all.a.tensor->type, weight * scale, all.saturate);  // the product is exact in f32
  }
  return weights;
}

}  // namespace

std::vector<ExpectedTensor> scaled_gemm_reference(const ReferenceCase& reference) {
  const Operands all = operands_of(reference, 1);
  const ReferenceArguments arguments(reference);
  const TensorData step = arguments.input("step", 1);
  if (step.tensor->elements() != 1) arguments.refuse("step", "it must have 1 element");
  if (isa::info(all.a.tensor->type).floating) arguments.refuse("A", "its elements are integers");
  ExpectedTensor expected{all.c->name, std::vector<Expectation>(all.rows * all.outputs)};
  for (std::uint64_t n = 0; n < all.outputs; ++n) {
    const float factor = static_cast<float>(all.scale.at(n)) * static_cast<float>(step.at(0));
    for (std::uint64_t m = 0; m < all.rows; ++m) {
      std::int64_t sum = 0;
      for (std::uint64_t k = 0; k < all.columns; ++k)
        sum += static_cast<std::int64_t>(all.a.at(m * all.columns + k)) *
               static_cast<std::int64_t>(all.weights.at(n * all.pitch + k));
      expected.elements[m * all.outputs + n].value =
          stored(all.c->type, static_cast<float>(sum) * factor, all.saturate);
    }
  }
  return {std::move(expected)};
}

std::vector<ExpectedTensor> grouped_gemm_reference(const ReferenceCase& reference) {
  const Operands all = operands_of(reference, 2);
  const ReferenceArguments arguments(reference);
  const std::int64_t group = arguments.number("group");
  if (group < 1) arguments.refuse("group", fmt::format("{} is below 1", group));
  const F32Arithmetic arithmetic(1, all.saturate);
  ExpectedTensor expected{all.c->name, std::vector<Expectation>(all.rows * all.outputs)};
  for (std::uint64_t n = 0; n < all.outputs; ++n) {
    const std::vector<double> weights = scaled_weights(all, n, static_cast<std::uint64_t>(group));
    for (std::uint64_t m = 0; m < all.rows; ++m) {
      double sum = 0;
      double magnitude = 0;
      for (std::uint64_t k = 0; k < all.columns; ++k) {
        const double product = all.a.at(m * all.columns + k) * weights[k];
        sum += product;
        if (std::isfinite(product)) magnitude += std::fabs(product);
      }
      expected.elements[m * all.outputs + n] =
          arithmetic.expectation(arithmetic.chain(sum, magnitude, all.columns), all.c->type);
    }
  }
  return {std::move(expected)};
}

}  // namespace npulab::kernels
