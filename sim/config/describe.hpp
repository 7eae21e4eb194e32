// SPDX-License-Identifier: Apache-2.0
// A machine, and the tables it is made of, as text: echo, schema, reference page, comparison, summary.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/config/machine.hpp"

namespace npulab::config {

// Every key with its value, defaults and inherited ones included; loads back to the same machine.
std::string to_yaml(const Machine& machine);
nlohmann::ordered_json to_json(const Machine& machine);

// The derived peaks as comments (bandwidths, GFLOP/s by type, buffer widths), then to_yaml: itself a machine
// file.
std::string summary(const Machine& machine);

// One line "path: a -> b" per key that differs; "(none)" stands for a section that only the other machine
// has.
std::vector<std::string> diff(const Machine& a, const Machine& b);

// JSON schema (draft 2020-12) of a machine file. A file with `extends` may leave out every key and may set a
// named section to null; rules between keys are not part of it.
nlohmann::ordered_json json_schema();

// docs/machines.md: how a file is read, all keys by section, the machines of the search folders. Errors:
// those of list_machines.
std::string reference_markdown(const std::vector<std::filesystem::path>& search);

}  // namespace npulab::config
