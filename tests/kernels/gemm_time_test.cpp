// SPDX-License-Identifier: Apache-2.0
// Time of C = A B on the cube: what double buffering hides, and what cannot be.
#include <gtest/gtest.h>

#include "tests/kernels/gemm_cases.hpp"

namespace npulab::kernels::test {
namespace {

report::Report timed(const std::string& kernel, Shape shape, std::uint32_t cores,
                     isa::ParamValues params = {}) {
  Launch launch;
  launch.kernel = kernel;
  launch.cores = cores;
  launch.timing_only = true;
  launch.params = std::move(params);
  launch.params.merge(isa::ParamValues{{"M", shape.m}, {"N", shape.n}, {"K", shape.k}});
  return run(launch).report;
}

// Cycles of the core's clock with tiles of 128 x 256 and slabs of 512 bytes along k on one core.
struct Work {
  double load = 0;     // mte2 at its width
  double compute = 0;  // the cube at its step
  double fill = 0;     // the first slab
  double drain = 0;    // the last slab's products and the last tile's way out
};

Work work_of(Shape shape, double bytes, double steps_per_cycle, double block_depth) {
  constexpr double kRows = 128;
  constexpr double kColumns = 256;
  constexpr double kWidth = 64;     // bytes a cycle
  constexpr double kLatency = 400;  // of gm
  constexpr double kClocks = 1100 / 976.5625;
  const double tiles = static_cast<double>(shape.m) / kRows * static_cast<double>(shape.n) / kColumns;
  const double slabs = static_cast<double>(shape.k) * bytes / 512;
  const double slab_load = (kRows + kColumns) * 512 / kWidth;
  const double slab_compute =
      kRows / 16 * kColumns / 16 * (512 / bytes / block_depth) / steps_per_cycle * kClocks;
  Work work;
  work.load = tiles * slabs * slab_load;
  work.compute = tiles * slabs * slab_compute;
  work.fill = slab_load + kLatency;
  work.drain = slab_compute + kRows * kColumns * 4 / kWidth + kLatency;
  return work;
}

void expect_overlap(const std::string& kernel, Shape shape, const Work& work) {
  const double cycles = static_cast<double>(timed(kernel, shape, 1).cycles);
  const double longer = std::max(work.load, work.compute);
  EXPECT_GE(cycles, longer) << kernel;
  const double ends = work.load > work.compute ? work.drain : work.fill + work.drain;
  EXPECT_LE(cycles, 1.05 * longer + ends) << kernel;
}

TEST(GemmTime, DoubleBufferingHidesTheShorterOfLoadAndCompute) {
  const Shape shape{256, 512, 2048};
  expect_overlap("gemm/double_buffered", shape, work_of(shape, 2, 1, 16));
  expect_overlap("gemm/double_buffered_f32", shape, work_of(shape, 4, 0.5, 8));
  expect_overlap("gemm/double_buffered_i8", shape, work_of(shape, 1, 1, 32));
}

TEST(GemmTime, LadderOfVariants) {
  const Shape shape{512, 512, 512};
  const std::uint64_t naive = timed("gemm/naive", shape, 4).cycles;
  const std::uint64_t tiled = timed("gemm/tiled", shape, 4).cycles;
  const std::uint64_t overlapped = timed("gemm/double_buffered", shape, 4).cycles;
  EXPECT_LT(2 * tiled, naive);
  EXPECT_LT(3 * overlapped, 2 * tiled);
}

TEST(GemmTime, PartsOfKKeepTheCoresBusy) {
  const Shape shape{128, 256, 16384};
  const std::uint64_t whole = timed("gemm/double_buffered", shape, 32).cycles;
  const std::uint64_t parts = timed("gemm/split_k", shape, 32, {{"splits", 16}}).cycles;
  EXPECT_LT(4 * parts, whole);
}

// 25.2 MB of operands and 4.2 MB of results are the bound, not the cube.
TEST(GemmTime, AllCoresAreBoundByMemory) {
  const report::Report report = timed("gemm/double_buffered", {1024, 1024, 1024}, 0);
  EXPECT_GT(report.memories.front().utilization, 0.8);
  EXPECT_EQ(report.memories.front().read_bytes, 32U * (128 + 256) * 1024 * 2);
}

TEST(GemmTime, ACubeDoesNotHelpAVector) {
  Launch launch;
  launch.kernel = "gemm/gemv_cube";
  launch.cores = 0;
  launch.timing_only = true;
  const double cube = static_cast<double>(run(launch).report.cycles);
  launch.kernel = "gemv/mixed";
  const double vector = static_cast<double>(run(launch).report.cycles);
  EXPECT_NEAR(cube / vector, 1, 0.1);
}

}  // namespace
}  // namespace npulab::kernels::test
