// SPDX-License-Identifier: Apache-2.0
// The meaning of every matrix instruction: C[m × n] = A[m × k] · B[k × n], or added to the old C.
//
// Bits, the same on every path, host and layout:
// - Floats (f16, bf16, f32, f8e4m3, f8e5m2 and bfp16, any two of them) into f32: for each element
//   acc = fma(a[i][p], b[p][j], acc) for p = 0 … k - 1, rounded once per step to nearest even, from the old C
//   or from +0. Subnormals are kept. So a product cut along k into instructions gives the same bits as one.
// - Floats whose products f32 holds exactly (f16, f8e4m3, f8e5m2) into f16: the same chain with f16 sums.
// - `saturate`: a step whose result is infinite, by overflow or by an infinite operand, gives the largest
//   finite value of its sign, as LaneModes::saturate has it.
// - A NaN result is canonical (convert.hpp).
// - Integers (i8, u8, i4, i16, any two of them) into i32: products and sums are exact. A total (with the old
//   C) outside i32 wraps modulo 2^32, or with `saturate` becomes the nearest end of i32; such elements are
//   counted. The total is that of one instruction: a product cut along k may count other elements.
// - k = 0 leaves C as it is, bit by bit, or sets it to +0.
//
// Memory: only the m × n elements of C are written and only those of A and B take part; padding of blocks is
// never looked at. C overlaps neither A nor B.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/values/matrix_layout.hpp"

namespace npulab::values {

struct MatrixMultiply {
  MatrixView a;  // m × k; bfp16 along rows
  MatrixView b;  // k × n; bfp16 along columns
  MatrixTarget c;
  bool accumulate = false;  // add to C, else overwrite it
  bool saturate = false;
  bool count_zeros = false;  // fill the zero_* counts, which cost time
};

struct MatrixCounts {
  std::uint64_t out_of_range = 0;  // integer elements whose exact total is outside i32
  std::uint64_t zeros_a = 0;       // elements of A that are zero
  std::uint64_t zeros_b = 0;
  std::uint64_t zero_products = 0;  // of the m * n * k products, those with a zero operand
};

// Working memory of mma, kept between calls so that none allocates once it is large enough. Not shared
// between threads.
struct MatrixScratch {
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;
  std::vector<std::uint32_t> lines;
  std::vector<std::uint32_t> pairs;
};

// Whether mma multiplies A of form a by B of form b into C of form c; forms give type and bfp16 alone.
bool legal_matrix_types(const MatrixForm& a, const MatrixForm& b, const MatrixForm& c);

// Throws Error (internal) "matrix-types" or "matrix-shapes" where the three do not fit together; layouts must
// have passed check().
MatrixCounts mma(const MatrixMultiply& what, MatrixScratch& scratch);

}  // namespace npulab::values
