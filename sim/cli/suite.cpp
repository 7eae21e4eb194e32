// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/suite.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "sim/cli/files.hpp"
#include "sim/config/node.hpp"

namespace npulab::cli {

namespace {

namespace fs = std::filesystem;
using config::Node;
using config::NodeKind;

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::int64_t kMostCores = 4096;
constexpr std::string_view kCasesKey = "cases";

class Reader {
 public:
  Reader(config::Problems& problems, fs::path folder) : problems_(problems), folder_(std::move(folder)) {}

  std::vector<SuiteCase> suite(const Node& root) {
    std::vector<SuiteCase> cases;
    if (!is(root, NodeKind::map, "", "a section with the key 'cases'")) return cases;
    only(root, {std::string(kCasesKey)}, "");
    const Node* list = root.find(kCasesKey);
    if (list == nullptr) {
      add("missing-key", std::string(kCasesKey), "is missing: the list of cases", root.where);
      return cases;
    }
    if (!is(*list, NodeKind::list, std::string(kCasesKey), "a list of cases")) return cases;
    for (std::size_t i = 0; i < list->items.size(); ++i)
      cases.push_back(one_case(list->items[i], fmt::format("{}.{}", kCasesKey, i)));
    return cases;
  }

 private:
  struct Key {
    std::string_view name;
    bool required;
    void (Reader::*read)(const Node& node, const std::string& path, SuiteCase& into);
  };
  static constexpr std::size_t kKeyCount = 8;
  static const Key kKeys[kKeyCount];

  void add(const char* code, const std::string& path, const std::string& message, const Where& where) {
    problems_.add({code, path, message, where});
  }
  bool is(const Node& node, NodeKind kind, const std::string& path, const char* expected) {
    if (node.kind == kind) return true;
    add("wrong-type", path, fmt::format("expects {}, got {}", expected, config::describe(node)), node.where);
    return false;
  }
  void only(const Node& map, const std::vector<std::string>& known, const std::string& path) {
    for (const Node& item : map.items)
      if (std::find(known.begin(), known.end(), item.key) == known.end())
        add("unknown-key", path, fmt::format("no key '{}'{}", item.key, suggestion(item.key, known)),
            item.place());
  }

  SuiteCase one_case(const Node& node, const std::string& path) {
    SuiteCase made;
    made.where = node.where;
    if (!is(node, NodeKind::map, path, "a case: a section with name, kernel, machine, …")) return made;
    std::vector<std::string> known;
    for (const Key& key : kKeys) {
      known.emplace_back(key.name);
      const Node* value = node.find(key.name);
      const std::string below = fmt::format("{}.{}", path, key.name);
      if (value != nullptr) {
        (this->*key.read)(*value, below, made);
      } else if (key.required) {
        add("missing-key", below, "is missing", node.where);
      }
    }
    only(node, known, path);
    if (!made.name.empty() && !names_.insert(made.name).second)
      add("duplicate-name", path, fmt::format("another case is called '{}' too", made.name), node.where);
    return made;
  }

  std::string text(const Node& node, const std::string& path) {
    if (!is(node, NodeKind::scalar, path, "text")) return {};
    if (node.text.empty()) add("wrong-type", path, "expects text, got an empty one", node.where);
    return node.text;
  }
  std::string file(const Node& node, const std::string& path, std::initializer_list<const char*> endings) {
    std::string given = text(node, path);
    const fs::path name(given);
    for (const char* ending : endings)
      if (name.extension() == ending && name.is_relative())
        return (folder_ / name).lexically_normal().string();
    return given;
  }
  std::int64_t integer(const Node& node, const std::string& path) {
    std::int64_t value = 0;
    if (!is(node, NodeKind::scalar, path, "an integer")) return value;
    const char* end = node.text.data() + node.text.size();
    const auto result = std::from_chars(node.text.data(), end, value);
    if (node.quoted || result.ec != std::errc{} || result.ptr != end)
      add("wrong-type", path, fmt::format("expects an integer in digits, got {}", config::describe(node)),
          node.where);
    return value;
  }

  void name(const Node& node, const std::string& path, SuiteCase& into) { into.name = text(node, path); }
  void kernel(const Node& node, const std::string& path, SuiteCase& into) {
    into.kernel = file(node, path, {".npu", ".npub"});
  }
  void machine(const Node& node, const std::string& path, SuiteCase& into) {
    into.machine = file(node, path, {".yaml", ".yml", ".json"});
  }
  void params(const Node& node, const std::string& path, SuiteCase& into) {
    if (!is(node, NodeKind::map, path, "parameters as NAME: VALUE")) return;
    for (const Node& item : node.items) into.params[item.key] = integer(item, path + "." + item.key);
  }
  void set(const Node& node, const std::string& path, SuiteCase& into) {
    if (!is(node, NodeKind::list, path, "a list of 'key=value'")) return;
    for (const Node& item : node.items) into.set.push_back(text(item, path));
  }
  void in(const Node& node, const std::string& path, SuiteCase& into) {
    if (!is(node, NodeKind::list, path, "a list of 'tensor=data'")) return;
    for (const Node& item : node.items) into.in.push_back(text(item, path));
  }
  void cores(const Node& node, const std::string& path, SuiteCase& into) {
    const std::int64_t value = integer(node, path);
    if (value < 1 || value > kMostCores) {
      add("out-of-range", path, fmt::format("{} is not in 1..{}", value, kMostCores), node.where);
      return;
    }
    into.cores = static_cast<std::uint32_t>(value);
  }
  void timing_only(const Node& node, const std::string& path, SuiteCase& into) {
    if (!is(node, NodeKind::scalar, path, "true or false")) return;
    into.timing_only = node.text == "true";
    if (node.quoted || (node.text != "true" && node.text != "false"))
      add("wrong-type", path, fmt::format("expects true or false, got {}", config::describe(node)),
          node.where);
  }

  config::Problems& problems_;
  fs::path folder_;
  std::set<std::string> names_;
};

const Reader::Key Reader::kKeys[kKeyCount] = {
    {"name", true, &Reader::name},       {"kernel", true, &Reader::kernel},
    {"machine", true, &Reader::machine}, {"params", false, &Reader::params},
    {"set", false, &Reader::set},        {"in", false, &Reader::in},
    {"cores", false, &Reader::cores},    {"timing_only", false, &Reader::timing_only}};

}  // namespace

std::vector<SuiteCase> read_suite(const std::string& path) {
  const std::string text = read_file(path, kMostBytes);
  config::Problems problems;
  const Node root = config::parse_yaml(text, path, problems);
  if (root.kind == NodeKind::null)
    throw Error(Category::input, "empty-file", fmt::format("the file is empty: it has no '{}'", kCasesKey),
                {path, 1, 0});
  std::vector<SuiteCase> cases = Reader(problems, fs::path(path).parent_path()).suite(root);
  problems.throw_if_any();
  return cases;
}

}  // namespace npulab::cli
