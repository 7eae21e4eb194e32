// SPDX-License-Identifier: Apache-2.0
// `--set a.b.c=value`: one value put into the tree of a machine file.
#pragma once

#include <string>

#include "sim/config/node.hpp"

namespace npulab::config {

// The value is YAML. A path goes through keys of the tables, names of sections that exist, and indices of
// lists; its last part may also name a new section, or an existing one that null removes. Problems carry
// "--set a.b.c=value" as their place. Errors: input "bad-setting" when there is no '='; those of parse_yaml.
void apply_setting(Node& root, const std::string& setting, Problems& problems);

Where setting_place(const std::string& setting);  // "--set a.b.c=value", for problems of this setting

}  // namespace npulab::config
