// SPDX-License-Identifier: Apache-2.0
// bfp16 blocks against their definition in exact doubles, and products of them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "isa/error.hpp"
#include "matrix_calls.hpp"

namespace npulab::values::testing {
namespace {

using Values = std::array<float, kBfp16Values>;
using Block = std::array<std::byte, kBfp16Bytes>;

Block encoded(const Values& values) {
  Block block{};
  encode_bfp16(values.data(), block.data());
  return block;
}
Values decoded(const Block& block) {
  Values values{};
  decode_bfp16(block.data(), values.data());
  return values;
}
int mantissa(const Block& block, std::size_t i) {
  return static_cast<std::int8_t>(block[1 + i]);
}

// By the words of bfp16.hpp, with libm.
Block reference(const Values& values) {
  Block block{};
  float largest = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      block[0] = std::byte{255};
      return block;
    }
    largest = std::max(largest, std::fabs(value));
  }
  int exponent = largest == 0 ? 0 : std::max(0, std::ilogb(largest) + 127);
  const auto whole = [&](float value) {
    return std::nearbyint(std::ldexp(static_cast<double>(value), -(exponent - 133)));
  };
  for (const float value : values)
    if (exponent < 254 && std::fabs(whole(value)) == 128) ++exponent;
  block[0] = static_cast<std::byte>(exponent);
  for (std::size_t i = 0; i < kBfp16Values; ++i) {
    double m = whole(values[i]);
    if (exponent == 254) m = std::clamp(m, -127.0, 127.0);
    block[1 + i] = static_cast<std::byte>(static_cast<int>(m));
  }
  return block;
}

TEST(Bfp16, rounding_against_the_definition) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    Values values{};
    const auto base = static_cast<std::uint32_t>(random() % 256) << 23;
    for (float& value : values) {
      auto bits = static_cast<std::uint32_t>(random());
      const std::uint32_t down = static_cast<std::uint32_t>(random() % 10) << 23;
      bits = (bits & 0x807fffffU) | (base > down ? base - down : 0);
      if (random() % 4 == 0) bits &= 0xfffe0000U;  // ties
      if (random() % 4 == 0) bits |= 0x007f8000U;  // carries
      value = std::bit_cast<float>(bits);
    }
    const Block block = encoded(values);
    ASSERT_EQ(block, reference(values)) << round;
    if (block[0] == std::byte{255}) continue;
    const double unit = std::ldexp(1.0, static_cast<int>(block[0]) - 133);
    const Values back = decoded(block);
    for (std::size_t i = 0; i < kBfp16Values; ++i) {
      ASSERT_EQ(back[i], static_cast<float>(mantissa(block, i) * unit));
      const double most = block[0] == std::byte{254} ? 1.0 : 0.5;  // clamped at the very end
      ASSERT_LE(std::fabs(static_cast<double>(back[i]) - static_cast<double>(values[i])), most * unit);
    }
    ASSERT_EQ(decoded(encoded(back)), back);
  }
}

TEST(Bfp16, ends_of_the_range) {
  const float most = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(encoded({most, -most})[0], std::byte{254});
  EXPECT_EQ(mantissa(encoded({most, -most}), 0), 127);
  EXPECT_EQ(mantissa(encoded({most, -most}), 1), -127);
  EXPECT_EQ(encoded({tiny}), Block{});
  EXPECT_EQ(encoded({}), Block{});
  EXPECT_EQ(encoded({-0.0F, 0}), Block{});
  EXPECT_EQ(encoded({1, infinity})[0], std::byte{255});
  for (const float value : decoded(encoded({1, infinity}))) EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(std::isnan(decoded(encoded({std::nanf("")}))[7]));
  EXPECT_EQ(decoded({std::byte{254}, std::byte{0x80}})[0], -infinity);
  EXPECT_EQ(decoded({std::byte{0}, std::byte{1}})[0], 0x1p-133F);
  EXPECT_EQ(decoded({std::byte{127}, std::byte{64}, std::byte{0xc0}})[1], -1.0F);
}

TEST(Bfp16, NU_01_carry_steps_the_exponent) {
  const Block block = encoded({0x1.ffp0F, 0x1.02p-6F});
  EXPECT_EQ(block[0], std::byte{128});
  EXPECT_EQ(mantissa(block, 0), 64);
  EXPECT_EQ(mantissa(block, 1), 1);  // rounded once from the value, in the larger unit
}

TEST(Bfp16, SH_11_SH_12_products_with_tails) {
  std::mt19937_64 random(2);
  MatrixScratch scratch;
  for (const std::size_t k : {1U, 8U, 15U, 16U, 40U})
    for (const std::size_t m : {3U, 17U})
      for (const bool blocks : {false, true}) {
        const Matrix a = random_matrix(DType::f32, m, k, {}, Draw::mild, random);
        const Matrix b = random_matrix(DType::f32, k, 19, {}, Draw::mild, random);
        Matrix x(DType::f32, m, k, blocks ? tiles(8, 8) : MatrixLayout{}, true);
        Matrix y(DType::f32, k, 19,
                 blocks ? MatrixLayout{MatrixOrder::zn, 8, 8, 0}
                        : MatrixLayout{MatrixOrder::nd_transposed, 0, 0, 0},
                 true);
        ASSERT_NO_FATAL_FAILURE(pack_bfp16(a.view(), x.target()));
        ASSERT_NO_FATAL_FAILURE(pack_bfp16(b.view(), y.target()));
        if (blocks) {
          ASSERT_EQ(matrix_bytes(x.form), (m + 7) / 8 * ((k + 7) / 8) * 72);
        }
        const Matrix old = random_matrix(DType::f32, m, 19, accumulator_fractals(), Draw::mild, random);
        ASSERT_NO_FATAL_FAILURE(check_on_all_paths(x, y, old, {true, false}));
        ASSERT_NO_FATAL_FAILURE(check_on_all_paths(x, b, old, {false, true}));
      }
}

TEST(Bfp16, any_bytes_give_the_same_bits_on_all_paths) {
  std::mt19937_64 random(3);
  Matrix x(DType::f32, 9, 16, {}, true), y(DType::f32, 16, 18, {MatrixOrder::nd_transposed, 0, 0, 0}, true);
  for (Bytes* bytes : {&x.bytes, &y.bytes})
    for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random());
  const Matrix old = random_matrix(DType::f32, 9, 18, {}, Draw::any, random);
  ASSERT_NO_FATAL_FAILURE(check_on_all_paths(x, y, old, {true, false}));
  ASSERT_NO_FATAL_FAILURE(check_on_all_paths(x, y, old, {true, true}));
}

TEST(Bfp16, every_exponent_and_mantissa) {
  Matrix one(DType::f32, 1, 1);
  one.set_value(0, 0, 1);
  MatrixScratch scratch;
  for (const SimdPath path : paths()) {
    Matrix a(DType::f32, 256, 1, {}, true), c(DType::f32, 256, 1);
    for (int m = -128; m < 128; ++m) {
      for (std::size_t e = 0; e < 256; ++e) {
        a.bytes[e * kBfp16Bytes] = static_cast<std::byte>(e);
        a.bytes[e * kBfp16Bytes + 1] = static_cast<std::byte>(m);
      }
      mma_on(path, {a.view(), one.view(), c.target(), false, false, false}, scratch);
      for (std::size_t e = 0; e < 256; ++e) {
        const float value = static_cast<float>(std::ldexp(m, static_cast<int>(e) - 133));
        ASSERT_EQ(c.at(e, 0), e == 255 ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value)) << e << " " << m;
      }
    }
  }
}

TEST(Bfp16, copies_in_whole_blocks) {
  std::mt19937_64 random(4);
  const Matrix values = random_matrix(DType::f32, 11, 21, {}, Draw::mild, random);
  Matrix from(DType::f32, 11, 21, {}, true), to(DType::f32, 11, 21, tiles(8, 8), true);
  Matrix direct = to;
  pack_bfp16(values.view(), from.target());
  copy_matrix(from.view(), to.target());
  for (std::size_t i = 0; i < 11; ++i)
    for (std::size_t j = 0; j < 21; ++j) EXPECT_EQ(from.word(i, j), to.word(i, j));
  pack_bfp16(values.view(), direct.target());
  EXPECT_EQ(direct.bytes, to.bytes);
  Matrix down(DType::f32, 11, 21, {MatrixOrder::nd_transposed, 0, 0, 0}, true);
  EXPECT_THROW(copy_matrix(from.view(), down.target()), Error);
  MatrixScratch scratch;
  Matrix c(DType::f32, 11, 11);
  EXPECT_THROW(mma({down.view(), transposed(from.view()), c.target(), false, false, false}, scratch), Error);
}

}  // namespace
}  // namespace npulab::values::testing
