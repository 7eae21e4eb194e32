// SPDX-License-Identifier: Apache-2.0
// References of softmax and its kin, norms, activations and rotary embedding: the exact result, and the bound
// that running error analysis gives for the steps in f32 which the kernels state. An overflow of f32 on the
// way counts as infinity.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/reference_case.hpp"
#include "kernels/running_error.hpp"

namespace npulab::kernels {

namespace {

using isa::DType;

// A matrix in and a matrix (or a number for each row) out.
class RowCase {
 public:
  RowCase(const ReferenceCase& reference, const std::string& input, std::size_t output_dimensions)
      : arguments(reference),
        x(arguments.input(input, 2)),
        y(arguments.output("y", output_dimensions)),
        rows(static_cast<std::uint64_t>(x.tensor->shape[0])),
        columns(static_cast<std::uint64_t>(x.tensor->shape[1])),
        arithmetic(lanes(reference.machine),
                   reference.machine.numerics.overflow == config::Overflow::saturate),
        expected_{y.name, std::vector<Expectation>(y.elements())} {
    const bool fits =
        y.shape[0] == x.tensor->shape[0] && (output_dimensions == 1 || y.shape == x.tensor->shape);
    if (!fits) arguments.refuse("y", fmt::format("it must have the {} x {} of {}", rows, columns, input));
  }

  Bounded at(std::uint64_t row, std::uint64_t column) const { return of(x, row * columns + column); }
  Bounded of(const TensorData& data, std::uint64_t index) const {
    return arithmetic.widened(data.at(index), data.tensor->type);
  }
  void set(std::uint64_t index, Bounded value) {
    expected_.elements[index] = arithmetic.expectation(value, y.type);
  }
  std::vector<ExpectedTensor> result() { return {std::move(expected_)}; }

  TensorData like_x(const std::string& argument) const {
    const TensorData data = arguments.input(argument, 2);
    if (data.tensor->shape != x.tensor->shape)
      arguments.refuse(argument, fmt::format("it must be {} x {}", rows, columns));
    return data;
  }
  TensorData for_columns(const std::string& argument) const {
    const TensorData data = arguments.input(argument, 1);
    if (data.tensor->elements() != columns)
      arguments.refuse(argument, fmt::format("it must have {} elements", columns));
    return data;
  }

  ReferenceArguments arguments;
  TensorData x;
  const isa::Tensor& y;
  std::uint64_t rows;
  std::uint64_t columns;
  F32Arithmetic arithmetic;

 private:
  static std::uint64_t lanes(const config::Machine& machine) {
    return std::max(1U, config::make_target(machine).operation_bits / isa::bits(DType::f32));
  }

  ExpectedTensor expected_;
};

// A row of what softmax works on, with its largest element and the sum of the powers.
struct SoftmaxRow {
  std::vector<Bounded> elements;
  std::vector<Bounded> powers;
  Bounded largest{-0x1.fffffep+127};  // the lowest f32
  Bounded sum;
};

class SoftmaxCase : public RowCase {
 public:
  SoftmaxCase(const ReferenceCase& reference, std::size_t output_dimensions)
      : RowCase(reference, "x", output_dimensions) {
    if (arguments.has("keep")) keep_ = like_x("keep");
    if (arguments.has("add")) add_ = like_x("add");
  }

  bool masked() const { return keep_ || add_; }

  SoftmaxRow row(std::uint64_t row) const {
    SoftmaxRow result;
    for (std::uint64_t column = 0; column < columns; ++column)
      result.elements.push_back(element(row, column));
    for (const Bounded& one : result.elements) {
      // NaN stays the largest.
      if (!(one.value <= result.largest.value)) result.largest.value = one.value + result.largest.value * 0;
      result.largest.error = std::max(result.largest.error, one.error);
      result.largest.wild = result.largest.wild || one.wild;
    }
    for (const Bounded& one : result.elements)
      result.powers.push_back(arithmetic.exp(arithmetic.difference(one, result.largest)));
    result.sum = arithmetic.total(result.powers);
    return result;
  }

 private:
  Bounded element(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t index = row * columns + column;
    if (keep_ && keep_->at(index) == 0) return {-std::numeric_limits<double>::infinity()};
    if (add_) return arithmetic.sum(at(row, column), of(*add_, index));
    return at(row, column);
  }

  std::optional<TensorData> keep_;
  std::optional<TensorData> add_;
};

// y = 1 / sqrt(mean of squares + eps).
Bounded scale_of(const RowCase& one, std::span<const Bounded> elements) {
  const F32Arithmetic& a = one.arithmetic;
  const auto eps = static_cast<double>(one.arguments.number("eps_e12"));
  const Bounded mean = a.quotient(a.total_of_squares(elements), {static_cast<double>(one.columns)});
  return a.rsqrt(a.sum(mean, a.product(a.constant(eps), a.constant(1e-12))));
}

Bounded gelu(const F32Arithmetic& a, Bounded x, bool tanh) {
  constexpr double kRootHalf = 0.70710678118654752;
  constexpr double kRootTwoOverPi = 0.79788456080286536;
  constexpr double kCubic = 0.035677408136300125;  // 0.044715 times that
  Bounded t;
  if (tanh) {
    const Bounded inner = a.sum(a.product(a.product(x, x), a.constant(kCubic)), a.constant(kRootTwoOverPi));
    t = a.tanh(a.product(inner, x));
  } else {
    t = a.erf(a.product(x, a.constant(kRootHalf)));
  }
  const Bounded half = a.product(x, {0.5});
  return a.fused(half, t, half);
}

std::vector<ExpectedTensor> layernorm(const ReferenceCase& reference, bool with_gelu) {
  RowCase one(reference, "x", 2);
  const F32Arithmetic& a = one.arithmetic;
  const TensorData gamma = one.for_columns("gamma");
  const TensorData beta = one.for_columns("beta");
  const bool tanh = with_gelu && one.arguments.number("tanh") != 0;
  std::vector<Bounded> elements(one.columns);
  for (std::uint64_t row = 0; row < one.rows && one.columns > 0; ++row) {
    for (std::uint64_t i = 0; i < one.columns; ++i) elements[i] = one.at(row, i);
    const Bounded mean = a.quotient(a.total(elements), {static_cast<double>(one.columns)});
    for (Bounded& element : elements) element = a.difference(element, mean);
    const Bounded scale = scale_of(one, elements);
    for (std::uint64_t i = 0; i < one.columns; ++i) {
      const Bounded scaled = a.product(elements[i], scale);
      const Bounded y = a.fused(scaled, one.of(gamma, i), one.of(beta, i));
      one.set(row * one.columns + i, with_gelu ? gelu(a, y, tanh) : y);
    }
  }
  return one.result();
}

}  // namespace

std::vector<ExpectedTensor> softmax_reference(const ReferenceCase& reference) {
  SoftmaxCase one(reference, 2);
  const F32Arithmetic& a = one.arithmetic;
  for (std::uint64_t row = 0; row < one.rows; ++row) {
    SoftmaxRow r = one.row(row);
    if (one.masked() && r.sum.value == 0) r.sum.value = 1;
    const Bounded share = a.quotient({1}, r.sum);
    for (std::uint64_t i = 0; i < one.columns; ++i)
      one.set(row * one.columns + i, a.product(r.powers[i], share));
  }
  return one.result();
}

std::vector<ExpectedTensor> log_softmax_reference(const ReferenceCase& reference) {
  SoftmaxCase one(reference, 2);
  const F32Arithmetic& a = one.arithmetic;
  for (std::uint64_t row = 0; row < one.rows; ++row) {
    const SoftmaxRow r = one.row(row);
    const Bounded log = a.log(r.sum);
    for (std::uint64_t i = 0; i < one.columns; ++i)
      one.set(row * one.columns + i, a.difference(a.difference(r.elements[i], r.largest), log));
  }
  return one.result();
}

std::vector<ExpectedTensor> logsumexp_reference(const ReferenceCase& reference) {
  SoftmaxCase one(reference, 1);
  for (std::uint64_t row = 0; row < one.rows; ++row) {
    const SoftmaxRow r = one.row(row);
    one.set(row, one.arithmetic.sum(one.arithmetic.log(r.sum), r.largest));
  }
  return one.result();
}

std::vector<ExpectedTensor> layernorm_reference(const ReferenceCase& reference) {
  return layernorm(reference, false);
}

std::vector<ExpectedTensor> layernorm_gelu_reference(const ReferenceCase& reference) {
  return layernorm(reference, true);
}

std::vector<ExpectedTensor> rmsnorm_reference(const ReferenceCase& reference) {
  RowCase one(reference, "x", 2);
  const F32Arithmetic& a = one.arithmetic;
  const TensorData gamma = one.for_columns("gamma");
  std::vector<Bounded> elements(one.columns);
  for (std::uint64_t row = 0; row < one.rows && one.columns > 0; ++row) {
    for (std::uint64_t i = 0; i < one.columns; ++i) elements[i] = one.at(row, i);
    const Bounded scale = scale_of(one, elements);
    for (std::uint64_t i = 0; i < one.columns; ++i)
      one.set(row * one.columns + i, a.product(a.product(elements[i], scale), one.of(gamma, i)));
  }
  return one.result();
}

std::vector<ExpectedTensor> gelu_reference(const ReferenceCase& reference) {
  RowCase one(reference, "x", 2);
  const bool tanh = one.arguments.number("tanh") != 0;
  for (std::uint64_t i = 0; i < one.rows * one.columns; ++i)
    one.set(i, gelu(one.arithmetic, one.of(one.x, i), tanh));
  return one.result();
}

std::vector<ExpectedTensor> silu_reference(const ReferenceCase& reference) {
  RowCase one(reference, "x", 2);
  const F32Arithmetic& a = one.arithmetic;
  std::optional<TensorData> times;
  if (one.arguments.has("times")) times = one.like_x("times");
  for (std::uint64_t i = 0; i < one.rows * one.columns; ++i) {
    const Bounded x = one.of(one.x, i);
    const Bounded silu = a.quotient(x, a.sum(a.exp({-x.value}), {1}));
    one.set(i, times ? a.product(silu, one.of(*times, i)) : silu);
  }
  return one.result();
}

std::vector<ExpectedTensor> rope_reference(const ReferenceCase& reference) {
  RowCase one(reference, "x", 2);
  const F32Arithmetic& a = one.arithmetic;
  const TensorData cos = one.arguments.input("cos", 2);
  const TensorData sin = one.arguments.input("sin", 2);
  const auto pairs = static_cast<std::uint64_t>(cos.tensor->shape[1]);
  if (pairs == 0 || one.columns % (2 * pairs) != 0 || cos.tensor->shape[0] != one.x.tensor->shape[0])
    one.arguments.refuse("cos",
                         fmt::format("it must have {} rows, and a column for each pair of a head", one.rows));
  if (sin.tensor->shape != cos.tensor->shape) one.arguments.refuse("sin", "it must be as cos");
  const bool interleaved = one.arguments.number("interleaved") != 0;
  for (std::uint64_t pair = 0; pair < one.rows * one.columns / 2; ++pair) {
    const std::uint64_t row = pair / (one.columns / 2);
    const std::uint64_t head = pair / pairs * pairs * 2;
    const std::uint64_t i = pair % pairs;
    const std::uint64_t first = head + (interleaved ? 2 * i : i);
    const std::uint64_t second = first + (interleaved ? 1 : pairs);
    const Bounded x = one.of(one.x, first);
    const Bounded z = one.of(one.x, second);
    const Bounded minus_z{-z.value};
    const Bounded c = one.of(cos, row * pairs + i);
    const Bounded s = one.of(sin, row * pairs + i);
    one.set(first, a.fused(minus_z, s, a.product(x, c)));
    one.set(second, a.fused(z, c, a.product(x, s)));
  }
  return one.result();
}

}  // namespace npulab::kernels
