// SPDX-License-Identifier: Apache-2.0
#include "isa/program.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
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

void check_layout(const Tensor& tensor) {
  constexpr std::size_t kMostDimensions = 8;
  const auto fail = [](const std::string& message) { throw Error(Category::input, "value-range", message); };
  if (tensor.shape.empty() || tensor.shape.size() > kMostDimensions)
    fail(fmt::format("tensor '{}' has {} dimensions; the range is 1…{}", tensor.name, tensor.shape.size(),
                     kMostDimensions));
  for (const std::int64_t size : tensor.shape)
    if (size < 0) fail(fmt::format("dimension {} of tensor '{}' is below 0", size, tensor.name));
  if (tensor.pitch < tensor.shape.back())
    fail(fmt::format("pitch {} of tensor '{}' is below its last dimension, {} elements", tensor.pitch,
                     tensor.name, tensor.shape.back()));
  if (tensor.shape.size() > 1 && (tensor.pitch % 8) * bits(tensor.type) % 8 != 0)
    fail(fmt::format(
        "rows of tensor '{}' take {} × {} bits, which is no whole number of bytes; give it an even pitch",
        tensor.name, tensor.pitch, bits(tensor.type)));
  tensor.bytes();
}

bool is_kernel_name(std::string_view name) {
  constexpr std::string_view kExtra = "_-./";
  if (name.empty() || name.front() == '/' || name.back() == '/') return false;
  if (name.find("//") != std::string_view::npos || name.find("..") != std::string_view::npos) return false;
  for (const char c : name) {
    const bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!good && kExtra.find(c) == std::string_view::npos) return false;
  }
  return true;
}

SourcePlace place_of(const Program& program, std::size_t instruction) {
  return instruction < program.places.size() ? program.places[instruction] : SourcePlace{};
}

std::string line_text(const SourcePlace& place, std::span<const SourceFile> files, std::string_view here) {
  if (place.file >= files.size() || files[place.file].name == here) return fmt::format("line {}", place.line);
  return fmt::format("{}:{}", files[place.file].name, place.line);
}

Where Kernel::where(const Program& program, std::size_t instruction) const {
  const SourcePlace place = place_of(program, instruction);
  if (place.line == 0 || place.file >= files.size()) return {source_name};
  Where where{files[place.file].name, static_cast<int>(place.line)};
  if (place.outer != 0) where.from = line_text({0, place.outer}, files, where.file);
  return where;
}

std::string Kernel::short_name(std::size_t file) const {
  const std::filesystem::path path(files.at(file).name);
  const std::filesystem::path beside =
      path.lexically_relative(std::filesystem::path(files.front().name).parent_path());
  return beside.empty() ? path.generic_string() : beside.generic_string();
}

}  // namespace npulab::isa
