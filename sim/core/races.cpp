// SPDX-License-Identifier: Apache-2.0
#include "sim/core/races.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace npulab::core {

namespace {
constexpr std::size_t kMostOpen = 4096;  // instructions whose accesses are gathered before they are judged
constexpr std::size_t kMostReleased = 4096;  // of one pipe to one semaphore, remembered
}  // namespace

void Races::add_core(CoreFacts facts) {
  Core core;
  core.first_pipe = static_cast<std::uint32_t>(pipes_.size());
  core.first_memory = static_cast<std::uint32_t>(memories_.size());
  const auto number = static_cast<std::uint32_t>(cores_.size());
  const isa::Target& target = *facts.target;
  for (std::size_t engine = 0; engine < target.engines.size(); ++engine) {
    Pipe pipe;
    const auto index = static_cast<std::uint32_t>(pipes_.size());
    const auto stream = [&] {
      streams_.push_back({number, static_cast<std::uint8_t>(engine), index});
      return static_cast<std::uint32_t>(streams_.size() - 1);
    };
    pipe.stream = stream();
    const bool matrix = target.matrix && engine + 1 == target.engines.size();
    pipe.reads = matrix ? stream() : pipe.stream;
    pipes_.push_back(std::move(pipe));
  }
  memories_.resize(memories_.size() + target.spaces.size() - 1);
  core.facts = std::move(facts);
  cores_.push_back(std::move(core));
}

void Races::reset() {
  for (AccessHistory& memory : memories_) memory.clear();
  for (Pipe& pipe : pipes_) {
    pipe.known.assign(streams_.size(), 0);
    pipe.known[pipe.stream] = pipe.known[pipe.reads] = 1;
    pipe.open.clear();
    pipe.last.clear();
    pipe.begun.reset();
  }
  for (Core& core : cores_) {
    core.over = 0;
    core.carried.reset();
  }
  flags_.clear();
  semaphores_.clear();
  gathered_.assign(streams_.size(), 0);
  arrived_ = 0;
  reported_.clear();
}

Races::Pipe& Races::pipe(std::uint32_t core, std::uint8_t engine) {
  const Core& c = cores_[core];
  const bool stream = engine == isa::kVectorEngineIndex && c.facts.in_step;
  return pipes_[c.first_pipe + (stream ? isa::kScalarEngineIndex : engine)];
}

AccessHistory& Races::memory(Place place) {
  if (place.space == isa::kGmSpace) return memories_.front();
  return memories_[cores_[place.core].first_memory + place.space - 1U];
}

void Races::access(std::uint32_t core, std::uint8_t engine, Place place, Kind kind, std::uint64_t first,
                   std::uint64_t end, const Moment& moment) {
  if (first >= end) return;
  Pipe& p = pipe(core, engine);
  if (p.last.empty()) p.last.resize(cores_[core].facts.program->ops.size());
  // Loads and stores of a loop mostly go on where they were.
  for (std::uint32_t& slot : p.last[moment.pc]) {
    if (slot == 0) {
      p.open.push_back({place, kind, first, end, moment});
      slot = static_cast<std::uint32_t>(p.open.size());
      return;
    }
    Open& open = p.open[slot - 1];
    if (open.kind != kind || open.place.space != place.space || open.place.core != place.core ||
        first > open.end || end < open.first)
      continue;
    open.first = std::min(open.first, first);
    open.end = std::max(open.end, end);
    return;
  }
  p.open.push_back({place, kind, first, end, moment});
  auto& slots = p.last[moment.pc];
  std::rotate(slots.begin(), slots.begin() + 1, slots.end());
  slots.back() = static_cast<std::uint32_t>(p.open.size());
  if (p.open.size() >= kMostOpen) judge(p);
}

void Races::access(std::uint32_t core, std::uint8_t engine, Place place, Kind kind, const Side& side,
                   const Moment& moment) {
  for_each_row(side, [&](std::uint64_t first, std::uint64_t bytes) {
    access(core, engine, place, kind, first, first + bytes, moment);
  });
}

void Races::judge(Pipe& pipe) {
  for (const Open& open : pipe.open) {
    for (std::uint32_t& slot : pipe.last[open.moment.pc]) slot = 0;
    judge(pipe, open);
  }
  pipe.open.clear();
}

void Races::judge(const Pipe& pipe, const Open& open) {
  const std::uint32_t stream = open.kind == Kind::read ? pipe.reads : pipe.stream;
  const Moment& moment = open.moment;
  const Access access{stream,    pipe.known[stream], moment.pc,
                      moment.ps, moment.order,       open.kind == Kind::write};
  const std::uint32_t own = streams_[stream].pipe;
  // By reference: a std::function that holds more takes memory for each access.
  const auto ordered = [&](const Access& before) {
    return streams_[before.stream].pipe == own || before.epoch <= pipe.known[before.stream];
  };
  const auto found = [&](const Access& before, std::uint64_t first, std::uint64_t end) {
    report(before, access, open.place, std::max(first, open.first), std::min(end, open.end));
  };
  memory(open.place).add(access, open.first, open.end, std::cref(ordered), std::cref(found));
}

void Races::learn(Pipe& pipe, const Knowledge& knowledge) {
  bool news = false;
  for (std::size_t i = 0; i < knowledge.size(); ++i)
    news = news || (knowledge[i] > pipe.known[i] && streams_[i].pipe != streams_[pipe.stream].pipe);
  if (!news) return;
  judge(pipe);
  for (std::size_t i = 0; i < knowledge.size(); ++i)
    if (streams_[i].pipe != streams_[pipe.stream].pipe) pipe.known[i] = std::max(pipe.known[i], knowledge[i]);
  const Stream& stream = streams_[pipe.stream];
  if (stream.engine == isa::kScalarEngineIndex) cores_[stream.core].carried.reset();
}

Races::Snapshot Races::publish(std::uint32_t core, std::uint8_t engine, bool operands) {
  Pipe& p = pipe(core, engine);
  judge(p);
  auto snapshot = std::make_shared<Knowledge>(p.known);
  ++p.known[p.reads];
  if (p.reads != p.stream) {
    if (operands)
      --(*snapshot)[p.stream];
    else
      ++p.known[p.stream];
  }
  return snapshot;
}

Races::Snapshot Races::handed_over(std::uint32_t core) {
  Core& c = cores_[core];
  if (c.carried) return c.carried;
  const Pipe& stream = pipes_[c.first_pipe];
  auto snapshot = std::make_shared<Knowledge>(stream.known);
  (*snapshot)[stream.stream] = c.over;
  c.carried = std::move(snapshot);
  return c.carried;
}

void Races::begin(std::uint32_t core, std::uint8_t engine, const Snapshot& snapshot) {
  Pipe& p = pipe(core, engine);
  if (p.begun == snapshot) return;
  learn(p, *snapshot);
  p.begun = snapshot;
}

void Races::set(std::uint32_t core, FlagId flag, Snapshot published) {
  flags_[key(core, flag)].push_back(std::move(published));
}

void Races::take(std::uint32_t core, FlagId flag) {
  std::deque<Snapshot>& sets = flags_[key(core, flag)];
  if (sets.empty()) throw Error(Category::internal, "flag-order", "a wait was told before its set");
  learn(pipe(core, flag.destination), *sets.front());
  sets.pop_front();
}

void Races::release(std::uint32_t core, std::uint8_t engine, SemaphoreId semaphore, std::uint32_t by,
                    Snapshot published) {
  const std::uint32_t from = streams_[pipe(core, engine).stream].pipe;
  std::deque<Released>& all = semaphores_[{semaphore.core, semaphore.id}].releases[from];
  const std::uint64_t units = (all.empty() ? 0 : all.back().units) + by;
  all.push_back({units, std::move(published)});
  if (all.size() > kMostReleased) all.pop_front();
}

// An acquisition comes after a release without which the count could not have been there, whatever the others
// released. Units that others may yet release count as not there: with several that release at will, some
// races are missed, and none is made up.
void Races::acquire(std::uint32_t core, std::uint8_t engine, SemaphoreId semaphore, std::uint32_t by) {
  Semaphore& s = semaphores_[{semaphore.core, semaphore.id}];
  s.acquired += by;
  std::uint64_t total = cores_[semaphore.core].facts.semaphore_initial;
  for (const auto& [from, all] : s.releases) total += all.back().units;
  Pipe& p = pipe(core, engine);
  for (const auto& [from, all] : s.releases) {
    const std::uint64_t others = total - all.back().units;
    if (s.acquired <= others) continue;
    const std::uint64_t needed = s.acquired - others;
    const auto release =
        std::find_if(all.begin(), all.end(), [&](const Released& r) { return r.units >= needed; });
    if (release != all.end()) learn(p, *release->snapshot);
  }
}

void Races::own_barrier(std::uint32_t core) {
  Core& c = cores_[core];
  Pipe& stream = pipes_[c.first_pipe];
  judge(stream);
  c.over = stream.known[stream.stream]++;
  c.carried.reset();
}

void Races::barrier(std::uint32_t core) {
  Core& c = cores_[core];
  for (std::size_t engine = 1; engine < c.facts.target->engines.size(); ++engine) {
    const auto number = static_cast<std::uint8_t>(engine);
    if (&pipe(core, number) != &pipes_[c.first_pipe]) learn(pipes_[c.first_pipe], *publish(core, number));
  }
  own_barrier(core);
}

void Races::arrive(std::uint32_t core) {
  const Snapshot known = handed_over(core);
  for (std::size_t i = 0; i < gathered_.size(); ++i) gathered_[i] = std::max(gathered_[i], (*known)[i]);
  if (++arrived_ < cores_.size()) return;
  arrived_ = 0;
  opened_ = gathered_;
}

void Races::leave(std::uint32_t core) {
  learn(pipes_[cores_[core].first_pipe], opened_);
}

void Races::finish() {
  for (Pipe& pipe : pipes_) judge(pipe);
}

const DecodedProgram& Races::program_of(const Access& access) const {
  return *cores_[streams_[access.stream].core].facts.program;
}

std::string Races::engine_of(const Access& access) const {
  const Stream& stream = streams_[access.stream];
  const Core& core = cores_[stream.core];
  const bool scalar = program_of(access).ops[access.pc].family == isa::Family::Scalar;
  const bool vector = stream.engine == isa::kScalarEngineIndex && !scalar;
  return core.facts.target->engines[vector ? isa::kVectorEngineIndex : stream.engine];
}

std::string Races::who(const Access& access) const {
  const Core& core = cores_[streams_[access.stream].core];
  return fmt::format("{} at {} ({} of {}, cycle {})",
                     isa::info(program_of(access).ops[access.pc].op).mnemonic,
                     to_string(program_of(access).where(access.pc)), engine_of(access), core.facts.name,
                     core.facts.clock.cycle(access.ps));
}

std::string Races::bytes_of(Place place, std::uint64_t first, std::uint64_t end) const {
  if (place.space != isa::kGmSpace)
    return fmt::format("{}[{}…{}] of {}", cores_[place.core].facts.target->spaces[place.space].name, first,
                       end - 1, cores_[place.core].facts.name);
  for (const GmTensor& tensor : tensors_)
    if (first >= tensor.base && end <= tensor.base + tensor.bytes)
      return fmt::format("{}[{}…{}] in gm", tensor.name, first - tensor.base, end - 1 - tensor.base);
  return fmt::format("gm[{}…{}]", first, end - 1);
}

std::string Races::missing(const Access& first, const Access& second) const {
  const auto place = [&](const Access& access) { return to_string(program_of(access).where(access.pc)); };
  const std::uint32_t core = streams_[first.stream].core;
  if (core == streams_[second.stream].core)
    return fmt::format("set_flag {0}, {1}, ID behind {2} and wait_flag {0}, {1}, ID before {3} would",
                       engine_of(first), engine_of(second), place(first), place(second));
  if (place(first) == place(second)) return "each core needs bytes of its own, or its turn";
  const bool semaphores =
      cores_[core].facts.semaphores + cores_[streams_[second.stream].core].facts.semaphores > 0;
  return fmt::format("sync_cores{} between {} and {}, whichever shall be first, would",
                     semaphores ? " or a semaphore" : "", place(first), place(second));
}

// Which of the two is called the first: in one core that of its instructions, else the one that writes, or
// the earlier of this run.
void Races::report(const Access& before, const Access& access, Place place, std::uint64_t first,
                   std::uint64_t end) {
  const bool one_core = streams_[before.stream].core == streams_[access.stream].core;
  const auto order = [&](const Access& a) {
    return std::tuple(!one_core && !a.write, one_core ? a.order : a.ps, a.stream, a.pc);
  };
  const bool in_order = order(before) <= order(access);
  const Access& one = in_order ? before : access;
  const Access& other = in_order ? access : before;
  const std::array<std::string, 2> places{to_string(program_of(one).where(one.pc)),
                                          to_string(program_of(other).where(other.pc))};
  const std::array<std::uint64_t, 4> when{one.ps, one.order, other.ps, other.order};
  if (const auto known = reported_.find(places); known != reported_.end()) {
    if (known->second.last != when) diagnostics_.again(known->second.number);
    known->second.last = when;
    return;
  }
  const char* kind = !other.write ? "read after write" : one.write ? "write after write" : "write after read";
  const std::string message =
      fmt::format("{}: {} {} {}, which {} {}: nothing orders the two; {}", kind, who(other),
                  other.write ? "writes" : "reads", bytes_of(place, first, end), who(one),
                  one.write ? "writes" : "reads", missing(one, other));
  const std::size_t number = diagnostics_.add_distinct(
      Severity::error, "race", message, program_of(other).where(other.pc), streams_[other.stream].core);
  reported_[places] = {number, when};
}

}  // namespace npulab::core
