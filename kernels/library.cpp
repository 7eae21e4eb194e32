// SPDX-License-Identifier: Apache-2.0
#include "kernels/library.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "isa/error.hpp"

namespace npulab::kernels {

namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".npu";
constexpr std::size_t kMostBytesOfFile = std::size_t{16} << 20;

bool is_file_name(const std::string& text) {
  return fs::path(text).extension() == kEnding;
}

// Errors: input "cannot-open", "too-large".
std::string read_text(const fs::path& path) {
  const auto refuse = [&](const std::string& reason) {
    throw Error(Category::input, "cannot-open", fmt::format("cannot open {}: {}", path.string(), reason));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("it is a directory");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) refuse(std::generic_category().message(errno));
  std::string text;
  std::string part(std::size_t{1} << 16, '\0');
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part, 0, read);
    if (text.size() > kMostBytesOfFile)
      throw Error(
          Category::input, "too-large",
          fmt::format("{} has more than {} bytes, too much for a kernel", path.string(), kMostBytesOfFile));
  }
  if (std::ferror(file.get()) != 0) refuse(std::generic_category().message(errno));
  return text;
}

isa::Source read_source(const fs::path& path) {
  return {path.generic_string(), read_text(path)};
}

// Kernel files of all folders by name; of one name the first folder's.
std::map<std::string, fs::path> kernel_files(const Folders& folders) {
  std::map<std::string, fs::path> files;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() != kEnding) continue;
      fs::path name = at->path().lexically_relative(folder);
      files.emplace(name.replace_extension().generic_string(), at->path());
    }
  }
  return files;
}

struct Found {
  std::string name;
  fs::path path;
};

Found find(const std::string& name_or_file, const Folders& folders) {
  if (is_file_name(name_or_file)) {
    const fs::path file(name_or_file);
    for (const fs::path& folder : folders) {
      const fs::path below =
          fs::absolute(file).lexically_normal().lexically_relative(fs::absolute(folder).lexically_normal());
      if (!below.empty() && *below.begin() != "..")
        return {fs::path(below).replace_extension().generic_string(), file};
    }
    return {file.stem().string(), file};
  }
  const std::map<std::string, fs::path> files = kernel_files(folders);
  if (const auto found = files.find(name_or_file); found != files.end()) return {found->first, found->second};
  std::vector<std::string> names;
  for (const auto& [name, path] : files) names.push_back(name);
  std::error_code ignored;
  if (fs::is_directory(name_or_file, ignored))
    throw Error(
        Category::input, "cannot-open",
        fmt::format("cannot open {}: it is a directory; a kernel is a name or a file that ends in {}{}",
                    name_or_file, kEnding, suggestion(name_or_file, names)));
  std::string searched;
  for (const fs::path& folder : folders) searched += (searched.empty() ? "" : ", ") + folder.string();
  throw Error(Category::input, "unknown-kernel",
              fmt::format("no kernel '{}' in {}{}", name_or_file, searched.empty() ? "no folder" : searched,
                          suggestion(name_or_file, names)));
}

// What `read` makes of a kernel's text; an error in a file that the kernel includes names the kernel too.
template <class Read>
auto of_kernel(const isa::Source& source, Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error& error) {
    Where where = error.where();
    if (where.file.empty() || where.file == source.name || !where.from.empty()) throw;
    where.from = source.name;
    throw Error(error.category(), error.code(), error.message(), where);
  }
}

KernelInfo info(const Found& found, const isa::ParamValues& params) {
  const isa::Source source = read_source(found.path);
  return {found.name, found.path,
          of_kernel(source, [&] { return isa::read_header(source, params, assemble_options()); })};
}

}  // namespace

isa::AssembleOptions assemble_options() {
  isa::AssembleOptions options;
  options.include = [](const std::string& name) { return read_source(name); };
  return options;
}

std::vector<KernelInfo> list_kernels(const Folders& folders) {
  std::vector<KernelInfo> kernels;
  for (const auto& [name, path] : kernel_files(folders)) kernels.push_back(info({name, path}, {}));
  return kernels;
}

isa::Source kernel_source(const std::string& name_or_file, const Folders& folders) {
  return read_source(find(name_or_file, folders).path);
}

KernelInfo find_kernel(const std::string& name_or_file, const Folders& folders,
                       const isa::ParamValues& params) {
  return info(find(name_or_file, folders), params);
}

isa::Kernel assemble_kernel(const isa::Source& source, const config::Machine& machine,
                            const isa::ParamValues& params, isa::AssembleOptions options) {
  const isa::Target target = config::make_target(machine);
  options.other_core_types = config::other_targets(machine, target);
  return of_kernel(source, [&] { return isa::assemble(source, target, params, options); });
}

isa::Kernel assemble_kernel(const std::string& name_or_file, const Folders& folders,
                            const config::Machine& machine, const isa::ParamValues& params) {
  return assemble_kernel(kernel_source(name_or_file, folders), machine, params);
}

}  // namespace npulab::kernels
