// SPDX-License-Identifier: Apache-2.0
// The data bus of one channel: when a run of bursts gets it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/dram/rate.hpp"

namespace npulab::dram {

struct BusTiming {
  Rate interval;                       // from one burst (unit) of a run to the next
  std::uint64_t tail_ps = 0;           // part of the interval in which the bus carries no data
  std::uint64_t write_to_read_ps = 0;  // last written data to first read data
  std::uint64_t read_to_write_ps = 0;  // last read data to first written data
  std::uint64_t shortest_gap_ps = interval.ps(1);

  std::uint64_t turnaround_ps(bool from_write) const {
    return from_write ? write_to_read_ps : read_to_write_ps;
  }
};

// A run takes the first time from which it is ready and the bus is free. Time that the bus stands still
// because a run waits for its bank stays open to later calls of the same direction, as in a controller that
// serves first whatever is ready first. The latest few such gaps are remembered; of one that is used in part,
// the larger rest.
class DataBus {
 public:
  struct Slot {
    Instant start;
    Instant free;                     // the bus may go on
    std::uint64_t turnaround_ps = 0;  // waited for the direction to change
    int gap = -1;
  };

  void reset(std::uint64_t at_ps) {
    *this = DataBus{};
    free_.ps = at_ps;
  }

  Slot find(const BusTiming& timing, std::uint64_t ready_ps, std::uint64_t units, bool write) const {
    if (ready_ps < gaps_end_) {
      const Slot slot = find_gap(timing, ready_ps, units, write);
      if (slot.gap >= 0) return slot;
    }
    return find_end(timing, ready_ps, units, write);
  }

  // The common case in one step: nothing to look for, no change of direction, data starts before `before_ps`.
  // Takes the slot that find() would give and returns when the bus is free again, or 0 without having done
  // anything.
  std::uint64_t take_next(const BusTiming& timing, std::uint64_t ready_ps, std::uint64_t units, bool write,
                          std::uint64_t before_ps) {
    const Instant start = ready_ps > free_.ps ? Instant{ready_ps, 0} : free_;
    if (ready_ps < gaps_end_ || write != last_write_ || start.ps >= before_ps) return 0;
    if (start.ps >= free_.ps + timing.shortest_gap_ps) return 0;
    free_ = timing.interval.after(start, units);
    return free_.ceil();
  }

  void take(const BusTiming& timing, const Slot& slot, bool write) {
    if (slot.gap >= 0) {
      fill(timing, static_cast<unsigned>(slot.gap), slot.start.ps, slot.free.ceil());
      return;
    }
    if (slot.start.ps >= free_.ps + timing.shortest_gap_ps) leave_gap(timing, slot.start.ps, write);
    free_ = slot.free;
    last_write_ = write;
    used_ = true;
  }

 private:
  static constexpr unsigned kGaps = 8;

  struct Gap {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool write = false;
  };

  // Gaps in order of time.
  const Gap& gap(unsigned i) const { return gaps_[(first_gap_ + i) % kGaps]; }
  Gap& gap(unsigned i) { return gaps_[(first_gap_ + i) % kGaps]; }

  // Behind everything that was planned.
  Slot find_end(const BusTiming& timing, std::uint64_t ready_ps, std::uint64_t units, bool write) const {
    Slot slot;
    slot.start = free_;
    if (last_write_ != write && used_) turn(timing, ready_ps, slot);
    if (ready_ps > slot.start.ps) slot.start = {ready_ps, 0};
    slot.free = timing.interval.after(slot.start, units);
    return slot;
  }

  Slot find_gap(const BusTiming& timing, std::uint64_t ready_ps, std::uint64_t units, bool write) const {
    Slot slot;
    for (unsigned i = gap_count_; i-- > 0 && ready_ps < gap(i).end;) {
      if (gap(i).write != write) continue;
      const Instant start{std::max(ready_ps, gap(i).begin), 0};
      const Instant free = timing.interval.after(start, units);
      if (free.ceil() <= gap(i).end) slot = {start, free, 0, static_cast<int>(i)};
    }
    return slot;
  }

  void turn(const BusTiming& timing, std::uint64_t ready_ps, Slot& slot) const {
    const std::uint64_t turned = free_.ceil() - timing.tail_ps + timing.turnaround_ps(last_write_);
    if (turned <= slot.start.ps) return;
    const std::uint64_t from = std::max(ready_ps, free_.ceil());
    slot.turnaround_ps = turned > from ? turned - from : 0;
    slot.start = {turned, 0};
  }

  // Takes [begin, end) out of gap i; what remains on both sides stays open.
  void fill(const BusTiming& timing, unsigned i, std::uint64_t begin_ps, std::uint64_t end_ps) {
    const Gap before{gap(i).begin, begin_ps, gap(i).write};
    const Gap after{end_ps, gap(i).end, gap(i).write};
    const bool keep_before = before.end - before.begin >= timing.shortest_gap_ps;
    const bool keep_after = after.end - after.begin >= timing.shortest_gap_ps;
    if (keep_before && keep_after) {
      // The oldest is forgotten when there is no room.
      if (gap_count_ == kGaps && i == 0) {
        gap(0) = after;
        return;
      }
      if (gap_count_ == kGaps) {
        for (unsigned k = 0; k + 1 < i; ++k) gap(k) = gap(k + 1);
        --i;
      } else {
        for (unsigned k = gap_count_++; k > i + 1; --k) gap(k) = gap(k - 1);
      }
      gap(i) = before;
      gap(i + 1) = after;
    } else if (keep_before || keep_after) {
      gap(i) = keep_before ? before : after;
    } else {
      for (unsigned k = i; k > 0; --k) gap(k) = gap(k - 1);
      first_gap_ = (first_gap_ + 1) % kGaps;
      --gap_count_;
    }
    gaps_end_ = gap_count_ == 0 ? 0 : gap(gap_count_ - 1).end;
  }

  // Between the last run and one that starts later: in the last one's direction.
  void leave_gap(const BusTiming& timing, std::uint64_t start_ps, bool write) {
    const bool direction = used_ ? last_write_ : write;
    const std::uint64_t begin = free_.ceil();
    const std::uint64_t turn_ps = direction != write ? timing.turnaround_ps(direction) : 0;
    if (start_ps < begin + turn_ps + timing.shortest_gap_ps) return;
    gaps_end_ = start_ps - turn_ps;
    if (gap_count_ == kGaps)
      first_gap_ = (first_gap_ + 1) % kGaps;
    else
      ++gap_count_;
    gap(gap_count_ - 1) = {begin, gaps_end_, direction};
  }

  Instant free_;
  bool used_ = false;
  bool last_write_ = false;
  unsigned first_gap_ = 0;
  unsigned gap_count_ = 0;
  std::uint64_t gaps_end_ = 0;  // of the last gap, 0 without any
  std::array<Gap, kGaps> gaps_{};
};

}  // namespace npulab::dram
