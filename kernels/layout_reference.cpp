// SPDX-License-Identifier: Apache-2.0
// References of what moves data without looking at it: each is a rule that gives the source of an element.
#include <fmt/core.h>

#include <cstring>
#include <optional>

#include "kernels/reference_case.hpp"

namespace npulab::kernels {

namespace {

using Source = std::optional<std::uint64_t>;  // an element of x, or zero bits

struct Sides {
  TensorData x;
  const isa::Tensor* y;
  std::size_t element_bytes;
};

Sides sides(const ReferenceArguments& arguments, std::size_t x_dimensions, std::size_t y_dimensions) {
  const TensorData x = arguments.input("x", x_dimensions);
  const isa::Tensor& y = arguments.output("y", y_dimensions);
  if (y.type != x.tensor->type)
    arguments.refuse(
        "y", fmt::format("x has elements of {}, y of {}", isa::name(x.tensor->type), isa::name(y.type)));
  if (isa::bits(y.type) % 8 != 0)
    arguments.refuse("x", fmt::format("elements of {} fill no whole byte", isa::name(y.type)));
  return {x, &y, isa::bits(y.type) / 8};
}

template <class SourceOf>
std::vector<ExpectedTensor> moved(const Sides& sides, SourceOf source_of) {
  ExpectedTensor expected{sides.y->name, {}, {}};
  const std::size_t size = sides.element_bytes;
  expected.bits.resize(sides.y->elements() * size);
  for (std::uint64_t i = 0; i < sides.y->elements(); ++i) {
    const Source source = source_of(i);
    if (source) std::memcpy(&expected.bits[i * size], &sides.x.elements[*source * size], size);
  }
  return {std::move(expected)};
}

std::uint64_t dimension(const isa::Tensor& tensor, std::size_t index) {
  return static_cast<std::uint64_t>(tensor.shape[index]);
}

constexpr std::uint64_t kFractalRows = 16;
constexpr std::uint64_t kFractalBytes = 32;

// Where fractals hold a matrix: refuses shapes that do not belong together.
class Fractals {
 public:
  Fractals(const ReferenceArguments& arguments, const isa::Tensor& matrix, const isa::Tensor& folded)
      : rows_(dimension(matrix, 0)), columns_(dimension(matrix, 1)) {
    c0_ = kFractalBytes * 8 / isa::bits(matrix.type);
    rows_of_fractals_ = (rows_ + kFractalRows - 1) / kFractalRows;
    const std::uint64_t columns_of_fractals = (columns_ + c0_ - 1) / c0_;
    if (dimension(folded, 0) != columns_of_fractals || dimension(folded, 1) != rows_of_fractals_ ||
        dimension(folded, 2) != kFractalRows || dimension(folded, 3) != c0_)
      arguments.refuse("y", fmt::format("{} x {} elements are fractals of shape [{}, {}, {}, {}]", rows_,
                                        columns_, columns_of_fractals, rows_of_fractals_, kFractalRows, c0_));
  }
  // Element of the matrix at element `i` of the fractals.
  Source unfolded(std::uint64_t i) const {
    const std::uint64_t row = i / c0_ % (rows_of_fractals_ * kFractalRows);
    const std::uint64_t column = i / (c0_ * rows_of_fractals_ * kFractalRows) * c0_ + i % c0_;
    if (row >= rows_ || column >= columns_) return std::nullopt;
    return row * columns_ + column;
  }
  // And the other way round.
  std::uint64_t folded(std::uint64_t i) const {
    const std::uint64_t row = i / columns_;
    const std::uint64_t column = i % columns_;
    return (column / c0_ * rows_of_fractals_ * kFractalRows + row) * c0_ + column % c0_;
  }

 private:
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::uint64_t c0_;
  std::uint64_t rows_of_fractals_;
};

}  // namespace

std::vector<ExpectedTensor> transpose_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const Sides both = sides(arguments, 2, 2);
  const std::uint64_t rows = dimension(*both.x.tensor, 0);
  const std::uint64_t columns = dimension(*both.x.tensor, 1);
  if (dimension(*both.y, 0) != columns || dimension(*both.y, 1) != rows)
    arguments.refuse("y", fmt::format("the transpose of {} x {} is {} x {}", rows, columns, columns, rows));
  return moved(both, [&](std::uint64_t i) { return Source(i % rows * columns + i / rows); });
}

std::vector<ExpectedTensor> nd_to_nz_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const Sides both = sides(arguments, 2, 4);
  const Fractals fractals(arguments, *both.x.tensor, *both.y);
  return moved(both, [&](std::uint64_t i) { return fractals.unfolded(i); });
}

std::vector<ExpectedTensor> nz_to_nd_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const Sides both = sides(arguments, 4, 2);
  const Fractals fractals(arguments, *both.y, *both.x.tensor);
  return moved(both, [&](std::uint64_t i) { return Source(fractals.folded(i)); });
}

std::vector<ExpectedTensor> pad_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const std::string name = reference.header.reference.arguments.contains("x")
                               ? reference.header.reference.arguments.at("x")
                               : std::string();
  std::size_t dimensions = 0;  // the shape does not matter
  for (const isa::Tensor& tensor : reference.header.tensors)
    if (tensor.name == name) dimensions = tensor.shape.size();
  const Sides both = sides(arguments, dimensions, dimensions);
  const auto rows = static_cast<std::uint64_t>(arguments.number("rows"));
  const auto columns = static_cast<std::uint64_t>(arguments.number("columns"));
  const auto padded_columns = static_cast<std::uint64_t>(arguments.number("padded_columns"));
  if (rows * columns > both.x.tensor->elements())
    arguments.refuse("rows", fmt::format("x has {} elements, fewer than {} rows of {}",
                                         both.x.tensor->elements(), rows, columns));
  return moved(both, [&](std::uint64_t i) {
    const std::uint64_t row = i / padded_columns;
    const std::uint64_t column = i % padded_columns;
    return row < rows && column < columns ? Source(row * columns + column) : std::nullopt;
  });
}

}  // namespace npulab::kernels
