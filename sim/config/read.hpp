// SPDX-License-Identifier: Apache-2.0
// From a tree of text to a Machine, checked key by key against the field tables.
#pragma once

#include <string>

#include "sim/config/machine.hpp"
#include "sim/config/node.hpp"

namespace npulab::config {

// Everything that is wrong is added to `problems`; the machine counts only if nothing was.
Machine read_machine(const Node& root, Problems& problems);

// A number as written in messages and pages: 1000000, 0.001, never 1e+06.
std::string number_text(double value);

// "1..64 cycles", "at least 0 ns", empty when every number is legal.
std::string range_text(double min, double max, std::string_view unit);

}  // namespace npulab::config
