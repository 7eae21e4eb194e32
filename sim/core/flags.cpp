// SPDX-License-Identifier: Apache-2.0
#include "sim/core/flags.hpp"

#include <fmt/core.h>

namespace npulab::core {

std::string Flags::name(FlagId flag) const {
  return fmt::format("{}>{} id {}", target_.engines[flag.source], target_.engines[flag.destination], flag.id);
}

void Flags::overflow(FlagId flag, std::uint32_t pc, std::uint64_t cycle) {
  diagnostics_.add(
      Severity::error, "flag-overflow",
      fmt::format("flag {} is set in cycle {} on core {} while it is still set ({} time{} at most); "
                  "wait for it first",
                  name(flag), cycle, core_, most_, most_ == 1 ? "" : "s"),
      place_(pc), core_);
}

void Flags::set(FlagId flag, std::uint64_t cycle, std::uint32_t pc) {
  Flag& f = flags_[index(flag)];
  // Set k overflows unless wait k - most was over by then. Waits told later are judged in take().
  if (f.set_count >= most_) {
    const std::uint64_t needed = f.set_count - most_;
    if (needed < f.wait_count) {
      const std::uint64_t oldest = f.wait_count - f.waits.size();
      if (needed >= oldest && f.waits[needed - oldest] > cycle) overflow(flag, pc, cycle);
    }
  }
  f.sets.push_back(cycle);
  ++f.set_count;
  f.set_at = pc;
}

std::optional<std::uint64_t> Flags::peek(FlagId flag) const {
  const Flag& f = flags_[index(flag)];
  if (f.sets.empty()) return std::nullopt;
  return f.sets.front();
}

void Flags::take(FlagId flag, std::uint64_t cycle) {
  Flag& f = flags_[index(flag)];
  // The set that may only come after this wait, if it was told already.
  if (f.sets.size() > most_ && f.sets[most_] < cycle) overflow(flag, f.set_at, f.sets[most_]);
  f.sets.erase(f.sets.begin());
  f.waits.push_back(cycle);
  if (f.waits.size() > most_) f.waits.erase(f.waits.begin());
  ++f.wait_count;
}

std::optional<Where> Flags::last_set(FlagId flag) const {
  const Flag& f = flags_[index(flag)];
  if (f.set_count == 0) return std::nullopt;
  return place_(f.set_at);
}

void Flags::finish() {
  for (std::size_t source = 0; source < target_.engines.size(); ++source) {
    for (std::size_t destination = 0; destination < target_.engines.size(); ++destination) {
      for (unsigned id = 0; id < target_.flag_ids; ++id) {
        const FlagId flag{static_cast<std::uint8_t>(source), static_cast<std::uint8_t>(destination), id};
        const Flag& f = flags_[index(flag)];
        if (f.sets.empty()) continue;
        if (f.sets.size() > most_) overflow(flag, f.set_at, f.sets[most_]);
        diagnostics_.add(
            Severity::error, "flag-unbalanced",
            fmt::format("flag {} on core {} was set {} times and waited for {} times: a set without its "
                        "wait is left over",
                        name(flag), core_, f.set_count, f.wait_count),
            place_(f.set_at), core_);
      }
    }
  }
}

}  // namespace npulab::core
