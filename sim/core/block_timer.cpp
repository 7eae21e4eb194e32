// SPDX-License-Identifier: Apache-2.0
#include "sim/core/block_timer.hpp"

namespace npulab::core {

namespace {

// Waits of an instruction: how far the stream's cycle moved for it.
std::uint64_t issue_counting(Issue& issue, const MicroOp& op, std::uint32_t extra, std::uint64_t& wait) {
  const std::uint64_t before = issue.cycle();
  const std::uint64_t start = issue.issue(op.timing, extra);
  wait = start - before;
  return start;
}

}  // namespace

std::size_t BlockCache::Hash::operator()(const std::vector<std::uint32_t>& relative) const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  std::size_t i = 0;
  for (; i + 2 <= relative.size(); i += 2) {
    const std::uint64_t pair = std::uint64_t{relative[i]} << 32U | relative[i + 1];
    hash = (hash ^ pair) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  }
  for (; i < relative.size(); ++i) hash = (hash ^ relative[i]) * 0x100000001b3U;
  return static_cast<std::size_t>(hash);
}

BlockCache::State BlockCache::intern(const std::vector<std::uint32_t>& relative) {
  const auto known = numbers_.find(relative);
  if (known != numbers_.end()) return known->second;
  if (states_.size() == kMostStates) return kNone;
  const auto number = static_cast<State>(states_.size());
  const auto added = numbers_.emplace(relative, number).first;
  states_.push_back(&added->first);
  return number;
}

BlockCache::Transition* BlockCache::follow(std::uint32_t block, State entry, Issue& scratch) {
  const std::uint64_t key = std::uint64_t{block} << 32U | entry;
  const auto known = transitions_.find(key);
  if (known != transitions_.end()) return &known->second;

  // Far from 0, so that times before the entry (all clamped) stay representable.
  constexpr std::uint64_t kOrigin = 1U << 20U;
  scratch.restore(kOrigin, state(entry));
  scratch.stats() = {};
  Transition transition;
  const Block& b = program_.blocks[block];
  for (std::uint32_t pc = b.first; pc < b.first + b.count; ++pc) {
    std::uint64_t wait = 0;
    issue_counting(scratch, program_.ops[pc], 0, wait);
    if (wait != 0) transition.waits.emplace_back(pc, static_cast<std::uint32_t>(wait));
  }
  std::vector<std::uint32_t> relative;
  scratch.save(relative);
  transition.exit = intern(relative);
  if (transition.exit == kNone) return nullptr;
  transition.cycles = scratch.cycle() - kOrigin;
  transition.stats = scratch.stats();
  return &transitions_.emplace(key, std::move(transition)).first->second;
}

void BlockCache::settle(LineCounters& lines) {
  for (auto& [key, transition] : transitions_) {
    if (transition.hits == 0) continue;
    const Block& block = program_.blocks[key >> 32U];
    for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc) lines.starts[pc] += transition.hits;
    for (const auto& [pc, wait] : transition.waits) lines.waits[pc] += std::uint64_t{wait} * transition.hits;
    transition.hits = 0;
  }
}

BlockTimer::BlockTimer(const DecodedProgram& program, const config::CoreTypeConfig& core, BlockCache* cache,
                       LineCounters& lines)
    : program_(program), cache_(cache), lines_(lines), issue_(core), scratch_(core) {}

void BlockTimer::reset(std::uint64_t cycle) {
  cached_ = false;
  issue_.reset(cycle);
}

void BlockTimer::leave_cache() {
  if (!cached_) return;
  issue_.restore(cycle_, cache_->state(state_));
  cached_ = false;
}

std::uint64_t BlockTimer::issue(std::uint32_t pc, std::uint32_t extra) {
  leave_cache();
  std::uint64_t wait = 0;
  const std::uint64_t start = issue_counting(issue_, program_.ops[pc], extra, wait);
  ++lines_.starts[pc];
  lines_.waits[pc] += wait;
  return start;
}

void BlockTimer::wait_until(std::uint64_t cycle, report::Stall cause) {
  if (cycle <= this->cycle()) return;
  leave_cache();
  issue_.wait_until(cycle, cause);
}

void BlockTimer::interpret(const Block& block, std::uint64_t times) {
  leave_cache();
  for (std::uint64_t i = 0; i < times; ++i)
    for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc) issue(pc);
}

void BlockTimer::run(std::uint32_t block, std::uint64_t times) {
  if (times == 0) return;
  if (cache_ == nullptr) return interpret(program_.blocks[block], times);
  if (!cached_) {
    issue_.save(relative_);
    const BlockCache::State number = cache_->intern(relative_);
    if (number == BlockCache::kNone) return interpret(program_.blocks[block], times);
    state_ = number;
    cycle_ = issue_.cycle();
    cached_ = true;
  }
  while (times > 0) {
    BlockCache::Transition* transition = cache_->follow(block, state_, scratch_);
    if (transition == nullptr) return interpret(program_.blocks[block], times);
    const std::uint64_t turns = transition->exit == state_ ? times : 1;
    cycle_ += transition->cycles * turns;
    issue_.stats().scalar.add(transition->stats.scalar, turns);
    issue_.stats().vector.add(transition->stats.vector, turns);
    transition->hits += turns;
    state_ = transition->exit;
    times -= turns;
  }
}

std::uint64_t BlockTimer::finished() {
  leave_cache();
  return issue_.finished();
}

void BlockTimer::close_cycle() {
  leave_cache();
  issue_.close_cycle();
}

}  // namespace npulab::core
