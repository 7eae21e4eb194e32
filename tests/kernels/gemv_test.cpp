// SPDX-License-Identifier: Apache-2.0
// Every variant of y = A x: bits in its stated order, the float64 reference, tails, padding, core counts,
// time.
#include "tests/kernels/gemv_model.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

// Parameters with which the variant fits the small machines.
isa::ParamValues fitting(const Variant& variant, const std::string& machine_name) {
  isa::ParamValues params;
  if (!variant.block_rows || machine_name == "ascend910_opsblas") return params;
  const bool wide_sums = variant.name == "gemv/mixed";
  params["Bm"] = machine_name == "tiny" ? (wide_sums ? 2 : 5) : (wide_sums ? 7 : 13);
  if (variant.name == "gemv/register_blocked_spill") params["group"] = params["Bm"] - 1;
  return params;
}

struct Size {
  std::int64_t rows;
  std::int64_t columns;
};

// Runs and holds against the stated order, the reference and the sanitizer.
KernelRun verified(const Variant& variant, Launch launch, Size size, std::int64_t beyond) {
  SCOPED_TRACE(variant.name + " on " + launch.machine + " M=" + std::to_string(size.rows) +
               " K=" + std::to_string(size.columns) + " lda=K+" + std::to_string(beyond) +
               " cores=" + std::to_string(launch.cores));
  launch.kernel = variant.name;
  launch.params.merge(fitting(variant, launch.machine));
  launch.params["M"] = size.rows;
  launch.params["K"] = size.columns;
  launch.params["lda"] = size.columns + beyond;
  if (beyond > 0 && !launch.padding) launch.padding = std::byte{0xff};
  // Scales that keep integer results in the range of y.
  launch.data.emplace("scale", "const:0.0009765625");
  launch.data.emplace("out_scale", "const:0.28");
  KernelRun result = run(launch);
  const config::CoreTypeConfig& core = machine(launch.machine).core_types.begin()->second;
  const unsigned bits = core.vector.operands == isa::OperandForm::ub ? 2048 : core.vector.operation_bits;
  EXPECT_EQ(difference(result, model(result, variant, bits)), "");
  EXPECT_TRUE(result.check.passed) << worst_of(result.check);
  EXPECT_EQ(result.unwritten, 0U);
  EXPECT_EQ(first_diagnostic(result), "");
  return result;
}

// Builds with sanitizers leave the largest sizes to the others.
constexpr std::int64_t kSanitizedElements = 100000;

const Variant kUb{"gemv/ub_repeat", true, true};
const std::vector<std::int64_t> kSmall{0, 1, 2, 15, 16, 17, 63, 64, 65};

class GemvVariant : public testing::TestWithParam<Variant> {};

TEST_P(GemvVariant, SmallSizes) {
  int count = 0;
  for (const std::int64_t rows : kSmall)
    for (const std::int64_t columns : kSmall) {
      const std::int64_t beyond = std::vector<std::int64_t>{0, 3, 16}[static_cast<std::size_t>(count++ % 3)];
      verified(GetParam(), {}, {rows, columns}, beyond);
    }
}

TEST_P(GemvVariant, LargeSizes) {
  for (const Size size : {Size{255, 256}, Size{256, 255}, Size{257, 257}, Size{17, 1000}, Size{1000, 17},
                          Size{300, 1000}, Size{1000, 257}, Size{64, 4096}, Size{130, 4096}, Size{4096, 65}})
    if (!npulab::test::kSanitized || size.rows * size.columns <= kSanitizedElements)
      verified(GetParam(), {}, size, size.rows % 2 == 0 ? 0 : 5);
}

TEST_P(GemvVariant, SmallMachines) {
  for (const char* name : {"tiny", "edge"})
    for (const Size size : {Size{0, 3}, Size{3, 0}, Size{1, 1}, Size{5, 15}, Size{16, 16}, Size{17, 63},
                            Size{33, 257}, Size{7, 1000}}) {
      Launch launch;
      launch.machine = name;
      launch.cores = 2;
      verified(GetParam(), launch, size, size.columns % 2 == 0 ? 0 : 1);
    }
}

TEST_P(GemvVariant, DE_05_same_bits_on_any_number_of_cores) {
  std::vector<Bytes> results;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch;
    launch.cores = cores;
    results.push_back(verified(GetParam(), launch, {101, 300}, 0).y);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(GemvVariant, SH_03_one_column_between_poison) {
  verified(GetParam(), {}, {16, 1}, 11);
}

TEST_P(GemvVariant, SH_04_padding_takes_no_part) {
  std::vector<Bytes> results;
  for (const std::byte padding : {std::byte{0}, std::byte{0xd1}, std::byte{0xff}, std::byte{0x7c}}) {
    Launch launch;
    launch.padding = padding;
    results.push_back(verified(GetParam(), launch, {19, 21}, 11).y);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(GemvVariant, SH_06_no_columns_give_zeros) {
  const KernelRun result = verified(GetParam(), {}, {70, 0}, 0);
  for (const std::byte byte : result.y) EXPECT_EQ(byte, std::byte{0});
  EXPECT_GT(result.report.cycles, 0U);
}

TEST_P(GemvVariant, SH_08_no_rows_give_nothing) {
  const KernelRun result = verified(GetParam(), {}, {0, 40}, 0);
  EXPECT_TRUE(result.y.empty());
  EXPECT_EQ(result.report.memories.front().read_bytes, 0U);
  EXPECT_LE(result.report.cycles, 4U);
}

TEST_P(GemvVariant, SH_09_few_columns_have_finite_rates) {
  for (const std::int64_t columns : {1, 3, 133}) {
    const KernelRun result = verified(GetParam(), {}, {5, columns}, 0);
    EXPECT_TRUE(std::isfinite(result.report.gflops));
    EXPECT_GT(result.report.time_us, 0.0);
  }
}

TEST_P(GemvVariant, SH_15_results_are_not_all_zero) {
  const KernelRun result = verified(GetParam(), {}, {16, 64}, 0);
  EXPECT_FALSE(result.y == Bytes(result.y.size()));
}

TEST_P(GemvVariant, NU_27_position_coded_data) {
  Launch launch;
  launch.data = {{"A", "arange"}, {"x", "arange"}};
  verified(GetParam(), launch, {37, 18}, 0);
}

TEST_P(GemvVariant, TimeIsTheSameWithoutValues) {
  Launch launch;
  launch.kernel = GetParam().name;
  launch.params = {{"M", 150}, {"K", 700}};
  const std::uint64_t with_values = run(launch).report.cycles;
  launch.timing_only = true;
  EXPECT_EQ(run(launch).report.cycles, with_values);
}

TEST_P(GemvVariant, ReportIsTheSameWithoutTheBlockCache) {
  Launch launch;
  launch.kernel = GetParam().name;
  launch.params = {{"M", 70}, {"K", 333}};
  launch.timing_only = true;
  nlohmann::ordered_json with = report::to_json(run(launch).report, false);
  launch.block_cache = false;
  nlohmann::ordered_json without = report::to_json(run(launch).report, false);
  with.erase("options");
  without.erase("options");
  EXPECT_EQ(with, without);
}

INSTANTIATE_TEST_SUITE_P(Gemv, GemvVariant, testing::ValuesIn(register_variants()), [](const auto& test) {
  return test.param.name.substr(test.param.name.find('/') + 1);
});

TEST(GemvUb, AllSizes) {
  for (const std::int64_t rows : {0, 1, 2, 15, 16, 17, 65})
    for (const std::int64_t columns : {0, 1, 15, 17, 64, 127, 128, 129, 257, 1000}) {
      Launch launch;
      launch.machine = "tiny_ub";
      launch.cores = 2;
      verified(kUb, launch, {rows, columns}, columns % 2);
    }
}

TEST(GemvUb, LongRowsAndBlocksOfAnySize) {
  for (const std::int64_t block : {1, 3, 20}) {
    Launch launch;
    launch.machine = "tiny_ub";
    launch.cores = 1;
    launch.params = {{"Bm", block}};
    verified(kUb, launch, {23, 6000}, 0);
  }
}

TEST(GemvUb, TimeIsTheSameWithoutValues) {
  Launch launch;
  launch.kernel = kUb.name;
  launch.machine = "tiny_ub";
  launch.cores = 2;
  launch.params = {{"M", 50}, {"K", 300}};
  const std::uint64_t with_values = run(launch).report.cycles;
  launch.timing_only = true;
  EXPECT_EQ(run(launch).report.cycles, with_values);
}

Bytes encoded(isa::DType type, const std::vector<double>& elements) {
  Bytes bytes(elements.size() * isa::bits(type) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    values::from_double(type, elements[i], bytes.data(), i, isa::Round::nearest_even, false);
  return bytes;
}

TEST(GemvSpecial, NanAndInfinityStayInTheirRows) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::size_t kRows = 40;
  constexpr std::size_t kColumns = 37;
  for (const Variant& variant : register_variants()) {
    if (variant.name.find("int8") != std::string::npos) continue;
    const isa::DType type = variant.name == "gemv/f32" ? isa::DType::f32 : isa::DType::f16;
    std::vector<double> a(kRows * kColumns, 0.5);
    std::vector<double> x(kColumns, 1.0);
    x[20] = 0.0;
    a[1 * kColumns + 36] = kNan;
    a[3 * kColumns + 0] = kInf;
    a[5 * kColumns + 17] = -kInf;
    a[7 * kColumns + 2] = kInf;  // meets -inf: NaN
    a[7 * kColumns + 3] = -kInf;
    a[9 * kColumns + 20] = kInf;  // times 0: NaN
    Launch launch;
    launch.inputs = {{"A", encoded(type, a)}, {"x", encoded(type, x)}};
    const KernelRun result = verified(variant, launch, {kRows, kColumns}, 0);
    const isa::DType out = tensor(result.header, "y").type;
    const auto y = [&](std::uint64_t row) { return values::to_double(out, result.y.data(), row); };
    EXPECT_TRUE(std::isnan(y(1)));
    EXPECT_EQ(y(3), kInf);
    EXPECT_EQ(y(5), -kInf);
    EXPECT_TRUE(std::isnan(y(7)));
    EXPECT_TRUE(std::isnan(y(9)));
    EXPECT_EQ(y(2), 18.0);
  }
}

TEST(GemvSpecial, NU_06_long_sums_of_ones) {
  Launch launch;
  launch.data = {{"A", "ones"}, {"x", "ones"}};
  // 16 lanes of 256 ones each: no lane reaches 2048, where f16 loses a one, and the tree adds powers of two.
  const KernelRun half = verified({"gemv/pipelined", true}, launch, {4, 4096}, 0);
  EXPECT_EQ(values::to_double(isa::DType::f16, half.y.data(), 0), 4096.0);
  // 65536 columns give each lane 4096 ones, of which it keeps 2048.
  const KernelRun stuck = verified({"gemv/pipelined", true}, launch, {1, 65536}, 0);
  EXPECT_EQ(values::to_double(isa::DType::f16, stuck.y.data(), 0), 32768.0);
  const KernelRun mixed = verified({"gemv/mixed", true}, launch, {1, 65536}, 0);
  EXPECT_EQ(values::to_double(isa::DType::f32, mixed.y.data(), 0), 65536.0);
}

TEST(GemvSpecial, NU_05_overflow_of_f16_sums_follows_the_machine) {
  Launch launch;
  launch.data = {{"A", "const:64"}, {"x", "const:64"}};
  const KernelRun result = verified({"gemv/register_blocked", true}, launch, {3, 64}, 0);
  EXPECT_EQ(values::to_double(isa::DType::f16, result.y.data(), 0), std::numeric_limits<double>::infinity());
}

TEST(GemvSpecial, NU_13_requantisation_takes_ties_to_even) {
  Launch launch;
  std::vector<double> a;
  for (int k = -130; k < 130; ++k) a.push_back(k >= -128 && k <= 127 ? k : 0);
  launch.inputs = {{"A", encoded(isa::DType::i8, a)}, {"x", encoded(isa::DType::i8, {1})}};
  launch.data = {{"scale", "const:0.5"}, {"out_scale", "ones"}};
  const KernelRun result = verified({"gemv/int8_requant", true}, launch, {260, 1}, 0);
  const auto y = [&](int k) {
    return values::to_double(isa::DType::i8, result.y.data(), static_cast<std::uint64_t>(k + 130));
  };
  EXPECT_EQ(y(1), 0.0);
  EXPECT_EQ(y(3), 2.0);
  EXPECT_EQ(y(-1), 0.0);
  EXPECT_EQ(y(-5), -2.0);
  EXPECT_EQ(y(-128), -64.0);
}

TEST(GemvSpecial, NU_15_zero_scale_gives_zeros) {
  Launch launch;
  launch.data = {{"scale", "zeros"}};
  const KernelRun result = verified({"gemv/int8", true}, launch, {9, 100}, 0);
  for (std::uint64_t row = 0; row < 9; ++row)
    EXPECT_EQ(values::to_double(isa::DType::f16, result.y.data(), row), 0.0);
}

TEST(GemvRefusal, BlocksBeyondTheRegisters) {
  const auto error = refusal([] {
    assemble_kernel("gemv/register_blocked", folders(), machine("ascend910_opsblas"), {{"Bm", 64}});
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "requirement");
  EXPECT_NE(error->message().find(
                "blocks of 64 rows need 142 vector registers, 128 of them for sums; the machine has 128: "
                "at most 57 rows"),
            std::string::npos)
      << error->message();
  EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
}

TEST(GemvRefusal, BF_04_tiles_that_do_not_fit_the_buffer) {
  const auto error = refusal([] {
    assemble_kernel("gemv/register_blocked_spill", folders(), machine("tiny"), {{"Bm", 200}, {"M", 200}});
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "requirement");
  EXPECT_NE(error->message().find("do not fit ub, 4096 bytes"), std::string::npos) << error->message();
}

TEST(GemvRefusal, OperandsOfTheOtherForm) {
  for (const auto& [kernel, on] :
       {std::pair("gemv/ub_repeat", "tiny"), std::pair("gemv/pipelined", "tiny_ub"),
        std::pair("gemv/vectorized", "tiny_ub")}) {
    const auto error =
        refusal([&, name = kernel, where = on] { assemble_kernel(name, folders(), machine(where)); });
    ASSERT_TRUE(error) << kernel;
    EXPECT_EQ(error->code(), "requirement") << kernel;
    EXPECT_NE(error->message().find("this kernel needs v"), std::string::npos) << error->message();
  }
}

TEST(GemvRefusal, SumsThatCouldLeaveI32) {
  const auto error = refusal([] {
    assemble_kernel("gemv/int8", folders(), machine("ascend910_opsblas"), {{"K", 131072}});
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "requirement");
}

TEST(GemvRefusal, PitchBelowTheColumns) {
  const auto error = refusal([] {
    assemble_kernel("gemv/mixed", folders(), machine("ascend910_opsblas"), {{"K", 100}, {"lda", 99}});
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "parameter-range");
}

// Share of the device memory's peak at M = K = 4096 on all cores.
double share(const std::string& kernel) {
  Launch launch;
  launch.kernel = kernel;
  launch.cores = 0;
  launch.timing_only = true;
  return run(launch).report.memories.front().utilization;
}

TEST(GemvTime, LadderOfVariants) {
  const double naive = share("gemv/naive");
  const double vectorized = share("gemv/vectorized");
  const double blocked = share("gemv/register_blocked");
  const double pipelined = share("gemv/pipelined");
  EXPECT_GE(naive, 0.10);
  EXPECT_LE(naive, 0.20);
  EXPECT_GE(vectorized, 0.80);
  EXPECT_LE(vectorized, 0.90);
  EXPECT_GE(blocked, vectorized);
  EXPECT_GT(pipelined, blocked);
  EXPECT_LT(pipelined, 0.95);
  EXPECT_LT(share("gemv/register_blocked_spill"), blocked);
}

}  // namespace
}  // namespace npulab::kernels::test
