// SPDX-License-Identifier: Apache-2.0
// Statistics of device memory and the choice of its model.
#include "sim/dram/gm_model.hpp"

#include <algorithm>

#include "sim/dram/dram_model.hpp"
#include "sim/dram/ideal_model.hpp"

namespace npulab::dram {

ChannelStats GmStats::total() const {
  ChannelStats sum;
  const auto add = [&sum](const ChannelStats& channel, const auto& field) {
    sum.*field.member += channel.*field.member;
  };
  for (const ChannelStats& channel : channels)
    std::apply([&](const auto&... field) { (add(channel, field), ...); }, ChannelStats::fields());
  return sum;
}

std::uint64_t GmStats::most_busy_ps() const {
  std::uint64_t most = 0;
  for (const ChannelStats& channel : channels) most = std::max(most, channel.busy_ps);
  return most;
}

std::unique_ptr<GmModel> make_gm_model(const config::GmConfig& config) {
  if (config.model == config::GmModel::ideal) return std::make_unique<IdealModel>(config);
  return std::make_unique<DramModel>(config);
}

}  // namespace npulab::dram
