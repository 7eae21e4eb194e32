// SPDX-License-Identifier: Apache-2.0
// The reference of the instruction set, written from the tables.
#pragma once

#include <string>

namespace npulab::isa {

std::string reference_markdown();  // docs/isa.md

}  // namespace npulab::isa
