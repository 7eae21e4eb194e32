// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/flag_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npulab::test {

FlagPlanner::FlagPlanner(const isa::Target& target, bool queued_vector)
    : target_(target),
      queued_vector_(queued_vector),
      known_(target.engines.size()),
      done_(target.engines.size()) {}

bool FlagPlanner::legal(unsigned source, unsigned destination) const {
  return std::any_of(target_.flag_pairs.begin(), target_.flag_pairs.end(),
                     [&](const auto& pair) { return pair.first == source && pair.second == destination; });
}

bool FlagPlanner::knows(unsigned engine, const Past& past) const {
  if (past.engine == engine || (in_step(engine) && in_step(past.engine))) return true;
  return known_[engine][past.engine] >= past.number;
}

void FlagPlanner::learn(Clock& clock, const Clock& from) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], from[i]);
}

void FlagPlanner::all_over() {
  for (Clock& clock : known_)
    for (std::size_t i = 0; i < done_.size(); ++i) clock[i] = done_[i];
  past_.clear();
}

void FlagPlanner::order(unsigned source, unsigned destination, std::vector<std::string>& lines) {
  for (unsigned id = 0; id < target_.flag_ids && legal(source, destination); ++id) {
    // The set must not come before the wait that took the flag last.
    const auto last = last_wait_.find({source, destination, id});
    const bool free =
        last == last_wait_.end() || in_step(destination) || known_[source][destination] >= last->second;
    if (!free) continue;
    const std::string flag =
        fmt::format("{}, {}, {}\n", target_.engines[source], target_.engines[destination], id);
    lines.push_back("set_flag " + flag);
    lines.push_back("wait_flag " + flag);
    learn(known_[source], known_[kScalar]);  // the set was issued behind all that the stream waited for
    ++done_[source];
    Clock told = known_[source];
    told[source] = done_[source];
    learn(known_[destination], told);
    learn(known_[destination], known_[kScalar]);
    last_wait_[{source, destination, id}] = ++done_[destination];
    if (in_step(destination)) {
      learn(known_[kScalar], told);
      if (!queued_vector_) learn(known_[kVector], told);
    }
    return;
  }
  lines.emplace_back("barrier all\n");
  all_over();
}

std::vector<std::string> FlagPlanner::before(unsigned engine, const std::vector<Access>& accesses) {
  std::vector<std::string> lines;
  learn(known_[engine], known_[kScalar]);
  for (std::size_t i = 0; i < past_.size(); ++i) {
    const Past past = past_[i];
    const bool meets = std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return access.memory == past.access.memory && access.first < past.access.end &&
             past.access.first < access.end && (access.write || past.access.write);
    });
    if (!meets || knows(engine, past)) continue;
    order(past.engine, engine, lines);
    if (past_.empty()) break;
  }
  ++done_[engine];
  for (const Access& access : accesses)
    if (access.first < access.end) past_.push_back({engine, done_[engine], access});
  return lines;
}

}  // namespace npulab::test
