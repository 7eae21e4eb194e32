// SPDX-License-Identifier: Apache-2.0
// Instructions, loops and the end of a program, for BodyBuilder.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isa/body_builder.hpp"
#include "isa/syntax.hpp"

namespace npulab::isa {

namespace {

DType slot_type(const Slot& slot, const Instruction& instruction) {
  if (slot.element == SlotType::type) return instruction.type;
  return slot.element == SlotType::type2 ? instruction.type2 : DType::none;
}

std::vector<std::string> mnemonics(std::vector<std::string> names) {
  names.emplace_back(kEndLoop);
  for (const InstructionInfo& row : instructions()) names.emplace_back(row.mnemonic);
  return names;
}

}  // namespace

const InstructionInfo& BodyBuilder::opcode(const Token& word, Instruction& instruction,
                                           Cursor& cursor) const {
  const std::string text = lower_case(spelled(word.text));
  const std::size_t dot = text.find('.');
  const std::string base = text.substr(0, dot);
  const auto op = op_named(base);
  if (!op)
    cursor.fail("unknown-mnemonic",
                fmt::format("unknown instruction '{}'{}", base, suggestion(base, mnemonics(macros_))),
                word.column);
  instruction.op = *op;
  std::size_t begin = dot;
  for (int i = 0; begin != std::string::npos; ++i) {
    const std::size_t end = text.find('.', begin + 1);
    const std::string name = text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    const auto type = dtype_named(name);
    const int column = word.column + static_cast<int>(begin) + 1;
    if (!type || i > 1) {
      std::vector<std::string> known;
      for (const DTypeInfo& row : kDTypes) known.emplace_back(row.name);
      if (i > 1)
        cursor.fail(
            "illegal-type",
            fmt::format("'{}' has too many element types; the form is: {}", text, signature(info(*op))),
            column);
      cursor.fail("unknown-type", fmt::format("unknown element type '{}'{}", name, suggestion(name, known)),
                  column);
    }
    (i == 0 ? instruction.type : instruction.type2) = *type;
    begin = end;
  }
  // The published spelling of matrix instructions has the type first: gemm BF16, M0, N0, K0, A, B, C.
  if (info(*op).family == Family::Matrix && dot == std::string::npos &&
      cursor.peek().kind == TokenKind::identifier && cursor.at(",", 1)) {
    if (const auto type = dtype_named(lower_case(cursor.peek().text))) {
      instruction.type = *type;
      cursor.next();
      cursor.next();
    }
  }
  if (!legal_types(info(*op), instruction.type, instruction.type2)) {
    const std::vector<Finding> findings = check_shape(instruction, 0);
    cursor.fail(findings.front().code, findings.front().message,
                dot == std::string::npos ? word.column : word.column + static_cast<int>(dot) + 1);
  }
  return info(*op);
}

BodyBuilder::Parsed BodyBuilder::parse(Cursor& cursor, const InstructionInfo& row, const Instruction& typed) {
  Parsed parsed;
  parsed.instruction = typed;
  const FormatInfo& format = info(row.format);
  const std::size_t count = written_operands(row);
  OperandParser parser(cursor, symbols_, *target_);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && !cursor.accept(",")) {
      if (cursor.at_end() || cursor.at("{"))
        cursor.fail("operand-count", fmt::format("{} takes {} operands, {} given; the form is: {}",
                                                 row.mnemonic, count, i, signature(row)));
      cursor.fail("syntax", fmt::format("expected ',' instead of {}", described(cursor.peek())));
    }
    parsed.operands.push_back(parser.operand(row, i, slot_type(format.slots[i], typed)));
  }
  if (cursor.at(","))
    cursor.fail("operand-count", fmt::format("{} takes {} operands, more are given; the form is: {}",
                                             row.mnemonic, count, signature(row)));
  parsed.modifiers = parser.modifiers(row);
  if (!cursor.at_end())
    cursor.fail("syntax", fmt::format("{} is too much here; the form is: {}", described(cursor.peek()),
                                      signature(row)));
  return parsed;
}

void BodyBuilder::emit(Parsed& parsed, const Where& mnemonic, const SourcePlace& source) {
  Instruction& instruction = parsed.instruction;
  BufferOrigins origins{};
  Place place{source, mnemonic.column, {}};
  for (ParsedOperand& one : parsed.operands) {
    const std::size_t i = instruction.operand_count++;
    if (info(info(instruction.op).format).slots[i].kinds == kind(OperandKind::imm) &&
        info(instruction.op).format == Format::Region)
      one.operand.imm = writer_.string_index(one.text);
    instruction.operands[i] = one.operand;
    place.columns[i] = one.column;
    if (one.buffer) origins[i] = &*one.buffer;
  }
  const bool loop = instruction.op == Op::Loop;
  if (loop) instruction.operands[instruction.operand_count++].kind = OperandKind::target;
  for (const ParsedModifier& one : parsed.modifiers) instruction.mods[instruction.mod_count++] = one.value;

  std::vector<Finding> findings = check_shape(instruction, writer_.strings());
  if (findings.empty()) findings = check_machine(instruction, header_, *target_, origins);
  for (const Finding& finding : findings) {
    Where place_of = where(place, finding.part);
    if (finding.part.kind == PartKind::modifier)
      place_of.column = parsed.modifiers[finding.part.index].column;
    problems_.add(place_of, finding.code, finding.message + context_);
  }
  const std::size_t at = writer_.append(instruction, source);
  places_.push_back(place);
  if (loop) {
    writer_.open_loop(at);
    loop_places_.push_back(mnemonic);
  }
  for (std::size_t i = 0; i < parsed.operands.size(); ++i)
    if (!parsed.operands[i].label.empty()) writer_.refer(at, i, label_name(parsed.operands[i].label));
}

Where BodyBuilder::where(const Place& place, const Part& part) const {
  const bool operand = part.kind == PartKind::operand && place.columns[part.index] > 0;
  return {files_[place.source.file].name, static_cast<int>(place.source.line),
          operand ? place.columns[part.index] : place.column};
}

void BodyBuilder::end_loop(Cursor& cursor) {
  const Where here = cursor.where();
  cursor.next();
  if (!cursor.at_end()) cursor.fail("operand-count", fmt::format("{} stands alone on its line", kEndLoop));
  if (!writer_.close_loop()) {
    problems_.add(here, "loop-end", fmt::format("{} closes no loop{}", kEndLoop, context_));
    return;
  }
  loop_places_.pop_back();
}

void BodyBuilder::finish_program(const Where& end) {
  for (const Where& where : loop_places_)
    problems_.add(where, "loop-end", fmt::format("the loop has no {}", kEndLoop));
  for (const ProgramWriter::Unresolved& missing : writer_.resolve()) {
    const std::string_view label = missing.label;
    problems_.add(where(places_[missing.instruction], {PartKind::operand, missing.operand}),
                  "undefined-label",
                  fmt::format("undefined label '{}'{}", label, suggestion(label, writer_.label_names())));
  }
  check_capacity();
  if (!explicit_program_) add_part({}, 0, end);
  if (problems_.empty()) {
    for (const Finding& finding : check_flow(writer_.program(), *target_, files_)) {
      const bool placed = finding.instruction < places_.size();
      problems_.add(placed ? where(places_[finding.instruction], finding.part) : end, finding.code,
                    finding.message);
    }
  }
  programs_.push_back(writer_.take());
  writer_ = ProgramWriter();
  places_.clear();
  loop_places_.clear();
  allocations_.clear();
  for (const SymbolKind kind : {SymbolKind::buffer, SymbolKind::scalar_alias, SymbolKind::vector_alias})
    symbols_.erase_kind(kind);
}

std::vector<Program> BodyBuilder::finish(const Where& end) {
  finish_program(end);
  return std::move(programs_);
}

}  // namespace npulab::isa
