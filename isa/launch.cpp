// SPDX-License-Identifier: Apache-2.0
#include "isa/launch.hpp"

#include <fmt/format.h>

#include "isa/check.hpp"
#include "isa/error.hpp"

namespace npulab::isa {

std::vector<LaunchPart> launch_parts(std::span<const LaunchWish> programs, const Target& target,
                                     std::span<const Target> others) {
  std::vector<LaunchPart> parts;
  std::uint32_t first = 0;
  for (const LaunchWish& program : programs) {
    const Target& own = target_for(program.core_type, target, others);
    std::uint32_t taken = 0;
    for (const LaunchPart& part : parts)
      if (part.core_type == own.core_type) taken += part.cores;
    if (taken > 0 && parts.back().core_type != own.core_type)
      throw Error(
          Category::input, "program-order",
          fmt::format("program {} is on core type '{}' again, behind one on '{}'; programs of one core "
                      "type stand one after the other",
                      parts.size() + 1, own.core_type, parts.back().core_type));
    const std::uint32_t left = own.cores - taken;
    const std::uint32_t cores = program.cores == 0 ? left : program.cores;
    if (cores == 0 || cores > left)
      throw Error(Category::input, "too-many-cores",
                  fmt::format("program {} takes {} of the cores of type '{}': machine '{}' has {}, and the "
                              "programs before it take {}",
                              parts.size() + 1, cores == 0 ? "the rest" : fmt::format("{}", cores),
                              own.core_type, own.machine, own.cores, taken));
    parts.push_back({own.core_type, first, taken, cores});
    first += cores;
  }
  return parts;
}

std::vector<LaunchPart> launch_parts(const Kernel& kernel, const Target& target,
                                     std::span<const Target> others) {
  std::vector<LaunchWish> wishes;
  for (const Program& program : kernel.programs) wishes.push_back({program.core_type, program.cores});
  return launch_parts(wishes, target, others);
}

std::vector<LaunchCount> launch_counts(std::span<const LaunchPart> parts) {
  std::vector<LaunchCount> counts;
  for (const LaunchPart& part : parts) {
    if (counts.empty() || counts.back().core_type != part.core_type)
      counts.push_back({part.core_type, part.first, 0});
    counts.back().count += part.cores;
  }
  return counts;
}

}  // namespace npulab::isa
