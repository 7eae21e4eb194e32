// SPDX-License-Identifier: Apache-2.0
// Calls of lane functions on vectors of elements, for the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "isa/table.hpp"
#include "sim/values/convert.hpp"
#include "sim/values/simd.hpp"

namespace npulab::values::testing {

using isa::DType;
using isa::Op;
using isa::Round;
using Bytes = std::vector<std::byte>;

inline std::vector<SimdPath> paths() {
  std::vector<SimdPath> all{SimdPath::baseline};
  if (supported(SimdPath::avx2)) all.push_back(SimdPath::avx2);
  return all;
}

inline std::size_t bytes_of(DType type, std::size_t lanes) {
  return (lanes * isa::bits(type) + 7) / 8;
}

template <class T>
Bytes bytes_from(const std::vector<T>& elements) {
  Bytes bytes(elements.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> elements_from(const Bytes& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

// Elements of `type` given by value, rounded to nearest even.
inline Bytes values_of(DType type, const std::vector<double>& values) {
  Bytes bytes(bytes_of(type, values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    from_double(type, values[i], bytes.data(), i, Round::nearest_even, false);
  return bytes;
}
inline std::vector<double> values_from(DType type, const Bytes& bytes, std::size_t lanes) {
  std::vector<double> values(lanes);
  for (std::size_t i = 0; i < lanes; ++i) values[i] = to_double(type, bytes.data(), i);
  return values;
}

struct Call {
  Op op;
  DType type;
  DType type2 = DType::none;
  LaneModes modes{};
};

// dst is returned; `dst` gives its bytes before the call.
inline Bytes run(SimdPath path, const Call& call, std::size_t lanes, Bytes dst, const Bytes& a,
                 const Bytes& b = {}, const Bytes& c = {}) {
  lane_function_on(path, call.op, call.type, call.type2, call.modes)(dst.data(), a.data(), b.data(), c.data(),
                                                                     lanes);
  return dst;
}

// Bit patterns of elements: random ones, and all the awkward ones of float types often.
inline Bytes random_elements(DType type, std::size_t lanes, std::mt19937_64& random) {
  Bytes bytes(bytes_of(type, lanes));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  if (!isa::info(type).floating) return bytes;
  const std::uint32_t sign = std::uint32_t{1} << (isa::bits(type) - 1);
  const std::uint32_t most = largest_finite(type);
  const std::uint32_t smallest_normal = std::uint32_t{1} << isa::info(type).mantissa_bits;
  const std::vector<std::uint32_t> special{0,
                                           1,
                                           smallest_normal - 1,
                                           smallest_normal,
                                           most,
                                           most + 1,
                                           most + 2 > sign - 1 ? sign - 1 : most + 2,
                                           sign - 1,
                                           canonical_nan(type),
                                           encode_float(type, 1),
                                           encode_float(type, 1.5)};
  const std::size_t size = isa::bits(type) / 8;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (random() % 3 != 0) continue;
    std::uint32_t bits = special[random() % special.size()];
    if (random() % 2 != 0) bits |= sign;
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

inline std::string label(SimdPath path, const Call& call) {
  return std::string(isa::info(call.op).mnemonic) + "." + std::string(isa::name(call.type)) + "." +
         std::string(isa::name(call.type2)) + " " + std::string(name(path)) +
         (call.modes.saturate ? " saturate" : "") + (call.modes.broadcast ? " broadcast" : "");
}

}  // namespace npulab::values::testing
