// SPDX-License-Identifier: Apache-2.0
// Every rule that an instruction must obey: used by the assembler, the builder and the reader of the binary
// form.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/program.hpp"
#include "isa/symbols.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

enum class PartKind : std::uint8_t { whole, type, operand, modifier };
struct Part {  // of an instruction
  PartKind kind = PartKind::whole;
  std::size_t index = 0;  // of the operand or modifier
};

struct Finding {
  std::size_t instruction = 0;  // index in the program
  Part part;
  std::string code;
  std::string message;
};

// The buffer that a view was written with; only the assembler knows it.
struct BufferOrigin {
  std::string name;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
};
using BufferOrigins = std::array<const BufferOrigin*, kMaxOperands>;

// Rules of the instruction table: legal types, operands that fit their slots, unused fields at rest,
// modifiers sorted and in range. `strings` are the program's. No machine is needed.
std::vector<Finding> check_shape(const Instruction& instruction, std::size_t strings);

// The machine's rules for an instruction that passed check_shape.
std::vector<Finding> check_machine(const Instruction& instruction, const KernelHeader& header,
                                   const Target& target, const BufferOrigins& origins = {});

// Rules of control flow: targets in the program, loops nested within the machine's depth, no jumps into or
// out of loop bodies, an end at the end. `files`: those of the kernel.
std::vector<Finding> check_flow(const Program& program, const Target& target,
                                std::span<const SourceFile> files);

// Throws Error(input) with up to 20 messages, one a line, each with the source line where it is known.
void check(const Kernel& kernel, const Target& target);
void check(const Kernel& kernel, const Target& target, std::span<const Target> other_core_types);

// The target that a program of this core type runs on: the first one for an empty name.
// Throws Error(input, unknown-core-type).
const Target& target_for(const std::string& core_type, const Target& target, std::span<const Target> others);

// The fingerprint of the core types that the programs run on, in their order.
std::string fingerprint_for(const Kernel& kernel, const Target& target, std::span<const Target> others);

// "v128: machine 'x' has 128 vector registers, v0…v127".
std::string no_such_register(RegisterFile file, std::int64_t number, const Target& target);

}  // namespace npulab::isa
