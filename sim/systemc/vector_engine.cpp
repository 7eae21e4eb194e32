// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/vector_engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/cost/cost.hpp"

namespace npulab::systemc {

namespace {

// Results older than this many operations are long ready.
constexpr std::size_t kRememberedResults = 32;
constexpr std::uint8_t kVectorEngine = isa::kVectorEngineIndex;

struct Span {
  std::int64_t first;
  std::int64_t end;
};

Span span_of(const core::UbOperand& operand, std::uint64_t repeats) {
  return {operand.offset, operand.offset + static_cast<std::int64_t>(operand.reach(repeats))};
}

}  // namespace

VectorEngine::VectorEngine(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit)
    : Process(name, session, unit.clock), unit_(unit), issue_(*unit.shared.core) {}

void VectorEngine::reset(std::uint64_t cycle) {
  queue_.clear();
  results_.clear();
  semaphore_.reset();
  issue_.reset(cycle);
  free_ = accounted_ = finished_ = cycle;
  cycles_ = {};
  read_bytes_ = written_bytes_ = 0;
}

void VectorEngine::push(QueueEntry entry) {
  const std::uint64_t cycle = entry.cycle;
  queue_.push_back(std::move(entry));
  if (queue_.size() == 1) wake_at(cycle);
}

void VectorEngine::pop(std::uint64_t cycle) {
  const bool was_full = !has_room();
  queue_.pop_front();
  if (was_full) unit_.queue_has_room(kVectorEngine, cycle);
}

void VectorEngine::step() {
  while (!queue_.empty() && take()) {
  }
  if (!queue_.empty()) return;
  if (reached(finished_))
    unit_.engine_drained();
  else
    wake_at(finished_);
}

void VectorEngine::account(std::uint64_t to, report::Stall cause, std::uint64_t since) {
  since = std::clamp(since, accounted_, std::max(accounted_, to));
  if (to > since) cycles_[cause] += to - since;
  accounted_ = std::max(accounted_, to);
}

bool VectorEngine::take() {
  QueueEntry& entry = queue_.front();
  const std::uint64_t start = std::max(entry.cycle, free_);
  if (!reached(start)) {
    wake_at(start);
    return false;
  }
  unit_.begin(entry, kVectorEngine, clock.ps(start));
  if (entry.kind != QueueEntry::Kind::vector) return sync_entry(entry);
  run(entry);
  return true;
}

bool VectorEngine::sync_entry(QueueEntry& entry) {
  const std::uint64_t since = std::max(entry.cycle, free_);
  switch (entry.kind) {
    case QueueEntry::Kind::set:
      unit_.publish(entry.flag, std::max(since, finished_) + unit_.shared.core->sync.flag_latency_cycles,
                    entry.pc, unit_.done_so_far(kVectorEngine));
      pop(since);
      return true;
    case QueueEntry::Kind::wait: {
      const auto set = unit_.flags.peek(entry.flag);
      if (!set) return false;
      const std::uint64_t cycle = std::max(since, *set);
      if (!reached(cycle)) {
        wake_at(cycle);
        return false;
      }
      unit_.take(entry.flag, cycle);
      waited(cycle, since);
      return true;
    }
    case QueueEntry::Kind::release:
      unit_.release(entry.semaphore, entry.by, std::max(since, finished_), kVectorEngine,
                    unit_.shared.program->where(entry.pc), unit_.done_so_far(kVectorEngine));
      pop(since);
      return true;
    case QueueEntry::Kind::acquire:
      return acquire(entry, since);
    case QueueEntry::Kind::barrier:
      free_ = std::max(since, finished_);
      account(free_, report::Stall::barrier, since);
      pop(free_);
      return true;
    case QueueEntry::Kind::copy:
    case QueueEntry::Kind::vector:
    case QueueEntry::Kind::matrix:
      break;
  }
  throw Error(Category::internal, "wrong-queue", "a copy or product came to the vector unit");
}

void VectorEngine::waited(std::uint64_t cycle, std::uint64_t since) {
  account(cycle, report::Stall::flag, since);
  free_ = cycle;
  finished_ = std::max(finished_, cycle);
  pop(cycle);
}

bool VectorEngine::acquire(const QueueEntry& entry, std::uint64_t since) {
  const auto cycle = unit_.acquired(semaphore_, entry, since, kVectorEngine);
  if (!cycle) return false;
  if (!reached(*cycle)) {
    wake_at(*cycle);
    return false;
  }
  unit_.acquire(semaphore_, entry, kVectorEngine);
  waited(*cycle, since);
  return true;
}

void VectorEngine::run(QueueEntry& entry) {
  if (unit_.state.target.form == isa::OperandForm::ub)
    run_ub(entry);
  else
    run_registers(entry);
}

void VectorEngine::run_registers(QueueEntry& entry) {
  const core::MicroOp& op = *entry.op;
  const std::uint64_t since = std::max(entry.cycle, free_);
  issue_.wait_until(since, report::Stall::flag);
  const std::uint32_t extra = core::bank_delay(op, unit_.state);
  const std::uint64_t start = issue_.issue(op.unit_timing, extra);
  account(start, extra != 0 ? report::Stall::bank_conflict : report::Stall::dependency, since);
  if (accounted_ == start) {
    ++cycles_.busy;
    accounted_ = start + 1;
  }
  if (unit_.shared.values) {
    unit_.state.note_registers(*unit_.shared.program, entry.pc);
    core::execute(*unit_.shared.program, entry.pc, op, unit_.state);
  } else if (op.has(isa::Mod::n) || op.has(isa::Mod::mask)) {
    core::count_flops(op, unit_.state, op.lanes);
  }
  if (!op.has(isa::Mod::n) && !op.has(isa::Mod::mask))
    unit_.state.flops += std::uint64_t{op.flops_per_lane} * op.lanes;
  free_ = start;
  finished_ = std::max(finished_, issue_.finished());
  pop(start);
}

std::uint64_t VectorEngine::operands_ready(const core::UbAccess& access) const {
  std::uint64_t ready = 0;
  const std::array<const core::UbOperand*, 4> operands{&access.dst, &access.a, &access.b, &access.c};
  for (const core::UbOperand* operand : operands) {
    if (!operand->used) continue;
    const Span span = span_of(*operand, access.repeats);
    for (const Result& result : results_)
      if (span.first < result.end && result.first < span.end) ready = std::max(ready, result.ready);
  }
  return ready;
}

void VectorEngine::run_ub(QueueEntry& entry) {
  const core::MicroOp& op = *entry.op;
  const core::UbAccess access = core::ub_access(op, unit_.state);
  const std::uint64_t since = std::max(entry.cycle, free_);
  if (!access.dst.used || access.repeats == 0) {
    pop(since);
    return;
  }
  core::check_ub(*unit_.shared.program, entry.pc, unit_.state, access);
  const std::uint64_t start = std::max(since, operands_ready(access));
  account(start, report::Stall::dependency, since);
  const std::uint64_t least = op.unit_timing.interval * access.repeats;
  const std::uint64_t taken =
      cost::ub_cycles(op.unit_timing.interval, access.repeats, core::ub_bank_cycles(access, unit_.state));
  cycles_.busy += least;
  cycles_[report::Stall::bank_conflict] += taken - least;
  accounted_ = start + taken;
  free_ = start + taken;
  const std::uint64_t ready = start + taken - 1 + op.unit_timing.latency;
  finished_ = std::max(finished_, ready);
  const Span written = span_of(access.dst, access.repeats);
  results_.push_back({written.first, written.end, ready});
  if (results_.size() > kRememberedResults) results_.pop_front();
  for (const core::UbOperand* operand : {&access.a, &access.b, &access.c})
    if (operand->used) read_bytes_ += operand->bytes * access.repeats;
  written_bytes_ += access.dst.bytes * access.repeats;
  unit_.state.flops += std::uint64_t{op.flops_per_lane} * access.lanes * access.repeats;
  if (unit_.shared.values) core::execute_ub(*unit_.shared.program, entry.pc, op, unit_.state, access);
  pop(start);
}

std::optional<Standing> VectorEngine::standing() const {
  if (queue_.empty()) return std::nullopt;
  return standing_of(queue_.front(), queue_.size());
}

std::vector<const QueueEntry*> VectorEngine::pending() const {
  std::vector<const QueueEntry*> entries;
  for (const QueueEntry& entry : queue_) entries.push_back(&entry);
  return entries;
}

}  // namespace npulab::systemc
