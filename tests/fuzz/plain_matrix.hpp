// SPDX-License-Identifier: Apache-2.0
// Where the elements of a matrix operand lie in its buffer, as docs/machines.md gives it, element by element.
#pragma once

#include "isa/layout.hpp"
#include "sim/config/machine.hpp"
#include "tests/simulator/lane_reference.hpp"

namespace npulab::test {

struct PlainMatrix {
  DType type = DType::f32;
  config::OperandLayout layout = config::OperandLayout::nd;
  bool exchanged = false;  // stands as columns x rows (nd)
  bool sums = false;       // blocks of 16 x 16 elements
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t pitch = 0;  // bytes from one line of elements or blocks to the next; 0: no gap

  // Bit of an element from the start of the matrix.
  std::int64_t bit(std::int64_t i, std::int64_t j) const {
    const std::int64_t bits = isa::bits(type);
    if (layout == config::OperandLayout::nd) {
      const std::int64_t line = exchanged ? j : i;
      return line * line_bytes() * 8 + (exchanged ? i : j) * bits;
    }
    const std::int64_t block_bit = block_rows() * block_columns() * bits;
    const std::int64_t down = i / block_rows();
    const std::int64_t across = j / block_columns();
    const std::int64_t line = by_columns() ? across : down;
    const std::int64_t inside_line = by_columns() ? down : across;
    const std::int64_t r = i % block_rows();
    const std::int64_t c = j % block_columns();
    const std::int64_t inside = small_n() ? c * block_rows() + r : r * block_columns() + c;
    return line * line_bytes() * 8 + inside_line * block_bit + inside * bits;
  }
  // Up to the end of the last element or block.
  std::int64_t bytes() const {
    if (rows == 0 || columns == 0) return 0;
    const std::int64_t bits = isa::bits(type);
    if (layout == config::OperandLayout::nd)
      return ((exchanged ? columns : rows) - 1) * line_bytes() +
             ((exchanged ? rows : columns) * bits + 7) / 8;
    return (lines() - 1) * line_bytes() + blocks_of_line() * block_rows() * block_columns() * bits / 8;
  }
  // Least distance of lines.
  std::int64_t dense_line() const {
    const std::int64_t bits = isa::bits(type);
    if (layout == config::OperandLayout::nd) return ((exchanged ? rows : columns) * bits + 7) / 8;
    return blocks_of_line() * block_rows() * block_columns() * bits / 8;
  }
  std::uint64_t get(const Bytes& memory, std::int64_t start, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = bit(i, j);
    return get_lane(type, memory, static_cast<std::size_t>(start + at / 8),
                    static_cast<std::size_t>(at % 8 / 4));
  }
  void put(Bytes& memory, std::int64_t start, std::int64_t i, std::int64_t j, std::uint64_t bits) const {
    put_lane(type, memory, static_cast<std::size_t>(start + bit(i, j) / 8), 0, bits);
  }

 private:
  bool by_columns() const { return layout == config::OperandLayout::nz; }
  bool small_n() const { return layout == config::OperandLayout::zn; }
  std::int64_t block_rows() const {
    return small_n() ? isa::kPieceBytes * 8 / isa::bits(type) : isa::kFractalRows;
  }
  std::int64_t block_columns() const {
    if (small_n()) return isa::kFractalRows;
    return sums ? isa::kPieceElements : isa::kPieceBytes * 8 / isa::bits(type);
  }
  std::int64_t blocks_down() const { return (rows + block_rows() - 1) / block_rows(); }
  std::int64_t blocks_across() const { return (columns + block_columns() - 1) / block_columns(); }
  std::int64_t lines() const { return by_columns() ? blocks_across() : blocks_down(); }
  std::int64_t blocks_of_line() const { return by_columns() ? blocks_down() : blocks_across(); }
  std::int64_t line_bytes() const { return pitch == 0 ? dense_line() : pitch; }
};

}  // namespace npulab::test
