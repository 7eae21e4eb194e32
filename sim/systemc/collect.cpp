// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/collect.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/config/names.hpp"
#include "sim/report/counters.hpp"

namespace npulab::systemc {

namespace {

using report::EngineCounter;
using Counters = std::vector<std::pair<EngineCounter, std::uint64_t>>;

constexpr double kPsPerUs = 1e6;
constexpr std::size_t kFirstDma = 2;

// One resource that the work cannot pass faster than its width.
struct Least {
  std::string what;
  double us = 0;
};

// The cores of one type, over all programs that it runs.
struct CoreType {
  std::string name;
  const Shared* shared = nullptr;  // of its first program
  std::vector<const Shared*> programs;
  std::vector<CoreUnit*> cores;
  std::uint64_t cycles = 0;  // of the run, in its own clock

  const core::Clock& clock() const { return cores.front()->clock; }
  double us(double cycles_of_it) const { return cycles_of_it * 1e6 / static_cast<double>(clock().hz()); }
  bool vector_unit() const { return shared->core->vector.present; }
};

class Collector {
 public:
  Collector(Chip& chip, dram::GmModel* model, report::Report& report)
      : chip_(chip), shared_(chip.programs().front()), model_(model), report_(report) {
    for (const Shared& program : chip.programs()) {
      if (types_.empty() || types_.back().name != program.target->core_type)
        types_.push_back({program.target->core_type, &program, {}, {}, 0});
      types_.back().programs.push_back(&program);
      for (std::uint32_t i = 0; i < program.cores; ++i)
        types_.back().cores.push_back(chip.cores()[program.first_core + i].get());
      types_.back().cycles = chip.cycles(*types_.back().cores.front());
    }
  }

  void run() {
    totals();
    for (const CoreType& type : types_) engines(type);
    gm();
    buffers();
    bound();
    hot_spots();
    regions();
    findings();
  }

 private:
  // A name of a core type: alone where the launch has one program, else TYPE.NAME.
  std::string named(const CoreType& type, const std::string& name) const {
    return chip_.programs().size() == 1 ? name : type.name + "." + name;
  }
  static std::uint64_t starts(const CoreType& type, isa::Port port);
  static std::uint64_t instructions(const CoreType& type);
  void totals();
  void engines(const CoreType& type);
  void add_engine(const CoreType& type, const std::string& name,
                  const std::vector<report::EngineCycles>& cycles, const Counters& counters);
  void matrix(const CoreType& type);
  void gm();
  void buffers();
  void add_buffer(const CoreType& type, std::uint8_t space);
  void bound();
  void bounds_of(const CoreType& type, std::vector<Least>& least) const;
  std::string held_up_by(const Least& most) const;
  void hot_spots();
  void regions();
  void findings();
  static void stream_traffic(const CoreType& type, std::uint8_t space, report::Memory& memory);
  static void matrix_traffic(const CoreType& type, std::uint8_t space, report::Memory& memory);

  Chip& chip_;
  const Shared& shared_;  // of the first program: what all have in common
  dram::GmModel* model_;
  report::Report& report_;
  std::vector<CoreType> types_;
  std::uint64_t gm_read_ = 0;
  std::uint64_t gm_written_ = 0;
  std::uint64_t requests_ = 0;  // of all DMA engines
};

// Issue slots taken on a port, over all cores of the type.
std::uint64_t Collector::starts(const CoreType& type, isa::Port port) {
  std::uint64_t sum = 0;
  for (const Shared* program : type.programs) {
    for (std::size_t pc = 0; pc < program->program->ops.size(); ++pc) {
      const core::MicroOp& op = program->program->ops[pc];
      const core::Timing& timing =
          type.cores.front()->vector && op.unit_timing.vector ? op.unit_timing : op.timing;
      if (timing.port == port && op.family != isa::Family::Debug)
        sum += program->lines->starts[pc] * timing.interval;
    }
  }
  return sum;
}

std::uint64_t Collector::instructions(const CoreType& type) {
  std::uint64_t sum = 0;
  for (const Shared* program : type.programs)
    for (const std::uint64_t starts : program->lines->starts) sum += starts;
  return sum;
}

void Collector::totals() {
  report_.cores = chip_.cores().size();
  report_.cycles = chip_.cycles();
  report_.time_us = types_.front().us(static_cast<double>(report_.cycles));
  report_.dispatch_us = shared_.machine->launch.dispatch_us;
  for (const CoreType& type : types_) report_.instructions += instructions(type);
  for (const auto& core : chip_.cores()) report_.flops += core->front->block_flops() + core->state.flops;
  report_.gflops = report_.time_us > 0 ? static_cast<double>(report_.flops) / report_.time_us / 1e3 : 0;
}

void Collector::add_engine(const CoreType& type, const std::string& name,
                           const std::vector<report::EngineCycles>& cycles, const Counters& counters) {
  report::Engine engine;
  engine.name = named(type, name);
  engine.instances = cycles.size();
  engine.run_cycles = type.cycles;
  for (const report::EngineCycles& one : cycles) {
    if (one.accounted() > type.cycles)
      throw Error(
          Category::internal, "cycles-do-not-add-up",
          fmt::format("engine {} accounts for {} of {} cycles", engine.name, one.accounted(), type.cycles));
    engine.cycles.add(one);
    engine.idle_cycles += type.cycles - one.accounted();
  }
  engine.busy_cycles = engine.cycles.busy;
  const double all = static_cast<double>(type.cycles) * static_cast<double>(engine.instances);
  engine.utilization = all > 0 ? static_cast<double>(engine.busy_cycles) / all : 0;
  for (const auto& [counter, value] : counters) {
    engine.counters.emplace_back(report::name(counter), value);
    if (counter == EngineCounter::requests) requests_ += value;
  }
  report_.engines.push_back(std::move(engine));
}

void Collector::engines(const CoreType& type) {
  std::vector<report::EngineCycles> scalar;
  std::vector<report::EngineCycles> vector;
  for (CoreUnit* core : type.cores) {
    scalar.push_back(core->front->stats().scalar);
    vector.push_back(core->vector ? core->vector->cycles() : core->front->stats().vector);
  }
  const std::vector<std::string>& names = type.shared->target->engines;
  add_engine(type, names[isa::kScalarEngineIndex], scalar, {});
  if (type.vector_unit())
    add_engine(type, names[isa::kVectorEngineIndex], vector,
               {{EngineCounter::load_starts, starts(type, isa::Port::Load)},
                {EngineCounter::store_starts, starts(type, isa::Port::Store)},
                {EngineCounter::arithmetic_starts, starts(type, isa::Port::Arithmetic)}});
  for (std::size_t i = 0; i < type.cores.front()->engines.size(); ++i) {
    std::vector<report::EngineCycles> cycles;
    DmaStats sum;
    for (CoreUnit* core : type.cores) {
      const DmaStats& stats = core->engines[i]->stats();
      cycles.push_back(stats.cycles);
      sum.copies += stats.copies;
      sum.requests += stats.requests;
      sum.bytes += stats.bytes;
      sum.converted_bytes += stats.converted_bytes;
      gm_read_ += stats.gm_read_bytes;
      gm_written_ += stats.gm_write_bytes;
    }
    add_engine(type, names[i + kFirstDma], cycles,
               {{EngineCounter::copies, sum.copies},
                {EngineCounter::requests, sum.requests},
                {EngineCounter::bytes, sum.bytes},
                {EngineCounter::converted_bytes, sum.converted_bytes}});
  }
  if (type.cores.front()->matrix) matrix(type);
}

void Collector::matrix(const CoreType& type) {
  std::vector<report::EngineCycles> cycles;
  MatrixStats sum;
  for (const CoreUnit* core : type.cores) {
    const MatrixStats& stats = core->matrix->stats();
    cycles.push_back(core->matrix->cycles(core->start_cycle() + type.cycles));
    sum.products += stats.products;
    sum.macs += stats.macs;
    sum.step_cycles += stats.step_cycles;
    sum.skipped_cycles += stats.skipped_cycles;
    sum.wrapped_sums += stats.wrapped_sums;
  }
  add_engine(type, config::kMatrixEngine, cycles,
             {{EngineCounter::products, sum.products},
              {EngineCounter::macs, sum.macs},
              {EngineCounter::step_cycles, sum.step_cycles},
              {EngineCounter::skipped_cycles, sum.skipped_cycles},
              {EngineCounter::wrapped_sums, sum.wrapped_sums}});
}

void Collector::gm() {
  report::Memory gm;
  gm.name = "gm";
  gm.read_bytes = gm_read_;
  gm.write_bytes = gm_written_;
  const double bytes = static_cast<double>(gm_read_ + gm_written_);
  gm.bandwidth_gbps = report_.time_us > 0 ? bytes / report_.time_us / 1e3 : 0;
  gm.peak_gbps = config::gm_peak_bytes_per_second(shared_.machine->gm) / 1e9;
  report_.intensity = bytes > 0 ? static_cast<double>(report_.flops) / bytes : 0;
  if (model_ != nullptr) {
    const dram::GmStats& stats = model_->stats();
    if (stats.read_bytes != gm_read_ || stats.write_bytes != gm_written_)
      throw Error(Category::internal, "bytes-lost",
                  fmt::format("the DMA engines moved {} + {} bytes, gm saw {} + {}", gm_read_, gm_written_,
                              stats.read_bytes, stats.write_bytes));
    gm.accesses = stats.requests;
    gm.utilization = gm.bandwidth_gbps / gm.peak_gbps;
    const dram::ChannelStats total = stats.total();
    std::apply(
        [&](const auto&... field) {
          (gm.counters.emplace_back(std::string(field.key), total.*field.member), ...);
        },
        dram::ChannelStats::fields());
    const double time_ps = report_.time_us * kPsPerUs;
    if (time_ps > 0)
      gm.bus_occupancy =
          static_cast<double>(total.busy_ps) / (time_ps * static_cast<double>(stats.channels.size()));
  } else {
    gm.accesses = requests_;
    gm.peak_gbps = 0;  // a memory of the user's own: its peak is not known
  }
  report_.memories.push_back(std::move(gm));
}

// What loads and stores of the streams did in a buffer of the type.
void Collector::stream_traffic(const CoreType& type, std::uint8_t space, report::Memory& memory) {
  for (const Shared* program : type.programs) {
    for (std::size_t pc = 0; pc < program->program->ops.size(); ++pc) {
      const core::MicroOp& op = program->program->ops[pc];
      const bool store = op.op == isa::Op::Vst || op.op == isa::Op::Sts;
      const bool load = op.op == isa::Op::Vld || op.op == isa::Op::Vgather || op.op == isa::Op::Lds;
      if ((!store && !load) || op.addresses[store ? 0 : 1].space != space) continue;
      const std::uint64_t times = program->lines->starts[pc];
      (store ? memory.write_bytes : memory.read_bytes) += times * op.lanes * op.element_bytes;
      memory.accesses += times;
    }
  }
}

void Collector::matrix_traffic(const CoreType& type, std::uint8_t space, report::Memory& memory) {
  const isa::MatrixLimits& matrix = *type.shared->target->matrix;
  for (const CoreUnit* core : type.cores) {
    const MatrixStats& stats = core->matrix->stats();
    if (space == matrix.a) memory.read_bytes += stats.read_bytes_a;
    if (space == matrix.b) memory.read_bytes += stats.read_bytes_b;
    if (space != matrix.c) continue;
    memory.read_bytes += stats.read_bytes_c;
    memory.write_bytes += stats.written_bytes_c;
  }
}

void Collector::add_buffer(const CoreType& type, std::uint8_t space) {
  report::Memory memory;
  memory.name = named(type, type.shared->target->spaces[space].name);
  stream_traffic(type, space, memory);
  for (const CoreType& other : types_) {
    for (std::size_t s = 0; s < other.shared->target->spaces.size(); ++s) {
      const isa::Space& end = other.shared->target->spaces[s];
      const bool same = end.remote() ? end.core_type == type.name && end.remote_space == space
                                     : &other == &type && s == space;
      if (!same) continue;
      for (CoreUnit* core : other.cores) {
        for (const auto& engine : core->engines) {
          memory.read_bytes += engine->read_bytes()[s];
          memory.write_bytes += engine->written_bytes()[s];
        }
      }
    }
  }
  if (type.vector_unit() && space == type.shared->target->vector_space) {
    for (CoreUnit* core : type.cores) {
      if (!core->vector) continue;
      memory.read_bytes += core->vector->read_bytes();
      memory.write_bytes += core->vector->written_bytes();
    }
  }
  if (type.cores.front()->matrix) matrix_traffic(type, space, memory);
  const double bytes = static_cast<double>(memory.read_bytes + memory.write_bytes);
  memory.bandwidth_gbps = report_.time_us > 0 ? bytes / report_.time_us / 1e3 : 0;
  report_.memories.push_back(std::move(memory));
}

void Collector::buffers() {
  for (const CoreType& type : types_)
    for (std::size_t s = 1; s < type.shared->target->spaces.size(); ++s)
      if (!type.shared->target->spaces[s].remote()) add_buffer(type, static_cast<std::uint8_t>(s));
}

void Collector::bounds_of(const CoreType& type, std::vector<Least>& least) const {
  const double cores = static_cast<double>(type.cores.size());
  const auto add = [&](const std::string& what, double cycles) {
    least.push_back({chip_.programs().size() == 1 ? what : type.name + " " + what, type.us(cycles)});
  };
  const config::IssuePorts& ports = type.shared->core->vector.ports;
  const auto per_port = [&](const char* what, isa::Port port, unsigned count) {
    add(what, static_cast<double>(starts(type, port)) / cores / count);
  };
  if (type.vector_unit()) {
    per_port("vector load port", isa::Port::Load, ports.load);
    per_port("vector store port", isa::Port::Store, ports.store);
    per_port("vector arithmetic port", isa::Port::Arithmetic, ports.arithmetic);
  }
  add("issue width", static_cast<double>(instructions(type)) / cores / type.shared->core->vector.issue_width);
  for (std::size_t i = 0; i < type.cores.front()->engines.size(); ++i) {
    std::uint64_t most = 0;
    for (const CoreUnit* core : type.cores) most = std::max(most, core->engines[i]->stats().least_cycles);
    add(fmt::format("width of {}", type.shared->target->engines[i + kFirstDma]), static_cast<double>(most));
  }
  if (!type.cores.front()->matrix) return;
  std::uint64_t most = 0;
  for (const CoreUnit* core : type.cores) most = std::max(most, core->matrix->stats().least_cycles);
  const double of_core =
      static_cast<double>(type.clock().hz()) / static_cast<double>(config::matrix_hz(*type.shared->core));
  add("matrix unit", static_cast<double>(most) * of_core);
}

void Collector::bound() {
  std::vector<Least> least;
  if (model_ != nullptr)
    least.push_back(
        {"gm bandwidth", static_cast<double>(model_->lower_bound_ps(gm_read_ + gm_written_)) / kPsPerUs});
  for (const CoreType& type : types_) bounds_of(type, least);
  const Least* most = &least.front();
  for (const Least& one : least)
    if (one.us > most->us) most = &one;
  report_.bound.lower_bound_us = most->us;
  report_.bound.limited_by = most->us > 0 ? most->what : "nothing";
  report_.bound.bounded_by = held_up_by(*most);
}

// What the time of the slowest core went to: the limiting resource while it is at work, else the longest of
// its own waits and, behind waits for a DMA engine, what that engine did meanwhile.
std::string Collector::held_up_by(const Least& most) const {
  constexpr double kAtWork = 0.75;
  if (report_.cycles == 0) return "nothing";
  if (most.us >= kAtWork * report_.time_us)
    return fmt::format("{} (at work {:.0f} % of the time)", most.what, 100 * most.us / report_.time_us);
  const CoreUnit* slowest = chip_.cores().front().get();
  for (const auto& core : chip_.cores())
    if (core->clock.ps(core->front->finished()) > slowest->clock.ps(slowest->front->finished()))
      slowest = core.get();
  report::EngineCycles front = slowest->front->stats().scalar;
  const std::uint64_t life = slowest->front->finished() - slowest->start_cycle();
  Least longest{"the vector unit at work",
                static_cast<double>(slowest->vector ? slowest->vector->cycles().busy
                                                    : slowest->front->stats().vector.busy)};
  for (const report::Stall cause :
       {report::Stall::dependency, report::Stall::port, report::Stall::bank_conflict})
    if (const auto cycles = static_cast<double>(front[cause]); cycles > longest.us)
      longest = {
          fmt::format("instructions that wait: {}", report::kStalls[static_cast<std::size_t>(cause)].name),
          cycles};
  // Waits for each engine; after the last instruction, for the one that ended last.
  std::vector<std::uint64_t> waited = slowest->front->waited_for();
  waited[slowest->last_engine()] +=
      life - std::min(life, slowest->front->stream_ended() - slowest->start_cycle());
  for (std::size_t engine = kFirstDma; engine < waited.size(); ++engine)
    if (const auto cycles = static_cast<double>(waited[engine]); cycles > longest.us)
      longest = {fmt::format("waiting for {}", slowest->shared.target->engines[engine]), cycles};
  if (const auto cycles = static_cast<double>(slowest->front->waited_for_semaphores()); cycles > longest.us)
    longest = {"waiting for semaphores", cycles};
  return fmt::format("{} ({:.0f} % of the slowest core's time)", longest.what,
                     100 * longest.us / static_cast<double>(life));
}

void Collector::hot_spots() {
  using Place = std::tuple<std::size_t, std::uint32_t, std::uint32_t>;  // program, file, line
  std::map<Place, report::HotSpot> by_line;
  for (std::size_t number = 0; number < chip_.programs().size(); ++number) {
    const Shared& shared = chip_.programs()[number];
    const isa::Program& program = *shared.program->program;
    for (std::size_t pc = 0; pc < shared.lines->starts.size(); ++pc) {
      const isa::SourcePlace place = isa::place_of(program, pc);
      report::HotSpot& spot = by_line[{number, place.file, place.line}];
      spot.core_type = shared.target->core_type;
      spot.line = place.line;
      spot.starts += shared.lines->starts[pc];
      spot.wait_cycles += shared.lines->waits[pc];
    }
  }
  const isa::Kernel& kernel = *shared_.program->kernel;
  for (auto& [place, spot] : by_line) {
    if (spot.wait_cycles == 0) continue;
    const auto [number, file, line] = place;
    if (line > 0 && file < kernel.files.size()) {
      const std::vector<std::string>& lines = kernel.files[file].lines;
      spot.file = kernel.short_name(file);
      if (line <= lines.size()) spot.text = lines[line - 1];
    }
    report_.hot_spots.push_back(spot);
  }
  std::stable_sort(
      report_.hot_spots.begin(), report_.hot_spots.end(),
      [](const report::HotSpot& a, const report::HotSpot& b) { return a.wait_cycles > b.wait_cycles; });
  constexpr std::size_t kMostSpots = 10;
  if (report_.hot_spots.size() > kMostSpots) report_.hot_spots.resize(kMostSpots);
}

void Collector::regions() {
  for (std::size_t core = 0; core < chip_.cores().size(); ++core) {
    for (const RegionLog::Total& total : chip_.regions(core)) {
      auto known = std::find_if(report_.regions.begin(), report_.regions.end(),
                                [&](const report::Region& r) { return r.name == total.name; });
      if (known == report_.regions.end()) {
        report_.regions.push_back({total.name, total.first_cycle, 0});
        known = report_.regions.end() - 1;
      }
      known->first_cycle = std::min(known->first_cycle, total.first_cycle);
      known->cycles += total.cycles;
    }
  }
}

void Collector::findings() {
  std::vector<core::Diagnostic> all = shared_.diagnostics->all();
  // Cores ran in simulated time; their findings are told by place.
  std::stable_sort(all.begin(), all.end(), [](const core::Diagnostic& a, const core::Diagnostic& b) {
    return std::tie(a.where.file, a.where.line, a.where.from, a.code) <
           std::tie(b.where.file, b.where.line, b.where.from, b.code);
  });
  for (const core::Diagnostic& d : all)
    report_.diagnostics.push_back({d.severity == core::Severity::error ? "error" : "warning", d.code,
                                   d.message, to_string(d.where), d.count});
  if (shared_.diagnostics->dropped() > 0)
    report_.diagnostics.push_back(
        {"warning", "more-findings",
         fmt::format("{} further findings are not listed", shared_.diagnostics->dropped()), "", 1});
}

}  // namespace

void collect(Chip& chip, dram::GmModel* model, report::Report& report) {
  Collector(chip, model, report).run();
}

}  // namespace npulab::systemc
