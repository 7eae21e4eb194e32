// SPDX-License-Identifier: Apache-2.0
// What the files of meanings share: one function per instruction row, and what it sees. Nobody else includes
// this.
#pragma once

#include <algorithm>
#include <cstring>

#include "sim/core/meaning.hpp"

namespace npulab::core {

struct Frame {  // what a meaning sees
  const DecodedProgram& program;
  std::uint32_t pc;
  const MicroOp& op;
  CoreState& state;
};

using Meaning = void (*)(Frame);

// One meaning per row, defined in the file of its family: a row without one does not link. Rows of the vector
// family that work lane by lane share vector_lanes.
template <isa::Op>
void meaning(Frame f);

#define NPU_INSTRUCTION(NAME, MNEMONIC, CODE, FAMILY, PORT, COST, FORMAT, TYPES, TYPES2, TEXT) \
  template <>                                                                                  \
  void meaning<isa::Op::NAME>(Frame f);
#include "isa/instructions.def"

void vector_lanes(Frame f);

inline std::byte* vector_at(CoreState& state, std::uint32_t offset) {
  return state.vectors.data() + offset;
}

// Bytes of one element; of i4 the byte that holds it.
inline unsigned element_size(isa::DType type) {
  return std::max(1U, isa::bits(type) / 8);
}

}  // namespace npulab::core
