// SPDX-License-Identifier: Apache-2.0
#include "sim/config/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "isa/error.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/read.hpp"
#include "sim/config/settings.hpp"
#include "sim/config/validate.hpp"

namespace npulab::config {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kEndings{".yaml", ".yml", ".json"};
constexpr std::size_t kMostBytesOfFile = 1 << 20;
constexpr std::size_t kLongestChain = 16;

bool has_ending(const fs::path& path) {
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

bool is_file_name(const std::string& text) {
  return text.find('/') != std::string::npos || has_ending(text);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Errors: input "cannot-open", "too-large".
std::string read_text(const fs::path& path, const Where& from) {
  const auto refuse = [&](const std::string& reason) {
    throw Error(Category::input, "cannot-open", fmt::format("cannot open {}: {}", path.string(), reason),
                from);
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("it is a directory");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) refuse(std::generic_category().message(errno));
  std::string text(kMostBytesOfFile + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) refuse(std::generic_category().message(errno));
  if (text.size() > kMostBytesOfFile)
    throw Error(Category::input, "too-large",
                fmt::format("{} has more than {} bytes, too much for a machine file", path.string(),
                            kMostBytesOfFile),
                from);
  return text;
}

// Machine files of a folder, sorted by name and ending.
std::vector<fs::path> machine_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (has_ending(at->path())) files.push_back(at->path());
  const auto rank = [](const fs::path& path) {
    return std::pair(
        path.stem().string(),
        std::find(kEndings.begin(), kEndings.end(), path.extension().string()) - kEndings.begin());
  };
  std::sort(files.begin(), files.end(),
            [&](const fs::path& a, const fs::path& b) { return rank(a) < rank(b); });
  return files;
}

[[noreturn]] void refuse_name(const std::string& name, const std::vector<fs::path>& folders,
                              const Where& from) {
  std::vector<std::string> names;
  std::string searched;
  for (const fs::path& folder : folders) {
    searched += (searched.empty() ? "" : ", ") + folder.string();
    for (const fs::path& file : machine_files(folder)) names.push_back(file.stem().string());
  }
  throw Error(Category::input, "unknown-machine",
              fmt::format("no machine '{}' in {}{}", name, searched.empty() ? "no folder" : searched,
                          suggestion(name, names)),
              from);
}

// A name or file as it stands in `extends` of a file in `folder` or (no folder) on the command line.
fs::path find_machine(const std::string& text, const std::optional<fs::path>& folder,
                      const std::vector<fs::path>& search, const Where& from) {
  std::vector<fs::path> folders;
  if (folder) folders.push_back(folder->empty() ? "." : *folder);
  folders.insert(folders.end(), search.begin(), search.end());
  if (is_file_name(text)) {
    if (!folder || fs::path(text).is_absolute()) return text;
    for (const fs::path& at : folders)
      if (is_there(at / text)) return at / text;
    return folders.front() / text;
  }
  if (!text.empty())
    for (const fs::path& at : folders)
      for (const std::string_view ending : kEndings)
        if (fs::path file = at / (text + std::string(ending)); is_there(file)) return file;
  refuse_name(text, folders, from);
}

struct Loader {
  const LoadOptions& options;
  Problems problems;
  std::vector<std::string> chain;      // files from the one asked for to the one being read
  std::vector<fs::path> chain_places;  // the same, made comparable

  void enter(const fs::path& file, const Where& from) {
    std::error_code ignored;
    const fs::path place = fs::weakly_canonical(file, ignored);
    const bool cycle = std::find(chain_places.begin(), chain_places.end(), place) != chain_places.end();
    chain.push_back(file.string());
    chain_places.push_back(place);
    if (!cycle && chain.size() <= kLongestChain) return;
    std::string text;
    for (const std::string& name : chain) text += (text.empty() ? "" : " > ") + name;
    throw Error(Category::input, kExtendsKey,
                cycle ? fmt::format("{}: the files inherit from each other: {}", kExtendsKey, text)
                      : fmt::format("{}: more than {} files inherit from each other: {}", kExtendsKey,
                                    kLongestChain, text),
                from);
  }

  Node from_file(const fs::path& file, const Where& from) {
    enter(file, from);
    return from_text(read_text(file, from), file.string(), file.parent_path());
  }

  Node from_text(const std::string& text, const std::string& source, const std::optional<fs::path>& folder) {
    Node root = parse_yaml(text, source, problems);
    if (root.kind == NodeKind::null)
      throw Error(Category::input, "empty-file", "the file is empty: it has no keys", {source, 1, 0});
    if (root.kind != NodeKind::map)
      throw Error(Category::input, "wrong-type",
                  fmt::format("expects a mapping of keys, got {}", describe(root)), root.where);
    const Node* extends = root.find(kExtendsKey);
    if (extends == nullptr) return root;
    if (extends->kind != NodeKind::scalar)
      throw Error(Category::input, "wrong-type",
                  fmt::format("{}: expects {}, got {}", kExtendsKey, kExtendsDoc, describe(*extends)),
                  extends->where);
    Node base =
        from_file(find_machine(extends->text, folder, options.search, extends->where), extends->where);
    root.items.erase(root.items.begin() + (extends - root.items.data()));
    merge_over(base, std::move(root));
    return base;
  }

  Machine finish(Node root) {
    std::map<std::string, std::string> given;  // key to setting
    for (const std::string& setting : options.set) {
      const std::string key = setting.substr(0, setting.find('='));
      if (const auto [first, added] = given.emplace(key, setting); !added)
        problems.add({"duplicate-key", key,
                      fmt::format("is set twice, first by {}", setting_place(first->second).file),
                      setting_place(setting)});
      else
        apply_setting(root, setting, problems);
    }
    problems.throw_if_any();
    Machine machine = read_machine(root, problems);
    problems.throw_if_any();
    for (Problem& problem : validate(machine)) {
      problem.where = place_of(root, problem.path);
      problems.add(std::move(problem));
    }
    problems.throw_if_any();
    return machine;
  }

  // Where the key of this path stands, or the section that would hold it.
  static Where place_of(const Node& root, const std::string& path) {
    const Node* node = &root;
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t dot = std::min(path.find('.', at), path.size());
      const std::string part = path.substr(at, dot - at);
      at = dot + 1;
      const Node* next = node->find(part);
      if (node->kind == NodeKind::list) {
        for (std::size_t i = 0; i < node->items.size(); ++i)
          if (std::to_string(i) == part) next = &node->items[i];
      }
      if (next == nullptr) break;
      node = next;
    }
    return node->place();
  }
};

}  // namespace

Machine load_machine(const std::string& name_or_file, const LoadOptions& options) {
  Loader loader{options, {}, {}, {}};
  Node root = loader.from_file(find_machine(name_or_file, std::nullopt, options.search, {}), {});
  return loader.finish(std::move(root));
}

Machine machine_from_text(const std::string& text, const std::string& source, const LoadOptions& options) {
  Loader loader{options, {}, {}, {}};
  Node root = loader.from_text(text, source, fs::path());
  return loader.finish(std::move(root));
}

std::vector<MachineInfo> list_machines(const std::vector<fs::path>& search) {
  std::vector<MachineInfo> machines;
  std::set<std::string> seen;
  LoadOptions options;
  options.search = search;
  for (const fs::path& folder : search) {
    for (const fs::path& file : machine_files(folder)) {
      const std::string name = file.stem().string();
      if (seen.insert(name).second)
        machines.push_back({name, file, load_machine(file.string(), options).doc});
    }
  }
  std::sort(machines.begin(), machines.end(),
            [](const MachineInfo& a, const MachineInfo& b) { return a.name < b.name; });
  return machines;
}

}  // namespace npulab::config
