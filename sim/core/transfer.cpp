// SPDX-License-Identifier: Apache-2.0
#include "sim/core/transfer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace npulab::core {

namespace {

using isa::Mod;

std::uint64_t size_mod(const DecodedProgram& program, std::uint32_t pc, const CoreState& state, Number number,
                       const char* what) {
  const std::int64_t value = state.scalar(number);
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  if (value < 0 || value > kMost)
    throw Error(Category::verdict, "bad-size",
                fmt::format("copy with {} = {} on core {}: sizes lie in 0…2^48", what, value, state.id),
                program.where(pc));
  return static_cast<std::uint64_t>(value);
}

std::string text(Wide value) {
  const bool negative = value < 0;
  const Wide magnitude = negative ? -value : value;
  const auto high = static_cast<std::uint64_t>(magnitude >> 64);
  const auto low = static_cast<std::uint64_t>(magnitude);
  if (high != 0) return fmt::format("{}0x{:x}{:016x}", negative ? "-" : "", high, low);
  return fmt::format("{}{}", negative ? "-" : "", low);
}

struct SideCheck {
  const DecodedProgram& program;
  const CoreState& state;
  std::span<const GmTensor> tensors;
  std::uint64_t gm_bytes;
  unsigned gm_alignment;
};

void check_side(const SideCheck& check, std::uint32_t pc, const Address& address, const Side& side,
                bool write) {
  const Wide first = side.first();
  const Wide end = side.end();
  const bool gm = address.space == isa::kGmSpace;
  const GmTensor* tensor = gm && address.tensor != isa::kNoTensor ? &check.tensors[address.tensor] : nullptr;
  const isa::Space& space = check.state.target.spaces[address.space];
  const std::string name = tensor != nullptr ? tensor->name : space.name;
  const Wide base = tensor != nullptr ? static_cast<Wide>(tensor->base) : 0;
  const std::uint64_t size = tensor != nullptr ? tensor->bytes : gm ? check.gm_bytes : space.bytes;
  const auto refuse = [&](const char* code, const std::string& rule) {
    throw Error(Category::verdict, code,
                fmt::format("copy {} {}[{}…{}] (0x{:x}) on core {}: {}", write ? "writes" : "reads", name,
                            text(first - base), text(end - base - 1),
                            static_cast<std::uint64_t>(first - base), check.state.id, rule),
                check.program.where(pc));
  };
  if (first < base || end > base + static_cast<Wide>(size))
    refuse("out-of-bounds",
           size == 0 ? fmt::format("{} is empty", name) : fmt::format("{} has bytes 0…{}", name, size - 1));
  const std::uint64_t alignment = gm ? check.gm_alignment : space.alignment;
  const bool many = side.piece == 0 ? side.count > 1 : side.columns() > 1;
  for (const std::int64_t step : {side.base, many ? side.pitch : 0, side.count2 > 1 ? side.pitch2 : 0})
    if (alignment > 1 && step % static_cast<std::int64_t>(alignment) != 0)
      refuse("misaligned",
             fmt::format("addresses in {} are multiples of {}; this one is {}", name, alignment, step));
}

}  // namespace

Transfer resolve_transfer(const DecodedProgram& program, std::uint32_t pc, const CoreState& state,
                          std::span<const GmTensor> tensors, std::uint64_t gm_bytes, unsigned gm_alignment) {
  const MicroOp& op = program.ops[pc];
  const auto number = [&](Mod mod, std::int64_t otherwise) {
    return op.has(mod) ? state.scalar(op.mod(mod)) : otherwise;
  };
  Transfer t;
  t.pc = pc;
  t.to = op.addresses[0].space;
  t.from = op.addresses[1].space;
  t.dst = state.whole_offset(op.addresses[0]);
  t.src = state.whole_offset(op.addresses[1]);
  t.bytes = size_mod(program, pc, state, op.scalars[2], "bytes");
  if (op.has(Mod::count)) t.count = size_mod(program, pc, state, op.mod(Mod::count), "count");
  if (op.has(Mod::count2)) t.count2 = size_mod(program, pc, state, op.mod(Mod::count2), "count2");
  if (op.has(Mod::pad_to)) t.pad_to = size_mod(program, pc, state, op.mod(Mod::pad_to), "pad_to");
  if (op.has(Mod::layout)) t.layout = static_cast<isa::Layout>(op.mod(Mod::layout).value);
  const auto row = static_cast<std::int64_t>(t.bytes);
  const bool from_nz = t.layout && isa::nz_source(*t.layout);
  const bool to_nz = t.layout && isa::nz_destination(*t.layout);
  const std::int64_t fractals =
      isa::round_up(static_cast<std::int64_t>(t.count), isa::kFractalRows) * isa::kPieceBytes;
  t.src_pitch = number(Mod::src_pitch, from_nz ? fractals : row);
  t.dst_pitch = number(Mod::dst_pitch, to_nz ? fractals : std::max(row, static_cast<std::int64_t>(t.pad_to)));
  const auto plane = [](std::int64_t pitch, const Side& side) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(pitch) *
                                     (side.piece == 0 ? side.count : side.columns()));
  };
  t.src_pitch2 = number(Mod::src_pitch2, plane(t.src_pitch, t.source()));
  t.dst_pitch2 = number(Mod::dst_pitch2, plane(t.dst_pitch, t.destination()));
  if (t.bytes == 0 || t.count == 0 || t.count2 == 0) {
    if (t.pad_to == 0 || t.count == 0 || t.count2 == 0) t.count2 = t.count = t.bytes = t.pad_to = 0;
  }
  if (t.count == 0) return t;
  if (op.has(Mod::pad_to) && t.pad_to < t.bytes)
    throw Error(Category::verdict, "bad-size",
                fmt::format("copy with pad_to = {} on core {}: a row has {} bytes already", t.pad_to,
                            state.id, t.bytes),
                program.where(pc));
  if (t.layout == isa::Layout::transpose16 && t.bytes != isa::kFractalBytes)
    throw Error(
        Category::verdict, "bad-size",
        fmt::format("copy with bytes = {} on core {}: a row of layout={} is a fractal of {} bytes", t.bytes,
                    state.id, isa::kLayoutNames[static_cast<std::size_t>(*t.layout)], isa::kFractalBytes),
        program.where(pc));
  const Side to = t.destination();
  if (static_cast<Wide>(to.bytes) * static_cast<Wide>(to.count) * static_cast<Wide>(to.count2) >
      (Wide{1} << 48))
    throw Error(Category::verdict, "bad-size",
                fmt::format("copy of {} x {} x {} bytes on core {} is more than 2^48", to.count2, to.count,
                            to.bytes, state.id),
                program.where(pc));
  const SideCheck check{program, state, tensors, gm_bytes, gm_alignment};
  check_side(check, pc, op.addresses[1], t.source(), false);
  check_side(check, pc, op.addresses[0], to, true);
  return t;
}

Pieces::Pieces(const Transfer& transfer, std::uint32_t request_bytes) : request_bytes_(request_bytes) {
  side_ = transfer.source();
  const bool local = transfer.from != isa::kGmSpace && transfer.to != isa::kGmSpace;
  const Side to = transfer.destination();
  if (transfer.to == isa::kGmSpace || (local && side_.piece != 0 && to.piece == 0)) side_ = to;
  side_.bytes = transfer.row_bytes();
  if (transfer.total() == 0) plane_ = side_.count2;  // zeros alone, in a buffer: no request
}

Pieces::Piece Pieces::next() {
  const std::int64_t row = side_.base + static_cast<std::int64_t>(row_) * side_.pitch +
                           static_cast<std::int64_t>(plane_) * side_.pitch2;
  const std::uint64_t address = static_cast<std::uint64_t>(row) + position_;
  const std::uint64_t to_boundary = request_bytes_ - address % request_bytes_;
  const auto bytes = static_cast<std::uint32_t>(std::min(to_boundary, side_.bytes - position_));
  position_ += bytes;
  if (position_ == side_.bytes) {
    position_ = 0;
    if (++row_ == side_.count) {
      row_ = 0;
      ++plane_;
    }
  }
  return {address, bytes};
}

}  // namespace npulab::core
