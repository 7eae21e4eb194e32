// SPDX-License-Identifier: Apache-2.0
// How instructions and their operands are called in text, messages and documentation.
#pragma once

#include <string>
#include <string_view>

#include "isa/instruction.hpp"
#include "isa/table.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

inline constexpr std::string_view kEndLoop = "endloop";  // closes loop; it is no instruction of its own
inline constexpr std::string_view kAllEnginesName = "all";

// Operands that stand in the text: all but the end of a loop, which endloop gives.
std::size_t written_operands(const InstructionInfo& row);

std::string mnemonic(const Instruction& instruction);  // "vcvt.f32.f16"
std::string signature(const InstructionInfo& row);     // "vfmaw.TYPE.TYPE2 dst, a, b {n, mask, …}"
std::string described(KindSet kinds);                  // "a scalar register or an integer"
std::string type_list(DTypeSet types);                 // "f32, f16"
std::string engine_name(const Target& target, std::uint8_t engine);
std::string space_name(const Target& target, std::uint8_t space);

// What vfma and the like take on this machine where the table allows both registers and views.
KindSet accepted(const Slot& slot, OperandForm form);

}  // namespace npulab::isa
