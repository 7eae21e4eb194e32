// SPDX-License-Identifier: Apache-2.0
// The bytes that an instruction touches around the address of one of its views, as far as its operands fix
// them.
#pragma once

#include <cstdint>
#include <optional>

#include "isa/instruction.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

struct Extent {
  std::int64_t low = 0;   // first byte, relative to the address
  std::int64_t high = 0;  // one past the last byte; equal to low when nothing is touched
};

// nullopt when a scalar register takes part. Bounds beyond ±2^62 are clamped there.
std::optional<Extent> view_extent(const Instruction& instruction, std::size_t slot, const Target& target);

}  // namespace npulab::isa
