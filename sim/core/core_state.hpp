// SPDX-License-Identifier: Apache-2.0
// The architectural state of one core: scalar and vector registers, local buffers. No time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "isa/target.hpp"
#include "sim/config/machine.hpp"
#include "sim/core/diagnostics.hpp"
#include "sim/core/micro_op.hpp"
#include "sim/core/value_watch.hpp"
#include "sim/memory/local_buffer.hpp"
#include "sim/values/matrix.hpp"

namespace npulab::core {

enum class Sanitize : std::uint8_t { off, fast, full };

// Which core of a launch it is.
struct CoreNumber {
  std::uint32_t launch = 0;   // over all programs
  std::uint32_t program = 0;  // among the cores of its program
  std::uint32_t count = 1;    // cores of its program
};

class Races;

// Who does what the state goes through now, for the checks that order accesses.
struct Acting {
  Races* races = nullptr;  // null: nobody asks
  std::uint8_t engine = isa::kScalarEngineIndex;
  std::uint64_t ps = 0;
  std::uint64_t order = 0;  // instructions that the stream had met when it came to this one
};

class CoreState {
 public:
  CoreState(const config::CoreTypeConfig& core, const isa::Target& target, CoreNumber number, bool saturate,
            Sanitize sanitize, Diagnostics& diagnostics);

  // Registers unwritten, buffers poisoned.
  void reset();

  std::int64_t scalar(Number number) const {
    return number.reg == isa::kNoRegister ? number.value : scalars[number.reg];
  }
  // Byte offset of an address, wrapping at 64 bits: constant plus register.
  std::int64_t whole_offset(const Address& address) const {
    return static_cast<std::int64_t>(
        static_cast<std::uint64_t>(address.base.value) +
        (address.base.reg == isa::kNoRegister ? 0U : static_cast<std::uint64_t>(scalars[address.base.reg])));
  }
  // The same; what lies beyond 2^62, out of every memory, is moved there, so that sums with it stay in range.
  std::int64_t offset(const Address& address) const {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 62;
    return std::clamp(whole_offset(address), -kFarthest, kFarthest);
  }
  memory::LocalBuffer& buffer(std::uint8_t space) { return *buffers[space - 1U]; }

  // Records the vector registers of a block (or one operation) as written; those read must have been.
  void note_registers(const DecodedProgram& program, const Block& block);  // scalar registers, too
  void note_registers(const DecodedProgram& program, std::uint32_t pc);
  // The same for the scalar registers of one operation.
  void note_scalars(const DecodedProgram& program, std::uint32_t pc);

  std::array<std::int64_t, kMostScalarRegisters> scalars{};
  std::vector<std::byte> vectors;  // register r at r * register_bytes
  RegisterSet vector_written;
  ScalarSet scalar_written = 0;
  std::vector<std::unique_ptr<memory::LocalBuffer>> buffers;  // by space - 1
  values::MatrixScratch matrix_scratch;
  std::vector<std::byte> array_sums;  // that stay in a systolic array, in the form of C
  Acting acting;
  ValueWatch watch;         // of the full sanitizer
  std::uint64_t flops = 0;  // of operations whose lane count is not fixed
  const isa::Target& target;
  const CoreNumber numbers;
  const std::uint32_t id;  // number in the launch
  const bool saturate;
  const Sanitize sanitize;
  Diagnostics& diagnostics;

 private:
  void unwritten_register(const DecodedProgram& program, std::uint32_t pc, char file, unsigned reg);
};

}  // namespace npulab::core
