// SPDX-License-Identifier: Apache-2.0
// Rules between the keys of a machine; ranges of single keys stand in the field tables.
#pragma once

#include <vector>

#include "sim/config/machine.hpp"
#include "sim/config/problems.hpp"

namespace npulab::config {

// Every broken rule with its key path and values, without a place. Codes: "bad-name", "unknown-name",
// "duplicate-name", "bad-combination".
std::vector<Problem> validate(const Machine& machine);

}  // namespace npulab::config
