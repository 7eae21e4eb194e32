// SPDX-License-Identifier: Apache-2.0
// References of y = h W^T + bias, where h is an input, or gelu of layernorm of one as norm_act_reference.cpp
// has it: errors of h go on through the products, magnified by the weights.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "kernels/reference_case.hpp"
#include "kernels/running_error.hpp"

namespace npulab::kernels {

namespace {

class LinearCase {
 public:
  explicit LinearCase(const ReferenceCase& reference)
      : arguments_(reference),
        x_(arguments_.input("x", 2)),
        weights_(arguments_.input("W", 2)),
        bias_(arguments_.input("bias", 1)),
        y_(arguments_.output("y", 2)),
        transposed_(arguments_.number("trans_w") != 0),
        rows_(size(x_, 0)),
        columns_(size(x_, 1)),
        outputs_(bias_.tensor->elements()),
        arithmetic_(1, reference.machine.numerics.overflow == config::Overflow::saturate) {
    const std::uint64_t rows = size(weights_, transposed_ ? 1 : 0);
    const std::uint64_t columns = size(weights_, transposed_ ? 0 : 1);
    if (rows != outputs_ || columns != columns_)
      arguments_.refuse("W", fmt::format("it must have {} outputs of {} columns", outputs_, columns_));
    if (y_.shape != std::vector{x_.tensor->shape[0], bias_.tensor->shape[0]})
      arguments_.refuse("y", fmt::format("it must be {} x {}", rows_, outputs_));
  }

  Expectation input(std::uint64_t index) const { return {x_.at(index), 0, false}; }

  // `h` is called with an index of x and gives what is multiplied in its place.
  template <class H>
  std::vector<ExpectedTensor> product(H&& h) const {
    ExpectedTensor expected{y_.name, std::vector<Expectation>(rows_ * outputs_)};
    std::vector<Expectation> row(columns_);
    for (std::uint64_t m = 0; m < rows_; ++m) {
      for (std::uint64_t k = 0; k < columns_; ++k) row[k] = h(m * columns_ + k);
      for (std::uint64_t o = 0; o < outputs_; ++o)
        expected.elements[m * outputs_ + o] = arithmetic_.expectation(sum(row, o), y_.type);
    }
    return {std::move(expected)};
  }

 private:
  static std::uint64_t size(const TensorData& data, std::size_t dimension) {
    return static_cast<std::uint64_t>(data.tensor->shape[dimension]);
  }

  Bounded sum(const std::vector<Expectation>& row, std::uint64_t output) const {
    const double bias = bias_.at(output);
    double value = bias;
    double magnitude = std::isfinite(bias) ? std::fabs(bias) : 0;
    double error = 0;
    bool wild = false;
    for (std::uint64_t k = 0; k < columns_; ++k) {
      const double weight = weights_.at(transposed_ ? k * outputs_ + output : output * columns_ + k);
      const double product = row[k].value * weight;
      value += product;
      if (std::isfinite(product)) {
        magnitude += std::fabs(product);
        error += row[k].bound * std::fabs(weight);
      }
      wild = wild || row[k].may_overflow;
    }
    Bounded result = arithmetic_.chain(value, magnitude + error, columns_);
    if (std::isfinite(value)) result.error += error;
    result.wild = result.wild || wild;
    return result;
  }

  ReferenceArguments arguments_;
  TensorData x_;
  TensorData weights_;
  TensorData bias_;
  const isa::Tensor& y_;
  bool transposed_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::uint64_t outputs_;
  F32Arithmetic arithmetic_;
};

}  // namespace

std::vector<ExpectedTensor> linear_reference(const ReferenceCase& reference) {
  const LinearCase linear(reference);
  return linear.product([&](std::uint64_t index) { return linear.input(index); });
}

std::vector<ExpectedTensor> layernorm_gelu_linear_reference(const ReferenceCase& reference) {
  const LinearCase linear(reference);
  // The first half by its own reference, as if it left a tensor of the type of x.
  isa::KernelHeader half = reference.header;
  isa::Tensor between = *ReferenceArguments(reference).input("x", 2).tensor;
  between.name = "h";
  between.direction = isa::Direction::out;
  half.tensors.push_back(between);
  half.reference.arguments["y"] = between.name;
  const std::vector<ExpectedTensor> first =
      layernorm_gelu_reference({half, reference.machine, reference.inputs});
  return linear.product([&](std::uint64_t index) { return first.front().elements[index]; });
}

}  // namespace npulab::kernels
