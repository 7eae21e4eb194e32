// SPDX-License-Identifier: Apache-2.0
// The values of a block, planned once: loads go to the operations that consume them, and equal operations in
// a row become one step.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "isa/instruction.hpp"
#include "sim/values/lanes.hpp"

namespace npulab::core {

struct MicroOp;
struct HotOp;

// Where an operand begins.
struct Site {
  bool memory = false;                       // in the vector buffer, else in the register file
  std::uint8_t base_reg = isa::kNoRegister;  // memory
  std::int64_t offset = 0;                   // bytes
};

// Loads of the same size from places that lie equally far apart.
struct LoadRun {
  Site first;
  std::uint32_t bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t step = 0;  // bytes
};

// One lane function on rows, one after the other; or, with no function, loads from a to dst.
struct PlanStep {
  values::LaneFunction lane = nullptr;
  values::RowsFunction all_rows = nullptr;
  std::uint32_t lanes = 0;  // bytes of a load
  values::RowSteps steps;
  Site dst, a, b, c;  // of the first row
};

// A stretch of a block. Where it has steps they do what its operations do one by one, provided that every
// load is of bytes that are there and written: otherwise, and without steps, the operations themselves run.
struct PlanSegment {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::vector<std::uint32_t> scalars;  // operations on scalar registers alone: before the steps
  std::vector<LoadRun> loads;          // all of them, with the registers as they are before the steps
  std::vector<PlanStep> steps;
  std::vector<std::pair<std::uint8_t, std::int64_t>> increments;  // of base registers: after the steps
};

// Plans the operations [first, first + count) of a program.
std::vector<PlanSegment> plan_values(std::span<const MicroOp> ops, std::span<const HotOp> hot,
                                     std::uint32_t first, std::uint32_t count, std::uint32_t register_bytes);

}  // namespace npulab::core
