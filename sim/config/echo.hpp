// SPDX-License-Identifier: Apache-2.0
// From a config struct to JSON, key by key along its table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/choices.hpp"
#include "sim/config/walk.hpp"

namespace npulab::config {

template <class T>
nlohmann::ordered_json json_of(const T& value) {
  if constexpr (std::is_same_v<T, isa::DType>) {
    return isa::name(value);
  } else if constexpr (Choice<T>) {
    return choice_name(value);
  } else if constexpr (Section<T>) {
    nlohmann::ordered_json section = nlohmann::ordered_json::object();
    for_each_field<T>([&](const auto& field) {
      if constexpr (MayBeAbsent<std::remove_cvref_t<decltype(value.*field.member)>>) {
        if (!(value.*field.member).present) return;
      }
      section[std::string(field.key)] = json_of(value.*field.member);
    });
    return section;
  } else if constexpr (List<T>) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& item : value) list.push_back(json_of(item));
    return list;
  } else if constexpr (Named<T>) {
    nlohmann::ordered_json sections = nlohmann::ordered_json::object();
    for (const auto& [name, section] : value) sections[name] = json_of(section);
    return sections;
  } else {
    return value;
  }
}

}  // namespace npulab::config
