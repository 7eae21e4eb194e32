// SPDX-License-Identifier: Apache-2.0
// Reductions follow the documented pairwise order, one rounding per step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calls.hpp"

namespace npulab::values::testing {
namespace {

// The order as documented, step by step, with the lane-wise operation of two lanes.
Bytes reference(const Call& call, Op pair, std::size_t lanes, Bytes a) {
  const std::size_t size = isa::bits(call.type) / 8;
  const LaneFunction combine = lane_function_on(SimdPath::baseline, pair, call.type, DType::none, call.modes);
  std::size_t n = lanes;
  while (n > 1) {
    std::size_t half = 1;
    while (half * 2 < n) half *= 2;
    for (std::size_t i = 0; i + half < n; ++i)
      combine(a.data() + i * size, a.data() + i * size, a.data() + (i + half) * size, nullptr, 1);
    n = half;
  }
  a.resize(size);
  return a;
}

TEST(Reduce, documented_order_for_every_number_of_lanes) {
  std::mt19937_64 random(1);
  std::vector<std::size_t> counts;
  for (std::size_t n = 2; n <= 70; ++n) counts.push_back(n);
  for (const std::size_t n :
       {127U, 128U, 129U, 255U, 256U, 500U, 1023U, 1024U, 1025U, 1030U, 2048U, 2049U, 3000U, 5000U})
    counts.push_back(n);
  for (const SimdPath path : paths())
    for (const isa::DTypeInfo& type : isa::kDTypes)
      for (const auto& [op, pair] :
           {std::pair{Op::Vrsum, Op::Vadd}, {Op::Vrmax, Op::Vmax}, {Op::Vrmin, Op::Vmin}}) {
        if (!isa::legal_types(isa::info(op), type.type, DType::none)) continue;
        for (const bool saturate : {false, true})
          for (const std::size_t n : counts) {
            const Call call{op, type.type, DType::none, {Round::nearest_even, saturate, false}};
            // Numbers of moderate size so that order and rounding show; awkward ones in short vectors.
            Bytes a = random_elements(type.type, n, random);
            if (n > 8 && type.floating)
              for (std::size_t i = 0; i < n; ++i) {
                const double value = (static_cast<double>(random() % 100000) - 50000) / 7000;
                from_double(type.type, value, a.data(), i, Round::nearest_even, false);
              }
            ASSERT_EQ(run(path, call, n, Bytes(bytes_of(type.type, 1)), a), reference(call, pair, n, a))
                << label(path, call) << " n=" << n;
          }
      }
}

TEST(Reduce, one_lane_and_none) {
  for (const SimdPath path : paths()) {
    const Bytes a = values_of(DType::f16, {-3, 7});
    EXPECT_EQ(to_double(DType::f16, run(path, {Op::Vrsum, DType::f16}, 1, Bytes(2), a).data()), -3);
    EXPECT_EQ(to_double(DType::f16, run(path, {Op::Vrmax, DType::f16}, 1, Bytes(2), a).data()), -3);
    EXPECT_EQ(run(path, {Op::Vrsum, DType::f16}, 0, Bytes(2, std::byte{0x77}), a), Bytes(2));
    EXPECT_EQ(run(path, {Op::Vrmin, DType::i8}, 0, Bytes(1, std::byte{0x77}), a), Bytes(1));
    const Bytes nan = bytes_from<std::uint16_t>({0xfe01});
    EXPECT_EQ(elements_from<std::uint16_t>(run(path, {Op::Vrsum, DType::f16}, 1, Bytes(2), nan))[0], 0x7e00);
    EXPECT_EQ(elements_from<std::uint16_t>(run(path, {Op::Vrmax, DType::f16}, 1, Bytes(2), nan))[0], 0x7e00);
  }
}

TEST(Reduce, pairwise_sum_outlives_a_running_sum) {
  const Bytes ones = values_of(DType::f16, std::vector<double>(4096, 1));
  for (const SimdPath path : paths())
    EXPECT_EQ(to_double(DType::f16, run(path, {Op::Vrsum, DType::f16}, 4096, Bytes(2), ones).data()), 4096);
}

}  // namespace
}  // namespace npulab::values::testing
