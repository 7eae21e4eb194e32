// SPDX-License-Identifier: Apache-2.0
// Reads machine files: YAML or JSON, `extends`, command-line settings, every check.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/machine.hpp"

namespace npulab::config {

struct LoadOptions {
  std::vector<std::string> set;  // "a.b.c=value", in order, applied last; null removes a named section
  std::vector<std::filesystem::path> search;  // folders that machine names are looked up in
};

// `name_or_file` with a slash or ending in .yaml, .yml or .json is a file, anything else a name.
// Errors, all of category input, each problem with file:line:column and key path, at most 20 in one message:
// "unknown-machine", "cannot-open", "not-text", "yaml-syntax", "too-large", "empty-file", "extends" (cycle or
// too deep), "unknown-key", "missing-key", "duplicate-key", "wrong-type", "out-of-range", "unknown-choice",
// "empty-section", "bad-setting", and those of validate().
Machine load_machine(const std::string& name_or_file, const LoadOptions& options = {});

// The same from a text; `source` stands for the file in messages.
Machine machine_from_text(const std::string& text, const std::string& source,
                          const LoadOptions& options = {});

struct MachineInfo {
  std::string name;  // as load_machine takes it: the file's name without its ending
  std::filesystem::path path;
  std::string doc;
};

// Machines of the search folders by name; of one name the first counts, as in load_machine. Errors: those of
// load_machine when a file does not load.
std::vector<MachineInfo> list_machines(const std::vector<std::filesystem::path>& search);

}  // namespace npulab::config
