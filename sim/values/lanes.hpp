// SPDX-License-Identifier: Apache-2.0
// The meaning of every vector instruction, as functions over arrays of lanes.
//
// Bits. Every path (simd.hpp) gives the same bits on every host and compiler:
// - Arithmetic rounds once to nearest even; subnormals are kept; a NaN result is canonical (convert.hpp).
//   vmov, vdup, vsel, vslide, vperm, vext copy bits; vabs and vneg of floats touch the sign bit alone.
// - LaneModes::saturate: a result of arithmetic, of a function or of a conversion that is infinite, by
// overflow,
//   division by zero or an infinite operand alike, becomes the largest finite value of its sign. Comparisons,
//   vmin, vmax, vrmin, vrmax and the copies do not round and keep infinities.
// - Integers wrap, but vabs and vneg saturate. LaneModes::round is that of vcvt alone.
// - vdiv, vrec and vsqrt are correctly rounded. vexp, vlog, vrsqrt, vtanh and verf are computed in double by
//   own polynomials (relative error below 2^-44) and rounded once: at most 0.501 ULP in f32, and correctly
//   rounded for each of the 65536 encodings of f16 and of bf16 (tested exhaustively).
// - The floating-point environment must be the default one (round to nearest, no flush to zero); a caller
// whose
//   host may have changed MXCSR sets it around a run.
//
// Memory. No byte outside the lanes is read or written. i4 lanes are nibbles, the even lane in the low one;
// an odd last lane leaves the other nibble of its byte as it is. Where dst has a source's width it may be
// exactly that source (equal addresses), except in vperm and vslide. vcvt may have dst equal to its source
// for any two types. Every other overlap is not allowed, also that of the wide dst of vfmaw with its narrow
// sources.
#pragma once

#include <cstddef>
#include <string_view>

#include "isa/dtype.hpp"
#include "isa/instruction.hpp"

namespace npulab::values {

// Computes `lanes` lanes of dst. a, b, c are the operands with role read in the order of the instruction's
// format: Unary, Convert: a. Binary: a, b. Select: mask, a, b. Ternary, WideTernary, DotTernary: a, b, and
// dst is read too. Others are ignored. Beside these:
// - Reduction: `lanes` is the number of active lanes of a; dst[0] alone is written (0 for no lanes). Lane i
// takes
//   in lane i + half for i + half < n, half being the largest power of two below n; then n = half, until n
//   is 1.
// - DotTernary: `lanes` counts dst; a and b have four times as many.
// - Duplicate: a is one element.  - vperm: `lanes` is the number of lanes of a too.
// - vslide: b is one little-endian 64-bit signed integer, the amount; `lanes` is the number of lanes of a
// too.
// - vext: a is one element, dst one 64-bit little-endian integer; `lanes` is ignored.
using LaneFunction = void (*)(std::byte* dst, const std::byte* a, const std::byte* b, const std::byte* c,
                              std::size_t lanes);

// A lane function on rows one after the other, each as a call of its own would do it: bytes from the operands
// of one row to those of the next.
struct RowSteps {
  std::size_t rows = 1;
  std::ptrdiff_t dst = 0, a = 0, b = 0, c = 0;
};
using RowsFunction = void (*)(std::byte* dst, const std::byte* a, const std::byte* b, const std::byte* c,
                              std::size_t lanes, const RowSteps& steps);

struct LaneModes {
  isa::Round round = isa::Round::nearest_even;
  bool saturate = false;  // overflow mode of the machine: infinity or the largest finite value
  bool broadcast =
      false;  // the last source of Binary, Ternary, WideTernary, Select is one element for all lanes
};

// The meaning of a row of family Vector for legal types (isa::legal_types); type2 is DType::none where the
// row has one type. Throws Error (internal, "no-lane-function") for any other combination.
LaneFunction lane_function(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);

// The same on rows; nullptr for operations that have no such form.
RowsFunction rows_function(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);

// Name of the path in use, "avx2" or "baseline". Chosen once, by CPUID or the environment's NPULAB_SIMD;
// Error (input) "unknown-simd-path" for another name, "simd-path-unsupported" for one that this host lacks.
std::string_view simd_path();

}  // namespace npulab::values
