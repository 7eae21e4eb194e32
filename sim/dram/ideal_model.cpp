// SPDX-License-Identifier: Apache-2.0
// The ideal memory.
#include "sim/dram/ideal_model.hpp"

namespace npulab::dram {

IdealModel::IdealModel(const config::GmConfig& config)
    : timing_{Rate(1, bytes_per_second(config.bandwidth_gbps > 0 ? config.bandwidth_gbps
                                                                 : config.channel_gbps * config.channels))},
      latency_ps_(ps_from_ns(config.latency_ns)) {
  reset(0);
}

void IdealModel::reset(std::uint64_t start_ps) {
  bus_.reset(start_ps);
  stats_ = {};
  stats_.channels.resize(1);
}

std::uint64_t IdealModel::access(std::uint64_t, std::uint32_t bytes, bool write, std::uint64_t at_ps) {
  if (bytes == 0) return at_ps;
  ++stats_.requests;
  (write ? stats_.write_bytes : stats_.read_bytes) += bytes;
  ChannelStats& channel = stats_.channels.front();
  (write ? channel.write_bytes : channel.read_bytes) += bytes;
  channel.moved_bytes += bytes;
  // One direction for all: the bus is shared by reads and writes.
  const DataBus::Slot slot = bus_.find(timing_, at_ps, bytes, false);
  bus_.take(timing_, slot, false);
  return slot.free.ceil() + latency_ps_;
}

const GmStats& IdealModel::stats() {
  ChannelStats& channel = stats_.channels.front();
  channel.busy_ps = timing_.interval.ps(channel.moved_bytes);
  return stats_;
}

}  // namespace npulab::dram
