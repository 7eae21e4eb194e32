// SPDX-License-Identifier: Apache-2.0
// Channels, banks and rows of a DRAM with the timing rules of its standard, worked out from time stamps
// alone.
#pragma once

#include <vector>

#include "sim/dram/activate_window.hpp"
#include "sim/dram/address_map.hpp"
#include "sim/dram/data_bus.hpp"
#include "sim/dram/gm_model.hpp"

namespace npulab::dram {

// A request is cut into runs: whole bursts of one row. The controller's policy:
// - Runs are planned in the order of calls; the bursts of one grant unit follow each other, which is what
// keeps rows
//   open. A run that waits for its bank does not hold back later ones: see DataBus and ActivateWindow. Rows
//   are opened while the bus carries data of other banks.
// - Column access: row open at least tRCD, data tCL after the command (reads and writes), bursts of a run a
// burst time
//   or tCCD apart. A read command follows the last written data by tWTR; written data the last read data by
//   tRTW.
// - Precharge: tRAS after the activate, tWR after the last written data, not before the last column command.
// The
//   closed policy precharges as soon as that allows, after each run.
// - Refresh k = 1, 2, … of bank b is due at k * tREFI + b * tREFI / banks after the start (all_bank: of all
// banks at
//   k * tREFI; bank 0's place in the turn at time 0 counts as done). It begins when accesses planned before
//   are over, includes the precharge, leaves the row closed and takes tRFC. Refreshes that fall due while
//   nothing accesses the bank cost nothing else. A refresh that falls due while a run waits for an earlier
//   one goes after the run.
class DramModel final : public GmModel {
 public:
  explicit DramModel(const config::GmConfig& config);

  std::uint64_t access(std::uint64_t address, std::uint32_t bytes, bool write, std::uint64_t at_ps) override;
  void reset(std::uint64_t start_ps) override;
  const GmStats& stats() override;
  std::uint64_t lower_bound_ps(std::uint64_t bytes) const override { return peak_.ps(bytes); }

 private:
  struct Bank {
    std::uint64_t row;
    std::uint64_t column_ps;  // open row: first column command
    std::uint64_t free_ps;    // open row: earliest precharge; closed: earliest activate
    std::uint64_t refresh_due_ps;
  };
  struct Channel {
    DataBus bus;
    ActivateWindow activates;
    std::uint64_t refresh_due_ps = 0;
    ChannelStats stats;
  };
  struct Run {
    std::uint64_t bursts;
    bool write;
    std::uint64_t at_ps;
  };
  struct Plan {
    std::uint64_t activate_ps;
    bool activate;
    DataBus::Slot slot;
  };

  std::uint64_t run(Channel& channel, Bank& bank, std::uint64_t row, const Run& run);
  std::uint64_t run_on(Channel& channel, Bank& bank, std::uint64_t row, const Run& run) const;
  std::uint64_t run_planned(Channel& channel, Bank& bank, std::uint64_t row, const Run& run);
  Plan plan(const Channel& channel, const Bank& bank, std::uint64_t row, const Run& run) const;
  Plan plan_after_refresh(Channel& channel, Bank& bank, std::uint64_t row, const Run& run,
                          const Plan& undisturbed);
  void activate(Channel& channel, Bank& bank, std::uint64_t row, std::uint64_t at_ps) const;
  void refresh(Channel& channel, Bank& bank, std::uint64_t column_ps);
  std::uint64_t& refresh_due(Channel& channel, Bank& bank) const {
    return refresh_ == config::Refresh::all_bank ? channel.refresh_due_ps : bank.refresh_due_ps;
  }

  AddressMap map_;
  Divider burst_bytes_;
  unsigned banks_per_channel_;
  BusTiming bus_;
  ActivateTiming activate_;
  Rate burst_;
  Rate peak_;
  std::uint64_t latency_ps_, rcd_ps_, rp_ps_, cl_ps_, ras_ps_, wr_ps_, refi_ps_, rfc_ps_;
  config::Refresh refresh_;
  config::PagePolicy page_policy_;
  std::vector<Channel> channels_;
  std::vector<Bank> banks_;  // channel by channel
  // The last run of the last request, and the address behind it where that is a run of its own: requests
  // often follow each other.
  Location last_;
  std::uint64_t last_address_ = 0;
  std::uint64_t following_ = 0;
  GmStats stats_;
};

}  // namespace npulab::dram
