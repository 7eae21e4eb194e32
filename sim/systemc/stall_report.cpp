// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/stall_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace npulab::systemc {

namespace {

constexpr std::size_t kMostCores = 8;
constexpr std::size_t kMostPlaces = 4;
constexpr std::uint8_t kFrontEnd = isa::kScalarEngineIndex;

bool may_be(const core::Number& number, std::uint32_t value) {
  return number.reg != isa::kNoRegister || number.value == value;
}

// "; set_flag stands at a, b", or `none` without places.
std::string places_text(isa::Op op, const std::vector<std::string>& places, const char* none) {
  if (places.empty()) return none;
  std::string text = fmt::format("; {} stands at", isa::info(op).mnemonic);
  for (std::size_t i = 0; i < places.size() && i < kMostPlaces; ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", places[i]);
  return places.size() > kMostPlaces ? text + " and elsewhere" : text;
}

void add_once(std::vector<std::string>& places, std::string place) {
  if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
}

bool sets(const core::MicroOp& op, core::FlagId flag) {
  return op.op == isa::Op::SetFlag && op.engine_from == flag.source && op.engine == flag.destination &&
         may_be(op.scalars[2], flag.id);
}

bool releases(const core::MicroOp& op, core::SemaphoreId semaphore) {
  return op.op == isa::Op::Release && may_be(op.scalars[1], semaphore.core) &&
         may_be(op.scalars[2], semaphore.id);
}

}  // namespace

// --- engines -------------------------------------------------------------------------------------

const Process& StallReport::process(const Node& node) const {
  CoreUnit& core = *node.core;
  if (node.engine == kFrontEnd) return *core.front;
  if (node.engine == isa::kVectorEngineIndex) return *core.vector;
  if (core.is_matrix(node.engine)) return *core.matrix;
  return core.dma(node.engine);
}

std::optional<Standing> StallReport::standing(const Node& node) const {
  return process(node).standing();
}

std::vector<const QueueEntry*> StallReport::pending(const Node& node) const {
  return node.core->pending(node.engine);
}

StallReport::StallReport(Chip& chip) : chip_(chip) {
  for (const auto& core : chip_.cores()) {
    if (core->front->done()) continue;
    for (std::uint8_t engine = 0; engine < core->shared.target->engines.size(); ++engine) {
      if (engine == isa::kVectorEngineIndex && !core->vector) continue;
      const Node node{core.get(), engine};
      if (standing(node)) nodes_.push_back(node);
    }
  }
}

std::string StallReport::name(const Node& node) const {
  return fmt::format("{} {}", node.core->name(),
                     node.engine == kFrontEnd ? "front end" : node.core->shared.target->engines[node.engine]);
}

std::string StallReport::place(const Node& node, std::uint32_t pc) const {
  return to_string(node.core->shared.program->where(pc));
}

Where StallReport::first() const {
  for (const auto& core : chip_.cores())
    if (!core->front->done() && core->front->where().line > 0) return core->front->where();
  return {};
}

// --- what each waits for -------------------------------------------------------------------------

std::string StallReport::wish(const Node& node, const Standing& standing) const {
  const std::vector<std::string>& engines = node.core->shared.target->engines;
  switch (standing.what) {
    case WaitFor::nothing:
      return standing.count > 0 ? fmt::format("{} instructions queued", standing.count) : "is at work";
    case WaitFor::flag:
      return fmt::format("waits for flag {}", node.core->flags.name(standing.flag));
    case WaitFor::semaphore:
      return fmt::format("waits until semaphore {} is {}", standing.semaphore.id, standing.by);
    case WaitFor::room:
      return fmt::format("waits for room in the queue of {}", engines[standing.engine]);
    case WaitFor::engines:
      return "waits until its engines are done";
    case WaitFor::cores:
      return "waits at sync_cores";
    case WaitFor::answers:
      return fmt::format("waits for {} answers of gm", standing.count);
    case WaitFor::inputs:
      return "waits for the inputs of other cores' buffers";
  }
  return {};
}

std::string StallReport::flag_signallers(const Node& node, const Standing& standing) const {
  const core::FlagId flag = standing.flag;
  const core::DecodedProgram& program = *node.core->shared.program;
  const auto set = node.core->flags.last_set(flag);
  std::string text = set ? fmt::format(", which was last set at {} and taken since", to_string(*set))
                         : ", which nothing has ever set";
  std::vector<std::string> places;
  for (std::uint32_t pc = 0; pc < program.ops.size(); ++pc) {
    if (sets(program.ops[pc], flag)) add_once(places, to_string(program.where(pc)));
  }
  return text + places_text(isa::Op::SetFlag, places, "; no instruction sets it");
}

std::string StallReport::semaphore_signallers(const Standing& standing) const {
  const core::Semaphores& counts = chip_.semaphores().counts();
  std::string text = fmt::format("; it is {}, and ", counts.value(standing.semaphore));
  if (const auto last = counts.last_release(standing.semaphore))
    text += fmt::format("was last released at {}", to_string(*last));
  else
    text += "nothing has ever released it";
  std::vector<std::string> places;
  for (const Shared& program : chip_.programs())
    for (std::uint32_t pc = 0; pc < program.program->ops.size(); ++pc)
      if (releases(program.program->ops[pc], standing.semaphore))
        add_once(places,
                 fmt::format("{} ({})", to_string(program.program->where(pc)), program.target->core_type));
  return text + places_text(isa::Op::Release, places, "; no program holds a release of it");
}

std::string StallReport::line(const Node& node, const Standing& standing) const {
  std::string text = fmt::format("{}: {}: {}", name(node), place(node, standing.pc), wish(node, standing));
  if (standing.what == WaitFor::flag) text += flag_signallers(node, standing);
  if (standing.what == WaitFor::semaphore) text += semaphore_signallers(standing);
  return text;
}

std::string StallReport::standings() const {
  std::string text;
  std::size_t told = 0;
  const CoreUnit* last = nullptr;
  for (const Node& node : nodes_) {
    told += node.core != last ? 1 : 0;
    last = node.core;
    if (told <= kMostCores) text += "\n  " + line(node, *standing(node));
  }
  return told > kMostCores ? text + fmt::format("\n  and {} more cores", told - kMostCores) : text;
}

// --- who waits for whom --------------------------------------------------------------------------

void StallReport::flag_edge(const Node& node, const Standing& standing, std::vector<Edge>& edges) const {
  const core::FlagId flag = standing.flag;
  const bool in_step = node.core->front->in_step(flag.source);
  const Node source{node.core, in_step ? kFrontEnd : flag.source};
  if (!in_step) {
    for (const QueueEntry* entry : pending(source)) {
      if (entry->kind != QueueEntry::Kind::set || entry->flag.destination != flag.destination ||
          entry->flag.id != flag.id)
        continue;
      edges.push_back({source, fmt::format("which {} sets at {}, behind its own wait", name(source),
                                           place(source, entry->pc))});
      return;
    }
  }
  const Node front{node.core, kFrontEnd};
  if (comes_to(front, [&](const core::MicroOp& op) { return sets(op, flag); }))
    edges.push_back({front, fmt::format("which {} has not come to set", name(front))});
}

bool StallReport::comes_to(const Node& front, const std::function<bool(const core::MicroOp&)>& wanted) const {
  const std::optional<Standing> at = standing(front);
  if (!at) return false;
  const std::vector<core::MicroOp>& ops = front.core->shared.program->ops;
  std::multimap<std::uint32_t, std::uint32_t> turns;  // from the last instruction of a loop to its first
  for (std::uint32_t pc = 0; pc < ops.size(); ++pc)
    if (ops[pc].op == isa::Op::Loop) turns.emplace(ops[pc].target - 1, pc + 1);
  std::vector<bool> seen(ops.size());
  std::vector<std::uint32_t> next{at->pc};
  while (!next.empty()) {
    const std::uint32_t pc = next.back();
    next.pop_back();
    if (pc >= ops.size() || seen[pc]) continue;
    seen[pc] = true;
    const core::MicroOp& op = ops[pc];
    if (wanted(op)) return true;
    if (op.op == isa::Op::End) continue;
    if (op.family == isa::Family::Control && op.op != isa::Op::Nop) next.push_back(op.target);
    if (op.op != isa::Op::Jmp) next.push_back(pc + 1);
    const auto [first, last] = turns.equal_range(pc);
    for (auto turn = first; turn != last; ++turn) next.push_back(turn->second);
  }
  return false;
}

void StallReport::semaphore_edges(const Standing& standing, std::vector<Edge>& edges) const {
  for (const Node& other : nodes_) {
    if (other.engine == kFrontEnd) {
      if (comes_to(other, [&](const core::MicroOp& op) { return releases(op, standing.semaphore); }))
        edges.push_back({other, fmt::format("which {} has not come to release", name(other))});
      continue;
    }
    for (const QueueEntry* entry : pending(other))
      if (entry->kind == QueueEntry::Kind::release && entry->semaphore.core == standing.semaphore.core &&
          entry->semaphore.id == standing.semaphore.id) {
        edges.push_back({other, fmt::format("which {} releases at {}, behind its own wait", name(other),
                                            place(other, entry->pc))});
        break;
      }
  }
}

void StallReport::core_edges(std::vector<Edge>& edges) const {
  for (const auto& core : chip_.cores()) {
    const Node other{core.get(), kFrontEnd};
    if (core->front->done() || core->front->at_barrier() || edges.size() == kMostCores) continue;
    edges.push_back({other, fmt::format("where {} has not come", name(other))});
  }
}

std::vector<StallReport::Edge> StallReport::edges(const Node& node) const {
  std::vector<Edge> edges;
  const std::optional<Standing> standing = this->standing(node);
  if (!standing) return edges;
  switch (standing->what) {
    case WaitFor::flag:
      flag_edge(node, *standing, edges);
      break;
    case WaitFor::semaphore:
      semaphore_edges(*standing, edges);
      break;
    case WaitFor::room: {
      const Node full{node.core, standing->engine};
      edges.push_back({full, fmt::format("which {} does not empty", name(full))});
      break;
    }
    case WaitFor::engines:
      for (const Node& other : nodes_)
        if (other.core == node.core && other.engine != kFrontEnd)
          edges.push_back({other, fmt::format("of which {} is not", name(other))});
      break;
    case WaitFor::cores:
      core_edges(edges);
      break;
    case WaitFor::nothing:
    case WaitFor::answers:
    case WaitFor::inputs:
      break;
  }
  return edges;
}

// Depth first, without recursion; the first circle in the order of cores and engines.
std::string StallReport::circle() const {
  struct Step {
    Node node;
    std::vector<Edge> edges;
    std::size_t next = 0;
  };
  std::set<std::pair<const CoreUnit*, std::uint8_t>> seen;
  for (const Node& start : nodes_) {
    std::vector<Step> path;
    const auto visit = [&](const Node& node) {
      if (seen.emplace(node.core, node.engine).second) path.push_back({node, edges(node)});
    };
    visit(start);
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next == step.edges.size()) {
        path.pop_back();
        continue;
      }
      const Node to = step.edges[step.next++].to;
      const auto known =
          std::find_if(path.begin(), path.end(), [&](const Step& one) { return one.node == to; });
      if (known == path.end()) {
        visit(to);
        continue;
      }
      std::string text = "\n  these wait for one another:";
      for (auto one = known; one != path.end(); ++one) {
        const Standing at = *standing(one->node);
        text += fmt::format("\n    {} at {} {}, {}", name(one->node), place(one->node, at.pc),
                            wish(one->node, at), one->edges[one->next - 1].why);
      }
      return text;
    }
  }
  return {};
}

}  // namespace npulab::systemc
