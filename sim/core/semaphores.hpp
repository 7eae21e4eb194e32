// SPDX-License-Identifier: Apache-2.0
// The counting semaphores of all cores of a launch. Engines run ahead of each other and tell what they do
// early, so releases and acquisitions are worked out in the order of their times, whatever the order of
// telling.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/error.hpp"
#include "sim/core/clock.hpp"
#include "sim/core/diagnostics.hpp"

namespace npulab::core {

struct SemaphoreId {
  std::uint32_t core = 0;  // number in the launch
  std::uint32_t id = 0;
};

class Semaphores {
 public:
  struct Release {
    SemaphoreId semaphore;
    std::uint32_t by = 1;
    std::uint64_t ps = 0;    // when the count is there
    std::uint32_t core = 0;  // that releases, and its engine: ties of one time are counted in this order
    std::uint8_t engine = 0;
    Where where;
  };
  struct Acquire {
    SemaphoreId semaphore;
    std::uint32_t by = 1;
    std::uint64_t ps = 0;     // when the engine begins to wait
    std::uint8_t engine = 0;  // of the semaphore's own core; ties of one time are served in this order
    Where where;
  };
  struct Grant {
    SemaphoreId semaphore;
    std::uint8_t engine = 0;
    std::uint64_t ps = 0;
  };
  struct Rules {
    std::uint32_t count = 0;  // semaphores of the core
    std::uint32_t most = 0;
    std::uint32_t initial = 0;
  };

  explicit Semaphores(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // The next core of the launch.
  void add_core(const Rules& rules, Clock clock);
  void reset();
  // Whether the core has this semaphore.
  std::uint32_t count(std::uint32_t core) const {
    return static_cast<std::uint32_t>(cores_[core].items.size());
  }

  std::uint32_t most(std::uint32_t core) const { return cores_[core].rules.most; }

  void release(Release release);
  void acquire(Acquire acquire);
  // The time of the first event that was told and not worked out.
  std::optional<std::uint64_t> next() const;
  // Works out everything before `end_ps`. Acquisitions of one semaphore are served in the order of their
  // times, one that asks for more than is there does not keep later ones back; at one time those that can be
  // served come before what is released then. Finding "semaphore-overflow": a count above the largest.
  std::vector<Grant> work_out(std::uint64_t end_ps);
  // At the end of a run. Finding "semaphore-unbalanced": a count that is not the initial one.
  void finish();

  std::uint32_t value(SemaphoreId semaphore) const;
  std::optional<Where> last_release(SemaphoreId semaphore) const;

 private:
  struct Item {
    std::uint32_t value = 0;
    std::uint64_t counted_ps = 0;  // of the last release
    std::vector<Acquire> waiting;
    Where last;  // of the last release and the one before
    Where before;
    std::uint64_t releases = 0;
  };
  struct Core {
    Rules rules;
    Clock clock;
    std::vector<Item> items;
  };
  struct Moment {
    std::vector<Release> releases;
    std::vector<Acquire> acquires;
  };

  Item& item(SemaphoreId semaphore) { return cores_[semaphore.core].items[semaphore.id]; }
  void serve(SemaphoreId semaphore, std::vector<Grant>& grants);
  void count_in(const Release& release);
  void check_most(const Release& release);

  Diagnostics& diagnostics_;
  std::vector<Core> cores_;
  std::map<std::uint64_t, Moment> moments_;  // by time
};

}  // namespace npulab::core
