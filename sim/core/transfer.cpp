// SPDX-License-Identifier: Apache-2.0
#include "sim/core/transfer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace npulab::core {

namespace {

using isa::Mod;

std::string_view mnemonic(const DecodedProgram& program, std::uint32_t pc) {
  return isa::info(program.ops[pc].op).mnemonic;
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
                fmt::format("{} {} {}[{}…{}] (0x{:x}) on core {}: {}", mnemonic(check.program, pc),
                            write ? "writes" : "reads", name, text(first - base), text(end - base - 1),
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

// The numbers of one transfer, read from the core's registers.
class Resolver {
 public:
  Resolver(const DecodedProgram& program, std::uint32_t pc, const CoreState& state)
      : program_(program), pc_(pc), state_(state), op_(program.ops[pc]) {}

  Transfer run() {
    t_.pc = pc_;
    t_.to = op_.addresses[0].space;
    t_.from = op_.addresses[1].space;
    t_.dst = state_.whole_offset(op_.addresses[0]);
    t_.src = state_.whole_offset(op_.addresses[1]);
    t_.bytes = t_.dst_bytes = size(op_.scalars[2], isa::info(op_.format).slots[2].name);
    size_mod(Mod::count, t_.count);
    size_mod(Mod::count2, t_.count2);
    size_mod(Mod::pad_to, t_.pad_to);
    if (op_.format == isa::Format::Post) post();
    if (op_.has(Mod::layout)) layout();
    t_.core = number(Mod::core, 0);
    t_.cores = number(Mod::cores, 1);
    t_.core_step = number(Mod::core_step, 1);
    pitches();
    const bool filled = t_.pad_to > 0;
    if (t_.count == 0 || t_.count2 == 0 || (t_.bytes == 0 && !filled))
      t_.count2 = t_.count = t_.bytes = t_.dst_bytes = t_.pad_to = 0;
    if (t_.count != 0) check();
    return t_;
  }

 private:
  [[noreturn]] void refuse(const char* code, const std::string& what) const {
    throw Error(Category::verdict, code, fmt::format("{} {}", mnemonic(program_, pc_), what),
                program_.where(pc_));
  }

  std::uint64_t size(Number number, std::string_view what) const {
    const std::int64_t value = state_.scalar(number);
    constexpr std::int64_t kMost = std::int64_t{1} << 48;
    if (value < 0 || value > kMost)
      refuse("bad-size", fmt::format("with {} = {} on core {}: sizes lie in 0…2^48", what, value, state_.id));
    return static_cast<std::uint64_t>(value);
  }
  void size_mod(Mod mod, std::uint64_t& value) const {
    if (op_.has(mod)) value = size(op_.mod(mod), isa::info(mod).name);
  }
  std::int64_t number(Mod mod, std::int64_t otherwise) const {
    return op_.has(mod) ? state_.scalar(op_.mod(mod)) : otherwise;
  }

  void post() {
    t_.post = true;
    t_.src_element = static_cast<std::uint8_t>(isa::bits(op_.type2) / 8);
    t_.dst_element = static_cast<std::uint8_t>(isa::bits(op_.type) / 8);
    t_.bytes *= t_.src_element;
    t_.dst_bytes *= t_.dst_element;
    if (op_.has(Mod::scale_at)) {
      t_.scale_space = op_.scale_space;
      t_.scale_at = state_.scalar(op_.mod(Mod::scale_at));
    }
    if (!op_.has(Mod::scale)) return;
    const std::int64_t bits = state_.scalar(op_.mod(Mod::scale));
    const isa::ModInfo& rule = isa::info(Mod::scale);
    if (bits < rule.min || bits > rule.max)
      refuse("value-range", fmt::format("with {} = {} on core {}: it is the bits of an f32, 0…2^32-1",
                                        rule.name, bits, state_.id));
    t_.scale = static_cast<std::uint32_t>(bits);
  }

  void layout() {
    t_.layout = static_cast<isa::Layout>(op_.mod(Mod::layout).value);
    const isa::LayoutInfo& row = isa::info(*t_.layout);
    const std::int64_t elements = isa::kPieceElements * t_.src_element;
    if (row.nz_source) t_.src_piece = static_cast<std::uint8_t>(t_.post ? elements : isa::kPieceBytes);
    if (row.nz_destination) t_.dst_piece = static_cast<std::uint8_t>(isa::kPieceBytes);
  }

  void pitches() {
    const std::int64_t rows = isa::round_up(static_cast<std::int64_t>(t_.count), isa::kFractalRows);
    t_.src_pitch =
        number(Mod::src_pitch, t_.src_piece != 0 ? rows * t_.src_piece : static_cast<std::int64_t>(t_.bytes));
    t_.dst_pitch = number(Mod::dst_pitch, t_.dst_piece != 0
                                              ? rows * t_.dst_piece
                                              : static_cast<std::int64_t>(std::max(t_.dst_bytes, t_.pad_to)));
    const auto plane = [](std::int64_t pitch, const Side& side) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(pitch) *
                                       (side.piece == 0 ? side.count : side.columns()));
    };
    t_.src_pitch2 = number(Mod::src_pitch2, plane(t_.src_pitch, t_.source()));
    t_.dst_pitch2 = number(Mod::dst_pitch2, plane(t_.dst_pitch, t_.destination()));
  }

  void check() const {
    if (op_.has(Mod::pad_to) && t_.pad_to < t_.bytes)
      refuse("bad-size", fmt::format("with pad_to = {} on core {}: a row has {} bytes already", t_.pad_to,
                                     state_.id, t_.bytes));
    if (t_.layout == isa::Layout::transpose16 && t_.bytes != isa::kFractalBytes)
      refuse("bad-size",
             fmt::format("with bytes = {} on core {}: a row of layout={} is a fractal of {} bytes", t_.bytes,
                         state_.id, isa::info(*t_.layout).name, isa::kFractalBytes));
    const Side to = t_.destination();
    if (static_cast<Wide>(to.bytes) * static_cast<Wide>(to.count) * static_cast<Wide>(to.count2) >
        (Wide{1} << 48))
      refuse("bad-size", fmt::format("of {} x {} x {} bytes on core {} is more than 2^48", to.count2,
                                     to.count, to.bytes, state_.id));
  }

  const DecodedProgram& program_;
  const std::uint32_t pc_;
  const CoreState& state_;
  const MicroOp& op_;
  Transfer t_;
};

}  // namespace

Transfer resolve_transfer(const DecodedProgram& program, std::uint32_t pc, const CoreState& state,
                          std::span<const GmTensor> tensors, std::uint64_t gm_bytes, unsigned gm_alignment) {
  const MicroOp& op = program.ops[pc];
  const Transfer t = Resolver(program, pc, state).run();
  if (t.count == 0) return t;
  const SideCheck check{program, state, tensors, gm_bytes, gm_alignment};
  check_side(check, pc, op.addresses[1], t.source(), false);
  check_side(check, pc, op.addresses[0], t.destination(), true);
  if (t.scale_space != isa::kGmSpace) {
    Address scales;
    scales.space = t.scale_space;
    check_side(check, pc, scales, t.scales(), false);
  }
  return t;
}

Pieces::Pieces(const Transfer& transfer, std::uint32_t request_bytes)
    : request_bytes_(request_bytes), power_(std::has_single_bit(request_bytes)) {
  const Side side = transfer.counted();
  row_bytes_ = side.bytes;
  count_ = rows_ = side.count;
  planes_ = side.bytes == 0 || side.count == 0 ? 0 : side.count2;  // zeros alone, in a buffer: no request
  row_ = plane_ = static_cast<std::uint64_t>(side.base);
  pitch_ = static_cast<std::uint64_t>(side.pitch);
  pitch2_ = static_cast<std::uint64_t>(side.pitch2);
}

void Pieces::end_row() {
  position_ = 0;
  if (--rows_ > 0) {
    row_ += pitch_;
    return;
  }
  --planes_;
  rows_ = count_;
  row_ = plane_ += pitch2_;
}

}  // namespace npulab::core
