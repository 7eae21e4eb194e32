// SPDX-License-Identifier: Apache-2.0
// Sparse operands: packing, unpacking, refusals with their place, and products of what was packed.
#include "sim/values/matrix_sparse.hpp"

#include <gtest/gtest.h>

#include "isa/error.hpp"
#include "matrix_calls.hpp"

namespace npulab::values::testing {
namespace {

const std::vector<DType> kTypes{DType::f16, DType::bf16, DType::f32, DType::i8, DType::i4, DType::f8e4m3};

struct Refusal {
  std::string code = "accepted";
  std::string message{};
};
template <class F>
Refusal refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    return {error.code(), error.message()};
  }
  return {};
}

// At most `most` of each 4 columns are not zero.
Matrix sparse_matrix(DType type, std::size_t rows, std::size_t columns, std::size_t most, MatrixLayout layout,
                     std::mt19937_64& random) {
  Matrix m(type, rows, columns, layout);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t first = 0; first < columns; first += 4) {
      for (std::size_t j = first; j < std::min(columns, first + 4); ++j) m.set(i, j, 0);
      for (std::size_t kept = 0; kept < most; ++kept)
        if (const std::size_t j = first + random() % 4; j < columns)
          m.set(i, j, draw_element(type, Draw::mild, random));
    }
  return m;
}

TEST(MatrixSparse, two_of_four_round_trip) {
  std::mt19937_64 random(1);
  for (const DType type : kTypes)
    for (const std::size_t columns : {0U, 1U, 3U, 4U, 7U, 16U, 37U})
      for (const std::size_t most : {0U, 1U, 2U}) {
        const Matrix dense = sparse_matrix(type, 5, columns, most, {}, random);
        const TwoOfFour packed = pack_2_4(dense.view());
        EXPECT_EQ(packed.values.size(), matrix_bytes(two_of_four_values(dense.form)));
        EXPECT_EQ(packed.places.size(), two_of_four_place_bytes(dense.form));
        Matrix back(type, 5, columns, accumulator_fractals());
        unpack_2_4(packed.values.data(), packed.places.data(), back.target());
        for (std::size_t i = 0; i < 5; ++i)
          for (std::size_t j = 0; j < columns; ++j) ASSERT_EQ(back.at(i, j), dense.at(i, j));
      }
}

TEST(MatrixSparse, two_of_four_bytes) {
  Matrix dense(DType::i8, 1, 12);
  const std::vector<int> row{0, 5, 0, -7, 9, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t j = 0; j < row.size(); ++j) dense.set_value(0, j, row[j]);
  const TwoOfFour packed = pack_2_4(dense.view());
  EXPECT_EQ(elements_from<std::int8_t>(packed.values), (std::vector<std::int8_t>{5, -7, 9, 0, 0, 0}));
  // Places 1 3, 0 1, 0 1: two bits each, low first, and the row ends at a whole byte.
  EXPECT_EQ(elements_from<std::uint8_t>(packed.places),
            (std::vector<std::uint8_t>{1 | 3 << 2 | 0 << 4 | 1 << 6, 0 | 1 << 2}));
}

TEST(MatrixSparse, three_of_four_is_refused_with_its_place) {
  Matrix dense(DType::f16, 3, 8);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 8; ++j) dense.set_value(i, j, 0);
  for (const std::size_t j : {4U, 6U, 7U}) dense.set_value(2, j, 1);
  const Refusal refused = refusal([&] { pack_2_4(dense.view()); });
  EXPECT_EQ(refused.code, "not-2-of-4");
  EXPECT_NE(refused.message.find("row 2, columns 4 to 7: 3 of them"), std::string::npos) << refused.message;
  dense.set_value(2, 6, -0.0);
  EXPECT_EQ(refusal([&] { pack_2_4(dense.view()); }).code, "accepted");
}

TEST(MatrixSparse, places_of_a_program_are_checked) {
  Matrix values(DType::i8, 1, 4), dense(DType::i8, 1, 6);
  for (std::size_t j = 0; j < 4; ++j) values.set_value(0, j, 1);
  const auto code = [&](int first, int second, int third, int fourth) {
    const std::byte places[1] = {static_cast<std::byte>(first | second << 2 | third << 4 | fourth << 6)};
    return refusal([&] { unpack_2_4(values.bytes.data(), places, dense.target()); }).code;
  };
  EXPECT_EQ(code(0, 3, 0, 1), "accepted");
  EXPECT_EQ(code(2, 2, 0, 1), "bad-2-of-4-place");
  EXPECT_EQ(code(3, 0, 0, 1), "bad-2-of-4-place");
  EXPECT_EQ(code(0, 1, 0, 2), "bad-2-of-4-place");  // column 6 of 0 to 5
  values.set_value(0, 3, 0);
  EXPECT_EQ(code(0, 1, 0, 2), "accepted");
}

TEST(MatrixSparse, value_and_index_round_trip) {
  std::mt19937_64 random(2);
  for (const DType type : kTypes)
    for (const DType index : {DType::i16, DType::i32})
      for (const std::size_t columns : {0U, 1U, 7U, 40U})
        for (const std::uint64_t width : {std::uint64_t{0}, std::uint64_t{40}}) {
          const Matrix dense = sparse_matrix(type, 6, columns, 2, {}, random);
          const SparseRows packed = pack_sparse(dense.view(), index, width);
          if (width != 0) {
            EXPECT_EQ(packed.width, width);
          }
          EXPECT_EQ(packed.indices.size(), 6 * packed.width * isa::bits(index) / 8);
          Matrix back(type, 6, columns, {MatrixOrder::nd_transposed, 0, 0, 0});
          unpack_sparse(packed.values.data(), packed.indices.data(), index, packed.width, back.target());
          for (std::size_t i = 0; i < 6; ++i)
            for (std::size_t j = 0; j < columns; ++j) ASSERT_EQ(back.at(i, j), dense.at(i, j));
        }
}

TEST(MatrixSparse, value_and_index_refusals) {
  Matrix dense(DType::f16, 2, 5);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 5; ++j) dense.set_value(i, j, i == 1 && j != 2 ? 1 : 0);
  const Refusal full = refusal([&] { pack_sparse(dense.view(), DType::i16, 3); });
  EXPECT_EQ(full.code, "sparse-row-full");
  EXPECT_NE(full.message.find("row 1"), std::string::npos);
  EXPECT_NE(full.message.find("4 slots"), std::string::npos);
  EXPECT_EQ(refusal([&] { pack_sparse(dense.view(), DType::i8); }).code, "sparse-index-type");
  std::mt19937_64 random(3);
  const Matrix wide = sparse_matrix(DType::i8, 1, 32769, 0, {}, random);
  EXPECT_EQ(refusal([&] { pack_sparse(wide.view(), DType::i16); }).code, "sparse-index-type");
  EXPECT_EQ(refusal([&] { pack_sparse(wide.view(), DType::i32); }).code, "accepted");

  const Matrix values(DType::f16, 1, 3);
  Matrix row(DType::f16, 1, 5);
  const auto code = [&](std::int16_t first, std::int16_t second, std::int16_t third) {
    const Bytes indices = bytes_from<std::int16_t>({first, second, third});
    return refusal([&] { unpack_sparse(values.bytes.data(), indices.data(), DType::i16, 3, row.target()); })
        .code;
  };
  EXPECT_EQ(code(0, 2, 4), "accepted");
  EXPECT_EQ(code(0, -1, -1), "accepted");
  EXPECT_EQ(code(0, 2, 5), "bad-sparse-index");
  EXPECT_EQ(code(0, 2, 2), "bad-sparse-index");
  EXPECT_EQ(code(-1, 2, 3), "bad-sparse-index");
  EXPECT_EQ(code(-2, 2, 3), "bad-sparse-index");
}

TEST(MatrixSparse, products_of_what_was_packed) {
  std::mt19937_64 random(4);
  for (const DType type : {DType::f16, DType::i8}) {
    const Matrix a = sparse_matrix(type, 17, 30, 2, {}, random);
    const Matrix b = random_matrix(type, 30, 18, {}, Draw::mild, random);
    Matrix c(type == DType::i8 ? DType::i32 : DType::f32, 17, 18), other = c;
    const TwoOfFour packed = pack_2_4(a.view());
    Matrix panel(type, 17, 30, fractals(MatrixOrder::zz, type));
    unpack_2_4(packed.values.data(), packed.places.data(), panel.target());
    MatrixScratch scratch;
    mma({a.view(), b.view(), c.target(), false, false, false}, scratch);
    mma({panel.view(), b.view(), other.target(), false, false, false}, scratch);
    EXPECT_EQ(c.bytes, other.bytes);
    // B along k: the transposed view.
    const TwoOfFour columns = pack_2_4(a.view());
    Matrix b_panel(type, 30, 17, fractals(MatrixOrder::zn, type));
    unpack_2_4(columns.values.data(), columns.places.data(), transposed(b_panel.target()));
    for (std::size_t p = 0; p < 30; ++p)
      for (std::size_t j = 0; j < 17; ++j) ASSERT_EQ(b_panel.at(p, j), a.at(j, p));
  }
}

}  // namespace
}  // namespace npulab::values::testing
