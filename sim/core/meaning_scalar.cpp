// SPDX-License-Identifier: Apache-2.0
// Meanings of the scalar family: arithmetic wraps at 64 bits; loads and stores are little-endian.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "sim/core/meaning_frame.hpp"

namespace npulab::core {

namespace {

using isa::Op;

void set_scalar(Frame f, std::int64_t value) {
  f.state.scalars[f.op.timing.scalar_write] = value;
}
std::int64_t arg(Frame f, std::size_t slot) {
  return f.state.scalar(f.op.scalars[slot]);
}
std::uint64_t uarg(Frame f, std::size_t slot) {
  return static_cast<std::uint64_t>(arg(f, slot));
}

void check_divisor(Frame f) {
  if (arg(f, 2) == 0)
    throw Error(Category::verdict, "division-by-zero",
                fmt::format("{} by zero (dividend {})", isa::info(f.op.op).mnemonic, arg(f, 1)),
                f.program.where(f.pc));
}

}  // namespace

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
  set_scalar(f, f.state.numbers.program);
}
template <>
void meaning<Op::CoreCount>(Frame f) {
  set_scalar(f, f.state.numbers.count);
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
  mark_written(f.pc, f.state, address.space, offset, size);
  post_increment(f.op, f.state);
}

}  // namespace npulab::core
