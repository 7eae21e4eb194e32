// SPDX-License-Identifier: Apache-2.0
// A parsed YAML or JSON text as a tree that remembers where everything stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/problems.hpp"

namespace npulab::config {

enum class NodeKind : std::uint8_t { null, scalar, list, map };

struct Node {
  NodeKind kind = NodeKind::null;
  bool quoted = false;   // a scalar that was written in quotes: text, never a number
  bool removes = false;  // null that takes an inherited section away
  std::string text;      // of a scalar
  Where where;
  std::string key;  // in the map that holds this node
  Where key_where;
  std::vector<Node> items;  // of a list or a map, in the order of the text

  const Node* find(std::string_view key_text) const;
  Node* find(std::string_view key_text);
  // Where to point when something about the node as a whole is wrong.
  const Where& place() const { return key_where.file.empty() ? where : key_where; }
};

// "the text 'abc'", "a list", "a section", "nothing": for messages.
std::string describe(const Node& node);

// Reads one document. Repeated keys are added to `problems`, the first one stays.
// Errors: input "yaml-syntax" (also: more than one document, tags, keys that are no text, an alias inside its
// own anchor), "not-text" (control characters, no UTF-8), "too-large" (more than 100,000 nodes with aliases
// expanded, or nesting deeper than 64).
Node parse_yaml(const std::string& text, const std::string& source, Problems& problems);

// Puts `child` over `base`: maps key by key, everything else is replaced whole. A null in the child marks a
// removal.
void merge_over(Node& base, Node child);

}  // namespace npulab::config
