// SPDX-License-Identifier: Apache-2.0
// Builds kernels in C++: the same instructions, labels and loops as the text form, checked by the same rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/program.hpp"
#include "isa/program_writer.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

Operand vreg(unsigned number);
Operand lane(unsigned number, std::int64_t index);
Operand sreg(unsigned number);
Operand imm(std::int64_t value);
Operand fimm(double value);
Operand view(std::uint8_t space, std::int64_t offset = 0);  // space: index in Target::spaces
Operand view(std::uint8_t space, const Operand& base, std::int64_t offset = 0);  // base: sreg
Operand tensor(std::uint8_t index, std::int64_t offset = 0);                     // of KernelHeader::tensors
Operand tensor(std::uint8_t index, const Operand& base, std::int64_t offset = 0);
Operand engine(std::uint8_t index);  // kAllEngines for all

class Builder {
 public:
  // `target` outlives the builder. Register numbers beyond 254 throw Error(input, register-range).
  Builder(const Target& target, std::string kernel_name, std::string core_type = {}, std::uint32_t cores = 0);

  KernelHeader& header() { return kernel_.header; }

  // Modifiers may come in any order. Errors show when finish() checks the kernel.
  void emit(Op op, DType type, DType type2, std::vector<Operand> operands, std::vector<ModValue> mods = {});
  void emit(Op op, std::vector<Operand> operands = {}, std::vector<ModValue> mods = {});
  void branch(Op op, std::vector<Operand> operands,
              const std::string& label);  // jmp, beq, …; the label may come later
  void label(const std::string& name);    // throws Error(input, duplicate-label)
  void loop(const Operand& count);
  void endloop();  // throws Error(input, loop-end) when no loop is open
  void region(const std::string& name);
  void line(std::uint32_t number) { line_ = number; }            // source line of the instructions to come
  void program(std::string core_type, std::uint32_t cores = 0);  // begins another program

  // The checked kernel; the builder is empty afterwards. Throws Error(input), as check() does and for open
  // loops and undefined labels. `other_core_types` as in AssembleOptions.
  Kernel finish(const std::vector<Target>& other_core_types = {});

 private:
  void close_program();

  const Target& target_;
  Kernel kernel_;
  ProgramWriter writer_;
  std::uint32_t line_ = 0;
};

}  // namespace npulab::isa
