// SPDX-License-Identifier: Apache-2.0
// What a run is fed with: the data of each tensor that the kernel reads, and where its outputs go.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isa/program.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/files.hpp"

namespace npulab::cli {

inline constexpr Option kIn{
    "in", '\0', "TENSOR=DATA",
    "data of an input, one of those below; inputs without it get random:N for the N-th tensor; repeatable",
    true};
inline constexpr Option kOut{"out", '\0', "TENSOR=FILE.npy", "writes an output to a NumPy file; repeatable",
                             true};

HelpTable data_table();  // what the help says about DATA

// DATA of --in by tensor, defaults included, in the order of the tensors. Errors: input "bad-option",
// "unknown-tensor", "not-an-input".
std::vector<std::pair<std::string, std::string>> input_data(const std::vector<std::string>& given,
                                                            const isa::KernelHeader& header);

bool is_npy_file(const std::string& data);

struct Inputs {
  std::map<std::string, std::vector<std::byte>> elements;         // by tensor
  std::vector<std::pair<std::string, std::string>> descriptions;  // tensor and what it was filled with
};

// Reads or makes the data. Errors: those of read_npy and values::fill with the tensor's name;
// "not-enough-memory".
Inputs make_inputs(const std::vector<std::pair<std::string, std::string>>& data,
                   const isa::KernelHeader& header);

// The files of --out by tensor, proven to be writable. Errors: input "bad-option", "unknown-tensor",
// "not-an-output"; those of OutputFile.
std::vector<std::pair<std::string, OutputFile>> output_files(const std::vector<std::string>& given,
                                                             const isa::KernelHeader& header);

// Refuses runs whose tensors cannot be in the memory of the host. Errors: input "not-enough-memory".
void check_memory(const isa::KernelHeader& header);

}  // namespace npulab::cli
