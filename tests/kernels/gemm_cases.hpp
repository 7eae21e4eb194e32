// SPDX-License-Identifier: Apache-2.0
// GEMM kernels on the cube with small tiles, so that small matrices have many of them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/values/convert.hpp"
#include "tests/kernels/tensors.hpp"

namespace npulab::kernels::test {

struct GemmKernel {
  std::string name;
  isa::DType operands;
  bool b_given_wide = false;  // B in gm is f32

  bool transposes() const { return isa::bits(operands) == 16; }
  bool has(const char* part) const { return name.find(part) != std::string::npos; }
};

inline std::vector<GemmKernel> gemm_kernels() {
  using isa::DType;
  std::vector<GemmKernel> kernels{{"gemm/naive", DType::f16},
                                  {"gemm/tiled", DType::f16},
                                  {"gemm/double_buffered_bf16_f32", DType::bf16},
                                  {"gemm/double_buffered_master", DType::bf16, true}};
  for (const char* form : {"double_buffered", "split_k", "batched", "accumulate", "alpha_beta"}) {
    const std::string name = std::string("gemm/") + form;
    kernels.insert(kernels.end(), {{name, DType::f16},
                                   {name + "_f16", DType::f16},
                                   {name + "_bf16", DType::bf16},
                                   {name + "_f32", DType::f32}});
    if (name != "gemm/alpha_beta") kernels.push_back({name + "_i8", DType::i8});
  }
  return kernels;
}

struct Shape {
  std::int64_t m, n, k;
};

inline constexpr std::int64_t kTileRows = 32;
inline constexpr std::int64_t kTileColumns = 48;
inline constexpr std::int64_t kPiece = 32;
inline constexpr std::int64_t kSlab = 64;

inline Launch small_tiles(const GemmKernel& kernel, Shape shape, bool trans_a = false, bool trans_b = false) {
  Launch launch;
  launch.kernel = kernel.name;
  launch.params = {{"M", shape.m},    {"N", shape.n},       {"K", shape.k},
                   {"tm", kTileRows}, {"tn", kTileColumns}, {"tk", kPiece},
                   {"slab", kSlab},   {"trans_a", trans_a}, {"trans_b", trans_b || !kernel.transposes()}};
  if (kernel.has("naive")) launch.params.erase("slab");
  if (kernel.has("batched")) launch.params["batch"] = 3;
  if (kernel.has("split_k")) launch.params["splits"] = 3;
  if (kernel.has("alpha_beta")) {
    launch.params["alpha_e6"] = 1500000;
    launch.params["beta_e6"] = -250000;
  }
  return launch;
}

// Rows that are this many elements longer than they need be.
inline void add_pitches(Launch& launch, std::int64_t beyond) {
  isa::ParamValues& p = launch.params;
  p["lda"] = (p["trans_a"] != 0 ? p["M"] : p["K"]) + beyond;
  p["ldb"] = (p["trans_b"] != 0 ? p["K"] : p["N"]) + beyond;
  p["ldc"] = p["N"] + beyond;
}

inline Bytes encoded(isa::DType type, const std::vector<double>& elements) {
  Bytes bytes(elements.size() * isa::bits(type) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    values::from_double(type, elements[i], bytes.data(), i, isa::Round::nearest_even, false);
  return bytes;
}

inline std::vector<double> decoded(const Outcome& outcome, const std::string& name) {
  const isa::Tensor& one = tensor(outcome.header, name);
  const Bytes& bytes = one.direction == isa::Direction::in ? outcome.inputs.at(name) : outcome[name];
  std::vector<double> result(one.elements());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = values::to_double(one.type, bytes.data(), i);
  return result;
}

}  // namespace npulab::kernels::test
