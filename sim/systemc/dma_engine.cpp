// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/dma_engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/systemc/chip.hpp"

namespace npulab::systemc {

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit,
                     std::uint8_t engine, DmaPort& port)
    : Process(name, session, unit.clock),
      unit_(unit),
      config_(unit.shared.core->dma.at(unit.shared.target->engines[engine])),
      engine_(engine),
      port_(port),
      ways_(config_.paths.begin(), config_.paths.end()),
      read_bytes_(unit.shared.target->spaces.size()),
      written_bytes_(unit.shared.target->spaces.size()) {}

void DmaEngine::reset(std::uint64_t cycle) {
  queue_.clear();
  in_flight_.clear();
  outstanding_.clear();
  window_.clear();
  free_batches_.clear();
  for (const auto& batch : batches_) free_batches_.push_back(batch.get());
  uncollected_ = 0;
  retired_ = 0;
  issuing_ = needs_answer_ = asked_ = has_turn_ = false;
  now_ps_ = 0;
  semaphore_.reset();
  granted_ps_.reset();
  granted_inputs_.clear();
  cycle_ = accounted_ = last_arrive_ = last_finish_ = cycle;
  stats_ = {};
  std::fill(read_bytes_.begin(), read_bytes_.end(), 0);
  std::fill(written_bytes_.begin(), written_bytes_.end(), 0);
}

void DmaEngine::push(QueueEntry entry) {
  const std::uint64_t cycle = entry.cycle;
  queue_.push_back(std::move(entry));
  if (queue_.size() == 1 && !issuing_) wake_at(cycle);
}

void DmaEngine::pop(std::uint64_t cycle) {
  const bool was_full = !has_room();
  queue_.pop_front();
  if (was_full) unit_.queue_has_room(engine_, cycle);
}

void DmaEngine::step() {
  now_ps_ = now_ps();
  collect();
  bool retired = true;
  while (retired) {
    while (retire()) {
    }
    while (issue()) {
    }
    retired = retire();  // what needed no request (flags, empty copies): a barrier behind it may go on
  }
  if (drained()) unit_.engine_drained();
}

// Books [accounted_, to): up to `since` the engine had nothing to issue, from there on `cause` held it.
void DmaEngine::account(std::uint64_t to, report::Stall cause, std::uint64_t since) {
  if (to <= accounted_) return;
  since = std::clamp(since, accounted_, to);
  const std::uint64_t arrived = uncollected_ == 0 ? std::min(last_arrive_, since) : since;
  if (arrived > accounted_) stats_.cycles[report::Stall::latency] += arrived - accounted_;
  if (to > since) stats_.cycles[cause] += to - since;
  accounted_ = to;
}

bool DmaEngine::issue() {
  if (issuing_) return !has_turn_ && issue_requests();
  if (queue_.empty()) return false;
  if (!reached(queue_.front().cycle)) {
    wake_at(queue_.front().cycle);
    return false;
  }
  return start_entry();
}

bool DmaEngine::start_entry() {
  QueueEntry& entry = queue_.front();
  unit_.begin(entry, engine_, now_ps());
  switch (entry.kind) {
    case QueueEntry::Kind::copy:
      return start_copy();
    case QueueEntry::Kind::wait:
      return start_wait();
    case QueueEntry::Kind::acquire:
      return start_acquire();
    case QueueEntry::Kind::set:
    case QueueEntry::Kind::release: {
      Flight flight;
      flight.entry = std::move(entry);
      flight.entry.knowledge = unit_.done_so_far(engine_);
      flight.issued = true;
      const std::uint64_t cycle = std::max(cycle_, flight.entry.cycle);
      in_flight_.push_back(std::move(flight));
      pop(cycle);
      return true;
    }
    case QueueEntry::Kind::barrier: {
      if (!in_flight_.empty()) return false;
      const std::uint64_t since = std::max(cycle_, entry.cycle);
      cycle_ = std::max(since, last_finish_);
      account(cycle_, report::Stall::barrier, since);
      pop(cycle_);
      return true;
    }
    case QueueEntry::Kind::vector:
    case QueueEntry::Kind::matrix:
      break;
  }
  throw Error(Category::internal, "wrong-queue", "a vector or matrix instruction came to a DMA engine");
}

bool DmaEngine::start_wait() {
  const QueueEntry& entry = queue_.front();
  const auto set = unit_.flags.peek(entry.flag);
  if (!set) return false;  // publish() wakes this engine
  const std::uint64_t since = std::max(cycle_, entry.cycle);
  const std::uint64_t cycle = std::max(since, *set);
  if (!reached(cycle)) {
    wake_at(cycle);
    return false;
  }
  unit_.take(entry.flag, cycle);
  waited(cycle, since);
  return true;
}

void DmaEngine::waited(std::uint64_t cycle, std::uint64_t since) {
  account(cycle, report::Stall::flag, since);
  cycle_ = cycle;
  last_finish_ = std::max(last_finish_, cycle);  // a flag set behind this wait is not set before it is over
  pop(cycle);
}

bool DmaEngine::start_acquire() {
  const QueueEntry& entry = queue_.front();
  const std::uint64_t since = std::max(cycle_, entry.cycle);
  const auto cycle = unit_.acquired(semaphore_, entry, since, engine_);
  if (!cycle) return false;
  if (!reached(*cycle)) {
    wake_at(*cycle);
    return false;
  }
  unit_.acquire(semaphore_, entry, engine_);
  waited(*cycle, since);
  return true;
}

void DmaEngine::inputs_granted(std::uint64_t ps, std::vector<InputSlot*> slots) {
  granted_ps_ = ps;
  granted_inputs_ = std::move(slots);
  wake();
}

bool DmaEngine::claim_inputs(const core::Transfer& transfer, std::uint64_t& start) {
  if (!space(transfer.to).remote() || transfer.total() == 0) return true;
  if (!granted_ps_) {
    if (asked_) return false;
    InputArbiter::Request request{clock.ps(start), unit_.state.id, engine_, {}, this};
    for (std::int64_t i = 0; i < transfer.cores; ++i)
      request.wanted.push_back(&unit_.chip.core_of(space(transfer.to).core_type, transfer.core_at(i))
                                    ->inputs(space(transfer.to).remote_space));
    unit_.chip.inputs().request(std::move(request));
    asked_ = true;
    return false;
  }
  const std::uint64_t granted = std::max(start, clock.cycle(*granted_ps_));
  if (!reached(granted)) {
    wake_at(granted);
    return false;
  }
  account(granted, report::Stall::port, start);
  start = granted;
  asked_ = false;
  granted_ps_.reset();
  return true;
}

bool DmaEngine::start_copy() {
  std::uint64_t start = std::max(cycle_, queue_.front().cycle);
  if (!reached(start)) {
    wake_at(start);
    return false;
  }
  if (!claim_inputs(queue_.front().transfer, start)) return false;
  Flight flight;
  flight.inputs = std::move(granted_inputs_);
  granted_inputs_.clear();
  flight.entry = std::move(queue_.front());
  pop(start);
  flight.way = unit_.shared.program->ops[flight.entry.pc].path;
  const config::DmaPathConfig& path = ways_[flight.way].config;
  const core::Transfer& transfer = flight.entry.transfer;
  if (unit_.shared.races != nullptr)
    tell_races(flight.entry, start);
  else if (unit_.shared.sanitize != core::Sanitize::off)
    find_races(transfer, start);
  cycle_ = start + path.setup_cycles;
  flight.arrive = cycle_;
  ++stats_.copies;
  stats_.bytes += transfer.total();
  if (transfer.layout || transfer.post) stats_.converted_bytes += transfer.total();
  read_bytes_[transfer.from] += transfer.read_bytes();
  written_bytes_[transfer.to] += transfer.written_bytes() * static_cast<std::uint64_t>(transfer.cores);
  pieces_ = core::Pieces(transfer, path.request_bytes);
  const bool through_gm = transfer.from == isa::kGmSpace || transfer.to == isa::kGmSpace;
  if (through_gm && !pieces_.empty()) {
    issuing_ = true;
  } else {
    issue_local(flight);
    flight.issued = true;
  }
  in_flight_.push_back(std::move(flight));
  return true;
}

void DmaEngine::tell_races(const QueueEntry& entry, std::uint64_t cycle) const {
  const core::Transfer& transfer = entry.transfer;
  const auto tell = [&](const core::Side& side, std::int64_t core, core::Races::Kind kind) {
    const CoreUnit* unit = side.space == isa::kGmSpace || !space(side.space).remote()
                               ? &unit_
                               : unit_.chip.core_of(space(side.space).core_type, core);
    const std::uint8_t number = unit == &unit_ ? side.space : space(side.space).remote_space;
    unit_.shared.races->access(unit_.state.id, engine_, {unit->state.id, number}, kind, side,
                               {transfer.pc, clock.ps(cycle), entry.order});
  };
  tell(transfer.source(), transfer.core, core::Races::Kind::read);
  if (transfer.scale_space != isa::kGmSpace) tell(transfer.scales(), 0, core::Races::Kind::read);
  for (std::int64_t i = 0; i < transfer.cores; ++i)
    tell(transfer.destination(), transfer.core_at(i), core::Races::Kind::write);
}

void DmaEngine::find_races(const core::Transfer& transfer, std::uint64_t cycle) const {
  const core::DecodedProgram& program = *unit_.shared.program;
  for (const auto& other : unit_.engines) {
    if (other.get() == this) continue;
    for (const Flight& flight : other->in_flight_) {
      const bool over =
          flight.issued && flight.awaited == 0 && std::max(flight.arrive, other->last_finish_) <= cycle;
      if (flight.entry.kind != QueueEntry::Kind::copy || over) continue;
      const auto at = core::conflict(transfer, flight.entry.transfer);
      if (!at || (space(*at).remote() && !core::share_a_core(transfer, flight.entry.transfer))) continue;
      // Which of two copies starts first may be chance: the finding stands at the later one of the program.
      const auto [first, second] = std::minmax(flight.entry.pc, transfer.pc);
      const auto engine_of = [&](std::uint32_t pc) {
        return unit_.shared.target->engines[program.ops[pc].engine];
      };
      unit_.shared.diagnostics->add(
          core::Severity::error, "race",
          fmt::format("copy on {} touches the bytes of {} on core {} that the copy of {} on {} is still "
                      "working on: no flag "
                      "or barrier orders the two",
                      engine_of(second), space(*at).name, unit_.state.id, to_string(program.where(first)),
                      engine_of(first)),
          program.where(second), unit_.state.id);
    }
  }
}

// Between buffers: one piece after the other at the path's width.
void DmaEngine::issue_local(Flight& flight) {
  cycle_ = std::max(cycle_, port_.free);
  account(cycle_, report::Stall::port, cycle_);
  const Way& way = ways_[flight.way];
  std::uint64_t busy = 0;
  while (!pieces_.empty()) {
    busy += way.cycles(flight.entry.transfer, pieces_.next().bytes);
    ++stats_.requests;
  }
  if (busy == 0) return;
  stats_.cycles.busy += busy;
  stats_.least_cycles += way.least_cycles(flight.entry.transfer, flight.entry.transfer.total());
  cycle_ += busy;
  accounted_ = port_.free = cycle_;
  flight.arrive = std::max(cycle_ + way.config.latency_cycles, last_arrive_);
  last_arrive_ = flight.arrive;
  // The next copy may begin to arrive right behind this one.
  if (!flight.inputs.empty()) unit_.chip.inputs().free(flight.inputs, clock.ps(cycle_));
  flight.inputs.clear();
}

memory::LocalBuffer* DmaEngine::buffer(std::uint8_t space_number, std::int64_t core) const {
  if (space_number == isa::kGmSpace) return nullptr;
  const isa::Space& end = space(space_number);
  if (!end.remote()) return &unit_.state.buffer(space_number);
  return &unit_.chip.core_of(end.core_type, core)->state.buffer(end.remote_space);
}

void DmaEngine::land(const core::Transfer& transfer) {
  const Shared& shared = unit_.shared;
  core::TransferEnds ends;
  ends.from = buffer(transfer.from, transfer.core);
  for (std::int64_t i = 0; i < transfer.cores; ++i) {
    ends.to = buffer(transfer.to, transfer.core_at(i));
    core::apply_transfer(*shared.program, transfer, unit_.state, ends, *shared.gm);
  }
}

std::uint64_t DmaEngine::window_opens(std::uint64_t cycle) {
  while (!window_.empty() && window_.front() <= cycle) window_.pop_front();
  if (uncollected_ + window_.size() < way().config.in_flight) return cycle;
  return window_.empty() ? kPending : window_.front();
}

DmaEngine::Batch& DmaEngine::free_batch() {
  if (free_batches_.empty()) {
    batches_.push_back(std::make_unique<Batch>());
    free_batches_.push_back(batches_.back().get());
  }
  Batch& batch = *free_batches_.back();
  free_batches_.pop_back();
  batch.core = unit_.state.id;
  batch.engine = engine_;
  batch.requests.clear();
  batch.issued.clear();
  batch.flight = retired_ + in_flight_.size() - 1;
  batch.collected = 0;
  outstanding_.push_back(&batch);
  return batch;
}

void DmaEngine::add_request(Batch& batch, const core::Transfer& transfer, std::uint64_t cycle) {
  const core::Pieces::Piece piece = pieces_.next();
  const bool write = transfer.to == isa::kGmSpace;
  const std::uint64_t least = way().least_cycles(transfer, piece.bytes);
  const std::uint64_t width = std::max<std::uint64_t>(least, way().config.issue_interval_cycles);
  while (!window_.empty() && window_.front() <= cycle) window_.pop_front();
  account(cycle, report::Stall::in_flight, cycle_);
  stats_.cycles.busy += width;
  cycle_ = cycle + width;
  accounted_ = port_.free = cycle_;
  ++stats_.requests;
  stats_.least_cycles += least;
  (write ? stats_.gm_write_bytes : stats_.gm_read_bytes) += piece.bytes;
  batch.requests.push_back({piece.address, piece.bytes, write, clock.ps(cycle), kPending});
  batch.issued.push_back(cycle);
  ++uncollected_;
}

bool DmaEngine::issue_requests() {
  if (cycle_ - unit_.start_cycle() > unit_.shared.max_cycles)
    unit_.chip.give_up(
        "cycle-limit",
        fmt::format("a copy of {} is still under way in cycle {}, the limit of this run (--max-cycles)",
                    unit_.name(), unit_.shared.max_cycles),
        unit_.shared.program->where(in_flight_.back().entry.pc));
  if (port_.free > cycle_) {
    account(port_.free, report::Stall::port, cycle_);
    cycle_ = port_.free;
  }
  const std::uint32_t grant = unit_.shared.machine->gm.grant_bytes;
  const core::Transfer& transfer = in_flight_.back().entry.transfer;
  Batch* batch = nullptr;
  std::uint32_t bytes = 0;
  while (!pieces_.empty() && bytes < grant) {
    const std::uint64_t opens = window_opens(cycle_);
    if (opens == kPending) {
      needs_answer_ = true;
      break;
    }
    if (batch == nullptr) {
      if (clock.ps(opens) > now_ps_) {
        issue_at(opens);
        return false;
      }
      batch = &free_batch();
    }
    add_request(*batch, transfer, opens);
    bytes += batch->requests.back().bytes;
  }
  if (batch == nullptr) return false;
  in_flight_.back().awaited += batch->requests.size();
  if (pieces_.empty()) {
    issuing_ = false;
    in_flight_.back().issued = true;
  }
  batch->pending = static_cast<std::uint32_t>(batch->requests.size());
  unit_.shared.port->submit(*batch, *this);
  return true;
}

void DmaEngine::issue_at(std::uint64_t cycle) {
  // Engines that share a port take it in the order of their steps.
  has_turn_ = port_.engines == 1 && unit_.shared.port->turn_at(clock.ps(cycle), *this);
  if (!has_turn_) wake_at(cycle);
}

void DmaEngine::gm_turn(std::uint64_t ps) {
  now_ps_ = ps;
  has_turn_ = false;
  while (issuing_ && issue_requests()) {
  }
  if (!issuing_ && !queue_.empty()) wake_at_ps(now_ps_);
}

void DmaEngine::gm_answered(GmBatch&) {
  if (port_.engines > 1) {  // while requests go out, step() comes by itself and collects
    if (!issuing_ || needs_answer_) wake();
    return;
  }
  const bool waited = needs_answer_;
  collect();
  if (issuing_ && waited) {
    const std::uint64_t opens = window_opens(cycle_);
    needs_answer_ = opens == kPending;
    if (!needs_answer_ && clock.ps(opens) > now_ps_)
      issue_at(opens);
    else if (!needs_answer_)
      wake_at_ps(now_ps_);
  }
  const Flight& flight = in_flight_.front();
  if (flight.issued && flight.awaited == 0)
    wake_at_ps(std::max(now_ps_, clock.ps(std::max(flight.arrive, last_finish_))));
}

void DmaEngine::collect() {
  needs_answer_ = false;
  while (!outstanding_.empty()) {
    Batch& batch = *outstanding_.front();
    Flight& flight = in_flight_[batch.flight - retired_];
    for (; batch.collected < batch.requests.size(); ++batch.collected) {
      const GmRequest& request = batch.requests[batch.collected];
      if (request.done_ps == kPending) return;
      arrived(flight, request, batch.issued[batch.collected]);
    }
    outstanding_.pop_front();
    free_batches_.push_back(&batch);
  }
}

void DmaEngine::arrived(Flight& flight, const GmRequest& request, std::uint64_t issued) {
  const Way& way = ways_[flight.way];
  const std::uint64_t there = clock.cycle(request.done_ps) + way.config.latency_cycles;
  const std::uint64_t width = way.least_cycles(flight.entry.transfer, request.bytes);
  // The path's own width holds for the first request, too, however fast the memory is.
  last_arrive_ = std::max({there, issued + width, last_arrive_ + width});
  flight.arrive = last_arrive_;
  --flight.awaited;
  --uncollected_;
  window_.push_back(last_arrive_);
}

bool DmaEngine::retire() {
  if (in_flight_.empty()) return false;
  Flight& flight = in_flight_.front();
  if (!flight.issued || flight.awaited > 0) return false;
  const bool copy = flight.entry.kind == QueueEntry::Kind::copy;
  const std::uint64_t cycle = std::max(copy ? flight.arrive : flight.entry.cycle, last_finish_);
  if (!reached(cycle)) {
    wake_at(cycle);
    return false;
  }
  const Shared& shared = unit_.shared;
  if (copy) {
    if (shared.values) land(flight.entry.transfer);
    if (!flight.inputs.empty()) unit_.chip.inputs().free(flight.inputs, clock.ps(cycle));
    last_finish_ = cycle;
    if (flight.entry.transfer.to == isa::kGmSpace) unit_.chip.stored(flight.entry.transfer.total());
  } else if (flight.entry.kind == QueueEntry::Kind::release) {
    unit_.release(flight.entry.semaphore, flight.entry.by, cycle, engine_,
                  shared.program->where(flight.entry.pc), std::move(flight.entry.knowledge));
  } else {
    unit_.publish(flight.entry.flag, cycle + shared.core->sync.flag_latency_cycles, flight.entry.pc,
                  std::move(flight.entry.knowledge));
  }
  in_flight_.pop_front();
  ++retired_;
  return true;
}

void DmaEngine::close(std::uint64_t cycle) {
  account(cycle, report::Stall::latency, cycle);
  stats_.cycles.busy -= accounted_ - cycle;  // the interval of the last request may outlast the run
}

std::optional<Standing> DmaEngine::standing() const {
  if (drained()) return std::nullopt;
  if (!queue_.empty() && !issuing_) {
    Standing result = standing_of(queue_.front(), queue_.size());
    if (asked_ && !granted_ps_) result.what = WaitFor::inputs;
    if (result.what != WaitFor::nothing || outstanding_.empty()) return result;
  }
  Standing result;
  result.pc = in_flight_.front().entry.pc;
  if (outstanding_.empty()) return result;
  result.what = WaitFor::answers;
  result.count = outstanding_.size();
  return result;
}

std::vector<const QueueEntry*> DmaEngine::pending() const {
  std::vector<const QueueEntry*> entries;
  for (const Flight& flight : in_flight_) entries.push_back(&flight.entry);
  for (const QueueEntry& entry : queue_) entries.push_back(&entry);
  return entries;
}

}  // namespace npulab::systemc
