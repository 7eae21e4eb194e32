// SPDX-License-Identifier: Apache-2.0
// The reference of C = A B with A packed: that of the dense product.
#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "isa/error.hpp"
#include "kernels/reference_case.hpp"
#include "sim/values/matrix_sparse.hpp"

namespace npulab::kernels {

namespace {

constexpr const char* kDense = "A (unpacked)";

struct Packed {
  TensorData values;
  TensorData places;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

void check_columns(const ReferenceArguments& arguments, const char* name, const TensorData& tensor,
                   std::uint64_t rows, std::uint64_t columns) {
  const auto& shape = tensor.tensor->shape;
  if (static_cast<std::uint64_t>(shape[0]) != rows || static_cast<std::uint64_t>(shape[1]) != columns)
    arguments.refuse(name,
                     fmt::format("it is {} x {}, {} x {} are needed", shape[0], shape[1], rows, columns));
}

std::vector<std::byte> two_of_four(const ReferenceArguments& arguments, const Packed& packed) {
  const values::MatrixForm form{packed.values.tensor->type, false, packed.rows, packed.columns, {}};
  const std::uint64_t kept = values::two_of_four_values(form).columns;
  check_columns(arguments, "values", packed.values, packed.rows, kept);
  const std::uint64_t row_bytes = packed.rows == 0 ? 0 : values::two_of_four_place_bytes(form) / packed.rows;
  if (packed.rows > 0) check_columns(arguments, "places", packed.places, packed.rows, row_bytes);
  std::vector<std::byte> dense(values::matrix_bytes(form));
  if (!dense.empty())
    values::unpack_2_4(packed.values.elements.data(), packed.places.elements.data(), {dense.data(), form});
  return dense;
}

std::vector<std::byte> slots(const ReferenceArguments& arguments, const Packed& packed, std::uint64_t group) {
  const std::uint64_t groups = (packed.columns + group - 1) / group;
  const auto slots_of_row = static_cast<std::uint64_t>(packed.values.tensor->shape[1]);
  if (groups > 0 && slots_of_row % groups != 0)
    arguments.refuse("values",
                     fmt::format("its rows of {} slots do not fall into {} groups", slots_of_row, groups));
  check_columns(arguments, "places", packed.places, packed.rows, slots_of_row);
  const isa::DType type = packed.values.tensor->type;
  const std::uint64_t row = packed.columns * isa::bits(type) / 8,
                      padded = groups * group * isa::bits(type) / 8;
  std::vector<std::byte> dense(packed.rows * row), whole(packed.rows * padded);
  if (dense.empty()) return dense;
  const values::MatrixForm form{type, false, packed.rows * groups, group, {}};
  values::unpack_sparse(packed.values.elements.data(), packed.places.elements.data(), isa::DType::i32,
                        slots_of_row / groups, {whole.data(), form});
  for (std::uint64_t i = 0; i < packed.rows; ++i)
    std::memcpy(dense.data() + i * row, whole.data() + i * padded, row);
  return dense;
}

}  // namespace

std::vector<ExpectedTensor> sparse_gemm_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const isa::Tensor& c = arguments.output("C", 2);
  const TensorData b = arguments.input("B", 2);
  const bool trans_b = arguments.number("trans_b") != 0;
  const std::int64_t group = arguments.number("group");
  if (group < 0) arguments.refuse("group", fmt::format("{}: it is 0 (two of four) or more", group));
  const Packed packed{arguments.input("values", 2), arguments.input("places", 2),
                      static_cast<std::uint64_t>(c.shape[0]),
                      static_cast<std::uint64_t>(b.tensor->shape[trans_b ? 1 : 0])};
  if (isa::bits(packed.values.tensor->type) % 8 != 0)
    arguments.refuse("values", "its elements fill whole bytes");
  const std::vector<std::byte> dense = group == 0
                                           ? two_of_four(arguments, packed)
                                           : slots(arguments, packed, static_cast<std::uint64_t>(group));
  isa::KernelHeader header = reference.header;
  isa::Tensor a = *packed.values.tensor;
  a.name = kDense;
  a.shape = {c.shape[0], static_cast<std::int64_t>(packed.columns)};
  a.pitch = a.shape[1];
  header.tensors.push_back(a);
  auto& given = header.reference.arguments;
  given["A"] = kDense;
  given["trans_a"] = "0";
  given["operands"] = std::string(isa::name(a.type));
  Inputs inputs = reference.inputs;
  inputs[kDense] = dense;
  return gemm_reference({header, reference.machine, inputs});
}

}  // namespace npulab::kernels
