// SPDX-License-Identifier: Apache-2.0
// The program npulab.
#include <filesystem>
#include <system_error>

#include "sim/cli/entry.hpp"

namespace {

namespace fs = std::filesystem;

// An installed program finds its data below its prefix, one in a build folder in the source tree above it.
std::vector<fs::path> data_candidates() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> candidates;
  for (const fs::path& one :
       {folder / NPULAB_DATA_DIR, folder / "..", folder / "../..", fs::path(NPULAB_SOURCE_DIR)})
    candidates.push_back(one.lexically_normal());
  return candidates;
}

}  // namespace

int main(int argc, char** argv) {
  return npulab::cli::run_program({argv + 1, argv + argc}, data_candidates());
}
