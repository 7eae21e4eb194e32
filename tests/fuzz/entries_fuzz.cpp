// SPDX-License-Identifier: Apache-2.0
// libFuzzer on one of the entries. The environment variable NPULAB_FUZZ_ENTRY names it; instead of fuzzing,
//   npulab_fuzz --list              prints the names,
//   npulab_fuzz --seeds FOLDER      writes the entry's seeds there,
//   npulab_fuzz --dictionary FILE   writes its words.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/fuzz/entries.hpp"

namespace {

const npulab::test::Entry& chosen() {
  const char* const name = std::getenv("NPULAB_FUZZ_ENTRY");
  static const npulab::test::Entry& entry = npulab::test::entry_named(name == nullptr ? "" : name);
  return entry;
}

void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::size_t number = 0;
  for (const npulab::test::Input& seed : chosen().seeds()) {
    std::ofstream file(folder / ("seed" + std::to_string(number++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  }
}

void write_words(const std::string& path) {
  std::ofstream file(path);
  for (const std::string& word : chosen().words()) {
    file << '"';
    for (const char c : word) file << (c == '"' || c == '\\' ? "\\" : "") << c;
    file << "\"\n";
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** values) {
  const std::string wish = *count > 1 ? (*values)[1] : "";
  if (wish == "--list") {
    for (const npulab::test::Entry& entry : npulab::test::entries()) std::cout << entry.name << '\n';
    std::exit(0);
  }
  if (wish == "--seeds" || wish == "--dictionary") {
    const std::string path = *count > 2 ? (*values)[2] : ".";
    wish == "--seeds" ? write_seeds(path) : write_words(path);
    std::exit(0);
  }
  chosen();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().take({data, size});
  return 0;
}
