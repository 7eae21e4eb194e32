// SPDX-License-Identifier: Apache-2.0
// What instructions do to a core's state: values only, in program order, no time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/core_state.hpp"
#include "sim/core/micro_op.hpp"

namespace npulab::core {

// Runs one plain micro-op (vector, vector memory or scalar). Errors: verdict "out-of-bounds", "misaligned",
// "division-by-zero" with the place of the instruction.
void execute(const DecodedProgram& program, std::uint32_t pc, CoreState& state);
// The same for an operation whose numbers were frozen when it was dispatched (see freeze).
void execute(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state);
// Applies the post-increment of a memory instruction, if it has one.
void post_increment(const MicroOp& op, CoreState& state);
// The operation with every scalar register replaced by its value now, for a queue that runs later.
MicroOp freeze(const MicroOp& op, const CoreState& state);
// Refuses numbers that only now are known and lie outside a modifier's range: strides, repeats. `n` and
// `mask` take any value. Errors: verdict "value-range".
void check_modifiers(const DecodedProgram& program, std::uint32_t pc, const CoreState& state);
// Cycles beyond the first that the banks need for a memory operation of the register form.
std::uint32_t bank_delay(const MicroOp& op, CoreState& state);

// Only what a run without values needs of one operation: scalar work, post-increment, flops of some lanes.
void execute_bare(const DecodedProgram& program, std::uint32_t pc, CoreState& state);
// Adds the flops of the active lanes of an operation.
void count_flops(const MicroOp& op, CoreState& state, std::uint32_t lanes);

// Runs a block once. `with_values` false: only what changes scalar registers.
void execute(const DecodedProgram& program, const Block& block, CoreState& state, bool with_values);

// Checks that [offset, offset + bytes) lies in the buffer of `space` and is aligned for it, and gives its
// address.
std::byte* local_address(const DecodedProgram& program, std::uint32_t pc, CoreState& state,
                         std::uint8_t space, std::int64_t offset, std::uint64_t bytes, bool write);
// Reports a read of bytes that nobody wrote (once per place), unless the sanitizer is off.
void check_written(const DecodedProgram& program, std::uint32_t pc, CoreState& state, std::uint8_t space,
                   std::int64_t offset, std::uint64_t bytes);

// Notes that the bytes were written.
void mark_written(std::uint32_t pc, CoreState& state, std::uint8_t space, std::int64_t offset,
                  std::uint64_t bytes);

// Lanes that take part: min(n, lanes), n negative counts as 0.
inline std::uint32_t active_lanes(const MicroOp& op, const CoreState& state, std::uint32_t lanes) {
  if (!op.has(isa::Mod::n)) return lanes;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(state.scalar(op.mod(isa::Mod::n)), 0, lanes));
}

// Whether the operation's mask, if it has one, lets a lane take part.
bool mask_allows(const MicroOp& op, const CoreState& state, std::uint32_t lane);
// Copies one element; of i4 its half of the byte.
void copy_lane(isa::DType type, std::byte* to, const std::byte* from, std::uint32_t lane);

// A reduction over `lanes` elements at `a`, those without a mask bit left out and the others moved together.
void reduce(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
            std::byte* dst, const std::byte* a, std::uint32_t lanes);

// UB form: operands are views. Geometry of one instruction for timing and values.
struct UbOperand {
  std::uint8_t space = 0;
  std::int64_t offset = 0;        // of the first block, bytes
  std::int64_t block_stride = 0;  // bytes
  std::int64_t repeat_stride = 0;
  std::uint32_t blocks = 0;      // 32-byte blocks per repeat that are touched
  std::uint32_t bytes = 0;       // bytes per repeat that are touched
  std::uint32_t last_block = 0;  // bytes of the last of these blocks
  bool used = false;

  // From the first byte to behind the last one over all repeats.
  std::uint64_t reach(std::uint64_t repeats) const;
};
struct UbAccess {
  std::uint64_t repeats = 0;
  std::uint32_t lanes = 0;  // per repeat, active
  UbOperand dst, a, b, c;
};
UbAccess ub_access(const MicroOp& op, const CoreState& state);
// Refuses an instruction that leaves its buffer, with or without values. Errors: verdict "out-of-bounds",
// "misaligned".
void check_ub(const DecodedProgram& program, std::uint32_t pc, CoreState& state, const UbAccess& access);
void execute_ub(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
                const UbAccess& access);
// Cycles that the banks need for each repeat, summed: reads and the write of a repeat are served side by
// side.
std::uint64_t ub_bank_cycles(const UbAccess& access, CoreState& state);

}  // namespace npulab::core
