// SPDX-License-Identifier: Apache-2.0
// Access to the arguments of a reference operation, with refusals that name them.
#pragma once

#include <optional>
#include <string>

#include "kernels/reference.hpp"

namespace npulab::kernels {

struct TensorData {
  const isa::Tensor* tensor = nullptr;
  std::span<const std::byte> elements;

  double at(std::uint64_t index) const;  // exact; a NaN is a NaN
};

// A float as an element of `type` holds it: rounded to nearest even, integers clamped, NaN to 0 for them.
double stored(isa::DType type, float value, bool saturate);

class ReferenceArguments {
 public:
  explicit ReferenceArguments(const ReferenceCase& reference) : reference_(reference) {}

  // Errors: input "reference-argument", "missing-tensor", "wrong-size".
  TensorData input(const std::string& argument, std::size_t dimensions) const;
  std::optional<TensorData> optional_input(const std::string& argument, std::size_t dimensions) const;
  const isa::Tensor& output(const std::string& argument, std::size_t dimensions) const;
  isa::DType type(const std::string& argument) const;
  std::size_t dimensions(const std::string& argument, std::size_t most) const;  // of a tensor, at least 1
  std::int64_t number(const std::string& argument) const;
  bool has(const std::string& argument) const;
  [[noreturn]] void refuse(const std::string& argument, const std::string& rule) const;

 private:
  const isa::Tensor& tensor(const std::string& argument) const;
  const isa::Tensor& tensor(const std::string& argument, std::size_t dimensions) const;

  const ReferenceCase& reference_;
};

// y = A x; with `scale` and i32 sums y = scale * (A x), with `out_scale` as well y = out_scale * scale * (A
// x).
std::vector<ExpectedTensor> gemv_reference(const ReferenceCase& reference);

// C = alpha A B + beta C.
std::vector<ExpectedTensor> gemm_reference(const ReferenceCase& reference);
// With A packed.
std::vector<ExpectedTensor> sparse_gemm_reference(const ReferenceCase& reference);

// Data that is moved and never looked at.
std::vector<ExpectedTensor> transpose_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> nd_to_nz_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> nz_to_nd_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> pad_reference(const ReferenceCase& reference);

// Rows of a table by index, times their scales where there are any.
std::vector<ExpectedTensor> gather_reference(const ReferenceCase& reference);

// norm_act_reference.cpp
std::vector<ExpectedTensor> softmax_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> log_softmax_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> logsumexp_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> layernorm_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> layernorm_gelu_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> rmsnorm_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> gelu_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> silu_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> rope_reference(const ReferenceCase& reference);

// Quantisation: elements times scales, and scales from elements.
std::vector<ExpectedTensor> rescale_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> absmax_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> percentile_reference(const ReferenceCase& reference);

// y = W x with integer weights.
std::vector<ExpectedTensor> grouped_gemv_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> dynamic_gemv_reference(const ReferenceCase& reference);

// C = A W^T with integer weights.
std::vector<ExpectedTensor> scaled_gemm_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> grouped_gemm_reference(const ReferenceCase& reference);

// linear_reference.cpp
std::vector<ExpectedTensor> linear_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> layernorm_gelu_linear_reference(const ReferenceCase& reference);

// attention_reference.cpp
std::vector<ExpectedTensor> attention_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> attention_scores_reference(const ReferenceCase& reference);
std::vector<ExpectedTensor> attention_values_reference(const ReferenceCase& reference);

}  // namespace npulab::kernels
