// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/chip.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace npulab::systemc {

Chip::Chip(Session& session, const Shared& shared, std::uint32_t cores, Listener listener,
           const std::vector<std::uint32_t>& construction)
    : shared_(shared), listener_(std::move(listener)), cores_(cores) {
  for (const std::uint32_t id : construction)
    cores_[id] = std::make_unique<CoreUnit>(*this, session, shared_, id, cores, ports_);
}

void Chip::run(Session& session) {
  const core::Clock clock = cores_.front()->clock;
  start_ = clock.cycle(session.now_ps());
  arrived_ = done_ = 0;
  barrier_cycle_ = stored_ = 0;
  regions_.clear();
  for (auto& port : ports_) port->free = start_;
  shared_.port->reset(clock.ps(start_));
  for (std::size_t i = 0; i < cores_.size(); ++i)
    cores_[i]->start(start_ + i * shared_.machine->launch.stagger_cycles);
  session.run();
  if (done_ != cores_.size()) report_stall();
  end_ = start_;
  for (const auto& core : cores_) end_ = std::max(end_, core->front->finished());
  for (auto& core : cores_) {
    core->flags.finish();
    for (auto& engine : core->engines) engine->close(end_);
  }
}

void Chip::arrive(std::uint64_t cycle) {
  barrier_cycle_ = std::max(barrier_cycle_, cycle);
  if (++arrived_ < cores_.size()) return;
  const std::uint64_t release = barrier_cycle_ + shared_.core->sync.barrier_latency_cycles;
  arrived_ = 0;
  barrier_cycle_ = 0;
  for (auto& core : cores_) core->front->released(release);
}

void Chip::poll(std::uint64_t cycle) {
  if (listener_.poll) listener_.poll(cycle - start_, stored_);
}

void Chip::print(const std::string& line) {
  constexpr std::uint64_t kMostLines = 10000;
  if (!listener_.print || printed_ > kMostLines) return;
  listener_.print(++printed_ > kMostLines ? "print: further lines are not shown" : line);
}

void Chip::region(const std::string& name, std::uint32_t core, std::uint64_t cycle) {
  regions_.push_back({name, core, cycle - start_});
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
      if (!line.empty()) text += fmt::format("\n  core {} {}", core->state.id, line);
    if (first.line == 0) first = core->front->where();
  }
  if (told > kMostCores) text += fmt::format("\n  and {} more cores", told - kMostCores);
  throw Error(Category::stall, "stall", text, first);
}

}  // namespace npulab::systemc
