// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/core_unit.hpp"
#include "sim/config/names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/systemc/chip.hpp"
#include "sim/systemc/dma_engine.hpp"
#include "sim/systemc/front_end.hpp"
#include "sim/systemc/matrix_engine.hpp"
#include "sim/systemc/vector_engine.hpp"

namespace npulab::systemc {

namespace {
constexpr std::uint8_t kFirstDma = 2;
}

CoreUnit::CoreUnit(Chip& owner, Session& session, const Shared& common, std::uint32_t id, std::uint32_t count,
                   std::vector<std::unique_ptr<DmaPort>>& ports)
    : chip(owner),
      shared(common),
      clock(config::clock_hz(*common.core)),
      state(*common.core, *common.target, id, count,
            common.machine->numerics.overflow == config::Overflow::saturate, common.sanitize,
            *common.diagnostics),
      flags(*common.target, common.core->sync.flag_max, id, *common.diagnostics) {
  const auto name = [id](const std::string& part) { return fmt::format("core{}_{}", id, part); };
  front = std::make_unique<FrontEnd>(name("front").c_str(), session, *this);
  if (common.core->vector.queue_depth > 0)
    vector = std::make_unique<VectorEngine>(name("vector").c_str(), session, *this);
  std::map<std::string, DmaPort*> named;
  const std::size_t past_dma = kFirstDma + common.core->dma.size();
  for (std::uint8_t engine = kFirstDma; engine < past_dma; ++engine) {
    const std::string& engine_name = common.target->engines[engine];
    const std::string& port_name = common.core->dma.at(engine_name).port;
    DmaPort*& port = named[port_name.empty() ? engine_name : "port:" + port_name];
    if (port == nullptr) {
      ports.push_back(std::make_unique<DmaPort>());
      port = ports.back().get();
    }
    engines.push_back(std::make_unique<DmaEngine>(name(engine_name).c_str(), session, *this, engine, *port));
  }
  if (config::has_matrix_engine(*common.core))
    matrix = std::make_unique<MatrixEngine>(name(config::kMatrixEngine).c_str(), session, *this,
                                            static_cast<std::uint8_t>(past_dma));
}

CoreUnit::~CoreUnit() = default;

void CoreUnit::start(std::uint64_t cycle) {
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

void CoreUnit::publish(core::FlagId flag, std::uint64_t cycle, const Where& where) {
  flags.set(flag, cycle, where);
  if (is_matrix(flag.destination))
    matrix->wake_at_ps(clock.ps(cycle));
  else if (flag.destination >= kFirstDma)
    dma(flag.destination).wake_at(cycle);
  else if (flag.destination == 1 && vector)
    vector->wake_at(cycle);
  else
    front->wake();
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

std::string CoreUnit::waits_for(core::FlagId flag) const {
  std::string text = fmt::format("waits for flag {}, which ", flags.name(flag));
  if (const auto set = flags.last_set(flag))
    return text + fmt::format("was last set at {} and taken since", to_string(*set));
  text += "nothing has ever set";
  for (std::uint32_t pc = 0; pc < shared.program->ops.size(); ++pc) {
    const core::MicroOp& op = shared.program->ops[pc];
    const bool same_engines =
        op.op == isa::Op::SetFlag && op.engine_from == flag.source && op.engine == flag.destination;
    const core::Number& id = op.scalars[2];
    if (same_engines && (id.reg != isa::kNoRegister || id.value == flag.id))
      return text + fmt::format("; set_flag stands at {}", to_string(shared.program->where(pc)));
  }
  return text;
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
