// SPDX-License-Identifier: Apache-2.0
// Matrices in memory: where each element stands, in rows, in columns or in blocks (fractals, tiles), and
// copies between layouts.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "isa/dtype.hpp"

namespace npulab::values {

// Capital letter: blocks follow one another by rows (Z) or by columns (N). Small letter: so do the elements
// inside a block. nd: rows of elements; nd_transposed: columns of elements.
enum class MatrixOrder : std::uint8_t { nd, nd_transposed, zz, zn, nz, nn };

struct MatrixOrderInfo {
  MatrixOrder order;
  std::string_view name;
  bool blocks;            // the matrix is cut into blocks
  bool blocks_by_rows;    // the next block stands to the right, not below
  bool elements_by_rows;  // neighbours in memory stand side by side, not one below the other
  MatrixOrder transposed;
};

inline constexpr std::array<MatrixOrderInfo, 6> kMatrixOrders{{
    {MatrixOrder::nd, "nd", false, true, true, MatrixOrder::nd_transposed},
    {MatrixOrder::nd_transposed, "nd_transposed", false, false, false, MatrixOrder::nd},
    {MatrixOrder::zz, "zz", true, true, true, MatrixOrder::nn},
    {MatrixOrder::zn, "zn", true, true, false, MatrixOrder::nz},
    {MatrixOrder::nz, "nz", true, false, true, MatrixOrder::zn},
    {MatrixOrder::nn, "nn", true, false, false, MatrixOrder::zz},
}};

constexpr const MatrixOrderInfo& info(MatrixOrder order) {
  return kMatrixOrders[static_cast<std::size_t>(order)];
}
constexpr std::optional<MatrixOrder> matrix_order_named(std::string_view text) {
  for (const MatrixOrderInfo& row : kMatrixOrders)
    if (row.name == text) return row.order;
  return std::nullopt;
}
constexpr bool matrix_order_table_in_order() {
  for (std::size_t i = 0; i < kMatrixOrders.size(); ++i)
    if (static_cast<std::size_t>(kMatrixOrders[i].order) != i) return false;
  return true;
}
static_assert(matrix_order_table_in_order(), "rows of kMatrixOrders stand in the order of MatrixOrder");

struct MatrixLayout {
  MatrixOrder order = MatrixOrder::nd;
  std::uint64_t block_rows = 0;  // elements; only for orders with blocks
  std::uint64_t block_columns = 0;
  // Bytes from one row (nd), column (nd_transposed), row of blocks (Z) or column of blocks (N) to the next;
  // 0: the least possible.
  std::uint64_t pitch = 0;
};

// Ascend's 512-byte fractals: 16 rows of 32 bytes (small z) or 16 columns of 32 bytes (small n).
MatrixLayout fractals(MatrixOrder order, isa::DType type);
// L0C: blocks of 16 × 16 whatever the type, in order nz.
MatrixLayout accumulator_fractals();
// AIE: tiles of rows × columns elements, rows of tiles, rows inside.
MatrixLayout tiles(std::uint64_t rows, std::uint64_t columns);

// What stands in memory, without the place. With `bfp16` the elements are blocks of 8 neighbours in memory
// order that share an exponent (bfp16.hpp), 9 bytes each, and `type` is f32, to which they decode.
struct MatrixForm {
  isa::DType type = isa::DType::none;
  bool bfp16 = false;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  MatrixLayout layout{};
};
struct MatrixView {
  const std::byte* data = nullptr;
  MatrixForm form{};
};
struct MatrixTarget {
  std::byte* data = nullptr;
  MatrixForm form{};
  operator MatrixView() const { return {data, form}; }  // NOLINT(google-explicit-constructor): as for spans
};

// Refuses (input, "matrix-layout"): no block size where the order has blocks, i4 or bfp16 elements in
// memory-order runs that do not fill whole bytes or whole blocks of 8, a pitch below the least possible.
void check(const MatrixForm& form);

// The same bytes read with rows and columns exchanged.
MatrixForm transposed(const MatrixForm& form);
MatrixView transposed(const MatrixView& view);
MatrixTarget transposed(const MatrixTarget& target);

// Distances in bits between neighbours along rows (from one row to the next) or columns. nd and nd_transposed
// are one block.
struct MatrixAxis {
  std::uint64_t block;  // elements, at least 1
  std::uint64_t per_block;
  std::uint64_t per_element;  // inside a block
  struct Place {
    std::uint64_t block;
    std::uint64_t element;  // in it
  };
  Place place(std::uint64_t i) const {
    if (i < block) return {0, i};
    const auto shift = static_cast<unsigned>(std::countr_zero(block));
    if (block >> shift == 1) return {i >> shift, i & (block - 1)};  // no division for the usual blocks
    return {i / block, i % block};
  }
  std::uint64_t at(std::uint64_t i) const {
    const Place where = place(i);
    return where.block * per_block + where.element * per_element;
  }
};
// The element (i, j) begins at bit rows.at(i) + columns.at(j). In bfp16 an element counts 9 bits, which is
// right for the first of each 8.
struct MatrixSteps {
  MatrixAxis rows;
  MatrixAxis columns;
};
MatrixSteps steps(const MatrixForm& form);

// Bit at which the element begins; in bfp16 that of its mantissa, which is 1 + its place in the block of 8
// bytes behind the exponent.
std::uint64_t element_bit(const MatrixForm& form, std::uint64_t i, std::uint64_t j);
// Bytes from the first to behind the last, with the padding of the last blocks, without that of the last
// pitch. 0 for a matrix without elements.
std::uint64_t matrix_bytes(const MatrixForm& form);

// The bits of one element in the low bits, or writing them; not for bfp16.
std::uint32_t element(const MatrixView& view, std::uint64_t i, std::uint64_t j);
void set_element(const MatrixTarget& target, std::uint64_t i, std::uint64_t j, std::uint32_t bits);

enum class BlockPadding { keep, zero };

// Copies the elements, bit by bit, into another layout of the same type and shape (input, "matrix-shapes"
// otherwise). The two must not overlap. `zero` clears the elements of blocks beyond rows and columns; bytes
// between pitches stay as they are. bfp16 moves in whole blocks: both sides must have the same memory-order
// direction.
void copy_matrix(const MatrixView& from, const MatrixTarget& to, BlockPadding padding = BlockPadding::keep);

}  // namespace npulab::values
