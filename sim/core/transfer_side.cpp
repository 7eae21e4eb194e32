// SPDX-License-Identifier: Apache-2.0
// Which bytes a transfer touches, and whether two transfers touch the same.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/transfer.hpp"

namespace npulab::core {

namespace {

Wide steps(std::int64_t pitch, std::uint64_t count) {
  return static_cast<Wide>(pitch) * static_cast<Wide>(count - 1);
}

}  // namespace

Wide Side::first() const {
  return base + std::min<Wide>(steps(pitch, piece == 0 ? count : columns()), 0) +
         std::min<Wide>(steps(pitch2, count2), 0);
}

Wide Side::end() const {
  const Wide planes = std::max<Wide>(steps(pitch2, count2), 0);
  if (piece == 0) return base + std::max<Wide>(steps(pitch, count), 0) + planes + static_cast<Wide>(bytes);
  const Wide last = steps(pitch, columns());
  const Wide tail = static_cast<Wide>(bytes - (columns() - 1) * piece);
  Wide high = last + static_cast<Wide>((count - 1) * piece) + tail;
  if (columns() > 1)
    high = std::max(high, std::max<Wide>(last - pitch, 0) + static_cast<Wide>(count * piece));
  return base + high + planes;
}

Side Transfer::source() const {
  return {from, src, bytes, count, count2, src_pitch, src_pitch2, src_piece};
}

Side Transfer::destination() const {
  Side side{to, dst, std::max(dst_bytes, pad_to), count, count2, dst_pitch, dst_pitch2, dst_piece};
  if (dst_piece == 0) return side;
  const auto whole = [](std::uint64_t value, std::int64_t unit) {
    return static_cast<std::uint64_t>(isa::round_up(static_cast<std::int64_t>(value), unit));
  };
  side.bytes = whole(dst_bytes, dst_piece);
  side.count = whole(count, isa::kFractalRows);
  return side;
}

Side Transfer::scales() const {
  const std::uint64_t columns = scale_space == isa::kGmSpace ? 0 : dst_bytes / dst_element;
  return {scale_space, scale_at, columns * sizeof(float), 1, 1};
}

std::uint64_t Transfer::written_bytes() const {
  const Side side = destination();
  return side.bytes * side.count * side.count2;
}

bool Transfer::counts_destination() const {
  return to == isa::kGmSpace || (from != isa::kGmSpace && src_piece != 0 && dst_piece == 0);
}

Side Transfer::counted() const {
  Side side = counts_destination() ? destination() : source();
  if (side.piece == 0) return side;
  const std::uint64_t columns = side.columns();
  side.bytes = side.piece * side.count;
  side.count = columns;
  side.piece = 0;
  return side;
}

std::uint64_t Transfer::total() const {
  const Side side = counted();
  return side.bytes * side.count * side.count2;
}

std::uint64_t Transfer::widened(std::uint64_t counted_bytes) const {
  const std::uint64_t element = counts_destination() ? dst_element : src_element;
  const std::uint64_t widest = std::max(src_element, dst_element);
  return (counted_bytes * widest + element - 1) / element;
}

namespace {

// Rows of one side, those that follow each other taken together.
struct Rows {
  std::uint8_t space = 0;
  std::int64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0, count2 = 0;
  std::int64_t pitch = 0, pitch2 = 0;

  std::int64_t at(std::uint64_t row) const {
    return base + static_cast<std::int64_t>(row % count) * pitch +
           static_cast<std::int64_t>(row / count) * pitch2;
  }
};

Rows joined(Rows r) {
  if (r.count > 1 && r.pitch == static_cast<std::int64_t>(r.bytes)) r.bytes *= std::exchange(r.count, 1);
  if (r.count == 1 && r.count2 > 1 && r.pitch2 == static_cast<std::int64_t>(r.bytes))
    r.bytes *= std::exchange(r.count2, 1);
  return r;
}

// A side as rows: columns of fractals are rows of one piece after the other; the last one stands apart where
// its pieces are not whole.
using Parts = std::array<Rows, 2>;

Parts parts_of(const Side& side) {
  if (side.piece == 0)
    return {joined({side.space, side.base, side.bytes, side.count, side.count2, side.pitch, side.pitch2})};
  const std::uint64_t whole = side.bytes / side.piece;
  const std::uint64_t tail = side.bytes % side.piece;
  Parts parts;
  parts[0] =
      joined({side.space, side.base, side.piece * side.count, whole, side.count2, side.pitch, side.pitch2});
  if (tail == 0) return parts;
  const std::int64_t last = side.base + static_cast<std::int64_t>(whole) * side.pitch;
  parts[1] = joined(
      {side.space, last, tail, side.count, side.count2, static_cast<std::int64_t>(side.piece), side.pitch2});
  return parts;
}

bool overlap(const Rows& a, const Rows& b) {
  constexpr std::uint64_t kMostPairs = 1U << 16U;
  const std::uint64_t rows_a = a.count * a.count2;
  const std::uint64_t rows_b = b.count * b.count2;
  if (a.space != b.space || a.bytes == 0 || b.bytes == 0 || rows_a == 0 || rows_b == 0) return false;
  if (rows_a > kMostPairs || rows_b > kMostPairs || rows_a * rows_b > kMostPairs) return false;
  for (std::uint64_t i = 0; i < rows_a; ++i)
    for (std::uint64_t k = 0; k < rows_b; ++k)
      if (a.at(i) < b.at(k) + static_cast<std::int64_t>(b.bytes) &&
          b.at(k) < a.at(i) + static_cast<std::int64_t>(a.bytes))
        return true;
  return false;
}

bool overlap(const Side& a, const Side& b) {
  if (a.space != b.space) return false;
  for (const Rows& of_a : parts_of(a))
    for (const Rows& of_b : parts_of(b))
      if (overlap(of_a, of_b)) return true;
  return false;
}

}  // namespace

void for_each_row(const Side& side,
                  const std::function<void(std::uint64_t first, std::uint64_t bytes)>& row) {
  for (const Rows& rows : parts_of(side)) {
    if (rows.bytes == 0) continue;
    for (std::uint64_t i = 0; i < rows.count * rows.count2; ++i)
      row(static_cast<std::uint64_t>(rows.at(i)), rows.bytes);
  }
}

std::optional<std::uint8_t> conflict(const Transfer& one, const Transfer& other) {
  const Side written = one.destination();
  const Side other_written = other.destination();
  if (overlap(written, other_written) || overlap(written, other.source()) || overlap(written, other.scales()))
    return one.to;
  if (overlap(other_written, one.source()) || overlap(other_written, one.scales())) return other.to;
  return std::nullopt;
}

bool share_a_core(const Transfer& one, const Transfer& other) {
  for (std::int64_t i = 0; i < one.cores; ++i)
    for (std::int64_t k = 0; k < other.cores; ++k)
      if (one.core_at(i) == other.core_at(k)) return true;
  return false;
}

}  // namespace npulab::core
