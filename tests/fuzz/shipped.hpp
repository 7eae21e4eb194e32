// SPDX-License-Identifier: Apache-2.0
// The shipped machines and kernels, read once for all inputs of a run.
#pragma once

#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "isa/target.hpp"
#include "sim/config/machine.hpp"

namespace npulab::test {

struct ShippedMachine {
  std::string text;  // of its file
  config::Machine machine;
  isa::Target target;
  std::vector<isa::Target> others;
};

struct Shipped {
  std::vector<ShippedMachine> machines;  // in the order of their names
  std::vector<isa::Source> kernels;
  std::vector<isa::Source> included;  // what kernels may include, by the name of the file
};

const Shipped& shipped();

// The machine that an input is tried on: every one has its turn.
const ShippedMachine& machine_for(std::size_t size);

// .include finds the shipped files by the last part of the name, and nothing else on the disk.
isa::AssembleOptions closed_options(const ShippedMachine& machine);

}  // namespace npulab::test
