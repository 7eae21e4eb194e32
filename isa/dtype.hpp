// SPDX-License-Identifier: Apache-2.0
// Element types: the one table of their names, widths and formats.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace npulab::isa {

enum class DType : std::uint8_t { f32, f16, bf16, i32, i16, i8, u8, i4, f8e4m3, f8e5m2, none };

struct DTypeInfo {
  DType type;
  std::string_view name;
  unsigned bits;  // of one element in memory; i4 packs two to a byte, low nibble first
  bool floating;
  bool is_signed;
  unsigned exponent_bits;  // 0 for integers
  unsigned mantissa_bits;  // stored bits, without the hidden one; 0 for integers
  std::string_view numpy;  // NumPy's type string (little-endian), or ml_dtypes' name where NumPy has none
};

inline constexpr std::array<DTypeInfo, 10> kDTypes{{
    {DType::f32, "f32", 32, true, true, 8, 23, "<f4"},
    {DType::f16, "f16", 16, true, true, 5, 10, "<f2"},
    {DType::bf16, "bf16", 16, true, true, 8, 7, "bfloat16"},
    {DType::i32, "i32", 32, false, true, 0, 0, "<i4"},
    {DType::i16, "i16", 16, false, true, 0, 0, "<i2"},
    {DType::i8, "i8", 8, false, true, 0, 0, "|i1"},
    {DType::u8, "u8", 8, false, false, 0, 0, "|u1"},
    {DType::i4, "i4", 4, false, true, 0, 0, "int4"},
    {DType::f8e4m3, "f8e4m3", 8, true, true, 4, 3, "float8_e4m3fn"},
    {DType::f8e5m2, "f8e5m2", 8, true, true, 5, 2, "float8_e5m2"},
}};

constexpr const DTypeInfo& info(DType type) {
  return kDTypes[static_cast<std::size_t>(type)];
}
constexpr std::string_view name(DType type) {
  return type == DType::none ? "none" : info(type).name;
}
constexpr unsigned bits(DType type) {
  return info(type).bits;
}

constexpr std::optional<DType> dtype_named(std::string_view text) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == text) return row.type;
  return std::nullopt;
}

// A set of types, as instruction rows state them.
using DTypeSet = std::uint16_t;
constexpr DTypeSet set_of(DType type) {
  return static_cast<DTypeSet>(1U << static_cast<unsigned>(type));
}
constexpr bool contains(DTypeSet set, DType type) {
  return type != DType::none && (set & set_of(type)) != 0;
}

constexpr bool dtype_table_in_order() {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (static_cast<std::size_t>(kDTypes[i].type) != i) return false;
  return true;
}
static_assert(dtype_table_in_order(), "rows of kDTypes stand in the order of DType");

}  // namespace npulab::isa
