// SPDX-License-Identifier: Apache-2.0
// Softmax, norms, activations and rotary embedding: every kernel, type and machine against the reference;
// tails, padding, core counts, time.
#include "tests/kernels/norm_act_cases.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

class NormAct : public testing::TestWithParam<RowKernel> {};

// Sizes around the tile: columns that a machine works on at once, and rows of a block.
std::vector<std::int64_t> around(std::int64_t tile) {
  return {0, 1, tile - 1, tile, tile + 1, 3 * tile + 7};
}

struct Place {
  const char* machine;
  std::int64_t tile;
};

// Every size of rows and of columns meets three of the others, rows that stay in the buffer and rows that
// stream.
void all_sizes(const RowKernel& kernel, const Place& place) {
  constexpr std::int64_t kRowTile = 4;
  const std::vector<std::int64_t> rows = around(kRowTile);
  const std::vector<std::int64_t> columns = around(place.tile);
  const std::size_t shifts = npulab::test::kSanitized ? 1 : 3;
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t shift = 0; shift < shifts; ++shift) {
      Launch launch;
      launch.machine = place.machine;
      launch.cores = 2;
      launch.params = {{"tile", kRowTile * place.tile}, {"streamed", shift == 1 ? 1 : 0}};
      if (launch.params["streamed"] != 0) launch.params["tile"] = place.tile;
      if (kernel.rope()) launch.params["interleaved"] = static_cast<std::int64_t>(i + shift) % 2;
      if (kernel.family.ends_with("gelu"))
        launch.params["approximate"] = static_cast<std::int64_t>(i + shift) % 2;
      const std::int64_t beyond = std::vector<std::int64_t>{0, 3, 16}[(i + shift) % 3];
      verified(kernel, launch, {rows[(i + 2 * shift) % rows.size()], columns[i], beyond});
    }
}

TEST_P(NormAct, SizesOnTheLargeMachine) {
  all_sizes(GetParam(), {"ascend910_opsblas", 128});
}

TEST_P(NormAct, SizesOnTheTinyMachine) {
  all_sizes(GetParam(), {"tiny", 16});
}

TEST_P(NormAct, SizesOnTheMachineOfOddSizes) {
  all_sizes(GetParam(), {"edge", GetParam().rope() ? 24 : 40});
}

TEST_P(NormAct, RowsLongerThanTheBuffer) {
  Launch launch;
  launch.machine = "tiny";
  launch.cores = 2;
  if (GetParam().rope()) {
    verified(GetParam(), launch, {3, 75, 5});  // heads one by one
  } else {
    verified(GetParam(), launch, {3, 2100, 5});
  }
}

TEST_P(NormAct, DE_05_same_bits_on_any_number_of_cores) {
  std::vector<Bytes> results;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch;
    launch.cores = cores;
    results.push_back(verified(GetParam(), launch, {41, 70}).y);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(NormAct, NU_26_same_bits_tiled_or_not) {
  std::vector<Bytes> results;
  for (const auto& [streamed, tile, prefetch] :
       {std::tuple(0, 4096, 2), std::tuple(0, 1, 4), std::tuple(1, 1, 2), std::tuple(1, 300, 3)}) {
    Launch launch;
    launch.params = {{"streamed", streamed}, {"tile", tile}, {"prefetch", prefetch}};
    results.push_back(verified(GetParam(), launch, {9, 700}).y);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(NormAct, SH_03_one_column_between_poison) {
  verified(GetParam(), {}, {16, 1, 11});
}

TEST_P(NormAct, SH_04_padding_takes_no_part) {
  std::vector<Bytes> results;
  for (const std::byte padding : {std::byte{0}, std::byte{0xd1}, std::byte{0xff}, std::byte{0x7c}}) {
    Launch launch;
    launch.padding = padding;
    results.push_back(verified(GetParam(), launch, {19, 21, 11}).y);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(NormAct, SH_06_no_columns) {
  const KernelRun result = verified(GetParam(), {}, {70, 0});
  if (!GetParam().row_results()) {
    EXPECT_TRUE(result.y.empty());
    return;
  }
  for (std::uint64_t row = 0; row < 70; ++row)
    EXPECT_EQ(element(result, row), -std::numeric_limits<double>::infinity());
}

TEST_P(NormAct, SH_08_no_rows_give_nothing) {
  const KernelRun result = verified(GetParam(), {}, {0, 40});
  EXPECT_TRUE(result.y.empty());
  EXPECT_EQ(result.report.memories.front().read_bytes, 0U);
  EXPECT_LE(result.report.cycles, 4U);
}

TEST_P(NormAct, SH_09_few_columns_have_finite_rates) {
  for (const std::int64_t columns : {1, 3, 133}) {
    const KernelRun result = verified(GetParam(), {}, {5, columns});
    EXPECT_TRUE(std::isfinite(result.report.gflops));
    EXPECT_GT(result.report.time_us, 0.0);
  }
}

TEST_P(NormAct, SH_15_results_are_not_all_zero) {
  const KernelRun result = verified(GetParam(), {}, {16, 64});
  EXPECT_FALSE(result.y == Bytes(result.y.size()));
}

TEST_P(NormAct, SH_16_shape_of_the_result) {
  const KernelRun result = verified(GetParam(), {}, {6, 50});
  const std::size_t columns = GetParam().row_results() ? 1 : GetParam().rope() ? 2 * 50 * kHeads : 50;
  EXPECT_EQ(result.y.size(), 6 * columns * isa::bits(GetParam().type) / 8);
}

TEST_P(NormAct, NU_27_position_coded_data) {
  Launch launch;
  for (const char* name : {"x", "gate", "up", "gamma", "beta"}) launch.data[name] = "arange";
  verified(GetParam(), launch, {17, 18});
}

TEST_P(NormAct, TimeIsTheSameWithoutValues) {
  for (const int streamed : {0, 1}) {
    Launch launch;
    launch.params = {{"streamed", streamed}, {"tile", 600}};
    set_shape(GetParam(), {50, 300}, launch);
    const std::uint64_t with_values = run(launch).report.cycles;
    launch.timing_only = true;
    EXPECT_EQ(run(launch).report.cycles, with_values);
  }
}

TEST_P(NormAct, ReportIsTheSameWithoutTheBlockCache) {
  Launch launch;
  set_shape(GetParam(), {70, 333}, launch);
  launch.timing_only = true;
  nlohmann::ordered_json with = report::to_json(run(launch).report, false);
  launch.block_cache = false;
  nlohmann::ordered_json without = report::to_json(run(launch).report, false);
  with.erase("options");
  without.erase("options");
  EXPECT_EQ(with, without);
}

// Where a NaN or an infinity stands it goes by the reference: through that element or through its row, never
// further.
TEST_P(NormAct, SpecialValuesStayInTheirRows) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr std::int64_t kRows = 9;
  constexpr std::int64_t kColumns = 37;
  const std::int64_t width = GetParam().rope() ? 2 * kColumns * kHeads : kColumns;
  std::vector<double> x(static_cast<std::size_t>(kRows * width));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 13) / 8 - 0.5;
  const auto at = [&](std::int64_t row, std::int64_t column) -> double& {
    return x[static_cast<std::size_t>(row * width + column)];
  };
  at(1, width - 1) = std::numeric_limits<double>::quiet_NaN();
  at(3, 0) = kInf;
  at(5, 17) = -kInf;
  at(6, 2) = kInf;
  at(6, 3) = -kInf;
  for (std::int64_t i = 0; i < width; ++i) at(7, i) = -kInf;
  Launch launch;
  launch.inputs[GetParam().x()] = encoded(GetParam().type, x);
  for (const char* name : {"mask", "beta"})
    if (GetParam().family != "softmax_mask") launch.data[name] = "zeros";
  for (const char* name : {"up", "gamma"}) launch.data[name] = "ones";
  if (GetParam().family == "softmax_mask") launch.inputs["mask"] = Bytes(x.size(), std::byte{1});
  const KernelRun result = verified(GetParam(), launch, {kRows, kColumns});
  const auto row_bytes = result.y.size() / kRows;
  for (const std::uint64_t row : {0U, 2U, 4U, 8U})
    for (std::uint64_t i = 0; i < row_bytes * 8 / isa::bits(GetParam().type); ++i)
      EXPECT_TRUE(std::isfinite(element(result, row * row_bytes * 8 / isa::bits(GetParam().type) + i)));
  // The NaN is somewhere in its row.
  bool nan = false;
  for (std::uint64_t i = 0; i < row_bytes * 8 / isa::bits(GetParam().type); ++i)
    nan = nan || std::isnan(element(result, row_bytes * 8 / isa::bits(GetParam().type) + i));
  EXPECT_TRUE(nan);
}

// The bound has teeth: the largest result, moved by two units of its last place, or eight in f32, is a
// mismatch.
TEST_P(NormAct, ReferenceFindsAWrongElement) {
  KernelRun result = verified(GetParam(), {}, {4, 50});
  const isa::DType type = GetParam().type;
  std::uint64_t largest = 0;
  const std::uint64_t count = result.y.size() * 8 / isa::bits(type);
  for (std::uint64_t i = 1; i < count; ++i)
    if (std::fabs(element(result, i)) > std::fabs(element(result, largest))) largest = i;
  const int unit = std::ilogb(element(result, largest)) - static_cast<int>(isa::info(type).mantissa_bits);
  const double wrong = element(result, largest) + std::ldexp(type == isa::DType::f32 ? 64 : 2, unit);
  values::from_double(type, wrong, result.y.data(), largest, isa::Round::nearest_even, false);
  Inputs inputs;
  for (const auto& [name, bytes] : result.inputs) inputs[name] = bytes;
  const CheckData data = check(result.header, machine("ascend910_opsblas"), inputs, {{"y", {result.y, 0}}});
  EXPECT_EQ(data.mismatches, 1U);
}

INSTANTIATE_TEST_SUITE_P(NormAct, NormAct, testing::ValuesIn(row_kernels()), [](const auto& test) {
  return test.param.name().substr(test.param.name().find('/') + 1);
});

}  // namespace
}  // namespace npulab::kernels::test
