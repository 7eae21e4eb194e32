// SPDX-License-Identifier: Apache-2.0
// The command line as a function, for the program and for the Python module.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace npulab::cli {

// Finds the command, runs it, and turns what went wrong into a message on standard error and the exit status
// that is returned. `words` are the arguments without the program's name, `data_candidates` the folders that
// may hold configs/ and kernels/. Throws nothing.
int run_program(const std::vector<std::string>& words,
                const std::vector<std::filesystem::path>& data_candidates);

}  // namespace npulab::cli
