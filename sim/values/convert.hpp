// SPDX-License-Identifier: Apache-2.0
// Scalar conversions between element types: bit-exact, integer arithmetic only, no libm, no host rounding
// mode.
//
// Rules, the same on every path of npulab:
// - One rounding per conversion, by the given isa::Round. Subnormals are kept on both sides.
// - NaN becomes the canonical NaN of the destination (canonical_nan), 0 for integers.
// - Overflow of a float destination (the value rounded as if the exponent were unbounded exceeds the largest
//   finite one): `saturate` false gives what IEEE 754 gives for the rounding mode: infinity for both nearest
//   modes and for the directed mode that points away from zero, else the largest finite value. f8e4m3 has no
//   infinity: its NaN with the sign kept (0x7f, 0xff) stands for it. `saturate` true always gives the largest
//   finite value of that sign.
// - An infinite source keeps being infinite (f8e4m3: 0x7f or 0xff) in every rounding mode; with `saturate` it
//   becomes the largest finite value of its sign.
// - Integer destinations: round, then clamp to the range of the type (infinities too).
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/dtype.hpp"
#include "isa/instruction.hpp"

namespace npulab::values {

// The NaN that arithmetic and conversions produce. `type` is a float type.
std::uint32_t canonical_nan(isa::DType type);
// Encoding of the largest finite value, sign bit clear. `type` is a float type.
std::uint32_t largest_finite(isa::DType type);

// The value of an encoding of a float type; exact, a NaN gives the canonical NaN of double.
double decode_float(isa::DType type, std::uint32_t bits);
// The encoding of `value` in a float type.
std::uint32_t encode_float(isa::DType type, double value, isa::Round round = isa::Round::nearest_even,
                           bool saturate = false);
// `value` in an integer type.
std::int32_t encode_integer(isa::DType type, double value, isa::Round round = isa::Round::nearest_even);

float f16_to_f32(std::uint16_t bits);
float bf16_to_f32(std::uint16_t bits);
float f8e4m3_to_f32(std::uint8_t bits);
float f8e5m2_to_f32(std::uint8_t bits);
std::uint16_t f32_to_f16(float value, isa::Round round = isa::Round::nearest_even, bool saturate = false);
std::uint16_t f32_to_bf16(float value, isa::Round round = isa::Round::nearest_even, bool saturate = false);
std::uint8_t f32_to_f8e4m3(float value, isa::Round round = isa::Round::nearest_even, bool saturate = false);
std::uint8_t f32_to_f8e5m2(float value, isa::Round round = isa::Round::nearest_even, bool saturate = false);

// One element in memory (little-endian, unaligned allowed). Without an index: element 0. i4 packs two
// elements to a byte, the even one in the low nibble; writing one leaves the other as it is.
double to_double(isa::DType type, const std::byte* p);
double to_double(isa::DType type, const std::byte* data, std::uint64_t index);
void from_double(isa::DType type, double value, std::byte* p, isa::Round round, bool saturate);
void from_double(isa::DType type, double value, std::byte* data, std::uint64_t index, isa::Round round,
                 bool saturate);

// a * b + c of bf16 encodings, rounded once to nearest even; `saturate` as above.
std::uint16_t fma_bf16(std::uint16_t a, std::uint16_t b, std::uint16_t c, bool saturate);

}  // namespace npulab::values
