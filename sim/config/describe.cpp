// SPDX-License-Identifier: Apache-2.0
#include "sim/config/describe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/config/echo.hpp"
#include "sim/config/names.hpp"
#include "sim/config/read.hpp"

namespace npulab::config {

namespace {

using nlohmann::ordered_json;

constexpr char kAbsent[] = "(none)";

// Words that other YAML readers take for truth values or nothing.
bool is_yaml_word(const std::string& text) {
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  return std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
}

std::string scalar_text(const ordered_json& value) {
  if (value.is_number_float()) return number_text(value.get<double>());
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  return is_identifier(text) && !is_yaml_word(text) ? text : value.dump();
}

std::string flow_list(const ordered_json& list) {
  std::string text;
  for (const ordered_json& item : list) text += (text.empty() ? "" : ", ") + scalar_text(item);
  return "[" + text + "]";
}

void write_section(const ordered_json& section, std::size_t indent, bool first_in_place, std::string& out);

void write_value(const ordered_json& value, std::size_t indent, std::string& out) {
  const bool sections = value.is_array() && !value.empty() && value.front().is_object();
  if (value.is_object() && !value.empty()) {
    out += "\n";
    write_section(value, indent + 2, false, out);
  } else if (sections) {
    out += "\n";
    for (const ordered_json& item : value) {
      out += std::string(indent + 2, ' ') + "- ";
      write_section(item, indent + 4, true, out);
    }
  } else {
    out += " " + (value.is_array() ? flow_list(value) : scalar_text(value)) + "\n";
  }
}

// `first_in_place`: the first key follows a "- " that is already written.
void write_section(const ordered_json& section, std::size_t indent, bool first_in_place, std::string& out) {
  for (const auto& [key, value] : section.items()) {
    if (!first_in_place) out += std::string(indent, ' ');
    first_in_place = false;
    out += key + ":";
    write_value(value, indent, out);
  }
}

std::string shown(const ordered_json& value) {
  if (value.is_object()) return value.dump();
  return value.is_array() && (value.empty() || !value.front().is_object()) ? flow_list(value)
                                                                           : scalar_text(value);
}

bool is_tree(const ordered_json& value) {
  return value.is_object() || (value.is_array() && !value.empty() && value.front().is_object());
}

// Keys of an object, or indices of a list of sections.
std::vector<std::pair<std::string, const ordered_json*>> children(const ordered_json& value) {
  std::vector<std::pair<std::string, const ordered_json*>> list;
  std::size_t index = 0;
  for (auto at = value.begin(); at != value.end(); ++at)
    list.emplace_back(value.is_object() ? at.key() : std::to_string(index++), &*at);
  return list;
}

void compare(const ordered_json* a, const ordered_json* b, const std::string& path,
             std::vector<std::string>& lines) {
  if (a != nullptr && b != nullptr && *a == *b) return;
  if (a == nullptr || b == nullptr || !is_tree(*a) || !is_tree(*b)) {
    lines.push_back(fmt::format("{}: {} -> {}", path,
                                a == nullptr  ? kAbsent
                                : is_tree(*a) ? "(section)"
                                              : shown(*a),
                                b == nullptr  ? kAbsent
                                : is_tree(*b) ? "(section)"
                                              : shown(*b)));
    return;
  }
  const auto left = children(*a);
  const auto right = children(*b);
  const auto find = [](const auto& list, const std::string& key) -> const ordered_json* {
    for (const auto& [name, value] : list)
      if (name == key) return value;
    return nullptr;
  };
  for (const auto& [key, value] : left) compare(value, find(right, key), join_path(path, key), lines);
  for (const auto& [key, value] : right)
    if (find(left, key) == nullptr) compare(nullptr, value, join_path(path, key), lines);
}

}  // namespace

ordered_json to_json(const Machine& machine) {
  return json_of(machine);
}

std::string to_yaml(const Machine& machine) {
  std::string text;
  write_section(to_json(machine), 0, false, text);
  return text;
}

std::vector<std::string> diff(const Machine& a, const Machine& b) {
  const ordered_json left = to_json(a);
  const ordered_json right = to_json(b);
  std::vector<std::string> lines;
  compare(&left, &right, "", lines);
  return lines;
}

}  // namespace npulab::config
