// SPDX-License-Identifier: Apache-2.0
#include "sim/config/settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "sim/config/keys.hpp"
#include "sim/config/walk.hpp"

namespace npulab::config {

namespace {

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void put_place(Node& node, const Where& place) {
  node.where = place;
  if (!node.key_where.file.empty()) node.key_where = place;
  for (Node& item : node.items) put_place(item, place);
}

Node parse_value(const std::string& text, const Where& place, Problems& problems) {
  Problems found;
  try {
    Node value = parse_yaml(text, place.file, found);
    put_place(value, place);
    for (Problem problem : found.list()) {
      problem.where = place;
      problems.add(std::move(problem));
    }
    return value;
  } catch (const Error& error) {
    throw Error(error.category(), error.code(), error.message(), place);
  }
}

std::vector<std::string> names_of(const Node& node) {
  std::vector<std::string> names;
  for (const Node& item : node.items)
    if (item.kind != NodeKind::null) names.push_back(item.key);
  return names;
}

std::vector<std::string> names_of(const std::vector<KeyInfo>& keys) {
  std::vector<std::string> names;
  for (const KeyInfo& key : keys) names.push_back(key.key);
  return names;
}

// Walks the path of one setting along tree and tables at the same time.
class Setter {
 public:
  Setter(Where place, Problems& problems) : place_(std::move(place)), problems_(problems) {}

  void apply(Node& root, const std::vector<std::string>& parts, Node value) {
    const std::vector<KeyInfo> top = machine_keys();
    Node* node = &root;
    const std::vector<KeyInfo>* keys = &top;
    const KeyInfo* list = nullptr;   // the next part is an index of this list
    const KeyInfo* named = nullptr;  // the next part is a name of one of these sections
    for (std::size_t i = 0; node != nullptr && i < parts.size(); ++i) {
      const std::string& part = parts[i];
      const bool last = i + 1 == parts.size();
      if (named != nullptr) {
        node = section_named(*node, part, last);
        keys = &named->keys;
        named = nullptr;
      } else if (list != nullptr) {
        node = item_at(*node, part);
        keys = list->kind == KeyKind::section_list ? &list->keys : nullptr;
        list = nullptr;
      } else {
        const KeyInfo* key = key_named(keys, part);
        if (key == nullptr) return;
        node = child(*node, part);
        keys = key->kind == KeyKind::section ? &key->keys : nullptr;
        named = key->kind == KeyKind::named_sections ? key : nullptr;
        list = is_list(key->kind) ? key : nullptr;
      }
      path_ = join_path(path_, part);
    }
    if (node != nullptr) put(*node, std::move(value));
  }

 private:
  static bool is_list(KeyKind kind) {
    return kind == KeyKind::text_list || kind == KeyKind::choice_list || kind == KeyKind::section_list;
  }

  std::nullptr_t refuse(const std::string& part, std::string message, const char* code = "unknown-key") {
    problems_.add({code, join_path(path_, part), std::move(message), place_});
    return nullptr;
  }

  const KeyInfo* key_named(const std::vector<KeyInfo>* keys, const std::string& part) {
    if (keys == nullptr) return refuse(part, fmt::format("'{}' is a value and has no keys", path_));
    for (const KeyInfo& key : *keys)
      if (key.key == part) return &key;
    return refuse(part, fmt::format("unknown key '{}'{}", part, suggestion(part, names_of(*keys))));
  }

  // The child of this key, made when the file does not say it.
  Node* child(Node& node, const std::string& key) {
    if (node.kind != NodeKind::map)
      return refuse(key, fmt::format("'{}' is {}, no section", path_, describe(node)));
    if (Node* found = node.find(key)) return found;
    Node made;
    made.kind = NodeKind::map;
    made.key = key;
    made.where = made.key_where = place_;
    node.items.push_back(std::move(made));
    return &node.items.back();
  }

  Node* section_named(Node& node, const std::string& name, bool last) {
    const Node* found = node.find(name);
    if (found == nullptr || found->kind == NodeKind::null) {
      if (!last)
        return refuse(name, fmt::format("no section '{}'{}", name, suggestion(name, names_of(node))));
    }
    return child(node, name);
  }

  Node* item_at(Node& node, const std::string& part) {
    std::size_t index = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
    if (parsed.ec != std::errc{} || parsed.ptr != part.data() + part.size() || index >= node.items.size())
      return refuse(
          part, fmt::format("'{}' is no index of a list of {} (0 is the first)", part, node.items.size()));
    return &node.items[index];
  }

  void put(Node& node, Node value) {
    value.key = node.key;
    value.key_where = place_;
    const bool made_now =
        node.kind == NodeKind::map && node.items.empty() && node.key_where.file == place_.file;
    if (made_now)
      node = std::move(value);
    else
      merge_over(node, std::move(value));
  }

  Where place_;
  Problems& problems_;
  std::string path_;
};

}  // namespace

Where setting_place(const std::string& setting) {
  return {"--set " + setting};
}

void apply_setting(Node& root, const std::string& setting, Problems& problems) {
  const Where place = setting_place(setting);
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error(Category::input, "bad-setting", "expects KEY=VALUE, as in gm.channels=16", place);
  Node value = parse_value(setting.substr(equals + 1), place, problems);
  Setter(place, problems).apply(root, split(setting.substr(0, equals)), std::move(value));
}

}  // namespace npulab::config
