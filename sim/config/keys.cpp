// SPDX-License-Identifier: Apache-2.0
#include "sim/config/keys.hpp"

#include <memory>
#include <utility>

#include "sim/config/echo.hpp"

namespace npulab::config {

namespace {

template <Section S>
std::vector<KeyInfo> keys_of();

// Kind, choices and nested keys of a member's type.
template <class T>
void fill(KeyInfo& info) {
  if constexpr (Integer<T>) {
    info.kind = KeyKind::integer;
  } else if constexpr (std::is_same_v<T, bool>) {
    info.kind = KeyKind::boolean;
  } else if constexpr (std::is_same_v<T, double>) {
    info.kind = KeyKind::number;
  } else if constexpr (std::is_same_v<T, std::string>) {
    info.kind = KeyKind::text;
  } else if constexpr (Choice<T>) {
    info.kind = KeyKind::choice;
    info.choices = choice_names<T>();
  } else if constexpr (Section<T>) {
    info.kind = KeyKind::section;
    info.keys = keys_of<T>();
    info.may_be_absent = MayBeAbsent<T>;
  } else if constexpr (Named<T>) {
    info.kind = KeyKind::named_sections;
    info.keys = keys_of<typename NamedOf<T>::Item>();
  } else {
    using Item = typename ListOf<T>::Item;
    fill<Item>(info);
    info.kind = Section<Item>  ? KeyKind::section_list
                : Choice<Item> ? KeyKind::choice_list
                               : KeyKind::text_list;
  }
}

template <Section S>
std::vector<KeyInfo> keys_of() {
  const auto made = std::make_unique<S>();  // on the stack, g++ 12 takes members for uninitialised
  const S& defaults = *made;
  std::vector<KeyInfo> keys;
  for_each_field<S>([&](const auto& field) {
    using T = std::remove_cvref_t<decltype(defaults.*field.member)>;
    KeyInfo info;
    info.key = field.key;
    info.unit = field.unit;
    info.min = field.min;
    info.max = field.max;
    info.required = field.required;
    info.doc = field.doc;
    fill<T>(info);
    if (!field.required && info.keys.empty()) info.default_value = json_of(defaults.*field.member);
    keys.push_back(std::move(info));
  });
  return keys;
}

}  // namespace

std::vector<KeyInfo> machine_keys() {
  return keys_of<Machine>();
}

}  // namespace npulab::config
