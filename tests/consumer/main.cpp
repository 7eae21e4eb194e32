// SPDX-License-Identifier: Apache-2.0
// Loads an installed machine by name and assembles a kernel for it, through nothing but the installed
// package.
#include <fmt/core.h>

#include "isa/assembler.hpp"
#include "isa/error.hpp"
#include "sim/config/load.hpp"
#include "sim/config/machine.hpp"

int main() try {
  npulab::config::LoadOptions options;
  options.search = {NPULAB_MACHINES};
  const npulab::config::Machine machine = npulab::config::load_machine("tiny", options);
  const npulab::isa::Target target = npulab::config::make_target(machine);
  const npulab::isa::Source source{"consumer.npu",
                                   ".kernel consumer\n"
                                   "  mov s0, 64\n"
                                   "  end\n"};
  const npulab::isa::Kernel kernel = npulab::isa::assemble(source, target);
  fmt::print("{} instructions\n", kernel.programs.front().instructions.size());
  return kernel.programs.front().instructions.size() == 2 ? 0 : 1;
} catch (const npulab::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
