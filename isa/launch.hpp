// SPDX-License-Identifier: Apache-2.0
// Which cores run which program of a kernel: one numbering over all programs of a launch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/program.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

// The cores of one program: numbers first … first + cores - 1 of the launch, index … index + cores - 1 of
// their core type.
struct LaunchPart {
  std::string core_type;
  std::uint32_t first = 0;
  std::uint32_t index = 0;
  std::uint32_t cores = 0;
  friend bool operator==(const LaunchPart&, const LaunchPart&) = default;
};

// What a program asks for: Program::core_type and Program::cores.
struct LaunchWish {
  std::string core_type;
  std::uint32_t cores = 0;
};

// One part per program, in their order. A program that names no number of cores takes all of its type that
// the programs before it leave. Throws Error(input): "unknown-core-type", "too-many-cores", "program-order"
// (programs of one core type stand one after the other).
std::vector<LaunchPart> launch_parts(std::span<const LaunchWish> programs, const Target& target,
                                     std::span<const Target> others);
std::vector<LaunchPart> launch_parts(const Kernel& kernel, const Target& target,
                                     std::span<const Target> others);

// Cores of one type over all programs of a launch.
struct LaunchCount {
  std::string core_type;
  std::int64_t first = 0;  // number in the launch of the type's core 0
  std::int64_t count = 0;
  friend bool operator==(const LaunchCount&, const LaunchCount&) = default;
};
std::vector<LaunchCount> launch_counts(std::span<const LaunchPart> parts);

}  // namespace npulab::isa
