// SPDX-License-Identifier: Apache-2.0
// The generic walk over the field tables: what loader, echo, schema and reference page are made of.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sim/config/machine.hpp"

namespace npulab::config {

// A struct with a table of its keys.
template <class T>
concept Section = requires {
  T::fields();
};

template <class T>
struct ListOf : std::false_type {};
template <class T>
struct ListOf<std::vector<T>> : std::true_type {
  using Item = T;
};
template <class T>
concept List = ListOf<T>::value;

template <class T>
struct NamedOf : std::false_type {};
template <class T>
struct NamedOf<std::map<std::string, T>> : std::true_type {
  using Item = T;
};
// Sections by name: buffers, engines, core types.
template <class T>
concept Named = NamedOf<T>::value;

template <class T>
concept Choice = std::is_enum_v<T>;

template <class T>
concept Integer = std::unsigned_integral<T> && !std::is_same_v<T, bool>;

// A section that a machine may leave out.
template <class T>
concept MayBeAbsent = Section<T> && requires(T section) {
  section.present;
};

template <Section S, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, S::fields());
}

// The key of a member, so that messages never spell one themselves.
template <Section S, class M>
constexpr std::string_view key_of(M S::*member) {
  std::string_view key;
  for_each_field<S>([&](const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field.member)>, M S::*>) {
      if (field.member == member) key = field.key;
    }
  });
  return key;
}

// Keys of a section in the order of its table.
template <Section S>
std::vector<std::string> keys_in() {
  std::vector<std::string> keys;
  for_each_field<S>([&](const auto& field) { keys.emplace_back(field.key); });
  return keys;
}

inline std::string join_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

}  // namespace npulab::config
