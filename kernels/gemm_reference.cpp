// SPDX-License-Identifier: Apache-2.0
// The reference of C = alpha A B + beta C. Floating sums: the double sum, and a bound that holds for fused
// steps in f32 in whatever order, and for parts of k that are added afterwards. Integers: exact, wrapping.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/reference_case.hpp"
#include "kernels/running_error.hpp"

namespace npulab::kernels {

namespace {

using isa::DType;

constexpr double kDoubleRoundoff = 0x1p-53;
constexpr float kMillionths = 1e6F;
constexpr std::int64_t kOne = 1000000;  // in millionths

// A tensor as matrices: [batch, rows, columns], [rows, columns], or a vector as one column.
struct Matrices {
  std::uint64_t batch = 1;
  std::uint64_t rows = 0;
  std::uint64_t columns = 1;
};

Matrices matrices_of(const std::vector<std::int64_t>& shape, bool transposed) {
  Matrices result;
  const std::size_t dimensions = shape.size();
  if (dimensions == 3) result.batch = static_cast<std::uint64_t>(shape[0]);
  if (dimensions == 1) {
    result.rows = static_cast<std::uint64_t>(shape[0]);
  } else {
    result.rows = static_cast<std::uint64_t>(shape[dimensions - 2]);
    result.columns = static_cast<std::uint64_t>(shape[dimensions - 1]);
  }
  if (transposed) std::swap(result.rows, result.columns);
  return result;
}

struct Problem {
  TensorData a;
  TensorData b;
  std::optional<TensorData> old;
  const isa::Tensor* c = nullptr;
  Matrices left, right, result;
  bool trans_a = false;
  bool trans_b = false;
  DType operands = DType::none;  // what the cube takes
  std::int64_t alpha_e6 = kOne;
  std::int64_t beta_e6 = 0;
  std::uint64_t parts = 0;  // of k, added afterwards; 0: none
  bool saturate = false;

  bool floating() const { return isa::info(operands).floating; }
};

bool flag(const ReferenceArguments& arguments, const char* name) {
  const std::int64_t value = arguments.number(name);
  if (value != 0 && value != 1) arguments.refuse(name, fmt::format("{}: it is 0 or 1", value));
  return value == 1;
}

std::int64_t number_or(const ReferenceArguments& arguments, const char* name, std::int64_t otherwise) {
  return arguments.has(name) ? arguments.number(name) : otherwise;
}

void check_shapes(const Problem& problem, const ReferenceArguments& arguments) {
  const Matrices& c = problem.result;
  if (problem.right.rows != problem.left.columns)
    arguments.refuse(
        "B", fmt::format("A has {} columns, B has {} rows", problem.left.columns, problem.right.rows));
  if (c.rows != problem.left.rows || c.columns != problem.right.columns)
    arguments.refuse("C", fmt::format("the product is {} x {}, C is {} x {}", problem.left.rows,
                                      problem.right.columns, c.rows, c.columns));
  if (problem.left.batch != c.batch || (problem.right.batch != c.batch && problem.right.batch != 1))
    arguments.refuse("C", fmt::format("A has {} matrices, B has {}, C has {}", problem.left.batch,
                                      problem.right.batch, c.batch));
}

void check_types(const Problem& problem, const ReferenceArguments& arguments) {
  const bool floating = problem.floating();
  for (const DType type : {problem.a.tensor->type, problem.b.tensor->type, problem.c->type})
    if (isa::info(type).floating != floating)
      arguments.refuse("operands", "A, B and C are floating, or integers all of them");
  if (floating) return;
  if (problem.c->type != DType::i32) arguments.refuse("C", "sums of integers are i32");
  if (problem.alpha_e6 != kOne || (problem.beta_e6 != 0 && problem.beta_e6 != kOne))
    arguments.refuse("alpha_e6", "sums of integers are not scaled");
}

Problem problem_of(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  Problem problem;
  problem.trans_a = flag(arguments, "trans_a");
  problem.trans_b = flag(arguments, "trans_b");
  problem.operands = arguments.type("operands");
  problem.alpha_e6 = number_or(arguments, "alpha_e6", kOne);
  problem.beta_e6 = number_or(arguments, "beta_e6", 0);
  problem.parts = static_cast<std::uint64_t>(number_or(arguments, "parts", 0));
  problem.a = arguments.input("A", arguments.dimensions("A", 3));
  problem.b = arguments.input("B", arguments.dimensions("B", 3));
  problem.c = &arguments.output("C", arguments.dimensions("C", 3));
  if (problem.beta_e6 != 0) problem.old = arguments.input("C", problem.c->shape.size());
  problem.left = matrices_of(problem.a.tensor->shape, problem.trans_a);
  problem.right = matrices_of(problem.b.tensor->shape, problem.trans_b);
  problem.result = matrices_of(problem.c->shape, false);
  check_shapes(problem, arguments);
  check_types(problem, arguments);
  problem.saturate = reference.machine.numerics.overflow == config::Overflow::saturate;
  return problem;
}

// B of one product in the type of the operands, k after k.
std::vector<double> right_matrix(const Problem& problem, std::uint64_t batch) {
  const Matrices& form = problem.right;
  std::vector<double> rows(form.rows * form.columns);
  const std::uint64_t first = form.batch == 1 ? 0 : batch * rows.size();
  const bool rounds = problem.b.tensor->type != problem.operands;
  for (std::uint64_t k = 0; k < form.rows; ++k) {
    for (std::uint64_t j = 0; j < form.columns; ++j) {
      const double value = problem.b.at(first + (problem.trans_b ? j * form.rows + k : k * form.columns + j));
      rows[k * form.columns + j] =
          rounds ? stored(problem.operands, static_cast<float>(value), problem.saturate) : value;
    }
  }
  return rows;
}

// One row of A B: sums, and sums of the magnitudes of the finite products.
struct RowSums {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

void sum_row(const Problem& problem, std::uint64_t batch, std::uint64_t row, const std::vector<double>& right,
             RowSums& sums) {
  const Matrices& form = problem.left;
  const std::uint64_t columns = problem.right.columns;
  const std::uint64_t first = batch * form.rows * form.columns;
  sums.values.assign(columns, 0);
  sums.magnitudes.assign(columns, 0);
  for (std::uint64_t k = 0; k < form.columns; ++k) {
    const double a = problem.a.at(first + (problem.trans_a ? k * form.rows + row : row * form.columns + k));
    const double* b = right.data() + k * columns;
    for (std::uint64_t j = 0; j < columns; ++j) {
      const double product = a * b[j];
      const double size = std::fabs(product);
      sums.values[j] += product;
      sums.magnitudes[j] += size < std::numeric_limits<double>::infinity() ? size : 0;
    }
  }
}

Bounded bounded_sum(double value, double magnitude, std::uint64_t terms, std::uint64_t parts) {
  Bounded sum{value, 0, false};
  const FloatLimits limit = float_limits(DType::f32);
  // Each product passes at most a rounding for each term, and one for each part.
  const double growth = growth_of(limit.roundoff, terms + parts);
  const auto steps = static_cast<double>(terms + parts);
  sum.wild = magnitude * (1 + growth) >= limit.overflow;
  if (std::isfinite(value) && terms > 0)
    sum.error = (growth + steps * kDoubleRoundoff) * magnitude + steps * limit.tiny * (1 + growth);
  return sum;
}

double factor(std::int64_t millionths) {
  return static_cast<double>(static_cast<float>(millionths) / kMillionths);
}

Expectation float_element(const Problem& problem, const F32Arithmetic& arithmetic, Bounded sum,
                          std::uint64_t index) {
  if (problem.alpha_e6 != kOne) sum = arithmetic.product(sum, {factor(problem.alpha_e6)});
  if (problem.beta_e6 != 0) sum = arithmetic.fused({problem.old->at(index)}, {factor(problem.beta_e6)}, sum);
  return arithmetic.expectation(sum, problem.c->type);
}

double integer_element(const Problem& problem, double sum, std::uint64_t index) {
  auto exact = static_cast<std::int64_t>(sum);  // below 2^53 a double sum of integers is exact
  if (problem.beta_e6 != 0) exact += static_cast<std::int64_t>(problem.old->at(index));
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(exact)));
}

}  // namespace

std::vector<ExpectedTensor> gemm_reference(const ReferenceCase& reference) {
  const Problem problem = problem_of(reference);
  const Matrices& form = problem.result;
  const F32Arithmetic arithmetic(1, problem.saturate);
  ExpectedTensor expected{problem.c->name, std::vector<Expectation>(form.batch * form.rows * form.columns)};
  RowSums sums;
  std::uint64_t index = 0;
  for (std::uint64_t batch = 0; batch < form.batch; ++batch) {
    const std::vector<double> right = right_matrix(problem, batch);
    for (std::uint64_t row = 0; row < form.rows; ++row) {
      sum_row(problem, batch, row, right, sums);
      for (std::uint64_t j = 0; j < form.columns; ++j, ++index) {
        if (problem.floating())
          expected.elements[index] = float_element(
              problem, arithmetic,
              bounded_sum(sums.values[j], sums.magnitudes[j], problem.left.columns, problem.parts), index);
        else
          expected.elements[index].value = integer_element(problem, sums.values[j], index);
      }
    }
  }
  return {std::move(expected)};
}

}  // namespace npulab::kernels
