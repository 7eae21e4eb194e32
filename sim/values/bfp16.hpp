// SPDX-License-Identifier: Apache-2.0
// bfp16: blocks of 8 values that share an exponent.
//
// A block is 9 bytes: the exponent E (unsigned), then 8 mantissas m (two's complement, 8 bits). A value is
// m * 2^(E - 127 - 6), which f32 holds exactly; the one exception is m = -128 at E = 254, -2^128, which reads
// as -infinity. -128 is never written. E = 255 makes all 8 values NaN.
//
// Writing: E - 127 is the exponent of the block's largest magnitude (E at least 0), mantissas are rounded to
// nearest even. Where one of them becomes +128 or -128, E is one more and all are rounded again, from the
// values. At E = 254 mantissas are clamped to -127 … 127 instead, so nothing finite becomes infinite. What
// was written and read is written again as the same block. A block with an infinity or a NaN gets E = 255.
// Zeros lose their sign.
#pragma once

#include <cstddef>

#include "sim/values/matrix_layout.hpp"

namespace npulab::values {

inline constexpr std::size_t kBfp16Values = 8;
inline constexpr std::size_t kBfp16Bytes = 9;

void encode_bfp16(const float* values, std::byte* block);
void decode_bfp16(const std::byte* block, float* values);

// f32 elements into the blocks of `to` (same shape), which run along its memory order; the last block of a
// run is filled up with zeros.
void pack_bfp16(const MatrixView& from, const MatrixTarget& to);

}  // namespace npulab::values
