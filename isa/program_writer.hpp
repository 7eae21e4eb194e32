// SPDX-License-Identifier: Apache-2.0
// Builds one program: labels, jumps to labels that come later, loops. Shared by the assembler and the C++
// builder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.hpp"

namespace npulab::isa {

class ProgramWriter {
 public:
  struct Unresolved {  // a jump to a label that was never defined
    std::size_t instruction;
    std::size_t operand;
    std::string label;
  };

  explicit ProgramWriter(std::string core_type = {}, std::uint32_t cores = 0) {
    program_.core_type = std::move(core_type);
    program_.cores = cores;
  }

  std::size_t size() const { return program_.instructions.size(); }
  std::size_t strings() const { return program_.strings.size(); }
  bool empty() const { return program_.instructions.empty() && program_.labels.empty(); }
  const Program& program() const { return program_; }

  std::size_t append(const Instruction& instruction, const SourcePlace& place);
  bool define_label(const std::string& name);  // at the next instruction; false when it exists
  void refer(std::size_t instruction, std::size_t operand, const std::string& label);
  std::int64_t string_index(const std::string& text);

  void open_loop(std::size_t instruction) { open_loops_.push_back(instruction); }
  bool close_loop();                             // false when none is open
  std::optional<std::size_t> open_loop() const;  // the innermost one

  std::vector<std::string> label_names() const;
  std::vector<Unresolved> resolve();  // fills in the targets
  Program take() { return std::move(program_); }

 private:
  struct Reference {
    std::size_t instruction;
    std::size_t operand;
    std::string label;
  };
  Program program_;
  std::vector<Reference> references_;
  std::vector<std::size_t> open_loops_;
  std::map<std::string, std::int64_t> strings_;
};

}  // namespace npulab::isa
