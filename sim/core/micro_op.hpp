// SPDX-License-Identifier: Apache-2.0
// Instructions decoded for one machine and one launch: register numbers, addresses, lane functions and costs
// are resolved once, so that running one is a switch and a call.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/error.hpp"
#include "isa/program.hpp"
#include "isa/table.hpp"
#include "sim/config/machine.hpp"
#include "sim/core/value_plan.hpp"
#include "sim/values/lanes.hpp"

namespace npulab::core {

// How the value of a micro-op is computed: the frequent shapes have a path of their own.
enum class Shape : std::uint8_t {
  lanes_full,  // register form, every lane: one call of `lane`
  load_full,   // contiguous vld of a whole operation from the vector buffer
  general      // everything else
};

// A number that is constant or sits in a scalar register.
struct Number {
  std::uint8_t reg = isa::kNoRegister;
  std::int64_t value = 0;
};

// An address: constant + scalar register, in gm (space 0) or a buffer.
struct Address {
  std::uint8_t space = 0;
  std::uint8_t tensor = isa::kNoTensor;
  std::uint64_t tensor_base = 0;  // already part of base.value
  Number base;
};

struct RegisterRange {
  std::uint16_t first = 0;  // vector register number
  std::uint16_t count = 0;  // 0: the operand is no vector register
};

// Everything that the scoreboard needs of an instruction; times in cycles.
struct Timing {
  isa::Port port = isa::Port::Scalar;
  bool vector = false;         // starts on the vector unit
  std::uint32_t latency = 1;   // from start until the result is ready
  std::uint32_t interval = 1;  // the port is taken for this long
  RegisterRange write;         // vector registers written
  std::array<RegisterRange, 4> reads{};
  std::uint8_t read_count = 0;
  std::uint8_t scalar_write = isa::kNoRegister;
  std::uint8_t scalar_write2 = isa::kNoRegister;  // base register of a post-increment
  std::array<std::uint8_t, 16> scalar_reads{};
  std::uint8_t scalar_read_count = 0;
};

struct MicroOp {
  isa::Op op = isa::Op::Nop;
  isa::Family family = isa::Family::Scalar;
  isa::Format format = isa::Format::None;
  Shape shape = Shape::general;
  isa::DType type = isa::DType::none;
  isa::DType type2 = isa::DType::none;

  // Vector operands: byte offsets into the register file; slot order of the format.
  std::uint32_t dst = 0, a = 0, b = 0, c = 0;
  std::uint32_t lanes = 0;          // of the whole operation
  std::uint32_t element_bytes = 0;  // of the memory operand
  values::LaneFunction lane = nullptr;
  values::RowsFunction rows = nullptr;  // the same on rows, if there is such a function

  std::array<Number, isa::kMaxOperands> scalars{};     // operand slots that are numbers
  std::array<Address, isa::kMaxOperands> addresses{};  // operand slots that are views, by slot
  std::array<Number, isa::kModCount> mods{};           // only those in mod_set
  std::uint64_t mod_set = 0;                           // bit per isa::Mod
  std::uint8_t broadcast = 0;  // how slot b (or value) is made: 0 as is, 1 lane, 2 scalar, 3 constant
  std::array<std::byte, 8> constant{};  // the immediate as an element of the type
  std::uint32_t flops_per_lane = 0;
  bool overlaps = false;  // dst shares registers with a source in a way that lane functions do not allow

  std::uint8_t engine = 0;       // copy, barrier: which engine; flags: destination
  std::uint8_t engine_from = 0;  // flags: source
  std::uint16_t path = 0;        // copy: index into the engine's paths
  std::uint8_t scale_space = 0;  // fixpipe: where the factors for each column lie
  std::uint32_t target = 0;      // branches and loops
  Timing timing;                 // in the stream of the front end
  Timing unit_timing;            // on the vector unit, where that has a queue of its own

  bool has(isa::Mod mod) const { return (mod_set >> static_cast<unsigned>(mod) & 1U) != 0; }
  const Number& mod(isa::Mod which) const { return mods[static_cast<std::size_t>(which)]; }
};

// What the value loop needs of a frequent operation, in one cache line: a program of thousands of operations
// stays in the host's caches.
struct alignas(64) HotOp {
  values::LaneFunction lane = nullptr;  // lanes_full
  std::int64_t base = 0;                // load_full: constant part of the offset
  std::int64_t increment = 0;           // added to the base register afterwards
  std::uint32_t dst = 0, a = 0, b = 0, c = 0;
  std::uint32_t lanes = 0;
  std::uint32_t bytes = 0;
  Shape shape = Shape::general;
  std::uint8_t space = 0;
  std::uint8_t base_reg = isa::kNoRegister;
};
static_assert(sizeof(HotOp) == 64);

inline constexpr std::size_t kMostVectorRegisters = 256;
using RegisterSet = std::bitset<kMostVectorRegisters>;

inline constexpr std::size_t kMostScalarRegisters = 64;
using ScalarSet = std::uint64_t;  // bit per register

// A run of micro-ops without control, synchronisation or transfers: the unit of the block-timing cache.
struct Block {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool reads_addresses = false;  // timing depends on addresses (bank conflicts possible): never cached
  std::uint64_t flops = 0;       // of the operations that always use all lanes
  std::uint32_t vector_count = 0;
  RegisterSet live_in;       // vector registers read before they are written
  RegisterSet written;       // vector registers written
  ScalarSet scalars_in = 0;  // the same of scalar registers
  ScalarSet scalars_written = 0;
  std::vector<std::uint32_t>
      bare;  // all that a run without values needs: scalar work, post-increments, lane counts
  std::vector<PlanSegment> plan;  // all that a run with values needs
};

struct DecodedProgram {
  const isa::Program* program = nullptr;
  const isa::Kernel* kernel = nullptr;
  std::vector<MicroOp> ops;
  std::vector<HotOp> hot;  // by pc
  std::vector<Block> blocks;
  std::vector<std::int32_t> block_at;  // by pc: index of the block that begins there, or -1
  bool values_steer_time = false;      // lds, vgather and so on: timing cannot be had without values
  std::string value_steered_by;        // mnemonic of the first such instruction

  Where where(std::uint32_t pc) const;
};

// `tensor_base`: gm address of each tensor of the kernel. The program has been checked against the machine's
// target.
DecodedProgram decode(const isa::Kernel& kernel, const isa::Program& program, const config::Machine& machine,
                      const config::CoreTypeConfig& core, const isa::Target& target,
                      std::span<const std::uint64_t> tensor_base);

}  // namespace npulab::core
