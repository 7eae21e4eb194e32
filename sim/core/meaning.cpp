// SPDX-License-Identifier: Apache-2.0
#include "sim/core/meaning.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace npulab::core {

namespace {

using isa::Format;
using isa::Mod;
using isa::Op;

constexpr std::uint32_t kMaskLanes = 64;

struct Frame {  // what a meaning sees
  const DecodedProgram& program;
  std::uint32_t pc;
  const MicroOp& op;
  CoreState& state;
};

std::byte* vector_at(CoreState& state, std::uint32_t offset) {
  return state.vectors.data() + offset;
}

unsigned element_size(isa::DType type) {
  return std::max(1U, isa::bits(type) / 8);
}

// The element that goes to every lane.
void broadcast_element(const MicroOp& op, CoreState& state, std::uint32_t lane_offset, std::size_t slot,
                       std::byte* element, unsigned size) {
  if (op.broadcast == 1) {
    std::memcpy(element, vector_at(state, lane_offset), size);
  } else if (op.broadcast == 2) {
    const auto bits = static_cast<std::uint64_t>(state.scalar(op.scalars[slot]));
    for (unsigned i = 0; i < size; ++i) element[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  } else {
    std::memcpy(element, op.constant.data(), size);
  }
}

void replicate(const std::byte* element, unsigned size, std::uint32_t lanes, std::byte* to) {
  for (std::uint32_t i = 0; i < lanes; ++i) std::memcpy(to + std::size_t{i} * size, element, size);
}

// Sources of a lane-wise operation; a broadcast one is a single element.
struct Sources {
  const std::byte* a;
  const std::byte* b;
  const std::byte* c;
};

using Element = std::array<std::byte, 8>;

// Puts the broadcast element, if there is one, in place of the operation's last source.
Sources with_broadcast(const MicroOp& op, CoreState& state, Sources sources, Element& element) {
  if (op.broadcast == 0) return sources;
  const bool select = op.format == Format::Select;
  const unsigned size = element_size(op.format == Format::WideTernary ? op.type2 : op.type);
  broadcast_element(op, state, select ? op.c : op.b, select ? 3 : 2, element.data(), size);
  (select ? sources.c : sources.b) = element.data();
  return sources;
}

// The lanes of `a` whose mask bit is set, side by side; returns their number.
std::uint32_t compact(std::uint64_t mask, std::uint32_t lanes, unsigned size, const std::byte* a,
                      std::byte* to) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < std::min(lanes, kMaskLanes); ++i)
    if ((mask >> i & 1U) != 0) std::memcpy(to + std::size_t{count++} * size, a + std::size_t{i} * size, size);
  return count;
}

}  // namespace

bool mask_allows(const MicroOp& op, const CoreState& state, std::uint32_t lane) {
  if (!op.has(Mod::mask)) return true;
  const auto mask = static_cast<std::uint64_t>(state.scalar(op.mod(Mod::mask)));
  return lane < kMaskLanes && (mask >> lane & 1U) != 0;
}

void copy_lane(isa::DType type, std::byte* to, const std::byte* from, std::uint32_t lane) {
  if (type == isa::DType::i4) {
    const std::byte part = lane % 2 == 0 ? std::byte{0x0f} : std::byte{0xf0};
    to[lane / 2] = (to[lane / 2] & ~part) | (from[lane / 2] & part);
    return;
  }
  const std::size_t size = element_size(type);
  std::memcpy(to + lane * size, from + lane * size, size);
}

void reduce(const MicroOp& op, const CoreState& state, std::byte* dst, const std::byte* a,
            std::uint32_t lanes) {
  std::memset(dst, 0, element_size(op.type));
  std::vector<std::byte> active;
  if (op.has(Mod::mask)) {
    active.resize(std::size_t{lanes} * element_size(op.type));
    const auto mask = static_cast<std::uint64_t>(state.scalar(op.mod(Mod::mask)));
    lanes = compact(mask, lanes, element_size(op.type), a, active.data());
    a = active.data();
  }
  if (lanes > 0) op.lane(dst, a, nullptr, nullptr, lanes);
}

namespace {

// Applies an operation to the active lanes only. Lanes beyond n or with a zero mask bit keep dst (a reduction
// leaves them out and clears the lanes above 0).
void masked_lanes(const MicroOp& op, CoreState& state, std::byte* dst, Sources sources, std::uint32_t lanes) {
  const std::uint32_t active = active_lanes(op, state, lanes);
  Element element{};
  sources = with_broadcast(op, state, sources, element);
  if (op.flops_per_lane != 0 && (op.has(Mod::n) || op.has(Mod::mask))) count_flops(op, state, lanes);
  if (op.format == Format::Reduction) {
    Element result{};
    reduce(op, state, result.data(), sources.a, active);
    std::memset(dst, 0, std::size_t{lanes} * element_size(op.type));
    std::memcpy(dst, result.data(), element_size(op.type));
    return;
  }
  if (active == 0) return;
  if (!op.has(Mod::mask) && !op.overlaps) {
    op.lane(dst, sources.a, sources.b, sources.c,
            active);  // leaves the neighbour of an odd last nibble alone
    return;
  }
  std::vector<std::byte> result(dst, dst + (std::size_t{lanes} * isa::bits(op.type) + 7) / 8);
  op.lane(result.data(), sources.a, sources.b, sources.c, active);
  for (std::uint32_t i = 0; i < active; ++i)
    if (mask_allows(op, state, i)) copy_lane(op.type, dst, result.data(), i);
}

// Every lane is worked out on the side (dst may be a source, and the lane count bounds `a`); the active ones
// are kept.
void permute(const MicroOp& op, CoreState& state, std::byte* dst, Sources sources) {
  const unsigned size = element_size(op.type);
  Element element{};
  sources = with_broadcast(op, state, sources, element);
  std::vector<std::byte> index;
  if (op.broadcast != 0) {
    index.resize(std::size_t{op.lanes} * size);
    replicate(element.data(), size, op.lanes, index.data());
    sources.b = index.data();
  }
  std::vector<std::byte> result(std::size_t{op.lanes} * size);
  op.lane(result.data(), sources.a, sources.b, nullptr, op.lanes);
  const std::uint32_t active = active_lanes(op, state, op.lanes);
  for (std::uint32_t i = 0; i < active; ++i)
    if (mask_allows(op, state, i)) copy_lane(op.type, dst, result.data(), i);
}

void vector_lanes(Frame f) {
  const MicroOp& op = f.op;
  std::byte* dst = vector_at(f.state, op.dst);
  Sources sources{vector_at(f.state, op.a), vector_at(f.state, op.b), vector_at(f.state, op.c)};
  if (op.op == Op::Vdup) {
    std::array<std::byte, 8> element{};
    const unsigned size = element_size(op.type);
    broadcast_element(op, f.state, op.a, 1, element.data(), size);
    const std::uint32_t active = active_lanes(op, f.state, op.lanes);
    for (std::uint32_t i = 0; i < active; ++i)
      if (mask_allows(op, f.state, i)) std::memcpy(dst + std::size_t{i} * size, element.data(), size);
    return;
  }
  if (op.op == Op::Vperm) {
    permute(op, f.state, dst, sources);
    return;
  }
  masked_lanes(op, f.state, dst, sources, op.lanes);
}

// One meaning per row. Vector rows share vector_lanes; every other row needs its own specialisation, or the
// program does not link.
template <Op>
void meaning(Frame f);

template <>
void meaning<Op::Vslide>(Frame f) {
  const std::int64_t amount = f.state.scalar(f.op.scalars[2]);
  Element bytes{};
  std::memcpy(bytes.data(), &amount, sizeof amount);
  std::vector<std::byte> result(std::size_t{f.op.lanes} * element_size(f.op.type));
  f.op.lane(result.data(), vector_at(f.state, f.op.a), bytes.data(), nullptr, f.op.lanes);
  std::memcpy(vector_at(f.state, f.op.dst), result.data(), result.size());
}

template <>
void meaning<Op::Vext>(Frame f) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, vector_at(f.state, f.op.a), element_size(f.op.type));
  f.state.scalars[f.op.timing.scalar_write] = static_cast<std::int64_t>(bits);
}

// Lowest offset and bytes of a strided access of `count` elements.
struct Extent {
  std::int64_t first;
  std::uint64_t bytes;
};

Extent extent(std::int64_t offset, std::int64_t stride, std::uint32_t count, unsigned size) {
  const std::int64_t reach = stride * (std::int64_t{count} - 1);
  return {offset + std::min<std::int64_t>(reach, 0), static_cast<std::uint64_t>(std::abs(reach)) + size};
}

template <>
void meaning<Op::Vld>(Frame f) {
  const MicroOp& op = f.op;
  const Address& address = op.addresses[1];
  const std::uint32_t active = active_lanes(op, f.state, op.lanes);
  const unsigned size = element_size(op.type);
  if (op.has(Mod::stride)) check_modifiers(f.program, f.pc, f.state);
  const std::int64_t stride = op.has(Mod::stride) ? f.state.scalar(op.mod(Mod::stride)) : size;
  const std::int64_t offset = f.state.offset(address);
  std::byte* dst = vector_at(f.state, op.dst);
  if (active > 0) {
    const Extent e = extent(offset, stride, active, size);
    const std::byte* base = local_address(f.program, f.pc, f.state, address.space, e.first, e.bytes, false);
    if (stride == size) {
      check_written(f.program, f.pc, f.state, address.space, e.first, e.bytes);
      std::memcpy(dst, base, e.bytes);
    } else {
      const std::byte* first = base + (offset - e.first);
      std::vector<std::byte> gathered(std::size_t{active} * size);
      for (std::uint32_t i = 0; i < active; ++i) {
        check_written(f.program, f.pc, f.state, address.space, offset + stride * i, size);
        std::memcpy(&gathered[std::size_t{i} * size], first + stride * std::int64_t{i}, size);
      }
      std::memcpy(dst, gathered.data(), gathered.size());
    }
  }
  std::memset(dst + std::size_t{active} * size, 0, std::size_t{op.lanes - active} * size);
  post_increment(f.op, f.state);
}

template <>
void meaning<Op::Vst>(Frame f) {
  const MicroOp& op = f.op;
  const Address& address = op.addresses[0];
  const std::uint32_t active = active_lanes(op, f.state, op.lanes);
  const unsigned size = element_size(op.type);
  if (op.has(Mod::stride)) check_modifiers(f.program, f.pc, f.state);
  const std::int64_t stride = op.has(Mod::stride) ? f.state.scalar(op.mod(Mod::stride)) : size;
  const std::int64_t offset = f.state.offset(address);
  if (active > 0) {
    const Extent e = extent(offset, stride, active, size);
    std::byte* base = local_address(f.program, f.pc, f.state, address.space, e.first, e.bytes, true);
    std::byte* first = base + (offset - e.first);
    const std::byte* src = vector_at(f.state, op.a);
    memory::LocalBuffer& buffer = f.state.buffer(address.space);
    if (stride == size) {
      std::memcpy(first, src, e.bytes);
      buffer.mark_written(static_cast<std::uint64_t>(e.first), e.bytes);
    } else {
      for (std::uint32_t i = 0; i < active; ++i) {
        std::memcpy(first + stride * std::int64_t{i}, src + std::size_t{i} * size, size);
        buffer.mark_written(static_cast<std::uint64_t>(offset + stride * i), size);
      }
    }
  }
  post_increment(f.op, f.state);
}

template <>
void meaning<Op::Vgather>(Frame f) {
  const MicroOp& op = f.op;
  const Address& address = op.addresses[1];
  const std::uint32_t active = active_lanes(op, f.state, op.lanes);
  const unsigned size = element_size(op.type);
  std::vector<std::byte> result(std::size_t{op.lanes} * size, std::byte{0});
  for (std::uint32_t i = 0; i < active; ++i) {
    std::int32_t index = 0;
    std::memcpy(&index, vector_at(f.state, op.b) + std::size_t{i} * sizeof index, sizeof index);
    const std::int64_t offset = f.state.offset(address) + index;
    const std::byte* from = local_address(f.program, f.pc, f.state, address.space, offset, size, false);
    check_written(f.program, f.pc, f.state, address.space, offset, size);
    std::memcpy(&result[std::size_t{i} * size], from, size);
  }
  std::memcpy(vector_at(f.state, op.dst), result.data(), result.size());
  post_increment(f.op, f.state);
}

void set_scalar(Frame f, std::int64_t value) {
  f.state.scalars[f.op.timing.scalar_write] = value;
}
std::int64_t arg(Frame f, std::size_t slot) {
  return f.state.scalar(f.op.scalars[slot]);
}
std::uint64_t uarg(Frame f, std::size_t slot) {
  return static_cast<std::uint64_t>(arg(f, slot));
}

template <>
void meaning<Op::Mov>(Frame f) {
  set_scalar(f, arg(f, 1));
}
template <>
void meaning<Op::Add>(Frame f) {
  set_scalar(f, static_cast<std::int64_t>(uarg(f, 1) + uarg(f, 2)));
}
template <>
void meaning<Op::Sub>(Frame f) {
  set_scalar(f, static_cast<std::int64_t>(uarg(f, 1) - uarg(f, 2)));
}
template <>
void meaning<Op::Mul>(Frame f) {
  set_scalar(f, static_cast<std::int64_t>(uarg(f, 1) * uarg(f, 2)));
}
template <>
void meaning<Op::Min>(Frame f) {
  set_scalar(f, std::min(arg(f, 1), arg(f, 2)));
}
template <>
void meaning<Op::Max>(Frame f) {
  set_scalar(f, std::max(arg(f, 1), arg(f, 2)));
}
template <>
void meaning<Op::And>(Frame f) {
  set_scalar(f, arg(f, 1) & arg(f, 2));
}
template <>
void meaning<Op::Or>(Frame f) {
  set_scalar(f, arg(f, 1) | arg(f, 2));
}
template <>
void meaning<Op::Xor>(Frame f) {
  set_scalar(f, arg(f, 1) ^ arg(f, 2));
}
template <>
void meaning<Op::Shl>(Frame f) {
  set_scalar(f, uarg(f, 2) < 64 ? static_cast<std::int64_t>(uarg(f, 1) << uarg(f, 2)) : 0);
}
template <>
void meaning<Op::Shr>(Frame f) {
  set_scalar(f, uarg(f, 2) < 64 ? static_cast<std::int64_t>(uarg(f, 1) >> uarg(f, 2)) : 0);
}
template <>
void meaning<Op::CoreId>(Frame f) {
  set_scalar(f, f.state.id);
}
template <>
void meaning<Op::CoreCount>(Frame f) {
  set_scalar(f, f.state.count);
}

void check_divisor(Frame f) {
  if (arg(f, 2) == 0)
    throw Error(Category::verdict, "division-by-zero",
                fmt::format("{} by zero (dividend {})", isa::info(f.op.op).mnemonic, arg(f, 1)),
                f.program.where(f.pc));
}

template <>
void meaning<Op::Div>(Frame f) {
  check_divisor(f);
  // The one quotient that overflows wraps like the other operations do.
  set_scalar(f, arg(f, 2) == -1 ? static_cast<std::int64_t>(0U - uarg(f, 1)) : arg(f, 1) / arg(f, 2));
}
template <>
void meaning<Op::Rem>(Frame f) {
  check_divisor(f);
  set_scalar(f, arg(f, 2) == -1 ? 0 : arg(f, 1) % arg(f, 2));
}

template <>
void meaning<Op::Lds>(Frame f) {
  const Address& address = f.op.addresses[1];
  const unsigned size = element_size(f.op.type);
  const std::int64_t offset = f.state.offset(address);
  const std::byte* from = local_address(f.program, f.pc, f.state, address.space, offset, size, false);
  check_written(f.program, f.pc, f.state, address.space, offset, size);
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, size);
  const isa::DTypeInfo& type = isa::info(f.op.type);
  if (!type.floating && type.is_signed && size < 8) {
    const unsigned shift = 64 - 8 * size;
    set_scalar(f, static_cast<std::int64_t>(bits << shift) >> shift);
  } else {
    set_scalar(f, static_cast<std::int64_t>(bits));
  }
  post_increment(f.op, f.state);
}

template <>
void meaning<Op::Sts>(Frame f) {
  const Address& address = f.op.addresses[0];
  const unsigned size = element_size(f.op.type);
  const std::int64_t offset = f.state.offset(address);
  std::byte* to = local_address(f.program, f.pc, f.state, address.space, offset, size, true);
  const std::uint64_t bits = uarg(f, 1);
  for (unsigned i = 0; i < size; ++i) to[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  f.state.buffer(address.space).mark_written(static_cast<std::uint64_t>(offset), size);
  post_increment(f.op, f.state);
}

using Meaning = void (*)(Frame);

// Rows whose values change nothing here: transfers, synchronisation, control and debug belong to the engines.
constexpr bool has_meaning_here(isa::Family family) {
  return family == isa::Family::Vector || family == isa::Family::VectorMemory ||
         family == isa::Family::Scalar;
}

template <Op O, isa::Family F, Format Fmt>
constexpr Meaning meaning_of() {
  if constexpr (!has_meaning_here(F))
    return nullptr;
  else if constexpr (F == isa::Family::Vector && Fmt != Format::Slide && Fmt != Format::Extract)
    return &vector_lanes;
  else
    return &meaning<O>;
}

constexpr std::array<Meaning, isa::kOpCount> kMeanings{{
#define NPU_INSTRUCTION(NAME, MNEMONIC, CODE, FAMILY, PORT, COST, FORMAT, TYPES, TYPES2, TEXT) \
  meaning_of<Op::NAME, isa::Family::FAMILY, Format::FORMAT>(),
#include "isa/instructions.def"
}};

}  // namespace

void post_increment(const MicroOp& op, CoreState& state) {
  if (!op.has(Mod::inc)) return;
  for (const Address& address : op.addresses) {
    if (address.base.reg == isa::kNoRegister) continue;
    std::int64_t& base = state.scalars[address.base.reg];
    base = static_cast<std::int64_t>(static_cast<std::uint64_t>(base) +
                                     static_cast<std::uint64_t>(state.scalar(op.mod(Mod::inc))));
    return;
  }
}

std::uint32_t active_lanes(const MicroOp& op, const CoreState& state, std::uint32_t lanes) {
  if (!op.has(Mod::n)) return lanes;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(state.scalar(op.mod(Mod::n)), 0, lanes));
}

void execute(const DecodedProgram& program, std::uint32_t pc, CoreState& state) {
  execute(program, pc, program.ops[pc], state);
}

void execute(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state) {
  kMeanings[static_cast<std::size_t>(op.op)](Frame{program, pc, op, state});
}

MicroOp freeze(const MicroOp& op, const CoreState& state) {
  MicroOp frozen = op;
  const auto fix = [&state](Number& number) { number = {isa::kNoRegister, state.scalar(number)}; };
  for (Number& number : frozen.scalars) fix(number);
  for (Address& address : frozen.addresses) {
    address.base.value = state.offset(address);
    address.base.reg = isa::kNoRegister;
  }
  for (Number& number : frozen.mods) fix(number);
  frozen.mod_set &= ~(std::uint64_t{1} << static_cast<unsigned>(Mod::inc));
  return frozen;
}

std::uint32_t bank_delay(const MicroOp& op, CoreState& state) {
  if (op.family != isa::Family::VectorMemory) return 0;
  const Address& address = op.addresses[op.op == Op::Vst ? 0 : 1];
  const memory::LocalBuffer& buffer = state.buffer(address.space);
  const unsigned size = element_size(op.type);
  const std::uint32_t active = active_lanes(op, state, op.lanes);
  const std::int64_t offset = state.offset(address);
  unsigned cycles = 0;
  if (op.op == Op::Vgather) {
    std::vector<std::int32_t> index(active);
    if (active > 0)
      std::memcpy(index.data(), vector_at(state, op.b), std::size_t{active} * sizeof(std::int32_t));
    for (const std::int32_t i : index)
      cycles += buffer.bank_cycles(static_cast<std::uint64_t>(offset + i), size, 1, size);
  } else {
    const std::int64_t stride = op.has(Mod::stride) ? state.scalar(op.mod(Mod::stride)) : size;
    cycles = buffer.bank_cycles(static_cast<std::uint64_t>(offset), size, active, stride);
  }
  return cycles > 1 ? cycles - 1 : 0;
}

void execute_bare(const DecodedProgram& program, std::uint32_t pc, CoreState& state) {
  const MicroOp& op = program.ops[pc];
  if (op.family == isa::Family::Scalar) {
    execute(program, pc, op, state);
    return;
  }
  if (op.flops_per_lane != 0 && (op.has(Mod::n) || op.has(Mod::mask))) count_flops(op, state, op.lanes);
  post_increment(op, state);
}

void count_flops(const MicroOp& op, CoreState& state, std::uint32_t lanes) {
  state.flops += std::uint64_t{op.flops_per_lane} * active_lanes(op, state, lanes);
}

}  // namespace npulab::core
