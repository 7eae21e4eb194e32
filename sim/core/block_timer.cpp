// SPDX-License-Identifier: Apache-2.0
#include "sim/core/block_timer.hpp"

#include <algorithm>
#include <array>

namespace npulab::core {

namespace {

// Waits of an instruction: cycles in which nothing could start before it.
std::uint64_t issue_counting(Issue& issue, const MicroOp& op, std::uint32_t extra, std::uint64_t& wait) {
  const std::uint64_t start = issue.issue(op.timing, extra);
  wait = issue.gap();
  return start;
}

}  // namespace

// Four sums side by side, so that a state of some hundred words hashes at memory speed.
std::size_t BlockCache::Hash::operator()(const std::vector<std::uint32_t>& relative) const {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15U;
  std::array<std::uint64_t, 4> sums{1, 2, 3, 4};
  std::size_t i = 0;
  for (; i + 4 <= relative.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] = (sums[lane] + relative[i + lane]) * kMultiplier;
  for (; i < relative.size(); ++i) sums[i % 4] = (sums[i % 4] + relative[i]) * kMultiplier;
  std::uint64_t hash = 0;
  for (const std::uint64_t sum : sums) hash = (hash ^ sum ^ sum >> 29U) * kMultiplier;
  return static_cast<std::size_t>(hash ^ hash >> 32U);
}

BlockCache::State BlockCache::intern(const std::vector<std::uint32_t>& relative) {
  const auto known = numbers_.find(relative);
  if (known != numbers_.end()) return known->second;
  if (states_.size() == kMostStates) return kNone;
  const auto number = static_cast<State>(states_.size());
  const auto added = numbers_.emplace(relative, number).first;
  states_.push_back({&added->first, *std::max_element(relative.begin(), relative.end() - 1)});
  return number;
}

BlockCache::State BlockCache::rest() {
  if (rest_ == kNone && !states_.empty())
    rest_ = intern(std::vector<std::uint32_t>(states_.front().relative->size()));
  return rest_;
}

BlockCache::State BlockCache::after(State from, std::uint64_t cycles) {
  if (cycles >= settled(from)) return rest();
  const std::uint64_t key = std::uint64_t{from} << 32U | cycles;
  const auto known = waits_.find(key);
  if (known != waits_.end()) return known->second;
  std::vector<std::uint32_t> relative = state(from);
  for (std::uint32_t& time : relative) time -= std::min(time, static_cast<std::uint32_t>(cycles));
  relative.back() = 0;  // nothing is placed in the cycle to come
  return waits_.emplace(key, intern(relative)).first->second;
}

BlockCache::Stretch BlockCache::stretch(std::uint32_t number) const {
  if (number < program_.blocks.size()) return {program_.blocks[number].first, program_.blocks[number].count};
  return {number - static_cast<std::uint32_t>(program_.blocks.size()), 1};
}

BlockCache::Transition* BlockCache::follow_block(std::uint32_t block, State entry, Issue& scratch) {
  return follow(block, entry, scratch);
}

BlockCache::Transition* BlockCache::follow_instruction(std::uint32_t pc, State entry, Issue& scratch) {
  return follow(static_cast<std::uint32_t>(program_.blocks.size()) + pc, entry, scratch);
}

BlockCache::Transition* BlockCache::follow(std::uint32_t number, State entry, Issue& scratch) {
  const std::uint64_t key = std::uint64_t{number} << 32U | entry;
  const auto known = transitions_.find(key);
  if (known != transitions_.end()) return &known->second;

  // Far from 0, so that times before the entry (all clamped) stay representable.
  constexpr std::uint64_t kOrigin = 1U << 20U;
  scratch.restore(kOrigin, state(entry));
  scratch.stats() = {};
  Transition transition;
  const Stretch s = stretch(number);
  for (std::uint32_t pc = s.first; pc < s.first + s.count; ++pc) {
    std::uint64_t wait = 0;
    transition.start = issue_counting(scratch, program_.ops[pc], 0, wait) - kOrigin;
    if (wait != 0) transition.waits.emplace_back(pc, static_cast<std::uint32_t>(wait));
  }
  std::vector<std::uint32_t> relative;
  scratch.save(relative);
  transition.exit = intern(relative);
  if (transition.exit == kNone) return nullptr;
  transition.cycles = scratch.cycle() - kOrigin;
  transition.stats = scratch.stats();
  transition.number = static_cast<std::uint32_t>(in_order_.size());
  Transition* const added = &transitions_.emplace(key, std::move(transition)).first->second;
  in_order_.push_back(added);
  return added;
}

void BlockCache::settle(LineCounters& lines) {
  for (auto& [key, transition] : transitions_) {
    if (transition.hits == 0) continue;
    const Stretch s = stretch(static_cast<std::uint32_t>(key >> 32U));
    for (std::uint32_t pc = s.first; pc < s.first + s.count; ++pc) lines.starts[pc] += transition.hits;
    for (const auto& [pc, wait] : transition.waits) lines.waits[pc] += std::uint64_t{wait} * transition.hits;
    transition.hits = 0;
  }
}

void BlockCache::forget() {
  for (auto& [key, transition] : transitions_) transition.hits = 0;
}

BlockTimer::BlockTimer(const DecodedProgram& program, const config::CoreTypeConfig& core, BlockCache* cache,
                       LineCounters& lines)
    : program_(program), cache_(cache), lines_(lines), issue_(core), scratch_(core) {}

void BlockTimer::reset(std::uint64_t cycle) {
  cached_ = false;
  issue_.reset(cycle);
  taken_.clear();
}

bool BlockTimer::enter_cache() {
  if (cached_) return true;
  if (cache_ == nullptr) return false;
  issue_.save(relative_);
  const BlockCache::State number = cache_->intern(relative_);
  if (number == BlockCache::kNone) return false;
  state_ = number;
  cycle_ = issue_.cycle();
  cached_ = true;
  return true;
}

void BlockTimer::leave_cache() {
  if (!cached_) return;
  issue_.restore(cycle_, cache_->state(state_));
  cached_ = false;
}

void BlockTimer::take(BlockCache::Transition& transition, std::uint64_t turns) {
  cycle_ += transition.cycles * turns;
  if (taken_.size() <= transition.number) taken_.resize(std::size_t{transition.number} + 1);
  taken_[transition.number] += turns;
  transition.hits += turns;
  state_ = transition.exit;
}

IssueStats& BlockTimer::stats() {
  IssueStats& stats = issue_.stats();
  for (std::uint32_t number = 0; number < taken_.size(); ++number) {
    if (taken_[number] == 0) continue;
    stats.scalar.add(cache_->transition(number).stats.scalar, taken_[number]);
    stats.vector.add(cache_->transition(number).stats.vector, taken_[number]);
    taken_[number] = 0;
  }
  return stats;
}

std::uint64_t BlockTimer::issue(std::uint32_t pc, std::uint32_t extra) {
  if (extra == 0 && enter_cache()) {
    if (BlockCache::Transition* transition = cache_->follow_instruction(pc, state_, scratch_)) {
      const std::uint64_t start = cycle_ + transition->start;
      take(*transition, 1);
      return start;
    }
  }
  leave_cache();
  std::uint64_t wait = 0;
  const std::uint64_t start = issue_counting(issue_, program_.ops[pc], extra, wait);
  ++lines_.starts[pc];
  lines_.waits[pc] += wait;
  return start;
}

std::uint64_t BlockTimer::wait_until(std::uint64_t cycle, report::Stall cause) {
  if (cycle <= this->cycle()) return 0;
  const bool by_cache = cached_ && cause != report::Stall::port;
  const BlockCache::State next = by_cache ? cache_->after(state_, cycle - cycle_) : BlockCache::kNone;
  if (next == BlockCache::kNone) {
    leave_cache();
    issue_.wait_until(cycle, cause);
    return issue_.gap();
  }
  // As Issue::wait_until does it, on the books alone.
  const Issue::Placed placed = Issue::placed(cache_->state(state_).back());
  IssueStats& stats = issue_.stats();
  if (placed.slots != 0) {
    stats.scalar.busy += placed.scalar ? 1 : 0;
    stats.vector.busy += placed.vector ? 1 : 0;
    ++cycle_;
  }
  const std::uint64_t gap = cycle - cycle_;
  stats.scalar[cause] += gap;
  stats.vector[cause] += gap;
  cycle_ = cycle;
  state_ = next;
  return gap;
}

void BlockTimer::interpret(const Block& block, std::uint64_t times) {
  leave_cache();
  for (std::uint64_t i = 0; i < times; ++i) {
    for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc) {
      std::uint64_t wait = 0;
      issue_counting(issue_, program_.ops[pc], 0, wait);
      ++lines_.starts[pc];
      lines_.waits[pc] += wait;
    }
  }
}

void BlockTimer::run(std::uint32_t block, std::uint64_t times) {
  if (times == 0) return;
  if (!enter_cache()) return interpret(program_.blocks[block], times);
  while (times > 0) {
    BlockCache::Transition* transition = cache_->follow_block(block, state_, scratch_);
    if (transition == nullptr) return interpret(program_.blocks[block], times);
    const std::uint64_t turns = transition->exit == state_ ? times : 1;
    take(*transition, turns);
    times -= turns;
  }
}

std::uint64_t BlockTimer::finished() const {
  if (!cached_) return issue_.finished();
  const std::vector<std::uint32_t>& relative = cache_->state(state_);
  const bool placed = Issue::placed(relative.back()).slots != 0;
  return cycle_ + std::max<std::uint64_t>(relative[relative.size() - 2], placed ? 1 : 0);
}

void BlockTimer::close_cycle() {
  leave_cache();
  issue_.close_cycle();
}

}  // namespace npulab::core
