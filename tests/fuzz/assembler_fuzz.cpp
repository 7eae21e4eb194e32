// SPDX-License-Identifier: Apache-2.0
// Any text assembles or is refused as input.
#include <cstddef>
#include <cstdint>
#include <string>

#include "isa/assembler.hpp"
#include "isa/error.hpp"
#include "sim/config/load.hpp"
#include "sim/config/machine.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const npulab::isa::Target target =
      npulab::config::make_target(npulab::config::load_machine(NPULAB_SOURCE_DIR "/configs/tiny.yaml"));
  try {
    npulab::isa::assemble({"fuzz.npu", std::string(reinterpret_cast<const char*>(data), size)}, target);
  } catch (const npulab::Error& error) {
    if (error.category() != npulab::Category::input) throw;
  }
  return 0;
}
