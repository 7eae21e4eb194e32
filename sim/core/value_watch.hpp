// SPDX-License-Identifier: Apache-2.0
// Where values go wrong, for the full sanitizer: the operations that first make NaN or an infinity out of
// numbers, told when an output holds some (lanes that nobody uses may hold anything), narrow accumulators
// that no longer take up what is added to them, integer sums that wrapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/micro_op.hpp"
#include "sim/values/matrix.hpp"

namespace npulab::core {

class CoreState;

class ValueWatch {
 public:
  // Of one lane-wise operation, before and after it: `old` is what dst held. Sources of `lanes` lanes; a
  // broadcast one is a single element.
  struct Lanes {
    const std::byte* dst;
    const std::byte* old;
    const std::byte* a;
    const std::byte* b;
    std::uint32_t lanes;
  };
  void look(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
            const Lanes& lanes);
  static bool watches(const MicroOp& op);
  // Calls the operation's lane function and looks at what it did.
  void run(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
           std::byte* dst, const std::byte* a, const std::byte* b, const std::byte* c, std::uint32_t lanes);
  // Of a product: whether what goes into it is finite, and what came out.
  static bool begins_finite(const values::MatrixMultiply& product);
  void look(const DecodedProgram& program, std::uint32_t pc, CoreState& state, bool finite_before,
            const values::MatrixMultiply& done, const values::MatrixCounts& result);
  // Of a row on its way through post-operations; `in` as it was, of type2.
  void look(const DecodedProgram& program, std::uint32_t pc, const CoreState& state, const std::byte* in,
            const std::byte* out, std::uint64_t count);
  // At the end of a run. `output`: one that holds NaN or infinities, if any does. Findings "nan-produced",
  // "infinity-produced", "additions-lost", "sum-wrapped".
  void finish(const DecodedProgram& program, CoreState& state, const std::string& output) const;
  void reset();

 private:
  struct Counts {
    std::uint64_t additions = 0;  // of something, to a narrow accumulator
    std::uint64_t lost = 0;       // that left it as it was
    std::uint64_t wrapped = 0;
  };
  struct Produced {  // the first time at this place
    std::uint32_t pc = 0;
    bool nan = false;
    std::string message;
  };
  Counts& counts(const DecodedProgram& program, std::uint32_t pc);
  // Whether the place has told already.
  bool told(std::uint32_t pc) const;
  void find_not_finite(std::uint32_t pc, const MicroOp& op, const CoreState& state, const Lanes& lanes);

  std::vector<Counts> counts_;  // by pc
  std::vector<Produced> produced_;
  std::vector<std::byte> old_;  // what dst held
};

// Whether one of `count` elements is NaN or infinite; never for integers.
bool any_not_finite(isa::DType type, const std::byte* data, std::uint64_t count);

// Calls the operation's lane function, watched where the state asks for it.
void apply_lanes(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
                 std::byte* dst, const std::byte* a, const std::byte* b, const std::byte* c,
                 std::uint32_t lanes);

}  // namespace npulab::core
