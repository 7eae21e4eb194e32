// SPDX-License-Identifier: Apache-2.0
#include "isa/disassembler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "isa/check.hpp"
#include "isa/directives.hpp"
#include "isa/syntax.hpp"
#include "isa/table.hpp"
#include "isa/tile.hpp"

namespace npulab::isa {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + '"';
}

std::string integer(std::int64_t value) {
  // The least number has no positive counterpart that '-' could be put before.
  return value == std::numeric_limits<std::int64_t>::min() ? "0x8000000000000000" : fmt::format("{}", value);
}

std::string real(double value) {
  std::string text = fmt::format("{}", value);
  const bool plain = std::isfinite(value) && text.find_first_of(".e") == std::string::npos;
  return plain ? text + ".0" : text;
}

class Writer {
 public:
  Writer(const Program& program, const KernelHeader& header, const Target& target)
      : program_(program), header_(header), target_(target) {}

  std::string label(std::int64_t index) const {
    std::string text = fmt::format("L{}", index);
    for (const auto& [name, at] : program_.labels)
      if (static_cast<std::int64_t>(at) == index) return name;
    while (program_.labels.count(text) != 0) text += '_';
    return text;
  }

  std::string instruction(const Instruction& in, std::size_t operands) const {
    std::string text = mnemonic(in);
    for (std::size_t i = 0; i < operands; ++i) text += (i == 0 ? " " : ", ") + operand(in, i);
    for (std::size_t i = 0; i < in.mod_count; ++i)
      text += fmt::format("{}{}={}", i == 0 ? " {" : ", ", info(in.mods[i].mod).name, modifier(in.mods[i]));
    return in.mod_count == 0 ? text : text + "}";
  }

 private:
  std::string modifier(const ModValue& value) const {
    if (const Enumeration* names = enumeration(value.mod))
      return std::string(names->names[static_cast<std::size_t>(value.value.imm)]);
    if (info(value.mod).kind == ModKind::tile) return tile_name(value.value.imm);
    if (info(value.mod).kind == ModKind::engine)
      return engine_name(target_, static_cast<std::uint8_t>(value.value.imm));
    return value.value.kind == OperandKind::sreg ? fmt::format("s{}", value.value.reg)
                                                 : integer(value.value.imm);
  }

  std::string operand(const Instruction& in, std::size_t index) const {
    const Operand& value = in.operands[index];
    switch (value.kind) {
      case OperandKind::vreg:
        return fmt::format("v{}", value.reg);
      case OperandKind::lane:
        return fmt::format("v{}[{}]", value.reg, value.imm);
      case OperandKind::sreg:
        return fmt::format("s{}", value.reg);
      case OperandKind::fimm:
        return real(std::bit_cast<double>(value.imm));
      case OperandKind::view:
        return view(value);
      case OperandKind::engine:
        return engine_name(target_, value.reg);
      case OperandKind::target:
        return label(value.imm);
      case OperandKind::imm:
        if (info(in.op).format == Format::Region)
          return quoted(program_.strings[static_cast<std::size_t>(value.imm)]);
        return integer(value.imm);
      case OperandKind::none:
        break;
    }
    return {};
  }

  std::string view(const Operand& value) const {
    const bool tensor = value.tensor != kNoTensor && value.tensor < header_.tensors.size();
    std::string inside;
    if (value.reg != kNoRegister) inside = fmt::format("s{}", value.reg);
    if (value.imm != 0)
      inside += inside.empty() ? integer(value.imm)
                               : fmt::format(" {} {}", value.imm < 0 ? '-' : '+',
                                             value.imm < 0 ? -value.imm : value.imm);
    return fmt::format(
        "{}[{}]", tensor ? header_.tensors[value.tensor].name : space_name(target_, value.space), inside);
  }

  const Program& program_;
  const KernelHeader& header_;
  const Target& target_;
};

std::string header_text(const KernelHeader& header) {
  const auto directive = [](Directive which) { return info(which).name; };
  std::string text = fmt::format("{} {}\n", directive(Directive::kernel), header.name);
  for (std::size_t begin = 0; !header.doc.empty() && begin <= header.doc.size();) {
    const std::size_t end = std::min(header.doc.find('\n', begin), header.doc.size());
    text += fmt::format("{} {}\n", directive(Directive::doc), quoted(header.doc.substr(begin, end - begin)));
    begin = end + 1;
  }
  for (const Parameter& p : header.params)
    text += fmt::format("{} {} = {} in {}..{}{}\n", directive(Directive::param), p.name, integer(p.value),
                        integer(p.min), integer(p.max), p.doc.empty() ? "" : " " + quoted(p.doc));
  for (const Tensor& t : header.tensors) {
    std::string shape;
    for (const std::int64_t size : t.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", size);
    text += fmt::format("{} {} {} [{}] {}", directive(Directive::tensor), t.name, name(t.type), shape,
                        name(t.direction));
    if (t.pitch != t.shape.back()) text += fmt::format(" pitch={}", t.pitch);
    text += (t.doc.empty() ? "" : " " + quoted(t.doc)) + "\n";
  }
  if (header.reference.operation.empty()) return text;
  text += fmt::format("{} {}", directive(Directive::reference), header.reference.operation);
  bool first = true;
  for (const auto& [key, value] : header.reference.arguments) {
    const bool number = value[0] == '-' || (value[0] >= '0' && value[0] <= '9');
    text += fmt::format("{}{}={}", first ? " " : ", ", key, number ? "(" + value + ")" : value);
    first = false;
  }
  return text + "\n";
}

std::string program_text(const Program& program, const KernelHeader& header, const Target& target) {
  const Writer writer(program, header, target);
  std::vector<std::vector<std::string>> labels(program.instructions.size() + 1);
  std::vector<unsigned> loop_ends(program.instructions.size() + 1);
  for (const auto& [label, index] : program.labels) labels.at(index).push_back(label);
  for (const Instruction& in : program.instructions) {
    if (in.op == Op::Loop) ++loop_ends.at(static_cast<std::size_t>(in.operands[1].imm));
    for (const Operand& operand : in.operands) {
      if (operand.kind != OperandKind::target || in.op == Op::Loop) continue;
      std::vector<std::string>& here = labels.at(static_cast<std::size_t>(operand.imm));
      if (here.empty()) here.push_back(writer.label(operand.imm));
    }
  }
  std::string text;
  unsigned depth = 1;
  for (std::size_t at = 0; at <= program.instructions.size(); ++at) {
    for (; loop_ends[at] > 0; --loop_ends[at]) text += fmt::format("{:{}}{}\n", "", 2 * --depth, kEndLoop);
    for (const std::string& label : labels[at]) text += label + ":\n";
    if (at == program.instructions.size()) break;
    const Instruction& in = program.instructions[at];
    text += fmt::format("{:{}}{}\n", "", 2 * depth, writer.instruction(in, written_operands(info(in.op))));
    if (in.op == Op::Loop) ++depth;
  }
  return text;
}

}  // namespace

std::string to_text(const Instruction& instruction, const Program& program, const KernelHeader& header,
                    const Target& target) {
  return Writer(program, header, target).instruction(instruction, instruction.operand_count);
}

std::string disassemble(const Kernel& kernel, const Target& target, std::span<const Target> others) {
  std::string text = header_text(kernel.header);
  for (const Program& program : kernel.programs) {
    if (kernel.programs.size() > 1 || !program.core_type.empty() || program.cores != 0)
      text += fmt::format("{}{}{}\n", info(Directive::program).name,
                          program.core_type.empty() ? "" : " core=" + program.core_type,
                          program.cores == 0 ? "" : fmt::format(" cores={}", program.cores));
    text += program_text(program, kernel.header, target_for(program.core_type, target, others));
  }
  return text;
}

}  // namespace npulab::isa
