// SPDX-License-Identifier: Apache-2.0
// One instruction as data: what the assembler makes, the binary form stores and the simulator reads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "isa/dtype.hpp"
#include "isa/layout.hpp"

namespace npulab::isa {

enum class Op : std::uint16_t {
#define NPU_INSTRUCTION(NAME, MNEMONIC, CODE, FAMILY, PORT, COST, FORMAT, TYPES, TYPES2, MEANING) NAME,
#include "isa/instructions.def"
  kCount
};
inline constexpr std::size_t kOpCount = static_cast<std::size_t>(Op::kCount);

enum class OperandKind : std::uint8_t {
  none,
  vreg,    // reg: vector register
  lane,    // reg: vector register, imm: lane
  sreg,    // reg: scalar register
  imm,     // imm: integer
  fimm,    // imm: bits of a double (std::bit_cast), converted to the element type exactly once at decode
  view,    // space, tensor, reg (base register or kNoRegister), imm: byte offset
  engine,  // reg: index into Target::engines; kAllEngines for 'all'
  target   // imm: index of an instruction in the same program
};

inline constexpr std::uint8_t kNoRegister = 0xff;
inline constexpr std::uint8_t kNoTensor = 0xff;
inline constexpr std::uint8_t kAllEngines = 0xff;
inline constexpr std::uint8_t kGmSpace = 0;  // space 0 is gm; others are Target::spaces[space]

struct Operand {
  OperandKind kind = OperandKind::none;
  std::uint8_t reg = kNoRegister;
  std::uint8_t space = 0;
  std::uint8_t tensor = kNoTensor;  // index into KernelHeader::tensors: its base address is added at launch
  std::int64_t imm = 0;

  friend bool operator==(const Operand&, const Operand&) = default;
};

// Modifiers: `{name=value}` after the operands. A value is a scalar register or an integer, except for the
// enumerations of ModKind.
enum class Mod : std::uint8_t {
  n,
  mask,
  stride,
  inc,
  round,
  repeat,
  dst_block,
  dst_repeat,
  a_block,
  a_repeat,
  b_block,
  b_repeat,
  count,
  src_pitch,
  dst_pitch,
  count2,
  src_pitch2,
  dst_pitch2,
  pad_to,
  layout,
  scale,
  scale_at,
  relu,
  accumulate,
  hold,
  structured,
  width,
  bias,
  transpose_a,
  transpose_b,
  a_pitch,
  b_pitch,
  c_pitch,
  operands,
  core,
  cores,
  core_step,
  by,
  shape,
  engine,
  kCount
};
inline constexpr std::size_t kModCount = static_cast<std::size_t>(Mod::kCount);

enum class Round : std::uint8_t { nearest_even, toward_zero, down, up, nearest_away };  // Mod::round

inline constexpr std::size_t kMaxOperands = 7;
inline constexpr std::size_t kMaxMods = 12;

struct ModValue {
  Mod mod = Mod::kCount;
  Operand value;  // sreg or imm
  friend bool operator==(const ModValue&, const ModValue&) = default;
};

struct Instruction {
  Op op = Op::Nop;
  DType type = DType::none;
  DType type2 = DType::none;
  std::uint8_t operand_count = 0;
  std::uint8_t mod_count = 0;
  std::array<Operand, kMaxOperands> operands{};
  std::array<ModValue, kMaxMods> mods{};  // sorted by Mod

  // The value of a modifier, or nullptr when it was not given.
  const Operand* mod(Mod which) const {
    for (std::size_t i = 0; i < mod_count; ++i)
      if (mods[i].mod == which) return &mods[i].value;
    return nullptr;
  }
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

}  // namespace npulab::isa
