// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/matrix_engine.hpp"
#include "sim/config/names.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace npulab::systemc {

MatrixEngine::MatrixEngine(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit,
                           std::uint8_t engine)
    : Process(name, session, core::Clock(config::matrix_hz(*unit.shared.core))),
      unit_(unit),
      config_(unit.shared.core->matrix),
      engine_(engine),
      timer_(config_) {}

void MatrixEngine::reset(std::uint64_t cycle) {
  queue_.clear();
  last_.reset();
  semaphore_.reset();
  finished_ = cycle;
  free_ = done_ = accounted_ = start_ = own(cycle);
  timer_.reset(free_);
  cycles_ = {};
  stats_ = {};
}

void MatrixEngine::push(QueueEntry entry) {
  const std::uint64_t cycle = entry.cycle;
  queue_.push_back(std::move(entry));
  if (queue_.size() == 1) wake_at(own(cycle));
}

void MatrixEngine::pop(std::uint64_t core_cycle) {
  const bool was_full = !has_room();
  queue_.pop_front();
  if (was_full) unit_.queue_has_room(engine_, core_cycle);
}

void MatrixEngine::step() {
  while (!queue_.empty() && take()) {
  }
  if (!queue_.empty()) return;
  if (drained())
    unit_.engine_drained();
  else
    wake_at_ps(unit_.clock.ps(finished_));
}

void MatrixEngine::account(std::uint64_t to, report::Stall cause, std::uint64_t since) {
  if (to <= accounted_) return;
  const std::uint64_t pipeline = std::min(std::max(accounted_, done_), to);
  cycles_[report::Stall::latency] += pipeline - accounted_;
  const std::uint64_t from = std::clamp(since, pipeline, to);
  cycles_[cause] += to - from;
  accounted_ = to;
}

bool MatrixEngine::take() {
  QueueEntry& entry = queue_.front();
  const std::uint64_t start = std::max(own(entry.cycle), free_);
  if (!reached(start)) {
    wake_at(start);
    return false;
  }
  unit_.begin(entry, engine_, clock.ps(start));
  if (entry.kind != QueueEntry::Kind::matrix) return sync_entry(entry);
  run(entry);
  return true;
}

bool MatrixEngine::sync_entry(QueueEntry& entry) {
  const std::uint64_t since = std::max(own(entry.cycle), free_);
  switch (entry.kind) {
    case QueueEntry::Kind::set:
      unit_.publish(
          entry.flag,
          std::max(core(since), entry.operands ? 0 : finished_) + unit_.shared.core->sync.flag_latency_cycles,
          entry.pc, unit_.done_so_far(engine_, entry.operands));
      pop(core(since));
      return true;
    case QueueEntry::Kind::wait: {
      const core::FlagId flag = entry.flag;
      if (!wait_until(unit_.flags.peek(flag), since)) return false;
      unit_.take(flag, core(free_));
      return true;
    }
    case QueueEntry::Kind::release:
      unit_.release(entry.semaphore, entry.by, std::max(core(since), finished_), engine_,
                    unit_.shared.program->where(entry.pc), unit_.done_so_far(engine_));
      pop(core(since));
      return true;
    case QueueEntry::Kind::acquire: {
      const auto cycle = unit_.acquired(semaphore_, entry, core(since), engine_);
      if (!cycle || !reached(std::max(since, own(*cycle)))) return wait_until(cycle, since);
      unit_.acquire(semaphore_, entry, engine_);
      return wait_until(cycle, since);
    }
    case QueueEntry::Kind::barrier:
      free_ = std::max(since, done_);
      account(free_, report::Stall::barrier, since);
      pop(core(free_));
      return true;
    case QueueEntry::Kind::copy:
    case QueueEntry::Kind::vector:
    case QueueEntry::Kind::matrix:
      break;
  }
  throw Error(Category::internal, "wrong-queue", "an operation of another engine came to the matrix unit");
}

bool MatrixEngine::wait_until(std::optional<std::uint64_t> core_cycle, std::uint64_t since) {
  if (!core_cycle) return false;
  const std::uint64_t cycle = std::max(since, own(*core_cycle));
  if (!reached(cycle)) {
    wake_at(cycle);
    return false;
  }
  account(cycle, report::Stall::flag, since);
  free_ = cycle;
  finished_ = std::max(finished_, core(cycle));
  pop(core(cycle));
  return true;
}

// Sums that stay in the array go on in the next product, or they are lost.
void MatrixEngine::check_held(const core::MatrixProduct& product) const {
  if (!timer_.holds_sums() || unit_.shared.sanitize == core::Sanitize::off) return;
  if (product.accumulate && last_ && core::same_sums(product, *last_)) return;
  unit_.shared.diagnostics->add(
      core::Severity::error, "sums-lost",
      fmt::format("the product on core {} does not add to the sums that the one of {} left in the array "
                  "(hold=1): they are lost",
                  unit_.state.id, to_string(unit_.shared.program->where(last_->pc))),
      unit_.shared.program->where(product.pc), unit_.state.id);
}

void MatrixEngine::run(QueueEntry& entry) {
  const core::MatrixProduct& product = *entry.product;
  const std::uint64_t since = std::max(own(entry.cycle), free_);
  check_held(product);
  const bool held = timer_.holds_sums();
  cost::MatrixWork work = core::work_of(product, config_, unit_.state);
  work.same_sums = last_ && core::same_sums(product, *last_);
  const cost::MatrixTimes times = timer_.run(work, since);
  account(times.start, report::Stall::dependency, since);
  const std::uint64_t taken = times.free - times.start;
  cycles_.busy += times.busy;
  cycles_[report::Stall::dependency] += taken - std::min(taken, times.busy);
  accounted_ = std::max(accounted_, times.free);
  count(product, work, times);
  if (unit_.shared.values)
    stats_.wrapped_sums += core::execute_product(product, *unit_.shared.program, unit_.state, held);
  free_ = times.free;
  done_ = std::max(done_, times.done);
  finished_ = std::max(finished_, core(times.done));
  last_ = product;
  pop(core(since));
}

void MatrixEngine::count(const core::MatrixProduct& product, const cost::MatrixWork& work,
                         const cost::MatrixTimes& times) {
  ++stats_.products;
  const std::uint64_t macs = product.m * product.n * product.k;
  stats_.macs += macs;
  unit_.state.flops += 2 * macs;
  stats_.step_cycles += times.busy;
  stats_.least_cycles += timer_.least_cycles(work);
  cost::MatrixWork dense = work;
  dense.steps.clear();
  dense.k = product.k;
  const std::uint64_t all = timer_.least_cycles(dense);
  stats_.skipped_cycles += all - std::min(all, timer_.least_cycles(work));
  stats_.read_bytes_a += product.a.bytes + product.index.bytes;
  stats_.read_bytes_b += product.b.bytes;
  if (product.accumulate) stats_.read_bytes_c += product.c.bytes;
  if (!product.hold) stats_.written_bytes_c += product.c.bytes;
}

report::EngineCycles MatrixEngine::cycles(std::uint64_t cycle) const {
  report::EngineCycles all = cycles_;
  const std::uint64_t end = std::max(own(cycle), start_);
  if (done_ > accounted_) all[report::Stall::latency] += std::min(done_, end) - std::min(accounted_, end);
  if (clock.hz() == unit_.clock.hz()) return all;
  // The report counts in the core's clock: every figure rounded down, so that their sum is no more.
  const auto converted = [&](std::uint64_t cycles) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(cycles) * unit_.clock.hz() / clock.hz());
  };
  all.busy = converted(all.busy);
  for (std::uint64_t& stall : all.stall) stall = converted(stall);
  return all;
}

std::optional<Standing> MatrixEngine::standing() const {
  if (queue_.empty()) return std::nullopt;
  return standing_of(queue_.front(), queue_.size());
}

std::vector<const QueueEntry*> MatrixEngine::pending() const {
  std::vector<const QueueEntry*> entries;
  for (const QueueEntry& entry : queue_) entries.push_back(&entry);
  return entries;
}

}  // namespace npulab::systemc
