// SPDX-License-Identifier: Apache-2.0
// Planning of runs of bursts on banks and buses.
#include "sim/dram/dram_model.hpp"

#include <algorithm>
#include <limits>

namespace npulab::dram {

namespace {

constexpr std::uint64_t kNoRow = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max() / 2;

BusTiming bus_timing(const config::GmConfig& config) {
  const Rate burst(config.burst_bytes, bytes_per_second(config.channel_gbps));
  const std::uint64_t ccd_ps = ps_from_ns(config.t_ccd_ns);
  const std::uint64_t burst_ps = burst.ps(1);
  BusTiming timing{ccd_ps > burst_ps ? Rate(ccd_ps) : burst};
  timing.tail_ps = ccd_ps > burst_ps ? ccd_ps - burst_ps : 0;
  timing.write_to_read_ps = ps_from_ns(config.t_wtr_ns) + ps_from_ns(config.t_cl_ns);
  timing.read_to_write_ps = ps_from_ns(config.t_rtw_ns);
  return timing;
}

}  // namespace

DramModel::DramModel(const config::GmConfig& config)
    : map_(config),
      burst_bytes_(config.burst_bytes),
      banks_per_channel_(config.banks),
      bus_(bus_timing(config)),
      activate_{ps_from_ns(config.t_rrd_ns), ps_from_ns(config.t_faw_ns)},
      burst_(config.burst_bytes, bytes_per_second(config.channel_gbps)),
      peak_(1, bytes_per_second(config.channel_gbps) * config.channels),
      latency_ps_(ps_from_ns(config.latency_ns)),
      rcd_ps_(ps_from_ns(config.t_rcd_ns)),
      rp_ps_(ps_from_ns(config.t_rp_ns)),
      cl_ps_(ps_from_ns(config.t_cl_ns)),
      ras_ps_(ps_from_ns(config.t_ras_ns)),
      wr_ps_(ps_from_ns(config.t_wr_ns)),
      refi_ps_(ps_from_ns(config.t_refi_ns)),
      rfc_ps_(ps_from_ns(config.t_rfc_ns)),
      refresh_(config.refresh),
      page_policy_(config.page_policy),
      channels_(config.channels),
      banks_(std::size_t{config.channels} * config.banks) {
  reset(0);
}

void DramModel::reset(std::uint64_t start_ps) {
  const bool refreshes = refresh_ != config::Refresh::none;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    Channel& channel = channels_[c];
    channel = {};
    channel.bus.reset(start_ps);
    channel.refresh_due_ps = refreshes ? start_ps + refi_ps_ : kNever;
    for (std::uint64_t b = 0; b < banks_per_channel_; ++b) {
      const std::uint64_t phase = b == 0 ? refi_ps_ : b * refi_ps_ / banks_per_channel_;
      banks_[c * banks_per_channel_ + b] = {kNoRow, 0, start_ps, refreshes ? start_ps + phase : kNever};
    }
  }
  following_ = kNowhere;
  stats_ = {};
  stats_.channels.resize(channels_.size());
}

inline DramModel::Plan DramModel::plan(const Channel& channel, const Bank& bank, std::uint64_t row,
                                       const Run& run) const {
  const auto slot = [&](std::uint64_t column_ps) {
    return channel.bus.find(bus_, column_ps + cl_ps_, run.bursts, run.write);
  };
  if (bank.row == row) return {0, false, slot(std::max(run.at_ps, bank.column_ps))};
  const std::uint64_t free_ps = std::max(run.at_ps, bank.free_ps) + (bank.row == kNoRow ? 0 : rp_ps_);
  const std::uint64_t activate_ps = channel.activates.find(activate_, free_ps);
  return {activate_ps, true, slot(activate_ps + rcd_ps_)};
}

DramModel::Plan DramModel::plan_after_refresh(Channel& channel, Bank& bank, std::uint64_t row, const Run& run,
                                              const Plan& undisturbed) {
  refresh(channel, bank, undisturbed.slot.start.ps - cl_ps_);
  const Plan plan = this->plan(channel, bank, row, run);
  const std::uint64_t start_ps = std::max(plan.slot.start.ps, undisturbed.slot.start.ps);
  channel.stats.refresh_stall_ps += start_ps - undisturbed.slot.start.ps;
  return plan;
}

// The refreshes that fell due by `column_ps`.
void DramModel::refresh(Channel& channel, Bank& bank, std::uint64_t column_ps) {
  std::uint64_t& due = refresh_due(channel, bank);
  const std::uint64_t more = (column_ps - due) / refi_ps_;
  const std::uint64_t last = due + more * refi_ps_;
  due = last + refi_ps_;
  channel.stats.refreshes += more + 1;

  const bool all = refresh_ == config::Refresh::all_bank;
  const auto channel_index = static_cast<std::size_t>(&channel - channels_.data());
  Bank* const first = all ? &banks_[channel_index * banks_per_channel_] : &bank;
  Bank* const end = first + (all ? banks_per_channel_ : 1);
  std::uint64_t begin = last;
  for (const Bank* b = first; b != end; ++b) begin = std::max(begin, b->free_ps);
  for (Bank* b = first; b != end; ++b) {
    b->row = kNoRow;
    b->free_ps = begin + rfc_ps_;
  }
}

void DramModel::activate(Channel& channel, Bank& bank, std::uint64_t row, std::uint64_t at_ps) const {
  ++(bank.row == kNoRow ? channel.stats.row_misses : channel.stats.row_conflicts);
  channel.activates.insert(at_ps);
  bank.row = row;
  bank.column_ps = at_ps + rcd_ps_;
  bank.free_ps = at_ps + ras_ps_;
}

// Bursts of an open row that follow what the bus carries already; 0 when it is not that easy.
inline std::uint64_t DramModel::run_on(Channel& channel, Bank& bank, std::uint64_t row,
                                       const Run& run) const {
  if (bank.row != row) return 0;
  const std::uint64_t ready_ps = std::max(run.at_ps, bank.column_ps) + cl_ps_;
  const std::uint64_t due_ps = refresh_due(channel, bank) + cl_ps_;
  const std::uint64_t free_ps = channel.bus.take_next(bus_, ready_ps, run.bursts, run.write, due_ps);
  return free_ps == 0 ? 0 : free_ps - bus_.tail_ps;
}

std::uint64_t DramModel::run_planned(Channel& channel, Bank& bank, std::uint64_t row, const Run& run) {
  Plan plan = this->plan(channel, bank, row, run);
  if (plan.slot.start.ps - cl_ps_ >= refresh_due(channel, bank))
    plan = plan_after_refresh(channel, bank, row, run, plan);
  if (plan.activate) activate(channel, bank, row, plan.activate_ps);

  channel.bus.take(bus_, plan.slot, run.write);
  channel.stats.turnaround_ps += plan.slot.turnaround_ps;
  return plan.slot.free.ceil() - bus_.tail_ps;
}

inline std::uint64_t DramModel::run(Channel& channel, Bank& bank, std::uint64_t row, const Run& run) {
  std::uint64_t data_end = run_on(channel, bank, row, run);
  if (data_end == 0) data_end = run_planned(channel, bank, row, run);
  channel.stats.bursts += run.bursts;
  bank.free_ps = std::max(bank.free_ps, run.write ? data_end + wr_ps_ : data_end - cl_ps_);
  if (page_policy_ == config::PagePolicy::closed) {
    bank.row = kNoRow;
    bank.free_ps += rp_ps_;
  }
  return data_end;
}

std::uint64_t DramModel::access(std::uint64_t address, std::uint32_t bytes, bool write, std::uint64_t at_ps) {
  if (bytes == 0) return at_ps;
  ++stats_.requests;
  (write ? stats_.write_bytes : stats_.read_bytes) += bytes;
  std::uint64_t done = 0;
  std::uint64_t left = bytes;
  Location where = address == following_ ? map_.next(last_, last_address_) : map_.locate(address);
  while (true) {
    const std::uint64_t n = std::min(where.run_bytes, left);
    const std::uint64_t last = burst_bytes_.divide(where.column + n - 1).quotient;
    const std::uint64_t bursts = last - burst_bytes_.divide(where.column).quotient + 1;
    Channel& channel = channels_[where.channel];
    Bank& bank = banks_[std::size_t{where.channel} * banks_per_channel_ + where.bank];
    (write ? channel.stats.write_bytes : channel.stats.read_bytes) += n;
    done = std::max(done, run(channel, bank, where.row, {bursts, write, at_ps}));
    if (n == left) {
      last_ = where;
      last_address_ = address;
      following_ = n == where.run_bytes ? address + n : kNowhere;
      return done + latency_ps_;
    }
    where = map_.next(where, address);
    address += n;
    left -= n;
  }
}

const GmStats& DramModel::stats() {
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    ChannelStats& channel = stats_.channels[c];
    channel = channels_[c].stats;
    channel.activates = channel.row_misses + channel.row_conflicts;
    channel.row_hits = channel.bursts - channel.activates;
    channel.moved_bytes = channel.bursts * burst_bytes_.divisor();
    channel.busy_ps = burst_.ps(channel.bursts);
  }
  return stats_;
}

}  // namespace npulab::dram
