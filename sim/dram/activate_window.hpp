// SPDX-License-Identifier: Apache-2.0
// When a channel may open a row: tRRD between any two activates, at most four in every window of tFAW.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace npulab::dram {

struct ActivateTiming {
  std::uint64_t rrd_ps = 0;
  std::uint64_t faw_ps = 0;
};

// Remembers the latest activates in order of time. An activate may be put between earlier granted ones that
// wait for their banks, but not before the fourth oldest that is remembered.
class ActivateWindow {
 public:
  // Earliest time from `ready_ps` on.
  std::uint64_t find(const ActivateTiming& timing, std::uint64_t ready_ps) const {
    if (count_ == 0) return ready_ps;
    const bool apart = ready_ps >= at(count_ - 1) + timing.rrd_ps;
    const bool few = count_ < kInWindow || ready_ps >= at(count_ - kInWindow) + timing.faw_ps;
    return apart && few ? ready_ps : find_among(timing, ready_ps);
  }

  void insert(std::uint64_t at_ps) {
    if (count_ == kRemembered)
      first_ = (first_ + 1) % kRemembered;
    else
      ++count_;
    unsigned place = count_ - 1;
    for (; place > 0 && at(place - 1) > at_ps; --place) at(place) = at(place - 1);
    at(place) = at_ps;
  }

 private:
  static constexpr unsigned kInWindow = 4;
  static constexpr unsigned kRemembered = 8;

  std::uint64_t at(unsigned i) const { return times_[(first_ + i) % kRemembered]; }
  std::uint64_t& at(unsigned i) { return times_[(first_ + i) % kRemembered]; }

  std::uint64_t find_among(const ActivateTiming& timing, std::uint64_t time) const {
    if (count_ == kRemembered) time = std::max(time, at(kInWindow - 1));
    unsigned place = count_;  // activates at or before `time`
    while (place > 0 && at(place - 1) > time) --place;
    while (true) {
      while (place < count_ && at(place) <= time) ++place;
      if (place > 0 && time < at(place - 1) + timing.rrd_ps)
        time = at(place - 1) + timing.rrd_ps;
      else if (place < count_ && at(place) < time + timing.rrd_ps)
        time = at(place) + timing.rrd_ps;
      else if (crowded(timing, time, place))
        time = place < count_ ? at(place) + timing.rrd_ps : at(place - kInWindow) + timing.faw_ps;
      else
        return time;
    }
  }

  // Whether some window would hold five activates with one more at `time`, after `place` others.
  bool crowded(const ActivateTiming& timing, std::uint64_t time, unsigned place) const {
    const unsigned lowest = place < kInWindow ? 0 : place - kInWindow;
    for (unsigned first = lowest; first <= place && first + kInWindow <= count_; ++first) {
      const std::uint64_t from = first < place ? at(first) : time;
      const unsigned last = first + kInWindow;  // counted with the new one
      const std::uint64_t to = last == place ? time : at(last - 1);
      if (to < from + timing.faw_ps) return true;
    }
    return false;
  }

  std::array<std::uint64_t, kRemembered> times_{};
  unsigned first_ = 0;
  unsigned count_ = 0;
};

}  // namespace npulab::dram
