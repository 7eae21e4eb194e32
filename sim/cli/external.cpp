// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/external.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "isa/error.hpp"
#include "sim/cli/host.hpp"

namespace npulab::cli {

namespace {

namespace fs = std::filesystem;

std::string prefix() {
  return std::string(kProgramName) + "-";
}

std::vector<fs::path> path_folders() {
  std::vector<fs::path> folders;
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

bool runnable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

void run_external(const std::string& name, const std::vector<std::string>& words) {
  if (name.find('/') != std::string::npos) return;
  for (const fs::path& folder : path_folders()) {
    const std::string path = (folder / (prefix() + name)).string();
    if (!runnable(path)) continue;
    std::vector<char*> arguments{const_cast<char*>(path.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(path.c_str(), arguments.data());
    throw Error(Category::input, "cannot-run",
                fmt::format("cannot run {}: {}", path, std::generic_category().message(errno)));
  }
}

std::vector<std::string> external_commands() {
  std::set<std::string> names;
  for (const fs::path& folder : path_folders()) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string file = at->path().filename().string();
      if (file.size() > prefix().size() && file.compare(0, prefix().size(), prefix()) == 0 &&
          runnable(at->path()))
        names.insert(file.substr(prefix().size()));
    }
  }
  return {names.begin(), names.end()};
}

std::string external_help() {
  std::string text;
  for (const std::string& name : external_commands()) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? text : fmt::format("\nFurther commands on the PATH: {}\n", text);
}

}  // namespace npulab::cli
