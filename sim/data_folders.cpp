// SPDX-License-Identifier: Apache-2.0
#include "sim/data_folders.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <system_error>

#include "isa/error.hpp"

namespace npulab {

namespace {

namespace fs = std::filesystem;

constexpr char kMachines[] = "configs";
constexpr char kKernels[] = "kernels";

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace

DataFolders find_data_folders(const std::vector<fs::path>& candidates) {
  const auto inside = [](const fs::path& folder) {
    return DataFolders{folder / kMachines, folder / kKernels};
  };
  const char* named = std::getenv(kDataVariable);
  if (named != nullptr && *named != '\0') {
    const DataFolders found = inside(named);
    if (is_folder(found.machines) || is_folder(found.kernels)) return found;
    throw Error(
        Category::input, "no-data-folder",
        fmt::format("{}={}: {}; it must hold the folders {}/ and {}/", kDataVariable, named,
                    is_folder(named) ? "neither is in this folder" : "no such folder", kMachines, kKernels));
  }
  std::string searched;
  for (const fs::path& candidate : candidates) {
    const DataFolders found = inside(candidate);
    if (is_folder(found.machines) && is_folder(found.kernels)) return found;
    searched += (searched.empty() ? "" : ", ") + candidate.string();
  }
  throw Error(
      Category::input, "no-data-folder",
      fmt::format("the shipped machines and kernels were not found in {}; {}=FOLDER names the folder that "
                  "holds {}/ and {}/",
                  searched, kDataVariable, kMachines, kKernels));
}

}  // namespace npulab
