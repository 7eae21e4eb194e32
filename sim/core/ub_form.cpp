// SPDX-License-Identifier: Apache-2.0
// The UB form: vector operands are views of a buffer, worked through in repeats of eight 32-byte blocks.
#include <algorithm>
#include <array>
#include <cstring>

#include "sim/core/meaning.hpp"

namespace npulab::core {

namespace {

using isa::Format;
using isa::Mod;

std::int64_t mod_or(const MicroOp& op, const CoreState& state, Mod mod, std::int64_t otherwise) {
  return mod != Mod::kCount && op.has(mod) ? state.scalar(op.mod(mod)) : otherwise;
}

struct StrideMods {
  Mod block;
  Mod repeat;
};

// The strides that are about an operand, by its name; the mask of vsel lies in a row.
StrideMods stride_mods(std::string_view slot) {
  if (slot == "a") return {Mod::a_block, Mod::a_repeat};
  if (slot == "b") return {Mod::b_block, Mod::b_repeat};
  return {Mod::kCount, Mod::kCount};
}

UbOperand operand(const MicroOp& op, const CoreState& state, std::size_t slot, isa::DType type,
                  std::uint32_t lanes, StrideMods mods) {
  const isa::Target& target = state.target;
  UbOperand result;
  result.used = true;
  result.space = op.addresses[slot].space;
  result.offset = state.offset(op.addresses[slot]);
  result.bytes = (lanes * isa::bits(type) + 7) / 8;
  result.blocks = (result.bytes + target.ub_block_bytes - 1) / target.ub_block_bytes;
  const std::int64_t block = target.ub_block_bytes;
  if (result.blocks > 0) result.last_block = result.bytes - (result.blocks - 1) * target.ub_block_bytes;
  result.block_stride = mod_or(op, state, mods.block, 1) * block;
  result.repeat_stride = mod_or(op, state, mods.repeat, target.ub_blocks) * block;
  return result;
}

// Collects the blocks of one repeat into `to`.
void gather(const DecodedProgram& program, std::uint32_t pc, CoreState& state, const UbOperand& from,
            std::uint64_t repeat, std::byte* to) {
  const std::uint32_t block_bytes = state.target.ub_block_bytes;
  for (std::uint32_t block = 0; block < from.blocks; ++block) {
    const std::uint32_t bytes = std::min(block_bytes, from.bytes - block * block_bytes);
    const std::int64_t offset = from.offset + static_cast<std::int64_t>(repeat) * from.repeat_stride +
                                static_cast<std::int64_t>(block) * from.block_stride;
    const std::byte* base = local_address(program, pc, state, from.space, offset, bytes, false);
    check_written(program, pc, state, from.space, offset, bytes);
    std::memcpy(to + std::size_t{block} * block_bytes, base, bytes);
  }
}

// The lanes of one block that take part, one by one: the others are not written, whatever an earlier block
// put there.
void scatter_lanes(const MicroOp& op, const CoreState& state, std::uint32_t first_lane, std::uint32_t lanes,
                   const std::byte* from, std::byte* to) {
  for (std::uint32_t i = 0; i < lanes; ++i)
    if (mask_allows(op, state, first_lane + i)) copy_lane(op.type, to, from, i);
}

void scatter(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
             const UbAccess& access, std::uint64_t repeat, bool lane_by_lane, const std::byte* from) {
  const UbOperand& to = access.dst;
  const std::uint32_t block_bytes = state.target.ub_block_bytes;
  const std::uint32_t block_lanes = block_bytes * 8 / isa::bits(op.type);
  for (std::uint32_t block = 0; block < to.blocks; ++block) {
    const std::uint32_t bytes = std::min(block_bytes, to.bytes - block * block_bytes);
    const std::int64_t delta = static_cast<std::int64_t>(repeat) * to.repeat_stride +
                               static_cast<std::int64_t>(block) * to.block_stride;
    const std::int64_t offset = to.offset + delta;
    // The results of a reduction stand side by side: only the first one is aligned.
    const bool elements = to.repeat_stride % block_bytes != 0;
    std::byte* base = elements ? local_address(program, pc, state, to.space, to.offset,
                                               static_cast<std::uint64_t>(delta) + bytes, true) +
                                     delta
                               : local_address(program, pc, state, to.space, offset, bytes, true);
    const std::byte* source = from + std::size_t{block} * block_bytes;
    if (lane_by_lane)
      scatter_lanes(op, state, block * block_lanes, std::min(block_lanes, access.lanes - block * block_lanes),
                    source, base);
    else
      std::memcpy(base, source, bytes);
    mark_written(pc, state, to.space, offset, bytes);
  }
}

// The element that a scalar or immediate operand stands for.
void broadcast(const MicroOp& op, const CoreState& state, std::size_t slot, isa::DType type, std::byte* to) {
  const unsigned size = std::max(1U, isa::bits(type) / 8);
  std::array<std::byte, 8> element = op.constant;
  if (op.broadcast == 2) {
    const auto bits = static_cast<std::uint64_t>(state.scalar(op.scalars[slot]));
    for (unsigned i = 0; i < size; ++i) element[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
  std::memcpy(to, element.data(), size);
}

constexpr std::size_t kRepeatBytes = 8 * 32;
using RepeatBuffer = std::array<std::byte, kRepeatBytes>;

bool single_element(const MicroOp& op) {
  return op.format == Format::Reduction;
}

std::uint64_t bank_cycles_of(CoreState& state, std::uint64_t repeat,
                             std::initializer_list<const UbOperand*> operands) {
  // Words of every operand of the repeat compete for the banks: count per bank, the busiest decides.
  std::array<std::uint32_t, 1024> load;
  std::array<std::int64_t, 3 * kRepeatBytes> seen;
  std::size_t seen_count = 0;
  std::uint32_t most = 0;
  const std::uint32_t block_bytes = state.target.ub_block_bytes;
  std::fill_n(load.begin(), state.buffer(state.target.vector_space).config().banks, 0);
  for (const UbOperand* o : operands) {
    if (!o->used) continue;
    const config::BufferConfig& config = state.buffer(o->space).config();
    for (std::uint32_t block = 0; block < o->blocks; ++block) {
      const std::uint32_t bytes = std::min(block_bytes, o->bytes - block * block_bytes);
      const std::int64_t offset = o->offset + static_cast<std::int64_t>(repeat) * o->repeat_stride +
                                  static_cast<std::int64_t>(block) * o->block_stride;
      for (std::int64_t word = offset / config.bank_bytes; word <= (offset + bytes - 1) / config.bank_bytes;
           ++word) {
        const auto end = seen.begin() + static_cast<std::ptrdiff_t>(seen_count);
        if (std::find(seen.begin(), end, word) != end) continue;
        seen[seen_count++] = word;
        const auto bank = static_cast<std::size_t>(static_cast<std::uint64_t>(word) % config.banks);
        most = std::max(most, (++load[bank] + config.bank_ports - 1) / config.bank_ports);
      }
    }
  }
  return most;
}

}  // namespace

UbAccess ub_access(const MicroOp& op, const CoreState& state) {
  const isa::Target& target = state.target;
  UbAccess access;
  const std::int64_t repeats = mod_or(op, state, Mod::repeat, 1);
  access.repeats = repeats < 0 ? 0 : static_cast<std::uint64_t>(repeats);
  unsigned widest = isa::bits(op.type);
  if (op.type2 != isa::DType::none && op.format != Format::DotTernary)
    widest = std::max(widest, isa::bits(op.type2));
  const std::uint32_t whole = target.ub_blocks * target.ub_block_bytes * 8 / widest;
  access.lanes = active_lanes(op, state, whole);
  if (access.lanes == 0 && !single_element(op)) return access;
  const isa::DType source = op.type2 == isa::DType::none ? op.type : op.type2;
  access.dst = operand(op, state, 0, op.type, single_element(op) ? 1 : access.lanes,
                       {Mod::dst_block, Mod::dst_repeat});
  if (single_element(op))  // results of consecutive repeats stand side by side: strides count elements
    access.dst.repeat_stride = mod_or(op, state, Mod::dst_repeat, 1) * (isa::bits(op.type) / 8);
  const std::uint32_t source_lanes = (op.format == Format::DotTernary ? 4 : 1) * access.lanes;
  const std::array<UbOperand*, 3> sources{&access.a, &access.b, &access.c};
  const std::span<const isa::Slot> slots = isa::info(op.format).slots;
  for (std::size_t slot = 1; slot < slots.size(); ++slot) {
    const bool broadcast = op.broadcast != 0 && slot + 1 == slots.size();
    if (broadcast) continue;
    // Any lane of the source of a permutation may be named.
    const std::uint32_t lanes = op.op == isa::Op::Vperm && slot == 1 ? whole : source_lanes;
    *sources[slot - 1] = operand(op, state, slot, source, lanes, stride_mods(slots[slot].name));
  }
  return access;
}

std::uint64_t UbOperand::reach(std::uint64_t repeats) const {
  if (blocks == 0 || repeats == 0) return 0;
  return static_cast<std::uint64_t>(block_stride) * (blocks - 1) +
         static_cast<std::uint64_t>(repeat_stride) * (repeats - 1) + last_block;
}

void check_ub(const DecodedProgram& program, std::uint32_t pc, CoreState& state, const UbAccess& access) {
  for (const UbOperand* o : {&access.a, &access.b, &access.c})
    if (const std::uint64_t bytes = o->reach(access.repeats); bytes > 0)
      local_address(program, pc, state, o->space, o->offset, bytes, false);
  if (const std::uint64_t bytes = access.dst.reach(access.repeats); bytes > 0)
    local_address(program, pc, state, access.dst.space, access.dst.offset, bytes, true);
}

void execute_ub(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
                const UbAccess& access) {
  const std::size_t operand_count = isa::info(op.format).slots.size();
  const bool odd_nibble = op.type == isa::DType::i4 && access.lanes % 2 != 0;
  const bool lane_by_lane = odd_nibble || (op.has(Mod::mask) && !single_element(op));
  const bool reads_dst = isa::info(op.format).slots[0].role == isa::Role::read_write || lane_by_lane;
  RepeatBuffer dst{};
  RepeatBuffer a{};
  RepeatBuffer b{};
  RepeatBuffer c{};
  const std::array<RepeatBuffer*, 3> buffers{&a, &b, &c};
  const std::array<const UbOperand*, 3> operands{&access.a, &access.b, &access.c};
  if (op.broadcast != 0) {
    const isa::DType type = op.format == Format::WideTernary ? op.type2 : op.type;
    RepeatBuffer& to = *buffers[operand_count - 2];
    broadcast(op, state, operand_count - 1, type, to.data());
    // Indices of a permutation are read lane by lane.
    const std::size_t size = isa::bits(type) / 8;
    for (std::size_t i = size; op.op == isa::Op::Vperm && i < to.size(); i += size)
      std::memcpy(&to[i], to.data(), size);
  }
  for (std::uint64_t repeat = 0; repeat < access.repeats; ++repeat) {
    for (std::size_t i = 0; i + 1 < operand_count; ++i)
      if (operands[i]->used) gather(program, pc, state, *operands[i], repeat, buffers[i]->data());
    if (reads_dst) gather(program, pc, state, access.dst, repeat, dst.data());
    if (single_element(op))
      reduce(program, pc, op, state, dst.data(), a.data(), access.lanes);
    else if (op.op == isa::Op::Vperm)
      op.lane(dst.data(), a.data(), b.data(), nullptr, access.a.bytes / (isa::bits(op.type) / 8));
    else
      apply_lanes(program, pc, op, state, dst.data(), a.data(), b.data(), c.data(), access.lanes);
    scatter(program, pc, op, state, access, repeat, lane_by_lane, dst.data());
  }
}

std::uint64_t ub_bank_cycles(const UbAccess& access, CoreState& state) {
  std::uint64_t sum = 0;
  for (std::uint64_t repeat = 0; repeat < access.repeats; ++repeat) {
    const std::uint64_t reads = bank_cycles_of(state, repeat, {&access.a, &access.b, &access.c});
    const std::uint64_t write = bank_cycles_of(state, repeat, {&access.dst});
    sum += std::max({reads, write, std::uint64_t{1}});
  }
  return sum;
}

}  // namespace npulab::core
