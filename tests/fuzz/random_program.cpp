// SPDX-License-Identifier: Apache-2.0
// Frame of random programs: prologue, phases, loops, branches, scalar code, places.
#include "tests/fuzz/random_program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isa/table.hpp"

namespace npulab::test {

namespace {

constexpr std::int64_t kRegionBytes = 2048;
constexpr std::int64_t kSumBytes = 1024;  // 16 x 16 sums
constexpr unsigned kMostGroups = 12;
constexpr std::int64_t kHalf = kPart / 2;  // of y, that one phase writes

}  // namespace

ProgramWriter::ProgramWriter(const config::Machine& machine, const isa::Target& target, Choices choices,
                             ProgramOptions options)
    : core_(machine.core_types.at(target.core_type)),
      target_(target),
      choices_(std::move(choices)),
      options_(options),
      planner_(target, core_.vector.queue_depth > 0),
      regions_(target.spaces.size()) {
  for (std::size_t space = 1; space < regions_.size(); ++space) {
    const auto alignment =
        static_cast<std::int64_t>(std::max<std::uint64_t>(1, target.spaces[space].alignment));
    const auto size = static_cast<std::int64_t>(target.spaces[space].bytes);
    regions_[space] = {std::min(size, kRegionBytes) / alignment * alignment, alignment, false};
  }
  if (target.matrix && target.matrix->c < regions_.size() && target.matrix->c != 0)
    regions_[target.matrix->c].bytes = std::min(regions_[target.matrix->c].bytes, kSumBytes);
  if (target.form == isa::OperandForm::registers)
    groups_ = std::min(kMostGroups, target.vector_registers / (target.operation_bits / target.register_bits));
}

RandomProgram ProgramWriter::write() {
  text_ = fmt::format(".kernel test/random\n.tensor A u8 [{}] in\n.tensor y u8 [{}] inout\n", kSourceBytes,
                      kPart * kRandomCores);
  prologue();
  const unsigned phases = 1 + static_cast<unsigned>(choices_.pick(3));
  for (unsigned i = 0; i < phases; ++i) phase(i);
  // Scalars, registers and buffers into what the next phase writes.
  phase_ = phases;
  flag("sync_cores\n");
  planner_.all_over();
  const unsigned ub = target_.vector_space;
  for (unsigned reg = 2; reg < 10; ++reg) {
    const std::int64_t at = (reg - 2) * 32;
    emit(FlagPlanner::kScalar, {{ub, at, at + 4, true}},
         fmt::format("sts.i32 {}[{}], s{}\n", target_.spaces[ub].name, at, reg));
  }
  const std::int64_t width = target_.operation_bits / 8;
  for (unsigned group = 0; group < groups_; ++group) {
    const std::int64_t at = 256 + group * width;
    emit(FlagPlanner::kVector, {{ub, at, at + width, true}},
         fmt::format("vst.u8 {}[{}], v{}\n", target_.spaces[ub].name, at,
                     group * (target_.operation_bits / target_.register_bits)));
  }
  const std::int64_t half = phase_ % 2 * kHalf;
  for (const isa::CopyPath& path : target_.paths) {
    if (path.to != isa::kGmSpace || !regions_[path.from].written) continue;
    const std::int64_t all = regions_[path.from].bytes;
    const std::int64_t bytes = std::min(all, path.from == ub ? std::int64_t{768} : std::int64_t{256});
    const std::int64_t to = half + (path.from == ub ? 0 : 768);
    emit(path.engine, {{path.from, 0, bytes, false}, {Access::kFirstTensor + 1, to, to + bytes, true}},
         fmt::format("copy y[s1 + {}], {}[0], {}\n", to, target_.spaces[path.from].name, bytes));
  }
  line("end\n");
  result_.text = text_;
  return result_;
}

void ProgramWriter::flag(const std::string& text) {
  queued_used_ = true;
  if (options_.broken && choices_.one_in(12))
    result_.sound = false;
  else
    line(text);
}

void ProgramWriter::everything_over() {
  flag("barrier all\n");
  planner_.all_over();
}

void ProgramWriter::emit(unsigned engine, const std::vector<Access>& accesses,
                         const std::string& instruction) {
  if (!planner_.in_step(engine)) queued_used_ = true;
  for (const std::string& text : planner_.before(engine, accesses)) flag(text);
  line(instruction);
}

std::string ProgramWriter::given(std::int64_t value) {
  if (!choices_.one_in(5)) return fmt::format("{}", value);
  const unsigned reg = 12 + numbers_++ % 8;
  line(fmt::format("mov s{}, {}\n", reg, value));
  return fmt::format("s{}", reg);
}

unsigned ProgramWriter::vector_register(unsigned groups) {
  const auto group = static_cast<unsigned>(choices_.pick(groups_ - groups + 1));
  return group * (target_.operation_bits / target_.register_bits);
}

ProgramWriter::View ProgramWriter::view(unsigned space, std::int64_t extent, bool write, std::int64_t low) {
  const Region& region = regions_[space];
  const std::string& name = target_.spaces[space].name;
  const std::int64_t step = region.alignment;
  const std::int64_t least = (low + step - 1) / step * step;
  const std::int64_t slack = std::max<std::int64_t>(0, region.bytes - extent - least) / step;
  if (!choices_.one_in(3)) {
    const std::int64_t at = least + choices_.between(0, slack) * step;
    return {fmt::format("{}[{}]", name, at), {space, at - low, at + extent, write}};
  }
  const unsigned reg = 20 + addresses_++ % 6;
  if (options_.broken && choices_.one_in(20)) {
    result_.sound = false;
    line(fmt::format("mov s{}, s{}\n", reg, data()));  // anywhere
    return {fmt::format("{}[s{}]", name, reg), {space, 0, region.bytes, write}, true};
  }
  std::int64_t mask = 1;
  while (mask * 2 - 1 <= slack) mask *= 2;
  --mask;
  line(fmt::format("and s{0}, s{1}, {2}\nmul s{0}, s{0}, {3}\n", reg, data(), mask, step));
  return {fmt::format("{}[s{} + {}]", name, reg, least),
          {space, least - low, least + mask * step + extent, write},
          true};
}

ProgramWriter::View ProgramWriter::tensor_view(bool output, std::int64_t extent, bool write,
                                               std::int64_t low) {
  if (!output) {
    const std::int64_t at = choices_.between(low, kSourceBytes - extent);
    return {fmt::format("A[{}]", at), {Access::kFirstTensor, at - low, at + extent, write}};
  }
  // What this core may write in this phase; what it wrote in the last one, others may be reading.
  const std::int64_t half = phase_ % 2 * kHalf;
  const std::int64_t at = half + choices_.between(low, kHalf - extent);
  return {fmt::format("y[s1 + {}]", at), {Access::kFirstTensor + 1, at - low, at + extent, write}};
}

void ProgramWriter::prologue() {
  line(fmt::format("core_id s0\nmul s1, s0, {}\n", kPart));
  for (unsigned reg = 2; reg < 10; ++reg)
    line(fmt::format("mov s{}, {:#x}\n", reg, choices_.one_in(2) ? choices_.pick(100) : choices_.bits64()));
  for (unsigned round = 0; round < 3; ++round) {  // from gm, then from what came from there
    for (const isa::CopyPath& path : target_.paths) {
      const bool known = path.from == isa::kGmSpace || regions_[path.from].written;
      if (path.to == isa::kGmSpace || !known || regions_[path.to].written) continue;
      const std::int64_t most =
          path.from == isa::kGmSpace ? regions_[path.to].bytes : regions_[path.from].bytes;
      const std::int64_t bytes = std::min(regions_[path.to].bytes, most);
      regions_[path.to].bytes = bytes;
      const std::int64_t at = path.from == isa::kGmSpace ? choices_.between(0, kSourceBytes - bytes) : 0;
      line(fmt::format("copy {}[0], {}[{}], {}\n", target_.spaces[path.to].name,
                       path.from == isa::kGmSpace ? "A" : target_.spaces[path.from].name, at, bytes));
      regions_[path.to].written = true;
    }
    line("barrier all\n");
  }
  if (multiplies()) gemm(true);
  line("barrier all\n");
  planner_.all_over();
  const unsigned ub = target_.vector_space;
  const std::int64_t width = target_.operation_bits / 8;
  for (unsigned group = 0; group < groups_; ++group) {
    const std::int64_t at = group * width;
    emit(FlagPlanner::kVector, {{ub, at, at + width, false}},
         fmt::format("vld.u8 v{}, {}[{}]\n", group * (target_.operation_bits / target_.register_bits),
                     target_.spaces[ub].name, at));
  }
}

void ProgramWriter::phase(unsigned number) {
  phase_ = number;
  if (number > 0) {
    flag("sync_cores\n");
    planner_.all_over();
  }
  statements(0);
}

void ProgramWriter::statements(unsigned depth) {
  for (std::uint64_t i = 1 + choices_.pick(depth == 0 ? 14 : 5); i > 0; --i) statement(depth);
}

void ProgramWriter::statement(unsigned depth) {
  switch (choices_.pick(16)) {
    case 0:
      depth < 3 && open_loops_ < core_.scalar.loop_depth ? loop(depth) : scalar();
      break;
    case 1:
      depth < 4 ? branch(depth) : scalar();
      break;
    case 2:
    case 3:
    case 4:
      transfer();
      break;
    case 5:
      scalar_memory();
      break;
    case 6:
    case 7:
      groups_ > 0 ? vector_memory() : vector();
      break;
    case 8:
    case 9:
    case 10:
      vector();
      break;
    case 11:
      multiplies() ? gemm(false) : vector();
      break;
    case 12:
      depth == 0 && open_loops_ < core_.scalar.loop_depth&& choices_.one_in(3) ? pipeline() : neighbour();
      break;
    case 13:
      debug();
      break;
    default:
      scalar();
  }
}

void ProgramWriter::loop(unsigned depth) {
  everything_over();
  const bool used_before = queued_used_;
  ++open_loops_;
  line(fmt::format("and s11, s{}, 3\nloop s11\nnop\n", data()));
  queued_used_ = false;
  statements(depth + 1);
  if (queued_used_) everything_over();  // the next turn meets what this one did
  line("endloop\n");
  --open_loops_;
  queued_used_ = queued_used_ || used_before;
}

void ProgramWriter::branch(unsigned depth) {
  const bool used_before = queued_used_;
  queued_used_ = false;
  const unsigned label = labels_++;
  static const std::vector<Op> kBranches{Op::Beq, Op::Bne, Op::Blt, Op::Bge};
  const std::string other =
      choices_.one_in(3) ? fmt::format("{}", choices_.between(-50, 50)) : fmt::format("s{}", data());
  line(fmt::format("{} s{}, {}, skip{}\n", isa::info(choices_.one_of(kBranches)).mnemonic, data(), other,
                   label));
  statements(depth + 1);
  line(fmt::format("skip{}:\nnop\n", label));
  // Only one of the two ways knows what the flags in between told.
  if (queued_used_) everything_over();
  queued_used_ = queued_used_ || used_before;
}

void ProgramWriter::debug() {
  switch (choices_.pick(4)) {
    case 0:
      line(fmt::format("region \"part {}\"\n", choices_.pick(3)));
      break;
    case 1: {
      const unsigned reg = data();
      line(fmt::format("assert s{0}, s{0}\n", reg));
      break;
    }
    case 2: {
      const auto engine = choices_.pick(target_.engines.size());
      if (!planner_.in_step(static_cast<unsigned>(engine))) queued_used_ = true;
      line(fmt::format("barrier {}\n", target_.engines[engine]));
      break;
    }
    default:
      line("nop\n");
  }
}

void ProgramWriter::scalar() {
  static const std::vector<Op> kOps = [] {
    std::vector<Op> ops;
    for (const isa::InstructionInfo& row : isa::instructions())
      if (row.family == isa::Family::Scalar && row.types == isa::kNoTypes) ops.push_back(row.op);
    return ops;
  }();
  const isa::InstructionInfo& row = isa::info(choices_.one_of(kOps));
  const std::size_t slots = isa::info(row.format).slots.size();
  const auto operand = [&] {
    return choices_.one_in(2) ? fmt::format("s{}", data()) : fmt::format("{}", choices_.between(-100, 99));
  };
  const bool divides = row.op == Op::Div || row.op == Op::Rem;
  const std::string a = operand();
  std::string b = operand();
  if (divides && (!options_.broken || !choices_.one_in(6))) {
    const unsigned divisor = data();
    line(fmt::format("or s26, s{}, 1\n", divisor));
    b = "s26";
  } else if (divides) {
    result_.sound = false;
  }
  std::string text = fmt::format("{} s{}", row.mnemonic, data());
  if (slots > 1) text += ", " + a;
  if (slots > 2) text += ", " + b;
  line(text + "\n");
}

}  // namespace npulab::test
