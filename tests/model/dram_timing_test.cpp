// SPDX-License-Identifier: Apache-2.0
// DRAM timing against times worked out by hand on a machine with round numbers.
#include <gtest/gtest.h>

#include "sim/dram/gm_model.hpp"

namespace npulab::dram {
namespace {

constexpr std::uint64_t kNs = 1000;

// One channel of 8 bytes per ns, so a burst takes 1 ns. Bank 0: rows of addresses 0, 512, …; bank 1: 256,
// 768, ….
config::GmConfig tiny() {
  config::GmConfig config;
  config.channels = 1;
  config.channel_gbps = 8;
  config.banks = 2;
  config.row_bytes = 256;
  config.burst_bytes = 8;
  config.interleave_bytes = 256;
  config.latency_ns = 20;
  config.t_rcd_ns = config.t_rp_ns = config.t_cl_ns = 10;
  config.t_ras_ns = 20;
  config.t_rrd_ns = config.t_faw_ns = config.t_ccd_ns = 0;
  config.t_wtr_ns = 8;
  config.t_rtw_ns = 4;
  config.t_wr_ns = 15;
  return config;
}

struct Bench {
  explicit Bench(const config::GmConfig& config) : model(make_gm_model(config)) {}

  std::uint64_t read(std::uint64_t address, std::uint64_t at_ns, std::uint32_t bytes = 8) {
    return model->access(address, bytes, false, at_ns * kNs);
  }
  std::uint64_t write(std::uint64_t address, std::uint64_t at_ns, std::uint32_t bytes = 8) {
    return model->access(address, bytes, true, at_ns * kNs);
  }
  ChannelStats total() { return model->stats().total(); }

  std::unique_ptr<GmModel> model;
};

TEST(Dram, first_access_opens_the_row) {
  Bench bench(tiny());
  // activate 0, column 10, data 20 to 21, latency 20
  EXPECT_EQ(bench.read(0, 0), 41 * kNs);
  EXPECT_EQ(bench.total().row_misses, 1U);
  EXPECT_EQ(bench.total().activates, 1U);
}

TEST(Dram, row_hit_needs_the_column_only) {
  Bench bench(tiny());
  bench.read(0, 0);
  EXPECT_EQ(bench.read(8, 0), 42 * kNs);      // the next burst on the bus
  EXPECT_EQ(bench.read(16, 100), 131 * kNs);  // column 100, data 110 to 111
  EXPECT_EQ(bench.total().row_hits, 2U);
  EXPECT_EQ(bench.total().activates, 1U);
}

TEST(Dram, bursts_of_one_request_follow_each_other) {
  Bench bench(tiny());
  EXPECT_EQ(bench.read(0, 0, 256), (20 + 32 + 20) * kNs);
  EXPECT_EQ(bench.total().bursts, 32U);
  EXPECT_EQ(bench.total().row_hits, 31U);
  EXPECT_EQ(bench.total().busy_ps, 32 * kNs);
}

TEST(Dram, partial_bursts_move_whole) {
  Bench bench(tiny());
  EXPECT_EQ(bench.read(7, 0, 2), (20 + 2 + 20) * kNs);
  EXPECT_EQ(bench.total().read_bytes, 2U);
  EXPECT_EQ(bench.total().moved_bytes, 16U);
}

TEST(Dram, miss_in_another_bank_overlaps) {
  Bench bench(tiny());
  bench.read(0, 0, 256);                                // data 20 to 52
  EXPECT_EQ(bench.read(256, 0, 256), (84 + 20) * kNs);  // activated at 0 too: data 52 to 84
  EXPECT_EQ(bench.total().row_misses, 2U);
  EXPECT_EQ(bench.total().row_conflicts, 0U);
}

TEST(Dram, row_conflict_waits_for_tras_then_precharges) {
  Bench bench(tiny());
  bench.read(0, 0);
  EXPECT_EQ(bench.read(512, 0), 71 * kNs);      // precharge 20, activate 30, column 40, data 50 to 51
  EXPECT_EQ(bench.read(1024, 200), 251 * kNs);  // precharge 200, activate 210, column 220, data 230
  EXPECT_EQ(bench.total().row_conflicts, 2U);
  EXPECT_EQ(bench.total().row_hits, 0U);
}

TEST(Dram, precharge_waits_for_the_last_column_command) {
  Bench bench(tiny());
  bench.read(0, 0, 256);                    // column commands until 42, data until 52
  EXPECT_EQ(bench.read(512, 0), 93 * kNs);  // precharge 42, activate 52, column 62, data 72 to 73
}

TEST(Dram, write_to_read_waits_twtr_then_tcl) {
  Bench bench(tiny());
  EXPECT_EQ(bench.write(0, 0), 41 * kNs);
  EXPECT_EQ(bench.read(8, 0), 60 * kNs);  // column 21 + 8, data 39 to 40
  EXPECT_EQ(bench.total().turnaround_ps, 18 * kNs);
}

TEST(Dram, read_to_write_waits_trtw) {
  Bench bench(tiny());
  bench.read(0, 0);
  EXPECT_EQ(bench.write(8, 0), 46 * kNs);  // data 21 + 4 to 26
  EXPECT_EQ(bench.total().turnaround_ps, 4 * kNs);
}

TEST(Dram, precharge_after_a_write_waits_twr) {
  Bench bench(tiny());
  bench.write(0, 0);                         // data until 21
  EXPECT_EQ(bench.write(512, 0), 87 * kNs);  // precharge 36, activate 46, column 56, data 66 to 67
}

TEST(Dram, closed_policy_never_hits_and_never_conflicts) {
  config::GmConfig config = tiny();
  config.page_policy = config::PagePolicy::closed;
  Bench bench(config);
  EXPECT_EQ(bench.read(0, 0), 41 * kNs);
  EXPECT_EQ(bench.read(8, 0), 71 * kNs);  // precharged at 20, activate 30
  EXPECT_EQ(bench.read(512, 200), 241 * kNs);
  EXPECT_EQ(bench.total().row_misses, 3U);
}

TEST(Dram, trrd_holds_activates_apart) {
  config::GmConfig config = tiny();
  config.t_rrd_ns = 15;
  Bench bench(config);
  bench.read(0, 0);
  EXPECT_EQ(bench.read(256, 0), 56 * kNs);  // activate 15, data 35 to 36
}

TEST(Dram, tfaw_lets_four_activates_into_a_window) {
  config::GmConfig config = tiny();
  config.banks = 8;
  config.t_rrd_ns = 4;
  config.t_faw_ns = 50;
  Bench bench(config);
  for (std::uint64_t bank = 0; bank < 4; ++bank) EXPECT_EQ(bench.read(bank * 256, 0), (41 + 4 * bank) * kNs);
  EXPECT_EQ(bench.read(4 * 256, 0), 91 * kNs);  // activate 50
  EXPECT_EQ(bench.read(5 * 256, 0), 95 * kNs);  // activate 54, four after the second
}

TEST(Dram, tccd_longer_than_a_burst_spreads_bursts) {
  config::GmConfig config = tiny();
  config.t_ccd_ns = 3;
  Bench bench(config);
  EXPECT_EQ(bench.read(0, 0, 32), (20 + 3 * 3 + 1 + 20) * kNs);
  EXPECT_EQ(bench.read(32, 0), (20 + 4 * 3 + 1 + 20) * kNs);
  EXPECT_EQ(bench.total().busy_ps, 5 * kNs);
}

TEST(Dram, per_bank_refresh_blocks_one_bank_and_closes_its_row) {
  config::GmConfig config = tiny();
  config.refresh = config::Refresh::per_bank;
  config.t_refi_ns = 1000;
  config.t_rfc_ns = 100;
  Bench bench(config);
  bench.read(0, 0);
  EXPECT_EQ(bench.read(8, 999), 1030 * kNs);   // bank 0 is due at 1000
  EXPECT_EQ(bench.read(8, 1005), 1141 * kNs);  // refresh 1000 to 1100, activate, data 1120
  EXPECT_EQ(bench.total().refreshes, 1U);
  EXPECT_EQ(bench.total().refresh_stall_ps, 105 * kNs);
  EXPECT_EQ(bench.read(256, 1050), 1091 * kNs);  // bank 1 refreshed at 500; the bus is free before 1120
  EXPECT_EQ(bench.total().refreshes, 2U);
  EXPECT_EQ(bench.total().refresh_stall_ps, 105 * kNs);
  EXPECT_EQ(bench.read(256, 7450), 7491 * kNs);  // six more while it was idle: the row is closed, no wait
  EXPECT_EQ(bench.total().refreshes, 8U);
}

TEST(Dram, all_bank_refresh_blocks_the_channel) {
  config::GmConfig config = tiny();
  config.refresh = config::Refresh::all_bank;
  config.t_refi_ns = 1000;
  config.t_rfc_ns = 100;
  Bench bench(config);
  bench.read(0, 600);
  EXPECT_EQ(bench.read(256, 1050), 1141 * kNs);
  EXPECT_EQ(bench.read(0, 1200), 1241 * kNs);  // its row was closed too
  EXPECT_EQ(bench.total().refreshes, 1U);
  EXPECT_EQ(bench.total().row_misses, 3U);
}

TEST(Dram, refresh_waits_for_planned_accesses) {
  config::GmConfig config = tiny();
  config.refresh = config::Refresh::all_bank;
  config.t_refi_ns = 1000;
  config.t_rfc_ns = 100;
  Bench bench(config);
  EXPECT_EQ(bench.read(0, 990, 8), 1141 * kNs);  // its column command would fall on 1000: refreshed first
  bench.model->reset(0);
  bench.read(0, 970, 256);                     // column commands 980 to 1012
  EXPECT_EQ(bench.read(8, 1000), 1153 * kNs);  // refresh 1012 to 1112, data 1132 to 1133
}

TEST(Dram, later_calls_may_arrive_earlier_and_use_what_the_bus_has_left) {
  Bench bench(tiny());
  EXPECT_EQ(bench.read(0, 500), 541 * kNs);
  EXPECT_EQ(bench.read(256, 100), 141 * kNs);
  EXPECT_EQ(bench.read(264, 505, 64), 549 * kNs);  // data 521 to 529: eight bursts do not fit before 520
}

TEST(Dram, reset_starts_afresh_at_its_time) {
  config::GmConfig config = tiny();
  config.refresh = config::Refresh::per_bank;
  config.t_refi_ns = 1000;
  config.t_rfc_ns = 100;
  Bench bench(config);
  bench.read(0, 0);
  bench.model->reset(5000 * kNs);
  EXPECT_EQ(bench.model->stats().requests, 0U);
  EXPECT_EQ(bench.total().bursts, 0U);
  EXPECT_EQ(bench.read(0, 5000), 5041 * kNs);
  EXPECT_EQ(bench.read(0, 6005), 6141 * kNs);  // due at 5000 + 1000
}

TEST(Dram, ideal_is_bandwidth_and_latency) {
  config::GmConfig config = tiny();
  config.model = config::GmModel::ideal;
  config.bandwidth_gbps = 8;
  Bench bench(config);
  EXPECT_EQ(bench.read(0, 0, 800), 120 * kNs);
  EXPECT_EQ(bench.write(4096, 0, 800), 220 * kNs);
  EXPECT_EQ(bench.read(0, 1000, 8), 1021 * kNs);
  EXPECT_EQ(bench.read(0, 300, 8), 321 * kNs);
  EXPECT_EQ(bench.total().moved_bytes, 1616U);
  EXPECT_EQ(bench.total().busy_ps, 202 * kNs);
}

}  // namespace
}  // namespace npulab::dram
