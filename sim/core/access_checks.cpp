// SPDX-License-Identifier: Apache-2.0
// Refusals and findings about numbers and addresses that only the run knows.
#include <fmt/core.h>

#include <algorithm>

#include "sim/core/meaning.hpp"
#include "sim/core/races.hpp"

namespace npulab::core {

using isa::Mod;

namespace {

void touch(std::uint32_t pc, const CoreState& state, std::uint8_t space, std::int64_t offset,
           std::uint64_t bytes, Races::Kind kind) {
  if (state.acting.races == nullptr) return;
  const auto first = static_cast<std::uint64_t>(offset);
  state.acting.races->access(state.id, state.acting.engine, {state.id, space}, kind, first, first + bytes,
                             {pc, state.acting.ps, state.acting.order});
}

}  // namespace

void check_modifiers(const DecodedProgram& program, std::uint32_t pc, const CoreState& state) {
  const MicroOp& op = program.ops[pc];
  for (const Mod mod : isa::info(op.format).mods) {
    if (!op.has(mod) || op.mod(mod).reg == isa::kNoRegister || mod == Mod::n || mod == Mod::mask ||
        mod == Mod::inc)
      continue;
    const isa::ModInfo& rule = isa::info(mod);
    const std::int64_t most =
        mod == Mod::repeat ? std::min<std::int64_t>(rule.max, state.target.max_repeat) : rule.max;
    const std::int64_t value = state.scalar(op.mod(mod));
    if (value >= rule.min && value <= most) continue;
    throw Error(Category::verdict, "value-range",
                fmt::format("{} of {} is {} on core {}: its range is {}…{}", rule.name,
                            isa::info(op.op).mnemonic, value, state.id, rule.min, most),
                program.where(pc));
  }
}

std::byte* local_address(const DecodedProgram& program, std::uint32_t pc, CoreState& state,
                         std::uint8_t space, std::int64_t offset, std::uint64_t bytes, bool write) {
  memory::LocalBuffer& buffer = state.buffer(space);
  const std::uint64_t size = buffer.size();
  const auto refuse = [&](const char* code, const std::string& rule) {
    throw Error(Category::verdict, code,
                fmt::format("{} {} {}[{}…{}] (0x{:x}) on core {}: {}", isa::info(program.ops[pc].op).mnemonic,
                            write ? "writes" : "reads", buffer.name(), offset,
                            static_cast<std::uint64_t>(offset) + bytes - 1,
                            static_cast<std::uint64_t>(offset), state.id, rule),
                program.where(pc));
  };
  if (offset < 0 || bytes > size || static_cast<std::uint64_t>(offset) > size - bytes)
    refuse("out-of-bounds", fmt::format("{} has bytes 0…{}", buffer.name(), size - 1));
  const std::uint64_t alignment = state.target.spaces[space].alignment;
  if (alignment > 1 && static_cast<std::uint64_t>(offset) % alignment != 0)
    refuse("misaligned", fmt::format("addresses in {} are multiples of {}", buffer.name(), alignment));
  return buffer.bytes(static_cast<std::uint64_t>(offset), bytes);
}

void check_written(const DecodedProgram& program, std::uint32_t pc, CoreState& state, std::uint8_t space,
                   std::int64_t offset, std::uint64_t bytes) {
  if (state.sanitize == Sanitize::off) return;
  touch(pc, state, space, offset, bytes, Races::Kind::read);
  const memory::LocalBuffer& buffer = state.buffer(space);
  if (buffer.written(static_cast<std::uint64_t>(offset), bytes)) return;
  state.diagnostics.add(Severity::error, "uninitialised-read",
                        fmt::format("{} reads {}[{}…{}] on core {}: not all of it was ever written",
                                    isa::info(program.ops[pc].op).mnemonic, buffer.name(), offset,
                                    static_cast<std::uint64_t>(offset) + bytes - 1, state.id),
                        program.where(pc), state.id);
}

void mark_written(std::uint32_t pc, CoreState& state, std::uint8_t space, std::int64_t offset,
                  std::uint64_t bytes) {
  touch(pc, state, space, offset, bytes, Races::Kind::write);
  state.buffer(space).mark_written(static_cast<std::uint64_t>(offset), bytes);
}

}  // namespace npulab::core
