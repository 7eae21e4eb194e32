// SPDX-License-Identifier: Apache-2.0
#include "sim/core/core_state.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace npulab::core {

namespace {
constexpr std::byte kPoison{0xa5};
// Lane functions may be asked for a whole operation at the last register: no read beyond it.
constexpr std::size_t kSlack = 64;
}  // namespace

CoreState::CoreState(const config::CoreTypeConfig& core, const isa::Target& core_target,
                     CoreNumber core_number, bool saturate_overflow, Sanitize sanitize_level,
                     Diagnostics& findings)
    : vectors(std::size_t{core_target.vector_registers} * core_target.register_bits / 8 + kSlack),
      target(core_target),
      numbers(core_number),
      id(core_number.launch),
      saturate(saturate_overflow),
      sanitize(sanitize_level),
      diagnostics(findings) {
  for (std::size_t space = 1; space < core_target.spaces.size(); ++space) {
    const std::string& name = core_target.spaces[space].name;
    if (core_target.spaces[space].remote()) continue;
    buffers.push_back(std::make_unique<memory::LocalBuffer>(name, core.buffers.at(name)));
  }
  reset();
}

void CoreState::reset() {
  scalars.fill(0);
  scalar_written = 0;
  std::fill(vectors.begin(), vectors.end(), kPoison);
  vector_written.reset();
  for (auto& buffer : buffers) buffer->reset();
  watch.reset();
  flops = 0;
}

void CoreState::unwritten_register(const DecodedProgram& program, std::uint32_t pc, char file, unsigned reg) {
  diagnostics.add(Severity::error, "uninitialised-register",
                  fmt::format("{} reads {}{}, which nothing has written",
                              isa::info(program.ops[pc].op).mnemonic, file, reg),
                  program.where(pc), id);
}

void CoreState::note_registers(const DecodedProgram& program, std::uint32_t pc) {
  const MicroOp& op = program.ops[pc];
  const Timing& timing = op.unit_timing.vector ? op.unit_timing : op.timing;  // where the unit has a queue
  if (sanitize != Sanitize::off) {
    for (std::size_t i = 0; i < timing.read_count; ++i) {
      for (std::uint16_t r = 0; r < timing.reads[i].count; ++r) {
        const auto reg = static_cast<std::uint16_t>(timing.reads[i].first + r);
        if (!vector_written[reg]) unwritten_register(program, pc, 'v', reg);
      }
    }
  }
  for (std::uint16_t r = 0; r < timing.write.count; ++r) vector_written.set(timing.write.first + r);
}

void CoreState::note_scalars(const DecodedProgram& program, std::uint32_t pc) {
  const Timing& timing = program.ops[pc].timing;
  for (std::size_t i = 0; i < timing.scalar_read_count; ++i)
    if (sanitize != Sanitize::off && (scalar_written >> timing.scalar_reads[i] & 1U) == 0)
      unwritten_register(program, pc, 's', timing.scalar_reads[i]);
  if (timing.scalar_write != isa::kNoRegister) scalar_written |= ScalarSet{1} << timing.scalar_write;
}

void CoreState::note_registers(const DecodedProgram& program, const Block& block) {
  const bool unwritten = (block.live_in & ~vector_written).any() || (block.scalars_in & ~scalar_written) != 0;
  if (sanitize != Sanitize::off && unwritten) {
    for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc) {
      note_scalars(program, pc);
      note_registers(program, pc);
    }
    return;
  }
  scalar_written |= block.scalars_written;
  vector_written |= block.written;
}

}  // namespace npulab::core
