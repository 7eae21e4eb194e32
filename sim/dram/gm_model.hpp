// SPDX-License-Identifier: Apache-2.0
// Device memory as time: what each request costs, and the statistics of it. Values live in
// memory::SparseMemory.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/config/machine.hpp"

namespace npulab::dram {

// One channel; the ideal model has one.
struct ChannelStats {
  std::uint64_t read_bytes = 0, write_bytes = 0;
  std::uint64_t bursts = 0, moved_bytes = 0;
  std::uint64_t row_hits = 0, row_misses = 0, row_conflicts = 0;
  std::uint64_t activates = 0;
  std::uint64_t refreshes = 0, refresh_stall_ps = 0;
  std::uint64_t turnaround_ps = 0;
  std::uint64_t busy_ps = 0;

  static constexpr auto fields() {
    using T = ChannelStats;
    using config::kNoLimit, config::number;
    return std::tuple{
        number("read_bytes", &T::read_bytes, "bytes", 0, kNoLimit, "bytes that reads asked for"),
        number("write_bytes", &T::write_bytes, "bytes", 0, kNoLimit, "bytes that writes asked for"),
        number("bursts", &T::bursts, "bursts", 0, kNoLimit, "bursts moved; none in the ideal model"),
        number("moved_bytes", &T::moved_bytes, "bytes", 0, kNoLimit,
               "bytes on the data bus: whole bursts, of which requests may use a part"),
        number("row_hits", &T::row_hits, "bursts", 0, kNoLimit, "bursts from a row that was open already"),
        number("row_misses", &T::row_misses, "bursts", 0, kNoLimit,
               "bursts that found no open row in their bank"),
        number("row_conflicts", &T::row_conflicts, "bursts", 0, kNoLimit,
               "bursts that had to close another row first; hits + misses + conflicts = bursts"),
        number("activates", &T::activates, "", 0, kNoLimit, "rows opened: misses + conflicts"),
        number("refreshes", &T::refreshes, "", 0, kNoLimit,
               "refreshes up to the last access: of banks (per_bank) or of channels (all_bank)"),
        number("refresh_stall_ps", &T::refresh_stall_ps, "ps", 0, kNoLimit,
               "sum over runs of bursts: how much later their data came because of a refresh"),
        number("turnaround_ps", &T::turnaround_ps, "ps", 0, kNoLimit,
               "time that a data bus stood still between writes and reads while data was ready"),
        number("busy_ps", &T::busy_ps, "ps", 0, kNoLimit, "time that data was on the bus")};
  }
};

struct GmStats {
  std::uint64_t requests = 0;
  std::uint64_t read_bytes = 0, write_bytes = 0;  // as requested; the channels' sums are equal
  std::vector<ChannelStats> channels;

  ChannelStats total() const;
  std::uint64_t most_busy_ps() const;  // of the busiest channel
};

class GmModel {
 public:
  virtual ~GmModel() = default;

  // Time at which the last byte is there (read) or accepted (write), latency included, for a request that
  // arrives at `at_ps`; `at_ps` of successive calls may go back a little. A request of no bytes is answered
  // at once.
  virtual std::uint64_t access(std::uint64_t address, std::uint32_t bytes, bool write,
                               std::uint64_t at_ps) = 0;

  // Idle at `start_ps`, rows closed, statistics empty. Refreshes are counted from there.
  virtual void reset(std::uint64_t start_ps) = 0;

  virtual const GmStats& stats() = 0;

  // What `bytes` take at peak bandwidth, without latency.
  virtual std::uint64_t lower_bound_ps(std::uint64_t bytes) const = 0;
};

std::unique_ptr<GmModel> make_gm_model(const config::GmConfig& config);

}  // namespace npulab::dram
