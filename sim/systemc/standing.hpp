// SPDX-License-Identifier: Apache-2.0
// Where an engine stands and what it waits for, as the report of a stall and a breakpoint tell it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/core/flags.hpp"
#include "sim/core/semaphores.hpp"

namespace npulab::systemc {

enum class WaitFor : std::uint8_t {
  nothing,    // it works, or will
  flag,       // of its core
  semaphore,  // of its core, to be at least `by`
  room,       // in the queue of `engine`
  engines,    // of its core, to be done
  cores,      // at sync_cores
  answers,    // of a memory, `count` of them
  inputs      // of other cores' buffers
};

struct Standing {
  std::uint32_t pc = 0;
  WaitFor what = WaitFor::nothing;
  core::FlagId flag{};
  core::SemaphoreId semaphore{};
  std::uint32_t by = 0;
  std::uint8_t engine = 0;
  std::size_t count = 0;  // of answers; else of entries in its queue
};

}  // namespace npulab::systemc
