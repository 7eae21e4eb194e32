// SPDX-License-Identifier: Apache-2.0
// Matrices with their memory, and products by the definition, for the tests.
#pragma once

#include <algorithm>
#include <bit>

#include "fma_reference.hpp"
#include "sim/values/bfp16.hpp"
#include "sim/values/matrix.hpp"
#include "sim/values/matrix_kernels.hpp"

namespace npulab::values::testing {

inline constexpr std::size_t kGuardBytes = 64;
inline constexpr std::byte kGarbage{0x7f};  // NaN or a large number as any float type

struct Matrix {
  MatrixForm form{};
  Bytes bytes{};

  Matrix() = default;
  Matrix(DType type, std::size_t rows, std::size_t columns, MatrixLayout layout = {}, bool bfp16 = false)
      : form{type, bfp16, rows, columns, layout}, bytes(matrix_bytes(form) + kGuardBytes, kGarbage) {}

  MatrixView view() const { return {bytes.data(), form}; }
  MatrixTarget target() { return {bytes.data(), form}; }
  std::uint32_t at(std::size_t i, std::size_t j) const { return element(view(), i, j); }
  void set(std::size_t i, std::size_t j, std::uint32_t bits) { set_element(target(), i, j, bits); }
  void set_value(std::size_t i, std::size_t j, double value) {
    set(i, j,
        isa::info(form.type).floating ? encode_float(form.type, value)
                                      : static_cast<std::uint32_t>(encode_integer(form.type, value)));
  }
  // Floats as f32 bits, integers as 32 bits.
  std::uint32_t word(std::size_t i, std::size_t j) const {
    const isa::DTypeInfo& type = isa::info(form.type);
    if (form.bfp16) {
      const bool by_rows = info(form.layout.order).elements_by_rows;
      const std::size_t place = (by_rows ? j : i) % kBfp16Values;
      float values[kBfp16Values];
      decode_bfp16(bytes.data() + element_bit(form, i, j) / 8 - 1 - place, values);
      return std::bit_cast<std::uint32_t>(values[place]);
    }
    if (type.floating) return encode_float(DType::f32, decode_float(form.type, at(i, j)));
    const std::uint32_t bits = at(i, j) << (32 - type.bits);
    return type.is_signed ? static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> (32 - type.bits))
                          : bits >> (32 - type.bits);
  }
};

enum class Draw { any, mild, few_bits };  // few_bits: ties and exact sums are likely

inline std::uint32_t draw_element(DType type, Draw draw, std::mt19937_64& random) {
  std::uint32_t bits = 0;
  if (draw == Draw::any || !isa::info(type).floating) {
    const Bytes one = random_elements(type, 1, random);
    std::memcpy(&bits, one.data(), one.size());
    if (type == DType::i4) bits &= 0xf;
    return bits;
  }
  const auto whole = static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000);
  if (draw == Draw::few_bits) return encode_float(type, whole / 250);
  return encode_float(type, (whole + static_cast<double>(random() >> 12) * 0x1p-52) / 300);
}

inline Matrix random_matrix(DType type, std::size_t rows, std::size_t columns, MatrixLayout layout, Draw draw,
                            std::mt19937_64& random) {
  Matrix m(type, rows, columns, layout);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) m.set(i, j, draw_element(type, draw, random));
  return m;
}

// The same elements in another layout.
inline Matrix in_layout(const Matrix& from, MatrixLayout layout) {
  Matrix m(from.form.type, from.form.rows, from.form.columns, layout);
  for (std::size_t i = 0; i < from.form.rows; ++i)
    for (std::size_t j = 0; j < from.form.columns; ++j) m.set(i, j, from.at(i, j));
  return m;
}

struct Expected {
  std::vector<std::uint32_t> bits{};  // rows one after the other
  MatrixCounts counts{};
};

inline std::uint32_t float_chain(const Matrix& a, const Matrix& b, const Matrix& c, std::size_t i,
                                 std::size_t j, bool accumulate, bool saturate) {
  const DType type = c.form.type;
  std::uint32_t sum = accumulate ? c.at(i, j) : 0;
  const auto in = [type](const Matrix& m, std::size_t row, std::size_t column) {
    const std::uint32_t word = m.word(row, column);
    return type == DType::f32 ? word : encode_float(type, decode_float(DType::f32, word));  // exact
  };
  const std::uint32_t sign = 1U << (isa::bits(type) - 1);
  for (std::size_t p = 0; p < a.form.columns; ++p) {
    sum = fma_reference(type, in(a, i, p), in(b, p, j), sum);
    if (saturate && (sum & ~sign) == largest_finite(type) + 1) --sum;
  }
  return sum;
}

inline Expected product(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate, bool saturate) {
  Expected e;
  const bool floats = isa::info(c.form.type).floating;
  for (std::size_t i = 0; i < c.form.rows; ++i)
    for (std::size_t j = 0; j < c.form.columns; ++j) {
      if (floats) {
        e.bits.push_back(float_chain(a, b, c, i, j, accumulate, saturate));
        continue;
      }
      std::int64_t total = accumulate ? static_cast<std::int32_t>(c.at(i, j)) : 0;
      for (std::size_t p = 0; p < a.form.columns; ++p)
        total +=
            std::int64_t{static_cast<std::int32_t>(a.word(i, p))} * static_cast<std::int32_t>(b.word(p, j));
      const std::int64_t near = std::clamp<std::int64_t>(total, INT32_MIN, INT32_MAX);
      e.counts.out_of_range += near == total ? 0 : 1;
      e.bits.push_back(static_cast<std::uint32_t>(saturate ? near : total));
    }
  return e;
}

inline std::string show(const MatrixForm& form) {
  return std::string(form.bfp16 ? "bfp16" : isa::name(form.type)) + " " + std::to_string(form.rows) + "x" +
         std::to_string(form.columns) + " " + std::string(info(form.layout.order).name) + " " +
         std::to_string(form.layout.block_rows) + "x" + std::to_string(form.layout.block_columns);
}

struct Modes {
  bool accumulate = false;
  bool saturate = false;
};

// The product on a path, with nothing but the elements of C written.
inline void check_product(SimdPath path, const Matrix& a, const Matrix& b, const Matrix& c, Modes modes,
                          const Expected& expected, MatrixScratch& scratch) {
  Matrix got = c;
  const MatrixCounts counts =
      mma_on(path, {a.view(), b.view(), got.target(), modes.accumulate, modes.saturate, false}, scratch);
  const std::string what = std::string(name(path)) + ": " + show(a.form) + " · " + show(b.form) + " into " +
                           show(c.form) + (modes.accumulate ? " accumulate" : "") +
                           (modes.saturate ? " saturate" : "");
  for (std::size_t i = 0; i < c.form.rows; ++i)
    for (std::size_t j = 0; j < c.form.columns; ++j)
      ASSERT_EQ(got.at(i, j), expected.bits[i * c.form.columns + j])
          << what << " at " << i << "," << j << std::hex << " got " << got.at(i, j) << " expected "
          << expected.bits[i * c.form.columns + j];
  ASSERT_EQ(counts.out_of_range, expected.counts.out_of_range) << what;
  for (std::size_t i = 0; i < c.form.rows; ++i)
    for (std::size_t j = 0; j < c.form.columns; ++j) got.set(i, j, c.at(i, j));
  ASSERT_EQ(got.bytes, c.bytes) << what << " wrote beside the elements";
}

inline void check_on_all_paths(const Matrix& a, const Matrix& b, const Matrix& c, Modes modes) {
  MatrixScratch scratch;
  const Expected expected = product(a, b, c, modes.accumulate, modes.saturate);
  for (const SimdPath path : paths())
    ASSERT_NO_FATAL_FAILURE(check_product(path, a, b, c, modes, expected, scratch));
}

}  // namespace npulab::values::testing
