// SPDX-License-Identifier: Apache-2.0
// Scalar conversions between element types.
#include "sim/values/convert.hpp"

#include "sim/values/convert_core.hpp"

namespace npulab::values {

using isa::DType;
using isa::Round;

namespace {

float widen(DType type, std::uint32_t bits) {
  return std::bit_cast<float>(encode_float(DType::f32, decode_float(type, bits)));
}

std::uint32_t narrow(DType type, float value, Round round, bool saturate) {
  return encode_float(type, decode_float(DType::f32, std::bit_cast<std::uint32_t>(value)), round, saturate);
}

}  // namespace

std::uint32_t canonical_nan(DType type) {
  return core::nan_bits(type);
}
std::uint32_t largest_finite(DType type) {
  return core::largest_bits(type);
}

double decode_float(DType type, std::uint32_t bits) {
  return core::decode_float(type, bits);
}
std::uint32_t encode_float(DType type, double value, Round round, bool saturate) {
  return core::encode_float(type, value, round, saturate);
}
std::int32_t encode_integer(DType type, double value, Round round) {
  return core::encode_integer(type, value, round);
}

float f16_to_f32(std::uint16_t bits) {
  return widen(DType::f16, bits);
}
float bf16_to_f32(std::uint16_t bits) {
  return widen(DType::bf16, bits);
}
float f8e4m3_to_f32(std::uint8_t bits) {
  return widen(DType::f8e4m3, bits);
}
float f8e5m2_to_f32(std::uint8_t bits) {
  return widen(DType::f8e5m2, bits);
}

std::uint16_t f32_to_f16(float value, Round round, bool saturate) {
  return static_cast<std::uint16_t>(narrow(DType::f16, value, round, saturate));
}
std::uint16_t f32_to_bf16(float value, Round round, bool saturate) {
  return static_cast<std::uint16_t>(narrow(DType::bf16, value, round, saturate));
}
std::uint8_t f32_to_f8e4m3(float value, Round round, bool saturate) {
  return static_cast<std::uint8_t>(narrow(DType::f8e4m3, value, round, saturate));
}
std::uint8_t f32_to_f8e5m2(float value, Round round, bool saturate) {
  return static_cast<std::uint8_t>(narrow(DType::f8e5m2, value, round, saturate));
}

double to_double(DType type, const std::byte* p) {
  return to_double(type, p, 0);
}

void from_double(DType type, double value, std::byte* p, Round round, bool saturate) {
  from_double(type, value, p, 0, round, saturate);
}

double to_double(DType type, const std::byte* data, std::uint64_t index) {
  return core::to_double(type, data, index);
}

void from_double(DType type, double value, std::byte* data, std::uint64_t index, Round round, bool saturate) {
  core::from_double(type, value, data, index, round, saturate);
}

std::uint16_t fma_bf16(std::uint16_t a, std::uint16_t b, std::uint16_t c, bool saturate) {
  const double product = decode_float(DType::bf16, a) * decode_float(DType::bf16, b);  // 16 bits: exact
  const double addend = decode_float(DType::bf16, c);
  const double sum = product + addend;
  const double back = sum - product;
  const double error =
      (product - (sum - back)) + (addend - back);  // exact (2Sum), NaN when sum is not finite
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if ((error < 0 || error > 0) &&
      (bits & 1) == 0) {  // round to odd, so that the rounding to bf16 sees the rest
    if ((error > 0) == (sum > 0))
      ++bits;
    else
      --bits;
  }
  return static_cast<std::uint16_t>(
      encode_float(DType::bf16, std::bit_cast<double>(bits), Round::nearest_even, saturate));
}

}  // namespace npulab::values
