// SPDX-License-Identifier: Apache-2.0
#include "sim/config/names.hpp"

#include <algorithm>

namespace npulab::config {

namespace {

constexpr std::size_t kLongestName = 32;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::pair<std::string, std::string> split_once(const std::string& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos || text.find(separator, at + 1) != std::string::npos) return {};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

bool is_identifier(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && is_lower(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_register_name(std::string_view name) {
  return name.size() > 1 && (name[0] == 'v' || name[0] == 's') &&
         std::all_of(name.begin() + 1, name.end(), is_digit);
}

std::pair<isa::DType, isa::DType> matrix_types(std::string_view key) {
  const auto named = [](std::string_view name) { return isa::dtype_named(name).value_or(isa::DType::none); };
  // A number behind the types tells further tiles apart.
  const std::size_t last = key.rfind('_');
  if (last != std::string_view::npos && last + 1 < key.size() &&
      std::all_of(key.begin() + static_cast<std::ptrdiff_t>(last) + 1, key.end(), is_digit))
    key = key.substr(0, last);
  const std::size_t at = key.find('_');
  const isa::DType a = named(key.substr(0, at));
  const isa::DType b = at == std::string_view::npos ? a : named(key.substr(at + 1));
  return a == isa::DType::none || b == isa::DType::none ? std::pair(isa::DType::none, isa::DType::none)
                                                        : std::pair(a, b);
}

std::pair<std::string, std::string> split_pair(const std::string& text) {
  return split_once(text, '>');
}

std::pair<std::string, std::string> split_remote(const std::string& text) {
  return split_once(text, '.');
}

}  // namespace npulab::config
