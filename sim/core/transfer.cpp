// SPDX-License-Identifier: Apache-2.0
#include "sim/core/transfer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sim/core/meaning.hpp"

namespace npulab::core {

namespace {

using isa::Mod;
__extension__ using Wide = __int128;

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

// Lowest and highest byte that a side of the transfer touches.
struct Range {
  Wide first;
  Wide end;
};

Range range(const Transfer& t, std::int64_t base, std::int64_t pitch, std::int64_t pitch2,
            std::uint64_t row_bytes) {
  const Wide rows = static_cast<Wide>(pitch) * static_cast<Wide>(t.count - 1);
  const Wide planes = static_cast<Wide>(pitch2) * static_cast<Wide>(t.count2 - 1);
  const Wide low = std::min<Wide>(rows, 0) + std::min<Wide>(planes, 0);
  const Wide high = std::max<Wide>(rows, 0) + std::max<Wide>(planes, 0);
  return {base + low, base + high + static_cast<Wide>(row_bytes)};
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

void check_side(const SideCheck& check, std::uint32_t pc, const Address& address, const Range& r, bool write,
                std::array<std::int64_t, 3> steps) {
  const bool gm = address.space == isa::kGmSpace;
  const GmTensor* tensor = gm && address.tensor != isa::kNoTensor ? &check.tensors[address.tensor] : nullptr;
  const isa::Space& space = check.state.target.spaces[address.space];
  const std::string name = tensor != nullptr ? tensor->name : space.name;
  const Wide base = tensor != nullptr ? static_cast<Wide>(tensor->base) : 0;
  const std::uint64_t size = tensor != nullptr ? tensor->bytes : gm ? check.gm_bytes : space.bytes;
  const auto refuse = [&](const char* code, const std::string& rule) {
    throw Error(Category::verdict, code,
                fmt::format("copy {} {}[{}…{}] (0x{:x}) on core {}: {}", write ? "writes" : "reads", name,
                            text(r.first - base), text(r.end - base - 1),
                            static_cast<std::uint64_t>(r.first - base), check.state.id, rule),
                check.program.where(pc));
  };
  if (r.first < base || r.end > base + static_cast<Wide>(size))
    refuse("out-of-bounds",
           size == 0 ? fmt::format("{} is empty", name) : fmt::format("{} has bytes 0…{}", name, size - 1));
  const std::uint64_t alignment = gm ? check.gm_alignment : space.alignment;
  for (const std::int64_t step : steps)
    if (alignment > 1 && step % static_cast<std::int64_t>(alignment) != 0)
      refuse("misaligned",
             fmt::format("addresses in {} are multiples of {}; this one is {}", name, alignment, step));
}

struct RowCopy {
  const DecodedProgram& program;
  const Transfer& t;
  CoreState& state;
  memory::SparseMemory& gm;
  bool src_clean = true;

  void report_unwritten(std::uint64_t offset) {
    if (!src_clean || state.sanitize == Sanitize::off) return;
    src_clean = false;
    const Address& address = program.ops[t.pc].addresses[1];
    const bool tensor = address.tensor != isa::kNoTensor;
    const std::string name =
        tensor ? program.kernel->header.tensors[address.tensor].name : state.target.spaces[t.from].name;
    state.diagnostics.add(Severity::error, "uninitialised-read",
                          fmt::format("copy reads {} at byte {} on core {}, which nothing has written", name,
                                      tensor ? offset - tensor_base() : offset, state.id),
                          program.where(t.pc), state.id);
  }
  std::uint64_t tensor_base() const {
    const Address& address = program.ops[t.pc].addresses[1];
    return address.tensor_base;
  }

  // Brings the next row of gm near: rows lie far apart, and the host's own prefetcher starts anew for each.
  void fetch_ahead(std::int64_t src) const {
    constexpr std::uint64_t kMost = 1024;
    constexpr std::uint64_t kLine = 64;
    if (t.from != isa::kGmSpace || t.bytes > kMost) return;
    const std::byte* next = gm.contiguous(static_cast<std::uint64_t>(src), t.bytes);
    if (next == nullptr) return;
    for (std::uint64_t line = 0; line < t.bytes; line += kLine) __builtin_prefetch(next + line);
  }

  void row(std::int64_t src, std::int64_t dst) {
    const auto from = static_cast<std::uint64_t>(src);
    const auto to = static_cast<std::uint64_t>(dst);
    if (t.from == isa::kGmSpace) {
      std::uint64_t unwritten = 0;
      if (!gm.written(from, t.bytes, &unwritten)) report_unwritten(unwritten);
      memory::LocalBuffer& buffer = state.buffer(t.to);
      gm.read(from, buffer.data() + to, t.bytes);
      buffer.mark_written(to, t.bytes);
    } else {
      memory::LocalBuffer& source = state.buffer(t.from);
      if (!source.written(from, t.bytes)) report_unwritten(source.first_unwritten(from, t.bytes));
      if (t.to == isa::kGmSpace) {
        gm.write(to, source.data() + from, t.bytes);
      } else {
        memory::LocalBuffer& buffer = state.buffer(t.to);
        std::memmove(buffer.data() + to, source.data() + from, t.bytes);
        buffer.mark_written(to, t.bytes);
      }
    }
    if (t.pad_to > t.bytes) pad(to);
  }

  void pad(std::uint64_t to) {
    const std::uint64_t zeros = t.pad_to - t.bytes;
    if (t.to == isa::kGmSpace) {
      const std::vector<std::byte> zero(zeros, std::byte{0});
      gm.write(to + t.bytes, zero.data(), zeros);
      return;
    }
    memory::LocalBuffer& buffer = state.buffer(t.to);
    std::memset(buffer.data() + to + t.bytes, 0, zeros);
    buffer.mark_written(to + t.bytes, zeros);
  }
};

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
  const auto row = static_cast<std::int64_t>(t.bytes);
  t.src_pitch = number(Mod::src_pitch, row);
  t.dst_pitch = number(Mod::dst_pitch, std::max(row, static_cast<std::int64_t>(t.pad_to)));
  const auto plane = [&](std::int64_t pitch) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(pitch) * t.count);
  };
  t.src_pitch2 = number(Mod::src_pitch2, plane(t.src_pitch));
  t.dst_pitch2 = number(Mod::dst_pitch2, plane(t.dst_pitch));
  if (t.bytes == 0 || t.count == 0 || t.count2 == 0) {
    if (t.pad_to == 0 || t.count == 0 || t.count2 == 0) t.count2 = t.count = t.bytes = t.pad_to = 0;
  }
  if (t.count == 0) return t;
  if (op.has(Mod::pad_to) && t.pad_to < t.bytes)
    throw Error(Category::verdict, "bad-size",
                fmt::format("copy with pad_to = {} on core {}: a row has {} bytes already", t.pad_to,
                            state.id, t.bytes),
                program.where(pc));
  const std::uint64_t row_bytes = std::max(t.bytes, t.pad_to);
  if (static_cast<Wide>(row_bytes) * static_cast<Wide>(t.count) * static_cast<Wide>(t.count2) >
      (Wide{1} << 48))
    throw Error(Category::verdict, "bad-size",
                fmt::format("copy of {} x {} x {} bytes on core {} is more than 2^48", t.count2, t.count,
                            row_bytes, state.id),
                program.where(pc));
  const SideCheck check{program, state, tensors, gm_bytes, gm_alignment};
  check_side(check, pc, op.addresses[1], range(t, t.src, t.src_pitch, t.src_pitch2, t.bytes), false,
             {t.src, t.count > 1 ? t.src_pitch : 0, t.count2 > 1 ? t.src_pitch2 : 0});
  check_side(check, pc, op.addresses[0],
             range(t, t.dst, t.dst_pitch, t.dst_pitch2, std::max(t.bytes, t.pad_to)), true,
             {t.dst, t.count > 1 ? t.dst_pitch : 0, t.count2 > 1 ? t.dst_pitch2 : 0});
  return t;
}

namespace {

// One side of a copy, with rows that follow each other taken together.
struct Rows {
  std::uint8_t space;
  std::int64_t base;
  std::uint64_t bytes;
  std::uint64_t count, count2;
  std::int64_t pitch, pitch2;

  std::int64_t at(std::uint64_t row) const {
    return base + static_cast<std::int64_t>(row % count) * pitch +
           static_cast<std::int64_t>(row / count) * pitch2;
  }
};

Rows rows_of(const Transfer& t, bool destination) {
  Rows r = destination
               ? Rows{t.to, t.dst, std::max(t.bytes, t.pad_to), t.count, t.count2, t.dst_pitch, t.dst_pitch2}
               : Rows{t.from, t.src, t.bytes, t.count, t.count2, t.src_pitch, t.src_pitch2};
  if (r.count > 1 && r.pitch == static_cast<std::int64_t>(r.bytes)) r.bytes *= std::exchange(r.count, 1);
  if (r.count == 1 && r.count2 > 1 && r.pitch2 == static_cast<std::int64_t>(r.bytes))
    r.bytes *= std::exchange(r.count2, 1);
  return r;
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

}  // namespace

std::optional<std::uint8_t> conflict(const Transfer& one, const Transfer& other) {
  const Rows written = rows_of(one, true);
  const Rows other_written = rows_of(other, true);
  if (overlap(written, other_written) || overlap(written, rows_of(other, false))) return one.to;
  if (overlap(other_written, rows_of(one, false))) return other.to;
  return std::nullopt;
}

void apply_transfer(const DecodedProgram& program, const Transfer& t, CoreState& state,
                    memory::SparseMemory& gm) {
  RowCopy copy{program, t, state, gm};
  for (std::uint64_t plane = 0; plane < t.count2; ++plane) {
    for (std::uint64_t row = 0; row < t.count; ++row) {
      const auto r = static_cast<std::int64_t>(row);
      const auto p = static_cast<std::int64_t>(plane);
      if (row + 1 < t.count) copy.fetch_ahead(t.src + (r + 1) * t.src_pitch + p * t.src_pitch2);
      copy.row(t.src + r * t.src_pitch + p * t.src_pitch2, t.dst + r * t.dst_pitch + p * t.dst_pitch2);
    }
  }
}

Pieces::Pieces(const Transfer& transfer, std::uint32_t request_bytes)
    : transfer_(transfer), request_bytes_(request_bytes) {
  const bool by_destination = transfer.to == isa::kGmSpace;
  base_ = by_destination ? transfer.dst : transfer.src;
  pitch_ = by_destination ? transfer.dst_pitch : transfer.src_pitch;
  pitch2_ = by_destination ? transfer.dst_pitch2 : transfer.src_pitch2;
  if (transfer.total() == 0) plane_ = transfer_.count2;
}

Pieces::Piece Pieces::next() {
  const std::int64_t row =
      base_ + static_cast<std::int64_t>(row_) * pitch_ + static_cast<std::int64_t>(plane_) * pitch2_;
  const std::uint64_t address = static_cast<std::uint64_t>(row) + position_;
  const std::uint64_t to_boundary = request_bytes_ - address % request_bytes_;
  const auto bytes = static_cast<std::uint32_t>(std::min(to_boundary, transfer_.row_bytes() - position_));
  position_ += bytes;
  if (position_ == transfer_.row_bytes()) {
    position_ = 0;
    if (++row_ == transfer_.count) {
      row_ = 0;
      ++plane_;
    }
  }
  return {address, bytes};
}

}  // namespace npulab::core
