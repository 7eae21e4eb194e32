// SPDX-License-Identifier: Apache-2.0
// Random kernels that end, as text: scalar and vector code, copies, products, loops and branches, every
// dependence with its flag. What they must leave behind, the plain interpreter says.
#pragma once

#include <string>
#include <vector>

#include "isa/table.hpp"
#include "isa/target.hpp"
#include "sim/config/machine.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/flag_planner.hpp"

namespace npulab::test {

using isa::DType;
using isa::Op;

inline constexpr unsigned kRandomCores = 2;         // that random programs are launched on
inline constexpr std::int64_t kPart = 2048;         // bytes of y that one core writes
inline constexpr std::int64_t kSourceBytes = 4096;  // of A, which all cores read

struct ProgramOptions {
  // Now and then a flag is left out or an address may be anything: races, stalls and refusals come about.
  bool broken = false;
};

struct RandomProgram {
  std::string text;
  bool sound = true;          // nothing was left out: the values are those of the plain interpreter
  bool values_steer = false;  // timing-only is refused
};

// Tensors: A u8 [kSourceBytes] in, y u8 [kPart * kRandomCores] inout.
class ProgramWriter {
 public:
  // `machine` and `target` outlive the writer; the target is that of the machine's first core type.
  ProgramWriter(const config::Machine& machine, const isa::Target& target, Choices choices,
                ProgramOptions options);

  RandomProgram write();

 private:
  struct Region {  // what programs use of a local memory
    std::int64_t bytes = 0;
    std::int64_t alignment = 1;
    bool written = false;  // by the prologue
  };
  // Where a view of a random place goes: its text and the bytes that it may reach.
  struct View {
    std::string text;
    Access reach;
    bool by_register = false;
  };

  void prologue();
  void phase(unsigned number);
  void statements(unsigned depth);
  void statement(unsigned depth);

  void scalar();
  void loop(unsigned depth);
  void branch(unsigned depth);
  void debug();
  void scalar_memory();
  void vector_memory();
  void vector();
  std::string scalar_operand(isa::DType type, std::size_t lanes);
  std::string view_operand(const isa::InstructionInfo& row, std::size_t slot, unsigned repeats,
                           std::vector<std::string>& mods, std::vector<Access>& accesses);
  void transfer();
  void fractals(const isa::CopyPath& path);
  // Products have their sums in a memory of their own: they must not overlap what goes in.
  bool multiplies() const {
    return target_.matrix && target_.matrix->kind != isa::MatrixKind::mmul &&
           target_.matrix->c != target_.matrix->a && target_.matrix->c != target_.matrix->b;
  }
  void gemm(bool whole);
  void neighbour();
  void pipeline();

  // A view of the region of `space` with `extent` bytes behind it, `low` bytes before its start belonging to
  // it too; sometimes through a register.
  View view(unsigned space, std::int64_t extent, bool write, std::int64_t low = 0);
  View tensor_view(bool output, std::int64_t extent, bool write, std::int64_t low);
  void emit(unsigned engine, const std::vector<Access>& accesses, const std::string& line);
  void line(const std::string& text) { text_ += text; }
  void flag(const std::string& text);
  void everything_over();
  std::string given(std::int64_t value);  // a number, or a register that holds it
  unsigned data() { return 2 + static_cast<unsigned>(choices_.pick(8)); }  // s2…s9
  unsigned vector_register(unsigned groups);

  const config::CoreTypeConfig& core_;
  const isa::Target& target_;
  Choices choices_;
  const ProgramOptions options_;
  FlagPlanner planner_;
  std::vector<Region> regions_;
  unsigned groups_ = 0;  // vector registers in use, in groups of one operation
  std::string text_;
  RandomProgram result_;
  unsigned phase_ = 0;
  unsigned open_loops_ = 0;
  unsigned labels_ = 0;
  unsigned numbers_ = 0;  // registers that hold numbers and addresses come in turn
  unsigned addresses_ = 0;
  bool queued_used_ = false;  // since the start of the innermost loop, an engine with a queue had work
};

}  // namespace npulab::test
