// SPDX-License-Identifier: Apache-2.0
#include "isa/program.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "isa/error.hpp"

namespace npulab::isa {

namespace {

constexpr std::array<std::string_view, 3> kDirectionNames{"in", "out", "inout"};

std::uint64_t product(const Tensor& tensor, std::uint64_t last, std::uint64_t unit) {
  std::uint64_t result = unit;
  bool overflow = false;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::uint64_t factor =
        i + 1 == tensor.shape.size() ? last : static_cast<std::uint64_t>(tensor.shape[i]);
    if (factor == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(result, factor, &result);
  }
  if (overflow || result > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error(Category::input, "value-range",
                fmt::format("tensor '{}' is larger than 2^63 elements or bits", tensor.name));
  return result;
}

}  // namespace

std::string_view name(Direction direction) {
  return kDirectionNames[static_cast<std::size_t>(direction)];
}

std::optional<Direction> direction_named(std::string_view text) {
  for (std::size_t i = 0; i < kDirectionNames.size(); ++i)
    if (kDirectionNames[i] == text) return static_cast<Direction>(i);
  return std::nullopt;
}

std::uint64_t Tensor::elements() const {
  return product(*this, shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back()), 1);
}

std::uint64_t Tensor::bytes() const {
  if (elements() == 0) return 0;
  return (product(*this, static_cast<std::uint64_t>(pitch), bits(type)) + 7) / 8;
}

}  // namespace npulab::isa
