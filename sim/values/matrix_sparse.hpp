// SPDX-License-Identifier: Apache-2.0
// Sparse operands of matrix instructions, with zeros along rows left out; for B give its transposed view.
// A sparse product is that of the dense matrix: what was left out counts as +0.
//
// A zero is an element equal to zero; the sign of -0 is lost when it is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/values/matrix_layout.hpp"

namespace npulab::values {

// Two of four: of every 4 neighbours in a row (the last group filled up with zeros) 2 are kept, with their
// places 0 … 3 ascending. Values stand in rows of 2 * ceil(columns / 4) elements, as nd with rows of whole
// bytes; places in 2 bits each, low bits first, rows beginning at a whole byte. A group with fewer non-zeros
// keeps the first places that are free. Types of i4 to f32; bfp16 has no sparse form.
struct TwoOfFour {
  std::vector<std::byte> values;
  std::vector<std::byte> places;
};
MatrixForm two_of_four_values(const MatrixForm& dense);          // the form of `values`
std::uint64_t two_of_four_place_bytes(const MatrixForm& dense);  // of all rows
// Refuses (input, "not-2-of-4") a group with more than 2 non-zeros, naming row and first column.
TwoOfFour pack_2_4(const MatrixView& dense);
// Refuses (verdict, "bad-2-of-4-place") places that do not ascend, and a value that is not zero beyond the
// last column.
void unpack_2_4(const std::byte* values, const std::byte* places, const MatrixTarget& dense);

// Value and index: each row has `width` slots; a slot holds a value and its column as a little-endian i16 or
// i32, ascending in a row; free slots stand at the end and hold zero and -1.
struct SparseRows {
  std::uint64_t width = 0;
  std::vector<std::byte> values;   // nd, rows of whole bytes
  std::vector<std::byte> indices;  // rows × width of index_type
};
MatrixForm sparse_row_values(const MatrixForm& dense, std::uint64_t width);  // the form of `values`
// `width` 0: the most that a row needs. Refuses (input, "sparse-row-full") a row with more non-zeros than
// width, and (input, "sparse-index-type") an index type that cannot name every column.
SparseRows pack_sparse(const MatrixView& dense, isa::DType index_type, std::uint64_t width = 0);
// Refuses (verdict, "bad-sparse-index") an index that is no column, does not ascend, or follows a free slot.
void unpack_sparse(const std::byte* values, const std::byte* indices, isa::DType index_type,
                   std::uint64_t width, const MatrixTarget& dense);

}  // namespace npulab::values
