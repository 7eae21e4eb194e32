// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one file each.
#pragma once

#include "sim/cli/command.hpp"

namespace npulab::cli {

Command run_command();
Command asm_command();
Command disasm_command();
Command isa_command();
Command machine_command();
Command kernel_command();
Command bench_command();

Command program();  // all of them

}  // namespace npulab::cli
