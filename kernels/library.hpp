// SPDX-License-Identifier: Apache-2.0
// The kernel library: finds kernels by name or file and assembles them for a machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "isa/program.hpp"
#include "sim/config/machine.hpp"

namespace npulab::kernels {

struct KernelInfo {
  std::string name;  // "gemv/pipelined": the path below the search folder without its ending
  std::filesystem::path path;
  isa::KernelHeader header;  // with the parameters' values
};

using Folders = std::vector<std::filesystem::path>;  // where kernel names are looked up, the first one first

// Every *.npu file below the folders, by name; of one name the first folder's counts. Errors: input, those of
// read_kernel when a file has no readable header.
std::vector<KernelInfo> list_kernels(const Folders& folders);

// The text of a kernel. A name that ends in .npu is a file, anything else a name in the folders. Errors:
// input "unknown-kernel" (with the nearest name), "cannot-open" (no such file, a directory, unreadable),
// "too-large".
isa::Source kernel_source(const std::string& name_or_file, const Folders& folders);

// Options with which kernel sources are assembled: .include reads files.
isa::AssembleOptions assemble_options();

// The header of a kernel with these parameters. Errors: those of kernel_source and of isa::read_header.
KernelInfo find_kernel(const std::string& name_or_file, const Folders& folders,
                       const isa::ParamValues& params = {});

// A kernel for a machine: its first core type is the target, the others serve programs that name them.
// Errors: those of kernel_source and of isa::assemble.
isa::Kernel assemble_kernel(const std::string& name_or_file, const Folders& folders,
                            const config::Machine& machine, const isa::ParamValues& params = {});
isa::Kernel assemble_kernel(const isa::Source& source, const config::Machine& machine,
                            const isa::ParamValues& params = {},
                            isa::AssembleOptions options = assemble_options());

}  // namespace npulab::kernels
