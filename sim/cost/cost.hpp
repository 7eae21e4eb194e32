// SPDX-License-Identifier: Apache-2.0
// What instructions cost on a machine: pure functions of the machine file and the row's cost class.
#pragma once

#include <cstdint>

#include "isa/table.hpp"
#include "sim/config/machine.hpp"

namespace npulab::cost {

struct Cost {
  std::uint32_t latency;   // cycles from start until the result can be used
  std::uint32_t interval;  // cycles that the port is taken
};

// The cost of a class on a core. Transfer, Sync and Free take one issue slot here; what follows from a copy
// is costed by its DMA path, from a flag or barrier by SyncConfig.
Cost cost(isa::CostClass cost_class, const config::CoreTypeConfig& core);

// Cycles that one UB-form instruction occupies the vector unit: for each repeat the class interval (or, for
// wider work than operation_bits, the cycles that its bytes need) and at least what the banks need.
// `bank_cycles_sum` is the sum over repeats of the cycles that the busiest bank needs.
std::uint64_t ub_cycles(std::uint32_t interval, std::uint64_t repeats, std::uint64_t bank_cycles_sum);

}  // namespace npulab::cost
