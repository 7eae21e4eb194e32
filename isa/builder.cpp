// SPDX-License-Identifier: Apache-2.0
#include "isa/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/check.hpp"
#include "isa/error.hpp"
#include "isa/lexer.hpp"
#include "isa/syntax.hpp"

namespace npulab::isa {

namespace {

Operand operand(OperandKind kind, unsigned reg, std::int64_t value) {
  if (reg > kNoRegister)
    throw Error(Category::input, "register-range",
                fmt::format("register {}: numbers go up to {}", reg, kNoRegister - 1));
  Operand result;
  result.kind = kind;
  result.reg = static_cast<std::uint8_t>(reg);
  result.imm = value;
  return result;
}

}  // namespace

Operand vreg(unsigned number) {
  return operand(OperandKind::vreg, number, 0);
}
Operand lane(unsigned number, std::int64_t index) {
  return operand(OperandKind::lane, number, index);
}
Operand sreg(unsigned number) {
  return operand(OperandKind::sreg, number, 0);
}
Operand imm(std::int64_t value) {
  return operand(OperandKind::imm, kNoRegister, value);
}
Operand fimm(double value) {
  return operand(OperandKind::fimm, kNoRegister, std::bit_cast<std::int64_t>(value));
}
Operand engine(std::uint8_t index) {
  return operand(OperandKind::engine, index, 0);
}

Operand view(std::uint8_t space, std::int64_t offset) {
  Operand result = operand(OperandKind::view, kNoRegister, offset);
  result.space = space;
  return result;
}

Operand view(std::uint8_t space, const Operand& base, std::int64_t offset) {
  Operand result = view(space, offset);
  result.reg = base.reg;
  return result;
}

Operand tensor(std::uint8_t index, std::int64_t offset) {
  Operand result = view(kGmSpace, offset);
  result.tensor = index;
  return result;
}

Operand tensor(std::uint8_t index, const Operand& base, std::int64_t offset) {
  Operand result = tensor(index, offset);
  result.reg = base.reg;
  return result;
}

Builder::Builder(const Target& target, std::string kernel_name, std::string core_type, std::uint32_t cores)
    : target_(target), writer_(std::move(core_type), cores) {
  kernel_.header.name = std::move(kernel_name);
}

void Builder::emit(Op op, DType type, DType type2, std::vector<Operand> operands,
                   std::vector<ModValue> mods) {
  if (operands.size() > kMaxOperands || mods.size() > kMaxMods)
    throw Error(Category::input, "operand-count",
                fmt::format("{}: {} operands and {} modifiers; the most are {} and {}", info(op).mnemonic,
                            operands.size(), mods.size(), kMaxOperands, kMaxMods));
  Instruction instruction;
  instruction.op = op;
  instruction.type = type;
  instruction.type2 = type2;
  for (const Operand& one : operands) instruction.operands[instruction.operand_count++] = one;
  std::sort(mods.begin(), mods.end(), [](const ModValue& a, const ModValue& b) { return a.mod < b.mod; });
  for (const ModValue& one : mods) instruction.mods[instruction.mod_count++] = one;
  writer_.append(instruction, {0, line_});
}

void Builder::emit(Op op, std::vector<Operand> operands, std::vector<ModValue> mods) {
  emit(op, DType::none, DType::none, std::move(operands), std::move(mods));
}

void Builder::branch(Op op, std::vector<Operand> operands, const std::string& label) {
  const std::size_t slot = operands.size();
  operands.push_back(operand(OperandKind::target, kNoRegister, 0));
  emit(op, std::move(operands));
  writer_.refer(writer_.size() - 1, slot, label);
}

void Builder::label(const std::string& name) {
  if (!is_identifier(name))
    throw Error(Category::input, "syntax", fmt::format("'{}' is not the name of a label", name));
  if (!writer_.define_label(name))
    throw Error(Category::input, "duplicate-label", fmt::format("label '{}' is already defined", name));
}

void Builder::loop(const Operand& count) {
  emit(Op::Loop, {count, operand(OperandKind::target, kNoRegister, 0)});
  writer_.open_loop(writer_.size() - 1);
}

void Builder::endloop() {
  if (!writer_.close_loop())
    throw Error(Category::input, "loop-end", fmt::format("{} closes no loop", kEndLoop));
}

void Builder::region(const std::string& name) {
  emit(Op::Region, {imm(writer_.string_index(name))});
}

void Builder::program(std::string core_type, std::uint32_t cores) {
  close_program();
  writer_ = ProgramWriter(std::move(core_type), cores);
}

void Builder::close_program() {
  if (writer_.open_loop())
    throw Error(Category::input, "loop-end",
                fmt::format("the loop at instruction {} has no {}", *writer_.open_loop(), kEndLoop));
  for (const ProgramWriter::Unresolved& missing : writer_.resolve())
    throw Error(Category::input, "undefined-label",
                fmt::format("undefined label '{}'{}", missing.label,
                            suggestion(missing.label, writer_.label_names())));
  kernel_.programs.push_back(writer_.take());
}

Kernel Builder::finish(const std::vector<Target>& other_core_types) {
  close_program();
  writer_ = ProgramWriter();
  Kernel kernel = std::exchange(kernel_, Kernel{});
  kernel.source_name = kernel.header.name;
  kernel.files = {{kernel.source_name, {}}};
  check(kernel, target_, other_core_types);
  return kernel;
}

}  // namespace npulab::isa
