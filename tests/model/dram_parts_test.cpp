// SPDX-License-Identifier: Apache-2.0
// The parts of the DRAM model by their rules: exact rates, address map, activates, data bus.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "sim/dram/activate_window.hpp"
#include "sim/dram/address_map.hpp"
#include "sim/dram/data_bus.hpp"
#include "sim/dram/rate.hpp"

namespace npulab::dram {
namespace {

TEST(Rate, rounding_never_adds_up) {
  const Rate rate(64, bytes_per_second(18.75));  // 3413 1/3 ps
  Instant at;
  for (int i = 0; i < 3'000'000; ++i) at = rate.after(at, 1);
  EXPECT_EQ(at.ps, 10'240'000'000U);
  EXPECT_EQ(at.part, 0U);
  EXPECT_EQ(rate.ps(1), 3414U);
  EXPECT_EQ(rate.ps(3'000'000), 10'240'000'000U);
  const Rate fast(1, bytes_per_second(1e6));
  EXPECT_EQ(fast.ps(1), 1U);
  EXPECT_EQ(fast.ps(1ULL << 48), 281'474'976'711U);
}

config::GmConfig geometry(unsigned channels, unsigned banks, unsigned interleave, unsigned row, bool hash) {
  config::GmConfig config;
  config.channels = channels;
  config.banks = banks;
  config.interleave_bytes = interleave;
  config.row_bytes = row;
  config.hash = hash ? config::AddressHash::xor_fold : config::AddressHash::none;
  return config;
}

TEST(AddressMap, is_a_bijection_for_every_number_of_channels_and_banks) {
  for (const bool hash : {false, true})
    for (const unsigned channels : {1U, 2U, 3U, 7U, 12U, 31U, 64U})
      for (const unsigned banks : {1U, 3U, 16U}) {
        for (const auto& [interleave, row] : {std::pair{256U, 1024U}, {96U, 320U}, {1024U, 256U}}) {
          const AddressMap map(geometry(channels, banks, interleave, row, hash));
          // Whole rounds of whole rows: the places are exactly all columns of the first rows of all banks.
          constexpr std::uint64_t kStep = 32;
          const std::uint64_t rows = 3 * interleave / std::gcd(row, interleave);
          const std::uint64_t all = rows * banks * row * channels;
          std::vector<bool> seen(all / kStep);
          for (std::uint64_t address = 0; address < all; address += kStep) {
            const Location at = map.locate(address);
            ASSERT_LT(at.channel, channels);
            ASSERT_LT(at.bank, banks);
            ASSERT_LT(at.row, rows);
            ASSERT_LT(at.column, row);
            ASSERT_GE(at.run_bytes, kStep);
            const std::uint64_t place =
                (((at.channel * std::uint64_t{banks} + at.bank) * rows + at.row) * row + at.column) / kStep;
            ASSERT_FALSE(seen[place]) << address;
            seen[place] = true;
          }
        }
      }
}

TEST(AddressMap, next_is_what_locate_says) {
  std::mt19937_64 random(4);
  for (int step = 0; step < 2000; ++step) {
    const unsigned channels =
        step % 2 == 0 ? 1U << (random() % 7) : 1U + static_cast<unsigned>(random() % 20);
    const AddressMap map(geometry(channels, 1U << (random() % 5), 64U << (random() % 5),
                                  256U << (random() % 4), random() % 2 == 0));
    std::uint64_t address = random() >> 16;
    Location at = map.locate(address);
    for (int i = 0; i < 20; ++i) {
      const Location next = map.next(at, address);
      address += at.run_bytes;
      const Location want = map.locate(address);
      ASSERT_EQ(std::tie(next.channel, next.bank, next.row, next.column, next.run_bytes),
                std::tie(want.channel, want.bank, want.row, want.column, want.run_bytes));
      at = next;
    }
  }
}

TEST(ActivateWindow, keeps_trrd_and_tfaw_in_any_order_of_calls) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const ActivateTiming timing{random() % 20, random() % 100};
    ActivateWindow window;
    std::vector<std::uint64_t> times;
    std::uint64_t now = 0;
    for (int i = 0; i < 60; ++i) {
      now += random() % 15;
      const std::uint64_t ready = now + random() % 200;
      const std::uint64_t at = window.find(timing, ready);
      ASSERT_GE(at, ready);
      window.insert(at);
      times.push_back(at);
    }
    std::sort(times.begin(), times.end());
    for (std::size_t i = 0; i + 1 < times.size(); ++i) ASSERT_GE(times[i + 1], times[i] + timing.rrd_ps);
    for (std::size_t i = 0; i + 4 < times.size(); ++i) ASSERT_GE(times[i + 4], times[i] + timing.faw_ps);
  }
}

struct Transfer {
  std::uint64_t start;
  std::uint64_t end;
  bool write;
};

void expect_legal(std::vector<Transfer> transfers, const BusTiming& timing) {
  std::sort(transfers.begin(), transfers.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  for (std::size_t i = 0; i + 1 < transfers.size(); ++i) {
    const bool turns = transfers[i].write != transfers[i + 1].write;
    ASSERT_GE(transfers[i + 1].start,
              transfers[i].end + (turns ? timing.turnaround_ps(transfers[i].write) : 0));
  }
}

TEST(DataBus, never_carries_two_runs_and_always_turns_around) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200; ++round) {
    BusTiming timing{Rate(10)};
    timing.write_to_read_ps = random() % 60;
    timing.read_to_write_ps = random() % 30;
    DataBus bus;
    bus.reset(0);
    std::vector<Transfer> transfers;
    std::uint64_t now = 0;
    for (int i = 0; i < 200; ++i) {
      now += random() % 50;
      const std::uint64_t ready = now + (random() % 3 == 0 ? random() % 500 : 0);
      const bool write = random() % 4 == 0;
      const auto slot = bus.find(timing, ready, 1 + random() % 4, write);
      ASSERT_GE(slot.start.ps, ready);
      bus.take(timing, slot, write);
      transfers.push_back({slot.start.ps, slot.free.ceil(), write});
    }
    expect_legal(transfers, timing);
  }
}

TEST(DataBus, take_next_is_find_and_take) {
  std::mt19937_64 random(7);
  const BusTiming timing{Rate(64, bytes_per_second(18.75))};
  DataBus quick;
  DataBus plain;
  quick.reset(0);
  plain.reset(0);
  int easy = 0;
  std::uint64_t now = 0;
  for (int i = 0; i < 5000; ++i) {
    now += random() % 10000;
    const std::uint64_t ready = now + (random() % 9 == 0 ? random() % 30000 : 0);
    const std::uint64_t units = 1 + random() % 4;
    const bool write = random() % 40 == 0;
    const auto slot = plain.find(timing, ready, units, write);
    plain.take(timing, slot, write);
    std::uint64_t free = quick.take_next(timing, ready, units, write, ~std::uint64_t{0});
    if (free == 0) {
      const auto general = quick.find(timing, ready, units, write);
      quick.take(timing, general, write);
      free = general.free.ceil();
    } else {
      ++easy;
    }
    ASSERT_EQ(free, slot.free.ceil());
  }
  EXPECT_GT(easy, 500);
}

}  // namespace
}  // namespace npulab::dram
