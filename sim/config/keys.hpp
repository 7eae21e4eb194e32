// SPDX-License-Identifier: Apache-2.0
// The keys of a machine file as plain data: for the reference page, the JSON schema, --set and Python.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace npulab::config {

enum class KeyKind : std::uint8_t {
  integer,
  number,
  boolean,
  text,
  choice,  // one of `choices`
  text_list,
  choice_list,    // of `choices`, none twice
  section,        // `keys`
  section_list,   // a list of sections with `keys`
  named_sections  // sections with `keys` by names that the file chooses
};

struct KeyInfo {
  std::string key;
  KeyKind kind = KeyKind::text;
  std::string unit;  // "" where the value has none
  double min = 0;    // integer and number: both ends are legal
  double max = 0;
  bool required = false;
  bool may_be_absent = false;  // section: left out, or null over an inherited one: no such part
  std::string doc;
  std::vector<std::string> choices;
  nlohmann::ordered_json default_value;  // null when required or made of keys
  std::vector<KeyInfo> keys;
};

// The top level of a machine file, in the order of the tables; `extends` is not among them.
std::vector<KeyInfo> machine_keys();

inline constexpr char kExtendsKey[] = "extends";
inline constexpr char kExtendsDoc[] = "machine name or file that this one inherits from";

}  // namespace npulab::config
