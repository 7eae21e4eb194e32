// SPDX-License-Identifier: Apache-2.0
// Vector instructions of the plain interpreter: lanes wherever they lie, each worked out by lane_reference.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tests/fuzz/plain_interpreter.hpp"

namespace npulab::test {

namespace {

using isa::Format;
using isa::Mod;
using isa::OperandForm;
using isa::OperandKind;

DType element(const isa::Instruction& in, std::size_t slot) {
  switch (isa::info(isa::info(in.op).format).slots[slot].element) {
    case isa::SlotType::type2:
      return in.type2;
    case isa::SlotType::i32:
      return DType::i32;
    default:
      return in.type;
  }
}

// The modifiers that step through an operand of the UB form, by its name; the mask of vsel has none.
std::pair<Mod, Mod> steps_of(std::string_view slot) {
  if (slot == "dst") return {Mod::dst_block, Mod::dst_repeat};
  if (slot == "a") return {Mod::a_block, Mod::a_repeat};
  if (slot == "b") return {Mod::b_block, Mod::b_repeat};
  return {Mod::kCount, Mod::kCount};
}

std::uint64_t low_bits(std::uint64_t value, DType type) {
  const unsigned shift = 64 - isa::bits(type);
  return value << shift >> shift;
}

bool is_reduction(const isa::Instruction& in) {
  return isa::info(in.op).format == Format::Reduction;
}

}  // namespace

std::size_t PlainInterpreter::lane_bit(const isa::Instruction& in, std::size_t slot, std::size_t lane,
                                       std::int64_t repeat) {
  const isa::Operand& operand = in.operands[slot];
  const unsigned bits = isa::bits(element(in, slot));
  if (target_.form == OperandForm::registers)
    return std::size_t{operand.reg} * target_.register_bits + lane * bits;
  const auto given = [&](Mod which, std::int64_t otherwise) {
    return which == Mod::kCount ? otherwise : mod(in, which, otherwise);
  };
  const std::int64_t block_bytes = target_.ub_block_bytes;
  const auto bit = static_cast<std::int64_t>(lane * bits);
  std::int64_t delta = 0;
  if (slot == 0 && is_reduction(in)) {
    delta = repeat * given(Mod::dst_repeat, 1) * static_cast<std::int64_t>(bits);
  } else {
    const auto [block, between] = steps_of(isa::info(isa::info(in.op).format).slots[slot].name);
    delta = (repeat * given(between, target_.ub_blocks) + bit / 8 / block_bytes * given(block, 1)) *
                block_bytes * 8 +
            bit % (block_bytes * 8);
  }
  const Place start = place(operand);
  bytes_at(start, delta / 8, (bits + 7) / 8);
  return static_cast<std::size_t>(start.offset * 8 + delta);
}

std::uint64_t PlainInterpreter::broadcast_bits(const isa::Operand& operand, DType type) const {
  switch (operand.kind) {
    case OperandKind::lane:
      return get_lane(type, core_->v, std::size_t{operand.reg} * target_.register_bits / 8,
                      static_cast<std::size_t>(operand.imm));
    case OperandKind::sreg:
      return low_bits(static_cast<std::uint64_t>(core_->s[operand.reg]), type);
    case OperandKind::fimm:
      return values::encode_float(type, std::bit_cast<double>(operand.imm), isa::Round::nearest_even,
                                  saturate_);
    default:
      if (isa::info(type).floating)
        return values::encode_float(type, static_cast<double>(operand.imm), isa::Round::nearest_even,
                                    saturate_);
      return low_bits(static_cast<std::uint64_t>(operand.imm), type);
  }
}

Lanes PlainInterpreter::read_slot(const isa::Instruction& in, std::size_t slot, std::size_t lanes,
                                  std::int64_t repeat) {
  const isa::Operand& operand = in.operands[slot];
  const DType type = element(in, slot);
  const OperandKind whole = target_.form == OperandForm::ub ? OperandKind::view : OperandKind::vreg;
  if (operand.kind != whole) return Lanes(lanes, broadcast_bits(operand, type));
  Lanes result;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t bit = lane_bit(in, slot, lane, repeat);
    result.push_back(get_lane(type, lane_memory(), bit / 8, bit % 8 / 4));
  }
  return result;
}

void PlainInterpreter::vector_repeat(const isa::Instruction& in, const LaneCall& call, std::size_t whole,
                                     std::int64_t repeat) {
  const bool ub = target_.form == OperandForm::ub;
  const Format format = isa::info(in.op).format;
  // Views are not touched beyond the lanes that take part.
  const std::size_t lanes = ub ? static_cast<std::size_t>(std::clamp<std::int64_t>(
                                     call.active, 0, static_cast<std::int64_t>(whole)))
                               : whole;
  std::array<Lanes, 4> values;
  for (std::size_t slot = 0; slot < in.operand_count; ++slot) {
    std::size_t count = lanes;
    if (slot == 0 && ub && format == Format::Reduction) count = 1;
    if (slot > 0 && format == Format::DotTernary) count = 4 * lanes;
    if (slot == 1 && in.op == Op::Vperm) count = whole;  // any lane may be named
    if (ub && lanes == 0 && count == whole) count = 0;
    values[slot] = read_slot(in, slot, count, repeat);
  }
  const Lanes result = computed(call, values[0], values[1], values[2], values[3]);
  for (std::size_t lane = 0; lane < result.size(); ++lane) {
    if (ub && format != Format::Reduction && !call.takes_part(lane)) continue;
    const std::size_t bit = lane_bit(in, 0, lane, repeat);
    put_lane(in.type, lane_memory(), bit / 8, bit % 8 / 4, result[lane]);
  }
}

void PlainInterpreter::vector(const isa::Instruction& in) {
  const isa::InstructionInfo& row = isa::info(in.op);
  if (row.format == Format::Slide) {
    slide(in);
    return;
  }
  if (row.format == Format::Extract) {
    core_->s[in.operands[0].reg] = static_cast<std::int64_t>(broadcast_bits(in.operands[1], in.type));
    return;
  }
  const bool ub = target_.form == OperandForm::ub;
  std::size_t whole = isa::lanes(row, in.type, in.type2, target_.operation_bits);
  if (ub) {
    unsigned widest = isa::bits(in.type);
    if (in.type2 != DType::none && row.format != Format::DotTernary)
      widest = std::max(widest, isa::bits(in.type2));
    whole = std::size_t{target_.ub_blocks} * target_.ub_block_bytes * 8 / widest;
  }
  LaneCall call{in.op, in.type, in.type2};
  call.saturate = saturate_;
  call.active = std::min(mod(in, Mod::n, static_cast<std::int64_t>(whole)), static_cast<std::int64_t>(whole));
  if (in.mod(Mod::mask) != nullptr) call.mask = static_cast<std::uint64_t>(mod(in, Mod::mask, 0));
  if (const isa::Operand* round = in.mod(Mod::round)) call.round = static_cast<isa::Round>(round->imm);
  const std::int64_t repeats = ub ? mod(in, Mod::repeat, 1) : 1;
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) vector_repeat(in, call, whole, repeat);
}

void PlainInterpreter::slide(const isa::Instruction& in) {
  const std::size_t lanes = isa::lanes(isa::info(in.op), in.type, in.type2, target_.operation_bits);
  const Lanes from = read_slot(in, 1, lanes, 0);
  const Wide amount = number(in.operands[2]);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const Wide source = static_cast<Wide>(lane) + amount;
    const bool there = source >= 0 && source < static_cast<Wide>(lanes);
    const std::size_t bit = lane_bit(in, 0, lane, 0);
    put_lane(in.type, core_->v, bit / 8, bit % 8 / 4, there ? from[static_cast<std::size_t>(source)] : 0);
  }
}

void PlainInterpreter::vector_memory(const isa::Instruction& in) {
  const isa::InstructionInfo& row = isa::info(in.op);
  const bool store = in.op == Op::Vst;
  const isa::Operand& view = in.operands[store ? 0 : 1];
  const std::size_t reg_slot = store ? 1 : 0;
  const std::int64_t size = isa::bits(in.type) / 8;
  const auto lanes = static_cast<std::int64_t>(isa::lanes(row, in.type, in.type2, target_.operation_bits));
  const std::int64_t active = std::clamp<std::int64_t>(mod(in, Mod::n, lanes), 0, lanes);
  const std::int64_t stride = mod(in, Mod::stride, size);
  const Place start = place(view);
  Lanes loaded;
  for (std::int64_t i = 0; i < active; ++i) {
    std::int64_t delta = i * stride;
    if (in.op == Op::Vgather)
      delta = integer_of(
          DType::i32, get_lane(DType::i32, core_->v, lane_bit(in, 2, static_cast<std::size_t>(i), 0) / 8, 0));
    std::byte* at = bytes_at(start, delta, size);
    if (store) {
      std::memcpy(at, &core_->v[lane_bit(in, reg_slot, static_cast<std::size_t>(i), 0) / 8],
                  static_cast<std::size_t>(size));
    } else {
      std::memcpy(&loaded.emplace_back(0), at, static_cast<std::size_t>(size));
    }
  }
  if (!store) {
    loaded.resize(static_cast<std::size_t>(lanes));  // lanes beyond n become 0
    for (std::size_t i = 0; i < loaded.size(); ++i)
      put_lane(in.type, core_->v, lane_bit(in, reg_slot, i, 0) / 8, 0, loaded[i]);
  }
  increment(in, view);
}

}  // namespace npulab::test
