// SPDX-License-Identifier: Apache-2.0
// The block-timing cache: a block that begins in a state already seen takes the time it took then. States are
// the relative times of Issue::save, interned, so that a hit costs a look-up; a loop whose block ends in the
// state it began in is done in one multiplication.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/core/issue.hpp"
#include "sim/core/micro_op.hpp"

namespace npulab::core {

// What happened at each instruction of a program, summed over cores.
struct LineCounters {
  std::vector<std::uint64_t> starts;  // by pc
  std::vector<std::uint64_t> waits;   // cycles between the moment its turn came and its start, by pc
  void resize(std::size_t size) {
    starts.resize(size);
    waits.resize(size);
  }
  void clear() {
    starts.assign(starts.size(), 0);
    waits.assign(waits.size(), 0);
  }
};

// Shared by all cores that run one program on one machine.
class BlockCache {
 public:
  using State = std::uint32_t;

  struct Transition {
    std::uint32_t number = 0;  // in the order in which they were met
    State exit = 0;
    std::uint64_t cycles = 0;
    std::uint64_t start = 0;  // cycle in which the last instruction started, after the entry's
    IssueStats stats;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> waits;  // pc, cycles
    std::uint64_t hits = 0;
  };

  explicit BlockCache(const DecodedProgram& program) : program_(program) {}

  // The number of a state; kNone when the cache is full.
  static constexpr State kNone = ~State{0};
  State intern(const std::vector<std::uint32_t>& relative);
  const std::vector<std::uint32_t>& state(State number) const { return *states_[number].relative; }
  // Cycles after which nothing of the state matters any more.
  std::uint32_t settled(State number) const { return states_[number].settled; }
  // The state in which everything is ready and nothing placed.
  State rest();
  // The state after a wait of `cycles`; kNone when it cannot be interned any more.
  State after(State from, std::uint64_t cycles);
  const Transition& transition(std::uint32_t number) const { return *in_order_[number]; }

  // The transition of a block or of a single instruction (pc) from `entry`, worked out on `scratch` when it
  // is new. nullptr when the exit state cannot be interned any more.
  Transition* follow_block(std::uint32_t block, State entry, Issue& scratch);
  Transition* follow_instruction(std::uint32_t pc, State entry, Issue& scratch);

  // Adds starts and waits of all hits to `lines` and forgets the hits.
  void settle(LineCounters& lines);
  // Forgets the hits of a run that did not come to its end.
  void forget();

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& relative) const;
  };
  struct Known {
    const std::vector<std::uint32_t>* relative;
    std::uint32_t settled;
  };
  // A stretch of instructions: a block, or one instruction under a number beyond the blocks.
  struct Stretch {
    std::uint32_t first;
    std::uint32_t count;
  };
  static constexpr std::size_t kMostStates = 1U << 14U;
  Transition* follow(std::uint32_t stretch, State entry, Issue& scratch);
  Stretch stretch(std::uint32_t number) const;

  const DecodedProgram& program_;
  std::unordered_map<std::vector<std::uint32_t>, State, Hash> numbers_;
  std::vector<Known> states_;
  std::unordered_map<std::uint64_t, Transition> transitions_;  // stretch << 32 | entry
  std::vector<const Transition*> in_order_;
  std::unordered_map<std::uint64_t, State> waits_;  // state << 32 | cycles: the state afterwards
  State rest_ = kNone;
};

// The clock of one core's stream: interpreted instructions and cached blocks on one time axis.
class BlockTimer {
 public:
  // `cache` null: every block is interpreted.
  BlockTimer(const DecodedProgram& program, const config::CoreTypeConfig& core, BlockCache* cache,
             LineCounters& lines);

  void reset(std::uint64_t cycle);
  // Starts one instruction; `extra` as in Issue::issue. Returns its cycle.
  std::uint64_t issue(std::uint32_t pc, std::uint32_t extra = 0);
  // Returns the cycles that count as `cause`.
  std::uint64_t wait_until(std::uint64_t cycle, report::Stall cause);
  // Runs a block, which does not depend on addresses, `times` in a row.
  void run(std::uint32_t block, std::uint64_t times);

  std::uint64_t cycle() const { return cached_ ? cycle_ : issue_.cycle(); }
  std::uint64_t finished() const;
  IssueStats& stats();
  void close_cycle();

 private:
  bool enter_cache();  // false: not possible
  void leave_cache();
  void take(BlockCache::Transition& transition, std::uint64_t turns);
  void interpret(const Block& block, std::uint64_t times);

  const DecodedProgram& program_;
  BlockCache* cache_;
  LineCounters& lines_;
  Issue issue_;
  Issue scratch_;
  bool cached_ = false;  // the state is state_ at cycle_, not in issue_
  BlockCache::State state_ = 0;
  std::uint64_t cycle_ = 0;
  std::vector<std::uint32_t> relative_;
  std::vector<std::uint64_t> taken_;  // by transition: how often, not yet in the stats
};

}  // namespace npulab::core
