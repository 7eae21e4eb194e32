// SPDX-License-Identifier: Apache-2.0
// When instructions start: the in-order issue of one core, as arithmetic on cycles. No values, no SystemC.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/machine.hpp"
#include "sim/core/micro_op.hpp"
#include "sim/report/stats.hpp"

namespace npulab::core {

// What a stretch of the stream did to the two units that share it. Cycles in which neither a scalar nor a
// vector instruction starts carry the cause of the wait for both.
struct IssueStats {
  report::EngineCycles scalar;
  report::EngineCycles vector;
  friend bool operator==(const IssueStats&, const IssueStats&) = default;
};

// In-order issue of up to issue_width instructions per cycle, each on its port, when its operands are ready.
// Registers are interlocked: reads wait for results, a write never finishes before an earlier write.
class Issue {
 public:
  Issue(const config::CoreTypeConfig& core);

  // The first cycle is `cycle`, everything ready.
  void reset(std::uint64_t cycle);

  // Places the next instruction and returns the cycle in which it starts. `extra` cycles of bank conflict
  // lengthen its latency and hold its port.
  std::uint64_t issue(const Timing& timing, std::uint32_t extra = 0);

  // The stream goes on no earlier than `cycle`; the wait counts as `cause` for both units.
  void wait_until(std::uint64_t cycle, report::Stall cause);

  std::uint64_t cycle() const { return cycle_; }
  // Cycles in which nothing was placed before the last instruction could start.
  std::uint64_t gap() const { return gap_; }
  // When everything issued so far has its result.
  std::uint64_t finished() const;

  // The state relative to cycle(), for the block cache: equal states behave equally ever after. The last
  // entries are that of finished() and what was placed in the cycle so far.
  void save(std::vector<std::uint32_t>& relative) const;
  // What the last entry of a state says.
  struct Placed {
    std::uint32_t slots;
    bool scalar;
    bool vector;
  };
  static Placed placed(std::uint32_t last_entry);
  void restore(std::uint64_t cycle, const std::vector<std::uint32_t>& relative);

  // Closes the books of the current cycle (run end, snapshot): stats then cover [reset, cycle()).
  IssueStats& stats() { return stats_; }
  const IssueStats& stats() const { return stats_; }
  // Counts the cycle that is being filled; afterwards issue goes on in the next one.
  void close_cycle();

 private:
  struct Unit {
    std::size_t first;  // index of the port's first unit in times_
    std::size_t count;
  };
  void advance(std::uint64_t to, report::Stall cause);
  std::uint64_t earliest(const Timing& timing, report::Stall& cause) const;

  const std::uint32_t width_;
  std::size_t vector_base_ =
      0;  // times_: scalar registers, vector registers, port units, conflicts, [finished]
  std::array<Unit, isa::kPortCount> ports_{};
  std::size_t conflict_base_ = 0;  // by port: until when a bank conflict holds it, 0 when none does
  std::vector<std::uint64_t> times_;
  std::uint64_t cycle_ = 0;
  std::uint64_t gap_ = 0;
  std::uint32_t slots_ = 0;  // taken in cycle_
  bool had_scalar_ = false;  // in cycle_
  bool had_vector_ = false;
  IssueStats stats_;
};

}  // namespace npulab::core
