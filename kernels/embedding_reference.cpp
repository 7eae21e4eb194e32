// SPDX-License-Identifier: Apache-2.0
// The reference of rows of a table by index: the same bits, or integers times the scale of their row.
#include <fmt/core.h>

#include <cstring>

#include "kernels/reference_case.hpp"
#include "sim/values/convert.hpp"

namespace npulab::kernels {

namespace {

// The rows that the tokens name. Errors: "reference-argument" for an index beyond the table.
std::vector<std::uint64_t> rows_of(const ReferenceArguments& arguments, const TensorData& index,
                                   std::uint64_t rows) {
  std::vector<std::uint64_t> result(index.tensor->elements());
  for (std::uint64_t t = 0; t < result.size(); ++t) {
    const double row = index.at(t);
    if (row < 0 || row >= static_cast<double>(rows))
      arguments.refuse("index", fmt::format("element {} is {}; the table has rows 0…{}", t, row,
                                            static_cast<std::int64_t>(rows) - 1));
    result[t] = static_cast<std::uint64_t>(row);
  }
  return result;
}

}  // namespace

std::vector<ExpectedTensor> gather_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const TensorData table = arguments.input("table", 2);
  const TensorData index = arguments.input("index", 1);
  const std::optional<TensorData> scale = arguments.optional_input("scale", 1);
  const isa::Tensor& y = arguments.output("y", 2);
  const auto table_rows = static_cast<std::uint64_t>(table.tensor->shape[0]);
  const auto width = static_cast<std::uint64_t>(y.shape[1]);
  if (table.tensor->shape[1] != y.shape[1])
    arguments.refuse("y", fmt::format("the table has {} columns, y has {}", table.tensor->shape[1], width));
  if (index.tensor->shape[0] != y.shape[0])
    arguments.refuse("y",
                     fmt::format("there are {} indices, y has {} rows", index.tensor->shape[0], y.shape[0]));
  if (scale && scale->tensor->shape[0] != table.tensor->shape[0])
    arguments.refuse("scale",
                     fmt::format("the table has {} rows, {} are given", table_rows, scale->tensor->shape[0]));
  if (!scale && (table.tensor->type != y.type || isa::bits(y.type) % 8 != 0))
    arguments.refuse("y", fmt::format("without a scale y has the type of the table, {}, in whole bytes",
                                      isa::name(table.tensor->type)));
  const std::vector<std::uint64_t> rows = rows_of(arguments, index, table_rows);
  const bool saturate = reference.machine.numerics.overflow == config::Overflow::saturate;
  ExpectedTensor expected{y.name, {}, {}};
  const std::size_t row_bytes = width * isa::bits(y.type) / 8;
  if (!scale) expected.bits.resize(rows.size() * row_bytes);
  for (std::uint64_t t = 0; t < rows.size(); ++t) {
    if (!scale) {
      if (row_bytes > 0)
        std::memcpy(&expected.bits[t * row_bytes], &table.elements[rows[t] * row_bytes], row_bytes);
      continue;
    }
    const auto worth = static_cast<float>(scale->at(rows[t]));
    for (std::uint64_t d = 0; d < width; ++d) {
      const float product = static_cast<float>(table.at(rows[t] * width + d)) * worth;
      expected.elements.push_back({stored(y.type, product, saturate), 0, false});
    }
  }
  return {std::move(expected)};
}

}  // namespace npulab::kernels
