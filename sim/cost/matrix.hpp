// SPDX-License-Identifier: Apache-2.0
// When the products of a matrix unit run: cycles of its own clock, from sizes and the machine alone.
//
// Cube: an instruction takes startup_cycles and then one step of m x k x n after the other, each for its
// type's `cycles`; the last result can be read latency_cycles behind the last step. Sums that another
// instruction adds to may be met again accumulate_cycles behind the step that made them.
//
// Systolic, output stationary: the tile of C stands in the array, A comes in from the left and B from the
// top, one step of k a cycle, row i and column j that many cycles later. With K steps, a MAC latency of L,
// the sums of column j are complete in row m - 1 at K - 1 + (m - 1) + j + L, and shift out of the bottom of
// the array, `rows` cycles for a column: alone, K + (m - 1) + (n - 1) + L - 1 + rows cycles. The next product
// follows at once behind the last step; its sums may leave when the shift register is free. `hold` leaves the
// sums in the array; adding to sums that are not there shifts them in first.
//
// Weight stationary: a tile of B is shifted in from the top, a row a cycle, while the product before still
// runs; then the rows of A follow one another, and the sums leave at the bottom rows * L cycles behind their
// row of A: alone, k + (m - 1) + (n - 1) + rows * L cycles. Tiles along k add to the sums of the tile before.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/machine.hpp"

namespace npulab::cost {

struct MatrixWork {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  const config::MatrixTypeConfig* step = nullptr;
  std::uint64_t a_row_bits = 0;     // what the unit reads of one row of A
  std::uint64_t b_column_bits = 0;  // and of one column of B
  unsigned c_bits = 32;             // of one sum
  bool accumulate = false;
  bool hold = false;       // the sums stay in the array
  bool same_sums = false;  // C is that of the product before
  // Steps along k of each tile of C, rows of tiles first, where zeros or packed operands leave some out;
  // empty: all of them (output stationary).
  std::vector<std::uint64_t> steps;
  bool skips_reads = false;  // what is left out is not read either
};

struct MatrixTimes {
  std::uint64_t start = 0;  // of the first step
  std::uint64_t free = 0;   // the next product may begin
  std::uint64_t done = 0;   // C can be read
  std::uint64_t busy = 0;   // cycles of steps
};

class MatrixTimer {
 public:
  explicit MatrixTimer(const config::MatrixConfig& config) : config_(config) {}

  void reset(std::uint64_t cycle);
  // Sizes of 0 take no time. The array never holds sums of two products: `hold` asks for one tile.
  MatrixTimes run(const MatrixWork& work, std::uint64_t earliest);
  // Steps that `work` cannot do without on this unit, as cycles of all of it, rounded down.
  std::uint64_t least_cycles(const MatrixWork& work) const;
  bool holds_sums() const { return holds_; }

 private:
  MatrixTimes cube(const MatrixWork& work, std::uint64_t earliest);
  MatrixTimes output_stationary(const MatrixWork& work, std::uint64_t earliest);
  MatrixTimes weight_stationary(const MatrixWork& work, std::uint64_t earliest);
  std::uint64_t shift_cycles(std::uint64_t columns, unsigned bits) const;

  const config::MatrixConfig& config_;
  std::uint64_t free_ = 0;                 // feed of A and B
  std::uint64_t again_ = 0;                // cube: when the sums of the last product may be added to
  std::uint64_t register_ = 0;             // output stationary: the shift register is free
  std::uint64_t shifted_ = 0;              // and when the sums before began to leave
  std::uint64_t load_free_ = 0;            // weight stationary: B may be shifted in
  std::vector<std::uint64_t> rows_began_;  // and per column of tiles, when A began that made its sums last
  bool holds_ = false;
};

}  // namespace npulab::cost
