// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/plain_interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npulab::test {

namespace {

constexpr std::uint64_t kMostSteps = 50'000'000;

std::uint64_t unsigned_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

PlainInterpreter::PlainInterpreter(const config::Machine& machine, const isa::Target& target,
                                   const isa::Kernel& kernel, unsigned cores)
    : machine_(machine),
      config_(machine.core_types.at(target.core_type)),
      target_(target),
      kernel_(kernel),
      program_(kernel.programs.front()),
      saturate_(machine.numerics.overflow == config::Overflow::saturate) {
  for (const isa::Tensor& tensor : kernel.header.tensors)
    tensors_.emplace_back(static_cast<std::size_t>(tensor.bytes()));
  for (unsigned id = 0; id < cores; ++id) {
    PlainCore core;
    core.id = id;
    core.count = cores;
    core.s.resize(target.scalar_registers);
    core.v.resize(std::size_t{target.vector_registers} * target.register_bits / 8);
    core.spaces.emplace_back();
    for (std::size_t space = 1; space < target.spaces.size(); ++space)
      core.spaces.emplace_back(static_cast<std::size_t>(target.spaces[space].bytes));
    cores_.push_back(std::move(core));
  }
}

Bytes& PlainInterpreter::tensor(const std::string& name) {
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (kernel_.header.tensors[i].name == name) return tensors_[i];
  throw std::logic_error("the kernel has no tensor " + name);
}

void PlainInterpreter::fault(const std::string& what) const {
  throw PlainFault(fmt::format("core {}, instruction {}: {}", core_->id, core_->pc, what));
}

void PlainInterpreter::run() {
  while (std::any_of(cores_.begin(), cores_.end(), [](const PlainCore& core) { return !core.ended; })) {
    for (PlainCore& core : cores_) {
      core_ = &core;
      while (!core.ended && step()) continue;
    }
  }
}

bool PlainInterpreter::step() {
  if (++steps_ > kMostSteps) fault("too many steps");
  if (core_->pc >= program_.instructions.size()) fault("no end");
  const isa::Instruction& in = program_.instructions[core_->pc];
  if (isa::info(in.op).family == isa::Family::Control) {
    const bool goes_on = control(in);
    next_loop_turn();
    return goes_on;
  }
  switch (isa::info(in.op).family) {
    case isa::Family::Scalar:
      scalar(in);
      break;
    case isa::Family::Vector:
      vector(in);
      break;
    case isa::Family::VectorMemory:
      vector_memory(in);
      break;
    case isa::Family::Transfer:
      copy(in);
      break;
    case isa::Family::Matrix:
      product(in);
      break;
    case isa::Family::Debug:
      if (in.op == Op::Assert && number(in.operands[0]) != number(in.operands[1])) fault("assertion");
      break;
    case isa::Family::Sync:
      break;
    default:
      fault("no meaning for this instruction");
  }
  ++core_->pc;
  next_loop_turn();
  return in.op != Op::SyncCores;
}

void PlainInterpreter::next_loop_turn() {
  std::vector<PlainCore::Loop>& loops = core_->loops;
  while (!loops.empty() && core_->pc == loops.back().end) {
    if (loops.back().left-- > 0) {
      core_->pc = loops.back().begin;
      return;
    }
    loops.pop_back();
  }
}

std::int64_t PlainInterpreter::number(const isa::Operand& operand) const {
  return operand.kind == isa::OperandKind::sreg ? core_->s[operand.reg] : operand.imm;
}

std::int64_t PlainInterpreter::mod(const isa::Instruction& in, isa::Mod which, std::int64_t otherwise) const {
  const isa::Operand* given = in.mod(which);
  return given == nullptr ? otherwise : number(*given);
}

PlainInterpreter::Place PlainInterpreter::place(const isa::Operand& view) const {
  const std::int64_t base = view.reg == isa::kNoRegister ? 0 : core_->s[view.reg];
  if (view.space == isa::kGmSpace && view.tensor == isa::kNoTensor) fault("gm without a tensor");
  return {view.space, view.tensor, static_cast<std::int64_t>(unsigned_of(base) + unsigned_of(view.imm))};
}

std::byte* PlainInterpreter::bytes_at(const Place& place, std::int64_t delta, std::int64_t bytes) {
  Bytes& memory = place.space == isa::kGmSpace ? tensors_[place.tensor] : core_->spaces[place.space];
  const Wide first = static_cast<Wide>(place.offset) + delta;
  if (first < 0 || bytes < 0 || first + bytes > static_cast<Wide>(memory.size()))
    fault(fmt::format("{} bytes at {} of memory {}", bytes, static_cast<std::int64_t>(first), place.space));
  return memory.data() + static_cast<std::ptrdiff_t>(first);
}

void PlainInterpreter::increment(const isa::Instruction& in, const isa::Operand& view) {
  if (in.mod(isa::Mod::inc) == nullptr) return;
  std::int64_t& base = core_->s[view.reg];
  base = static_cast<std::int64_t>(unsigned_of(base) + unsigned_of(mod(in, isa::Mod::inc, 0)));
}

void PlainInterpreter::scalar(const isa::Instruction& in) {
  if (in.op == Op::Lds || in.op == Op::Sts) {
    scalar_memory(in);
    return;
  }
  std::int64_t& dst = core_->s[in.operands[0].reg];
  const std::int64_t a = in.operand_count > 1 ? number(in.operands[1]) : 0;
  const std::int64_t b = in.operand_count > 2 ? number(in.operands[2]) : 0;
  const std::uint64_t x = unsigned_of(a);
  const std::uint64_t y = unsigned_of(b);
  const auto wrapped = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  if ((in.op == Op::Div || in.op == Op::Rem) && b == 0) fault("division by zero");
  switch (in.op) {
    case Op::Mov:
      dst = a;
      return;
    case Op::Add:
      dst = wrapped(x + y);
      return;
    case Op::Sub:
      dst = wrapped(x - y);
      return;
    case Op::Mul:
      dst = wrapped(x * y);
      return;
    case Op::Div:
      dst = b == -1 ? wrapped(0 - x) : a / b;
      return;
    case Op::Rem:
      dst = b == -1 ? 0 : a % b;
      return;
    case Op::Min:
      dst = a < b ? a : b;
      return;
    case Op::Max:
      dst = a < b ? b : a;
      return;
    case Op::And:
      dst = a & b;
      return;
    case Op::Or:
      dst = a | b;
      return;
    case Op::Xor:
      dst = a ^ b;
      return;
    case Op::Shl:
      dst = y < 64 ? wrapped(x << y) : 0;
      return;
    case Op::Shr:
      dst = y < 64 ? wrapped(x >> y) : 0;
      return;
    case Op::CoreId:
      dst = core_->id;
      return;
    case Op::CoreCount:
      dst = core_->count;
      return;
    default:
      fault("no meaning for this scalar instruction");
  }
}

void PlainInterpreter::scalar_memory(const isa::Instruction& in) {
  const bool load = in.op == Op::Lds;
  const isa::Operand& view = in.operands[load ? 1 : 0];
  const std::int64_t size = isa::bits(in.type) / 8;
  std::byte* at = bytes_at(place(view), 0, size);
  if (load) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, static_cast<std::size_t>(size));
    core_->s[in.operands[0].reg] =
        isa::info(in.type).floating ? static_cast<std::int64_t>(bits) : integer_of(in.type, bits);
  } else {
    const std::int64_t value = number(in.operands[1]);
    std::memcpy(at, &value, static_cast<std::size_t>(size));
  }
  increment(in, view);
}

bool PlainInterpreter::control(const isa::Instruction& in) {
  const auto target = [&](std::size_t slot) { return static_cast<std::size_t>(in.operands[slot].imm); };
  const std::int64_t a = in.operand_count > 1 ? number(in.operands[0]) : 0;
  const std::int64_t b = in.operand_count > 2 ? number(in.operands[1]) : 0;
  bool taken = false;
  switch (in.op) {
    case Op::End:
      core_->ended = true;
      return false;
    case Op::Nop:
      break;
    case Op::Loop:
      if (a > 0) core_->loops.push_back({core_->pc + 1, target(1), a - 1});
      core_->pc = a > 0 ? core_->pc + 1 : target(1);
      return true;
    case Op::Jmp:
      core_->pc = target(0);
      return true;
    case Op::Beq:
      taken = a == b;
      break;
    case Op::Bne:
      taken = a != b;
      break;
    case Op::Blt:
      taken = a < b;
      break;
    case Op::Bge:
      taken = a >= b;
      break;
    default:
      fault("no meaning for this control instruction");
  }
  core_->pc = taken ? target(2) : core_->pc + 1;
  return true;
}

}  // namespace npulab::test
