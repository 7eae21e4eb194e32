// SPDX-License-Identifier: Apache-2.0
// Matrix units in whole runs: values against plain loops, cycles worked out by hand, findings and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "run_helper.hpp"

namespace npulab {
namespace {

using test::bytes_of;
using test::machine;
using test::run;
using test::values_of;

// tiny: gm -> l1 by mte2, l1 -> l0a, l0b, l0c, bt by mte1, l0c -> gm by fix; a 4 x 4 array that keeps the
// sums.
constexpr const char* kHead = R"(
.kernel test/matrix
.param M = 4 in 0..64
.param N = 4 in 0..64
.param K = 4 in 0..64
.tensor A f32 [M, K] in
.tensor B f32 [K, N] in
.tensor C f32 [M, N] out
.buffer a1 l1 M*K*4
.buffer b1 l1 K*N*4
.buffer a l0a M*K*4
.buffer b l0b K*N*4
.buffer c l0c M*N*4
        copy a1[], A[], M*K*4
        copy b1[], B[], K*N*4
        set_flag mte2, mte1, 0
        wait_flag mte2, mte1, 0
        copy a[], a1[], M*K*4
        copy b[], b1[], K*N*4
        set_flag mte1, matrix, 0
        wait_flag mte1, matrix, 0
)";
constexpr const char* kTail = R"(
        set_flag matrix, fix, 0
        wait_flag matrix, fix, 0
        copy C[], c[], M*N*4
        end
)";

std::vector<float> coded(std::size_t count, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 64.0F;
  return values;
}

// One fused step for each k, ascending.
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, std::size_t m,
                           std::size_t n, std::size_t k, std::vector<float> c) {
  c.resize(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t p = 0; p < k; ++p) c[i * n + j] = std::fma(a[i * k + p], b[p * n + j], c[i * n + j]);
  return c;
}

test::Run run_product(const std::string& body, std::int64_t m, std::int64_t n, std::int64_t k,
                      const std::vector<std::string>& set = {},
                      SimulationOptions options = test::one_core()) {
  return run(machine("tiny", set), kHead + body + kTail, std::move(options),
             {{"A", bytes_of(coded(static_cast<std::size_t>(m * k), 1))},
              {"B", bytes_of(coded(static_cast<std::size_t>(k * n), 2))}},
             {{"M", m}, {"N", n}, {"K", k}});
}

TEST(MatrixRun, products_of_every_small_shape_are_the_chain_of_fused_steps) {
  for (const std::int64_t m : {1, 3, 4, 5, 9})
    for (const std::int64_t n : {1, 4, 7})
      for (const std::int64_t k : {1, 4, 11}) {
        const auto result = run_product("gemm.f32 M, N, K, a, b, c\n", m, n, k);
        EXPECT_TRUE(result.report.diagnostics.empty());
        const auto expected = product(coded(static_cast<std::size_t>(m * k), 1),
                                      coded(static_cast<std::size_t>(k * n), 2), static_cast<std::size_t>(m),
                                      static_cast<std::size_t>(n), static_cast<std::size_t>(k), {});
        EXPECT_EQ(values_of<float>(result.outputs.at("C")), expected) << m << " " << n << " " << k;
        EXPECT_EQ(result.report.flops, static_cast<std::uint64_t>(2 * m * n * k));
      }
}

TEST(MatrixRun, NU_26_a_product_cut_along_k_and_m_has_the_same_bits) {
  const auto whole = run_product("gemm.f32 8, 4, 12, a, b, c\n", 8, 4, 12);
  const auto along_k = run_product(
      "gemm.f32 8, 4, 5, a, b, c {a_pitch=48}\n"
      "gemm.f32 8, 4, 7, a[20], b[80], c {a_pitch=48, accumulate=1}\n",
      8, 4, 12);
  const auto along_m =
      run_product("gemm.f32 4, 4, 12, a, b, c\ngemm.f32 4, 4, 12, a[192], b, c[64]\n", 8, 4, 12);
  const auto held = run_product(
      "gemm.f32 4, 4, 5, a, b, c {a_pitch=48, hold=1}\n"
      "gemm.f32 4, 4, 7, a[20], b[80], c {a_pitch=48, accumulate=1}\n"
      "gemm.f32 4, 4, 12, a[192], b, c[64]\n",
      8, 4, 12);
  for (const auto* other : {&along_k, &along_m, &held}) {
    EXPECT_TRUE(other->report.diagnostics.empty());
    EXPECT_EQ(other->outputs.at("C"), whole.outputs.at("C"));
  }
}

TEST(MatrixRun, timing_alone_takes_the_same_cycles) {
  for (const char* body :
       {"gemm.f32 M, N, K, a, b, c\n", "gemm.f32 4, 4, 4, a, b, c\ngemm.f32 4, 4, 4, a, b, c\n"}) {
    auto options = test::one_core();
    options.timing_only = true;
    EXPECT_EQ(run_product(body, 9, 7, 11).report.cycles,
              run_product(body, 9, 7, 11, {}, options).report.cycles);
  }
}

// One more product behind another adds its steps along k and nothing else: the drain overlaps.
TEST(MatrixRun, consecutive_products_stream) {
  const auto cycles = [](int count) {
    std::string body;
    for (int i = 0; i < count; ++i) body += "gemm.f32 4, 4, 16, a, b, c\n";
    return run_product(body, 4, 4, 16).report.cycles;
  };
  EXPECT_EQ(cycles(3) - cycles(2), 16U);
  EXPECT_EQ(cycles(4) - cycles(2), 32U);
}

// Alone: k + (m - 1) + (n - 1) + rows, all but k of it exposed; l0c -> gm waits for it.
TEST(MatrixRun, fill_and_drain_of_one_product_are_exposed) {
  const auto with = run_product("gemm.f32 4, 4, 16, a, b, c\n", 4, 4, 16).report.cycles;
  const auto longer =
      run_product("gemm.f32 4, 4, 16, a, b, c\n", 4, 4, 16, {"core_types.core.matrix.latency_cycles=5"})
          .report.cycles;
  EXPECT_EQ(longer - with, 4U);
}

TEST(MatrixRun, its_own_clock_scales_its_steps) {
  const auto at = [](const std::string& mhz) {
    return run_product("gemm.f32 4, 4, 40, a, b, c\ngemm.f32 4, 4, 40, a, b, c\n", 4, 4, 40,
                       {"core_types.core.matrix.clock_mhz=" + mhz})
        .report;
  };
  const auto half = at("500"), full = at("1000");
  // 80 steps and 3 + 3 + 4 to the last sum, twice as long, and one cycle to the next one of the slow clock.
  EXPECT_EQ(half.cycles - full.cycles, 91U);
}

TEST(MatrixRun, transposed_operands) {
  const auto a = coded(3 * 5, 1), b = coded(5 * 2, 2);
  std::vector<float> at(15), bt(10);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t p = 0; p < 5; ++p) at[p * 3 + i] = a[i * 5 + p];
  for (std::size_t p = 0; p < 5; ++p)
    for (std::size_t j = 0; j < 2; ++j) bt[j * 5 + p] = b[p * 2 + j];
  const auto result =
      run(machine("tiny"),
          kHead + std::string("gemm.f32 M, N, K, a, b, c {transpose_a=1, transpose_b=1}\n") + kTail,
          test::one_core(), {{"A", bytes_of(at)}, {"B", bytes_of(bt)}}, {{"M", 3}, {"N", 2}, {"K", 5}});
  EXPECT_EQ(values_of<float>(result.outputs.at("C")), product(a, b, 3, 2, 5, {}));
}

TEST(MatrixRun, sums_start_from_a_bias) {
  const std::string bias =
      "copy bt[], b1[], 16\nset_flag mte1, matrix, 1\nwait_flag mte1, matrix, 1\n"
      "gemm.f32 M, N, K, a, b, c {bias=0}\n";
  const auto result = run_product(bias, 3, 4, 5);
  const auto a = coded(15, 1), b = coded(20, 2);
  std::vector<float> start;
  for (int i = 0; i < 3; ++i) start.insert(start.end(), b.begin(), b.begin() + 4);
  EXPECT_TRUE(result.report.diagnostics.empty());
  EXPECT_EQ(values_of<float>(result.outputs.at("C")), product(a, b, 3, 4, 5, start));
}

TEST(MatrixRun, zeros_are_skipped_where_a_whole_step_holds_none) {
  std::vector<float> a = coded(4 * 8, 1), b = coded(8 * 4, 2);
  for (const std::size_t p : {1U, 4U, 6U})
    for (std::size_t i = 0; i < 4; ++i) a[i * 8 + p] = 0;
  for (std::size_t j = 0; j < 4; ++j) b[7 * 4 + j] = -0.0F;
  const auto with = [&](const std::string& skip) {
    return run(machine("tiny", {"core_types.core.matrix.zero_skip=" + skip}),
               kHead + std::string("gemm.f32 4, 4, 8, a, b, c\n") + kTail, test::one_core(),
               {{"A", bytes_of(a)}, {"B", bytes_of(b)}}, {{"M", 4}, {"N", 4}, {"K", 8}});
  };
  const auto none = with("none"), slices = with("slices");
  EXPECT_EQ(none.outputs.at("C"), slices.outputs.at("C"));
  EXPECT_EQ(none.report.cycles - slices.report.cycles, 4U);
}

// Rows of slots: the fullest row of the tile sets the steps. Two of four: half of them.
TEST(MatrixRun, packed_operands_give_the_dense_product_in_fewer_steps) {
  const std::string kernel = R"(
.kernel test/packed
.tensor V f32 [4, 8] in
.tensor P i32 [4, 8] in
.tensor B f32 [16, 4] in
.tensor C f32 [4, 4] out
.buffer values l1 128
.buffer places l1 128
.buffer b1 l1 256
        copy values[], V[], 128
        copy places[], P[], 128
        copy b1[], B[], 256
        set_flag mte2, mte1, 0
        wait_flag mte2, mte1, 0
        copy l0a[], values[], 128
        copy l0a[128], places[], 128
        copy l0b[], b1[], 256
        set_flag mte1, matrix, 0
        wait_flag mte1, matrix, 0
        sparse_gemm.f32 4, 4, 16, l0a[], l0a[128], l0b[], l0c[] MODIFIERS
        set_flag matrix, fix, 0
        wait_flag matrix, fix, 0
        copy C[], l0c[], 64
        end
)";
  const auto b = coded(64, 2);
  std::vector<float> values(32), dense(64);
  std::vector<std::int32_t> places(32, -1);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t s = 0; s < 3 + i % 2; ++s) {
      values[i * 8 + s] = static_cast<float>(i + s + 1);
      places[i * 8 + s] = static_cast<std::int32_t>(4 * s + i);
      dense[i * 16 + static_cast<std::size_t>(places[i * 8 + s])] = values[i * 8 + s];
    }
  std::string listed = kernel;
  listed.replace(listed.find("MODIFIERS"), 9, "{width=8}");
  const auto list = run(machine("tiny"), listed, test::one_core(),
                        {{"V", bytes_of(values)}, {"P", bytes_of(places)}, {"B", bytes_of(b)}});
  EXPECT_TRUE(list.report.diagnostics.empty());
  EXPECT_EQ(values_of<float>(list.outputs.at("C")), product(dense, b, 4, 4, 16, {}));

  // Two of four: the first and third of each group, places 0 and 2 = 0b1000 for each group.
  std::vector<float> halves(64);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t g = 0; g < 4; ++g) {
      halves[i * 16 + 4 * g] = values[i * 8 + 2 * g] = static_cast<float>(i * 4 + g + 1);
      halves[i * 16 + 4 * g + 2] = values[i * 8 + 2 * g + 1] = -static_cast<float>(g + 1);
    }
  std::vector<std::byte> pairs(128, std::byte{0x88});
  std::string structured = kernel;
  structured.replace(structured.find("MODIFIERS"), 9, "{structured=1}");
  const auto two = run(machine("tiny"), structured, test::one_core(),
                       {{"V", bytes_of(values)}, {"P", pairs}, {"B", bytes_of(b)}});
  EXPECT_TRUE(two.report.diagnostics.empty());
  EXPECT_EQ(values_of<float>(two.outputs.at("C")), product(halves, b, 4, 4, 16, {}));
  EXPECT_EQ(list.report.cycles + 4, two.report.cycles);  // 4 steps against 8
}

TEST(MatrixRun, NU_11_integer_sums_are_exact_and_wrap_where_they_leave_i32) {
  const std::string kernel = R"(
.kernel test/wrap
.param T = 1023 in 1..1024
.tensor A i8 [1, 1024] in
.tensor C i32 [1, 1] out
        copy l1[], A[], 1024
        set_flag mte2, mte1, 0
        wait_flag mte2, mte1, 0
        copy l0a[], l1[], 1024
        copy l0b[], l1[], 1024
        set_flag mte1, matrix, 0
        wait_flag mte1, matrix, 0
        gemm.i8 1, 1, 1024, l0a[], l0b[], l0c[]
        loop 126
        gemm.i8 1, 1, 1024, l0a[], l0b[], l0c[] {accumulate=1}
        endloop
        gemm.i8 1, 1, T, l0a[], l0b[], l0c[] {accumulate=1}
        set_flag matrix, fix, 0
        wait_flag matrix, fix, 0
        copy C[], l0c[], 4
        end
)";
  const std::vector<std::int8_t> lowest(1024, -128);
  const auto sum = [&](std::int64_t rest, const std::vector<std::string>& set = {}) {
    return run(machine("tiny", set), kernel, test::one_core(), {{"A", bytes_of(lowest)}}, {{"T", rest}});
  };
  const auto wrapped = [](const report::Report& report) {
    for (const report::Engine& engine : report.engines)
      for (const auto& [name, value] : engine.counters)
        if (name == "wrapped_sums") return value;
    return ~std::uint64_t{0};
  };
  const auto fits = sum(1023);  // K = 131071
  EXPECT_EQ(values_of<std::int32_t>(fits.outputs.at("C")).front(), 131071 * 16384);
  EXPECT_EQ(wrapped(fits.report), 0U);
  const auto wraps = sum(1024);
  EXPECT_EQ(values_of<std::int32_t>(wraps.outputs.at("C")).front(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(wrapped(wraps.report), 1U);
  // That key is about floats.
  EXPECT_EQ(sum(1024, {"numerics.overflow=saturate"}).outputs.at("C"), wraps.outputs.at("C"));
}

// What C held before stays there until the sums come out of the array.
TEST(MatrixRun, held_sums_leave_c_alone) {
  const auto first = run_product("gemm.f32 4, 4, 4, a, b, c\n", 4, 4, 4);
  const auto result =
      run_product("gemm.f32 4, 4, 4, a, b, c\ngemm.f32 4, 4, 2, a, b, c {a_pitch=16, hold=1}\n", 4, 4, 4);
  EXPECT_TRUE(result.report.diagnostics.empty());
  EXPECT_EQ(result.outputs.at("C"), first.outputs.at("C"));
}

// Sums in C move into the array, and out again by a product of depth 0.
TEST(MatrixRun, sums_move_into_the_array_and_out) {
  const auto whole = run_product("gemm.f32 4, 4, 8, a, b, c\n", 4, 4, 8);
  const auto parts = run_product(
      "gemm.f32 4, 4, 3, a, b, c {a_pitch=32}\n"
      "gemm.f32 4, 4, 5, a[12], b[48], c {a_pitch=32, accumulate=1, hold=1}\n"
      "gemm.f32 4, 4, 0, a, b, c {accumulate=1}\n",
      4, 4, 8);
  EXPECT_TRUE(parts.report.diagnostics.empty());
  EXPECT_EQ(parts.outputs.at("C"), whole.outputs.at("C"));
}

// The flag comes when the last step has entered, not when the sums are out: rows + (m - 1) + (n - 1) earlier.
TEST(MatrixRun, a_flag_for_operands_comes_before_the_sums) {
  const auto cycles = [](const std::string& modifier) {
    return run_product("gemm.f32 4, 4, 16, a, b, c\nset_flag matrix, mte1, 3" + modifier +
                           "\nwait_flag matrix, mte1, 3\ncopy a[], a1[], 64\nset_flag mte1, scalar, 3\n"
                           "wait_flag mte1, scalar, 3\nset_flag scalar, fix, 3\nwait_flag scalar, fix, 3\n",
                       4, 4, 16)
        .report.cycles;
  };
  EXPECT_EQ(cycles("") - cycles(" {operands=1}"), 10U);
}

TEST(MatrixRun, time_that_hangs_on_values_is_not_had_without_them) {
  auto options = test::one_core();
  options.timing_only = true;
  const std::vector<std::string> skip{"core_types.core.matrix.zero_skip=slices"};
  try {
    run_product("gemm.f32 4, 4, 4, a, b, c\n", 4, 4, 4, skip, options);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "values-steer-time");
  }
}

TEST(MatrixRun, sums_left_in_the_array_must_go_on) {
  const auto result = run_product("gemm.f32 4, 4, 4, a, b, c {hold=1}\ngemm.f32 4, 4, 4, a, b, c\n", 4, 4, 4);
  ASSERT_EQ(result.report.diagnostics.size(), 1U);
  EXPECT_EQ(result.report.diagnostics.front().code, "sums-lost");
  // Read while they are in the array: nobody has written them.
  const auto read = run_product("gemm.f32 4, 4, 4, a, b, c {hold=1}\n", 4, 4, 4);
  ASSERT_FALSE(read.report.diagnostics.empty());
  EXPECT_EQ(read.report.diagnostics.front().code, "uninitialised-read");
}

TEST(MatrixRun, operands_that_nobody_wrote_are_found) {
  const auto result = run_product("gemm.f32 4, 4, 4, a, b[16], c\n", 4, 4, 4);
  ASSERT_FALSE(result.report.diagnostics.empty());
  EXPECT_EQ(result.report.diagnostics.front().code, "uninitialised-read");
}

std::string refusal(const std::string& body) {
  try {
    run_product(body, 4, 4, 4);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(MatrixRun, refusals_say_what_and_where) {
  EXPECT_NE(refusal("gemm.f32 4, 4, 4, a, b, a\n")
                .find("operand 'c' of gemm is in 'l0a'; the matrix unit of machine "
                      "'tiny' has it in 'l0c'"),
            std::string::npos);
  EXPECT_NE(
      refusal("gemm.i4 4, 4, 4, a, b, c\n").find("does not know these types; it knows bf16, f16, f32, i8"),
      std::string::npos);
  EXPECT_NE(refusal("mmul.f32 v0, v1, v2\n").find("has no matrix unit that works on registers"),
            std::string::npos);
  EXPECT_NE(refusal("mov s0, -1\ngemm.f32 s0, 4, 4, a, b, c\n").find("m = -1: sizes lie in 0…65535"),
            std::string::npos);
  EXPECT_NE(refusal("mov s0, 999\ngemm.f32 s0, 4, 4, a, b, c\n").find("l0a"), std::string::npos);
  EXPECT_NE(refusal("gemm.f32 8, 4, 1, a, b, c {hold=1}\n").find("the array holds 4 x 4"), std::string::npos);
  EXPECT_NE(
      refusal("gemm.f32 4, 4, 4, a, b, c {bias=0, accumulate=1}\n").find("bias is what sums start from"),
      std::string::npos);
}

}  // namespace
}  // namespace npulab
