// SPDX-License-Identifier: Apache-2.0
// The kernels of norm_act and how their tests run them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sim/values/convert.hpp"
#include "tests/kernels/support.hpp"

namespace npulab::kernels::test {

// A kernel family with one type of elements.
struct RowKernel {
  std::string family;  // "softmax"
  isa::DType type;

  std::string name() const {
    const std::string ending = type == isa::DType::f16 ? "" : "_" + std::string(isa::name(type));
    return "norm_act/" + family + ending;
  }
  bool rope() const { return family == "rope"; }
  bool row_results() const { return family == "logsumexp"; }
  // x as the kernel names it.
  std::string x() const { return family == "swiglu" ? "gate" : "x"; }
};

inline void PrintTo(const RowKernel& kernel, std::ostream* out) {
  *out << kernel.name();
}

inline std::vector<RowKernel> row_kernels() {
  std::vector<RowKernel> all;
  for (const char* family : {"softmax", "softmax_mask", "softmax_additive", "log_softmax", "logsumexp",
                             "layernorm", "layernorm_gelu", "rmsnorm", "gelu", "silu", "swiglu", "rope"})
    for (const isa::DType type : {isa::DType::f16, isa::DType::f32, isa::DType::bf16})
      all.push_back({family, type});
  return all;
}

struct RowShape {
  std::int64_t rows;
  std::int64_t columns;     // of rope: pairs of a head
  std::int64_t beyond = 0;  // elements from the end of a row to the next
};

constexpr std::int64_t kHeads = 3;

// Launch::params for this shape, over those that are set already.
inline void set_shape(const RowKernel& kernel, const RowShape& shape, Launch& launch) {
  launch.kernel = kernel.name();
  isa::ParamValues& params = launch.params;
  params["M"] = shape.rows;
  std::int64_t columns = shape.columns;
  if (kernel.rope()) {
    params["D"] = std::max<std::int64_t>(2, 2 * shape.columns);
    params["H"] = shape.columns == 0 ? 0 : kHeads;
    columns = params["D"] * params["H"];
    params["ldt"] = params["D"] / 2 + shape.beyond;
  } else {
    params["N"] = columns;
  }
  if (kernel.family == "swiglu") {
    params["ldg"] = columns + shape.beyond;
    params["ldu"] = columns + 2 * shape.beyond;
  } else {
    params["ldx"] = columns + shape.beyond;
  }
  if (!kernel.row_results()) params["ldy"] = columns + 3 * shape.beyond;
  if (kernel.family == "softmax_mask" || kernel.family == "softmax_additive")
    params["ldm"] = columns + shape.beyond;
  if (shape.beyond > 0 && !launch.padding) launch.padding = std::byte{0xff};  // NaN in every type
}

// Runs and holds against the reference and the checks of the simulator.
inline KernelRun verified(const RowKernel& kernel, Launch launch, const RowShape& shape) {
  set_shape(kernel, shape, launch);
  std::string trace = launch.kernel + " on " + launch.machine + " cores=" + std::to_string(launch.cores);
  for (const auto& [name, value] : launch.params) trace += " " + name + "=" + std::to_string(value);
  SCOPED_TRACE(trace);
  // Masks with every third element left out.
  if (kernel.family == "softmax_mask" && !launch.inputs.contains("mask")) {
    Bytes mask(static_cast<std::size_t>(shape.rows * shape.columns));
    for (std::size_t i = 0; i < mask.size(); ++i)
      mask[i] = static_cast<std::byte>(i % 3 == 1 ? 0 : i % 251 + 1);
    launch.inputs["mask"] = mask;
  }
  KernelRun result = run(launch);
  EXPECT_TRUE(result.check.passed) << worst_of(result.check);
  EXPECT_EQ(result.unwritten, 0U);
  EXPECT_EQ(first_diagnostic(result), "");
  return result;
}

inline Bytes encoded(isa::DType type, const std::vector<double>& elements) {
  Bytes bytes(elements.size() * isa::bits(type) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    values::from_double(type, elements[i], bytes.data(), i, isa::Round::nearest_even, false);
  return bytes;
}

inline double element(const KernelRun& run, std::uint64_t index) {
  return values::to_double(tensor(run.header, "y").type, run.y.data(), index);
}

}  // namespace npulab::kernels::test
