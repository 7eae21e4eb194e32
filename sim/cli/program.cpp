// SPDX-License-Identifier: Apache-2.0
// The table of commands.
#include "sim/cli/commands.hpp"
#include "sim/cli/host.hpp"

namespace npulab::cli {

Command program() {
  Command command;
  command.name = kProgramName;
  command.help =
      "npulab simulates kernels on neural processing units: it computes a kernel's values and its time, and "
      "says\n"
      "what bounded it. 'npulab COMMAND --help' shows each command with examples.\n"
      "\n"
      "Exit status: 0 good; 1 the verdict is bad (mismatch, finding, regression); 2 the input was refused;\n"
      "3 the simulated program stalled; 4 an internal error; 130 interrupted.";
  command.examples =
      "  npulab kernel list                                        what can be run\n"
      "  npulab run gemv/register_blocked -D M=1024 -D K=1024 --check\n"
      "  npulab run mine.npu --machine tiny --json report.json\n"
      "\n"
      "NPULAB_DATA=FOLDER names another folder with configs/ and kernels/; NO_COLOR=1 turns colours off.";
  command.commands = {run_command(),     asm_command(),    disasm_command(), isa_command(),
                      machine_command(), kernel_command(), bench_command()};
  return command;
}

}  // namespace npulab::cli
