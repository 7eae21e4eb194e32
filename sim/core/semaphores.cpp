// SPDX-License-Identifier: Apache-2.0
#include "sim/core/semaphores.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace npulab::core {

void Semaphores::add_core(const Rules& rules, Clock clock) {
  cores_.push_back({rules, clock, std::vector<Item>(rules.count)});
}

void Semaphores::reset() {
  moments_.clear();
  for (Core& core : cores_) {
    core.items.assign(core.rules.count, Item{});
    for (Item& one : core.items) one.value = core.rules.initial;
  }
}

void Semaphores::release(Release release) {
  moments_[release.ps].releases.push_back(std::move(release));
}

void Semaphores::acquire(Acquire acquire) {
  moments_[acquire.ps].acquires.push_back(std::move(acquire));
}

std::optional<std::uint64_t> Semaphores::next() const {
  if (moments_.empty()) return std::nullopt;
  return moments_.begin()->first;
}

std::vector<Semaphores::Grant> Semaphores::work_out(std::uint64_t end_ps) {
  std::vector<Grant> grants;
  while (!moments_.empty() && moments_.begin()->first < end_ps) {
    Moment moment = std::move(moments_.begin()->second);
    moments_.erase(moments_.begin());
    std::stable_sort(moment.acquires.begin(), moment.acquires.end(), [](const Acquire& a, const Acquire& b) {
      return std::tuple(a.semaphore.core, a.semaphore.id, a.engine) <
             std::tuple(b.semaphore.core, b.semaphore.id, b.engine);
    });
    std::stable_sort(moment.releases.begin(), moment.releases.end(), [](const Release& a, const Release& b) {
      return std::tuple(a.semaphore.core, a.semaphore.id, a.core, a.engine) <
             std::tuple(b.semaphore.core, b.semaphore.id, b.core, b.engine);
    });
    for (Acquire& one : moment.acquires) {
      const SemaphoreId semaphore = one.semaphore;
      item(semaphore).waiting.push_back(std::move(one));
      serve(semaphore, grants);
    }
    for (const Release& one : moment.releases) {
      count_in(one);
      serve(one.semaphore, grants);
      check_most(one);
    }
  }
  return grants;
}

void Semaphores::serve(SemaphoreId semaphore, std::vector<Grant>& grants) {
  Item& one = item(semaphore);
  for (std::size_t i = 0; i < one.waiting.size();) {
    const Acquire& wish = one.waiting[i];
    if (wish.by > one.value) {
      ++i;
      continue;
    }
    one.value -= wish.by;
    grants.push_back({semaphore, wish.engine, std::max(wish.ps, one.counted_ps)});
    one.waiting.erase(one.waiting.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Semaphores::count_in(const Release& release) {
  Item& one = item(release.semaphore);
  one.value += release.by;
  one.counted_ps = std::max(one.counted_ps, release.ps);
  one.before = std::exchange(one.last, release.where);
  ++one.releases;
}

void Semaphores::check_most(const Release& release) {
  const Item& one = item(release.semaphore);
  const Core& core = cores_[release.semaphore.core];
  if (one.value <= core.rules.most) return;
  const std::string before = one.releases > 1
                                 ? fmt::format("the release before it stands at {}", to_string(one.before))
                                 : fmt::format("it began the run at {}", core.rules.initial);
  diagnostics_.add(
      Severity::error, "semaphore-overflow",
      fmt::format("semaphore {} of core {} grows to {} in cycle {} by this release on core {}, and "
                  "counts to {} at most; {}",
                  release.semaphore.id, release.semaphore.core, one.value, core.clock.cycle(release.ps),
                  release.core, core.rules.most, before),
      release.where, release.core);
}

void Semaphores::finish() {
  for (std::size_t number = 0; number < cores_.size(); ++number) {
    const Core& core = cores_[number];
    for (std::size_t id = 0; id < core.items.size(); ++id) {
      const Item& one = core.items[id];
      if (one.value == core.rules.initial) continue;
      diagnostics_.add(Severity::warning, "semaphore-unbalanced",
                       fmt::format("semaphore {} of core {} began at {} and ends at {}: releases and "
                                   "acquisitions do not match",
                                   id, number, core.rules.initial, one.value),
                       one.last, static_cast<std::uint32_t>(number));
    }
  }
}

std::uint32_t Semaphores::value(SemaphoreId semaphore) const {
  return cores_[semaphore.core].items[semaphore.id].value;
}

std::optional<Where> Semaphores::last_release(SemaphoreId semaphore) const {
  const Item& one = cores_[semaphore.core].items[semaphore.id];
  if (one.releases == 0) return std::nullopt;
  return one.last;
}

}  // namespace npulab::core
