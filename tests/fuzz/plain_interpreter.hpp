// SPDX-License-Identifier: Apache-2.0
// What a kernel means: a plain interpreter that takes one instruction after another, in program order, and
// knows nothing of engines and time. Written from docs/isa.md, apart from sim/core: a run of a kernel whose
// dependences all have their flags leaves the same bytes behind.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/program.hpp"
#include "isa/target.hpp"
#include "sim/config/machine.hpp"
#include "tests/simulator/lane_reference.hpp"

namespace npulab::test {

// The program does what it must not (an access out of bounds, a division by zero), takes too many steps, or
// uses what this interpreter has no meaning for (sparse_gemm, mmul, fixpipe, hold).
class PlainFault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

__extension__ using Wide = __int128;

struct PlainCore {
  struct Loop {
    std::size_t begin, end;
    std::int64_t left;  // turns after this one
  };
  std::int64_t id = 0;
  std::int64_t count = 1;
  std::vector<std::int64_t> s;
  Bytes v;                    // the register file
  std::vector<Bytes> spaces;  // by number; [0], gm, is empty
  std::vector<Loop> loops;
  std::size_t pc = 0;
  bool ended = false;
};

class PlainInterpreter {
 public:
  // Of the kernel's only program; its tensors lie without gaps. All three outlive the interpreter.
  PlainInterpreter(const config::Machine& machine, const isa::Target& target, const isa::Kernel& kernel,
                   unsigned cores);

  Bytes& tensor(const std::string& name);  // zeros until something is put in
  // Every core to its end. Between two sync_cores the cores take turns: each comes to the next one alone.
  void run();

 private:
  // A stretch of memory that a view names.
  struct Place {
    std::uint8_t space = 0;
    std::uint8_t tensor = isa::kNoTensor;
    std::int64_t offset = 0;
  };

  bool step();  // false at sync_cores and at the end
  void next_loop_turn();
  std::int64_t number(const isa::Operand& operand) const;
  std::int64_t mod(const isa::Instruction& in, isa::Mod which, std::int64_t otherwise) const;
  Place place(const isa::Operand& view) const;
  std::byte* bytes_at(const Place& place, std::int64_t delta, std::int64_t bytes);
  void increment(const isa::Instruction& in, const isa::Operand& view);
  [[noreturn]] void fault(const std::string& what) const;

  void scalar(const isa::Instruction& in);
  void scalar_memory(const isa::Instruction& in);
  bool control(const isa::Instruction& in);

  void vector(const isa::Instruction& in);
  void vector_repeat(const isa::Instruction& in, const LaneCall& call, std::size_t whole,
                     std::int64_t repeat);
  Lanes read_slot(const isa::Instruction& in, std::size_t slot, std::size_t lanes, std::int64_t repeat);
  std::uint64_t broadcast_bits(const isa::Operand& operand, DType type) const;
  // Where a lane of an operand is in bits, from the start of the register file or of the buffer.
  std::size_t lane_bit(const isa::Instruction& in, std::size_t slot, std::size_t lane, std::int64_t repeat);
  Bytes& lane_memory() { return target_.form == isa::OperandForm::ub ? vector_buffer() : core_->v; }
  Bytes& vector_buffer() { return core_->spaces[target_.vector_space]; }
  void slide(const isa::Instruction& in);
  void vector_memory(const isa::Instruction& in);

  void copy(const isa::Instruction& in);
  void product(const isa::Instruction& in);

  const config::Machine& machine_;
  const config::CoreTypeConfig& config_;
  const isa::Target& target_;
  const isa::Kernel& kernel_;
  const isa::Program& program_;
  const bool saturate_;
  std::vector<Bytes> tensors_;
  std::vector<PlainCore> cores_;
  PlainCore* core_ = nullptr;
  std::uint64_t steps_ = 0;
};

}  // namespace npulab::test
