// SPDX-License-Identifier: Apache-2.0
#include "sim/core/meaning.hpp"

#include <array>

#include "sim/core/meaning_frame.hpp"

namespace npulab::core {

namespace {

using isa::Format;
using isa::Mod;
using isa::Op;

// Rows whose values change nothing here: transfers, synchronisation, control and debug belong to the engines.
constexpr bool has_meaning_here(isa::Family family) {
  return family == isa::Family::Vector || family == isa::Family::VectorMemory ||
         family == isa::Family::Tile || family == isa::Family::Scalar;
}

template <Op O, isa::Family F, Format Fmt>
constexpr Meaning meaning_of() {
  if constexpr (!has_meaning_here(F))
    return nullptr;
  else if constexpr (F == isa::Family::Vector && Fmt != Format::Slide && Fmt != Format::Extract)
    return &vector_lanes;
  else
    return &meaning<O>;
}

constexpr std::array<Meaning, isa::kOpCount> kMeanings{{
#define NPU_INSTRUCTION(NAME, MNEMONIC, CODE, FAMILY, PORT, COST, FORMAT, TYPES, TYPES2, TEXT) \
  meaning_of<Op::NAME, isa::Family::FAMILY, Format::FORMAT>(),
#include "isa/instructions.def"
}};

}  // namespace

void post_increment(const MicroOp& op, CoreState& state) {
  if (!op.has(Mod::inc)) return;
  for (const Address& address : op.addresses) {
    if (address.base.reg == isa::kNoRegister) continue;
    std::int64_t& base = state.scalars[address.base.reg];
    base = static_cast<std::int64_t>(static_cast<std::uint64_t>(base) +
                                     static_cast<std::uint64_t>(state.scalar(op.mod(Mod::inc))));
    return;
  }
}

void execute(const DecodedProgram& program, std::uint32_t pc, CoreState& state) {
  execute(program, pc, program.ops[pc], state);
}

void execute(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state) {
  kMeanings[static_cast<std::size_t>(op.op)](Frame{program, pc, op, state});
}

MicroOp freeze(const MicroOp& op, const CoreState& state) {
  MicroOp frozen = op;
  const auto fix = [&state](Number& number) { number = {isa::kNoRegister, state.scalar(number)}; };
  for (Number& number : frozen.scalars) fix(number);
  for (Address& address : frozen.addresses) {
    address.base.value = state.offset(address);
    address.base.reg = isa::kNoRegister;
  }
  for (Number& number : frozen.mods) fix(number);
  frozen.mod_set &= ~(std::uint64_t{1} << static_cast<unsigned>(Mod::inc));
  return frozen;
}

void execute_bare(const DecodedProgram& program, std::uint32_t pc, CoreState& state) {
  const MicroOp& op = program.ops[pc];
  if (op.family == isa::Family::Scalar) {
    execute(program, pc, op, state);
    return;
  }
  if (op.flops_per_lane != 0 && (op.has(Mod::n) || op.has(Mod::mask))) count_flops(op, state, op.lanes);
  post_increment(op, state);
}

}  // namespace npulab::core
