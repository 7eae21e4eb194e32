// SPDX-License-Identifier: Apache-2.0
// Meanings of the vector family: lanes, masks, broadcasts, reductions and permutes on the register file.
#include <array>
#include <cstring>
#include <vector>

#include "sim/core/meaning_frame.hpp"

namespace npulab::core {

namespace {

using isa::Format;
using isa::Mod;
using isa::Op;

constexpr std::uint32_t kMaskLanes = 64;

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

void reduce(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
            std::byte* dst, const std::byte* a, std::uint32_t lanes) {
  std::memset(dst, 0, element_size(op.type));
  std::vector<std::byte> active;
  if (op.has(Mod::mask)) {
    active.resize(std::size_t{lanes} * element_size(op.type));
    const auto mask = static_cast<std::uint64_t>(state.scalar(op.mod(Mod::mask)));
    lanes = compact(mask, lanes, element_size(op.type), a, active.data());
    a = active.data();
  }
  if (lanes > 0) apply_lanes(program, pc, op, state, dst, a, nullptr, nullptr, lanes);
}

namespace {

// Applies an operation to the active lanes only. Lanes beyond n or with a zero mask bit keep dst (a reduction
// leaves them out and clears the lanes above 0).
void masked_lanes(Frame f, std::byte* dst, Sources sources, std::uint32_t lanes) {
  const MicroOp& op = f.op;
  CoreState& state = f.state;
  const std::uint32_t active = active_lanes(op, state, lanes);
  Element element{};
  sources = with_broadcast(op, state, sources, element);
  if (op.flops_per_lane != 0 && (op.has(Mod::n) || op.has(Mod::mask))) count_flops(op, state, lanes);
  if (op.format == Format::Reduction) {
    Element result{};
    reduce(f.program, f.pc, op, state, result.data(), sources.a, active);
    std::memset(dst, 0, std::size_t{lanes} * element_size(op.type));
    std::memcpy(dst, result.data(), element_size(op.type));
    return;
  }
  if (active == 0) return;
  if (!op.has(Mod::mask) && !op.overlaps) {
    // Leaves the neighbour of an odd last nibble alone.
    apply_lanes(f.program, f.pc, op, state, dst, sources.a, sources.b, sources.c, active);
    return;
  }
  std::vector<std::byte> result(dst, dst + (std::size_t{lanes} * isa::bits(op.type) + 7) / 8);
  apply_lanes(f.program, f.pc, op, state, result.data(), sources.a, sources.b, sources.c, active);
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

}  // namespace

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
  masked_lanes(f, dst, sources, op.lanes);
}

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

void count_flops(const MicroOp& op, CoreState& state, std::uint32_t lanes) {
  state.flops += std::uint64_t{op.flops_per_lane} * active_lanes(op, state, lanes);
}

}  // namespace npulab::core
