// SPDX-License-Identifier: Apache-2.0
// The value loop: one pass over a block, with short ways for the frequent shapes.
#include <cstring>

#include "sim/core/meaning.hpp"

namespace npulab::core {

namespace {

std::int64_t hot_offset(const HotOp& op, const CoreState& state) {
  if (op.base_reg == isa::kNoRegister) return op.base;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(op.base) +
                                   static_cast<std::uint64_t>(state.scalars[op.base_reg]));
}

void hot_increment(const HotOp& op, CoreState& state) {
  if (op.increment == 0) return;
  state.scalars[op.base_reg] = static_cast<std::int64_t>(
      static_cast<std::uint64_t>(state.scalars[op.base_reg]) + static_cast<std::uint64_t>(op.increment));
}

// The load of most kernels, where nothing is wrong with it: 32 written bytes at a multiple of 32.
inline bool load_32(const HotOp& op, CoreState& state, const memory::LocalBuffer::View& buffer) {
  constexpr std::size_t kUsual = 32;
  const auto first = static_cast<std::uint64_t>(hot_offset(op, state));
  if (op.bytes != kUsual || !buffer.plainly_good_32(first)) return false;
  std::memcpy(state.vectors.data() + op.dst, buffer.data + first, kUsual);
  hot_increment(op, state);
  return true;
}

// A contiguous load of a whole operation: the checks in line, the messages elsewhere.
inline void load_full(const DecodedProgram& program, std::uint32_t pc, const HotOp& op, CoreState& state,
                      const memory::LocalBuffer::View& buffer, bool check) {
  const std::int64_t offset = hot_offset(op, state);
  const auto first = static_cast<std::uint64_t>(offset);
  if (!buffer.legal(first, op.bytes)) local_address(program, pc, state, op.space, offset, op.bytes, false);
  if (check && !buffer.surely_written(first, op.bytes))
    check_written(program, pc, state, op.space, offset, op.bytes);
  std::memcpy(state.vectors.data() + op.dst, buffer.data + first, op.bytes);
  hot_increment(op, state);
}

}  // namespace

void execute(const DecodedProgram& program, const Block& block, CoreState& state, bool with_values) {
  if (!with_values) {
    for (const std::uint32_t pc : block.bare) execute_bare(program, pc, state);
    return;
  }
  state.note_registers(program, block);
  if (state.sanitize == Sanitize::full) {
    for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc) execute(program, pc, state);
    return;
  }
  std::byte* const vectors = state.vectors.data();
  const HotOp* const hot = program.hot.data();
  const memory::LocalBuffer::View buffer =
      state.target.vector_unit ? state.buffer(state.target.vector_space).view() : memory::LocalBuffer::View{};
  const bool check = state.sanitize != Sanitize::off;
  const std::uint32_t end = block.first + block.count;
  for (std::uint32_t pc = block.first; pc < end; ++pc) {
    const HotOp& op = hot[pc];
    switch (op.shape) {
      case Shape::lanes_full:
        op.lane(vectors + op.dst, vectors + op.a, vectors + op.b, vectors + op.c, op.lanes);
        break;
      case Shape::load_full:
        if (!load_32(op, state, buffer)) load_full(program, pc, op, state, buffer, check);
        break;
      case Shape::general:
        execute(program, pc, state);
        break;
    }
  }
}

}  // namespace npulab::core
