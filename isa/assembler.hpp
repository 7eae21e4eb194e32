// SPDX-License-Identifier: Apache-2.0
// The assembler: the text form of a kernel to its instructions. docs/isa.md describes the text form.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "isa/program.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

struct Source {
  std::string name;  // file, for messages and as the base of relative includes
  std::string text;
};

using ParamValues = std::map<std::string, std::int64_t>;

struct AssembleOptions {
  // The source behind the name that stands in .include, `name` joined with the folder of the including
  // source. Without it .include is refused. Errors that it throws are reported at the .include.
  std::function<Source(const std::string& name)> include;
  // Further core types of the machine, for programs that are bound to one of them.
  std::vector<Target> other_core_types;
};

// A kernel with several programs, or one that says `cores=`, is assembled for just these cores
// (Program::cores of each is set where an expression depends on them); see first() and count() in
// isa/expression.hpp. Throws Error(input) with up to 20 messages, one a line, each with file:line:column.
Kernel assemble(const Source& source, const Target& target, const ParamValues& overrides = {},
                const AssembleOptions& options = {});

// Name, purpose, parameters, tensors and reference alone, without a machine. Throws as assemble does, and
// where one of them depends on the machine.
KernelHeader read_header(const Source& source, const ParamValues& overrides = {},
                         const AssembleOptions& options = {});

}  // namespace npulab::isa
