// SPDX-License-Identifier: Apache-2.0
// One kernel on one machine, as `run` and `bench` launch it.
#pragma once

#include <string>
#include <string_view>

#include "isa/assembler.hpp"
#include "sim/cli/host.hpp"
#include "sim/config/machine.hpp"

namespace npulab::cli {

// A kernel by its name in the library, a .npu file, or a binary that asm wrote, for this machine. Errors:
// input "unknown-kernel", "cannot-open", those of the assembler and of the binary form; "fixed-parameters"
// for parameters of a binary.
isa::Kernel load_kernel(const std::string& name_or_file, const config::Machine& machine,
                        const isa::ParamValues& params, Host& host);

inline constexpr std::string_view kBinaryEnding = ".npub";

// Whether this is the binary form: by its ending or by how the file begins.
bool is_binary(const std::string& path);
// Errors: input "cannot-open", those of isa::decode.
isa::Kernel load_binary(const std::string& path);

}  // namespace npulab::cli
