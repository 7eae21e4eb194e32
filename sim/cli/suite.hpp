// SPDX-License-Identifier: Apache-2.0
// A suite of runs for `bench`, read from YAML.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "isa/error.hpp"

namespace npulab::cli {

struct SuiteCase {
  std::string name;
  std::string kernel;   // a file is relative to the suite
  std::string machine;  // likewise
  isa::ParamValues params;
  std::vector<std::string> set;  // "key=value"
  std::vector<std::string> in;   // "tensor=data", as --in takes it
  std::uint32_t cores = 0;       // 0: all
  bool timing_only = false;
  Where where;
};

// Errors: input "cannot-open"; with file:line:column and all at once "unknown-key", "missing-key",
// "wrong-type", "duplicate-key", "duplicate-name", "out-of-range"; those of config::parse_yaml.
std::vector<SuiteCase> read_suite(const std::string& path);

}  // namespace npulab::cli
