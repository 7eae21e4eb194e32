// SPDX-License-Identifier: Apache-2.0
// What every vector instruction computes, lane by lane, written a second time: exact in double or integers,
// rounded once. Only functions without a simple exact form (exp, log, 1/sqrt, tanh, erf) ask the simulator's
// own lane functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "isa/table.hpp"
#include "sim/values/convert.hpp"
#include "sim/values/lanes.hpp"

namespace npulab::test {

using isa::DType;
using isa::Op;
using Bytes = std::vector<std::byte>;
using Lanes = std::vector<std::uint64_t>;  // the bits of each lane

inline std::uint64_t get_lane(DType type, const Bytes& data, std::size_t at, std::size_t lane) {
  if (type == DType::i4) return std::to_integer<std::uint64_t>(data[at + lane / 2]) >> (lane % 2 * 4) & 0xfU;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &data[at + lane * (isa::bits(type) / 8)], isa::bits(type) / 8);
  return bits;
}

inline void put_lane(DType type, Bytes& data, std::size_t at, std::size_t lane, std::uint64_t bits) {
  if (type == DType::i4) {
    const auto shift = static_cast<unsigned>(lane % 2 * 4);
    std::byte& byte = data[at + lane / 2];
    byte = (byte & static_cast<std::byte>(0xf0U >> shift)) | static_cast<std::byte>((bits & 0xfU) << shift);
    return;
  }
  std::memcpy(&data[at + lane * (isa::bits(type) / 8)], &bits, isa::bits(type) / 8);
}

inline std::int64_t integer_of(DType type, std::uint64_t bits) {
  const unsigned shift = 64 - isa::bits(type);
  return isa::info(type).is_signed ? static_cast<std::int64_t>(bits << shift) >> shift
                                   : static_cast<std::int64_t>(bits << shift >> shift);
}

inline double number_of(DType type, std::uint64_t bits) {
  return isa::info(type).floating ? values::decode_float(type, static_cast<std::uint32_t>(bits))
                                  : static_cast<double>(integer_of(type, bits));
}

// One instruction on lanes: sources are as long as it reads, a broadcast one already repeated.
struct LaneCall {
  Op op = Op::Vmov;
  DType type = DType::f32;
  DType type2 = DType::none;
  isa::Round round = isa::Round::nearest_even;
  bool saturate = false;
  std::int64_t active = 0;              // lanes below take part …
  std::optional<std::uint64_t> mask{};  // … where their bit is set

  bool takes_part(std::size_t lane) const {
    if (static_cast<std::int64_t>(lane) >= active) return false;
    return !mask || (lane < 64 && (*mask >> lane & 1U) != 0);
  }
};

// a * b + c with the exact value rounded to odd, so that one further rounding is the only one.
inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b;  // exact: at most 48 bits
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double virtual_c = sum - product;
  const double error = (product - (sum - virtual_c)) + (c - virtual_c);
  if (error == 0) return sum;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &sum, sizeof bits);
  if ((bits & 1U) != 0) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

inline std::uint64_t float_lane(const LaneCall& call, std::uint64_t old, std::uint64_t a, std::uint64_t b) {
  const DType t = call.type;
  const DType source = call.type2 == DType::none ? t : call.type2;
  const auto encode = [&](double value) -> std::uint64_t {
    return values::encode_float(t, value, isa::Round::nearest_even, call.saturate);
  };
  const double x = number_of(source, a);
  const double y = number_of(source, b);
  const std::uint64_t ones = (std::uint64_t{1} << isa::bits(t)) - 1;
  const std::uint64_t sign = std::uint64_t{1} << (isa::bits(t) - 1);
  const auto extreme = [&](bool larger) -> std::uint64_t {  // not rounded: no saturation
    if (std::isnan(x) || std::isnan(y)) return values::canonical_nan(t);
    if (x == y) return ((a & sign) != 0) == larger ? b : a;
    return (x < y) == larger ? b : a;
  };
  switch (call.op) {
    case Op::Vadd:
      return encode(x + y);
    case Op::Vsub:
      return encode(x - y);
    case Op::Vmul:
      return encode(x * y);
    case Op::Vdiv:
      return encode(x / y);
    case Op::Vrec:
      return encode(1 / x);
    case Op::Vsqrt:
      return encode(std::sqrt(x));
    case Op::Vmin:
      return extreme(false);
    case Op::Vmax:
      return extreme(true);
    case Op::Vabs:
      return a & ~sign;
    case Op::Vneg:
      return a ^ sign;
    case Op::Vfma:
    case Op::Vfmaw:
      return encode(fma_to_odd(x, y, number_of(t, old)));
    case Op::Vfms:
      return encode(fma_to_odd(-x, y, number_of(t, old)));
    case Op::Vcmpeq:
      return x == y ? ones : 0;
    case Op::Vcmpne:
      return x == y ? 0 : ones;
    case Op::Vcmplt:
      return x < y ? ones : 0;
    case Op::Vcmple:
      return x <= y ? ones : 0;
    default:
      break;
  }
  std::uint64_t result = 0;
  Bytes in(8);
  std::memcpy(in.data(), &a, 8);
  values::lane_function(call.op, t, DType::none, {isa::Round::nearest_even, call.saturate, false})(
      reinterpret_cast<std::byte*>(&result), in.data(), nullptr, nullptr, 1);
  return result;
}

inline std::uint64_t integer_lane(const LaneCall& call, std::uint64_t old, std::uint64_t a, std::uint64_t b) {
  const DType t = call.type;
  const DType source = call.type2 == DType::none ? t : call.type2;
  const std::int64_t x = integer_of(source, a);
  const std::int64_t y = integer_of(source, b);
  const auto bits_of = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::int64_t largest = static_cast<std::int64_t>((std::uint64_t{1} << (isa::bits(t) - 1)) - 1);
  const bool in_range = y >= 0 && y < static_cast<std::int64_t>(isa::bits(t));
  switch (call.op) {
    case Op::Vadd:
      return bits_of(x + y);
    case Op::Vsub:
      return bits_of(x - y);
    case Op::Vmul:
      return bits_of(x) * bits_of(y);
    case Op::Vmin:
      return bits_of(std::min(x, y));
    case Op::Vmax:
      return bits_of(std::max(x, y));
    case Op::Vabs:
      return bits_of(x < 0 ? isa::info(t).is_signed ? std::min(-x, largest) : x : x);
    case Op::Vneg:
      return bits_of(std::min(-x, largest));
    case Op::Vfma:
    case Op::Vfmaw:
      return bits_of(x) * bits_of(y) + old;
    case Op::Vfms:
      return old - bits_of(x) * bits_of(y);
    case Op::Vand:
      return a & b;
    case Op::Vor:
      return a | b;
    case Op::Vxor:
      return a ^ b;
    case Op::Vnot:
      return ~a;
    case Op::Vshl:
      return in_range ? bits_of(x) << y : 0;
    case Op::Vshr:
      return in_range ? bits_of(x >> y) : bits_of(x < 0 ? -1 : 0);
    case Op::Vcmpeq:
      return x == y ? ~std::uint64_t{0} : 0;
    case Op::Vcmpne:
      return x != y ? ~std::uint64_t{0} : 0;
    case Op::Vcmplt:
      return x < y ? ~std::uint64_t{0} : 0;
    case Op::Vcmple:
      return x <= y ? ~std::uint64_t{0} : 0;
    default:
      throw std::logic_error("no reference for this instruction");
  }
}

inline std::uint64_t converted(const LaneCall& call, std::uint64_t a) {
  const double x = number_of(call.type2, a);
  if (isa::info(call.type).floating) return values::encode_float(call.type, x, call.round, call.saturate);
  return static_cast<std::uint64_t>(std::int64_t{values::encode_integer(call.type, x, call.round)});
}

inline std::uint64_t lane_of(const LaneCall& call, std::uint64_t old, std::uint64_t a, std::uint64_t b) {
  return isa::info(call.type).floating ? float_lane(call, old, a, b) : integer_lane(call, old, a, b);
}

// The pairwise order of the reference: lane i takes in lane i + half, half being the largest power of two
// below n.
inline std::uint64_t reduced(const LaneCall& call, Lanes lanes) {
  if (lanes.empty()) return 0;
  LaneCall pair = call;
  pair.op = call.op == Op::Vrsum ? Op::Vadd : call.op == Op::Vrmax ? Op::Vmax : Op::Vmin;
  if (lanes.size() == 1 && isa::info(call.type).floating) {  // canonical, and in range for a sum
    const double x = number_of(call.type, lanes[0]);
    if (std::isnan(x)) return values::canonical_nan(call.type);
    if (call.op == Op::Vrsum)
      return values::encode_float(call.type, x, isa::Round::nearest_even, call.saturate);
  }
  for (std::size_t n = lanes.size(); n > 1;) {
    std::size_t half = 1;
    while (half * 2 < n) half *= 2;
    for (std::size_t i = 0; i + half < n; ++i) {
      const unsigned shift = 64 - isa::bits(call.type);
      lanes[i] = lane_of(pair, 0, lanes[i], lanes[i + half]) << shift >> shift;
    }
    n = half;
  }
  return lanes[0];
}

// The new lanes of dst. `c` is the second source of vsel, whose mask is `a`.
inline Lanes computed(const LaneCall& call, const Lanes& dst, const Lanes& a, const Lanes& b,
                      const Lanes& c) {
  Lanes result = dst;
  if (isa::info(call.op).format == isa::Format::Reduction) {
    Lanes active;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (call.takes_part(i)) active.push_back(a[i]);
    std::fill(result.begin(), result.end(), 0);
    if (!result.empty()) result[0] = reduced(call, active);
    return result;
  }
  for (std::size_t i = 0; i < dst.size(); ++i) {
    if (!call.takes_part(i)) continue;
    switch (call.op) {
      case Op::Vmov:
      case Op::Vdup:
        result[i] = a[i];
        break;
      case Op::Vsel:
        result[i] = a[i] != 0 ? b[i] : c[i];
        break;
      case Op::Vcvt:
        result[i] = converted(call, a[i]);
        break;
      case Op::Vperm:
        result[i] = b[i] < a.size() ? a[static_cast<std::size_t>(b[i])] : 0;
        break;
      case Op::Vdot: {
        std::uint64_t sum = dst[i];
        for (std::size_t k = 4 * i; k < 4 * i + 4; ++k)
          sum += static_cast<std::uint64_t>(integer_of(call.type2, a[k]) * integer_of(call.type2, b[k]));
        result[i] = sum;
        break;
      }
      default:
        result[i] = lane_of(call, dst[i], a[i], b.empty() ? 0 : b[i]);
        break;
    }
  }
  return result;
}

// Random bits of any kind, every other element near enough to others for sums, and now and then a special
// one.
inline void fill_random(DType type, Bytes& data, std::size_t at, std::size_t lanes, std::mt19937_64& random) {
  for (std::size_t i = 0; i < lanes; ++i) {
    std::uint64_t bits = random();
    const std::uint64_t kind = random() % 8;
    if (isa::info(type).floating && kind < 5) {
      bits = values::encode_float(type, (static_cast<double>(random() % 2001) - 1000) / 250);
    } else if (isa::info(type).floating && kind == 5) {
      const std::uint64_t sign = std::uint64_t{random() % 2} << (isa::bits(type) - 1);
      const std::uint64_t specials[] = {0, 1, values::largest_finite(type), values::largest_finite(type) + 1U,
                                        values::canonical_nan(type)};
      bits = specials[random() % 5] | sign;
    } else if (!isa::info(type).floating && kind < 4) {
      bits = random() % (isa::bits(type) + 3);
    } else if (!isa::info(type).floating && kind == 4) {
      bits = (std::uint64_t{1} << (isa::bits(type) - 1)) - random() % 2;
    }
    put_lane(type, data, at, i, bits);
  }
}

}  // namespace npulab::test
