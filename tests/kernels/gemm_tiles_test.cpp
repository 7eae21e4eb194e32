// SPDX-License-Identifier: Apache-2.0
// Products on a grid of compute tiles: every size, padding, operands that stay in the memory tiles, bytes of
// gm, efficiency, refusals.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/kernels/tensors.hpp"

namespace npulab::kernels::test {
namespace {

constexpr const char* kKernels[] = {"gemm/xdna_tiles", "gemm/xdna_tiles_i8"};

struct Shape {
  std::int64_t m, n, k;
};

Launch launch(const std::string& kernel, const Shape& shape, isa::ParamValues more = {}) {
  more["M"] = shape.m;
  more["N"] = shape.n;
  more["K"] = shape.k;
  Launch result{.kernel = kernel, .machine = "xdna1", .params = std::move(more), .padding = std::nullopt};
  result.cores = 0;
  return result;
}

Outcome run_on(const std::string& kernel, const Shape& shape, isa::ParamValues more = {}) {
  return run_all(launch(kernel, shape, std::move(more)), true);
}

// Small blocks: rounds, steps and tails of small shapes.
isa::ParamValues small(isa::ParamValues more = {}) {
  more.insert({{"bm", 16}, {"bn", 16}, {"bk", 32}});
  return more;
}

TEST(GemmTiles, SH_01_SH_03_SH_09_every_tail) {
  for (const char* kernel : kKernels) {
    for (const Shape& shape :
         {Shape{1, 1, 1}, Shape{1, 70, 3}, Shape{67, 1, 16}, Shape{5, 9, 33}, Shape{16, 16, 32},
          Shape{17, 15, 31}, Shape{64, 64, 64}, Shape{65, 129, 97}, Shape{81, 67, 160}})
      run_on(kernel, shape, small());
    run_on(kernel, {100, 70, 130});
  }
}

TEST(GemmTiles, SH_01_k_around_groups_and_steps) {
  for (const char* kernel : kKernels)
    for (std::int64_t k = 1; k <= 100; k += k % 16 == 15 || k % 16 <= 1 ? 1 : 7)
      run_on(kernel, {18, 19, k}, small());
}

TEST(GemmTiles, SH_08_dimensions_of_nothing) {
  for (const char* kernel : kKernels)
    for (const Shape& shape : {Shape{0, 5, 7}, Shape{5, 0, 7}, Shape{0, 0, 7}}) run_on(kernel, shape);
  EXPECT_NE(refused(launch(kKernels[0], {5, 5, 0})).find("K"), std::string::npos);
}

TEST(GemmTiles, DM_03_pitches) {
  for (const char* kernel : kKernels)
    run_on(kernel, {37, 41, 50}, small({{"lda", 63}, {"ldb", 50}, {"ldc", 47}}));
}

TEST(GemmTiles, same_bits_whatever_the_blocks) {
  const Shape shape{70, 90, 77};
  for (const char* kernel : kKernels) {
    const Bytes expected = run_on(kernel, shape)["C"];
    for (const isa::ParamValues& blocks : {isa::ParamValues{{"bm", 16}, {"bn", 48}, {"bk", 16}},
                                           isa::ParamValues{{"bm", 48}, {"bn", 16}, {"bk", 80}}})
      EXPECT_EQ(run_on(kernel, shape, blocks)["C"], expected);
  }
}

// A sum of -0 stays one beside padding along K, and infinities and NaNs stay where they are.
TEST(GemmTiles, SH_04_padding_takes_no_part) {
  const auto bits = [](std::initializer_list<std::uint16_t> values, std::size_t repeat) {
    Bytes data;
    for (std::size_t i = 0; i < repeat; ++i)
      for (const std::uint16_t value : values) {
        data.push_back(static_cast<std::byte>(value & 0xff));
        data.push_back(static_cast<std::byte>(value >> 8));
      }
    return data;
  };
  Launch tiny = launch(kKernels[0], {3, 2, 1}, small());
  // The least subnormal times the negative one is -0 after rounding; infinity; NaN.
  tiny.inputs = {{"A", bits({0x0001, 0x7f80, 0x7fc0}, 1)}, {"B", bits({0x8001, 0x3f80}, 1)}};
  const Outcome result = run_all(tiny, true);
  std::uint32_t sums[6];
  std::memcpy(sums, result["C"].data(), sizeof sums);
  EXPECT_EQ(sums[0], 0x80000000U);
  EXPECT_EQ(sums[3], 0x7f800000U);
}

TEST(GemmTiles, rows_of_blocks_of_a_stay_where_they_fit) {
  // Four columns of blocks are a round; two rounds, but A comes once. B comes for every round of rows.
  const Shape shape{128, 256, 96};
  const auto gm = [](const Outcome& outcome) -> const report::Memory& {
    for (const report::Memory& one : outcome.report.memories)
      if (one.name == "gm") return one;
    throw Error(Category::internal, "test", "no gm");
  };
  const isa::ParamValues blocks{{"bm", 32}, {"bn", 32}, {"bk", 32}};
  const Outcome outcome = run_on(kKernels[0], shape, blocks);
  EXPECT_EQ(gm(outcome).read_bytes, 2U * (128 * 96 + 96 * 256));
  EXPECT_EQ(gm(outcome).write_bytes, 4U * 128 * 256);
  // K of more blocks than there is room for: A comes for each of two rounds.
  const Shape longer{16, 128, 64 * 64};
  EXPECT_EQ(gm(run_on(kKernels[0], longer, {{"bm", 16}, {"bn", 16}, {"bk", 64}})).read_bytes,
            2U * (2 * 16 * 64 * 64 + 64 * 64 * 128));
}

TEST(GemmTiles, blocks_that_do_not_fit_are_refused) {
  const std::string wide = refused(launch(kKernels[0], {64, 64, 64}, {{"bm", 128}, {"bn", 128}}));
  EXPECT_NE(wide.find("do not fit l1, 65536 bytes"), std::string::npos) << wide;
  for (const char* block : {"bm", "bn", "bk"}) {
    const std::string text = refused(launch(kKernels[0], {64, 64, 64}, {{block, 24}}));
    EXPECT_NE(text.find(std::string(block) + " = 24 is no multiple of 16"), std::string::npos) << text;
  }
  Launch other = launch(kKernels[0], {64, 64, 64});
  other.machine = "tiny";
  EXPECT_NE(refused(other).find("core type"), std::string::npos);
}

TEST(GemmTiles, busy_tiles) {
  // One block for each tile, K long: the unit is to be at work most of the time.
  Launch big = launch(kKernels[0], {256, 256, 2048});
  const config::Machine& on = machine(big.machine);
  SimulationOptions options;
  options.timing_only = true;
  const report::Report report =
      Simulation(on, assemble_kernel(big.kernel, folders(), on, big.params), options).run();
  const double least = 256.0 * 256 * 2048 / (16 * 128);
  EXPECT_GT(least / static_cast<double>(report.cycles), 0.4) << report.cycles;
}

}  // namespace
}  // namespace npulab::kernels::test
