// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference.hpp"

#include <fmt/core.h>

#include <charconv>
#include <system_error>

#include "isa/error.hpp"
#include "kernels/reference_case.hpp"
#include "sim/values/convert.hpp"

namespace npulab::kernels {

namespace {

constexpr ReferenceOperation kOperations[] = {
    {"gemv", "A=TENSOR, x=TENSOR, y=TENSOR, accumulate=TYPE [, scale=TENSOR [, out_scale=TENSOR]]",
     "y = A x with sums in TYPE: f32, f16, bf16, or i32 for integers. Floating: within the bound of a chain "
     "of fused steps "
     "for each lane of an operation and a pairwise sum of the lanes, infinity where a sum may overflow. i32: "
     "exact, then "
     "f32(sum) * scale[row] * out_scale[0], each rounded to f32, then rounded to the type of y",
     &gemv_reference},
    {"gemm",
     "A=TENSOR, B=TENSOR, C=TENSOR, trans_a=(0 | 1), trans_b=(0 | 1), operands=TYPE [, alpha_e6=(INTEGER)] "
     "[, beta_e6=(INTEGER)] [, parts=(NUMBER)]",
     "C = alpha A B + beta C of matrices, of batches of them or (B, C) of a column; B rounded to the type of "
     "the "
     "operands, alpha and beta in millionths, beta = 0 unless given. Floating: within the bound of fused "
     "steps "
     "in "
     "f32 in any order and of sums of `parts` of them, then each operation rounded once. Integers: exact, "
     "wrapping at 32 bits",
     &gemm_reference},
    {"sparse_gemm", "values=TENSOR, places=TENSOR, B=TENSOR, C=TENSOR, group=(NUMBER), trans_b=(0 | 1)",
     "gemm with A packed: with group = 0 two of every four along a row, else the same number of slots for "
     "each `group` columns of a row, places counted from the first of them",
     &sparse_gemm_reference},
    {"transpose", "x=TENSOR, y=TENSOR", "y[n, m] = x[m, n], bit for bit; x and y may be one tensor",
     &transpose_reference},
    {"nd_to_nz", "x=TENSOR, y=TENSOR",
     "x [M, N] in fractals of 16 rows of 32 bytes, y [fractal columns, fractal rows, 16, elements in 32 "
     "bytes], "
     "zeros "
     "beyond x; bit for bit",
     &nd_to_nz_reference},
    {"nz_to_nd", "x=TENSOR, y=TENSOR", "the inverse of nd_to_nz; bit for bit", &nz_to_nd_reference},
    {"pad", "x=TENSOR, y=TENSOR, rows=NUMBER, columns=NUMBER, padded_columns=NUMBER",
     "rows of `columns` elements, which stand at the start of x without gaps, in rows of `padded_columns`, "
     "zeros "
     "elsewhere in y; bit for bit; x and y may be one tensor",
     &pad_reference},
    {"gather", "table=TENSOR, index=TENSOR, y=TENSOR [, scale=TENSOR]",
     "y[t] = table[index[t]], bit for bit; with `scale` f32(table[index[t]]) * scale[index[t]], rounded to "
     "f32, "
     "then "
     "to the type of y",
     &gather_reference},
    {"softmax", "x=TENSOR, y=TENSOR [, keep=TENSOR | add=TENSOR]",
     "y = e^(z - largest) / their sum along each row, z = x; -Inf where keep is 0; x + add. With keep or add "
     "a "
     "row of nothing but -Inf is 0. Within the running error of the steps in f32, each rounded once",
     &softmax_reference},
    {"log_softmax", "x=TENSOR, y=TENSOR",
     "y = (x - largest) - log(sum of e^(x - largest)) along each row, within the running error in f32",
     &log_softmax_reference},
    {"logsumexp", "x=TENSOR, y=TENSOR",
     "y[row] = largest + log(sum of e^(x - largest)), within the running error in f32", &logsumexp_reference},
    {"layernorm", "x=TENSOR, gamma=TENSOR, beta=TENSOR, y=TENSOR, eps_e12=(INTEGER)",
     "y = (x - mean) / sqrt(variance + eps_e12 * 1e-12) * gamma + beta along each row, within the running "
     "error in f32",
     &layernorm_reference},
    {"layernorm_gelu", "x=TENSOR, gamma=TENSOR, beta=TENSOR, y=TENSOR, eps_e12=(INTEGER), tanh=(0 | 1)",
     "y = gelu of layernorm, rounded to the type of y once, within the running error in f32",
     &layernorm_gelu_reference},
    {"rmsnorm", "x=TENSOR, gamma=TENSOR, y=TENSOR, eps_e12=(INTEGER)",
     "y = x / sqrt(mean of x^2 + eps_e12 * 1e-12) * gamma along each row, within the running error in f32",
     &rmsnorm_reference},
    {"gelu", "x=TENSOR, y=TENSOR, tanh=(0 | 1)",
     "y = x / 2 * (1 + erf(x / sqrt(2))), or by tanh, within the running error in f32", &gelu_reference},
    {"silu", "x=TENSOR, y=TENSOR [, times=TENSOR]",
     "y = x / (1 + e^-x) * times, within the running error in f32", &silu_reference},
    {"rope", "x=TENSOR, cos=TENSOR, sin=TENSOR, y=TENSOR, interleaved=(0 | 1)",
     "pairs (a, b) of each head become (a cos - b sin, a sin + b cos), within the running error in f32",
     &rope_reference},
    {"rescale", "x=TENSOR, scale=TENSOR, y=TENSOR, group=NUMBER [, reciprocal=(1)] [, lowest=NUMBER]",
     "y = f32(x) * scale, rounded to f32, then to the type of y (integers to nearest even and clamped, NaN "
     "to "
     "0, "
     "not below `lowest`); a scale for each `group` columns, for all rows or each; with `reciprocal` times 1 "
     "/ "
     "scale, "
     "rounded to f32, 0 where the scale is 0",
     &rescale_reference},
    {"absmax", "x=TENSOR, scale=TENSOR, group=NUMBER, steps=NUMBER",
     "scale = largest magnitude / steps, rounded to f32, of each `group` columns in all rows or each; NaN if "
     "one is NaN",
     &absmax_reference},
    {"percentile", "x=TENSOR, scale=TENSOR, ppm=NUMBER, steps=NUMBER",
     "scale = the magnitude at place ceil(elements * ppm / 1000000) in ascending order / steps, rounded to "
     "f32; "
     "NaN "
     "is above infinity; 0 of nothing",
     &percentile_reference},
    {"grouped_gemv", "W=TENSOR, scale=TENSOR, x=TENSOR, y=TENSOR, group=NUMBER",
     "y = (scale * W) x with a scale for each `group` columns of a row, sums in f32: within the bound of a "
     "chain for "
     "each lane in a group, a chain over the groups and a pairwise sum of the lanes",
     &grouped_gemv_reference},
    {"dynamic_gemv", "W=TENSOR, scale=TENSOR, x=TENSOR, y=TENSOR",
     "y = f32(W q) * scale[row] * step, each rounded to f32, where step = largest magnitude of x / 127 and q "
     "is x * "
     "(1 / step) to the nearest i8; exact",
     &dynamic_gemv_reference},
    {"scaled_gemm", "A=TENSOR, W=TENSOR, scale=TENSOR, step=TENSOR, C=TENSOR",
     "C = f32(A W^T) * (scale[column] * step[0]) of integers, each rounded to f32, then to the type of C; "
     "exact",
     &scaled_gemm_reference},
    {"grouped_gemm", "A=TENSOR, W=TENSOR, scale=TENSOR, C=TENSOR, group=NUMBER",
     "C = A (W * scale)^T with a scale for each `group` columns of a row of W; W * scale rounded to the type "
     "of A, sums within the bound of a chain in f32",
     &grouped_gemm_reference},
    {"linear", "x=TENSOR, W=TENSOR, bias=TENSOR, y=TENSOR, trans_w=(0 | 1)",
     "y = x W^T + bias, sums from bias up within the bound of a chain in f32", &linear_reference},
    {"layernorm_gelu_linear",
     "x=TENSOR, gamma=TENSOR, beta=TENSOR, W=TENSOR, bias=TENSOR, y=TENSOR, eps_e12=(INTEGER), tanh=(0 | 1), "
     "trans_w=(0 | 1)",
     "linear of layernorm_gelu, which is rounded to the type of x", &layernorm_gelu_linear_reference},
    {"attention", "Q=TENSOR, K=TENSOR, V=TENSOR, O=TENSOR, block=NUMBER [, causal=(0 | 1)] [, keys=NUMBER]",
     "O = softmax(Q K^T / sqrt(d)) V for each head [heads, queries, d], with the first `keys` of K and V; "
     "causal: query i "
     "sees the keys up to i + keys - queries. Zeros where nothing but -Inf is seen. Within the running error "
     "of blocks of "
     "at most `block` keys under a running maximum, P in f16, sums in f32",
     &attention_reference},
    {"attention_scores", "Q=TENSOR, K=TENSOR, P=TENSOR [, q_scale=TENSOR, k_scale=TENSOR]",
     "P = Q K^T / sqrt(d) for each head, within the bound of chains in f32; of i8 exact: f32(sum) * "
     "(k_scale[key] * "
     "(q_scale[head] * (1 / sqrt(d)))), each rounded to f32, then to the type of P",
     &attention_scores_reference},
    {"attention_values", "P=TENSOR, V=TENSOR, O=TENSOR",
     "O = P V for each head, within the bound of chains in f32", &attention_values_reference},
};

const ReferenceOperation& operation(const isa::KernelHeader& header) {
  const std::string& name = header.reference.operation;
  if (name.empty())
    throw Error(Category::input, "no-reference",
                fmt::format("kernel '{}' names no reference, so its results cannot be checked", header.name));
  std::vector<std::string> known;
  for (const ReferenceOperation& row : kOperations) {
    if (row.name == name) return row;
    known.emplace_back(row.name);
  }
  throw Error(Category::input, "unknown-reference",
              fmt::format("kernel '{}' names the reference '{}', which is not known{}", header.name, name,
                          suggestion(name, known)));
}

}  // namespace

std::span<const ReferenceOperation> reference_operations() {
  return kOperations;
}

std::vector<ExpectedTensor> expected_outputs(const isa::KernelHeader& header, const config::Machine& machine,
                                             const Inputs& inputs) {
  return operation(header).evaluate({header, machine, inputs});
}

double stored(isa::DType type, float value, bool saturate) {
  const auto wide = static_cast<double>(value);
  if (!isa::info(type).floating) return values::encode_integer(type, wide);
  return values::decode_float(type, values::encode_float(type, wide, isa::Round::nearest_even, saturate));
}

double TensorData::at(std::uint64_t index) const {
  return values::to_double(tensor->type, elements.data(), index);
}

void ReferenceArguments::refuse(const std::string& argument, const std::string& rule) const {
  throw Error(Category::input, "reference-argument",
              fmt::format("reference {} of kernel '{}': argument '{}': {}",
                          reference_.header.reference.operation, reference_.header.name, argument, rule));
}

const isa::Tensor& ReferenceArguments::tensor(const std::string& argument) const {
  const auto& given = reference_.header.reference.arguments;
  const auto name = given.find(argument);
  if (name == given.end()) refuse(argument, "it is missing");
  std::vector<std::string> names;
  for (const isa::Tensor& tensor : reference_.header.tensors) {
    names.push_back(tensor.name);
    if (tensor.name == name->second) return tensor;
  }
  refuse(argument, fmt::format("there is no tensor '{}'{}", name->second, suggestion(name->second, names)));
}

const isa::Tensor& ReferenceArguments::tensor(const std::string& argument, std::size_t dimensions) const {
  const isa::Tensor& found = tensor(argument);
  if (found.shape.size() != dimensions)
    refuse(argument, fmt::format("tensor '{}' has {} dimensions, {} are needed", found.name,
                                 found.shape.size(), dimensions));
  return found;
}

std::size_t ReferenceArguments::dimensions(const std::string& argument, std::size_t most) const {
  const isa::Tensor& found = tensor(argument);
  if (found.shape.empty() || found.shape.size() > most)
    refuse(argument, fmt::format("tensor '{}' has {} dimensions, 1 to {} are needed", found.name,
                                 found.shape.size(), most));
  return found.shape.size();
}

TensorData ReferenceArguments::input(const std::string& argument, std::size_t dimensions) const {
  const isa::Tensor& found = tensor(argument, dimensions);
  const auto data = reference_.inputs.find(found.name);
  if (data == reference_.inputs.end())
    throw Error(Category::input, "missing-tensor", fmt::format("the input '{}' is not given", found.name));
  const std::uint64_t bytes = (found.elements() * isa::bits(found.type) + 7) / 8;
  if (data->second.size() != bytes)
    throw Error(Category::input, "wrong-size",
                fmt::format("tensor '{}' has {} bytes, {} given", found.name, bytes, data->second.size()));
  return {&found, data->second};
}

std::optional<TensorData> ReferenceArguments::optional_input(const std::string& argument,
                                                             std::size_t dimensions) const {
  if (!has(argument)) return std::nullopt;
  return input(argument, dimensions);
}

const isa::Tensor& ReferenceArguments::output(const std::string& argument, std::size_t dimensions) const {
  const isa::Tensor& found = tensor(argument, dimensions);
  if (found.direction == isa::Direction::in)
    refuse(argument, fmt::format("tensor '{}' is no output", found.name));
  return found;
}

bool ReferenceArguments::has(const std::string& argument) const {
  return reference_.header.reference.arguments.contains(argument);
}

std::int64_t ReferenceArguments::number(const std::string& argument) const {
  const auto& given = reference_.header.reference.arguments;
  const auto text = given.find(argument);
  if (text == given.end()) refuse(argument, "it is missing");
  std::int64_t value = 0;
  const char* end = text->second.data() + text->second.size();
  const auto [stopped, error] = std::from_chars(text->second.data(), end, value);
  if (error != std::errc{} || stopped != end)
    refuse(argument, fmt::format("'{}' is no number; an expression stands in parentheses", text->second));
  return value;
}

isa::DType ReferenceArguments::type(const std::string& argument) const {
  const auto& given = reference_.header.reference.arguments;
  const auto text = given.find(argument);
  if (text == given.end()) refuse(argument, "it is missing");
  const auto type = isa::dtype_named(text->second);
  if (!type) refuse(argument, fmt::format("'{}' is no element type", text->second));
  return *type;
}

}  // namespace npulab::kernels
