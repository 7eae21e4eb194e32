// SPDX-License-Identifier: Apache-2.0
// The value loop: one pass over a block, with short ways for the frequent shapes.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "sim/core/meaning.hpp"

namespace npulab::core {

namespace {

struct Values {
  const DecodedProgram& program;
  CoreState& state;
  const memory::LocalBuffer::View buffer;
};

// Sums wrap at 64 bits, as addresses do.
std::uint64_t address(std::int64_t offset, std::uint8_t base_reg, const CoreState& state) {
  const std::int64_t base = base_reg == isa::kNoRegister ? 0 : state.scalars[base_reg];
  return static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(base);
}

void add(std::uint8_t reg, std::int64_t by, CoreState& state) {
  state.scalars[reg] = static_cast<std::int64_t>(address(by, reg, state));
}

inline void copy(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  constexpr std::size_t kUsual = 32;
  if (bytes == kUsual)
    std::memcpy(to, from, kUsual);
  else
    std::memcpy(to, from, bytes);
}

// A contiguous load of a whole operation: the checks in line, the messages elsewhere.
void load_full(const Values& values, std::uint32_t pc, const HotOp& op) {
  CoreState& state = values.state;
  const std::uint64_t offset = address(op.base, op.base_reg, state);
  std::byte* const to = state.vectors.data() + op.dst;
  if (values.buffer.good(offset, op.bytes)) {
    copy(to, values.buffer.data + offset, op.bytes);
  } else {
    const auto place = static_cast<std::int64_t>(offset);
    const std::byte* const from = local_address(values.program, pc, state, op.space, place, op.bytes, false);
    check_written(values.program, pc, state, op.space, place, op.bytes);
    copy(to, from, op.bytes);
  }
  if (op.increment != 0) add(op.base_reg, op.increment, state);
}

void run_one_by_one(const Values& values, const PlanSegment& segment) {
  CoreState& state = values.state;
  std::byte* const vectors = state.vectors.data();
  const HotOp* const hot = values.program.hot.data();
  const std::uint32_t end = segment.first + segment.count;
  for (std::uint32_t pc = segment.first; pc < end; ++pc) {
    const HotOp& op = hot[pc];
    switch (op.shape) {
      case Shape::lanes_full:
        op.lane(vectors + op.dst, vectors + op.a, vectors + op.b, vectors + op.c, op.lanes);
        break;
      case Shape::load_full:
        load_full(values, pc, op);
        break;
      case Shape::general:
        execute(values.program, pc, state);
        break;
    }
  }
}

bool loads_good(const Values& values, const PlanSegment& segment) {
  return std::all_of(segment.loads.begin(), segment.loads.end(), [&values](const LoadRun& run) {
    return values.buffer.good_rows(address(run.first.offset, run.first.base_reg, values.state), run.bytes,
                                   run.rows, run.step);
  });
}

void run_rows(const Values& values, const PlanStep& step) {
  std::byte* const vectors = values.state.vectors.data();
  const auto place = [&](const Site& site) -> const std::byte* {
    if (!site.memory) return vectors + site.offset;
    return values.buffer.data + address(site.offset, site.base_reg, values.state);
  };
  std::byte* const dst = vectors + step.dst.offset;
  const std::byte* const a = place(step.a);
  const auto rows = static_cast<std::ptrdiff_t>(step.steps.rows);
  if (step.lane == nullptr) {
    for (std::ptrdiff_t row = 0; row < rows; ++row)
      copy(dst + row * step.steps.dst, a + row * step.steps.a, step.lanes);
    return;
  }
  const std::byte* const b = place(step.b);
  const std::byte* const c = place(step.c);
  if (step.all_rows != nullptr) {
    step.all_rows(dst, a, b, c, step.lanes, step.steps);
    return;
  }
  for (std::ptrdiff_t row = 0; row < rows; ++row)
    step.lane(dst + row * step.steps.dst, a + row * step.steps.a, b + row * step.steps.b,
              c + row * step.steps.c, step.lanes);
}

// Returns false, and nothing has happened, where something is wrong with a load.
bool run_planned(const Values& values, const PlanSegment& segment) {
  if (segment.steps.empty() || !loads_good(values, segment)) return false;
  for (const std::uint32_t pc : segment.scalars) execute(values.program, pc, values.state);
  for (const PlanStep& step : segment.steps) run_rows(values, step);
  for (const auto& [reg, by] : segment.increments) add(reg, by, values.state);
  return true;
}

}  // namespace

void execute(const DecodedProgram& program, const Block& block, CoreState& state, bool with_values) {
  if (!with_values) {
    for (const std::uint32_t pc : block.bare) execute_bare(program, pc, state);
    return;
  }
  state.note_registers(program, block);
  if (state.sanitize == Sanitize::full) {
    for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc) execute(program, pc, state);
    return;
  }
  const Values values{program, state,
                      state.target.vector_unit ? state.buffer(state.target.vector_space).view()
                                               : memory::LocalBuffer::View{}};
  for (const PlanSegment& segment : block.plan)
    if (!run_planned(values, segment)) run_one_by_one(values, segment);
}

}  // namespace npulab::core
