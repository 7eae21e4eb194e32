// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/entries.hpp"

#include <array>
#include <random>
#include <stdexcept>

namespace npulab::test {

namespace {

std::vector<std::string> no_words() {
  return {};
}

constexpr std::array<Entry, 6> kEntries{{
    {"assembler", "text that is assembled, and what comes of it written and read again", take_assembler,
     assembler_seeds, assembler_words},
    {"binary", "kernels in binary form", take_binary, binary_seeds, no_words},
    {"machine", "machine files, with settings in lines '#set KEY=VALUE'", take_machine, machine_seeds,
     machine_words},
    {"npy", "NumPy files for tensors of every type", take_npy, npy_seeds, npy_words},
    {"program", "instructions of any kind, run as far as they go", take_program, choice_seeds, no_words},
    {"generated", "programs that must leave behind what the plain interpreter does", take_generated,
     choice_seeds, no_words},
}};

}  // namespace

std::span<const Entry> entries() {
  return kEntries;
}

const Entry& entry_named(std::string_view name) {
  std::string known;
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw std::invalid_argument("no entry '" + std::string(name) + "'; known: " + known);
}

// Bytes that decisions are taken from.
std::vector<Input> choice_seeds() {
  std::vector<Input> seeds;
  std::mt19937_64 random(1);
  for (std::size_t size : {40U, 200U, 200U, 1000U, 1000U, 3000U}) {
    Input& seed = seeds.emplace_back(size);
    for (std::uint8_t& byte : seed) byte = static_cast<std::uint8_t>(random() & 0xffU);
  }
  return seeds;
}

}  // namespace npulab::test
