// SPDX-License-Identifier: Apache-2.0
// Products of matrices against the chain of exact fused steps, and against 64-bit sums.
#include <gtest/gtest.h>

#include "../sanitized.hpp"
#include "isa/error.hpp"
#include "matrix_calls.hpp"

namespace npulab::values::testing {
namespace {

const std::vector<DType> kFloatOperands{DType::f16, DType::bf16, DType::f32, DType::f8e4m3, DType::f8e5m2};
const std::vector<DType> kExactOperands{DType::f16, DType::f8e4m3, DType::f8e5m2};
const std::vector<DType> kIntegerOperands{DType::i8, DType::u8, DType::i4, DType::i16};
const std::vector<std::size_t> kSizes{0, 1, 2, 15, 16, 17, 33};

void check_random(DType a, DType b, DType c, std::size_t m, std::size_t k, std::size_t n, Draw draw,
                  std::mt19937_64& random) {
  const Matrix x = random_matrix(a, m, k, {}, draw, random), y = random_matrix(b, k, n, {}, draw, random);
  const Matrix old = random_matrix(c, m, n, {}, draw, random);
  for (const bool accumulate : {false, true})
    for (const bool saturate : {false, true})
      ASSERT_NO_FATAL_FAILURE(check_on_all_paths(x, y, old, {accumulate, saturate}));
}

TEST(Matrix, every_pair_of_types) {
  std::mt19937_64 random(1);
  for (const Draw draw : {Draw::any, Draw::mild, Draw::few_bits}) {
    for (const DType a : kFloatOperands)
      for (const DType b : kFloatOperands) {
        ASSERT_NO_FATAL_FAILURE(
            check_random(a, b, DType::f32, 7, draw == Draw::any ? 3 : 18, 19, draw, random));
        // Small against large, so that sums overflow, cancel and leave subnormals.
        ASSERT_NO_FATAL_FAILURE(check_random(a, b, DType::f32, 13, 2, 17, Draw::any, random));
      }
    for (const DType a : kExactOperands)
      for (const DType b : kExactOperands)
        ASSERT_NO_FATAL_FAILURE(
            check_random(a, b, DType::f16, 7, draw == Draw::any ? 3 : 18, 19, draw, random));
  }
  for (const DType a : kIntegerOperands)
    for (const DType b : kIntegerOperands)
      ASSERT_NO_FATAL_FAILURE(check_random(a, b, DType::i32, 13, 21, 19, Draw::any, random));
}

TEST(Matrix, SH_01_SH_03_SH_06_SH_08_SH_09_every_tail) {
  std::mt19937_64 random(2);
  struct Types {
    DType a, b, c;
  };
  for (const Types t : {Types{DType::f16, DType::f16, DType::f32}, Types{DType::bf16, DType::f32, DType::f32},
                        Types{DType::i8, DType::i8, DType::i32}, Types{DType::i4, DType::u8, DType::i32}})
    for (const std::size_t m : kSizes)
      for (const std::size_t n : kSizes)
        for (const std::size_t k : kSizes) {
          if (test::kSanitized && (m + n + k) % 3 != 0) continue;
          const Matrix a = random_matrix(t.a, m, k, {}, Draw::mild, random);
          const Matrix b = random_matrix(t.b, k, n, {}, Draw::mild, random);
          const Matrix c = random_matrix(t.c, m, n, {}, Draw::any, random);
          ASSERT_NO_FATAL_FAILURE(check_on_all_paths(a, b, c, {(m + n) % 2 != 0, k % 2 != 0}));
        }
}

TEST(Matrix, no_steps_leave_c_or_clear_it) {
  std::mt19937_64 random(3);
  for (const DType type : {DType::f32, DType::f16, DType::i32}) {
    const DType operand = type == DType::i32 ? DType::i8 : DType::f16;
    const Matrix a(operand, 5, 0), b(operand, 0, 6);
    const Matrix c = random_matrix(type, 5, 6, accumulator_fractals(), Draw::any, random);
    MatrixScratch scratch;
    Matrix kept = c, cleared = c;
    mma({a.view(), b.view(), kept.target(), true, true, false}, scratch);
    EXPECT_EQ(kept.bytes, c.bytes);  // NaN payloads and infinities too
    mma({a.view(), b.view(), cleared.target(), false, false, false}, scratch);
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(cleared.at(i, j), 0U);
  }
}

// What a product gives does not depend on how k, m and n are cut into instructions.
void check_cut(DType a, DType b, DType c, bool saturate, Draw draw, std::mt19937_64& random) {
  constexpr std::size_t kM = 37, kN = 45, kK = 600;
  Matrix x = random_matrix(a, kM, kK, {}, draw, random), y = random_matrix(b, kK, kN, {}, draw, random);
  const Matrix old = random_matrix(c, kM, kN, {}, Draw::mild, random);
  x.set(3, 17, encode_float(a, 0));
  for (const SimdPath path : paths()) {
    MatrixScratch scratch;
    Matrix whole = old, cut = old;
    mma_on(path, {x.view(), y.view(), whole.target(), true, saturate, false}, scratch);
    for (std::size_t first = 0, count = 1; first < kK; first += count, count = random() % 70) {
      count = std::min(count, kK - first);
      const MatrixLayout a_rows{MatrixOrder::nd, 0, 0, steps(x.form).rows.per_element / 8};
      const MatrixView part_a{x.bytes.data() + element_bit(x.form, 0, first) / 8,
                              {a, false, kM, count, a_rows}};
      const MatrixView part_b{y.bytes.data() + element_bit(y.form, first, 0) / 8, {b, false, count, kN, {}}};
      mma_on(path, {part_a, part_b, cut.target(), true, saturate, false}, scratch);
    }
    ASSERT_EQ(whole.bytes, cut.bytes) << isa::name(a) << " " << isa::name(c) << " " << name(path);
    for (std::size_t row = 0; row < kM; ++row) {
      Matrix one(c, 1, kN);
      for (std::size_t j = 0; j < kN; ++j) one.set(0, j, old.at(row, j));
      const MatrixView part{x.bytes.data() + element_bit(x.form, row, 0) / 8, {a, false, 1, kK, {}}};
      mma_on(path, {part, y.view(), one.target(), true, saturate, false}, scratch);
      for (std::size_t j = 0; j < kN; ++j) ASSERT_EQ(one.at(0, j), whole.at(row, j));
    }
  }
}

TEST(Matrix, NU_03_NU_26_cuts_do_not_show) {
  std::mt19937_64 random(4);
  for (const bool saturate : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(check_cut(DType::f16, DType::f16, DType::f32, saturate, Draw::mild, random));
    ASSERT_NO_FATAL_FAILURE(check_cut(DType::bf16, DType::bf16, DType::f32, saturate, Draw::mild, random));
    ASSERT_NO_FATAL_FAILURE(check_cut(DType::f32, DType::f32, DType::f32, saturate, Draw::mild, random));
    ASSERT_NO_FATAL_FAILURE(check_cut(DType::f16, DType::f16, DType::f16, saturate, Draw::mild, random));
    ASSERT_NO_FATAL_FAILURE(check_cut(DType::f16, DType::f16, DType::f32, saturate, Draw::any, random));
  }
}

TEST(Matrix, NU_02_NU_04_every_encoding_is_read_exactly) {
  Matrix one(DType::f32, 1, 1);
  one.set_value(0, 0, 1);
  for (const DType type : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2})
    for (const SimdPath path : paths()) {
      const std::size_t encodings = std::size_t{1} << isa::bits(type);
      Matrix a(type, encodings, 1), c(DType::f32, encodings, 1);
      for (std::size_t i = 0; i < encodings; ++i) a.set(i, 0, static_cast<std::uint32_t>(i));
      MatrixScratch scratch;
      mma_on(path, {a.view(), one.view(), c.target(), false, false, false}, scratch);
      for (std::size_t i = 0; i < encodings; ++i) {
        const std::uint32_t value = a.word(i, 0);  // times 1, to +0
        ASSERT_EQ(c.at(i, 0), value == 0x80000000U ? 0 : value) << isa::name(type) << " " << i;
      }
    }
}

TEST(Matrix, paths_agree_on_any_bits) {
  std::mt19937_64 random(5);
  if (!supported(SimdPath::avx2)) GTEST_SKIP() << "one path only";
  for (const DType a : kFloatOperands)
    for (const DType c : {DType::f32, DType::f16})
      for (const Draw draw : {Draw::any, Draw::mild}) {
        const Matrix x = random_matrix(a, 40, 70, {}, draw, random);
        const Matrix y = random_matrix(a, 70, 50, {}, draw, random);
        const Matrix old = random_matrix(c, 40, 50, {}, draw, random);
        if (!legal_matrix_types(x.form, y.form, old.form)) continue;
        MatrixScratch scratch;
        Matrix one = old, other = old;
        mma_on(SimdPath::baseline, {x.view(), y.view(), one.target(), true, false, false}, scratch);
        mma_on(SimdPath::avx2, {x.view(), y.view(), other.target(), true, false, false}, scratch);
        ASSERT_EQ(one.bytes, other.bytes) << isa::name(a) << " into " << isa::name(c);
      }
}

TEST(Matrix, NU_05_overflow_modes) {
  for (const std::size_t k : {255U, 256U})
    for (const bool saturate : {false, true}) {
      Matrix a(DType::f16, 1, k), b(DType::f16, k, 1), c(DType::f16, 1, 1);
      for (std::size_t p = 0; p < k; ++p) {
        a.set_value(0, p, 16);
        b.set_value(p, 0, 16);
      }
      MatrixScratch scratch;
      mma({a.view(), b.view(), c.target(), false, saturate, false}, scratch);
      EXPECT_EQ(c.at(0, 0), k == 255 ? encode_float(DType::f16, 65280) : saturate ? 0x7bffU : 0x7c00U);
    }
}

TEST(Matrix, saturation_is_per_step) {
  // +large twice reaches the end; what is taken away afterwards counts from there, not from infinity.
  Matrix a(DType::f32, 1, 3), b(DType::f32, 3, 1), c(DType::f32, 1, 1);
  for (std::size_t p = 0; p < 3; ++p) {
    a.set(0, p, largest_finite(DType::f32));
    b.set_value(p, 0, p < 2 ? 1 : -0.5);
  }
  for (const SimdPath path : paths()) {
    MatrixScratch scratch;
    mma_on(path, {a.view(), b.view(), c.target(), false, true, false}, scratch);
    EXPECT_EQ(decode_float(DType::f32, c.at(0, 0)), decode_float(DType::f32, largest_finite(DType::f32)) / 2);
    mma_on(path, {a.view(), b.view(), c.target(), false, false, false}, scratch);
    EXPECT_EQ(c.at(0, 0), 0x7f800000U);
  }
}

TEST(Matrix, NU_06_accumulator_width_decides_the_sum) {
  constexpr std::size_t kK = 4096;
  Matrix a(DType::f16, 1, kK), b(DType::f16, kK, 1), half(DType::f16, 1, 1), single(DType::f32, 1, 1);
  for (std::size_t p = 0; p < kK; ++p) {
    a.set_value(0, p, 1);
    b.set_value(p, 0, 1);
  }
  MatrixScratch scratch;
  mma({a.view(), b.view(), half.target(), false, false, false}, scratch);
  mma({a.view(), b.view(), single.target(), false, false, false}, scratch);
  EXPECT_EQ(half.at(0, 0), encode_float(DType::f16, 2048));
  EXPECT_EQ(single.at(0, 0), encode_float(DType::f32, 4096));
}

TEST(Matrix, NU_07_f32_keeps_all_its_bits) {
  Matrix a(DType::f32, 1, 1), b(DType::f32, 1, 1), c(DType::f32, 1, 1);
  a.set(0, 0, 0x3f800001);
  b.set_value(0, 0, 1);
  MatrixScratch scratch;
  mma({a.view(), b.view(), c.target(), false, false, false}, scratch);
  EXPECT_EQ(c.at(0, 0), 0x3f800001U);
}

TEST(Matrix, NU_22_subnormals_count) {
  for (const DType type : kFloatOperands) {
    Matrix a(type, 1, 1), b(DType::f32, 1, 1), c(DType::f32, 1, 1);
    a.set(0, 0, 1);  // the smallest subnormal
    b.set_value(0, 0, 1);
    MatrixScratch scratch;
    for (const SimdPath path : paths()) {
      mma_on(path, {a.view(), b.view(), c.target(), false, false, false}, scratch);
      EXPECT_EQ(c.at(0, 0), encode_float(DType::f32, decode_float(type, 1))) << isa::name(type);
      EXPECT_NE(c.at(0, 0), 0U);
    }
  }
}

// ---- integers

Matrix filled(DType type, std::size_t rows, std::size_t columns, double value) {
  Matrix m(type, rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) m.set_value(i, j, value);
  return m;
}

TEST(Matrix, NU_11_pairs_do_not_saturate) {
  for (const auto& [x, y] : {std::pair{127, 127}, {-128, 127}, {-128, -128}, {127, -128}})
    for (const SimdPath path : paths()) {
      const Matrix a = filled(DType::i8, 6, 64, x), b = filled(DType::i8, 64, 16, y);
      Matrix c(DType::i32, 6, 16);
      MatrixScratch scratch;
      const MatrixCounts counts =
          mma_on(path, {a.view(), b.view(), c.target(), false, false, false}, scratch);
      EXPECT_EQ(counts.out_of_range, 0U);
      EXPECT_EQ(static_cast<std::int32_t>(c.at(5, 15)), 64 * x * y);
    }
}

TEST(Matrix, last_sum_that_fits_and_first_that_wraps) {
  for (const std::size_t k : {131071U, 131072U})
    for (const SimdPath path : paths())
      for (const bool saturate : {false, true}) {
        const Matrix a = filled(DType::i8, 2, k, -128), b = filled(DType::i8, k, 3, -128);
        Matrix c(DType::i32, 2, 3);
        MatrixScratch scratch;
        const MatrixCounts counts =
            mma_on(path, {a.view(), b.view(), c.target(), false, saturate, false}, scratch);
        const std::uint32_t wrapped = static_cast<std::uint32_t>(k) * 16384U;
        EXPECT_EQ(c.at(1, 2), saturate && k == 131072 ? 0x7fffffffU : wrapped);
        EXPECT_EQ(counts.out_of_range, k == 131072 ? 6U : 0U);
      }
}

TEST(Matrix, largest_pairs_of_i16) {
  std::mt19937_64 random(6);
  for (const double x : {-32768.0, 32767.0})
    for (const double y : {-32768.0, 32767.0})
      for (const std::size_t k : {1U, 2U, 3U, 4U, 77U}) {
        const Matrix a = filled(DType::i16, 7, k, x), b = filled(DType::i16, k, 17, y);
        const Matrix c = random_matrix(DType::i32, 7, 17, {}, Draw::any, random);
        for (const bool accumulate : {false, true})
          ASSERT_NO_FATAL_FAILURE(check_on_all_paths(a, b, c, {accumulate, false}));
      }
}

TEST(Matrix, totals_at_the_ends_of_i32) {
  const Matrix a = filled(DType::i8, 1, 1, 1), minus = filled(DType::i8, 1, 1, -1);
  Matrix c(DType::i32, 1, 4);
  for (const std::int32_t b : {-1, 1}) {
    Matrix factor(DType::i8, 1, 4);
    for (std::size_t j = 0; j < 4; ++j) {
      factor.set_value(0, j, b);
      c.set(0, j, std::vector<std::uint32_t>{0x7fffffff, 0x80000000, 0x7ffffffe, 0x80000001}[j]);
    }
    for (const bool saturate : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(check_on_all_paths(a, factor, c, {true, saturate}));
      ASSERT_NO_FATAL_FAILURE(check_on_all_paths(minus, factor, c, {true, saturate}));
    }
  }
}

TEST(Matrix, zeros_are_counted) {
  std::mt19937_64 random(7);
  for (const DType type : {DType::f16, DType::i8, DType::i4, DType::f32})
    for (const auto& [m, k, n] : {std::array<std::size_t, 3>{5, 7, 20}, {33, 9, 2}, {1, 5, 16}}) {
      Matrix a = random_matrix(type, m, k, {}, Draw::mild, random);
      Matrix b = random_matrix(type, k, n, {}, Draw::mild, random);
      for (std::size_t x = 0; x < m * k; x += 3) a.set(x / k, x % k, 0);
      for (std::size_t x = 0; x < k * n; x += 5) b.set(x / n, x % n, 0);
      if (isa::info(type).floating) a.set_value(0, 0, -0.0);
      const auto zero = [](const Matrix& x, std::size_t i, std::size_t j) {
        return x.word(i, j) == 0 || (isa::info(x.form.type).floating && x.word(i, j) == 0x80000000U);
      };
      MatrixCounts expected;
      for (std::size_t p = 0; p < k; ++p) {
        for (std::size_t i = 0; i < m; ++i) expected.zeros_a += zero(a, i, p) ? 1 : 0;
        for (std::size_t j = 0; j < n; ++j) expected.zeros_b += zero(b, p, j) ? 1 : 0;
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j)
            expected.zero_products += zero(a, i, p) || zero(b, p, j) ? 1 : 0;
      }
      Matrix c(isa::info(type).floating ? DType::f32 : DType::i32, m, n);
      MatrixScratch scratch;
      const MatrixCounts counts = mma({a.view(), b.view(), c.target(), false, false, true}, scratch);
      EXPECT_EQ(counts.zeros_a, expected.zeros_a);
      EXPECT_EQ(counts.zeros_b, expected.zeros_b);
      EXPECT_EQ(counts.zero_products, expected.zero_products);
    }
}

TEST(Matrix, NU_23_what_has_no_meaning_is_refused) {
  MatrixScratch scratch;
  const auto code = [&](const Matrix& a, const Matrix& b, Matrix c) -> std::string {
    try {
      mma({a.view(), b.view(), c.target(), false, false, false}, scratch);
    } catch (const Error& error) {
      return error.code();
    }
    return "accepted";
  };
  const auto of = [](DType type, std::size_t rows = 2, std::size_t columns = 2) {
    return filled(type, rows, columns, 1);
  };
  EXPECT_EQ(code(of(DType::f16), of(DType::i8), of(DType::f32)), "matrix-types");
  EXPECT_EQ(code(of(DType::i8), of(DType::i8), of(DType::f32)), "matrix-types");
  EXPECT_EQ(code(of(DType::i32), of(DType::i8), of(DType::i32)), "matrix-types");
  EXPECT_EQ(code(of(DType::bf16), of(DType::bf16), of(DType::f16)), "matrix-types");
  EXPECT_EQ(code(of(DType::bf16), of(DType::bf16), of(DType::bf16)), "matrix-types");
  EXPECT_EQ(code(of(DType::f16), of(DType::f16, 3, 2), of(DType::f32)), "matrix-shapes");
  EXPECT_EQ(code(of(DType::f16), of(DType::f16), of(DType::f32, 2, 3)), "matrix-shapes");
  EXPECT_EQ(code(of(DType::f16), of(DType::f16), of(DType::f32)), "accepted");
}

}  // namespace
}  // namespace npulab::values::testing
