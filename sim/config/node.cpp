// SPDX-License-Identifier: Apache-2.0
#include "sim/config/node.hpp"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

namespace npulab::config {

namespace {

constexpr std::size_t kMostNodes = 100'000;
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kLongestShown = 60;

std::size_t size_of(const Node& node) {
  std::size_t nodes = 1;
  for (const Node& item : node.items) nodes += size_of(item);
  return nodes;
}

std::size_t depth_of(const Node& node) {
  std::size_t deepest = 0;
  for (const Node& item : node.items) deepest = std::max(deepest, depth_of(item));
  return deepest + 1;
}

// Builds the tree out of the parser's events; keys of a map arrive as nodes like any other.
class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string source, Problems& problems) : source_(std::move(source)), problems_(problems) {}

  // The tree, once the parser is done. Errors: input "yaml-syntax" for a key that is no text; only now,
  // because an open bracket looks like one until the parser finds out.
  Node take() {
    if (bad_key_) throw Error(Category::input, "yaml-syntax", "a key must be plain text", *bad_key_);
    return std::move(root_);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  // Comes right before the node that it names.
  void OnAnchor(const YAML::Mark&, const std::string& name) override { anchor_name_ = name; }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(node_at(mark, NodeKind::null), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    Node node = node_at(mark, NodeKind::scalar);
    node.quoted = tag == "!";
    node.text = value;
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse_circle(mark, anchor);
    Node copy = found->second;
    if (depth_of(copy) + open_.size() > kDeepest) refuse_depth(mark);
    count(size_of(copy) - 1, mark);
    copy.where = where(mark);
    copy.key.clear();
    copy.key_where = {};
    add(std::move(copy), 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, NodeKind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, NodeKind::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::string anchor_name;
    bool key_pending = false;  // a key has come, its value not yet
    std::string key;
    Where key_where;
  };

  Where where(const YAML::Mark& mark) const { return {source_, mark.line + 1, mark.column + 1}; }

  Node node_at(const YAML::Mark& mark, NodeKind kind) const {
    Node node;
    node.kind = kind;
    node.where = where(mark);
    return node;
  }

  [[noreturn]] void refuse(const char* code, const std::string& message, const YAML::Mark& mark) const {
    throw Error(Category::input, code, message, where(mark));
  }
  [[noreturn]] void refuse_circle(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    const auto holder =
        std::find_if(open_.begin(), open_.end(), [&](const Open& one) { return one.anchor == anchor; });
    if (holder == open_.end()) refuse("yaml-syntax", "an alias stands before the end of its anchor", mark);
    refuse("yaml-syntax",
           fmt::format("alias '*{0}' stands inside what its anchor '&{0}' names, in line {1}: it would hold "
                       "itself without end; an alias repeats what is complete before it",
                       holder->anchor_name, holder->node.where.line),
           mark);
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& mark) const {
    refuse("too-large", fmt::format("nested deeper than {} levels", kDeepest), mark);
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      refuse("yaml-syntax", fmt::format("tag '{}': a machine file has no tags", tag), mark);
  }

  void count(std::size_t more, const YAML::Mark& mark) {
    nodes_ += more;
    if (nodes_ > kMostNodes)
      refuse("too-large", fmt::format("more than {} values, aliases included", kMostNodes), mark);
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, NodeKind kind) {
    refuse_tag(mark, tag);
    if (open_.size() >= kDeepest) refuse_depth(mark);
    open_.push_back({node_at(mark, kind), anchor, anchor_name_, false, {}, {}});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  void add(Node node, YAML::anchor_t anchor) {
    count(1, {});
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == NodeKind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key_pending) {
      if (node.kind != NodeKind::scalar && !bad_key_) bad_key_ = node.where;
      parent.key_pending = true;
      parent.key = std::move(node.text);
      parent.key_where = std::move(node.where);
    } else {
      parent.key_pending = false;
      add_to_map(parent, std::move(node));
    }
  }

  void add_to_map(Open& parent, Node node) {
    if (const Node* first = parent.node.find(parent.key)) {
      problems_.add(
          {"duplicate-key", path_of(parent.key),
           fmt::format("key '{}' stands twice, first in line {}", parent.key, first->key_where.line),
           parent.key_where});
      return;
    }
    node.key = std::move(parent.key);
    node.key_where = std::move(parent.key_where);
    parent.node.items.push_back(std::move(node));
  }

  std::string path_of(const std::string& key) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i)
      path +=
          (open_[i].node.kind == NodeKind::map ? open_[i].key : std::to_string(open_[i].node.items.size())) +
          ".";
    return path + key;
  }

  std::string source_;
  Problems& problems_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::string anchor_name_;  // of the last anchor
  std::size_t nodes_ = 0;
  std::optional<Where> bad_key_;
};

// Bytes of the UTF-8 sequence at `at`, 0 when it is none (overlong forms and surrogates are none either).
std::size_t utf8_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(at + i < text.size() ? text[at + i] : 0);
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || beyond ? 0 : length;
}

// Errors: input "not-text" at the first byte that is none.
void require_text(const std::string& text, const std::string& source) {
  Where where{source, 1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(c);
    if (length == 0 || (byte < 0x20 && c != '\n' && c != '\r' && c != '\t'))
      throw Error(Category::input, "not-text",
                  fmt::format("not a text file (UTF-8): it holds the byte 0x{:02x}", byte), where);
    where.column = c == '\n' ? 1 : where.column + 1;
    where.line += c == '\n' ? 1 : 0;
    at += length;
  }
}

// Column, from 1, of a tab among the blanks and dashes that a line (from 1) begins with; 0 when none is
// there.
int tab_in_indentation(const std::string& text, int line) {
  std::size_t begin = 0;
  for (int i = 1; i < line && begin != std::string::npos; ++i) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos) return 0;
  const std::size_t end = std::min(text.find_first_not_of(" \t-", begin), text.size());
  const std::size_t tab = text.find('\t', begin);
  return tab < end ? static_cast<int>(tab - begin) + 1 : 0;
}

template <class AnyNode>
AnyNode* find_in(AnyNode& node, std::string_view key) {
  if (node.kind != NodeKind::map) return nullptr;
  const auto found =
      std::find_if(node.items.begin(), node.items.end(), [&](const Node& n) { return n.key == key; });
  return found == node.items.end() ? nullptr : &*found;
}

}  // namespace

const Node* Node::find(std::string_view key_text) const {
  return find_in(*this, key_text);
}
Node* Node::find(std::string_view key_text) {
  return find_in(*this, key_text);
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case NodeKind::null:
      return "nothing";
    case NodeKind::list:
      return "a list";
    case NodeKind::map:
      return "a section";
    case NodeKind::scalar:
      break;
  }
  const bool cut = node.text.size() > kLongestShown;
  const std::string shown = cut ? node.text.substr(0, kLongestShown) + "…" : node.text;
  return fmt::format("{}'{}'", node.quoted ? "the text " : "", shown);
}

Node parse_yaml(const std::string& text, const std::string& source, Problems& problems) {
  require_text(text, source);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Builder builder(source, problems);
    parser.HandleNextDocument(builder);
    Node root = builder.take();
    Builder second(source, problems);
    if (parser.HandleNextDocument(second))
      throw Error(Category::input, "yaml-syntax", "a second document: a file holds one machine",
                  second.take().where);
    return root;
  } catch (const YAML::Exception& error) {
    if (const int column = tab_in_indentation(text, error.mark.line + 1); column > 0)
      throw Error(Category::input, "yaml-syntax", "a tab in the indentation; YAML indents with blanks alone",
                  {source, error.mark.line + 1, column});
    throw Error(Category::input, "yaml-syntax", "not valid YAML: " + error.msg,
                {source, error.mark.line + 1, error.mark.column + 1});
  }
}

void merge_over(Node& base, Node child) {
  if (base.kind != NodeKind::map || child.kind != NodeKind::map) {
    child.removes = child.kind == NodeKind::null && base.kind == NodeKind::map;
    base = std::move(child);
    return;
  }
  base.where = child.where;
  base.key_where = child.key_where;
  for (Node& item : child.items) {
    if (Node* inherited = base.find(item.key))
      merge_over(*inherited, std::move(item));
    else
      base.items.push_back(std::move(item));
  }
}

}  // namespace npulab::config
