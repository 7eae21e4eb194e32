// SPDX-License-Identifier: Apache-2.0
// The parts of mma that are compiled per SIMD path, on operands widened to words of 32 bits: a float, or two
// integers of 16 bits that are neighbours along k.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/dtype.hpp"
#include "sim/values/matrix.hpp"
#include "sim/values/simd.hpp"

namespace npulab::values {

inline constexpr std::size_t kTileRows = 6;      // at most; every number from 1 on has its function
inline constexpr std::size_t kTileColumns = 16;  // of every tile and of every packed panel of B

// How a step of the float chain is computed.
enum class FloatChain : std::uint8_t { exact_products, fused, half };
inline constexpr std::size_t kFloatChains = 3;

// `runs` runs of `length` elements, `step` bytes apart, to floats or 16-bit integers one after the other.
using WidenFunction = void (*)(const std::byte* source, std::size_t step, std::size_t runs,
                               std::size_t length, std::byte* dst);

// A tile of up to kTileRows × kTileColumns of C. A: rows of `depth` words, a_pitch words apart. B: `depth`
// rows of kTileColumns words. C: rows of kTileColumns, c_step bytes apart. Returns whether an infinity or a
// NaN is among the results.
using FloatTileFunction = bool (*)(const std::uint32_t* a, std::size_t a_pitch, const std::uint32_t* b,
                                   std::size_t depth, std::byte* c, std::size_t c_step, bool from_c);
// The sums alone, kTileColumns to a row. Modulo 2^32, or exact in 64 bits.
using IntegerTileFunction = void (*)(const std::uint32_t* a, std::size_t a_pitch, const std::uint32_t* b,
                                     std::size_t depth, std::int32_t* sums);
using WideIntegerTileFunction = void (*)(const std::uint32_t* a, std::size_t a_pitch, const std::uint32_t* b,
                                         std::size_t depth, std::int64_t* sums);

struct MatrixKernels {
  // nullptr for types that are no operands.
  WidenFunction (*widen)(isa::DType type, bool bfp16);
  // [chain][saturate][rows - 1]
  std::array<std::array<std::array<FloatTileFunction, kTileRows>, 2>, kFloatChains> float_tiles;
  std::array<IntegerTileFunction, kTileRows> integer_tiles;
  std::array<WideIntegerTileFunction, kTileRows> wide_integer_tiles;
  // c + sums with overflow to the nearest end of i32 or wrapped; how many of them overflowed.
  std::uint64_t (*add_sums)(std::byte* c, std::size_t c_step, const std::int32_t* sums, std::size_t rows,
                            bool accumulate, bool saturate);
  // dst[j][i] = source[i][j]; pitches in words.
  void (*transpose)(const std::uint32_t* source, std::size_t source_pitch, std::size_t rows,
                    std::size_t columns, std::uint32_t* dst, std::size_t dst_pitch);
  // Lines 2 p and 2 p + 1 of `count` 16-bit integers as the halves of the words of line p.
  void (*interleave)(const std::uint32_t* source, std::size_t source_words, std::size_t pairs,
                     std::size_t count, std::uint32_t* dst, std::size_t dst_pitch);
  // The largest magnitude of `count` 16-bit integers.
  std::uint32_t (*largest)(const std::uint32_t* words, std::size_t count);
  void (*narrow_half)(const float* source, std::size_t count, std::byte* dst);
};

namespace baseline {
const MatrixKernels& matrix_kernels();
}
namespace avx2 {
const MatrixKernels& matrix_kernels();
}
// The functions of a supported path.
const MatrixKernels& matrix_kernels_on(SimdPath path);

// mma on a given path, which must be supported.
MatrixCounts mma_on(SimdPath path, const MatrixMultiply& what, MatrixScratch& scratch);

}  // namespace npulab::values
