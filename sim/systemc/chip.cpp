// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/chip.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

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
                     core->shared.core->sync.semaphore_initial});
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

std::string Chip::places_of_release(core::SemaphoreId semaphore) const {
  constexpr std::size_t kMostPlaces = 4;
  std::vector<std::string> places;
  const auto may_be = [](const core::Number& number, std::uint32_t value) {
    return number.reg != isa::kNoRegister || number.value == value;
  };
  for (const Shared& program : programs_) {
    for (std::uint32_t pc = 0; pc < program.program->ops.size(); ++pc) {
      const core::MicroOp& op = program.program->ops[pc];
      if (op.op != isa::Op::Release || !may_be(op.scalars[1], semaphore.core) ||
          !may_be(op.scalars[2], semaphore.id))
        continue;
      const std::string place =
          fmt::format("{} ({})", to_string(program.program->where(pc)), program.target->core_type);
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
  }
  if (places.empty()) return "; no program holds a release of it";
  std::string text = fmt::format("; {} stands at", isa::info(isa::Op::Release).mnemonic);
  for (std::size_t i = 0; i < places.size() && i < kMostPlaces; ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", places[i]);
  return places.size() > kMostPlaces ? text + " and elsewhere" : text;
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

void Chip::report_stall() const {
  constexpr std::size_t kMostCores = 8;
  std::string text = fmt::format("nothing can go on: {} of {} cores have not reached their end",
                                 cores_.size() - done_, cores_.size());
  if (arrived_ > 0)
    text += fmt::format("; {} of {} cores have arrived at sync_cores", arrived_, cores_.size());
  std::size_t told = 0;
  Where first;
  for (const auto& core : cores_) {
    if (core->front->done()) continue;
    if (++told > kMostCores) continue;
    std::vector<std::string> lines{core->front->standing()};
    if (core->vector) lines.push_back(core->vector->standing());
    if (core->matrix) lines.push_back(core->matrix->standing());
    for (const auto& engine : core->engines) lines.push_back(engine->standing());
    for (const std::string& line : lines)
      if (!line.empty()) text += fmt::format("\n  {} {}", core->name(), line);
    if (first.line == 0) first = core->front->where();
  }
  if (told > kMostCores) text += fmt::format("\n  and {} more cores", told - kMostCores);
  throw Error(Category::stall, "stall", text, first);
}

}  // namespace npulab::systemc
