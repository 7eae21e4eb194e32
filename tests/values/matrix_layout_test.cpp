// SPDX-License-Identifier: Apache-2.0
// Offsets of blocked matrices against their definition, copies between layouts, products in every layout.
#include <gtest/gtest.h>

#include <set>

#include "../sanitized.hpp"
#include "isa/error.hpp"
#include "matrix_calls.hpp"

namespace npulab::values::testing {
namespace {

const std::vector<MatrixOrder> kBlockOrders{MatrixOrder::zz, MatrixOrder::zn, MatrixOrder::nz,
                                            MatrixOrder::nn};

std::vector<MatrixLayout> layouts(DType type) {
  std::vector<MatrixLayout> all{{},
                                {MatrixOrder::nd_transposed, 0, 0, 0},
                                {MatrixOrder::nd, 0, 0, 200},
                                {MatrixOrder::nd_transposed, 0, 0, 264}};
  for (const MatrixOrder order : kBlockOrders) {
    all.push_back(fractals(order, type));
    all.push_back({order, 4, 8, 0});
    all.push_back({order, 6, 10, 0});
    MatrixLayout far = fractals(order, type);
    far.pitch = 65536;
    all.push_back(far);
  }
  all.push_back(accumulator_fractals());
  all.push_back(tiles(8, 8));
  all.push_back(tiles(4, 2));
  return all;
}

TEST(MatrixLayout, names_and_transposes) {
  for (const MatrixOrderInfo& row : kMatrixOrders) {
    EXPECT_EQ(matrix_order_named(row.name), row.order);
    EXPECT_EQ(info(row.transposed).transposed, row.order);
  }
  EXPECT_FALSE(matrix_order_named("Zz").has_value());
}

// Ascend's fractals by their definition: 512 bytes each; L0A Zz, L0B Zn, L1 Nz, L0C Nz of 16 × 16.
TEST(MatrixLayout, fractals_by_definition) {
  for (const DType type : {DType::f16, DType::i8, DType::f32, DType::i4}) {
    const std::size_t c0 = 256 / isa::bits(type), rows = 50, columns = 3 * c0 - 1;
    const std::size_t down = 4, across = 3, fractal = 512 * 8;
    const auto bit = [&](MatrixOrder order, std::size_t i, std::size_t j) {
      return element_bit({type, false, rows, columns, fractals(order, type)}, i, j);
    };
    for (std::size_t i = 0; i < rows; i += 7)
      for (std::size_t j = 0; j < columns; j += 3) {
        const std::size_t inside = (i % 16 * c0 + j % c0) * isa::bits(type);
        EXPECT_EQ(bit(MatrixOrder::zz, i, j), (i / 16 * across + j / c0) * fractal + inside);
        EXPECT_EQ(bit(MatrixOrder::nz, i, j), (j / c0 * down + i / 16) * fractal + inside);
        const MatrixForm b{type, false, columns, rows, fractals(MatrixOrder::zn, type)};
        EXPECT_EQ(element_bit(b, j, i), (j / c0 * down + i / 16) * fractal + inside);
        const MatrixForm c{DType::f32, false, rows, columns, accumulator_fractals()};
        EXPECT_EQ(element_bit(c, i, j), ((j / 16 * down + i / 16) * 256 + i % 16 * 16 + j % 16) * 32);
      }
    EXPECT_EQ(matrix_bytes({type, false, rows, columns, fractals(MatrixOrder::zz, type)}), 12U * 512);
  }
}

TEST(MatrixLayout, elements_do_not_share_bits_and_stay_inside) {
  for (const DType type : {DType::f16, DType::i8, DType::i4, DType::f32})
    for (const MatrixLayout& layout : layouts(type)) {
      const MatrixForm form{type, false, 19, 21, layout};
      std::set<std::uint64_t> seen;
      std::uint64_t last = 0;
      for (std::uint64_t i = 0; i < 19; ++i)
        for (std::uint64_t j = 0; j < 21; ++j) {
          EXPECT_TRUE(seen.insert(element_bit(form, i, j)).second) << show(form);
          last = std::max(last, element_bit(form, i, j) + isa::bits(type));
          EXPECT_EQ(element_bit(form, i, j), element_bit(transposed(form), j, i));
        }
      for (const std::uint64_t bit : seen) EXPECT_EQ(bit % isa::bits(type), 0U);
      EXPECT_LE(last, matrix_bytes(form) * 8) << show(form);
      EXPECT_EQ(matrix_bytes(form), matrix_bytes(transposed(form)));
      EXPECT_EQ(matrix_bytes({type, false, 0, 21, layout}), 0U);
      EXPECT_EQ(matrix_bytes({type, false, 19, 0, layout}), 0U);
    }
}

TEST(MatrixLayout, TM_13_offsets_have_64_bits) {
  const MatrixForm form{DType::f32, false, 1U << 20, 1U << 20, {}};
  EXPECT_EQ(element_bit(form, (1U << 20) - 1, (1U << 20) - 1), (std::uint64_t{1} << 45) - 32);
  EXPECT_EQ(matrix_bytes(form), std::uint64_t{1} << 42);
}

TEST(MatrixLayout, DM_03_copies_round_trip) {
  std::mt19937_64 random(1);
  for (const DType type : {DType::f16, DType::i8, DType::i4, DType::f32})
    for (const MatrixLayout& first : layouts(type)) {
      if (test::kSanitized && first.pitch != 0) continue;
      const Matrix from = random_matrix(type, 19, 21, first, Draw::any, random);
      for (const MatrixLayout& second : layouts(type)) {
        Matrix to(type, 19, 21, second);
        const Matrix before = to;
        copy_matrix(from.view(), to.target());
        for (std::size_t i = 0; i < 19; ++i)
          for (std::size_t j = 0; j < 21; ++j)
            ASSERT_EQ(from.at(i, j), to.at(i, j)) << show(from.form) << " to " << show(to.form);
        Matrix undone = to;
        for (std::size_t i = 0; i < 19; ++i)
          for (std::size_t j = 0; j < 21; ++j) undone.set(i, j, before.at(i, j));
        ASSERT_EQ(undone.bytes, before.bytes) << "padding of " << show(to.form);
      }
    }
}

TEST(MatrixLayout, padding_is_cleared_on_request) {
  for (const DType type : {DType::f16, DType::i8, DType::i4})
    for (const MatrixOrder order : kBlockOrders) {
      Matrix from(type, 19, 21), to(type, 19, 21, fractals(order, type));
      copy_matrix(from.view(), to.target(), BlockPadding::zero);
      Matrix all = to;  // the whole of the blocks as elements
      all.form.rows =
          (19 + all.form.layout.block_rows - 1) / all.form.layout.block_rows * all.form.layout.block_rows;
      all.form.columns = (21 + all.form.layout.block_columns - 1) / all.form.layout.block_columns *
                         all.form.layout.block_columns;
      for (std::size_t i = 0; i < all.form.rows; ++i)
        for (std::size_t j = 0; j < all.form.columns; ++j)
          ASSERT_EQ(all.at(i, j), i < 19 && j < 21 ? from.at(i, j) : 0U) << show(to.form);
      ASSERT_TRUE(std::all_of(to.bytes.end() - kGuardBytes, to.bytes.end(),
                              [](std::byte byte) { return byte == kGarbage; }));
    }
}

TEST(MatrixLayout, forms_that_cannot_be_are_refused) {
  const auto message = [](const MatrixForm& form) -> std::string {
    try {
      check(form);
    } catch (const Error& error) {
      return error.code() == "matrix-layout" ? error.message() : error.code();
    }
    return "";
  };
  EXPECT_EQ(message({DType::f16, false, 5, 7, {}}), "");
  EXPECT_NE(message({DType::none, false, 5, 7, {}}), "");
  EXPECT_NE(message({DType::f16, true, 5, 7, {}}).find("f32"), std::string::npos);
  EXPECT_NE(message({DType::f16, false, 5, 7, {MatrixOrder::zz, 0, 4, 0}}).find("0 x 4"), std::string::npos);
  EXPECT_NE(message({DType::i4, false, 5, 7, {MatrixOrder::zz, 4, 3, 0}}).find("multiple of 2"),
            std::string::npos);
  EXPECT_EQ(message({DType::i4, false, 5, 7, {MatrixOrder::zn, 4, 3, 0}}), "");
  EXPECT_NE(message({DType::f32, true, 5, 7, {MatrixOrder::nn, 4, 8, 0}}).find("multiple of 8"),
            std::string::npos);
  EXPECT_NE(message({DType::f16, false, 5, 7, {MatrixOrder::nd, 0, 0, 13}}).find("at least 14"),
            std::string::npos);
  EXPECT_EQ(message({DType::f16, false, 5, 7, {MatrixOrder::nd, 0, 0, 14}}), "");
  Matrix one(DType::f16, 2, 2), other(DType::i16, 2, 2);
  EXPECT_THROW(copy_matrix(one.view(), other.target()), Error);
}

// ---- products

void check_layouts(DType a, DType b, DType c, std::size_t m, std::size_t k, std::size_t n,
                   std::mt19937_64& random) {
  const Matrix x = random_matrix(a, m, k, {}, Draw::mild, random);
  const Matrix y = random_matrix(b, k, n, {}, Draw::mild, random);
  const Matrix old = random_matrix(c, m, n, {}, Draw::mild, random);
  const Expected expected = product(x, y, old, true, false);
  MatrixScratch scratch;
  const auto all_a = layouts(a), all_b = layouts(b), all_c = layouts(c);
  for (std::size_t i = 0; i < all_a.size(); ++i)
    for (const SimdPath path : paths()) {
      const Matrix packed = in_layout(x, all_a[i]);
      const Matrix packed_b = in_layout(y, all_b[(i * 5 + 2) % all_b.size()]);
      const Matrix packed_c = in_layout(old, all_c[(i * 7 + 3) % all_c.size()]);
      ASSERT_NO_FATAL_FAILURE(check_product(path, packed, y, old, {true, false}, expected, scratch));
      ASSERT_NO_FATAL_FAILURE(
          check_product(path, x, in_layout(y, all_b[i]), old, {true, false}, expected, scratch));
      ASSERT_NO_FATAL_FAILURE(
          check_product(path, x, y, in_layout(old, all_c[i]), {true, false}, expected, scratch));
      ASSERT_NO_FATAL_FAILURE(
          check_product(path, packed, packed_b, packed_c, {true, false}, expected, scratch));
    }
}

TEST(MatrixLayout, SH_04_products_in_every_layout_with_garbage_in_padding) {
  std::mt19937_64 random(2);
  for (const auto& [m, k, n] :
       {std::array<std::size_t, 3>{16, 32, 32}, {19, 37, 21}, {35, 7, 5}, {1, 40, 33}}) {
    ASSERT_NO_FATAL_FAILURE(check_layouts(DType::f16, DType::f16, DType::f32, m, k, n, random));
    ASSERT_NO_FATAL_FAILURE(check_layouts(DType::f16, DType::f8e4m3, DType::f16, m, k, n, random));
    ASSERT_NO_FATAL_FAILURE(check_layouts(DType::i8, DType::i8, DType::i32, m, k, n, random));
    ASSERT_NO_FATAL_FAILURE(check_layouts(DType::i4, DType::i16, DType::i32, m, k, n, random));
    ASSERT_NO_FATAL_FAILURE(check_layouts(DType::f32, DType::bf16, DType::f32, m, k, n, random));
  }
}

// Ascend's own combination at a depth of several visits of C, and AIE's tiles.
TEST(MatrixLayout, NU_27_position_coded_products) {
  constexpr std::size_t kM = 45, kK = 530, kN = 33;
  Matrix a(DType::f16, kM, kK), b(DType::f16, kK, kN);
  for (std::size_t i = 0; i < kM; ++i)
    for (std::size_t p = 0; p < kK; ++p) a.set_value(i, p, static_cast<double>(i * 20 + p % 13));
  for (std::size_t p = 0; p < kK; ++p)  // column j takes the elements with p = 3 j
    for (std::size_t j = 0; j < kN; ++j) b.set_value(p, j, p == 3 * j ? 1 : 0);
  MatrixScratch scratch;
  for (const bool ascend : {true, false})
    for (const SimdPath path : paths()) {
      const Matrix x = in_layout(a, ascend ? fractals(MatrixOrder::zz, DType::f16) : tiles(4, 8));
      const Matrix y = in_layout(b, ascend ? fractals(MatrixOrder::zn, DType::f16) : tiles(8, 4));
      Matrix c(DType::f32, kM, kN, ascend ? accumulator_fractals() : tiles(4, 4));
      mma_on(path, {x.view(), y.view(), c.target(), false, false, false}, scratch);
      for (std::size_t i = 0; i < kM; ++i)
        for (std::size_t j = 0; j < kN; ++j)
          ASSERT_EQ(decode_float(DType::f32, c.at(i, j)), static_cast<double>(i * 20 + 3 * j % 13));
    }
}

}  // namespace
}  // namespace npulab::values::testing
