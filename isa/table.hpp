// SPDX-License-Identifier: Apache-2.0
// The instruction table as data: one InstructionInfo per row of instructions.def, one FormatInfo per operand
// shape, one ModInfo per modifier.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "isa/dtype.hpp"
#include "isa/instruction.hpp"

namespace npulab::isa {

enum class Family : std::uint8_t {
  Vector,
  VectorMemory,
  Matrix,
  Tile,
  Transfer,
  Sync,
  Scalar,
  Control,
  Debug
};
// Which issue port an instruction takes: at most as many of one port per cycle as the machine declares.
enum class Port : std::uint8_t { Load, Store, Arithmetic, Scalar };
inline constexpr std::size_t kPortCount = 4;

// Which latency and interval of the machine an instruction costs. The first kVectorCostClasses are keys of
// the vector unit, then Matrix is costed by the matrix unit, the next ones by the scalar unit; Transfer by
// DMA paths, Sync takes one issue slot, Free nothing.
enum class CostClass : std::uint8_t {
  Load,
  Store,
  Simple,
  Add,
  Multiply,
  Fma,
  Divide,
  Transcendental,
  Convert,
  Reduce,
  Permute,
  Matrix,
  ScalarOp,
  ScalarMultiply,
  ScalarDivide,
  ScalarLoad,
  ScalarStore,
  Branch,
  LoopStart,
  Transfer,
  Sync,
  Free
};
inline constexpr std::size_t kVectorCostClasses = 11;

enum class Format : std::uint8_t {
  None,
  Unary,
  Binary,
  Ternary,
  WideTernary,
  DotTernary,
  Select,
  Convert,
  Reduction,
  Duplicate,
  Slide,
  Extract,
  VectorLoad,
  VectorStore,
  Gather,
  MatrixProduct,
  SparseProduct,
  Tile,
  Copy,
  Post,
  SetFlag,
  WaitFlag,
  Release,
  Acquire,
  Barrier,
  ScalarUnary,
  ScalarBinary,
  ScalarRead,
  ScalarLoad,
  ScalarStore,
  Jump,
  Branch,
  Loop,
  Print,
  Assert,
  Region,
  kCount
};

inline constexpr DTypeSet kNoTypes = 0;
inline constexpr DTypeSet kFloatTypes = set_of(DType::f32) | set_of(DType::f16) | set_of(DType::bf16);
inline constexpr DTypeSet kSignedIntTypes = set_of(DType::i32) | set_of(DType::i16) | set_of(DType::i8);
inline constexpr DTypeSet kIntTypes = kSignedIntTypes | set_of(DType::u8);
inline constexpr DTypeSet kSignedTypes = kFloatTypes | kSignedIntTypes;
inline constexpr DTypeSet kArithTypes = kFloatTypes | kIntTypes;
inline constexpr DTypeSet kByteTypes = set_of(DType::i8) | set_of(DType::u8);
inline constexpr DTypeSet kI32Type = set_of(DType::i32);
inline constexpr DTypeSet kAccumulatorTypes = kFloatTypes | kI32Type;
inline constexpr DTypeSet kWideTypes = set_of(DType::f32) | set_of(DType::i32) | set_of(DType::i16);
inline constexpr DTypeSet kNarrowTypes =
    set_of(DType::f16) | set_of(DType::bf16) | set_of(DType::i16) | set_of(DType::i8) | set_of(DType::u8);
inline constexpr DTypeSet kMatrixTypes = kFloatTypes | set_of(DType::f8e4m3) | set_of(DType::f8e5m2) |
                                         set_of(DType::i16) | kByteTypes | set_of(DType::i4);
inline constexpr DTypeSet kByteWideTypes =
    kArithTypes | set_of(DType::f8e4m3) | set_of(DType::f8e5m2);  // everything that fills whole bytes
inline constexpr DTypeSet kAllTypes = kByteWideTypes | set_of(DType::i4);

// What one operand slot accepts, as a set of OperandKind.
using KindSet = std::uint16_t;
constexpr KindSet kind(OperandKind k) {
  return static_cast<KindSet>(1U << static_cast<unsigned>(k));
}

enum class Role : std::uint8_t { none, read, write, read_write };
// Which element type a vector slot has, hence how many registers it takes: lanes * bits(type) / 8 bytes.
// `accumulator`: what products of `type` are summed in.
enum class SlotType : std::uint8_t { none, type, type2, i32, accumulator };

struct Slot {
  std::string_view name;
  Role role;
  KindSet kinds;
  SlotType element;
};

struct FormatInfo {
  Format format;
  std::string_view name;
  std::span<const Slot> slots;
  std::span<const Mod> mods;
};

// `number`, the enumeration that the value is one of, a tile (isa/tile.hpp) or an index into Target::engines.
enum class ModKind : std::uint8_t { number, rounding, layout, tile, engine };
struct Enumeration {
  ModKind kind;
  std::string_view noun;   // "rounding mode"
  std::string_view error;  // code of the error for any other word
  std::span<const std::string_view> names;
};
struct ModInfo {
  Mod mod;
  std::string_view name;
  ModKind kind;
  bool may_be_register;
  std::int64_t min;
  std::int64_t max;
  std::string_view meaning;
};

struct InstructionInfo {
  Op op;
  std::string_view mnemonic;
  std::uint16_t code;
  Family family;
  Port port;
  CostClass cost;
  Format format;
  DTypeSet types;
  DTypeSet types2;
  std::string_view meaning;
  std::string_view port_name;  // as the enumerators are spelled
  std::string_view cost_name;
};

std::span<const InstructionInfo> instructions();
const InstructionInfo& info(Op op);
const FormatInfo& info(Format format);
const ModInfo& info(Mod mod);
std::optional<Op> op_named(std::string_view mnemonic);
std::optional<Op> op_coded(std::uint16_t code);
std::optional<Mod> mod_named(std::string_view name);
std::string_view name(Family family);
std::string_view name(Round round);
// The names that a modifier takes for its value, nullptr where it takes something else.
const Enumeration* enumeration(Mod mod);
// What a modifier's value is, as in "rounding mode"; empty for numbers.
std::string_view noun(Mod mod);

// What matrix instructions sum products of this type in: f32 for floats, i32 for integers.
DType accumulator(DType type);

// Legal pair of types, beyond the sets of the row: vfmaw needs type wider than type2 and of its kind (float
// or integer), vcvt needs two different types,
// matrix instructions take one type for both operands or two of one kind.
bool legal_types(const InstructionInfo& row, DType type, DType type2);

// Lanes of an instruction in register form for an operation of `operation_bits`.
unsigned lanes(const InstructionInfo& row, DType type, DType type2, unsigned operation_bits);
// Bytes of the vector operand in `slot` (0 when the slot holds no vector).
unsigned slot_bytes(const InstructionInfo& row, std::size_t slot, DType type, DType type2,
                    unsigned operation_bits);

}  // namespace npulab::isa
