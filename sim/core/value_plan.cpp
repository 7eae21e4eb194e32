// SPDX-License-Identifier: Apache-2.0
// Within a segment no operation stores to the vector buffer, so what a load brings stays where it came from:
// whoever reads exactly those registers reads the buffer instead, and the registers are filled at the end, if
// they still hold the load's value then.
#include "sim/core/value_plan.hpp"

#include <algorithm>
#include <array>

#include "sim/core/micro_op.hpp"

namespace npulab::core {

namespace {

constexpr int kNone = -1;
constexpr std::size_t kMostSources = 3;
constexpr std::size_t kFewest = 4;  // vector operations that are worth a plan

ScalarSet bit(std::uint8_t reg) {
  return reg == isa::kNoRegister ? 0 : ScalarSet{1} << reg;
}

class SegmentPlanner {
 public:
  SegmentPlanner(std::span<const MicroOp> ops, std::span<const HotOp> hot, std::uint32_t register_bytes,
                 std::uint32_t first)
      : ops_(ops), hot_(hot), register_bytes_(register_bytes), first_(first), end_(first) {}

  // Takes the next operation into the segment; false: it does not fit.
  bool take();
  PlanSegment plan();

 private:
  enum class Kind : std::uint8_t { lanes, load, scalar };
  struct Loaded {
    std::uint32_t pc;
    bool in_order = false;  // the registers must hold it where it stands
    bool at_end = false;    // they must hold it at the end
  };
  struct Vector {
    std::uint32_t pc;
    int load = kNone;  // of a load: its number
    std::array<int, kMostSources> from{kNone, kNone,
                                       kNone};  // of lanes: the loads that the sources come from
  };

  void trace();
  void trace_lanes(Vector& lanes);
  void settle_at_end();
  bool whole(int load, const RegisterRange& range) const;
  void need_in_order(const RegisterRange& range);
  void define(const RegisterRange& range, int load);
  PlanStep load_step(std::uint32_t pc) const;
  PlanStep lanes_step(const Vector& lanes, std::span<const PlanStep> loads) const;

  std::span<const MicroOp> ops_;
  std::span<const HotOp> hot_;
  std::uint32_t register_bytes_;
  std::uint32_t first_, end_;
  ScalarSet bases_ = 0, incremented_ = 0, scalars_written_ = 0;
  std::vector<std::uint32_t> scalars_;
  std::vector<Vector> vectors_;
  std::vector<Loaded> loaded_;
  std::array<int, kMostVectorRegisters> holds_{};                // by register: the load whose value it holds
  std::array<std::int64_t, kMostScalarRegisters> increments_{};  // so far
};

bool SegmentPlanner::take() {
  const MicroOp& op = ops_[end_];
  const HotOp& hot = hot_[end_];
  if (op.shape == Shape::lanes_full) {
    vectors_.push_back({end_});
  } else if (op.shape == Shape::load_full) {
    if ((bit(hot.base_reg) & scalars_written_) != 0) return false;
    bases_ |= bit(hot.base_reg);
    if (hot.increment != 0) incremented_ |= bit(hot.base_reg);
    vectors_.push_back({end_, static_cast<int>(loaded_.size())});
    loaded_.push_back({end_});
  } else if (op.family == isa::Family::Scalar) {
    if ((bit(op.timing.scalar_write) & bases_) != 0) return false;
    for (std::size_t i = 0; i < op.timing.scalar_read_count; ++i)
      if ((bit(op.timing.scalar_reads[i]) & incremented_) != 0) return false;
    scalars_written_ |= bit(op.timing.scalar_write);
    scalars_.push_back(end_);
  } else {
    return false;
  }
  ++end_;
  return true;
}

void SegmentPlanner::define(const RegisterRange& range, int load) {
  std::fill_n(holds_.begin() + range.first, range.count, load);
}

void SegmentPlanner::need_in_order(const RegisterRange& range) {
  for (std::size_t reg = range.first; reg < std::size_t{range.first} + range.count; ++reg)
    if (holds_[reg] != kNone) loaded_[static_cast<std::size_t>(holds_[reg])].in_order = true;
}

// Whether the range holds exactly what this load brought.
bool SegmentPlanner::whole(int load, const RegisterRange& range) const {
  if (load == kNone) return false;
  const std::uint32_t pc = loaded_[static_cast<std::size_t>(load)].pc;
  const RegisterRange& written = ops_[pc].timing.write;
  const auto first = holds_.begin() + range.first;
  return written.first == range.first && written.count == range.count &&
         hot_[pc].bytes == range.count * register_bytes_ &&
         std::all_of(first, first + range.count, [load](int held) { return held == load; });
}

void SegmentPlanner::trace_lanes(Vector& lanes) {
  const Timing& timing = ops_[lanes.pc].timing;
  const std::size_t sources = isa::info(ops_[lanes.pc].format).slots.size() - 1;
  const std::size_t others = timing.read_count - sources;  // dst, where it is read, comes first
  for (std::size_t i = 0; i < timing.read_count; ++i) {
    const RegisterRange& range = timing.reads[i];
    const int load = holds_[range.first];
    if (i >= others && whole(load, range))
      lanes.from[i - others] = load;
    else
      need_in_order(range);
  }
  define(timing.write, kNone);
}

void SegmentPlanner::settle_at_end() {
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    const RegisterRange& range = ops_[loaded_[i].pc].timing.write;
    const auto first = holds_.begin() + range.first;
    const auto held = std::count(first, first + range.count, static_cast<int>(i));
    const bool all = held == range.count;
    if (held > 0 && !all) loaded_[i].in_order = true;
    loaded_[i].at_end = all && !loaded_[i].in_order;
  }
}

void SegmentPlanner::trace() {
  holds_.fill(kNone);
  for (Vector& vector : vectors_) {
    if (vector.load == kNone)
      trace_lanes(vector);
    else
      define(ops_[vector.pc].timing.write, vector.load);
  }
  settle_at_end();
}

PlanStep SegmentPlanner::load_step(std::uint32_t pc) const {
  const HotOp& hot = hot_[pc];
  PlanStep step;
  step.lanes = hot.bytes;
  step.dst.offset = hot.dst;
  step.a = {true, hot.base_reg, hot.base};
  if (hot.base_reg != isa::kNoRegister) step.a.offset += increments_[hot.base_reg];
  return step;
}

PlanStep SegmentPlanner::lanes_step(const Vector& lanes, std::span<const PlanStep> loads) const {
  const HotOp& hot = hot_[lanes.pc];
  PlanStep step;
  step.lane = hot.lane;
  step.all_rows = ops_[lanes.pc].rows;
  step.lanes = hot.lanes;
  const auto source = [&](std::size_t i, std::uint32_t in_registers) {
    if (lanes.from[i] != kNone) return loads[static_cast<std::size_t>(lanes.from[i])].a;
    Site site;
    site.offset = in_registers;
    return site;
  };
  step.dst.offset = hot.dst;
  step.a = source(0, hot.a);
  step.b = source(1, hot.b);
  step.c = source(2, hot.c);
  return step;
}

// Makes `next` one more row of `group`, if it is where the next row would be.
bool extend(PlanStep& group, const PlanStep& next) {
  if (group.lane != next.lane || group.lanes != next.lanes) return false;
  struct Side {
    Site PlanStep::*operand;
    std::ptrdiff_t values::RowSteps::*step;
  };
  constexpr std::array<Side, 4> kSides{{{&PlanStep::dst, &values::RowSteps::dst},
                                        {&PlanStep::a, &values::RowSteps::a},
                                        {&PlanStep::b, &values::RowSteps::b},
                                        {&PlanStep::c, &values::RowSteps::c}}};
  values::RowSteps longer = group.steps;
  for (const Side& side : kSides) {
    const Site& first = group.*side.operand;
    const Site& added = next.*side.operand;
    std::ptrdiff_t& step = longer.*side.step;
    if (group.steps.rows == 1) step = added.offset - first.offset;
    const auto rows = static_cast<std::ptrdiff_t>(group.steps.rows);
    if (added.memory != first.memory || added.base_reg != first.base_reg ||
        added.offset != first.offset + step * rows)
      return false;
  }
  ++longer.rows;
  group.steps = longer;
  return true;
}

// Adds a load to a run that it goes on, or as a run of its own.
void add_load(std::vector<LoadRun>& runs, const PlanStep& load) {
  for (LoadRun& run : runs) {
    if (run.first.base_reg != load.a.base_reg || run.bytes != load.lanes) continue;
    const auto apart =
        static_cast<std::uint64_t>(load.a.offset) - static_cast<std::uint64_t>(run.first.offset);
    constexpr std::uint64_t kMost = 1U << 30U;
    if (apart == 0) return;
    if (apart > kMost || (run.rows > 1 && apart != run.step * run.rows)) continue;
    run.step = run.rows == 1 ? apart : run.step;
    ++run.rows;
    return;
  }
  runs.push_back({load.a, load.lanes});
}

PlanSegment SegmentPlanner::plan() {
  PlanSegment segment;
  segment.first = first_;
  segment.count = end_ - first_;
  if (vectors_.size() < kFewest) return segment;
  trace();
  segment.scalars = scalars_;
  std::vector<PlanStep> loads;
  const auto add = [&steps = segment.steps](const PlanStep& step) {
    if (steps.empty() || !extend(steps.back(), step)) steps.push_back(step);
  };
  for (const Vector& vector : vectors_) {
    if (vector.load == kNone) {
      add(lanes_step(vector, loads));
      continue;
    }
    const HotOp& hot = hot_[vector.pc];
    loads.push_back(load_step(vector.pc));
    add_load(segment.loads, loads.back());
    if (hot.increment != 0) increments_[hot.base_reg] += hot.increment;
    if (loaded_[static_cast<std::size_t>(vector.load)].in_order) add(loads.back());
  }
  for (std::size_t i = 0; i < loads.size(); ++i)
    if (loaded_[i].at_end) add(loads[i]);
  for (std::size_t reg = 0; reg < increments_.size(); ++reg)
    if (increments_[reg] != 0) segment.increments.emplace_back(reg, increments_[reg]);
  return segment;
}

}  // namespace

std::vector<PlanSegment> plan_values(std::span<const MicroOp> ops, std::span<const HotOp> hot,
                                     std::uint32_t first, std::uint32_t count, std::uint32_t register_bytes) {
  std::vector<PlanSegment> segments;
  const auto add = [&segments](PlanSegment segment) {
    const bool plain = segment.steps.empty();
    if (plain && !segments.empty() && segments.back().steps.empty())
      segments.back().count += segment.count;
    else
      segments.push_back(std::move(segment));
  };
  for (std::uint32_t pc = first; pc < first + count;) {
    SegmentPlanner planner(ops.first(first + count), hot, register_bytes, pc);
    while (pc < first + count && planner.take()) ++pc;
    PlanSegment segment = planner.plan();
    if (segment.count == 0) {
      segment.count = 1;
      ++pc;
    }
    add(std::move(segment));
  }
  return segments;
}

}  // namespace npulab::core
