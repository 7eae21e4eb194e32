// SPDX-License-Identifier: Apache-2.0
#include "isa/program_writer.hpp"

#include <utility>

namespace npulab::isa {

std::size_t ProgramWriter::append(const Instruction& instruction, const SourcePlace& place) {
  program_.instructions.push_back(instruction);
  program_.places.push_back(place);
  return program_.instructions.size() - 1;
}

bool ProgramWriter::define_label(const std::string& name) {
  return program_.labels.emplace(name, static_cast<std::uint32_t>(size())).second;
}

void ProgramWriter::refer(std::size_t instruction, std::size_t operand, const std::string& label) {
  references_.push_back({instruction, operand, label});
}

std::int64_t ProgramWriter::string_index(const std::string& text) {
  const auto [it, fresh] = strings_.emplace(text, static_cast<std::int64_t>(program_.strings.size()));
  if (fresh) program_.strings.push_back(text);
  return it->second;
}

bool ProgramWriter::close_loop() {
  if (open_loops_.empty()) return false;
  program_.instructions[open_loops_.back()].operands[1].imm = static_cast<std::int64_t>(size());
  open_loops_.pop_back();
  return true;
}

std::optional<std::size_t> ProgramWriter::open_loop() const {
  if (open_loops_.empty()) return std::nullopt;
  return open_loops_.back();
}

std::vector<std::string> ProgramWriter::label_names() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : program_.labels) names.push_back(name);
  return names;
}

std::vector<ProgramWriter::Unresolved> ProgramWriter::resolve() {
  std::vector<Unresolved> missing;
  for (const Reference& reference : references_) {
    const auto label = program_.labels.find(reference.label);
    if (label == program_.labels.end())
      missing.push_back({reference.instruction, reference.operand, reference.label});
    else
      program_.instructions[reference.instruction].operands[reference.operand].imm = label->second;
  }
  references_.clear();
  return missing;
}

}  // namespace npulab::isa
