// SPDX-License-Identifier: Apache-2.0
// Commands that are programs of their own: npulab-NAME on the PATH, as git does it.
#pragma once

#include <string>
#include <vector>

namespace npulab::cli {

// Becomes the program npulab-`name` if the PATH has one; returns if not. Errors: input "cannot-run".
void run_external(const std::string& name, const std::vector<std::string>& words);

std::vector<std::string> external_commands();  // their names, sorted
std::string external_help();                   // a paragraph for the help page; empty when there are none

}  // namespace npulab::cli
