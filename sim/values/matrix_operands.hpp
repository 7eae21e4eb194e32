// SPDX-License-Identifier: Apache-2.0
// Operands of matrix products read from any layout into the words that the kernels take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/values/matrix.hpp"
#include "sim/values/matrix_kernels.hpp"

namespace npulab::values {

// Whether the elements become floats; else, where they are operands at all, 16-bit integers, two to a word.
bool is_float_operand(const MatrixForm& form);

// An operand as lines of neighbours in memory.
class Operand {
 public:
  Operand(const MatrixView& view, const MatrixKernels& kernels);

  bool by_rows() const { return by_rows_; }
  // Words of `count` elements, the last one filled up with zero.
  std::size_t words(std::size_t count) const { return bytes_ == 4 ? count : (count + 1) / 2; }

  // Elements first … first + count - 1 of a line; `first` begins whole bytes.
  void line(std::size_t number, std::size_t first, std::size_t count, std::uint32_t* dst) const;
  // Lines 0 … lines - 1 of kTileColumns elements that stand in one block column; each line follows the last.
  void panel(std::size_t lines, std::size_t first, std::uint32_t* dst) const;
  bool in_one_block(std::size_t first) const { return first % along_.block + kTileColumns <= along_.block; }
  bool integers() const { return bytes_ == 2; }

 private:
  MatrixView view_;
  bool by_rows_;
  MatrixAxis along_, across_;
  WidenFunction widen_;
  std::size_t bytes_;  // of a widened element
};

// All of A into scratch.a: m rows of words(k) words, `pitch` apart.
void pack_a(const Operand& a, std::size_t m, std::size_t k, std::size_t pitch, const MatrixKernels& kernels,
            MatrixScratch& scratch);
// Columns first … first + count - 1 of B into scratch.b: words(k) rows of kTileColumns words, zero beyond
// count.
void pack_panel(const Operand& b, std::size_t k, std::size_t first, std::size_t count,
                const MatrixKernels& kernels, MatrixScratch& scratch);

}  // namespace npulab::values
