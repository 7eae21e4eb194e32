// SPDX-License-Identifier: Apache-2.0
// Cycles and picoseconds against arithmetic in 128 bits.
#include "sim/core/clock.hpp"

#include <gtest/gtest.h>

#include <random>

namespace npulab::core {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000U;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

TEST(Clock, quotients_are_exact) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t divisor = (random() >> random() % 64U) | 1U;
    const Reciprocal by(divisor);
    for (const std::uint64_t x :
         {random() >> random() % 64U, divisor - 1, divisor, divisor * 3, kMost, std::uint64_t{0}}) {
      ASSERT_EQ(by.floor(x), x / divisor) << x << " / " << divisor;
      ASSERT_EQ(by.ceil(x), x / divisor + (x % divisor != 0 ? 1 : 0)) << x << " / " << divisor;
    }
  }
  EXPECT_EQ(Reciprocal(1).floor(kMost), kMost);
  EXPECT_EQ(Reciprocal(2).floor(kMost), kMost / 2);
}

TEST(Clock, cycles_begin_at_whole_picoseconds_rounded_down_and_come_back) {
  std::mt19937_64 random(2);
  for (const std::uint64_t hz : {1'000'000'000U, 1'100'000'000U, 1'234'567'891U, 1U, 333'333'333U}) {
    const Clock clock(hz);
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t cycle = random() % (1 + (kMost / kPsPerSecond * hz >> random() % 50U));
      const std::uint64_t ps = clock.ps(cycle);
      ASSERT_EQ(ps, static_cast<std::uint64_t>(static_cast<Wide>(cycle) * kPsPerSecond / hz)) << hz;
      ASSERT_EQ(clock.cycle(ps), cycle) << hz;
      ASSERT_EQ(clock.cycle(ps + 1), cycle + 1) << hz;
    }
  }
}

}  // namespace
}  // namespace npulab::core
