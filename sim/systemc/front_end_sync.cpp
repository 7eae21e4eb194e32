// SPDX-License-Identifier: Apache-2.0
// Flags, semaphores and barriers in the stream of a core.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/systemc/chip.hpp"
#include "sim/systemc/dma_engine.hpp"
#include "sim/systemc/front_end.hpp"
#include "sim/systemc/vector_engine.hpp"

namespace npulab::systemc {

namespace {

using isa::Op;

constexpr std::uint8_t kScalarEngine = isa::kScalarEngineIndex;

}  // namespace

core::FlagId FrontEnd::flag_of(const core::MicroOp& op) const {
  const std::int64_t id = unit_.state.scalar(op.scalars[2]);
  const isa::Target& target = *unit_.shared.target;
  if (id < 0 || id >= static_cast<std::int64_t>(target.flag_ids))
    throw Error(Category::verdict, "flag-id",
                fmt::format("flag id {} on {}: ids of {}>{} are 0…{}", id, unit_.name(),
                            target.engines[op.engine_from], target.engines[op.engine], target.flag_ids - 1),
                program_.where(pc_));
  return {op.engine_from, op.engine, static_cast<std::uint32_t>(id)};
}

bool FrontEnd::sync(const core::MicroOp& op) {
  switch (op.op) {
    case Op::WaitFlag:
      if (!wait_flag(op)) return false;
      break;
    case Op::SetFlag:
      if (!set_flag(op)) return false;
      break;
    case Op::Release:
      if (!release(op)) return false;
      break;
    case Op::Acquire:
      if (!acquire(op)) return false;
      break;
    case Op::Barrier:
      if (!barrier(op)) return false;
      break;
    default:
      return sync_cores();
  }
  spend(1);
  alone_ = 0;
  ++pc_;
  return true;
}

// When what the stream starts now is over.
std::uint64_t FrontEnd::issue_and_finish() {
  const std::uint64_t issued = timer_.issue(pc_);
  return std::max(timer_.finished(), issued + 1);
}

bool FrontEnd::set_flag(const core::MicroOp& op) {
  const core::FlagId flag = flag_of(op);
  if (in_step(flag.source)) {
    unit_.publish(flag, issue_and_finish() + unit_.shared.core->sync.flag_latency_cycles, pc_,
                  unit_.done_so_far(flag.source));
    return true;
  }
  if (!queue_has_room(flag.source)) return false;
  QueueEntry item = entry(QueueEntry::Kind::set, timer_.issue(pc_));
  item.flag = flag;
  item.operands = op.has(isa::Mod::operands) && op.mod(isa::Mod::operands).value == 1;
  push(flag.source, std::move(item));
  return true;
}

// Of another core (release) or this one (acquire).
core::SemaphoreId FrontEnd::semaphore_of(const core::MicroOp& op) const {
  const bool releases = op.op == Op::Release;
  const core::Semaphores& counts = unit_.chip.semaphores().counts();
  const std::int64_t core = releases ? unit_.state.scalar(op.scalars[1]) : std::int64_t{unit_.state.id};
  const std::int64_t id = unit_.state.scalar(op.scalars[releases ? 2 : 1]);
  const auto cores = static_cast<std::int64_t>(unit_.chip.cores().size());
  const auto refuse = [&](const std::string& rule) {
    throw Error(Category::verdict, "semaphore-id",
                fmt::format("{} of semaphore {} of core {} on {}: {}", isa::info(op.op).mnemonic, id, core,
                            unit_.name(), rule),
                program_.where(pc_));
  };
  if (core < 0 || core >= cores) refuse(fmt::format("the launch has cores 0…{}", cores - 1));
  const std::uint32_t count = counts.count(static_cast<std::uint32_t>(core));
  if (count == 0) refuse("that core has no semaphores");
  if (id < 0 || id >= std::int64_t{count}) refuse(fmt::format("that core has semaphores 0…{}", count - 1));
  return {static_cast<std::uint32_t>(core), static_cast<std::uint32_t>(id)};
}

std::uint32_t FrontEnd::amount_of(const core::MicroOp& op, core::SemaphoreId semaphore) const {
  const std::int64_t by = op.has(isa::Mod::by) ? unit_.state.scalar(op.mod(isa::Mod::by)) : 1;
  const std::int64_t most = unit_.chip.semaphores().counts().most(semaphore.core);
  if (by < 1 || by > most)
    throw Error(Category::verdict, "semaphore-range",
                fmt::format("{} of semaphore {} of core {} by {} on {}: a count goes up to {}",
                            isa::info(op.op).mnemonic, semaphore.id, semaphore.core, by, unit_.name(), most),
                program_.where(pc_));
  return static_cast<std::uint32_t>(by);
}

bool FrontEnd::release(const core::MicroOp& op) {
  const core::SemaphoreId semaphore = semaphore_of(op);
  const std::uint32_t by = amount_of(op, semaphore);
  if (in_step(op.engine)) {
    unit_.release(semaphore, by, issue_and_finish(), op.engine, program_.where(pc_),
                  unit_.done_so_far(op.engine));
    return true;
  }
  return hand_over(op.engine, QueueEntry::Kind::release, semaphore, by);
}

bool FrontEnd::acquire(const core::MicroOp& op) {
  const core::SemaphoreId semaphore = semaphore_of(op);
  const std::uint32_t by = amount_of(op, semaphore);
  if (!in_step(op.engine)) return hand_over(op.engine, QueueEntry::Kind::acquire, semaphore, by);
  QueueEntry item = entry(QueueEntry::Kind::acquire, timer_.cycle());
  item.semaphore = semaphore;
  item.by = by;
  const auto cycle = unit_.acquired(semaphore_, item, timer_.cycle(), op.engine);
  if (!cycle) {
    wait_ = Wait::semaphore;
    return false;
  }
  unit_.acquire(semaphore_, item, op.engine);
  waited_for_semaphores_ += hold(*cycle, report::Stall::flag, kScalarEngine);
  timer_.issue(pc_);
  return true;
}

bool FrontEnd::hand_over(std::uint8_t engine, QueueEntry::Kind kind, core::SemaphoreId semaphore,
                         std::uint32_t by) {
  if (!queue_has_room(engine)) return false;
  QueueEntry item = entry(kind, timer_.issue(pc_));
  item.semaphore = semaphore;
  item.by = by;
  push(engine, std::move(item));
  return true;
}

bool FrontEnd::wait_flag(const core::MicroOp& op) {
  const core::FlagId flag = flag_of(op);
  if (in_step(flag.destination)) {
    const auto set = unit_.flags.peek(flag);
    if (!set) {
      wait_ = Wait::flag;
      return false;
    }
    hold(*set, report::Stall::flag, flag.source);
    const std::uint64_t issued = timer_.issue(pc_);
    unit_.take(flag, std::max(issued, *set));
    return true;
  }
  if (!queue_has_room(flag.destination)) return false;
  QueueEntry item = entry(QueueEntry::Kind::wait, timer_.issue(pc_));
  item.flag = flag;
  push(flag.destination, std::move(item));
  return true;
}

bool FrontEnd::all_finished() {
  if (!unit_.drained()) {
    wait_ = Wait::engines;
    return false;
  }
  hold(std::max(timer_.finished(), unit_.engines_finished()), report::Stall::barrier, unit_.last_engine());
  if (unit_.shared.races != nullptr) unit_.shared.races->barrier(unit_.state.id);
  return true;
}

bool FrontEnd::barrier(const core::MicroOp& op) {
  if (op.engine == isa::kAllEngines) {
    if (!all_finished()) return false;
    timer_.issue(pc_);
    return true;
  }
  if (in_step(op.engine)) {
    hold(timer_.finished(), report::Stall::barrier, kScalarEngine);
    if (unit_.shared.races != nullptr) unit_.shared.races->own_barrier(unit_.state.id);
    timer_.issue(pc_);
    return true;
  }
  if (!queue_has_room(op.engine)) return false;
  push(op.engine, entry(QueueEntry::Kind::barrier, timer_.issue(pc_)));
  return true;
}

bool FrontEnd::sync_cores() {
  if (!all_finished()) return false;
  const std::uint64_t arrived = timer_.issue(pc_) + 1;
  spend(1);
  alone_ = 0;
  wait_ = Wait::cores;
  if (unit_.shared.races != nullptr) unit_.shared.races->arrive(unit_.state.id);
  unit_.chip.arrive(clock.ps(arrived));
  return false;
}

void FrontEnd::released(std::uint64_t cycle) {
  hold(cycle, report::Stall::barrier, kScalarEngine);
  if (unit_.shared.races != nullptr) unit_.shared.races->leave(unit_.state.id);
  ++pc_;
  wait_ = Wait::nothing;
  wake_at(cycle);
}

}  // namespace npulab::systemc
