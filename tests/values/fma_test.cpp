// SPDX-License-Identifier: Apache-2.0
// Fused multiply-add of every float type against integer arithmetic of unlimited or 128-bit width.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "fma_reference.hpp"

namespace npulab::values::testing {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

bool is_nan(DType type, std::uint32_t bits) {
  return std::isnan(decode_float(type, bits));
}

// f16 as a whole number of 2^-24.
std::int64_t f16_units(std::uint16_t bits) {
  const std::int64_t mantissa = bits & 0x3ff;
  const int field = (bits >> 10) & 0x1f;
  const std::int64_t size = field == 0 ? mantissa : (mantissa + 0x400) << (field - 1);
  return (bits & 0x8000) != 0 ? -size : size;
}

std::uint16_t f16_fma_reference(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  const double x = decode_float(DType::f16, a), y = decode_float(DType::f16, b),
               z = decode_float(DType::f16, c);
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z))
    return static_cast<std::uint16_t>(encode_float(DType::f16, x * y + z));
  const Int128 sum =
      static_cast<Int128>(f16_units(a)) * f16_units(b) + static_cast<Int128>(f16_units(c)) * (1 << 24);
  if (sum == 0) return (((a ^ b) & c) & 0x8000) != 0 ? 0x8000 : 0;
  const std::uint32_t sign = sum < 0 ? 0x8000 : 0;
  const Uint128 size = static_cast<Uint128>(sum < 0 ? -sum : sum);  // in 2^-48
  int top = 127;
  while ((size >> top) == 0) --top;
  const int shift = std::max(top - 10, 24);
  std::uint64_t kept = static_cast<std::uint64_t>(size >> shift);
  const Uint128 rest = size & ((static_cast<Uint128>(1) << shift) - 1);
  const Uint128 half = static_cast<Uint128>(1) << (shift - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  const std::uint64_t bits = kept + (static_cast<std::uint64_t>(shift - 24) << 10);
  return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(bits, 0x7c00));
}

struct Triple {
  std::uint32_t a, b, c;
};

// Every other case is directed: c close to -a*b, to a*b, or so far from it that rounding hangs on the rest.
Triple draw(DType type, std::mt19937_64& random) {
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << isa::bits(type)) - 1);
  Triple t{static_cast<std::uint32_t>(random()) & mask, static_cast<std::uint32_t>(random()) & mask,
           static_cast<std::uint32_t>(random()) & mask};
  const std::uint64_t way = random() % 6;
  if (way < 3) return t;
  if (random() % 2 != 0) {  // few bits set: ties are likely
    const std::uint32_t low = (1U << (isa::info(type).mantissa_bits / 2 + 1)) - 1;
    t.a &= ~low;
    t.b &= ~low;
  }
  const double product = decode_float(type, t.a) * decode_float(type, t.b);
  const int span = static_cast<int>(isa::info(type).mantissa_bits) + 3;
  const double scale =
      way == 3 ? -1 : std::ldexp(way == 4 ? 1 : -1, static_cast<int>(random() % 60) % (2 * span) - span);
  t.c = encode_float(type, product * scale) + static_cast<std::uint32_t>(random() % 5) - 2;
  t.c &= mask;
  return t;
}

template <class T, class Reference>
void check_fma(DType type, std::size_t cases, std::uint64_t seed, Reference reference) {
  std::mt19937_64 random(seed);
  std::vector<T> a(cases), b(cases), c(cases), expected(cases), subtracted(cases);
  const T sign = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  for (std::size_t i = 0; i < cases; ++i) {
    const Triple t = draw(type, random);
    a[i] = static_cast<T>(t.a);
    b[i] = static_cast<T>(t.b);
    c[i] = static_cast<T>(t.c);
    expected[i] = static_cast<T>(reference(a[i], b[i], c[i]));
  }
  std::vector<T> negated(a);
  for (T& bits : negated) bits ^= sign;
  for (const SimdPath path : paths()) {
    const Call add{Op::Vfma, type}, subtract{Op::Vfms, type};
    const auto got = elements_from<T>(run(path, add, cases, bytes_from(c), bytes_from(a), bytes_from(b)));
    const auto other =
        elements_from<T>(run(path, subtract, cases, bytes_from(c), bytes_from(negated), bytes_from(b)));
    for (std::size_t i = 0; i < cases; ++i) {
      ASSERT_EQ(got[i], expected[i]) << label(path, add) << std::hex << " a=" << a[i] << " b=" << b[i]
                                     << " c=" << c[i];
      ASSERT_EQ(other[i], expected[i])
          << label(path, subtract) << std::hex << a[i] << " " << b[i] << " " << c[i];
      if (is_nan(type, expected[i])) {
        ASSERT_EQ(got[i], canonical_nan(type));
      }
    }
  }
}

TEST(Fma, f16_is_rounded_once) {
  check_fma<std::uint16_t>(DType::f16, 2500000, 1, f16_fma_reference);
}

TEST(Fma, references_agree) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const Triple t = draw(DType::f16, random);
    ASSERT_EQ(fma_reference(DType::f16, t.a, t.b, t.c),
              f16_fma_reference(static_cast<std::uint16_t>(t.a), static_cast<std::uint16_t>(t.b),
                                static_cast<std::uint16_t>(t.c)));
  }
}

TEST(Fma, bf16_is_rounded_once) {
  check_fma<std::uint16_t>(DType::bf16, 400000, 2, [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return fma_reference(DType::bf16, a, b, c);
  });
}

TEST(Fma, f32_is_rounded_once) {
  check_fma<std::uint32_t>(DType::f32, 400000, 3, [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return fma_reference(DType::f32, a, b, c);
  });
}

// bf16 where the product alone leaves the range of f32 and the addend brings it back, or decides the sign of
// zero.
TEST(Fma, bf16_products_outside_f32) {
  const std::uint16_t huge = 0x7f40, two = 0x4000, minus_most = 0xff7f, tiny = 0x0001, half = 0x3f00;
  const std::vector<std::uint16_t> a{huge, 0x8001, tiny, 0x0100}, b{two, half, half, 0x0100};
  const std::vector<std::uint16_t> c{minus_most, 0x0000, 0x0001, 0x8000};
  for (const SimdPath path : paths()) {
    const auto got = elements_from<std::uint16_t>(
        run(path, {Op::Vfma, DType::bf16}, 4, bytes_from(c), bytes_from(a), bytes_from(b)));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got[i], fma_reference(DType::bf16, a[i], b[i], c[i])) << i;
  }
}

TEST(Fma, widening_is_the_fused_f32_operation) {
  for (const DType narrow : {DType::f16, DType::bf16}) {
    std::mt19937_64 random(5);
    constexpr std::size_t kCases = 60000;
    std::vector<std::uint16_t> a(kCases), b(kCases);
    std::vector<std::uint32_t> c(kCases), expected(kCases);
    for (std::size_t i = 0; i < kCases; ++i) {
      const Triple t = draw(narrow, random);
      a[i] = static_cast<std::uint16_t>(t.a);
      b[i] = static_cast<std::uint16_t>(t.b);
      const auto widened = [&](std::uint32_t bits) {
        return encode_float(DType::f32, decode_float(narrow, bits));
      };
      c[i] = i % 2 == 0 ? widened(t.c) : static_cast<std::uint32_t>(random());
      expected[i] = fma_reference(DType::f32, widened(t.a), widened(t.b), c[i]);
    }
    for (const SimdPath path : paths()) {
      const Call call{Op::Vfmaw, DType::f32, narrow};
      const auto got =
          elements_from<std::uint32_t>(run(path, call, kCases, bytes_from(c), bytes_from(a), bytes_from(b)));
      for (std::size_t i = 0; i < kCases; ++i)
        ASSERT_EQ(got[i], expected[i])
            << label(path, call) << std::hex << " " << a[i] << " " << b[i] << " " << c[i];
    }
  }
}

TEST(Fma, NU_05_accumulator_overflow_modes) {
  for (const SimdPath path : paths())
    for (const bool saturate : {false, true}) {
      Bytes sum = values_of(DType::f16, {0});
      const Bytes a = values_of(DType::f16, {16}), b = values_of(DType::f16, {16});
      const Call call{Op::Vfma, DType::f16, DType::none, {Round::nearest_even, saturate, false}};
      for (int k = 0; k < 255; ++k) sum = run(path, call, 1, sum, a, b);
      EXPECT_EQ(to_double(DType::f16, sum.data()), 65280);
      sum = run(path, call, 1, sum, a, b);
      EXPECT_EQ(elements_from<std::uint16_t>(sum)[0], saturate ? 0x7bff : 0x7c00);
    }
}

TEST(Fma, NU_06_accumulator_width_decides_the_sum) {
  for (const SimdPath path : paths()) {
    const std::vector<double> one{1};
    Bytes f16 = values_of(DType::f16, {0}), bf16 = values_of(DType::bf16, {0}),
          f32 = values_of(DType::f32, {0});
    for (int k = 0; k < 4096; ++k) {
      f16 = run(path, {Op::Vfma, DType::f16}, 1, f16, values_of(DType::f16, one), values_of(DType::f16, one));
      bf16 = run(path, {Op::Vfma, DType::bf16}, 1, bf16, values_of(DType::bf16, one),
                 values_of(DType::bf16, one));
      f32 = run(path, {Op::Vfmaw, DType::f32, DType::f16}, 1, f32, values_of(DType::f16, one),
                values_of(DType::f16, one));
    }
    EXPECT_EQ(to_double(DType::f16, f16.data()), 2048);
    EXPECT_EQ(to_double(DType::bf16, bf16.data()), 256);
    EXPECT_EQ(to_double(DType::f32, f32.data()), 4096);
  }
}

}  // namespace
}  // namespace npulab::values::testing
