// SPDX-License-Identifier: Apache-2.0
// Entries that run: instructions of any kind, and programs of the generator beside the plain interpreter.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "isa/check.hpp"
#include "isa/disassembler.hpp"
#include "isa/table.hpp"
#include "sim/simulation.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/entries.hpp"
#include "tests/fuzz/plain_interpreter.hpp"
#include "tests/fuzz/random_program.hpp"
#include "tests/fuzz/shipped.hpp"

namespace npulab::test {

namespace {

using isa::OperandKind;

constexpr std::uint64_t kMostCycles = 200'000;
constexpr std::uint64_t kMostInstructions = 24;
constexpr unsigned kMostCores = 4;

// Instructions that fit their rows and this machine, with any values; what the checks refuse is left out.
class AnyProgram {
 public:
  AnyProgram(const isa::Target& target, Choices& choices) : target_(target), choices_(choices) {
    kernel_.header.name = "test/any";
    for (const auto& [name, direction] : {std::pair{"A", isa::Direction::in}, {"y", isa::Direction::inout}}) {
      isa::Tensor tensor;
      tensor.name = name;
      tensor.type = DType::u8;
      tensor.shape = {4096};
      tensor.pitch = 4096;
      tensor.direction = direction;
      kernel_.header.tensors.push_back(tensor);
    }
    kernel_.programs.emplace_back();
    kernel_.programs.front().strings = {"part"};
  }

  const isa::Kernel& write() {
    isa::Program& program = kernel_.programs.front();
    size_ = 1 + choices_.pick(kMostInstructions);
    while (program.instructions.size() < size_ && !choices_.exhausted()) {
      const isa::Instruction in = instruction();
      if (isa::check_shape(in, program.strings.size()).empty() &&
          isa::check_machine(in, kernel_.header, target_).empty())
        program.instructions.push_back(in);
    }
    const auto end = static_cast<std::int64_t>(program.instructions.size());
    for (isa::Instruction& in : program.instructions)
      for (std::size_t i = 0; i < in.operand_count; ++i)
        if (in.operands[i].kind == OperandKind::target)
          in.operands[i].imm = std::min(in.operands[i].imm, end);
    isa::Instruction last;
    last.op = Op::End;
    program.instructions.push_back(last);
    return kernel_;
  }

 private:
  isa::Instruction instruction() {
    const auto rows = isa::instructions();
    const isa::InstructionInfo& row = rows[choices_.pick(rows.size())];
    isa::Instruction in;
    in.op = row.op;
    types(row, in);
    const std::span<const isa::Slot> slots = isa::info(row.format).slots;
    in.operand_count = static_cast<std::uint8_t>(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) in.operands[i] = operand(slots[i]);
    for (const isa::Mod mod : isa::info(row.format).mods) {
      if (in.mod_count == isa::kMaxMods || !choices_.one_in(5)) continue;
      const isa::ModInfo& rule = isa::info(mod);
      isa::Operand value =
          operand({rule.name, isa::Role::read,
                   static_cast<isa::KindSet>(isa::kind(OperandKind::imm) |
                                             (rule.may_be_register ? isa::kind(OperandKind::sreg) : 0)),
                   isa::SlotType::none});
      if (value.kind == OperandKind::imm) value.imm = std::clamp(value.imm, rule.min, rule.max);
      in.mods[in.mod_count++] = {mod, value};
    }
    return in;
  }

  void types(const isa::InstructionInfo& row, isa::Instruction& in) {
    if (row.types == isa::kNoTypes) return;
    for (int attempt = 0; attempt < 8; ++attempt) {
      in.type = isa::kDTypes[choices_.pick(isa::kDTypes.size())].type;
      const std::size_t second = choices_.pick(isa::kDTypes.size() + 1);
      const bool none = row.types2 == isa::kNoTypes || second == isa::kDTypes.size();
      in.type2 = none ? DType::none : isa::kDTypes[second].type;
      if (isa::legal_types(row, in.type, in.type2)) return;
    }
  }

  std::int64_t any_number() {
    static const std::vector<std::int64_t> kNumbers{0,
                                                    1,
                                                    2,
                                                    3,
                                                    4,
                                                    7,
                                                    8,
                                                    16,
                                                    31,
                                                    32,
                                                    33,
                                                    64,
                                                    100,
                                                    255,
                                                    256,
                                                    4095,
                                                    4096,
                                                    -1,
                                                    -8,
                                                    65535,
                                                    65536,
                                                    1LL << 31,
                                                    (1LL << 32) - 1,
                                                    1LL << 40,
                                                    (1LL << 48) - 1,
                                                    std::numeric_limits<std::int64_t>::max(),
                                                    std::numeric_limits<std::int64_t>::min()};
    return choices_.one_in(3) ? choices_.one_of(kNumbers) : choices_.between(0, 40);
  }

  isa::Operand operand(const isa::Slot& slot) {
    std::vector<OperandKind> kinds;
    for (unsigned k = 1; k <= static_cast<unsigned>(OperandKind::target); ++k)
      if ((slot.kinds & isa::kind(static_cast<OperandKind>(k))) != 0)
        kinds.push_back(static_cast<OperandKind>(k));
    isa::Operand value;
    value.kind = choices_.one_of(kinds);
    switch (value.kind) {
      case OperandKind::vreg:
      case OperandKind::lane:
        value.reg = static_cast<std::uint8_t>(choices_.pick(std::max(1U, target_.vector_registers)));
        if (value.kind == OperandKind::lane) value.imm = choices_.between(0, 8);
        break;
      case OperandKind::sreg:
        value.reg = static_cast<std::uint8_t>(choices_.pick(6));
        break;
      case OperandKind::view:
        value.space = static_cast<std::uint8_t>(choices_.pick(target_.spaces.size()));
        if (value.space == isa::kGmSpace && !choices_.one_in(6))
          value.tensor = static_cast<std::uint8_t>(choices_.pick(2));
        if (choices_.one_in(3)) value.reg = static_cast<std::uint8_t>(choices_.pick(6));
        value.imm = choices_.one_in(8) ? any_number() : choices_.between(0, 30) * 32;
        break;
      case OperandKind::engine:
        value.reg = choices_.one_in(8) ? isa::kAllEngines
                                       : static_cast<std::uint8_t>(choices_.pick(target_.engines.size()));
        break;
      case OperandKind::target:
        value.imm = choices_.between(0, static_cast<std::int64_t>(size_));
        break;
      default:
        value.imm = any_number();
    }
    return value;
  }

  const isa::Target& target_;
  Choices& choices_;
  isa::Kernel kernel_;
  std::uint64_t size_ = 1;
};

struct Ending {
  std::string error;
  Category category = Category::verdict;
  std::uint64_t cycles = 0;
  Bytes y;
  std::string findings;
};

Ending ending(const config::Machine& machine, std::uint32_t cores, const isa::Kernel& kernel, const Bytes& a,
              const Bytes& y, SimulationOptions options) {
  Ending result;
  options.cores = cores;
  options.max_cycles = kMostCycles;
  options.print = [](const std::string&) {};
  try {
    Simulation simulation(machine, kernel, std::move(options));
    simulation.set_input("A", a);
    simulation.set_input("y", y);
    const report::Report report = simulation.run();
    result.cycles = report.cycles;
    result.y = simulation.output("y");
    for (const auto& one : report.diagnostics) result.findings += one.code + " " + one.message + "\n";
  } catch (const Error& error) {
    result.error = error.code() + ": " + error.what();
    result.category = error.category();
    if (error.category() == Category::internal) throw;
  }
  return result;
}

std::uint32_t cores_on(const ShippedMachine& on) {
  return std::min(kRandomCores, on.machine.core_types.at(on.target.core_type).count);
}

Bytes pattern(std::size_t bytes) {
  Bytes data(bytes);
  std::mt19937_64 random(bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random() & 0x7fU);
  return data;
}

// A machine of one core type with a vector unit and few cores, which random programs are written for.
const ShippedMachine& small_machine(Choices& choices) {
  std::vector<const ShippedMachine*> small;
  for (const ShippedMachine& one : shipped().machines)
    if (one.others.empty() && one.target.vector_unit &&
        one.machine.core_types.at(one.target.core_type).count <= kMostCores)
      small.push_back(&one);
  return *choices.one_of(small);
}

}  // namespace

void take_program(std::span<const std::uint8_t> bytes) {
  Choices choices(bytes);
  const ShippedMachine& on = machine_for(choices.pick(shipped().machines.size()));
  AnyProgram program(on.target, choices);
  const isa::Kernel& kernel = program.write();
  try {
    isa::check(kernel, on.target, on.others);
  } catch (const Error& error) {
    if (error.category() != Category::input) throw;
    return;
  }
  const Bytes a = pattern(4096);
  const Ending usual = ending(on.machine, cores_on(on), kernel, a, a, {});
  SimulationOptions other;
  other.block_cache = false;
  other.construction_seed = 7;
  const Ending slow = ending(on.machine, cores_on(on), kernel, a, a, other);
  if (slow.error != usual.error || slow.cycles != usual.cycles || slow.y != usual.y ||
      slow.findings != usual.findings)
    throw std::logic_error(fmt::format(
        "without the block cache, cores shuffled: cycles {} and {}, errors '{}' and '{}'\n{}", usual.cycles,
        slow.cycles, usual.error, slow.error, isa::disassemble(kernel, on.target, on.others)));
}

void take_generated(std::span<const std::uint8_t> bytes) {
  Choices choices(bytes);
  const ShippedMachine& on = small_machine(choices);
  const RandomProgram program = ProgramWriter(on.machine, on.target, choices, {}).write();
  const isa::Kernel kernel = isa::assemble({"generated.npu", program.text}, on.target);
  const Bytes a = pattern(kSourceBytes);
  const Bytes y = pattern(kPart * kRandomCores);
  const Ending run = ending(on.machine, cores_on(on), kernel, a, y, {});
  if (run.error.rfind("cycle-limit", 0) == 0) return;
  PlainInterpreter plain(on.machine, on.target, kernel, cores_on(on));
  plain.tensor("A") = a;
  plain.tensor("y") = y;
  plain.run();
  if (!run.error.empty() || !run.findings.empty() || run.y != plain.tensor("y"))
    throw std::logic_error(fmt::format("{}{}\nanother result than the plain interpreter's:\n{}", run.error,
                                       run.findings, program.text));
}

}  // namespace npulab::test
