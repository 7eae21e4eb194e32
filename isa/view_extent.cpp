// SPDX-License-Identifier: Apache-2.0
#include "isa/view_extent.hpp"

#include <algorithm>
#include <string_view>

#include "isa/table.hpp"

namespace npulab::isa {

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 61;

std::int64_t clamped(std::int64_t value) {
  return std::clamp(value, -kMost, kMost);
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return (a < 0) == (b < 0) ? kMost : -kMost;
  return clamped(result);
}

// `count` pieces, the next one `pitch` bytes further, each touching `piece`.
Extent repeated(const Extent& piece, std::int64_t count, std::int64_t pitch) {
  if (count <= 0 || piece.low == piece.high) return {};
  const std::int64_t last = times(count - 1, pitch);
  return {clamped(piece.low + std::min<std::int64_t>(0, last)),
          clamped(piece.high + std::max<std::int64_t>(0, last))};
}

std::optional<std::int64_t> value_of(const Instruction& in, Mod mod, std::int64_t standard) {
  const Operand* value = in.mod(mod);
  if (value == nullptr) return standard;
  if (value->kind != OperandKind::imm) return std::nullopt;
  return value->imm;
}

Extent hull(const Extent& a, const Extent& b) {
  if (a.low == a.high || b.low == b.high) return a.low == a.high ? b : a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// `bytes` of each of `count` rows in columns of fractals, written whole and read as far as the rows go.
std::optional<Extent> fractal_extent(const Instruction& in, bool destination, std::int64_t bytes,
                                     std::int64_t piece) {
  const auto count = value_of(in, Mod::count, 1);
  const auto count2 = value_of(in, Mod::count2, 1);
  if (!count || !count2) return std::nullopt;
  const std::int64_t whole = round_up(*count, kFractalRows);
  const std::int64_t columns = (bytes + piece - 1) / piece;
  const auto pitch = value_of(in, destination ? Mod::dst_pitch : Mod::src_pitch, whole * piece);
  if (!pitch) return std::nullopt;
  const auto pitch2 = value_of(in, destination ? Mod::dst_pitch2 : Mod::src_pitch2, times(columns, *pitch));
  if (!pitch2) return std::nullopt;
  if (*count == 0 || columns == 0) return Extent{};
  Extent plane;
  if (destination) {
    plane = repeated({0, whole * piece}, columns, *pitch);
  } else {
    const std::int64_t last = times(columns - 1, *pitch);
    const std::int64_t tail = bytes - (columns - 1) * piece;
    plane = hull(repeated({0, *count * piece}, columns - 1, *pitch),
                 {last, clamped(last + (*count - 1) * piece + tail)});
  }
  return repeated(plane, *count2, *pitch2);
}

std::optional<Extent> copy_extent(const Instruction& in, std::size_t slot) {
  if (in.operands[2].kind != OperandKind::imm) return std::nullopt;
  const bool destination = slot == 0;
  const bool post = info(in.op).format == Format::Post;
  const std::int64_t element = post ? bits(destination ? in.type : in.type2) / 8 : 1;
  const std::int64_t bytes = in.operands[2].imm * element;
  if (const Operand* given = in.mod(Mod::layout)) {
    const LayoutInfo& layout = info(static_cast<Layout>(given->imm));
    if (destination ? layout.nz_destination : layout.nz_source)
      return fractal_extent(in, destination, bytes,
                            post && !destination ? kPieceElements * element : kPieceBytes);
  }
  const auto padded = value_of(in, Mod::pad_to, bytes);
  if (!padded) return std::nullopt;
  const std::int64_t row = destination ? std::max(bytes, *padded) : bytes;
  const auto count = value_of(in, Mod::count, 1);
  const auto pitch = value_of(in, destination ? Mod::dst_pitch : Mod::src_pitch, row);
  const auto count2 = value_of(in, Mod::count2, 1);
  if (!count || !pitch || !count2) return std::nullopt;
  const auto pitch2 = value_of(in, destination ? Mod::dst_pitch2 : Mod::src_pitch2, times(*count, *pitch));
  if (!pitch2) return std::nullopt;
  return repeated(repeated({0, row}, *count, *pitch), *count2, *pitch2);
}

std::optional<Extent> lane_extent(const Instruction& in, const Target& target) {
  const InstructionInfo& row = info(in.op);
  const std::int64_t width = bits(in.type) / 8;
  const auto n = value_of(in, Mod::n, lanes(row, in.type, in.type2, target.operation_bits));
  const auto stride = value_of(in, Mod::stride, width);
  if (!n || !stride || row.format == Format::Gather) return std::nullopt;
  return repeated({0, width}, *n, *stride);
}

std::optional<Extent> block_extent(const Instruction& in, std::string_view slot, const Target& target) {
  const bool partial = in.mod(Mod::n) != nullptr || in.mod(Mod::mask) != nullptr || in.type2 != DType::none;
  const bool strided = slot == "dst" || slot == "a" || slot == "b";
  if (partial || !strided || info(in.op).format == Format::Reduction) return std::nullopt;
  const Mod block_mod = slot == "dst" ? Mod::dst_block : slot == "a" ? Mod::a_block : Mod::b_block;
  const Mod repeat_mod = slot == "dst" ? Mod::dst_repeat : slot == "a" ? Mod::a_repeat : Mod::b_repeat;
  const auto repeat = value_of(in, Mod::repeat, 1);
  const auto block = value_of(in, block_mod, 1);
  const auto between = value_of(in, repeat_mod, target.ub_blocks);
  if (!repeat || !block || !between) return std::nullopt;
  const std::int64_t unit = target.ub_block_bytes;
  return repeated(repeated({0, unit}, target.ub_blocks, times(*block, unit)), *repeat, times(*between, unit));
}

}  // namespace

std::optional<Extent> view_extent(const Instruction& in, std::size_t slot, const Target& target) {
  const InstructionInfo& row = info(in.op);
  if (row.family == Family::Transfer) return copy_extent(in, slot);
  if (row.family == Family::Matrix || row.family == Family::Tile) return std::nullopt;
  if (row.family == Family::VectorMemory) return lane_extent(in, target);
  if (row.family == Family::Vector) return block_extent(in, info(row.format).slots[slot].name, target);
  return Extent{0, bits(in.type) / 8};
}

}  // namespace npulab::isa
