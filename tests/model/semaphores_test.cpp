// SPDX-License-Identifier: Apache-2.0
// Counting semaphores worked out in time, whatever the order of telling.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "sim/core/semaphores.hpp"

namespace npulab::core {
namespace {

Semaphores two_cores(Diagnostics& diagnostics, std::uint32_t initial = 0) {
  Semaphores counts(diagnostics);
  for (int i = 0; i < 2; ++i) counts.add_core({4, 3, initial}, Clock(1'000'000'000));
  counts.reset();
  return counts;
}

TEST(Semaphores, grants_do_not_depend_on_the_order_of_telling) {
  // Two releases and two acquisitions by different engines, told in every order.
  std::array<int, 4> order{0, 1, 2, 3};
  do {
    Diagnostics diagnostics;
    Semaphores counts = two_cores(diagnostics);
    for (const int one : order) {
      if (one == 0) counts.release({{1, 2}, 1, 900, 0, 3, {}});
      if (one == 1) counts.release({{1, 2}, 2, 500, 1, 2, {}});
      if (one == 2) counts.acquire({{1, 2}, 2, 100, 5, {}});
      if (one == 3) counts.acquire({{1, 2}, 1, 100, 4, {}});
    }
    const std::vector<Semaphores::Grant> grants = counts.work_out(1000);
    ASSERT_EQ(grants.size(), 2U);
    // Engine 4 comes first at one time; what is left does for engine 5 only with the second release.
    EXPECT_EQ(grants[0].engine, 4);
    EXPECT_EQ(grants[0].ps, 500U);
    EXPECT_EQ(grants[1].engine, 5);
    EXPECT_EQ(grants[1].ps, 900U);
    EXPECT_EQ(counts.value({1, 2}), 0U);
    EXPECT_TRUE(diagnostics.all().empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Semaphores, only_what_is_over_is_worked_out) {
  Diagnostics diagnostics;
  Semaphores counts = two_cores(diagnostics);
  counts.release({{0, 0}, 1, 500, 0, 0, {}});
  counts.acquire({{0, 0}, 1, 400, 0, {}});
  EXPECT_EQ(counts.next(), 400U);
  EXPECT_TRUE(counts.work_out(500).empty());
  EXPECT_EQ(counts.next(), 500U);
  EXPECT_EQ(counts.work_out(501).size(), 1U);
  EXPECT_EQ(counts.next(), std::nullopt);
}

TEST(Semaphores, a_large_wish_does_not_keep_a_small_one_back) {
  Diagnostics diagnostics;
  Semaphores counts = two_cores(diagnostics);
  counts.acquire({{0, 0}, 3, 100, 2, {}});
  counts.acquire({{0, 0}, 1, 200, 3, {}});
  counts.release({{0, 0}, 1, 300, 0, 0, {}});
  const std::vector<Semaphores::Grant> grants = counts.work_out(1000);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].engine, 3);
}

TEST(Semaphores, full_and_taken_at_one_time_is_no_overflow) {
  Diagnostics diagnostics;
  Semaphores counts = two_cores(diagnostics, 3);
  counts.release({{0, 0}, 1, 100, 0, 0, {"a", 1, 0}});
  counts.acquire({{0, 0}, 1, 100, 2, {}});
  counts.work_out(200);
  EXPECT_TRUE(diagnostics.all().empty());
  counts.release({{0, 0}, 1, 200, 0, 0, {"a", 2, 0}});
  counts.work_out(300);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].code, "semaphore-overflow");
  counts.acquire({{0, 0}, 1, 300, 2, {}});
  counts.work_out(400);
  counts.finish();
  EXPECT_EQ(diagnostics.all().size(), 1U);  // it ends as it began
}

}  // namespace
}  // namespace npulab::core
