// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/chip.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/systemc/stall_report.hpp"

namespace npulab::systemc {

Chip::Chip(Session& session, std::span<const Shared> programs, Listener listener,
           const std::vector<std::uint32_t>& construction)
    : programs_(programs),
      clock_(config::clock_hz(*programs.front().core)),
      listener_(std::move(listener)),
      semaphores_(
          std::make_unique<SemaphoreBank>("semaphores", session, clock_, *programs.front().diagnostics)),
      inputs_(std::make_unique<InputArbiter>("inputs", session, clock_)),
      cores_(construction.size()) {
  for (const std::uint32_t id : construction) {
    const auto own = std::find_if(programs.begin(), programs.end(),
                                  [id](const Shared& one) { return id < one.first_core + one.cores; });
    cores_[id] = std::make_unique<CoreUnit>(*this, session, *own, id - own->first_core);
  }
  for (const auto& core : cores_) {
    const config::SyncConfig& sync = core->shared.core->sync;
    semaphores_->counts().add_core({sync.semaphores, sync.semaphore_max, sync.semaphore_initial},
                                   core->clock);
  }
  core::Races* races = programs.front().races;
  if (races == nullptr) return;
  for (const auto& core : cores_)
    races->add_core({core->shared.program, core->shared.target, core->clock, !core->vector, core->name(),
                     core->shared.core->sync.semaphores, core->shared.core->sync.semaphore_initial});
}

// With clocks of several frequencies a run begins where whole megahertz are in step: all runs are alike.
std::uint64_t Chip::next_start_ps(std::uint64_t now) const {
  constexpr std::uint64_t kInStepPs = 1'000'000;
  const auto same = [this](const auto& core) { return core->clock.hz() == clock_.hz(); };
  if (std::all_of(cores_.begin(), cores_.end(), same)) return clock_.ps(clock_.cycle(now));
  return (now + kInStepPs - 1) / kInStepPs * kInStepPs;
}

void Chip::run(Session& session) {
  start_ps_ = next_start_ps(session.now_ps());
  arrived_ = done_ = 0;
  barrier_ps_ = stored_ = 0;
  regions_.assign(cores_.size(), {});
  programs_.front().port->reset(start_ps_);
  semaphores_->reset();
  inputs_->reset();
  core::Races* races = programs_.front().races;
  if (races != nullptr) races->reset();
  const std::uint64_t start = clock_.cycle(start_ps_);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    const std::uint64_t late = i * programs_.front().machine->launch.stagger_cycles;
    const core::Clock& own = cores_[i]->clock;
    cores_[i]->start(own.cycle(start_ps_), own.cycle(clock_.ps(start + late)));
  }
  session.run();
  if (done_ != cores_.size()) report_stall();
  end_ps_ = start_ps_;
  for (const auto& core : cores_) end_ps_ = std::max(end_ps_, core->clock.ps(core->front->finished()));
  semaphores_->counts().finish();
  if (races != nullptr) races->finish();
  for (auto& core : cores_) {
    core->flags.finish();
    for (auto& engine : core->engines) engine->close(core->clock.cycle(end_ps_));
  }
}

void Chip::arrive(std::uint64_t ps) {
  barrier_ps_ = std::max(barrier_ps_, ps);
  if (++arrived_ < cores_.size()) return;
  const std::uint64_t open = barrier_ps_;
  arrived_ = 0;
  barrier_ps_ = 0;
  for (auto& core : cores_)
    core->front->released(core->clock.cycle(open) + core->shared.core->sync.barrier_latency_cycles);
}

CoreUnit* Chip::core_of(const std::string& core_type, std::int64_t number) {
  for (const Shared& program : programs_) {
    if (program.target->core_type != core_type) continue;
    const std::int64_t at = number - program.first_of_type;
    if (at >= 0 && at < static_cast<std::int64_t>(program.cores))
      return cores_[program.first_core + static_cast<std::size_t>(at)].get();
  }
  return nullptr;
}

std::int64_t Chip::count_of(const std::string& core_type) const {
  std::int64_t count = 0;
  for (const Shared& program : programs_)
    if (program.target->core_type == core_type) count += program.cores;
  return count;
}

void Chip::poll(std::uint64_t ps) {
  if (listener_.poll) listener_.poll(clock_.cycle(ps) - clock_.cycle(start_ps_), stored_);
}

void Chip::print(const std::string& line) {
  constexpr std::uint64_t kMostLines = 10000;
  if (!listener_.print || printed_ > kMostLines) return;
  listener_.print(++printed_ > kMostLines ? "print: further lines are not shown" : line);
}

void Chip::region(const std::string& name, std::uint32_t core, std::uint64_t ps) {
  regions_[core].mark(name, clock_.cycle(ps) - clock_.cycle(start_ps_));
}

void Chip::report_stall() {
  std::string text = fmt::format("nothing can go on: {} of {} cores have not reached their end",
                                 cores_.size() - done_, cores_.size());
  if (arrived_ > 0)
    text += fmt::format("; {} of {} cores have arrived at sync_cores", arrived_, cores_.size());
  const StallReport report(*this);
  throw Error(Category::stall, "stall", text + report.standings() + report.circle(), report.first());
}

void Chip::give_up(const char* code, const std::string& why, const Where& where) {
  throw Error(Category::stall, code, why + StallReport(*this).standings(), where);
}

}  // namespace npulab::systemc
