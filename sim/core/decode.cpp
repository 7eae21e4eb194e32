// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "sim/config/names.hpp"
#include "sim/core/micro_op.hpp"
#include "sim/cost/cost.hpp"
#include "sim/memory/local_buffer.hpp"
#include "sim/values/convert.hpp"

namespace npulab::core {

namespace {

using isa::Format;
using isa::Mod;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
using isa::Role;

class Decoder {
 public:
  Decoder(const config::Machine& machine, const config::CoreTypeConfig& core, const isa::Target& target,
          std::span<const std::uint64_t> tensor_base)
      : machine_(machine), core_(core), target_(target), tensor_base_(tensor_base) {}

  MicroOp decode(const isa::Instruction& instruction) const;

 private:
  bool vector_slot(const isa::Slot& slot) const { return slot.element != isa::SlotType::none; }
  Number number(const Operand& operand) const {
    return operand.kind == OperandKind::sreg ? Number{operand.reg, 0} : Number{isa::kNoRegister, operand.imm};
  }
  Address address(const Operand& operand) const;
  void add_scalar_read(MicroOp& op, std::uint8_t reg) const;
  void vector_operand(MicroOp& op, const isa::Instruction& instruction, std::size_t slot) const;
  void broadcast_operand(MicroOp& op, isa::DType element, const Operand& operand) const;
  void operand(MicroOp& op, const isa::Instruction& instruction, std::size_t slot) const;
  void transfer(MicroOp& op, const isa::Instruction& instruction) const;
  void tile(MicroOp& op, const isa::Instruction& instruction) const;
  bool overlaps(const isa::InstructionInfo& row, const isa::Instruction& instruction) const;
  void choose_shape(MicroOp& op) const;
  void queue_timing(MicroOp& op) const;
  bool queued(const MicroOp& op) const {
    return op.timing.vector && op.op != Op::Vext && core_.vector.queue_depth > 0;
  }

  const config::Machine& machine_;
  const config::CoreTypeConfig& core_;
  const isa::Target& target_;
  std::span<const std::uint64_t> tensor_base_;
};

Address Decoder::address(const Operand& operand) const {
  Address result;
  result.space = operand.space;
  result.tensor = operand.tensor;
  result.base.reg = operand.reg;
  result.base.value = operand.imm;
  if (operand.tensor != isa::kNoTensor) {
    result.tensor_base = tensor_base_[operand.tensor];
    result.base.value += static_cast<std::int64_t>(result.tensor_base);
  }
  return result;
}

void Decoder::add_scalar_read(MicroOp& op, std::uint8_t reg) const {
  if (reg == isa::kNoRegister) return;
  Timing& t = op.timing;
  for (std::size_t i = 0; i < t.scalar_read_count; ++i)
    if (t.scalar_reads[i] == reg) return;
  if (t.scalar_read_count == t.scalar_reads.size())
    throw Error(Category::internal, "too-many-scalar-reads",
                "an instruction reads more scalar registers than fit");
  t.scalar_reads[t.scalar_read_count++] = reg;
}

// A slot that holds a vector in a register (whole or one lane of it).
void Decoder::vector_operand(MicroOp& op, const isa::Instruction& instruction, std::size_t slot) const {
  const isa::InstructionInfo& row = isa::info(instruction.op);
  const Operand& operand = instruction.operands[slot];
  const isa::Slot& description = isa::info(row.format).slots[slot];
  const unsigned register_bytes = target_.register_bits / 8;
  std::uint32_t offset = operand.reg * register_bytes;
  RegisterRange range{operand.reg, 1};
  if (operand.kind == OperandKind::lane) {
    const isa::DType element = description.element == isa::SlotType::type2 ? op.type2 : op.type;
    offset += static_cast<std::uint32_t>(operand.imm) * isa::bits(element) / 8;
    op.broadcast = 1;
    range.first = static_cast<std::uint16_t>(offset / register_bytes);
  } else {
    range.count = static_cast<std::uint16_t>(isa::slot_registers(instruction, slot, target_));
  }
  const bool writes = description.role == Role::write || description.role == Role::read_write;
  if (writes) op.timing.write = range;
  // A write of some lanes keeps the others: it depends on the old value.
  const bool merges = writes && row.family == isa::Family::Vector && (op.has(Mod::n) || op.has(Mod::mask)) &&
                      row.format != Format::Reduction;
  if (description.role != Role::write || merges) op.timing.reads[op.timing.read_count++] = range;
  if (writes) {
    op.dst = offset;
  } else {
    std::uint32_t* sources[] = {&op.a, &op.b, &op.c};
    const std::size_t first_source = row.format == Format::VectorStore ? 1 : slot;
    *sources[first_source - 1] = offset;
  }
}

// A slot whose one element goes to every lane: scalar register or immediate.
void Decoder::broadcast_operand(MicroOp& op, isa::DType element, const Operand& operand) const {
  if (operand.kind == OperandKind::sreg) {
    op.broadcast = 2;
    return;
  }
  op.broadcast = 3;
  if (operand.kind == OperandKind::fimm) {
    values::from_double(element, std::bit_cast<double>(operand.imm), op.constant.data(),
                        isa::Round::nearest_even, machine_.numerics.overflow == config::Overflow::saturate);
  } else if (isa::info(element).floating) {
    values::from_double(element, static_cast<double>(operand.imm), op.constant.data(),
                        isa::Round::nearest_even, machine_.numerics.overflow == config::Overflow::saturate);
  } else {
    const auto bits = static_cast<std::uint64_t>(operand.imm);
    for (std::size_t i = 0; i < op.constant.size(); ++i)
      op.constant[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
}

void Decoder::operand(MicroOp& op, const isa::Instruction& instruction, std::size_t slot) const {
  const Operand& operand = instruction.operands[slot];
  const isa::Slot& description = isa::info(isa::info(instruction.op).format).slots[slot];
  switch (operand.kind) {
    case OperandKind::vreg:
    case OperandKind::lane:
      vector_operand(op, instruction, slot);
      return;
    case OperandKind::view:
      op.addresses[slot] = address(operand);
      add_scalar_read(op, operand.reg);
      return;
    case OperandKind::target:
      op.target = static_cast<std::uint32_t>(operand.imm);
      return;
    case OperandKind::engine:
      if (slot == 0) op.engine_from = operand.reg;
      op.engine = operand.reg;
      return;
    case OperandKind::sreg:
    case OperandKind::imm:
    case OperandKind::fimm:
      op.scalars[slot] = number(operand);
      if (description.role == Role::write) {
        op.timing.scalar_write = operand.reg;
        return;
      }
      if (operand.kind == OperandKind::sreg) add_scalar_read(op, operand.reg);
      if (vector_slot(description))
        broadcast_operand(op, description.element == isa::SlotType::type2 ? op.type2 : op.type, operand);
      return;
    case OperandKind::none:
      return;
  }
}

void Decoder::transfer(MicroOp& op, const isa::Instruction& instruction) const {
  const isa::CopyPath* const path = isa::path_of(instruction, target_);
  if (path == nullptr) throw Error(Category::internal, "no-path", "a copy passed the check without a path");
  op.engine = path->engine;
  op.scale_space = path->scale_space;
  const config::DmaEngineConfig& engine = core_.dma.at(target_.engines[path->engine]);
  for (std::size_t i = 0; i < engine.paths.size(); ++i)
    if (engine.paths[i].from == target_.spaces[path->from].name &&
        engine.paths[i].to == target_.spaces[path->to].name)
      op.path = static_cast<std::uint16_t>(i);
}

// mmul: every operand takes the registers of its tile, and costs are those of the matrix unit.
void Decoder::tile(MicroOp& op, const isa::Instruction& instruction) const {
  const isa::MatrixShape& shape = *isa::tile_of(instruction, target_);
  op.lanes = shape.m * shape.n;
  op.flops_per_lane = 2 * shape.k;
  op.timing.latency = core_.matrix.latency_cycles;
  for (const auto& [key, type] : core_.matrix.types)
    if (config::matrix_types(key) == std::pair(shape.a, shape.b) &&
        isa::tile_code({type.m, type.k, type.n}) == shape.code())
      op.timing.interval = type.cycles;
}

// What lane functions leave out: dst may be a source of its width, and any source of vcvt, but not a part of
// one.
bool Decoder::overlaps(const isa::InstructionInfo& row, const isa::Instruction& instruction) const {
  const std::span<const isa::Slot> slots = isa::info(row.format).slots;
  const std::uint32_t register_bytes = target_.register_bits / 8;
  const auto bytes = [&](std::size_t slot) { return isa::slot_bytes(instruction, slot, target_); };
  const Operand& dst = instruction.operands[0];
  if (row.family != isa::Family::Vector || dst.kind != OperandKind::vreg) return false;
  const std::uint32_t first = dst.reg * register_bytes;
  for (std::size_t slot = 1; slot < slots.size(); ++slot) {
    const Operand& source = instruction.operands[slot];
    if (source.kind != OperandKind::vreg) continue;
    const std::uint32_t source_first = source.reg * register_bytes;
    if (source_first >= first + bytes(0) || first >= source_first + bytes(slot)) continue;
    if (source_first != first || (bytes(slot) != bytes(0) && row.op != Op::Vcvt)) return true;
  }
  return false;
}

void Decoder::choose_shape(MicroOp& op) const {
  if (target_.form != isa::OperandForm::registers || op.mod_set != 0) {
    const bool only_increment = op.mod_set == std::uint64_t{1} << static_cast<unsigned>(Mod::inc);
    if (op.op != Op::Vld || !only_increment || op.mod(Mod::inc).reg != isa::kNoRegister) return;
  }
  if (op.op == Op::Vld && op.addresses[1].space != isa::kGmSpace) op.shape = Shape::load_full;
  const bool lane_wise = op.format == Format::Unary || op.format == Format::Binary ||
                         op.format == Format::Ternary || op.format == Format::WideTernary ||
                         op.format == Format::DotTernary || op.format == Format::Select ||
                         op.format == Format::Convert;
  if (lane_wise && op.broadcast == 0 && !op.overlaps && op.op != Op::Vperm) op.shape = Shape::lanes_full;
}

// The stream only hands the operation over; the unit's scoreboard does the rest.
void Decoder::queue_timing(MicroOp& op) const {
  op.unit_timing = op.timing;
  op.unit_timing.scalar_read_count = 0;
  op.unit_timing.scalar_write2 = isa::kNoRegister;
  Timing dispatch;
  dispatch.port = op.timing.port;
  dispatch.scalar_reads = op.timing.scalar_reads;
  dispatch.scalar_read_count = op.timing.scalar_read_count;
  dispatch.scalar_write2 = op.timing.scalar_write2;
  op.timing = dispatch;
}

MicroOp Decoder::decode(const isa::Instruction& instruction) const {
  const isa::InstructionInfo& row = isa::info(instruction.op);
  MicroOp op;
  op.op = instruction.op;
  op.family = row.family;
  op.format = row.format;
  op.type = instruction.type;
  op.type2 = instruction.type2;
  const cost::Cost cost = cost::cost(row.cost, core_);
  op.timing.port = row.port;
  op.timing.vector = row.family == isa::Family::Vector || row.family == isa::Family::VectorMemory ||
                     row.family == isa::Family::Tile;
  op.timing.latency = cost.latency;
  op.timing.interval = cost.interval;
  for (std::size_t i = 0; i < instruction.mod_count; ++i) {
    const isa::ModValue& mod = instruction.mods[i];
    op.mod_set |= std::uint64_t{1} << static_cast<unsigned>(mod.mod);
    op.mods[static_cast<std::size_t>(mod.mod)] = number(mod.value);
    if (mod.value.kind == OperandKind::sreg) add_scalar_read(op, mod.value.reg);
  }
  for (std::size_t slot = 0; slot < instruction.operand_count; ++slot) operand(op, instruction, slot);
  if (op.type != isa::DType::none) {
    op.lanes = op.timing.vector ? isa::lanes(row, op.type, op.type2, target_.operation_bits) : 1;
    op.element_bytes = isa::bits(op.type) / 8;
  }
  if (row.family == isa::Family::Vector && op.op != Op::Vext) {
    values::LaneModes modes;
    if (op.has(Mod::round)) modes.round = static_cast<isa::Round>(op.mod(Mod::round).value);
    modes.saturate = machine_.numerics.overflow == config::Overflow::saturate;
    modes.broadcast = op.broadcast != 0 && op.op != Op::Vdup && op.op != Op::Vperm;
    op.lane = values::lane_function(op.op, op.type, op.type2, modes);
    op.rows = values::rows_function(op.op, op.type, op.type2, modes);
  }
  if (row.cost == isa::CostClass::Fma)
    op.flops_per_lane = row.format == Format::DotTernary ? 8 : 2;
  else if (row.family == isa::Family::Vector && row.cost != isa::CostClass::Simple &&
           row.cost != isa::CostClass::Permute && row.cost != isa::CostClass::Convert)
    op.flops_per_lane = 1;
  if (op.has(Mod::inc)) {
    for (std::size_t slot = 0; slot < instruction.operand_count; ++slot)
      if (instruction.operands[slot].kind == OperandKind::view)
        op.timing.scalar_write2 = instruction.operands[slot].reg;
  }
  if (op.family == isa::Family::Transfer) transfer(op, instruction);
  if (row.format == Format::Tile) tile(op, instruction);
  if (row.family == isa::Family::Matrix) op.engine = static_cast<std::uint8_t>(target_.engines.size() - 1);
  op.overlaps = overlaps(row, instruction);
  choose_shape(op);
  if (queued(op)) queue_timing(op);
  return op;
}

// Belongs into a block: neither control nor anything that another engine can see.
bool plain(const MicroOp& op, bool queued) {
  switch (op.family) {
    case isa::Family::Vector:
      return op.op != Op::Vext && !queued;
    case isa::Family::VectorMemory:
    case isa::Family::Tile:
      return !queued;
    case isa::Family::Scalar:
      return op.op != Op::Lds && op.op != Op::Sts && op.op != Op::Div && op.op != Op::Rem;
    case isa::Family::Matrix:
    case isa::Family::Transfer:
    case isa::Family::Sync:
    case isa::Family::Control:
    case isa::Family::Debug:
      return false;
  }
  return false;
}

// True when the banks of `buffer` serve this access in one cycle, whatever its address.
bool never_conflicts(const MicroOp& op, const config::BufferConfig& buffer) {
  if (op.op == Op::Vgather || op.has(Mod::stride)) return false;
  const std::uint32_t bytes = op.lanes * op.element_bytes;
  return memory::LocalBuffer::offset_irrelevant(buffer, bytes) &&
         memory::LocalBuffer::bank_cycles(buffer, 0, op.element_bytes, op.lanes, op.element_bytes) <= 1;
}

// Its flops depend on the lanes that take part.
bool counts_lanes(const MicroOp& op) {
  return op.flops_per_lane != 0 && (op.has(Mod::n) || op.has(Mod::mask));
}

void summarise(Block& block, std::span<const MicroOp> ops, const config::BufferConfig& buffer) {
  for (std::uint32_t i = 0; i < block.count; ++i)
    if (ops[i].family == isa::Family::Scalar || ops[i].has(Mod::inc) || counts_lanes(ops[i]))
      block.bare.push_back(block.first + i);
  for (const MicroOp& op : ops) {
    for (std::size_t i = 0; i < op.timing.read_count; ++i)
      for (std::uint16_t r = 0; r < op.timing.reads[i].count; ++r)
        if (const std::size_t reg = std::size_t{op.timing.reads[i].first} + r; !block.written[reg])
          block.live_in.set(reg);
    for (std::uint16_t r = 0; r < op.timing.write.count; ++r)
      block.written.set(std::size_t{op.timing.write.first} + r);
    for (std::size_t i = 0; i < op.timing.scalar_read_count; ++i)
      block.scalars_in |= ScalarSet{1} << op.timing.scalar_reads[i] & ~block.scalars_written;
    if (op.timing.scalar_write != isa::kNoRegister)
      block.scalars_written |= ScalarSet{1} << op.timing.scalar_write;
    if (op.timing.vector) ++block.vector_count;
    if (op.family == isa::Family::VectorMemory && !never_conflicts(op, buffer)) block.reads_addresses = true;
    if (!counts_lanes(op)) block.flops += std::uint64_t{op.flops_per_lane} * op.lanes;
  }
}

HotOp hot_part(const MicroOp& op) {
  HotOp hot;
  hot.shape = op.shape;
  hot.lane = op.lane;
  hot.dst = op.dst;
  hot.a = op.a;
  hot.b = op.b;
  hot.c = op.c;
  hot.lanes = op.lanes;
  if (op.shape == Shape::load_full) {
    hot.bytes = op.lanes * op.element_bytes;
    hot.space = op.addresses[1].space;
    hot.base = op.addresses[1].base.value;
    hot.base_reg = op.addresses[1].base.reg;
    if (op.has(Mod::inc)) hot.increment = op.mod(Mod::inc).value;
  }
  return hot;
}

void find_blocks(DecodedProgram& program, const config::CoreTypeConfig& core) {
  const auto vector_buffer = core.buffers.find(core.vector.buffer);
  const config::BufferConfig buffer =
      vector_buffer == core.buffers.end() ? config::BufferConfig{} : vector_buffer->second;
  const bool queued = core.vector.queue_depth > 0;
  const std::size_t size = program.ops.size();
  std::vector<bool> leader(size + 1, false);
  for (std::size_t pc = 0; pc < size; ++pc) {
    const MicroOp& op = program.ops[pc];
    if (op.family != isa::Family::Control) continue;
    leader[pc + 1] = true;
    if (op.op != Op::End && op.op != Op::Nop) leader[op.target] = true;
  }
  program.block_at.assign(size, -1);
  for (std::size_t pc = 0; pc < size;) {
    if (!plain(program.ops[pc], queued)) {
      ++pc;
      continue;
    }
    Block block;
    block.first = static_cast<std::uint32_t>(pc);
    while (pc < size && plain(program.ops[pc], queued) && (pc == block.first || !leader[pc])) ++pc;
    block.count = static_cast<std::uint32_t>(pc - block.first);
    summarise(block, std::span(program.ops).subspan(block.first, block.count), buffer);
    block.plan =
        plan_values(program.ops, program.hot, block.first, block.count, core.vector.register_bits / 8);
    program.block_at[block.first] = static_cast<std::int32_t>(program.blocks.size());
    program.blocks.push_back(std::move(block));
  }
}

}  // namespace

Where DecodedProgram::where(std::uint32_t pc) const {
  return kernel->where(*program, pc);
}

namespace {

// Whether the time of an instruction, or what comes behind it, depends on values of tensors.
bool values_steer(const isa::Instruction& instruction, const config::MatrixConfig& matrix) {
  const isa::Format format = isa::info(instruction.op).format;
  if (format == isa::Format::MatrixProduct)
    return matrix.kind == isa::MatrixKind::systolic && matrix.zero_skip == config::ZeroSkip::slices;
  if (format == isa::Format::SparseProduct) {
    const Operand* structured = instruction.mod(Mod::structured);
    return structured == nullptr || structured->kind == OperandKind::sreg || structured->imm == 0;
  }
  return instruction.op == Op::Lds || instruction.op == Op::Vext || instruction.op == Op::Vgather;
}

}  // namespace

DecodedProgram decode(const isa::Kernel& kernel, const isa::Program& program, const config::Machine& machine,
                      const config::CoreTypeConfig& core, const isa::Target& target,
                      std::span<const std::uint64_t> tensor_base) {
  DecodedProgram result;
  result.program = &program;
  result.kernel = &kernel;
  const Decoder decoder(machine, core, target, tensor_base);
  result.ops.reserve(program.instructions.size());
  for (const isa::Instruction& instruction : program.instructions) {
    result.ops.push_back(decoder.decode(instruction));
    result.hot.push_back(hot_part(result.ops.back()));
    if (!result.values_steer_time && values_steer(instruction, core.matrix)) {
      result.values_steer_time = true;
      result.value_steered_by = isa::info(instruction.op).mnemonic;
    }
  }
  find_blocks(result, core);
  return result;
}

}  // namespace npulab::core
