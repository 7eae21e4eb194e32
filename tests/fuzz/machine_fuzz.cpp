// SPDX-License-Identifier: Apache-2.0
// Any text loads as a machine or is refused as input.
#include <cstddef>
#include <cstdint>
#include <string>

#include "isa/error.hpp"
#include "sim/config/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    npulab::config::machine_from_text(std::string(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  } catch (const npulab::Error& error) {
    if (error.category() != npulab::Category::input) throw;
  }
  return 0;
}
