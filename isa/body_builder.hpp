// SPDX-License-Identifier: Apache-2.0
// Second half of the assembler: programs, buffers, register names, labels and instructions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "isa/check.hpp"
#include "isa/cursor.hpp"
#include "isa/directives.hpp"
#include "isa/launch.hpp"
#include "isa/operand_parser.hpp"
#include "isa/program_writer.hpp"
#include "isa/symbols.hpp"

namespace npulab::isa {

// The name under which a label stands in the program: local ones keep the number of their expansion.
std::string label_name(std::string_view text);

class BodyBuilder {
 public:
  BodyBuilder(Symbols& symbols, Problems& problems, const KernelHeader& header, const Target& target,
              const AssembleOptions& options, const std::vector<SourceFile>& files)
      : symbols_(symbols),
        problems_(problems),
        header_(header),
        first_(target),
        options_(options),
        files_(files),
        target_(&target) {}

  void directive(Directive directive, Cursor& cursor);  // of Stage::body
  void label(const Token& name, const Cursor& cursor);
  void instruction(Cursor& cursor, const SourcePlace& place);
  void macro_defined(const std::string& name) { macros_.push_back(name); }  // for suggestions
  void context(const std::string& text) { context_ = text; }

  std::vector<Program> finish(const Where& end);  // `end`: of the text
  // Which cores run which program, as far as the text was read without error.
  const std::vector<LaunchPart>& parts() const { return parts_; }

 private:
  struct Place {  // of an instruction in the text
    SourcePlace source;
    int column = 0;
    std::array<int, kMaxOperands> columns{};  // of the operands, 0 where there is none
  };
  struct Allocation {
    std::string name;
    std::int64_t address;
    std::int64_t bytes;
    Where where;
  };
  struct Parsed {
    Instruction instruction;
    std::vector<ParsedOperand> operands;
    std::vector<ParsedModifier> modifiers;
  };

  void program(Cursor& cursor);
  std::uint32_t core_count(Cursor& cursor, const Target& target);
  void add_part(const std::string& core_type, std::uint32_t cores, const Where& where);
  void buffer(Cursor& cursor);
  void alias(Cursor& cursor, Directive directive);
  void finish_program(const Where& end);
  void check_capacity();
  void end_loop(Cursor& cursor);
  Parsed parse(Cursor& cursor, const InstructionInfo& row, const Instruction& typed);
  const InstructionInfo& opcode(const Token& word, Instruction& instruction, Cursor& cursor) const;
  void emit(Parsed& parsed, const Where& mnemonic, const SourcePlace& source);
  Where where(const Place& place, const Part& part) const;  // of a part of the instruction
  void count_instruction(const Cursor& cursor);

  Symbols& symbols_;
  Problems& problems_;
  const KernelHeader& header_;
  const Target& first_;
  const AssembleOptions& options_;
  const std::vector<SourceFile>& files_;  // that SourcePlace::file counts
  const Target* target_;                  // of the current program
  ProgramWriter writer_;
  std::vector<Place> places_;
  std::vector<Where> loop_places_;
  std::vector<std::vector<Allocation>> allocations_;  // by space
  std::vector<Program> programs_;
  std::vector<LaunchWish> wishes_;
  std::vector<LaunchPart> parts_;
  std::vector<std::string> macros_;
  std::string context_;
  std::size_t instructions_ = 0;
  bool explicit_program_ = false;
};

}  // namespace npulab::isa
