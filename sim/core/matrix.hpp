// SPDX-License-Identifier: Apache-2.0
// What matrix instructions do: operands resolved when the stream hands them over, values when the unit runs
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/core_state.hpp"
#include "sim/core/micro_op.hpp"
#include "sim/cost/matrix.hpp"
#include "sim/values/matrix.hpp"

namespace npulab::core {

// One operand: its place in a buffer and its form.
struct MatrixOperand {
  std::uint8_t space = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // from the first to behind the last
  values::MatrixForm form;
};

struct MatrixProduct {
  std::uint32_t pc = 0;
  std::uint64_t m = 0, n = 0, k = 0;
  MatrixOperand a;  // of a packed A the values that are there
  MatrixOperand b;
  MatrixOperand c;
  MatrixOperand index;  // of a packed A
  bool sparse = false;
  bool structured = false;
  std::uint64_t width = 0;  // slots in a row of a packed A, not structured
  bool accumulate = false;
  bool hold = false;
  std::optional<MatrixOperand> bias;
};

// Reads the numbers of a product. Errors: verdict "bad-size", "out-of-bounds", "misaligned", "value-range"
// with the place.
MatrixProduct resolve_product(const DecodedProgram& program, std::uint32_t pc, CoreState& state,
                              const config::MatrixConfig& matrix);

// Whether two products have their sums in the same elements.
bool same_sums(const MatrixProduct& one, const MatrixProduct& other);

// What the timing of a product depends on. `steps` is filled where zeros or packed operands leave steps out,
// which reads the operands.
cost::MatrixWork work_of(const MatrixProduct& product, const config::MatrixConfig& matrix, CoreState& state);

// Does it: checks that operands were written, multiplies, marks C as written unless the sums stay in the
// array. `held`: the sums that C begins from are in the array. Gives the integer sums that left i32.
std::uint64_t execute_product(const MatrixProduct& product, const DecodedProgram& program, CoreState& state,
                              bool held);

}  // namespace npulab::core
