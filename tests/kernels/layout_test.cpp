// SPDX-License-Identifier: Apache-2.0
// Kernels that move data: every shape around a tile, every bit pattern, any number of cores.
#include "tests/kernels/tensors.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

constexpr std::int64_t kTile = 16;
const std::vector<std::int64_t> kSides{0, 1, kTile - 1, kTile, kTile + 1, 3 * kTile + 7};
const std::vector<std::string> kMachines{"ascend910_opsblas", "tiny", "edge"};
const std::vector<std::int64_t> kBits{8, 16, 32};

// The launch with noise for all that it reads.
Launch noisy(Launch launch) {
  const isa::KernelHeader header = find_kernel(launch.kernel, folders(), launch.params).header;
  for (const isa::Tensor& one : header.tensors)
    if (one.direction != isa::Direction::out) launch.inputs[one.name] = noise(dense_bytes(one));
  return launch;
}

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

// Parameters of a kernel for a shape: pitches beyond the columns and small tiles.
isa::ParamValues parameters(const std::string& kernel, std::int64_t bits, Shape shape, std::int64_t beyond) {
  isa::ParamValues params{{"element_bits", bits}};
  if (kernel == "layout/transpose_in_place") {
    params["N"] = shape.columns;
    params["lda"] = shape.columns + beyond;
    params["tile"] = kTile;
    return params;
  }
  params["M"] = shape.rows;
  params["N"] = shape.columns;
  if (kernel == "layout/pad" || kernel == "layout/pad_in_place") {
    params["row_multiple"] = 4;
    params["column_multiple"] = 12;
    params["tile"] = 256;
  } else {
    params["tile"] = kTile;
  }
  if (kernel != "layout/nz_to_nd" && kernel != "layout/pad_in_place") params["ldx"] = shape.columns + beyond;
  if (kernel == "layout/nz_to_nd") params["ldy"] = shape.columns + beyond;
  if (kernel == "layout/transpose") params["ldy"] = shape.rows + 2 * beyond;
  if (kernel == "layout/pad") params["ldy"] = (shape.columns + 11) / 12 * 12 + beyond;
  return params;
}

class Layout : public testing::TestWithParam<std::string> {};

TEST_P(Layout, SH_04_DM_01_DM_03_every_shape_type_and_machine) {
  int count = 0;
  std::vector<std::string> machines = kMachines;
  if (GetParam().find("pad") != std::string::npos) machines.emplace_back("tiny_ub");  // no vector unit needed
  for (const std::string& on : machines)
    for (const std::int64_t bits : kBits)
      for (const std::int64_t rows : kSides) {
        for (const std::int64_t columns : kSides) {
          if (GetParam() == "layout/transpose_in_place" && rows != columns) continue;
          Launch launch;
          launch.kernel = GetParam();
          launch.machine = on;
          launch.params = parameters(GetParam(), bits, {rows, columns}, count++ % 3 * 5);
          run_all(noisy(launch), count % 4 == 0);
        }
        if (npulab::test::kSanitized && rows > kTile) break;
      }
}

TEST_P(Layout, LargerThanATileInAllWays) {
  for (const std::int64_t bits : kBits) {
    Launch launch;
    launch.kernel = GetParam();
    launch.cores = 32;
    launch.params = parameters(GetParam(), bits, {301, 530}, 3);
    launch.params.erase("tile");
    run_all(noisy(launch), true);
  }
}

TEST_P(Layout, DE_05_same_bits_on_any_number_of_cores) {
  std::vector<Bytes> results;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch;
    launch.kernel = GetParam();
    launch.cores = cores;
    launch.params = parameters(GetParam(), 16, {75, 91}, 0);
    results.push_back(run_all(noisy(launch), true).outputs.begin()->second);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(Layout, NU_22_every_pattern_of_16_bits_survives) {
  Launch launch;
  launch.kernel = GetParam();
  launch.cores = 32;
  launch.params = parameters(GetParam(), 16, {256, 256}, 0);
  launch.params.erase("tile");
  const isa::KernelHeader header = find_kernel(launch.kernel, folders(), launch.params).header;
  const isa::Tensor& first = header.tensors.front();
  Bytes patterns(dense_bytes(first));
  for (std::size_t i = 0; i < patterns.size() / 2; ++i) {
    const auto pattern = static_cast<std::uint16_t>(i);
    std::memcpy(&patterns[i * 2], &pattern, sizeof pattern);
  }
  launch.inputs[first.name] = patterns;
  const Bytes result = run_all(launch).outputs.begin()->second;
  std::vector<int> seen(65536);
  for (std::size_t i = 0; i < result.size() / 2; ++i) {
    std::uint16_t pattern = 0;
    std::memcpy(&pattern, &result[i * 2], sizeof pattern);
    ++seen[pattern];
  }
  for (std::size_t pattern = 0; pattern < seen.size(); ++pattern)
    ASSERT_GE(seen[pattern], 1) << pattern << " is lost";
}

TEST_P(Layout, SH_08_empty_matrices_move_nothing) {
  for (const Shape shape : {Shape{0, 0}, Shape{0, 9}, Shape{9, 0}}) {
    if (GetParam() == "layout/transpose_in_place" && shape.columns > 0) continue;
    Launch launch;
    launch.kernel = GetParam();
    launch.params = parameters(GetParam(), 16, shape, 0);
    const Outcome result = run_all(launch);
    EXPECT_EQ(result.report.memories.front().read_bytes, 0U);
    EXPECT_TRUE(std::isfinite(result.report.time_us));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Layout,
                         testing::Values("layout/transpose", "layout/transpose_in_place", "layout/nd_to_nz",
                                         "layout/nz_to_nd", "layout/pad", "layout/pad_in_place"),
                         [](const auto& test) { return test.param.substr(test.param.find('/') + 1); });

std::vector<int> small_result(const std::string& kernel, isa::ParamValues params, std::vector<int> elements) {
  Launch launch;
  launch.kernel = kernel;
  params["element_bits"] = 8;
  launch.params = std::move(params);
  Bytes bytes(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) bytes[i] = static_cast<std::byte>(elements[i]);
  launch.inputs[find_kernel(kernel, folders(), launch.params).header.tensors.front().name] = bytes;
  std::vector<int> result;
  const Outcome outcome = run_all(launch);
  for (const std::byte byte : outcome.outputs.begin()->second) result.push_back(std::to_integer<int>(byte));
  return result;
}

TEST(LayoutByHand, Transpose) {
  EXPECT_EQ(small_result("layout/transpose", {{"M", 2}, {"N", 3}}, {1, 2, 3, 4, 5, 6}),
            (std::vector<int>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(small_result("layout/transpose_in_place", {{"N", 2}}, {1, 2, 3, 4}),
            (std::vector<int>{1, 3, 2, 4}));
}

TEST(LayoutByHand, Pad) {
  EXPECT_EQ(small_result("layout/pad", {{"M", 2}, {"N", 3}, {"row_multiple", 3}, {"column_multiple", 4}},
                         {1, 2, 3, 4, 5, 6}),
            (std::vector<int>{1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0}));
  EXPECT_EQ(
      small_result("layout/pad_in_place", {{"M", 2}, {"N", 3}, {"row_multiple", 3}, {"column_multiple", 4}},
                   {1, 2, 3, 4, 5, 6, 91, 92, 93, 94, 95, 96}),
      (std::vector<int>{1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0}));
}

TEST(LayoutByHand, FractalsThereAndBack) {
  std::vector<int> matrix;  // 17 x 33: four fractals of i8
  for (int i = 0; i < 17 * 33; ++i) matrix.push_back(i % 251 + 1);
  std::vector<int> folded = small_result("layout/nd_to_nz", {{"M", 17}, {"N", 33}}, matrix);
  ASSERT_EQ(folded.size(), 2U * 2 * 16 * 32);
  const auto fractal = [&](std::size_t column, std::size_t row, std::size_t r, std::size_t c) {
    return folded[((column * 2 + row) * 16 + r) * 32 + c];
  };
  EXPECT_EQ(fractal(0, 0, 0, 0), matrix[0]);
  EXPECT_EQ(fractal(0, 0, 15, 31), matrix[15 * 33 + 31]);
  EXPECT_EQ(fractal(0, 1, 0, 5), matrix[16 * 33 + 5]);
  EXPECT_EQ(fractal(1, 0, 3, 0), matrix[3 * 33 + 32]);
  EXPECT_EQ(fractal(1, 0, 3, 1), 0);
  EXPECT_EQ(fractal(0, 1, 1, 0), 0);
  for (int& element : folded)
    if (element == 0) element = 77;  // what fills fractals up takes no part
  EXPECT_EQ(small_result("layout/nz_to_nd", {{"M", 17}, {"N", 33}}, folded), matrix);
}

TEST(LayoutRefusal, WidthsViewsAndTiles) {
  Launch launch;
  launch.kernel = "layout/transpose";
  launch.params = {{"element_bits", 12}};
  EXPECT_NE(refused(launch).find("element_bits = 12: elements have 8, 16 or 32 bits"), std::string::npos);
  launch.machine = "tiny_ub";
  launch.params = {{"element_bits", 16}};
  EXPECT_NE(refused(launch).find("this kernel needs vector registers"), std::string::npos);
  launch.machine = "edge";
  launch.params = {{"M", 3}, {"N", 5}, {"ldx", 4}};
  EXPECT_NE(refused(launch).find("ldx = 4 is not in 5"), std::string::npos);
}

// Fifteen rows of zeros in the buffer come from nowhere: one row is read, one fractal written.
TEST(LayoutTime, RowsOfZerosAreNoRequests) {
  Launch launch;
  launch.kernel = "layout/nd_to_nz";
  launch.cores = 1;
  launch.params = {{"M", 1}, {"N", 16}};
  EXPECT_EQ(run_all(launch).report.memories.front().accesses, 2U);
}

TEST(LayoutTime, LongRowsKeepTheMemoryBusy) {
  for (const char* kernel : {"layout/transpose", "layout/nd_to_nz", "layout/nz_to_nd", "layout/pad"}) {
    Launch launch;
    launch.kernel = kernel;
    launch.cores = 0;
    launch.timing_only = true;
    launch.params = {{"M", 2048}, {"N", 2048}};
    EXPECT_GT(run(launch).report.memories.front().utilization, 0.5) << kernel;
  }
}

}  // namespace
}  // namespace npulab::kernels::test
