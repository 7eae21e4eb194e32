// SPDX-License-Identifier: Apache-2.0
// Reads the operands and modifiers of one instruction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isa/check.hpp"
#include "isa/cursor.hpp"
#include "isa/program.hpp"
#include "isa/symbols.hpp"
#include "isa/table.hpp"

namespace npulab::isa {

struct ParsedOperand {
  Operand operand;
  int column = 0;
  std::optional<BufferOrigin> buffer;  // of a view
  std::string label;                   // of OperandKind::target; the index is not known yet
  std::string text;                    // of a string
};

struct ParsedModifier {
  ModValue value;
  int column = 0;
};

// All throw Error(input) placed at the token in question, or Consequence.
class OperandParser {
 public:
  OperandParser(Cursor& cursor, const Symbols& symbols, const Target& target)
      : cursor_(cursor), symbols_(symbols), target_(target) {}

  // `type` is the element type of the slot, DType::none where it holds no elements.
  ParsedOperand operand(const InstructionInfo& row, std::size_t slot, DType type);
  // A register at the cursor: v12, s{i + 1}, an alias, an alias with {i}. The cursor stays when there is
  // none.
  std::optional<RegisterName> register_name();
  std::vector<ParsedModifier> modifiers(
      const InstructionInfo& row);  // sorted; the cursor stands at '{' or the end

 private:
  Operand engine();
  Operand general(ParsedOperand& parsed, DType type, bool takes_float);
  Operand immediate(DType type, bool takes_float);
  std::optional<double> real();
  std::optional<Operand> register_operand();
  Operand view(ParsedOperand& parsed, bool bracketed);
  void view_sum(Operand& view, std::int64_t base);
  bool holds_register() const;
  Operand numbered(RegisterFile file, std::int64_t number, int column) const;
  bool modifier_list_follows(std::size_t ahead) const;

  Cursor& cursor_;
  const Symbols& symbols_;
  const Target& target_;
};

}  // namespace npulab::isa
