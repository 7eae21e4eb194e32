// SPDX-License-Identifier: Apache-2.0
// C = A B on the cube: every kernel against the float64 reference, tails, transposition, padding, core
// counts.
#include <cmath>
#include <limits>

#include "tests/kernels/gemm_cases.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Gemm : public testing::TestWithParam<GemmKernel> {};

// Every pair of sizes of two dimensions is met.
TEST_P(Gemm, SH_03_SH_06_SH_08_SH_16_every_pair_of_sizes) {
  const std::vector<std::int64_t> m{0, 1, 15, 16, 17, 3 * kTileRows + 7};
  const std::vector<std::int64_t> n{0, 1, 15, 16, 17, 3 * kTileColumns + 7};
  const std::vector<std::int64_t> k{0, 1, 15, 16, 17, 3 * kSlab + 7};
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t j = 0; j < n.size(); ++j) {
      if (npulab::test::kSanitized && (i * n.size() + j) % 5 != 0) continue;
      Launch launch = small_tiles(GetParam(), {m[i], n[j], k[(i + j) % k.size()]});
      add_pitches(launch, (i + 2 * j) % 3 == 0 ? 0 : 5);
      run_all(launch, (i + j) % 4 == 0);
    }
}

TEST_P(Gemm, TransposedOperands) {
  for (const bool trans_a : {false, true})
    for (const bool trans_b : {false, true})
      for (const Shape shape : {Shape{40, 70, 100}, Shape{17, 1, 65}, Shape{1, 49, 33}}) {
        if (!GetParam().transposes() && (trans_a || !trans_b)) continue;
        Launch launch = small_tiles(GetParam(), shape, trans_a, trans_b);
        add_pitches(launch, shape.m % 2 == 0 ? 0 : 3);
        run_all(launch);
      }
}

TEST_P(Gemm, DE_05_same_bits_on_any_number_of_cores) {
  Bytes first;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch = small_tiles(GetParam(), {101, 75, 300});
    launch.cores = cores;
    const Outcome outcome = run_all(launch);
    if (first.empty()) first = outcome["C"];
    EXPECT_TRUE(outcome["C"] == first) << cores << " cores";
  }
}

TEST_P(Gemm, DE_05_NU_26_same_bits_with_any_tiles) {
  if (GetParam().has("split_k")) return;  // its order depends on the parts, as it says
  Bytes first;
  for (const auto& [tm, tn, tk, slab] :
       {std::tuple{16, 16, 32, 32}, {64, 48, 32, 128}, {112, 80, 64, 320}, {48, 144, 32, 96}}) {
    Launch launch = small_tiles(GetParam(), {101, 75, 300});
    launch.params["tm"] = tm;
    launch.params["tn"] = tn;
    launch.params["tk"] = tk;
    if (launch.params.contains("slab")) launch.params["slab"] = slab;
    const Outcome outcome = run_all(launch);
    if (first.empty()) first = outcome["C"];
    EXPECT_TRUE(outcome["C"] == first) << tm << " x " << tn;
  }
}

TEST_P(Gemm, SH_04_padding_takes_no_part) {
  Bytes first;
  for (const std::byte padding : {std::byte{0}, std::byte{0xd1}, std::byte{0xff}, std::byte{0x7c}}) {
    Launch launch = small_tiles(GetParam(), {19, 21, 37});
    add_pitches(launch, 11);
    launch.padding = padding;
    const Outcome outcome = run_all(launch);
    if (first.empty()) first = outcome["C"];
    EXPECT_TRUE(outcome["C"] == first);
  }
}

TEST_P(Gemm, SH_15_SH_16_results_are_not_all_zero) {
  for (const Shape shape : {Shape{16, 16, 64}, Shape{32, 128, 512}}) {
    const Outcome outcome = run_all(small_tiles(GetParam(), shape));
    const Bytes& c = outcome["C"];
    EXPECT_FALSE(c == Bytes(c.size()));
  }
}

TEST_P(Gemm, SH_09_few_columns_have_finite_rates) {
  for (const std::int64_t k : {1, 3, 133}) {
    const Outcome outcome = run_all(small_tiles(GetParam(), {5, 9, k}));
    EXPECT_TRUE(std::isfinite(outcome.report.gflops));
    EXPECT_GT(outcome.report.time_us, 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Cube, Gemm, testing::ValuesIn(gemm_kernels()), [](const auto& test) {
  return test.param.name.substr(test.param.name.find('/') + 1);
});

TEST(GemmShapes, SH_01_any_depth_in_two_pieces) {
  for (const std::int64_t k : {1, 15, 16, 17, 100, 127, 128, 129, 143, 144, 145, 200, 255, 256, 257, 260}) {
    Launch launch = small_tiles({"gemm/double_buffered_f16", isa::DType::f16}, {64, 128, k});
    launch.params["tk"] = 128;
    launch.params["slab"] = 128;
    run_all(launch);
  }
}

TEST(GemmShapes, SH_03_one_column_in_a_batch) {
  Launch launch = small_tiles({"gemm/batched", isa::DType::f16}, {1, 16, 1});
  launch.params["batch"] = 12;
  add_pitches(launch, 15);
  run_all(launch);
}

TEST(GemmShapes, SH_08_no_products_and_one_b_for_all) {
  for (const std::int64_t batch : {0, 1, 5})
    for (const std::int64_t shared : {0, 1}) {
      Launch launch = small_tiles({"gemm/batched", isa::DType::f16}, {33, 50, 70});
      launch.params["batch"] = batch;
      launch.params["shared_b"] = shared;
      const Outcome outcome = run_all(launch, true);
      EXPECT_LE(outcome.report.cycles, batch == 0 ? 16U : 100000U);
    }
}

TEST(GemmShapes, DefaultsFit) {
  for (const GemmKernel& kernel : gemm_kernels()) {
    Launch launch = small_tiles(kernel, {130, 260, 300});
    for (const char* name : {"tm", "tn", "tk", "slab"}) launch.params.erase(name);
    if (!npulab::test::kSanitized) run_all(launch);
  }
}

TEST(GemmShapes, SH_06_parts_without_columns_add_nothing) {
  for (const std::int64_t k : {0, 1, 64, 65, 500})
    for (const std::int64_t splits : {1, 2, 7, 64}) {
      Launch launch = small_tiles({"gemm/split_k", isa::DType::f16}, {20, 50, k});
      launch.params["splits"] = splits;
      add_pitches(launch, splits % 2);
      run_all(launch);
    }
}

TEST(GemmShapes, MatrixTimesVector) {
  for (const std::int64_t right : {0, 1})
    for (const std::int64_t m : {0, 1, 15, 16, 17, 103})
      for (const std::int64_t k : {0, 1, 15, 17, 199}) {
        Launch launch;
        launch.kernel = "gemm/gemv_cube";
        launch.params = {{"M", m},   {"K", k},     {"right", right},  {"rows", 32},
                         {"tk", 32}, {"slab", 64}, {"lda", k + m % 4}};
        run_all(launch, m == 103);
      }
}

TEST(GemmValues, NanAndInfinityStayInTheirRowsAndColumns) {
  constexpr std::size_t kSize = 33;
  std::vector<double> a(kSize * kSize, 0.5);
  std::vector<double> b(kSize * kSize, 1.0);
  a[1 * kSize + 32] = kNan;
  a[3 * kSize + 0] = kInf;
  a[7 * kSize + 2] = kInf;
  a[7 * kSize + 3] = -kInf;
  b[5 * kSize + 32] = -kInf;
  Launch launch = small_tiles({"gemm/double_buffered", isa::DType::f16}, {kSize, kSize, kSize});
  launch.inputs = {{"A", encoded(isa::DType::f16, a)}, {"B", encoded(isa::DType::f16, b)}};
  const std::vector<double> c = decoded(run_all(launch), "C");
  EXPECT_TRUE(std::isnan(c[1 * kSize + 4]));
  EXPECT_EQ(c[3 * kSize + 4], kInf);
  EXPECT_TRUE(std::isnan(c[7 * kSize + 4]));
  EXPECT_EQ(c[2 * kSize + 32], -kInf);
  EXPECT_TRUE(std::isnan(c[3 * kSize + 32]));
  EXPECT_EQ(c[2 * kSize + 4], 16.5);
}

TEST(GemmValues, BetaZeroDoesNotReadC) {
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (!kernel.has("alpha_beta")) continue;
    Launch launch = small_tiles(kernel, {50, 60, 70});
    launch.params["beta_e6"] = 0;
    launch.data["C"] = "const:nan";
    std::uint64_t read = 0;
    {
      const Outcome outcome = run_all(launch, true);
      for (const double c : decoded(outcome, "C")) ASSERT_TRUE(std::isfinite(c)) << kernel.name;
      read = outcome.report.memories.front().read_bytes;
    }
    launch.data["C"] = "ones";
    launch.params["beta_e6"] = 1000000;
    EXPECT_EQ(
        run_all(launch).report.memories.front().read_bytes - read,
        50U * 60U * (kernel.name == "gemm/alpha_beta_f32" || kernel.name == "gemm/alpha_beta" ? 4U : 2U));
  }
}

TEST(GemmValues, BetaSpreadsNanOfC) {
  Launch launch = small_tiles({"gemm/alpha_beta", isa::DType::f16}, {5, 6, 7});
  launch.data["C"] = "const:nan";
  for (const double c : decoded(run_all(launch), "C")) EXPECT_TRUE(std::isnan(c));
}

std::uint64_t wrapped(const Outcome& outcome) {
  for (const report::Engine& engine : outcome.report.engines)
    for (const auto& [name, value] : engine.counters)
      if (name == "wrapped_sums") return value;
  ADD_FAILURE() << "no counter wrapped_sums";
  return 0;
}

TEST(GemmValues, NU_11_largest_products_and_the_first_sum_that_wraps) {
  Launch launch;
  launch.kernel = "gemm/double_buffered_i8";
  launch.params = {{"M", 1}, {"N", 1}, {"K", 131071}};
  launch.data = {{"A", "const:-128"}, {"B", "const:-128"}};
  const Outcome most = run_all(launch);
  EXPECT_EQ(decoded(most, "C").front(), 131071.0 * 16384.0);
  EXPECT_EQ(wrapped(most), 0U);
  launch.params["K"] = 131072;
  const Outcome beyond = run_all(launch);
  EXPECT_EQ(decoded(beyond, "C").front(), -2147483648.0);
  EXPECT_EQ(wrapped(beyond), 1U);
}

TEST(GemmValues, NU_26_all_rows_at_once_or_in_four_pieces) {
  Launch launch;
  launch.kernel = "gemm/double_buffered_i8";
  launch.params = {{"M", 256}, {"N", 64}, {"K", 96}, {"tn", 64}, {"tm", 256}};
  const Outcome whole = run_all(launch);
  launch.params["tm"] = 64;
  EXPECT_TRUE(run_all(launch)["C"] == whole["C"]);
}

TEST(GemmValues, NU_07_f32_keeps_its_precision) {
  Launch launch = small_tiles({"gemm/double_buffered_f32", isa::DType::f32}, {48, 64, 256});
  const Outcome outcome = run_all(launch);
  const std::vector<double> a = decoded(outcome, "A");
  const std::vector<double> b = decoded(outcome, "B");
  const std::vector<double> c = decoded(outcome, "C");
  double worst = 0;
  for (std::size_t i = 0; i < 48; ++i)
    for (std::size_t j = 0; j < 64; ++j) {
      double sum = 0;
      double size = 0;
      for (std::size_t k = 0; k < 256; ++k) {
        sum += a[i * 256 + k] * b[j * 256 + k];
        size += std::fabs(a[i * 256 + k] * b[j * 256 + k]);
      }
      worst = std::max(worst, std::fabs(c[i * 64 + j] - sum) / size);
    }
  EXPECT_GT(-std::log2(worst), 21.0);  // effective bits; a product in f16 or bf16 steps has 8 to 13
}

TEST(GemmValues, NU_03_sums_are_not_cut_between_pieces) {
  Launch launch = small_tiles({"gemm/double_buffered_bf16", isa::DType::bf16}, {4, 4, 4096});
  launch.data = {{"A", "ones"}, {"B", "ones"}};
  for (const double c : decoded(run_all(launch), "C")) EXPECT_EQ(c, 4096.0);  // bf16 alone stops at 256
}

TEST(GemmRefusal, TranspositionThatTheMachineHasNot) {
  for (const auto& [kernel, trans_a, trans_b] :
       {std::tuple{"gemm/double_buffered_f32", 1, 1}, {"gemm/double_buffered_i8", 0, 0}}) {
    Launch launch;
    launch.kernel = kernel;
    launch.params = {{"trans_a", trans_a}, {"trans_b", trans_b}};
    EXPECT_NE(refused(launch).find("for elements of two bytes alone"), std::string::npos);
  }
}

TEST(GemmRefusal, SH_17_BF_04_tiles_that_do_not_fit) {
  const auto message = [](const isa::ParamValues& params) {
    Launch launch;
    launch.kernel = "gemm/double_buffered";
    launch.params = params;
    return refused(launch);
  };
  EXPECT_NE(message({{"tm", 40}}).find("multiples of 16"), std::string::npos);
  EXPECT_NE(message({{"tk", 40}}).find("multiple of 16"), std::string::npos);
  EXPECT_NE(message({{"slab", 96}}).find("it is a multiple of tk = 64"), std::string::npos);
  EXPECT_NE(message({{"tm", 512}}).find("take a smaller tm"), std::string::npos);
  EXPECT_NE(message({{"slab", 1024}}).find("take a smaller slab"), std::string::npos);
}

TEST(GemmRefusal, MachineWithoutCube) {
  Launch launch;
  launch.kernel = "gemm/double_buffered";
  launch.machine = "tiny_ub";
  EXPECT_FALSE(refused(launch).empty());
}

}  // namespace
}  // namespace npulab::kernels::test
