// SPDX-License-Identifier: Apache-2.0
// Packing of sparse operands and back.
#include "sim/values/matrix_sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "isa/error.hpp"

namespace npulab::values {

using isa::DType;

namespace {

constexpr std::uint64_t kGroup = 4;
constexpr std::uint64_t kKept = 2;
constexpr std::uint64_t kPlaceBits = 2;
constexpr std::uint64_t kPlacesPerByte = 8 / kPlaceBits;

std::uint64_t groups_of(const MatrixForm& dense) {
  return (dense.columns + kGroup - 1) / kGroup;
}
std::uint64_t place_row_bytes(const MatrixForm& dense) {
  return (groups_of(dense) * kKept + kPlacesPerByte - 1) / kPlacesPerByte;
}

MatrixForm dense_rows(const MatrixForm& like, std::uint64_t columns) {
  return {like.type, false, like.rows, columns, {}};
}

void check_dense(const MatrixForm& dense) {
  check(dense);
  if (dense.bfp16)
    throw Error(Category::input, "matrix-layout", "a sparse operand of bfp16: blocks have no sparse form");
}

bool is_zero(DType type, std::uint32_t bits) {
  const std::uint32_t sign = std::uint32_t{1} << (isa::bits(type) - 1);
  return (isa::info(type).floating ? bits & ~sign : bits) == 0;
}

// Places of a group with the non-zeros first in line, ascending.
std::array<std::uint64_t, kKept> kept_places(const MatrixView& dense, std::uint64_t row,
                                             std::uint64_t first) {
  std::array<bool, kGroup> kept{};
  std::uint64_t count = 0;
  for (std::uint64_t place = 0; place < std::min(kGroup, dense.form.columns - first); ++place)
    if (!is_zero(dense.form.type, element(dense, row, first + place))) {
      kept[place] = true;
      ++count;
    }
  if (count > kKept)
    throw Error(Category::input, "not-2-of-4",
                fmt::format("row {}, columns {} to {}: {} of them are not zero; at most {} of {} may be", row,
                            first, first + kGroup - 1, count, kKept, kGroup));
  for (std::uint64_t place = 0; count < kKept; ++place)
    if (!kept[place]) {
      kept[place] = true;
      ++count;
    }
  std::array<std::uint64_t, kKept> places{};
  std::size_t next = 0;
  for (std::uint64_t place = 0; place < kGroup; ++place)
    if (kept[place]) places[next++] = place;
  return places;
}

std::int64_t load_index(const std::byte* indices, DType type, std::uint64_t slot) {
  if (type == DType::i16) {
    std::int16_t index = 0;
    std::memcpy(&index, indices + slot * sizeof index, sizeof index);
    return index;
  }
  std::int32_t index = 0;
  std::memcpy(&index, indices + slot * sizeof index, sizeof index);
  return index;
}

void store_index(std::byte* indices, DType type, std::uint64_t slot, std::int64_t index) {
  const std::size_t bytes = isa::bits(type) / 8;
  std::memcpy(indices + slot * bytes, &index, bytes);  // little-endian, two's complement
}

void check_index_type(DType type, std::uint64_t columns) {
  const bool known = type == DType::i16 || type == DType::i32;
  const auto most = static_cast<std::uint64_t>(type == DType::i16 ? std::numeric_limits<std::int16_t>::max()
                                                                  : std::numeric_limits<std::int32_t>::max());
  if (!known || (columns > 0 && columns - 1 > most))
    throw Error(Category::input, "sparse-index-type",
                fmt::format("indices of {} for {} columns: i16 names {} of them, i32 {}", isa::name(type),
                            columns, std::uint64_t{1} << 15, std::uint64_t{1} << 31));
}

std::uint64_t fullest_row(const MatrixView& dense) {
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < dense.form.rows; ++i) {
    std::uint64_t count = 0;
    for (std::uint64_t j = 0; j < dense.form.columns; ++j)
      if (!is_zero(dense.form.type, element(dense, i, j))) ++count;
    most = std::max(most, count);
  }
  return most;
}

void clear_row(const MatrixTarget& dense, std::uint64_t row) {
  for (std::uint64_t j = 0; j < dense.form.columns; ++j) set_element(dense, row, j, 0);
}

}  // namespace

MatrixForm two_of_four_values(const MatrixForm& dense) {
  return dense_rows(dense, groups_of(dense) * kKept);
}
std::uint64_t two_of_four_place_bytes(const MatrixForm& dense) {
  return dense.rows * place_row_bytes(dense);
}

TwoOfFour pack_2_4(const MatrixView& dense) {
  check_dense(dense.form);
  const MatrixForm form = two_of_four_values(dense.form);
  TwoOfFour packed{std::vector<std::byte>(matrix_bytes(form)),
                   std::vector<std::byte>(two_of_four_place_bytes(dense.form))};
  const MatrixTarget values{packed.values.data(), form};
  for (std::uint64_t i = 0; i < dense.form.rows; ++i)
    for (std::uint64_t group = 0; group < groups_of(dense.form); ++group) {
      const auto places = kept_places(dense, i, group * kGroup);
      for (std::uint64_t slot = 0; slot < kKept; ++slot) {
        const std::uint64_t column = group * kGroup + places[slot], number = group * kKept + slot;
        if (column < dense.form.columns) set_element(values, i, number, element(dense, i, column));
        packed.places[i * place_row_bytes(dense.form) + number / kPlacesPerByte] |=
            static_cast<std::byte>(places[slot] << (number % kPlacesPerByte * kPlaceBits));
      }
    }
  return packed;
}

void unpack_2_4(const std::byte* values, const std::byte* places, const MatrixTarget& dense) {
  check_dense(dense.form);
  const MatrixView kept{values, two_of_four_values(dense.form)};
  for (std::uint64_t i = 0; i < dense.form.rows; ++i) {
    clear_row(dense, i);
    const std::byte* const row = places + i * place_row_bytes(dense.form);
    std::uint64_t last = 0;
    for (std::uint64_t number = 0; number < kept.form.columns; ++number) {
      const std::uint64_t place =
          static_cast<std::uint64_t>(row[number / kPlacesPerByte] >> (number % kPlacesPerByte * kPlaceBits)) %
          kGroup;
      const std::uint64_t first = number / kKept * kGroup;
      const auto refuse = [&](std::string_view rule) {
        throw Error(Category::verdict, "bad-2-of-4-place",
                    fmt::format("row {}, columns {} to {}: place {} in slot {}: {}", i, first,
                                first + kGroup - 1, place, number % kKept, rule));
      };
      if (number % kKept != 0 && place <= last) refuse("places of a group ascend");
      last = place;
      const std::uint32_t bits = element(kept, i, number);
      if (first + place < dense.form.columns)
        set_element(dense, i, first + place, bits);
      else if (!is_zero(dense.form.type, bits))
        refuse("a value beyond the last column must be zero");
    }
  }
}

MatrixForm sparse_row_values(const MatrixForm& dense, std::uint64_t width) {
  return dense_rows(dense, width);
}

SparseRows pack_sparse(const MatrixView& dense, DType index_type, std::uint64_t width) {
  check_dense(dense.form);
  check_index_type(index_type, dense.form.columns);
  if (width == 0) width = fullest_row(dense);
  const MatrixForm form = sparse_row_values(dense.form, width);
  SparseRows packed{width, std::vector<std::byte>(matrix_bytes(form)),
                    std::vector<std::byte>(dense.form.rows * width * isa::bits(index_type) / 8)};
  const MatrixTarget values{packed.values.data(), form};
  for (std::uint64_t i = 0; i < dense.form.rows; ++i) {
    std::uint64_t slot = 0;
    for (std::uint64_t j = 0; j < dense.form.columns; ++j) {
      const std::uint32_t bits = element(dense, i, j);
      if (is_zero(dense.form.type, bits)) continue;
      if (slot == width)
        throw Error(
            Category::input, "sparse-row-full",
            fmt::format("row {} has more than {} non-zeros (the next in column {}); {} slots would do", i,
                        width, j, fullest_row(dense)));
      set_element(values, i, slot, bits);
      store_index(packed.indices.data(), index_type, i * width + slot++, static_cast<std::int64_t>(j));
    }
    while (slot < width) store_index(packed.indices.data(), index_type, i * width + slot++, -1);
  }
  return packed;
}

void unpack_sparse(const std::byte* values, const std::byte* indices, DType index_type, std::uint64_t width,
                   const MatrixTarget& dense) {
  check_dense(dense.form);
  check_index_type(index_type, dense.form.columns);
  const MatrixView kept{values, sparse_row_values(dense.form, width)};
  for (std::uint64_t i = 0; i < dense.form.rows; ++i) {
    clear_row(dense, i);
    std::int64_t last = -1;
    bool ended = false;
    for (std::uint64_t slot = 0; slot < width; ++slot) {
      const std::int64_t index = load_index(indices, index_type, i * width + slot);
      const bool free = index == -1;
      if (!free && (ended || index <= last || index >= static_cast<std::int64_t>(dense.form.columns)))
        throw Error(Category::verdict, "bad-sparse-index",
                    fmt::format("row {}, slot {}: index {}: indices are columns 0 to {}, ascend, and free "
                                "slots (-1) stand at the end",
                                i, slot, index, static_cast<std::int64_t>(dense.form.columns) - 1));
      ended = free;
      if (free) continue;
      last = index;
      set_element(dense, i, static_cast<std::uint64_t>(index), element(kept, i, slot));
    }
  }
}

}  // namespace npulab::values
