// SPDX-License-Identifier: Apache-2.0
// Small kernels that together feel every number of a machine file: each is written for one machine, from its
// own figures, and then run on machines that differ from it in one key.
#pragma once

#include <string>
#include <vector>

#include "sim/config/machine.hpp"

namespace npulab::test {

struct Probe {
  std::string name;
  std::string text;
  std::uint32_t cores = 0;  // of the launch, as in SimulationOptions
  bool timing_only = false;
};

// The cheapest first.
std::vector<Probe> probes(const config::Machine& machine);

}  // namespace npulab::test
