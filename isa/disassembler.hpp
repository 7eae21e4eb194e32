// SPDX-License-Identifier: Apache-2.0
// Instructions and kernels as text that the assembler reads.
#pragma once

#include <span>
#include <string>

#include "isa/program.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

// One instruction, without its line break. Targets without a label are called L<index>; so is the end of a
// loop, which only disassemble() writes as endloop.
std::string to_text(const Instruction& instruction, const Program& program, const KernelHeader& header,
                    const Target& target);

// The whole kernel. It assembles to equal programs on this target; the values of the parameters become the
// defaults.
// `others`: further core types of the machine, for kernels whose programs run on several.
std::string disassemble(const Kernel& kernel, const Target& target, std::span<const Target> others = {});

}  // namespace npulab::isa
