// SPDX-License-Identifier: Apache-2.0
// What the assembler must know of a machine: plain limits and names, filled by sim/config (make_target).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isa/dtype.hpp"
#include "isa/instruction.hpp"
#include "isa/layout.hpp"
#include "isa/table.hpp"
#include "isa/tile.hpp"

namespace npulab::isa {

struct Space {  // a memory that views can name
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;  // of every access by the vector unit and the scalar unit, bytes
  // A buffer of other cores, called TYPE.BUFFER: only copies reach it. Empty: gm or a buffer of this core.
  std::string core_type = {};
  std::uint8_t remote_space = 0;  // its index in the spaces of that core type
  unsigned cores = 1;             // of that core type on the machine

  bool remote() const { return !core_type.empty(); }
};

enum class OperandForm : std::uint8_t { registers, ub };  // ub: vector operands are views with repeat

inline constexpr std::uint8_t kScalarEngineIndex = 0;  // in Target::engines
inline constexpr std::uint8_t kVectorEngineIndex = 1;

struct CopyPath {  // a DMA path: copy from one space to another runs on this engine
  std::uint8_t from = 0;
  std::uint8_t to = 0;
  std::uint8_t engine = 0;
  LayoutSet layouts = 0;         // that it converts between
  bool post = false;             // has post-operations
  std::uint8_t scale_space = 0;  // of factors for each column; gm: none
  bool multicast = false;        // a copy may feed several cores
};

enum class MatrixKind : std::uint8_t { cube, systolic, mmul };

// Types that a matrix unit multiplies, and the tile of one step: m x k by k x n.
struct MatrixShape {
  DType a = DType::none;
  DType b = DType::none;
  unsigned m = 1;
  unsigned k = 1;
  unsigned n = 1;

  std::int64_t code() const { return tile_code({m, k, n}); }
};

struct MatrixLimits {
  MatrixKind kind = MatrixKind::cube;
  std::uint8_t a = 0;  // memories of the operands; mmul has its operands in vector registers
  std::uint8_t b = 0;
  std::uint8_t c = 0;
  std::uint8_t bias = 0;  // 0: no bias
  bool sparse_list = false;
  bool sparse_structured = false;
  unsigned rows = 0;  // of a systolic array; 0 otherwise
  unsigned columns = 0;
  std::vector<MatrixShape> types;

  // The first row of these types, b = none meaning a, and of this tile (0: any); nullptr when there is none.
  const MatrixShape* shape(DType a, DType b, std::int64_t tile = 0) const;
};

struct Target {
  std::string machine;
  std::string core_type;
  std::vector<Space> spaces;         // [0] is gm
  std::vector<std::string> engines;  // [0] "scalar", [1] "vector", then the DMA engines in file order
  std::vector<CopyPath> paths;
  std::vector<std::pair<std::uint8_t, std::uint8_t>> flag_pairs;  // legal (source, destination) engines
  unsigned flag_ids = 8;                                          // per pair: ids 0 … flag_ids-1
  unsigned semaphores = 0;                                        // of one core: ids 0 … semaphores-1
  unsigned semaphore_max = 63;
  unsigned cores = 1;
  unsigned scalar_registers = 32;
  unsigned loop_depth = 4;
  bool vector_unit = true;  // false: the core has none, and everything below is 0
  OperandForm form = OperandForm::registers;
  unsigned vector_registers = 128;
  unsigned register_bits = 128;
  unsigned operation_bits =
      256;  // a register operand names the first of operation_bits/register_bits, aligned
  unsigned ub_block_bytes = 32;  // ub form: one repeat is ub_blocks blocks
  unsigned ub_blocks = 8;
  unsigned max_repeat = 255;
  std::uint8_t vector_space = 1;  // the buffer that vector loads, stores and views address
  DTypeSet vector_types = 0;      // element types that this vector unit has
  std::optional<MatrixLimits> matrix;
};

// The tile of a matrix instruction in registers; nullptr where the machine does not have it.
const MatrixShape* tile_of(const Instruction& instruction, const Target& target);
// The path that a copy takes: between its memories, on the engine that it names, else the first.
const CopyPath* path_of(const Instruction& copy, const Target& target);
// Bytes of the vector operand in `slot` (0 when the slot holds no vector).
unsigned slot_bytes(const Instruction& instruction, std::size_t slot, const Target& target);
// Registers that such an operand takes.
unsigned slot_registers(const Instruction& instruction, std::size_t slot, const Target& target);

// Name of the machine and a hash of everything above: a kernel is assembled for these limits and no others.
std::string fingerprint(const Target& target);
// Name of the machine and a hash of everything above for these core types of it: a kernel is assembled for
// these limits and no others.
std::string fingerprint(std::span<const Target* const> targets);

}  // namespace npulab::isa
