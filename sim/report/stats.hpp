// SPDX-License-Identifier: Apache-2.0
// Counters that engines keep while they run: plain 64-bit integers, with the tables that name them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace npulab::report {

// Why an engine could not go on. One table: name and definition; reports, docs and checks follow it.
enum class Stall : std::uint8_t {
  dependency,
  port,
  bank_conflict,
  queue_full,
  flag,
  barrier,
  in_flight,
  latency,
  kCount
};
inline constexpr std::size_t kStallCount = static_cast<std::size_t>(Stall::kCount);

struct StallInfo {
  Stall stall;
  std::string_view name;
  std::string_view definition;
};

inline constexpr std::array<StallInfo, kStallCount> kStalls{{
    {Stall::dependency, "dependency", "an operand was not ready"},
    {Stall::port, "port",
     "the issue port was still taken by an instruction with an interval above 1; of a DMA engine, its port "
     "or "
     "that of the buffer of another core was at work for another copy"},
    {Stall::bank_conflict, "bank_conflict",
     "a local access touched one bank more often than its ports allow"},
    {Stall::queue_full, "queue_full", "the queue of the engine that the next instruction goes to was full"},
    {Stall::flag, "flag", "waited for a flag of another engine or for a semaphore"},
    {Stall::barrier, "barrier", "waited at a barrier, for a core to come or an engine to finish"},
    {Stall::in_flight, "in_flight", "as many requests as the path allows had no answer yet"},
    {Stall::latency, "latency", "everything was issued and the answers were still on their way"},
}};

constexpr bool stalls_in_order() {
  for (std::size_t i = 0; i < kStalls.size(); ++i)
    if (static_cast<std::size_t>(kStalls[i].stall) != i) return false;
  return true;
}
static_assert(stalls_in_order(), "rows of kStalls stand in the order of Stall");

// Cycles of one engine: busy + stalls + idle = cycles of the run.
struct EngineCycles {
  std::uint64_t busy = 0;
  std::array<std::uint64_t, kStallCount> stall{};

  std::uint64_t& operator[](Stall cause) { return stall[static_cast<std::size_t>(cause)]; }
  std::uint64_t accounted() const {
    std::uint64_t sum = busy;
    for (const std::uint64_t cycles : stall) sum += cycles;
    return sum;
  }
  void add(const EngineCycles& other, std::uint64_t times = 1) {
    busy += other.busy * times;
    for (std::size_t i = 0; i < stall.size(); ++i) stall[i] += other.stall[i] * times;
  }
  friend bool operator==(const EngineCycles&, const EngineCycles&) = default;
};

}  // namespace npulab::report
