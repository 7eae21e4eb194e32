// SPDX-License-Identifier: Apache-2.0
// Where the shipped machines and kernels are.
#pragma once

#include <filesystem>
#include <vector>

namespace npulab {

inline constexpr char kDataVariable[] = "NPULAB_DATA";

struct DataFolders {
  std::filesystem::path machines;  // configs/
  std::filesystem::path kernels;   // kernels/
};

// The folder that the environment variable kDataVariable names, else the first of `candidates` that has both
// folders in it. Errors: input "no-data-folder" when the variable names no folder with one of them, or none
// of the candidates will do.
DataFolders find_data_folders(const std::vector<std::filesystem::path>& candidates);

}  // namespace npulab
