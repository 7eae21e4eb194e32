// SPDX-License-Identifier: Apache-2.0
// Meanings of the vector memory family: strided and gathered moves between local buffers and registers.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "sim/core/meaning_frame.hpp"

namespace npulab::core {

namespace {

using isa::Mod;
using isa::Op;

// Lowest offset and bytes of a strided access of `count` elements.
struct Extent {
  std::int64_t first;
  std::uint64_t bytes;
};

Extent extent(std::int64_t offset, std::int64_t stride, std::uint32_t count, unsigned size) {
  const std::int64_t reach = stride * (std::int64_t{count} - 1);
  return {offset + std::min<std::int64_t>(reach, 0), static_cast<std::uint64_t>(std::abs(reach)) + size};
}

}  // namespace

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
    if (stride == size) {
      std::memcpy(first, src, e.bytes);
      mark_written(f.pc, f.state, address.space, e.first, e.bytes);
    } else {
      for (std::uint32_t i = 0; i < active; ++i) {
        std::memcpy(first + stride * std::int64_t{i}, src + std::size_t{i} * size, size);
        mark_written(f.pc, f.state, address.space, offset + stride * i, size);
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

}  // namespace npulab::core
