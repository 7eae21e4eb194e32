// SPDX-License-Identifier: Apache-2.0
// y = A x once more, element by element in the order that each kernel states, to compare bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>

#include "sim/values/convert.hpp"
#include "tests/kernels/support.hpp"

namespace npulab::kernels::test {

struct Variant {
  std::string name;
  bool block_rows = false;   // has the parameter Bm
  bool saves_lanes = false;  // lanes beyond the columns take no part in the last step
};

inline void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.name;
}

inline const std::vector<Variant>& register_variants() {
  static const std::vector<Variant> all{{"gemv/naive"},
                                        {"gemv/vectorized"},
                                        {"gemv/register_blocked", true},
                                        {"gemv/register_blocked_spill", true},
                                        {"gemv/pipelined", true},
                                        {"gemv/mixed", true},
                                        {"gemv/f32", true},
                                        {"gemv/int8", true},
                                        {"gemv/int8_requant", true}};
  return all;
}

// A sum in a float type, held exactly in a double.
class FloatSum {
 public:
  explicit FloatSum(isa::DType type) : type_(type) {}
  double rounded(double value) const {
    return std::isnan(value) ? value : values::decode_float(type_, values::encode_float(type_, value));
  }
  // a * b + c rounded once. The double product of 24-bit numbers is exact; the sum is made odd where it is
  // not, so that the second rounding sees on which side of it the exact one lies.
  double fused(double a, double b, double c) const {
    const double product = a * b;
    const double sum = product + c;
    if (!std::isfinite(sum)) return rounded(sum);
    const double back = sum - product;
    const double error = (product - (sum - back)) + (c - back);
    if (error == 0 || (std::bit_cast<std::uint64_t>(sum) & 1U) != 0) return rounded(sum);
    const bool away = (error > 0) == (sum > 0);
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    return rounded(std::bit_cast<double>(away ? bits + 1 : bits - 1));
  }
  double added(double a, double b) const { return rounded(a + b); }

 private:
  isa::DType type_;
};

// The tree of vrsum.
inline double tree(const FloatSum& sum, std::vector<double> lanes) {
  while (lanes.size() > 1) {
    const std::size_t half = std::bit_floor(lanes.size() - 1);
    for (std::size_t i = 0; i + half < lanes.size(); ++i) lanes[i] = sum.added(lanes[i], lanes[i + half]);
    lanes.resize(half);
  }
  return lanes.front();
}

struct Shape {
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t lanes;
};

inline double float_row(const KernelRun& run, const Variant& variant, const Shape& shape, std::uint64_t row) {
  const isa::DType type = tensor(run.header, "A").type;
  const isa::DType accumulate = *isa::dtype_named(run.header.reference.arguments.at("accumulate"));
  const FloatSum sum(accumulate);
  const Bytes& a = run.inputs.at("A");
  const Bytes& x = run.inputs.at("x");
  std::vector<double> lanes(shape.lanes, 0.0);
  for (std::uint64_t first = 0; first < shape.columns; first += shape.lanes) {
    for (std::uint64_t lane = 0; lane < shape.lanes; ++lane) {
      const std::uint64_t k = first + lane;
      const bool there = k < shape.columns;
      if (!there && variant.saves_lanes) continue;
      lanes[lane] = sum.fused(there ? values::to_double(type, a.data(), row * shape.columns + k) : 0.0,
                              there ? values::to_double(type, x.data(), k) : 0.0, lanes[lane]);
    }
  }
  if (type != accumulate) {  // the sums take two operands, which are added first
    for (std::uint64_t i = 0; i < shape.lanes / 2; ++i)
      lanes[i] = sum.added(lanes[i], lanes[i + shape.lanes / 2]);
    lanes.resize(shape.lanes / 2);
  }
  return tree(sum, std::move(lanes));
}

inline double integer_row(const KernelRun& run, const Shape& shape, std::uint64_t row) {
  const Bytes& a = run.inputs.at("A");
  const Bytes& x = run.inputs.at("x");
  std::int32_t sum = 0;
  for (std::uint64_t k = 0; k < shape.columns; ++k)
    sum += std::to_integer<std::int8_t>(a[row * shape.columns + k]) * std::to_integer<std::int8_t>(x[k]);
  const auto element = [&](const char* name, std::uint64_t index) {
    float value = 0;
    std::memcpy(&value, run.inputs.at(name).data() + index * sizeof value, sizeof value);
    return value;
  };
  float value = static_cast<float>(sum) * element("scale", row);
  if (run.inputs.contains("out_scale")) value *= element("out_scale", 0);
  return static_cast<double>(value);
}

// The bytes of y.
inline Bytes model(const KernelRun& run, const Variant& variant, unsigned operation_bits) {
  const isa::Tensor& a = tensor(run.header, "A");
  const isa::Tensor& y = tensor(run.header, "y");
  const Shape shape{static_cast<std::uint64_t>(a.shape[0]), static_cast<std::uint64_t>(a.shape[1]),
                    operation_bits / isa::bits(a.type)};
  Bytes bytes(y.elements() * isa::bits(y.type) / 8);
  for (std::uint64_t row = 0; row < shape.rows; ++row) {
    const double value =
        isa::info(a.type).floating ? float_row(run, variant, shape, row) : integer_row(run, shape, row);
    values::from_double(y.type, value, bytes.data(), row, isa::Round::nearest_even, false);
  }
  return bytes;
}

// The first row in which the bits differ, for messages.
inline std::string difference(const KernelRun& run, const Bytes& want) {
  if (run.y == want) return {};
  const isa::DType type = tensor(run.header, "y").type;
  const std::size_t size = isa::bits(type) / 8;
  for (std::size_t i = 0; i < want.size() / size; ++i)
    if (std::memcmp(&run.y[i * size], &want[i * size], size) != 0)
      return "row " + std::to_string(i) + ": got " +
             std::to_string(values::to_double(type, run.y.data(), i)) + ", the stated order gives " +
             std::to_string(values::to_double(type, want.data(), i));
  return "sizes differ";
}

}  // namespace npulab::kernels::test
