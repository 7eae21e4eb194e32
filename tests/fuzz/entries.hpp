// SPDX-License-Identifier: Apache-2.0
// The doors through which anything comes in: each takes any bytes. What is behind a door takes them or
// refuses them with Error(input); whatever else leaves `take`, a crash or a hang is a find.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace npulab::test {

using Input = std::vector<std::uint8_t>;

struct Entry {
  std::string_view name;
  std::string_view about;
  void (*take)(std::span<const std::uint8_t> bytes);
  std::vector<Input> (*seeds)();        // from what the repository ships
  std::vector<std::string> (*words)();  // worth putting in, from the tables
};

std::span<const Entry> entries();
const Entry& entry_named(std::string_view name);  // throws std::invalid_argument

// Behind the doors.
void take_assembler(std::span<const std::uint8_t> bytes);
void take_binary(std::span<const std::uint8_t> bytes);
void take_machine(std::span<const std::uint8_t> bytes);
void take_npy(std::span<const std::uint8_t> bytes);
void take_program(std::span<const std::uint8_t> bytes);
void take_generated(std::span<const std::uint8_t> bytes);
std::vector<Input> assembler_seeds();
std::vector<Input> binary_seeds();
std::vector<Input> machine_seeds();
std::vector<Input> npy_seeds();
std::vector<Input> choice_seeds();
std::vector<std::string> assembler_words();
std::vector<std::string> machine_words();
std::vector<std::string> npy_words();

}  // namespace npulab::test
