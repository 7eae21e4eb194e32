// SPDX-License-Identifier: Apache-2.0
// Lane-wise instructions against plain scalar definitions; field cases of integers and of moves.
#include "sim/values/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "calls.hpp"
#include "isa/error.hpp"

namespace npulab::values::testing {
namespace {

constexpr std::array kFloats{DType::f32, DType::f16, DType::bf16};
constexpr std::array kIntegers{DType::i32, DType::i16, DType::i8, DType::u8};

std::uint32_t bits_at(DType type, const Bytes& bytes, std::size_t lane) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + lane * isa::bits(type) / 8, isa::bits(type) / 8);
  return bits;
}

std::uint32_t all_ones(DType type) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << isa::bits(type)) - 1);
}

// Applies an operation on 64-bit integers, keeping the low bits: what wrapping means.
using IntegerOperation = std::function<std::int64_t(std::int64_t a, std::int64_t b, int bits)>;
struct IntegerRow {
  Op op;
  IntegerOperation apply;
};

const std::vector<IntegerRow>& integer_rows() {
  static const std::vector<IntegerRow> rows{
      {Op::Vadd, [](auto a, auto b, int) { return a + b; }},
      {Op::Vsub, [](auto a, auto b, int) { return a - b; }},
      {Op::Vmul, [](auto a, auto b, int) { return a * b; }},
      {Op::Vmin, [](auto a, auto b, int) { return std::min(a, b); }},
      {Op::Vmax, [](auto a, auto b, int) { return std::max(a, b); }},
      {Op::Vand, [](auto a, auto b, int) { return a & b; }},
      {Op::Vor, [](auto a, auto b, int) { return a | b; }},
      {Op::Vxor, [](auto a, auto b, int) { return a ^ b; }},
      {Op::Vshl,
       [](auto a, auto b, int bits) { return b < 0 || b >= bits ? 0 : a * (std::int64_t{1} << b); }},
      {Op::Vshr, [](auto a, auto b, int bits) { return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b; }},
      {Op::Vcmpeq, [](auto a, auto b, int) -> std::int64_t { return a == b ? -1 : 0; }},
      {Op::Vcmpne, [](auto a, auto b, int) -> std::int64_t { return a != b ? -1 : 0; }},
      {Op::Vcmplt, [](auto a, auto b, int) -> std::int64_t { return a < b ? -1 : 0; }},
      {Op::Vcmple, [](auto a, auto b, int) -> std::int64_t { return a <= b ? -1 : 0; }},
  };
  return rows;
}

TEST(Lanes, integer_operations) {
  std::mt19937_64 random(1);
  for (const DType type : kIntegers) {
    // Every pair of bytes, small numbers among them so that shifts stay inside often; random pairs of wider
    // types.
    constexpr std::size_t kLanes = 65536 + 5;
    Bytes a = random_elements(type, kLanes, random), b = random_elements(type, kLanes, random);
    if (isa::bits(type) == 8)
      for (std::size_t i = 0; i < 65536; ++i) {
        a[i] = static_cast<std::byte>(i);
        b[i] = static_cast<std::byte>(i >> 8);
      }
    else
      for (std::size_t i = 0; i < kLanes; i += 2)
        from_double(type, static_cast<double>(random() % 40) - 4, b.data(), i, Round::nearest_even, false);
    const auto x = values_from(type, a, kLanes), y = values_from(type, b, kLanes);
    for (const SimdPath path : paths())
      for (const IntegerRow& row : integer_rows()) {
        const Call call{row.op, type};
        const Bytes got = run(path, call, kLanes, Bytes(a.size()), a, b);
        for (std::size_t i = 0; i < kLanes; ++i) {
          const std::int64_t expected =
              row.apply(static_cast<std::int64_t>(x[i]), static_cast<std::int64_t>(y[i]),
                        static_cast<int>(isa::bits(type)));
          ASSERT_EQ(bits_at(type, got, i), static_cast<std::uint32_t>(expected) & all_ones(type))
              << label(path, call) << " " << x[i] << " " << y[i];
        }
      }
  }
}

// Double holds sums of f16 exactly and has enough bits to be rounded again for bf16 and for quotients.
std::uint32_t float_reference(Op op, DType type, std::uint32_t a, std::uint32_t b) {
  const double x = decode_float(type, a), y = decode_float(type, b);
  const auto mask = [type](bool yes) { return yes ? all_ones(type) : 0U; };
  const auto arithmetic = [type](double wide, float narrow) {
    return encode_float(type, type == DType::f32 ? static_cast<double>(narrow) : wide);
  };
  const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
  const bool nan = std::isnan(x) || std::isnan(y);
  const bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  switch (op) {
    case Op::Vadd:
      return arithmetic(x + y, fx + fy);
    case Op::Vsub:
      return arithmetic(x - y, fx - fy);
    case Op::Vmul:
      return arithmetic(x * y, fx * fy);
    case Op::Vdiv:
      return arithmetic(x / y, fx / fy);
    case Op::Vmin:
      return nan ? canonical_nan(type) : (less ? a : b);
    case Op::Vmax:
      return nan ? canonical_nan(type) : (less ? b : a);
    case Op::Vcmpeq:
      return mask(x == y);
    case Op::Vcmpne:
      return mask(x != y);
    case Op::Vcmplt:
      return mask(x < y);
    case Op::Vcmple:
      return mask(x <= y);
    default:
      return 0;
  }
}

TEST(Lanes, float_operations) {
  std::mt19937_64 random(2);
  constexpr std::size_t kLanes = 60001;
  for (const DType type : kFloats) {
    Bytes a = random_elements(type, kLanes, random), b = random_elements(type, kLanes, random);
    const std::size_t size = isa::bits(type) / 8;
    for (std::size_t i = 0; i < kLanes; i += 3)  // exponents near each other
      for (std::size_t k = 0; k < size; ++k)
        b[i * size + k] = a[i * size + k] ^ (k == 0 ? std::byte{0x15} : std::byte{0});
    for (const SimdPath path : paths())
      for (const Op op : {Op::Vadd, Op::Vsub, Op::Vmul, Op::Vdiv, Op::Vmin, Op::Vmax, Op::Vcmpeq, Op::Vcmpne,
                          Op::Vcmplt, Op::Vcmple}) {
        const Call call{op, type};
        const Bytes got = run(path, call, kLanes, Bytes(a.size()), a, b);
        for (std::size_t i = 0; i < kLanes; ++i)
          ASSERT_EQ(bits_at(type, got, i),
                    float_reference(op, type, bits_at(type, a, i), bits_at(type, b, i)))
              << label(path, call) << std::hex << " " << bits_at(type, a, i) << " " << bits_at(type, b, i);
      }
  }
}

TEST(Lanes, saturating_overflow_mode) {
  const double infinity = INFINITY;
  for (const SimdPath path : paths())
    for (const DType type : kFloats) {
      const double most = decode_float(type, largest_finite(type));
      const LaneModes saturate{Round::nearest_even, true, false};
      const Bytes a = values_of(type, {most, -most, infinity, 1, -1, NAN, most, 2});
      const Bytes b = values_of(type, {most, most, 1, 0, 0, 1, 1, 3});
      const auto got =
          values_from(type, run(path, {Op::Vadd, type, DType::none, saturate}, 8, Bytes(a.size()), a, a), 8);
      EXPECT_EQ(got[0], most);
      EXPECT_EQ(got[1], -most);
      EXPECT_EQ(got[2], most);
      EXPECT_TRUE(std::isnan(got[5]));
      EXPECT_EQ(got[7], 4);
      const auto quotient =
          values_from(type, run(path, {Op::Vdiv, type, DType::none, saturate}, 8, Bytes(a.size()), a, b), 8);
      EXPECT_EQ(quotient[3], most);
      EXPECT_EQ(quotient[4], -most);
      EXPECT_TRUE(std::isnan(quotient[5]));
      const auto kept =
          values_from(type, run(path, {Op::Vmax, type, DType::none, saturate}, 8, Bytes(a.size()), a, b), 8);
      EXPECT_EQ(kept[2], infinity);
    }
}

TEST(Lanes, NU_10_most_negative_integers) {
  for (const SimdPath path : paths())
    for (const DType type : {DType::i8, DType::i16, DType::i32}) {
      const double least = -std::ldexp(1.0, static_cast<int>(isa::bits(type)) - 1);
      const Bytes a = values_of(type, {least, least + 1, -1, 0, 5, -least - 1});
      const std::vector<double> negated{-least - 1, -least - 1, 1, 0, -5, least + 1};
      const std::vector<double> absolute{-least - 1, -least - 1, 1, 0, 5, -least - 1};
      EXPECT_EQ(values_from(type, run(path, {Op::Vneg, type}, 6, Bytes(a.size()), a), 6), negated);
      EXPECT_EQ(values_from(type, run(path, {Op::Vabs, type}, 6, Bytes(a.size()), a), 6), absolute);
      const Bytes square = run(path, {Op::Vmul, type}, 1, Bytes(a.size()), a, a);
      EXPECT_EQ(to_double(type, square.data()), 0);  // wraps
    }
  // The widening product is exact: (-128) * (-128) and -128 * 127.
  for (const SimdPath path : paths()) {
    const Bytes a = values_of(DType::i8, {-128, -128, 127, -1}),
                b = values_of(DType::i8, {-128, 127, 127, -128});
    for (const DType wide : {DType::i16, DType::i32}) {
      const Bytes got = run(path, {Op::Vfmaw, wide, DType::i8}, 4, values_of(wide, {0, 1, 2, 3}), a, b);
      EXPECT_EQ(values_from(wide, got, 4), (std::vector<double>{16384, -16255, 16131, 131}));
    }
  }
}

TEST(Lanes, NU_11_dot_products_have_no_narrow_intermediate) {
  std::mt19937_64 random(4);
  for (const SimdPath path : paths())
    for (const DType type : {DType::i8, DType::u8}) {
      constexpr std::size_t kLanes = 61;
      Bytes a = random_elements(type, 4 * kLanes, random), b = random_elements(type, 4 * kLanes, random);
      const std::byte most = type == DType::i8 ? std::byte{127} : std::byte{255};
      const std::byte least = type == DType::i8 ? std::byte{0x80} : std::byte{255};
      for (std::size_t k = 0; k < 4; ++k) {
        a[k] = most, b[k] = most;           // 127 * 127 + …
        a[4 + k] = least, b[4 + k] = most;  // -128 * 127 + …
        a[8 + k] = least, b[8 + k] = least;
      }
      const Bytes c = random_elements(DType::i32, kLanes, random);
      const auto got = elements_from<std::int32_t>(run(path, {Op::Vdot, DType::i32, type}, kLanes, c, a, b));
      for (std::size_t i = 0; i < kLanes; ++i) {
        std::int64_t sum = elements_from<std::int32_t>(c)[i];
        for (std::size_t k = 4 * i; k < 4 * i + 4; ++k)
          sum += static_cast<std::int64_t>(to_double(type, a.data(), k) * to_double(type, b.data(), k));
        ASSERT_EQ(got[i], static_cast<std::int32_t>(static_cast<std::uint32_t>(sum))) << i;
      }
    }
}

TEST(Lanes, NU_22_moves_keep_every_bit) {
  std::mt19937_64 random(5);
  for (const SimdPath path : paths())
    for (const DType type : {DType::f16, DType::bf16}) {
      std::vector<std::uint16_t> all(65536);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
      const Bytes a = bytes_from(all);
      EXPECT_EQ(run(path, {Op::Vmov, type}, all.size(), Bytes(a.size()), a), a);
      const Bytes ones(a.size(), std::byte{0xff});
      EXPECT_EQ(run(path, {Op::Vsel, type}, all.size(), Bytes(a.size()), ones, a, ones), a);
      const auto negated =
          elements_from<std::uint16_t>(run(path, {Op::Vneg, type}, all.size(), Bytes(a.size()), a));
      const auto absolute =
          elements_from<std::uint16_t>(run(path, {Op::Vabs, type}, all.size(), Bytes(a.size()), a));
      // Arithmetic keeps subnormals: x + (-0) is x, and canonical when NaN.
      const Bytes minus_zero = values_of(type, {-0.0});
      const Call add{Op::Vadd, type, DType::none, {Round::nearest_even, false, true}};
      const auto sum =
          elements_from<std::uint16_t>(run(path, add, all.size(), Bytes(a.size()), a, minus_zero));
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(negated[i], all[i] ^ 0x8000);
        ASSERT_EQ(absolute[i], all[i] & 0x7fff);
        const bool nan = std::isnan(decode_float(type, all[i]));
        ASSERT_EQ(sum[i], nan ? canonical_nan(type) : all[i]);
      }
    }
}

TEST(Lanes, moves_of_nibbles_keep_the_neighbour) {
  for (const SimdPath path : paths()) {
    const Bytes a{std::byte{0x21}, std::byte{0x43}}, dst{std::byte{0xaa}, std::byte{0xbb}};
    EXPECT_EQ(run(path, {Op::Vmov, DType::i4}, 3, dst, a), (Bytes{std::byte{0x21}, std::byte{0xb3}}));
    EXPECT_EQ(run(path, {Op::Vmov, DType::i4}, 4, dst, a), a);
    EXPECT_EQ(run(path, {Op::Vmov, DType::i4}, 0, dst, a), dst);
  }
}

TEST(Lanes, permutes_and_extracts) {
  for (const SimdPath path : paths()) {
    const Bytes a = values_of(DType::i16, {10, 11, 12, 13, 14});
    const auto slide = [&](std::int64_t amount) {
      return values_from(
          DType::i16,
          run(path, {Op::Vslide, DType::i16}, 5, Bytes(10), a, bytes_from<std::int64_t>({amount})), 5);
    };
    EXPECT_EQ(slide(2), (std::vector<double>{12, 13, 14, 0, 0}));
    EXPECT_EQ(slide(-1), (std::vector<double>{0, 10, 11, 12, 13}));
    EXPECT_EQ(slide(INT64_MAX), (std::vector<double>(5, 0)));
    EXPECT_EQ(slide(INT64_MIN), (std::vector<double>(5, 0)));
    const Bytes index = values_of(DType::i16, {4, 0, -1, 5, 2});
    EXPECT_EQ(values_from(DType::i16, run(path, {Op::Vperm, DType::i16}, 5, Bytes(10), a, index), 5),
              (std::vector<double>{14, 10, 0, 0, 12}));
    EXPECT_EQ(values_from(DType::i16, run(path, {Op::Vdup, DType::i16}, 5, Bytes(10), index), 5),
              (std::vector<double>(5, 4)));
    const Bytes minus_one = values_of(DType::i16, {-1});
    EXPECT_EQ(elements_from<std::uint64_t>(
                  run(path, {Op::Vext, DType::i16}, 1, Bytes(8, std::byte{0x55}), minus_one))[0],
              0xffffU);
    const Bytes mask = values_of(DType::i16, {0, 1, 0, -32768, 0});
    EXPECT_EQ(values_from(DType::i16, run(path, {Op::Vsel, DType::i16}, 5, Bytes(10), mask, a, index), 5),
              (std::vector<double>{4, 11, -1, 13, 2}));
  }
}

TEST(Lanes, illegal_combinations_are_internal_errors) {
  const auto refused = [](Op op, DType type, DType type2) {
    try {
      lane_function(op, type, type2, {});
    } catch (const Error& error) {
      return error.category() == Category::internal && error.code() == "no-lane-function";
    }
    return false;
  };
  EXPECT_TRUE(refused(Op::Vadd, DType::i4, DType::none));
  EXPECT_TRUE(refused(Op::Vadd, DType::f16, DType::f16));
  EXPECT_TRUE(refused(Op::Vexp, DType::i32, DType::none));
  EXPECT_TRUE(refused(Op::Vfmaw, DType::f32, DType::i8));
  EXPECT_TRUE(refused(Op::Vcvt, DType::f32, DType::f32));
  EXPECT_TRUE(refused(Op::Vcvt, DType::f32, DType::none));
  EXPECT_TRUE(refused(Op::Copy, DType::none, DType::none));
}

}  // namespace
}  // namespace npulab::values::testing
