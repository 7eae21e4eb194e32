// SPDX-License-Identifier: Apache-2.0
// A matrix unit with a queue of its own: works through products in order, in its own clock domain.
#pragma once

#include <optional>
#include <string>

#include "sim/core/matrix.hpp"
#include "sim/cost/matrix.hpp"
#include "sim/report/stats.hpp"
#include "sim/systemc/core_unit.hpp"
#include "sim/systemc/ring.hpp"
#include "sim/systemc/semaphore_bank.hpp"

namespace npulab::systemc {

struct MatrixStats {
  std::uint64_t products = 0;
  std::uint64_t macs = 0;            // m * n * k, whatever was left out
  std::uint64_t step_cycles = 0;     // of the unit's clock
  std::uint64_t least_cycles = 0;    // that its steps cannot do without
  std::uint64_t skipped_cycles = 0;  // step cycles that zeros and packed operands saved
  std::uint64_t wrapped_sums = 0;
  std::uint64_t read_bytes_a = 0, read_bytes_b = 0, read_bytes_c = 0, written_bytes_c = 0;
};

class MatrixEngine : public Process {
 public:
  MatrixEngine(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit, std::uint8_t engine);

  bool has_room() const { return queue_.size() < config_.queue_depth; }
  void push(QueueEntry entry);
  bool drained() const { return queue_.empty() && unit_clock_reached(finished()); }
  // In the core's clock.
  std::uint64_t finished() const { return finished_; }
  // In the core's clock: cycles of work and waits up to `cycle`, the end of the run.
  report::EngineCycles cycles(std::uint64_t cycle) const;
  const MatrixStats& stats() const { return stats_; }
  void reset(std::uint64_t cycle);
  std::optional<Standing> standing() const override;
  // What it has not finished, the oldest first.
  std::vector<const QueueEntry*> pending() const;

 private:
  void step() override;
  bool take();  // the entry at the head; false: it must wait
  bool sync_entry(QueueEntry& entry);
  // The wait at the head of the queue may be over in `core_cycle`, if that is known: goes on then.
  bool wait_until(std::optional<std::uint64_t> core_cycle, std::uint64_t since);
  void run(QueueEntry& entry);
  void count(const core::MatrixProduct& product, const cost::MatrixWork& work,
             const cost::MatrixTimes& times);
  void check_held(const core::MatrixProduct& product) const;
  void pop(std::uint64_t core_cycle);
  // Books the time up to `to` (own clock): work of the array that goes on, then `cause` from `since` on.
  void account(std::uint64_t to, report::Stall cause, std::uint64_t since);
  std::uint64_t own(std::uint64_t core_cycle) const { return clock.cycle(unit_.clock.ps(core_cycle)); }
  std::uint64_t core(std::uint64_t own_cycle) const { return unit_.clock.cycle(clock.ps(own_cycle)); }
  bool unit_clock_reached(std::uint64_t core_cycle) const { return unit_.clock.ps(core_cycle) <= now_ps(); }

  CoreUnit& unit_;
  const config::MatrixConfig& config_;
  const std::uint8_t engine_;
  Ring<QueueEntry> queue_;
  SemaphoreWait semaphore_{*this};
  cost::MatrixTimer timer_;
  std::optional<core::MatrixProduct> last_;
  std::uint64_t free_ = 0;       // own clock: when the next entry may be taken
  std::uint64_t done_ = 0;       // own clock: when everything so far is over
  std::uint64_t accounted_ = 0;  // own clock
  std::uint64_t start_ = 0;      // own clock: of the run
  std::uint64_t finished_ = 0;   // core's clock
  report::EngineCycles cycles_;  // own clock
  MatrixStats stats_;
};

}  // namespace npulab::systemc
