// SPDX-License-Identifier: Apache-2.0
// All cores of a launch on one time axis, and what they share: the barrier of all cores, semaphores, inputs
// of buffers, progress, messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/systemc/core_unit.hpp"
#include "sim/systemc/dma_engine.hpp"
#include "sim/systemc/front_end.hpp"
#include "sim/systemc/input_ports.hpp"
#include "sim/systemc/matrix_engine.hpp"
#include "sim/systemc/region_log.hpp"
#include "sim/systemc/semaphore_bank.hpp"
#include "sim/systemc/vector_engine.hpp"

namespace npulab::systemc {

// What the host wants to hear while a run goes on. Empty functions are not called.
struct Listener {
  std::function<void(std::uint64_t cycle, std::uint64_t stored_bytes)>
      poll;  // now and then; may throw to stop the run
  std::function<void(const std::string& line)> print;
};

// Its clock is that of the first program's cores.
class Chip {
 public:
  // `programs`: in the order of their cores' numbers; they outlive the chip. `construction`: the order in
  // which cores are built, a permutation of 0…cores-1; results do not depend on it.
  Chip(Session& session, std::span<const Shared> programs, Listener listener,
       const std::vector<std::uint32_t>& construction);

  // Runs every program once on its cores, from the next free cycle on. Errors: stall "stall" with where every
  // engine stands; whatever the engines throw.
  void run(Session& session);
  // Of the last run; of a core, in its own clock.
  std::uint64_t cycles() const { return clock_.cycle(end_ps_) - clock_.cycle(start_ps_); }
  std::uint64_t cycles(const CoreUnit& core) const { return core.clock.cycle(end_ps_) - core.start_cycle(); }
  // When a core ended, since the start of the run, in the chip's clock.
  std::uint64_t end_of(std::size_t core) const {
    return clock_.cycle(cores_[core]->clock.ps(cores_[core]->front->finished())) - clock_.cycle(start_ps_);
  }
  std::vector<std::unique_ptr<CoreUnit>>& cores() { return cores_; }
  std::span<const Shared> programs() const { return programs_; }
  // Of a core, cycles since the start of the run in the chip's clock.
  std::vector<RegionLog::Total> regions(std::size_t core) const {
    return regions_[core].totals(end_of(core));
  }

  // Services to the cores.
  void arrive(std::uint64_t ps);
  void core_done() { ++done_; }
  void stored(std::uint64_t bytes) { stored_ += bytes; }
  void poll(std::uint64_t ps);
  void print(const std::string& line);
  void region(const std::string& name, std::uint32_t core, std::uint64_t ps);
  SemaphoreBank& semaphores() { return *semaphores_; }
  InputArbiter& inputs() { return *inputs_; }
  // Core `number` of this type, null when the launch has none.
  CoreUnit* core_of(const std::string& core_type, std::int64_t number);
  std::int64_t count_of(const std::string& core_type) const;
  // Ends the run as a stall, with where everything stands.
  [[noreturn]] void give_up(const char* code, const std::string& why, const Where& where);

 private:
  [[noreturn]] void report_stall();

  std::uint64_t next_start_ps(std::uint64_t now) const;

  std::span<const Shared> programs_;
  const core::Clock clock_;
  Listener listener_;
  std::unique_ptr<SemaphoreBank> semaphores_;
  std::unique_ptr<InputArbiter> inputs_;
  std::vector<std::unique_ptr<CoreUnit>> cores_;
  std::vector<RegionLog> regions_;  // by core
  std::uint64_t start_ps_ = 0;
  std::uint64_t end_ps_ = 0;
  std::uint64_t barrier_ps_ = 0;
  std::uint32_t arrived_ = 0;
  std::uint32_t done_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t printed_ = 0;
};

}  // namespace npulab::systemc
