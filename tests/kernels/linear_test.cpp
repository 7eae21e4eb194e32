// SPDX-License-Identifier: Apache-2.0
// y = x W^T + bias on the cube, alone and behind layernorm and gelu in one kernel: sizes, cores, the same
// bits as the chain, fewer bytes.
#include <cmath>
#include <limits>

#include "tests/kernels/gemm_cases.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

using isa::DType;

constexpr std::int64_t kRowsOfBlock = 32;

// x [m, k], W of n outputs.
Launch linear(Shape shape, bool trans_w = false, std::int64_t beyond = 0) {
  Launch launch;
  launch.kernel = "norm_act/linear";
  launch.params = {{"M", shape.m},
                   {"N", shape.n},
                   {"K", shape.k},
                   {"trans_w", trans_w},
                   {"tm", kTileRows},
                   {"tn", kTileColumns},
                   {"tk", kPiece},
                   {"slab", kSlab},
                   {"ldx", shape.k + beyond},
                   {"ldw", (trans_w ? shape.n : shape.k) + beyond},
                   {"ldy", shape.n + beyond}};
  return launch;
}

Launch fused(Shape shape, bool trans_w = false, std::int64_t beyond = 0) {
  Launch launch = linear(shape, trans_w, beyond);
  launch.kernel = "norm_act/layernorm_gelu_linear";
  launch.params.erase("K");
  launch.params["N"] = shape.k;
  launch.params["O"] = shape.n;
  launch.params["tm"] = kRowsOfBlock;
  return launch;
}

void every_pair(Launch (*make)(Shape, bool, std::int64_t)) {
  const std::vector<std::int64_t> m{0, 1, 15, 16, 17, kTileRows + 1, 3 * kTileRows + 7};
  const std::vector<std::int64_t> n{0, 1, 15, 16, 17, kTileColumns + 1, 3 * kTileColumns + 7};
  const std::vector<std::int64_t> k{0, 1, 15, 16, 17, kSlab + 1, 3 * kSlab + 7};
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t j = 0; j < n.size(); ++j) {
      const std::size_t turn = i * n.size() + j;
      if (npulab::test::kSanitized && turn % 5 != 0) continue;
      run_all(make({m[i], n[j], k[(i + j) % k.size()]}, turn % 2 == 1, static_cast<std::int64_t>(turn % 3)),
              turn % 4 == 0);
    }
}

TEST(Linear, SH_03_SH_06_SH_08_every_pair_of_sizes) {
  every_pair(&linear);
}
TEST(LayernormGeluLinear, SH_03_SH_06_SH_08_every_pair_of_sizes) {
  every_pair(&fused);
}

TEST(Linear, DE_05_NU_26_same_bits_with_any_tiles_and_cores) {
  Bytes first;
  for (const auto& [tm, tn, tk, slab, cores] : {std::tuple{16, 16, 32, 32, 1U},
                                                {64, 48, 32, 128, 2U},
                                                {256, 80, 64, 320, 3U},
                                                {48, 144, 32, 96, 7U},
                                                {16, 16, 16, 16, 32U}}) {
    Launch launch = linear({101, 75, 300});
    launch.params["tm"] = tm;
    launch.params["tn"] = tn;
    launch.params["tk"] = tk;
    launch.params["slab"] = slab;
    launch.cores = cores;
    const Outcome outcome = run_all(launch);
    if (first.empty()) first = outcome["y"];
    EXPECT_TRUE(outcome["y"] == first) << tm << " x " << tn;
  }
}

TEST(Linear, WithoutColumnsTheBiasRemains) {
  for (Launch launch : {linear({3, 60, 0}), fused({3, 60, 0})}) {
    std::vector<double> bias(60);
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<double>(i) - 30;
    launch.inputs["bias"] = encoded(DType::f32, bias);
    const std::vector<double> y = decoded(run_all(launch), "y");
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], bias[i % 60]);
  }
}

TEST(Linear, DefaultsFit) {
  for (Launch launch : {linear({150, 300, 700}), fused({150, 300, 700})}) {
    for (const char* name : {"tm", "tn", "tk", "slab"}) launch.params.erase(name);
    run_all(launch);
  }
}

TEST(LayernormGeluLinear, DE_05_same_bits_on_any_number_of_cores) {
  Bytes first;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch = fused({101, 75, 300});
    launch.cores = cores;
    const Outcome outcome = run_all(launch, true);
    if (first.empty()) first = outcome["y"];
    EXPECT_TRUE(outcome["y"] == first) << cores << " cores";
  }
}

TEST(LayernormGeluLinear, SH_04_padding_takes_no_part) {
  for (Launch launch : {linear({19, 21, 37}, false, 11), fused({19, 21, 37}, true, 11)}) {
    Bytes first;
    for (const std::byte padding : {std::byte{0}, std::byte{0xd1}, std::byte{0xff}, std::byte{0x7c}}) {
      launch.padding = padding;
      const Outcome outcome = run_all(launch);
      if (first.empty()) first = outcome["y"];
      EXPECT_TRUE(outcome["y"] == first);
    }
  }
}

// Long rows go through ub in tiles.
TEST(LayernormGeluLinear, RowsThatStream) {
  Launch launch = fused({20, 35, 700});
  const Outcome whole = run_all(launch);
  launch.params["streamed"] = 1;
  launch.params["tile"] = 128;
  EXPECT_TRUE(run_all(launch, true)["y"] == whole["y"]);
}

TEST(LayernormGeluLinear, NanStaysInItsRow) {
  Launch launch = fused({20, 35, 50});
  std::vector<double> x(20 * 50);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 7);
  x[3 * 50 + 8] = std::numeric_limits<double>::quiet_NaN();
  launch.inputs["x"] = encoded(DType::f16, x);
  const std::vector<double> y = decoded(run_all(launch), "y");
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 35 == 3) << i;
}

std::uint64_t gm_bytes(const Outcome& outcome) {
  const report::Memory& gm = outcome.report.memories.front();
  return gm.read_bytes + gm.write_bytes;
}

// Blocks of the same rows in both: what is saved is a result that is written and read once for each tile of
// outputs.
TEST(LayernormGeluLinear, SameBitsAndFewerBytesThanTheChain) {
  constexpr std::int64_t kRows = 32 * kRowsOfBlock;  // a block for each core of the machine
  constexpr std::int64_t kWidth = 96;
  constexpr std::int64_t kOutputs = 160;
  constexpr std::int64_t kTile = 32;
  for (const bool trans_w : {false, true}) {
    Launch launch = fused({kRows, kOutputs, kWidth}, trans_w);
    launch.params["tn"] = kTile;
    const Outcome one = run_all(launch);
    launch = {};
    launch.kernel = "norm_act/layernorm_gelu";
    launch.params = {{"M", kRows}, {"N", kWidth}};
    for (const char* name : {"x", "gamma", "beta"}) launch.inputs[name] = one.inputs.at(name);
    const Outcome first = run_all(launch);
    launch = linear({kRows, kOutputs, kWidth}, trans_w);
    launch.params["tn"] = kTile;
    launch.inputs = {{"x", first["y"]}, {"W", one.inputs.at("W")}, {"bias", one.inputs.at("bias")}};
    const Outcome second = run_all(launch);
    EXPECT_TRUE(one["y"] == second["y"]);
    const std::uint64_t saved = gm_bytes(first) + gm_bytes(second) - gm_bytes(one);
    // An element has 2 bytes; gamma, beta and the biases are left out: fewer than a kilobyte a core and
    // block.
    constexpr std::uint64_t kBetween = kRows * kWidth * 2;
    constexpr std::uint64_t kTimes = 1 + kOutputs / kTile;  // written once, read for each tile
    EXPECT_NEAR(static_cast<double>(saved), static_cast<double>(kBetween * kTimes), 16384.0);
    EXPECT_LT(gm_bytes(one), gm_bytes(first) + gm_bytes(second));
  }
}

TEST(LinearRefusal, TilesAndMachines) {
  for (Launch launch : {linear({40, 50, 60}), fused({40, 50, 60})}) {
    launch.params["tn"] = 40;
    EXPECT_NE(refused(launch).find("multiples of 16"), std::string::npos);
    launch.params["tn"] = 512;
    launch.params[launch.params.contains("O") ? "O" : "N"] = 600;
    EXPECT_NE(refused(launch).find("take a smaller"), std::string::npos) << refused(launch);
    launch.params["tn"] = 48;
    launch.machine = "tiny";
    EXPECT_NE(refused(launch).find("this kernel multiplies on a cube"), std::string::npos) << refused(launch);
  }
}

}  // namespace
}  // namespace npulab::kernels::test
