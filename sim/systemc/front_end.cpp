// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/front_end.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "sim/core/meaning.hpp"
#include "sim/systemc/chip.hpp"
#include "sim/systemc/dma_engine.hpp"
#include "sim/systemc/matrix_engine.hpp"
#include "sim/systemc/vector_engine.hpp"

namespace npulab::systemc {

namespace {

using isa::Op;

constexpr std::uint8_t kScalarEngine = isa::kScalarEngineIndex;
constexpr std::uint8_t kVectorEngine = isa::kVectorEngineIndex;
constexpr std::uint64_t kPollEvery = 1U << 16U;
// A stream that runs this many instructions without a transfer, a flag or its end goes nowhere. A taken
// branch counts for many: loops of branches may be endless, counted ones are merely long.
constexpr std::uint64_t kMostAlone = std::uint64_t{1} << 34U;
constexpr std::uint64_t kBranchWeight = 1U << 10U;

}  // namespace

FrontEnd::FrontEnd(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit)
    : Process(name, session, unit.clock),
      unit_(unit),
      program_(*unit.shared.program),
      timer_(program_, *unit.shared.core, unit.shared.cache, *unit.shared.lines) {}

void FrontEnd::start(std::uint64_t cycle) {
  timer_.reset(cycle);
  loops_.clear();
  pc_ = 0;
  noted_ = kNothingNoted;
  wait_ = Wait::nothing;
  room_wanted_ = isa::kAllEngines;
  semaphore_.reset();
  waited_for_.assign(unit_.shared.target->engines.size(), 0);
  finished_ = instructions_ = block_flops_ = alone_ = waited_for_semaphores_ = 0;
  wake_at(cycle);
}

void FrontEnd::step() {
  if (wait_ == Wait::done || wait_ == Wait::cores) return;
  wait_ = Wait::nothing;
  while (one()) {
  }
}

void FrontEnd::spend(std::uint64_t instructions) {
  instructions_ += instructions;
  alone_ += instructions;
  unpolled_ += instructions;
  if (unpolled_ >= kPollEvery) {
    unpolled_ = 0;
    unit_.chip.poll(clock.ps(timer_.cycle()));
  }
  if (timer_.cycle() - unit_.start_cycle() > unit_.shared.max_cycles)
    unit_.chip.give_up(
        "cycle-limit",
        fmt::format("{} has not reached its end by cycle {}, the limit of this run: an endless loop, or a "
                    "run that needs a higher limit (--max-cycles)",
                    unit_.name(), unit_.shared.max_cycles),
        program_.where(pc_));
  if (alone_ >= kMostAlone)
    unit_.chip.give_up("endless-stream",
                       fmt::format("{} has run {} instructions up to cycle {} without a transfer, a flag or "
                                   "its end: the loop here never ends",
                                   unit_.name(), instructions_, timer_.cycle()),
                       program_.where(pc_));
}

// The stream waits at this instruction, for `engine`.
std::uint64_t FrontEnd::hold(std::uint64_t cycle, report::Stall cause, std::uint8_t engine) {
  const std::uint64_t gap = timer_.wait_until(cycle, cause);
  unit_.shared.lines->waits[pc_] += gap;
  waited_for_[engine] += gap;
  return gap;
}

// At the end of a loop body: the next turn, or on behind it.
void FrontEnd::turn_loops() {
  while (!loops_.empty() && pc_ == loops_.back().end) {
    if (loops_.back().left > 0) {
      --loops_.back().left;
      pc_ = loops_.back().start;
      return;
    }
    loops_.pop_back();
  }
}

bool FrontEnd::one() {
  turn_loops();
  const std::int32_t number = program_.block_at[pc_];
  if (number >= 0) {
    const core::Block& block = program_.blocks[static_cast<std::size_t>(number)];
    // A loop around this block alone runs all its turns at once.
    const bool whole_loop =
        !loops_.empty() && loops_.back().start == pc_ && loops_.back().end == pc_ + block.count;
    const std::uint64_t times = whole_loop ? loops_.back().left + 1 : 1;
    run_block(block, times);
    pc_ += block.count;
    if (whole_loop) loops_.pop_back();
    return true;
  }
  // Once for each time that it comes to its turn, however often it then has to wait.
  if (unit_.shared.values && noted_ != pc_) unit_.state.note_scalars(program_, pc_);
  noted_ = pc_;
  if (!step_op(program_.ops[pc_])) return false;
  noted_ = kNothingNoted;
  return true;
}

void FrontEnd::run_block(const core::Block& block, std::uint64_t times) {
  const bool values = unit_.shared.values;
  const auto index = static_cast<std::uint32_t>(&block - program_.blocks.data());
  constexpr std::uint64_t kSlice = 4096;  // turns between two looks at the host
  const std::uint64_t slice = unit_.shared.races != nullptr ? 1 : kSlice;
  for (std::uint64_t done = 0; done < times;) {
    const std::uint64_t turns = std::min(slice, times - done);
    act();
    for (std::uint64_t i = 0; i < turns; ++i) {
      if (block.reads_addresses) {
        run_addressed(block);
      } else {
        core::execute(program_, block, unit_.state, values);
      }
    }
    if (!block.reads_addresses) timer_.run(index, turns);
    block_flops_ += block.flops * turns;
    done += turns;
    spend(turns * block.count);
  }
}

// What follows is done by the stream itself, now.
void FrontEnd::act() {
  if (unit_.shared.races != nullptr)
    unit_.state.acting = {unit_.shared.races, kScalarEngine, clock.ps(timer_.cycle()), instructions_};
}

// A block whose timing depends on its addresses: values and time go hand in hand.
void FrontEnd::run_addressed(const core::Block& block) {
  const bool values = unit_.shared.values;
  for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc) {
    const core::MicroOp& op = program_.ops[pc];
    timer_.issue(pc, core::bank_delay(op, unit_.state));
    act();
    if (values) unit_.state.note_scalars(program_, pc);
    if (values && op.timing.vector) unit_.state.note_registers(program_, pc);
    if (values)
      core::execute(program_, pc, unit_.state);
    else
      core::execute_bare(program_, pc, unit_.state);
  }
}

bool FrontEnd::step_op(const core::MicroOp& op) {
  switch (op.family) {
    case isa::Family::Vector:
      if (op.op == Op::Vext) break;
      return vector_op(op);
    case isa::Family::VectorMemory:
    case isa::Family::Tile:
      return vector_op(op);
    case isa::Family::Matrix:
      return product(op);
    case isa::Family::Transfer:
      return transfer(op);
    case isa::Family::Sync:
      return sync(op);
    case isa::Family::Control:
      return control(op);
    case isa::Family::Debug:
      debug(op);
      ++pc_;
      return true;
    case isa::Family::Scalar:
      break;
  }
  if (op.op == Op::Vext && unit_.vector) {
    if (!unit_.vector->drained()) {
      wait_ = Wait::engines;
      return false;
    }
    hold(unit_.vector->finished(), report::Stall::dependency, kVectorEngine);
  }
  timer_.issue(pc_);
  if (op.op == Op::Vext) unit_.state.note_registers(program_, pc_);
  act();
  core::execute(program_, pc_, unit_.state);
  spend(1);
  ++pc_;
  return true;
}

template <class Engine>
bool FrontEnd::has_room(const Engine& engine, std::uint8_t number) {
  if (engine.has_room()) {
    if (room_wanted_ == number) hold(room_cycle_, report::Stall::queue_full, number);
    room_wanted_ = isa::kAllEngines;
    return true;
  }
  wait_ = Wait::room;
  // Full as far as is known now: what counts is the queue at this stream's own time.
  if (!reached(timer_.cycle())) {
    wake_at(timer_.cycle());
  } else {
    room_wanted_ = number;
  }
  return false;
}

bool FrontEnd::queue_has_room(std::uint8_t engine) {
  if (engine == kVectorEngine) return has_room(*unit_.vector, engine);
  return unit_.is_matrix(engine) ? has_room(*unit_.matrix, engine) : has_room(unit_.dma(engine), engine);
}

void FrontEnd::room(std::uint8_t engine, std::uint64_t cycle) {
  if (room_wanted_ != engine) return;
  room_cycle_ = cycle;
  wake();
}

QueueEntry FrontEnd::entry(QueueEntry::Kind kind, std::uint64_t issued) const {
  QueueEntry result;
  result.kind = kind;
  result.pc = pc_;
  result.cycle = issued + 1;
  result.order = instructions_;
  if (unit_.shared.races != nullptr) result.knowledge = unit_.shared.races->handed_over(unit_.state.id);
  return result;
}

void FrontEnd::push(std::uint8_t engine, QueueEntry entry) {
  if (engine == kVectorEngine)
    unit_.vector->push(std::move(entry));
  else if (unit_.is_matrix(engine))
    unit_.matrix->push(std::move(entry));
  else
    unit_.dma(engine).push(std::move(entry));
}

bool FrontEnd::in_step(std::uint8_t engine) const {
  return engine == kScalarEngine || (engine == kVectorEngine && !unit_.vector);
}

bool FrontEnd::vector_op(const core::MicroOp& op) {
  if (!queue_has_room(kVectorEngine)) return false;
  core::check_modifiers(program_, pc_, unit_.state);
  QueueEntry item = entry(QueueEntry::Kind::vector, timer_.issue(pc_));
  item.op = std::make_unique<core::MicroOp>(core::freeze(op, unit_.state));
  core::post_increment(op, unit_.state);
  unit_.vector->push(std::move(item));
  spend(1);
  ++pc_;
  return true;
}

bool FrontEnd::product(const core::MicroOp& op) {
  if (!has_room(*unit_.matrix, op.engine)) return false;
  auto resolved = std::make_unique<core::MatrixProduct>(
      core::resolve_product(program_, pc_, unit_.state, unit_.shared.core->matrix));
  QueueEntry item = entry(QueueEntry::Kind::matrix, timer_.issue(pc_));
  item.product = std::move(resolved);
  unit_.matrix->push(std::move(item));
  spend(1);
  alone_ = 0;
  ++pc_;
  return true;
}

// Whether the launch has the cores that a copy names.
void FrontEnd::check_other_cores(const core::Transfer& t) const {
  const std::vector<isa::Space>& spaces = unit_.shared.target->spaces;
  if (!spaces[t.from].remote() && !spaces[t.to].remote()) return;
  const bool there = spaces[t.to].remote();
  const isa::Space& far = spaces[there ? t.to : t.from];
  const auto refuse = [&](const char* code, const std::string& rule) {
    throw Error(Category::verdict, code,
                fmt::format("copy {} {} on {}: {}", there ? "to" : "from", far.name, unit_.name(), rule),
                program_.where(t.pc));
  };
  const core::MicroOp& op = program_.ops[t.pc];
  const config::DmaPathConfig& path =
      unit_.shared.core->dma.at(unit_.shared.target->engines[op.engine]).paths[op.path];
  const isa::ModInfo& steps = isa::info(isa::Mod::core_step);
  const std::int64_t count = unit_.chip.count_of(far.core_type);
  if (t.cores < 1) refuse("core-range", fmt::format("cores is {}, and at least 1", t.cores));
  if (t.cores > 1 && !path.multicast)
    refuse("no-multicast", fmt::format("cores is {}, and its path reaches one at a time", t.cores));
  if (t.cores > 1 && (t.core_step == 0 || t.core_step < steps.min || t.core_step > steps.max))
    refuse("core-range",
           fmt::format("core_step is {}; it is {}…{}, and not 0", t.core_step, steps.min, steps.max));
  if (t.core < 0 || t.core >= count)
    refuse("core-range",
           fmt::format("core {}: the launch has {} of type '{}'", t.core, count, far.core_type));
  const std::int64_t room = t.core_step > 0 ? count - 1 - t.core : t.core;
  if (t.cores > 1 && t.cores - 1 > room / std::abs(t.core_step))
    refuse("core-range", fmt::format("{} cores from {} on in steps of {}: the launch has {} of type '{}'",
                                     t.cores, t.core, t.core_step, count, far.core_type));
}

bool FrontEnd::transfer(const core::MicroOp& op) {
  DmaEngine& engine = unit_.dma(op.engine);
  if (!queue_has_room(op.engine)) return false;
  const config::DmaPathConfig& path =
      unit_.shared.core->dma.at(unit_.shared.target->engines[op.engine]).paths[op.path];
  core::Transfer t = core::resolve_transfer(program_, pc_, unit_.state, unit_.shared.tensors,
                                            unit_.shared.machine->gm.bytes, path.alignment);
  check_other_cores(t);
  QueueEntry item = entry(QueueEntry::Kind::copy, timer_.issue(pc_));
  item.transfer = t;
  engine.push(std::move(item));
  spend(1);
  alone_ = 0;
  ++pc_;
  return true;
}

bool FrontEnd::end() {
  if (!unit_.drained()) {
    wait_ = Wait::engines;
    return false;
  }
  timer_.issue(pc_);
  timer_.close_cycle();
  stream_ended_ = timer_.cycle();
  finished_ = std::max(timer_.finished(), unit_.engines_finished());
  wait_ = Wait::done;
  spend(1);
  unit_.chip.core_done();
  return false;
}

bool FrontEnd::control(const core::MicroOp& op) {
  if (op.op == Op::End) return end();
  const std::uint64_t issued = timer_.issue(pc_);
  spend(1);
  if (op.op == Op::Loop) {
    loop(op);
    return true;
  }
  const std::int64_t a = unit_.state.scalar(op.scalars[0]);
  const std::int64_t b = unit_.state.scalar(op.scalars[1]);
  bool taken = false;
  switch (op.op) {
    case Op::Jmp:
      taken = true;
      break;
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
      break;
  }
  if (taken) {
    hold(issued + op.timing.latency, report::Stall::dependency, kScalarEngine);
    alone_ += kBranchWeight;
  }
  pc_ = taken ? op.target : pc_ + 1;
  return true;
}

void FrontEnd::loop(const core::MicroOp& op) {
  hold(timer_.cycle() + op.timing.latency, report::Stall::dependency, kScalarEngine);
  const std::int64_t count = unit_.state.scalar(op.scalars[0]);
  if (count <= 0) {
    pc_ = op.target;
    return;
  }
  loops_.push_back({pc_ + 1, op.target, static_cast<std::uint64_t>(count) - 1});
  ++pc_;
}

void FrontEnd::debug(const core::MicroOp& op) {
  spend(1);
  if (op.op == Op::Print) {
    unit_.chip.print(fmt::format("{} cycle {} {}: {}", unit_.name(), timer_.cycle(),
                                 to_string(program_.where(pc_)), unit_.state.scalar(op.scalars[0])));
    return;
  }
  if (op.op == Op::Region) {
    unit_.chip.region(program_.program->strings[static_cast<std::size_t>(op.scalars[0].value)],
                      unit_.state.id, clock.ps(timer_.cycle()));
    return;
  }
  const std::int64_t a = unit_.state.scalar(op.scalars[0]);
  const std::int64_t b = unit_.state.scalar(op.scalars[1]);
  if (a != b)
    throw Error(
        Category::verdict, "assertion",
        fmt::format("assertion failed on {} in cycle {}: {} is not {}", unit_.name(), timer_.cycle(), a, b),
        program_.where(pc_));
}

std::optional<Standing> FrontEnd::standing() const {
  if (wait_ == Wait::done) return std::nullopt;
  const core::MicroOp& op = program_.ops[pc_];
  Standing result;
  result.pc = pc_;
  switch (wait_) {
    case Wait::flag:
      result.what = WaitFor::flag;
      result.flag = flag_of(op);
      break;
    case Wait::semaphore:
      result.what = WaitFor::semaphore;
      result.semaphore = semaphore_of(op);
      result.by = amount_of(op, result.semaphore);
      break;
    case Wait::room:
      result.what = WaitFor::room;
      result.engine = room_wanted_;
      break;
    case Wait::engines:
      result.what = WaitFor::engines;
      break;
    case Wait::cores:
      result.what = WaitFor::cores;
      break;
    case Wait::nothing:
    case Wait::done:
      break;
  }
  if (result.what == WaitFor::room && room_wanted_ == isa::kAllEngines) result.what = WaitFor::nothing;
  return result;
}

}  // namespace npulab::systemc
