// SPDX-License-Identifier: Apache-2.0
// C = A W^T with quantised weights on the cube: groups, tails, ties, packed halves of bytes, any tiles and
// number of cores.
#include <cmath>
#include <limits>

#include "tests/kernels/gemm_cases.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

using isa::DType;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct QuantKernel {
  const char* name;
  bool grouped;
};

constexpr QuantKernel kW8a8{"quant/gemm_w8a8", false};
constexpr QuantKernel kRequant{"quant/gemm_w8a8_requant", false};
constexpr QuantKernel kW8a16{"quant/gemm_w8a16", true};
constexpr QuantKernel kW4a16{"quant/gemm_w4a16", true};

Launch launch_of(const QuantKernel& kernel, Shape shape, std::int64_t group = 32, std::int64_t beyond = 0) {
  Launch launch;
  launch.kernel = kernel.name;
  launch.params = {{"M", shape.m},
                   {"N", shape.n},
                   {"K", shape.k},
                   {"tm", kTileRows},
                   {"tn", kTileColumns},
                   {"tk", kPiece},
                   {"slab", kSlab},
                   {"lda", shape.k + beyond},
                   {"ldw", (shape.k + 1) / 2 * 2 + 2 * beyond},
                   {"ldc", shape.n + beyond}};
  if (kernel.grouped) launch.params["group"] = group;
  return launch;
}

void without_tiles(Launch& launch) {
  for (const char* name : {"tm", "tn", "tk", "slab"}) launch.params.erase(name);
}

class QuantGemm : public testing::TestWithParam<QuantKernel> {};

// Every pair of rows and columns is met, with groups that fit nothing as well.
TEST_P(QuantGemm, NU_19_SH_03_SH_06_SH_08_every_pair_of_sizes) {
  const std::vector<std::int64_t> m{0, 1, 15, 16, 17, kTileRows + 1, 3 * kTileRows + 7};
  const std::vector<std::int64_t> n{0, 1, 15, 16, 17, kTileColumns + 1, 3 * kTileColumns + 7};
  const std::vector<std::int64_t> k{0, 1, 15, 16, 17, kSlab + 1, 3 * kSlab + 7};
  const std::vector<std::int64_t> groups{1, 16, 32, 33, 48, 64, 128, 256, 5000};
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t j = 0; j < n.size(); ++j) {
      const std::size_t turn = i * n.size() + j;
      if (npulab::test::kSanitized && turn % 5 != 0) continue;
      run_all(launch_of(GetParam(), {m[i], n[j], k[(i + j) % k.size()]}, groups[turn % groups.size()],
                        static_cast<std::int64_t>(turn % 3)),
              turn % 4 == 0);
    }
}

TEST_P(QuantGemm, NU_19_SH_11_SH_12_depths_that_are_no_multiple_of_the_piece) {
  for (const std::int64_t k : {32, 96, 160, 544, 608, 1664})
    for (const std::int64_t group : {32, 100, 128}) {
      if (!GetParam().grouped && group != 32) continue;
      if (npulab::test::kSanitized && k + group > 300) continue;
      Bytes first;
      for (const std::int64_t slab : {32, 64, 256, 544}) {
        Launch launch = launch_of(GetParam(), {20, 50, k}, group);
        launch.params["slab"] = slab;
        const Outcome outcome = run_all(launch);
        if (first.empty()) first = outcome["C"];
        EXPECT_TRUE(outcome["C"] == first) << "slab " << slab;
      }
    }
}

TEST_P(QuantGemm, DE_05_same_bits_on_any_number_of_cores) {
  Bytes first;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch = launch_of(GetParam(), {101, 175, 300}, 48);
    launch.cores = cores;
    const Outcome outcome = run_all(launch, true);
    if (first.empty()) first = outcome["C"];
    EXPECT_TRUE(outcome["C"] == first) << cores << " cores";
  }
}

TEST_P(QuantGemm, DE_05_NU_26_same_bits_with_any_tiles) {
  Bytes first;
  for (const auto& [tm, tn, tk, slab] :
       {std::tuple{16, 16, 32, 32}, {64, 48, 32, 128}, {256, 80, 64, 320}, {48, 144, 32, 96}}) {
    Launch launch = launch_of(GetParam(), {256, 75, 300}, 64);
    launch.params["tm"] = tm;
    launch.params["tn"] = tn;
    launch.params["tk"] = tk;
    launch.params["slab"] = slab;
    const Outcome outcome = run_all(launch);
    if (first.empty()) first = outcome["C"];
    EXPECT_TRUE(outcome["C"] == first) << tm << " x " << tn;
  }
}

TEST_P(QuantGemm, SH_04_padding_takes_no_part) {
  Bytes first;
  for (const std::byte padding : {std::byte{0}, std::byte{0xd1}, std::byte{0xff}, std::byte{0x7c}}) {
    Launch launch = launch_of(GetParam(), {19, 21, 37}, 8, 12);
    launch.padding = padding;
    const Outcome outcome = run_all(launch);
    if (first.empty()) first = outcome["C"];
    EXPECT_TRUE(outcome["C"] == first);
  }
}

TEST_P(QuantGemm, DefaultsFit) {
  Launch launch = launch_of(GetParam(), {70, 300, 530}, 128);
  without_tiles(launch);
  run_all(launch);
}

TEST_P(QuantGemm, NU_15_rows_and_scales_of_zero_give_zeros) {
  for (const char* zero : {"A", "W", "scale"}) {
    Launch launch = launch_of(GetParam(), {5, 18, 37}, 16);
    launch.data[zero] = "zeros";
    for (const double one : decoded(run_all(launch), "C")) EXPECT_EQ(one, 0.0);
  }
}

// Rows do not know of one another: three batch axes in any order give the rows in that order.
TEST_P(QuantGemm, NU_20_permuted_batch_axes) {
  constexpr std::size_t kSizes[] = {2, 3, 4};
  constexpr std::size_t kDepth = 40;
  const std::size_t element = GetParam().grouped ? 2 : 1;
  Launch launch = launch_of(GetParam(), {24, 20, kDepth}, 16);
  const Outcome plain = run_all(launch);
  launch.inputs = plain.inputs;
  const Bytes& a = plain.inputs.at("A");
  const std::size_t result_bytes = plain["C"].size() / 24;
  std::vector<std::size_t> axes{0, 1, 2};
  do {
    std::vector<std::size_t> order;  // row of the plain operand
    for (std::size_t i = 0; i < 24; ++i) {
      std::size_t rest = i;
      std::size_t place[3];
      for (std::size_t axis = 3; axis-- > 0;) {
        place[axes[axis]] = rest % kSizes[axes[axis]];
        rest /= kSizes[axes[axis]];
      }
      order.push_back((place[0] * 3 + place[1]) * 4 + place[2]);
    }
    Bytes permuted;
    for (const std::size_t row : order) {
      const auto first = a.begin() + static_cast<std::ptrdiff_t>(row * kDepth * element);
      permuted.insert(permuted.end(), first, first + static_cast<std::ptrdiff_t>(kDepth * element));
    }
    launch.inputs["A"] = permuted;
    const Outcome outcome = run_all(launch);
    for (std::size_t i = 0; i < 24; ++i)
      EXPECT_EQ(
          std::memcmp(&outcome["C"][i * result_bytes], &plain["C"][order[i] * result_bytes], result_bytes),
          0);
  } while (std::next_permutation(axes.begin(), axes.end()));
}

INSTANTIATE_TEST_SUITE_P(Cube, QuantGemm, testing::Values(kW8a8, kRequant, kW8a16, kW4a16),
                         [](const auto& test) { return std::string(test.param.name).substr(6); });

// Sums 2 k + 1 of three values each, worth a half: k + 0.5 for k in -130 … 130.
TEST(QuantGemmByHand, NU_13_ties_go_to_even_and_ends_are_kept) {
  std::vector<double> a;
  for (int k = -130; k <= 130; ++k) {
    int rest = 2 * k + 1;
    for (int part = 0; part < 3; ++part) {
      const int value = std::clamp(rest, -128, 127);
      a.push_back(value);
      rest -= value;
    }
  }
  Launch launch = launch_of(kRequant, {261, 1, 3});
  launch.inputs = {{"A", encoded(DType::i8, a)},
                   {"W", encoded(DType::i8, {1, 1, 1})},
                   {"scale", encoded(DType::f32, {0.25})},
                   {"step", encoded(DType::f32, {2})}};
  const std::vector<double> c = decoded(run_all(launch), "C");
  for (int k = -130; k <= 130; ++k)
    EXPECT_EQ(c[static_cast<std::size_t>(k + 130)], std::clamp(k % 2 == 0 ? k : k + 1, -128, 127)) << k;
}

TEST(QuantGemmByHand, NU_14_rounded_then_clamped) {
  Launch launch = launch_of(kRequant, {6, 1, 1});
  launch.inputs = {{"A", encoded(DType::i8, {1, -1, 3, -3, 127, -128})},
                   {"W", encoded(DType::i8, {1})},
                   {"scale", encoded(DType::f32, {0.5003})},
                   {"step", encoded(DType::f32, {1})}};
  EXPECT_EQ(decoded(run_all(launch), "C"), (std::vector<double>{1, -1, 2, -2, 64, -64}));
  launch.inputs["step"] = encoded(DType::f32, {4});
  EXPECT_EQ(decoded(run_all(launch), "C"), (std::vector<double>{2, -2, 6, -6, 127, -128}));
}

TEST(QuantGemmByHand, NU_11_the_largest_sum_of_the_least_integers) {
  Launch launch = launch_of(kW8a8, {1, 1, 131071});
  without_tiles(launch);
  launch.data = {{"A", "const:-128"}, {"W", "const:-128"}};
  launch.inputs = {{"scale", encoded(DType::f32, {0x1p-16})}, {"step", encoded(DType::f32, {0x1p-4})}};
  EXPECT_EQ(decoded(run_all(launch), "C").front(), 2048.0);  // 131071 / 64 has twelve bits too many
}

TEST(QuantGemmByHand, NU_10_halves_of_bytes) {
  Launch launch = launch_of(kW4a16, {1, 2, 5}, 2);
  launch.inputs = {{"A", encoded(DType::f16, {1, 2, 3, 4, 5})},
                   {"scale", encoded(DType::f16, {1, 10, 100, 1, 1, 1})}};
  Bytes& weights = launch.inputs["W"];  // -8 7 | -1 3 | 5 (-8), then 1 1 | 1 1 | 1 (7)
  for (const int byte : {0x78, 0x3f, 0x85, 0x11, 0x11, 0x71}) weights.push_back(static_cast<std::byte>(byte));
  EXPECT_EQ(decoded(run_all(launch), "C"), (std::vector<double>{6 + 90 + 2500, 15}));
}

TEST(QuantGemmByHand, NanStaysInItsRowAndItsGroup) {
  for (const QuantKernel& kernel : {kW8a16, kW4a16}) {
    Launch launch = launch_of(kernel, {18, 20, 40}, 20);
    std::vector<double> a(18 * 40, 1);
    a[3 * 40 + 7] = kNan;
    std::vector<double> scale(20 * 2, 0.5);
    scale[5 * 2 + 1] = kNan;
    launch.inputs = {{"A", encoded(DType::f16, a)}, {"scale", encoded(DType::f16, scale)}};
    const std::vector<double> c = decoded(run_all(launch), "C");
    for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isnan(c[i]), i / 20 == 3 || i % 20 == 5) << i;
  }
  for (const QuantKernel& kernel : {kW8a8, kRequant}) {
    Launch launch = launch_of(kernel, {18, 20, 40});
    std::vector<double> scale(20, 0.5);
    scale[5] = kNan;
    launch.inputs = {{"scale", encoded(DType::f32, scale)}, {"step", encoded(DType::f32, {1})}};
    const std::vector<double> c = decoded(run_all(launch), "C");
    for (std::size_t row = 0; row < 18; ++row) {
      if (kernel.name == std::string(kRequant.name))
        EXPECT_EQ(c[row * 20 + 5], 0.0);
      else
        EXPECT_TRUE(std::isnan(c[row * 20 + 5]));
    }
  }
}

// One row of A is what quant/w8a16 computes on the vector unit; of small integers both are exact.
TEST(QuantGemmByHand, OneRowAgreesWithTheVectorUnit) {
  constexpr std::size_t kRows = 21;
  constexpr std::size_t kColumns = 70;
  std::vector<double> weights(kRows * kColumns);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i * 7 % 15) - 7;
  std::vector<double> x(kColumns);
  for (std::size_t k = 0; k < kColumns; ++k) x[k] = static_cast<double>(k % 5) - 2;
  std::vector<double> scale(kRows * 3);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = i % 2 == 0 ? 0.5 : 2;
  for (const auto& [on_cube, on_vector, type] :
       {std::tuple{kW8a16, "quant/w8a16", DType::i8}, std::tuple{kW4a16, "quant/w4a16", DType::i4}}) {
    Bytes packed((weights.size() * isa::bits(type) + 7) / 8);
    for (std::size_t i = 0; i < weights.size(); ++i)
      values::from_double(type, weights[i], packed.data(), i, isa::Round::nearest_even, false);
    Launch launch = launch_of(on_cube, {1, kRows, kColumns}, 32);
    launch.inputs = {{"A", encoded(DType::f16, x)}, {"W", packed}, {"scale", encoded(DType::f16, scale)}};
    const std::vector<double> c = decoded(run_all(launch), "C");
    launch = {};
    launch.kernel = on_vector;
    launch.params = {{"M", kRows}, {"K", kColumns}, {"group", 32}};
    launch.inputs = {{"x", encoded(DType::f16, x)}, {"W", packed}, {"scale", encoded(DType::f32, scale)}};
    EXPECT_EQ(c, decoded(run_all(launch), "y"));
  }
}

// A once for each tile of columns, W and scales once for each tile of rows, C once.
TEST(QuantGemmTraffic, WeightsMoveAsTheyAre) {
  for (const auto& [kernel, bits] : {std::pair{kW8a16, 8}, std::pair{kW4a16, 4}}) {
    Launch launch = launch_of(kernel, {16, 256, 512}, 64);
    without_tiles(launch);
    launch.params["tn"] = 128;
    const Outcome outcome = run_all(launch);
    const report::Memory& gm = outcome.report.memories.front();
    EXPECT_EQ(gm.read_bytes,
              static_cast<std::uint64_t>(2 * 16 * 512 * 2 + 256 * 512 * bits / 8 + 256 * 8 * 2));
    EXPECT_EQ(gm.write_bytes, 16U * 256 * 2);
  }
}

TEST(QuantGemmRefusal, HalvesOfBytesTilesAndMachines) {
  Launch launch = launch_of(kW4a16, {4, 20, 30});
  launch.params["ldw"] = 31;
  EXPECT_NE(refused(launch).find("ldw = 31: a row of i4 begins with a byte"), std::string::npos);
  for (const QuantKernel& kernel : {kW8a8, kRequant, kW8a16, kW4a16}) {
    launch = launch_of(kernel, {40, 50, 60});
    launch.params["tn"] = 40;
    EXPECT_NE(refused(launch).find("multiples of 16"), std::string::npos);
    launch = launch_of(kernel, {40, 50, 60});
    launch.machine = "tiny";
    EXPECT_NE(refused(launch).find("this kernel multiplies on a cube"), std::string::npos) << refused(launch);
  }
  launch = launch_of(kW8a8, {4, 4, 131072});
  EXPECT_NE(refused(launch).find("K = 131072 is not in 0..131071"), std::string::npos);
  launch = launch_of(kW8a16, {40, 1024, 2048});
  without_tiles(launch);
  launch.params["slab"] = 1024;
  EXPECT_NE(refused(launch).find("take a smaller tn or slab"), std::string::npos) << refused(launch);
}

}  // namespace
}  // namespace npulab::kernels::test
