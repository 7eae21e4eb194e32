// SPDX-License-Identifier: Apache-2.0
// Offsets of elements in blocked matrices, and copies between layouts.
#include "sim/values/matrix_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "isa/error.hpp"
#include "isa/layout.hpp"
#include "sim/values/bfp16.hpp"

namespace npulab::values {

using isa::DType;

namespace {

constexpr std::uint64_t kFractalRows = isa::kFractalRows;
constexpr std::uint64_t kBitsPerByte = 8;
constexpr std::uint64_t kBfp16Bits = kBfp16Bytes * kBitsPerByte / kBfp16Values;  // of an element, on average

constexpr std::uint64_t blocks_of(std::uint64_t elements, std::uint64_t block) {
  return (elements + block - 1) / block;
}
constexpr std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return blocks_of(value, unit) * unit;
}

std::uint64_t element_bits(const MatrixForm& form) {
  return form.bfp16 ? kBfp16Bits : isa::bits(form.type);
}
// Elements that a run in memory order must be whole multiples of.
std::uint64_t run_unit(const MatrixForm& form) {
  if (form.bfp16) return kBfp16Values;
  return std::max<std::uint64_t>(1, kBitsPerByte / isa::bits(form.type));
}
// Bytes of `count` neighbours in memory that begin a run.
std::uint64_t run_bytes(const MatrixForm& form, std::uint64_t count) {
  return rounded_up(count, run_unit(form)) * element_bits(form) / kBitsPerByte;
}

struct Extent {
  std::uint64_t outer;        // rows (nd), columns (nd_transposed), rows or columns of blocks
  std::uint64_t inner_bytes;  // of one of them, as dense as it can be
};
Extent extent(const MatrixForm& form) {
  const MatrixLayout& layout = form.layout;
  const MatrixOrderInfo& order = info(layout.order);
  if (!order.blocks)
    return order.elements_by_rows ? Extent{form.rows, run_bytes(form, form.columns)}
                                  : Extent{form.columns, run_bytes(form, form.rows)};
  const std::uint64_t down = blocks_of(form.rows, layout.block_rows);
  const std::uint64_t across = blocks_of(form.columns, layout.block_columns);
  const std::uint64_t block = layout.block_rows * layout.block_columns * element_bits(form) / kBitsPerByte;
  return order.blocks_by_rows ? Extent{down, across * block} : Extent{across, down * block};
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Category::input, "matrix-layout", message);
}

// One axis of `view` in steps of one element, without divisions.
class Walk {
 public:
  explicit Walk(const MatrixAxis& axis) : axis_(axis) {}
  std::uint64_t bit() const { return block_bit_ + inside_ * axis_.per_element; }
  void next() {
    if (++inside_ < axis_.block) return;
    inside_ = 0;
    block_bit_ += axis_.per_block;
  }

 private:
  MatrixAxis axis_;
  std::uint64_t block_bit_ = 0;
  std::uint64_t inside_ = 0;
};

std::uint32_t load_bits(const std::byte* data, std::uint64_t bit, unsigned bits) {
  std::uint32_t value = 0;
  if (bits < kBitsPerByte)
    return (static_cast<std::uint32_t>(data[bit / kBitsPerByte]) >> (bit % kBitsPerByte)) &
           ((1U << bits) - 1);
  std::memcpy(&value, data + bit / kBitsPerByte, bits / kBitsPerByte);
  return value;
}

void store_bits(std::byte* data, std::uint64_t bit, unsigned bits, std::uint32_t value) {
  if (bits >= kBitsPerByte) {
    std::memcpy(data + bit / kBitsPerByte, &value, bits / kBitsPerByte);
    return;
  }
  std::byte& byte = data[bit / kBitsPerByte];
  const auto shift = static_cast<unsigned>(bit % kBitsPerByte);
  const std::uint32_t mask = ((1U << bits) - 1) << shift;
  byte = static_cast<std::byte>((static_cast<std::uint32_t>(byte) & ~mask) | ((value << shift) & mask));
}

// The axis along which neighbours stand together in memory, and the other.
struct Lines {
  MatrixAxis along, across;
  std::uint64_t length, count;
};
Lines lines_of(const MatrixForm& form) {
  const MatrixSteps s = steps(form);
  return info(form.layout.order).elements_by_rows ? Lines{s.columns, s.rows, form.columns, form.rows}
                                                  : Lines{s.rows, s.columns, form.rows, form.columns};
}

// Elements first … last - 1 of the line that begins at bit `line`.
void clear(const MatrixTarget& to, const MatrixAxis& along, std::uint64_t line, std::uint64_t first,
           std::uint64_t last) {
  for (std::uint64_t i = first; i < last; ++i)
    store_bits(to.data, line + along.at(i), isa::bits(to.form.type), 0);
}
void clear_bfp16(const MatrixTarget& to, const MatrixAxis& along, std::uint64_t line, std::uint64_t first,
                 std::uint64_t last) {
  for (std::uint64_t i = rounded_up(first, kBfp16Values); i < last; i += kBfp16Values)
    std::memset(to.data + (line + along.at(i)) / kBitsPerByte, 0, kBfp16Bytes);
}

void clear_padding(const MatrixTarget& to) {
  if (!info(to.form.layout.order).blocks) return;
  const Lines lines = lines_of(to.form);
  const std::uint64_t length = rounded_up(lines.length, lines.along.block);
  const std::uint64_t count = rounded_up(lines.count, lines.across.block);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t first = i < lines.count ? lines.length : 0;
    (to.form.bfp16 ? clear_bfp16 : clear)(to, lines.along, lines.across.at(i), first, length);
  }
}

void copy_runs(const MatrixView& from, const MatrixTarget& to) {
  const Lines source = lines_of(from.form), target = lines_of(to.form);
  const std::uint64_t unit = run_unit(from.form), bits = element_bits(from.form);
  Walk row(source.across), target_row(target.across);
  for (std::uint64_t line = 0; line < source.count; ++line, row.next(), target_row.next()) {
    std::uint64_t left = 0;
    for (std::uint64_t i = 0; i < source.length; i += left) {
      left = std::min({source.length - i, source.along.block - i % source.along.block,
                       target.along.block - i % target.along.block});
      const std::uint64_t read = row.bit() + source.along.at(i);
      const std::uint64_t write = target_row.bit() + target.along.at(i);
      const std::uint64_t whole = from.form.bfp16 ? rounded_up(left, unit) : left / unit * unit;
      std::memcpy(to.data + write / kBitsPerByte, from.data + read / kBitsPerByte,
                  whole * bits / kBitsPerByte);
      if (whole < left) {  // one nibble
        const std::uint64_t behind = whole * bits;
        store_bits(to.data, write + behind, isa::bits(to.form.type),
                   load_bits(from.data, read + behind, isa::bits(to.form.type)));
      }
    }
  }
}

void copy_elements(const MatrixView& from, const MatrixTarget& to) {
  const MatrixSteps source = steps(from.form), target = steps(to.form);
  const unsigned bits = isa::bits(from.form.type);
  Walk row(source.rows), target_row(target.rows);
  for (std::uint64_t i = 0; i < from.form.rows; ++i, row.next(), target_row.next()) {
    Walk column(source.columns), target_column(target.columns);
    for (std::uint64_t j = 0; j < from.form.columns; ++j, column.next(), target_column.next())
      store_bits(to.data, target_row.bit() + target_column.bit(), bits,
                 load_bits(from.data, row.bit() + column.bit(), bits));
  }
}

}  // namespace

MatrixLayout fractals(MatrixOrder order, DType type) {
  const std::uint64_t run = isa::kPieceBytes * kBitsPerByte / isa::bits(type);
  return info(order).elements_by_rows ? MatrixLayout{order, kFractalRows, run, 0}
                                      : MatrixLayout{order, run, kFractalRows, 0};
}
MatrixLayout accumulator_fractals() {
  return {MatrixOrder::nz, kFractalRows, kFractalRows, 0};
}
MatrixLayout tiles(std::uint64_t rows, std::uint64_t columns) {
  return {MatrixOrder::zz, rows, columns, 0};
}

void check(const MatrixForm& form) {
  const MatrixLayout& layout = form.layout;
  const MatrixOrderInfo& order = info(layout.order);
  if (form.type == DType::none) refuse("a matrix without an element type");
  if (form.bfp16 && form.type != DType::f32)
    refuse(fmt::format("bfp16 with type {}: bfp16 decodes to f32", isa::name(form.type)));
  if (order.blocks) {
    if (layout.block_rows == 0 || layout.block_columns == 0)
      refuse(fmt::format("order {} with blocks of {} x {}: blocks have at least one element", order.name,
                         layout.block_rows, layout.block_columns));
    const std::uint64_t run = order.elements_by_rows ? layout.block_columns : layout.block_rows;
    if (run % run_unit(form) != 0)
      refuse(fmt::format("order {} with blocks of {} x {}: {} needs {} a multiple of {}", order.name,
                         layout.block_rows, layout.block_columns, form.bfp16 ? "bfp16" : isa::name(form.type),
                         order.elements_by_rows ? "columns" : "rows", run_unit(form)));
  }
  const std::uint64_t least = extent(form).inner_bytes;
  if (layout.pitch != 0 && layout.pitch < least)
    refuse(fmt::format("pitch of {} bytes in order {}: at least {} for {} x {} elements (0: dense)",
                       layout.pitch, order.name, least, form.rows, form.columns));
}

MatrixForm transposed(const MatrixForm& form) {
  MatrixForm result = form;
  std::swap(result.rows, result.columns);
  std::swap(result.layout.block_rows, result.layout.block_columns);
  result.layout.order = info(form.layout.order).transposed;
  return result;
}
MatrixView transposed(const MatrixView& view) {
  return {view.data, transposed(view.form)};
}
MatrixTarget transposed(const MatrixTarget& target) {
  return {target.data, transposed(target.form)};
}

MatrixSteps steps(const MatrixForm& form) {
  const MatrixLayout& layout = form.layout;
  const MatrixOrderInfo& order = info(layout.order);
  const std::uint64_t bits = element_bits(form);
  const std::uint64_t dense = extent(form).inner_bytes;
  const std::uint64_t pitch = (layout.pitch == 0 ? dense : layout.pitch) * kBitsPerByte;
  if (!order.blocks) {
    const MatrixAxis inner{std::max<std::uint64_t>(1, order.elements_by_rows ? form.columns : form.rows), 0,
                           bits};
    const MatrixAxis outer{std::max<std::uint64_t>(1, order.elements_by_rows ? form.rows : form.columns), 0,
                           pitch};
    return order.elements_by_rows ? MatrixSteps{outer, inner} : MatrixSteps{inner, outer};
  }
  const std::uint64_t block = layout.block_rows * layout.block_columns * bits;
  return {{layout.block_rows, order.blocks_by_rows ? pitch : block,
           order.elements_by_rows ? layout.block_columns * bits : bits},
          {layout.block_columns, order.blocks_by_rows ? block : pitch,
           order.elements_by_rows ? bits : layout.block_rows * bits}};
}

std::uint64_t element_bit(const MatrixForm& form, std::uint64_t i, std::uint64_t j) {
  const MatrixSteps s = steps(form);
  if (!form.bfp16) return s.rows.at(i) + s.columns.at(j);
  std::uint64_t& run = info(form.layout.order).elements_by_rows ? j : i;
  const std::uint64_t place = run % kBfp16Values;
  run -= place;
  return s.rows.at(i) + s.columns.at(j) + (1 + place) * kBitsPerByte;
}

std::uint64_t matrix_bytes(const MatrixForm& form) {
  if (form.rows == 0 || form.columns == 0) return 0;
  const Extent e = extent(form);
  return (e.outer - 1) * (form.layout.pitch == 0 ? e.inner_bytes : form.layout.pitch) + e.inner_bytes;
}

std::uint32_t element(const MatrixView& view, std::uint64_t i, std::uint64_t j) {
  return load_bits(view.data, element_bit(view.form, i, j), isa::bits(view.form.type));
}
void set_element(const MatrixTarget& target, std::uint64_t i, std::uint64_t j, std::uint32_t bits) {
  store_bits(target.data, element_bit(target.form, i, j), isa::bits(target.form.type), bits);
}

void copy_matrix(const MatrixView& from, const MatrixTarget& to, BlockPadding padding) {
  check(from.form);
  check(to.form);
  const bool same_direction =
      info(from.form.layout.order).elements_by_rows == info(to.form.layout.order).elements_by_rows;
  if (from.form.type != to.form.type || from.form.bfp16 != to.form.bfp16 || from.form.rows != to.form.rows ||
      from.form.columns != to.form.columns || (from.form.bfp16 && !same_direction))
    throw Error(Category::input, "matrix-shapes",
                fmt::format("copy of {} x {} {} to {} x {} {}: type and shape must be equal, and bfp16 keeps "
                            "the direction of its blocks",
                            from.form.rows, from.form.columns, isa::name(from.form.type), to.form.rows,
                            to.form.columns, isa::name(to.form.type)));
  if (from.form.rows != 0 && from.form.columns != 0)
    same_direction ? copy_runs(from, to) : copy_elements(from, to);
  if (padding == BlockPadding::zero) clear_padding(to);
}

}  // namespace npulab::values
