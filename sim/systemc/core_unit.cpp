// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/core_unit.hpp"
#include "sim/config/names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/systemc/chip.hpp"
#include "sim/systemc/dma_engine.hpp"
#include "sim/systemc/front_end.hpp"
#include "sim/systemc/matrix_engine.hpp"
#include "sim/systemc/vector_engine.hpp"

namespace npulab::systemc {

namespace {
constexpr std::uint8_t kFirstDma = 2;
}

CoreUnit::CoreUnit(Chip& owner, Session& session, const Shared& common, std::uint32_t number_in_program)
    : chip(owner),
      shared(common),
      clock(config::clock_hz(*common.core)),
      state(*common.core, *common.target,
            {common.first_core + number_in_program, number_in_program, common.cores},
            common.machine->numerics.overflow == config::Overflow::saturate, common.sanitize,
            *common.diagnostics),
      flags(*common.target, common.core->sync.flag_max, state.id, *common.diagnostics,
            [this](std::uint32_t pc) { return shared.program->where(pc); }) {
  const auto module = [this](const std::string& part) { return fmt::format("core{}_{}", state.id, part); };
  front = std::make_unique<FrontEnd>(module("front").c_str(), session, *this);
  if (common.core->vector.present && common.core->vector.queue_depth > 0)
    vector = std::make_unique<VectorEngine>(module("vector").c_str(), session, *this);
  std::map<std::string, DmaPort*> named;
  const std::size_t past_dma = kFirstDma + common.core->dma.size();
  for (std::uint8_t engine = kFirstDma; engine < past_dma; ++engine) {
    const std::string& engine_name = common.target->engines[engine];
    const std::string& port_name = common.core->dma.at(engine_name).port;
    DmaPort*& port = named[port_name.empty() ? engine_name : "port:" + port_name];
    if (port == nullptr) {
      ports_.push_back(std::make_unique<DmaPort>());
      port = ports_.back().get();
    }
    ++port->engines;
    engines.push_back(
        std::make_unique<DmaEngine>(module(engine_name).c_str(), session, *this, engine, *port));
  }
  if (config::has_matrix_engine(*common.core))
    matrix = std::make_unique<MatrixEngine>(module(config::kMatrixEngine).c_str(), session, *this,
                                            static_cast<std::uint8_t>(past_dma));
  for (const auto& [buffer, config] : common.core->buffers)
    inputs_.push_back({std::vector<InputSlot>(config.inputs)});
}

CoreUnit::~CoreUnit() = default;

void CoreUnit::start(std::uint64_t run, std::uint64_t cycle) {
  run_start_ = run;
  for (auto& port : ports_) port->free = run;
  for (BufferInputs& one : inputs_) one.slots.assign(one.slots.size(), InputSlot{});
  state.reset();
  flags.reset();
  if (vector) vector->reset(cycle);
  for (auto& engine : engines) engine->reset(cycle);
  if (matrix) matrix->reset(cycle);
  front->start(cycle);
}

DmaEngine& CoreUnit::dma(std::uint8_t engine) {
  return *engines[engine - kFirstDma];
}

void CoreUnit::begin(const QueueEntry& entry, std::uint8_t engine, std::uint64_t ps) {
  if (shared.races == nullptr) return;
  state.acting = {shared.races, engine, ps, entry.order};
  shared.races->begin(state.id, engine, entry.knowledge);
}

core::Races::Snapshot CoreUnit::done_so_far(std::uint8_t engine, bool operands) {
  return shared.races == nullptr ? nullptr : shared.races->publish(state.id, engine, operands);
}

void CoreUnit::take(core::FlagId flag, std::uint64_t cycle) {
  flags.take(flag, cycle);
  if (shared.races != nullptr) shared.races->take(state.id, flag);
}

void CoreUnit::acquire(SemaphoreWait& wait, const QueueEntry& entry, std::uint8_t engine) {
  wait.reset();
  if (shared.races != nullptr) shared.races->acquire(state.id, engine, entry.semaphore, entry.by);
}

void CoreUnit::publish(core::FlagId flag, std::uint64_t cycle, std::uint32_t pc, core::Races::Snapshot done) {
  flags.set(flag, cycle, pc);
  if (shared.races != nullptr) shared.races->set(state.id, flag, std::move(done));
  if (is_matrix(flag.destination))
    matrix->wake_at_ps(clock.ps(cycle));
  else if (flag.destination >= kFirstDma)
    dma(flag.destination).wake_at(cycle);
  else if (flag.destination == 1 && vector)
    vector->wake_at(cycle);
  else
    front->wake();
}

void CoreUnit::release(core::SemaphoreId semaphore, std::uint32_t by, std::uint64_t cycle,
                       std::uint8_t engine, const Where& where, core::Races::Snapshot done) {
  if (shared.races != nullptr) shared.races->release(state.id, engine, semaphore, by, std::move(done));
  chip.semaphores().release(
      {semaphore, by, clock.ps(cycle + shared.core->sync.semaphore_latency_cycles), state.id, engine, where});
}

std::optional<std::uint64_t> CoreUnit::acquired(SemaphoreWait& wait, const QueueEntry& entry,
                                                std::uint64_t since, std::uint8_t engine) {
  const auto ps = wait.over(chip.semaphores(), {entry.semaphore, entry.by, clock.ps(since), engine,
                                                shared.program->where(entry.pc)});
  if (!ps) return std::nullopt;
  return std::max(since, clock.cycle(*ps));
}

void CoreUnit::engine_drained() {
  front->wake();
}

void CoreUnit::queue_has_room(std::uint8_t engine, std::uint64_t cycle) {
  front->room(engine, cycle);
}

bool CoreUnit::drained() const {
  return (!vector || vector->drained()) && (!matrix || matrix->drained()) &&
         std::all_of(engines.begin(), engines.end(), [](const auto& engine) { return engine->drained(); });
}

Standing standing_of(const QueueEntry& head, std::size_t queued) {
  Standing result;
  result.pc = head.pc;
  result.count = queued;
  if (head.kind == QueueEntry::Kind::wait) {
    result.what = WaitFor::flag;
    result.flag = head.flag;
  } else if (head.kind == QueueEntry::Kind::acquire) {
    result.what = WaitFor::semaphore;
    result.semaphore = head.semaphore;
    result.by = head.by;
  }
  return result;
}

std::vector<const QueueEntry*> CoreUnit::pending(std::uint8_t engine) {
  if (engine == isa::kScalarEngineIndex) return {};
  if (engine == isa::kVectorEngineIndex) return vector ? vector->pending() : std::vector<const QueueEntry*>{};
  return is_matrix(engine) ? matrix->pending() : dma(engine).pending();
}

std::string CoreUnit::name() const {
  return chip.programs().size() == 1 ? fmt::format("core {}", state.id)
                                     : fmt::format("core {} ({} {})", state.id, shared.target->core_type,
                                                   shared.first_of_type + state.numbers.program);
}

std::uint8_t CoreUnit::last_engine() const {
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (engines[i]->finished() == engines_finished()) return static_cast<std::uint8_t>(i + kFirstDma);
  if (matrix && matrix->finished() == engines_finished())
    return static_cast<std::uint8_t>(engines.size() + kFirstDma);
  return 1;
}

std::uint64_t CoreUnit::engines_finished() const {
  std::uint64_t last = vector ? vector->finished() : 0;
  if (matrix) last = std::max(last, matrix->finished());
  for (const auto& engine : engines) last = std::max(last, engine->finished());
  return last;
}

}  // namespace npulab::systemc
