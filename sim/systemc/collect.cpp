// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/collect.hpp"
#include "sim/config/names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

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

class Collector {
 public:
  Collector(Chip& chip, const Shared& shared, dram::GmModel* model, report::Report& report)
      : chip_(chip),
        shared_(shared),
        model_(model),
        report_(report),
        clock_(chip.cores().front()->clock),
        cores_(chip.cores().size()) {}

  void run() {
    totals();
    engines();
    gm();
    buffers();
    bound();
    hot_spots();
    regions();
    findings();
  }

 private:
  double us(double cycles) const { return cycles * 1e6 / static_cast<double>(clock_.hz()); }
  std::uint64_t starts(isa::Port port) const;
  void totals();
  void engines();
  void add_engine(const std::string& name, const std::vector<report::EngineCycles>& cycles,
                  const Counters& counters);
  void matrix();
  void gm();
  void buffers();
  void bound();
  std::string held_up_by(const Least& most) const;
  void hot_spots();
  void regions();
  void findings();
  void vector_traffic(std::vector<std::uint64_t>& read, std::vector<std::uint64_t>& written,
                      std::vector<std::uint64_t>& accesses) const;

  Chip& chip_;
  const Shared& shared_;
  dram::GmModel* model_;
  report::Report& report_;
  const core::Clock clock_;
  const std::uint64_t cores_;
  std::uint64_t gm_read_ = 0;
  std::uint64_t gm_written_ = 0;
  std::uint64_t requests_ = 0;  // of all DMA engines
};

// Instructions started on a port, over all cores.
std::uint64_t Collector::starts(isa::Port port) const {
  std::uint64_t sum = 0;
  for (std::size_t pc = 0; pc < shared_.program->ops.size(); ++pc) {
    const core::MicroOp& op = shared_.program->ops[pc];
    const core::Timing& timing =
        chip_.cores().front()->vector && op.unit_timing.vector ? op.unit_timing : op.timing;
    if (timing.port == port && op.family != isa::Family::Debug)
      sum += shared_.lines->starts[pc] * timing.interval;
  }
  return sum;
}

void Collector::totals() {
  report_.cores = cores_;
  report_.cycles = chip_.cycles();
  report_.time_us = us(static_cast<double>(report_.cycles));
  report_.dispatch_us = shared_.machine->launch.dispatch_us;
  for (std::size_t pc = 0; pc < shared_.lines->starts.size(); ++pc)
    report_.instructions += shared_.lines->starts[pc];
  for (const auto& core : chip_.cores()) report_.flops += core->front->block_flops() + core->state.flops;
  report_.gflops = report_.time_us > 0 ? static_cast<double>(report_.flops) / report_.time_us / 1e3 : 0;
}

void Collector::add_engine(const std::string& name, const std::vector<report::EngineCycles>& cycles,
                           const Counters& counters) {
  report::Engine engine;
  engine.name = name;
  engine.instances = cycles.size();
  for (const report::EngineCycles& one : cycles) {
    if (one.accounted() > report_.cycles)
      throw Error(
          Category::internal, "cycles-do-not-add-up",
          fmt::format("engine {} accounts for {} of {} cycles", name, one.accounted(), report_.cycles));
    engine.cycles.add(one);
    engine.idle_cycles += report_.cycles - one.accounted();
  }
  engine.busy_cycles = engine.cycles.busy;
  const double all = static_cast<double>(report_.cycles) * static_cast<double>(engine.instances);
  engine.utilization = all > 0 ? static_cast<double>(engine.busy_cycles) / all : 0;
  for (const auto& [counter, value] : counters) {
    engine.counters.emplace_back(report::name(counter), value);
    if (counter == EngineCounter::requests) requests_ += value;
  }
  report_.engines.push_back(std::move(engine));
}

void Collector::engines() {
  std::vector<report::EngineCycles> scalar;
  std::vector<report::EngineCycles> vector;
  for (const auto& core : chip_.cores()) {
    scalar.push_back(core->front->stats().scalar);
    vector.push_back(core->vector ? core->vector->cycles() : core->front->stats().vector);
  }
  add_engine("scalar", scalar, {});
  add_engine("vector", vector,
             {{EngineCounter::load_starts, starts(isa::Port::Load)},
              {EngineCounter::store_starts, starts(isa::Port::Store)},
              {EngineCounter::arithmetic_starts, starts(isa::Port::Arithmetic)}});
  for (std::size_t i = 0; i < chip_.cores().front()->engines.size(); ++i) {
    std::vector<report::EngineCycles> cycles;
    DmaStats sum;
    for (const auto& core : chip_.cores()) {
      const DmaStats& stats = core->engines[i]->stats();
      cycles.push_back(stats.cycles);
      sum.copies += stats.copies;
      sum.requests += stats.requests;
      sum.bytes += stats.bytes;
      sum.converted_bytes += stats.converted_bytes;
      gm_read_ += stats.gm_read_bytes;
      gm_written_ += stats.gm_write_bytes;
    }
    add_engine(shared_.target->engines[i + 2], cycles,
               {{EngineCounter::copies, sum.copies},
                {EngineCounter::requests, sum.requests},
                {EngineCounter::bytes, sum.bytes},
                {EngineCounter::converted_bytes, sum.converted_bytes}});
  }
  if (chip_.cores().front()->matrix) matrix();
}

void Collector::matrix() {
  std::vector<report::EngineCycles> cycles;
  MatrixStats sum;
  for (const auto& core : chip_.cores()) {
    const MatrixStats& stats = core->matrix->stats();
    cycles.push_back(core->matrix->cycles(chip_.start_cycle() + report_.cycles));
    sum.products += stats.products;
    sum.macs += stats.macs;
    sum.step_cycles += stats.step_cycles;
    sum.skipped_cycles += stats.skipped_cycles;
    sum.wrapped_sums += stats.wrapped_sums;
  }
  add_engine(config::kMatrixEngine, cycles,
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

void Collector::vector_traffic(std::vector<std::uint64_t>& read, std::vector<std::uint64_t>& written,
                               std::vector<std::uint64_t>& accesses) const {
  for (std::size_t pc = 0; pc < shared_.program->ops.size(); ++pc) {
    const core::MicroOp& op = shared_.program->ops[pc];
    const bool store = op.op == isa::Op::Vst || op.op == isa::Op::Sts;
    const bool load = op.op == isa::Op::Vld || op.op == isa::Op::Vgather || op.op == isa::Op::Lds;
    if (!store && !load) continue;
    const std::uint64_t times = shared_.lines->starts[pc];
    const std::uint8_t space = op.addresses[store ? 0 : 1].space;
    (store ? written : read)[space] += times * op.lanes * op.element_bytes;
    accesses[space] += times;
  }
}

void Collector::buffers() {
  const std::size_t spaces = shared_.target->spaces.size();
  std::vector<std::uint64_t> read(spaces), written(spaces), accesses(spaces);
  vector_traffic(read, written, accesses);
  for (const auto& core : chip_.cores()) {
    for (const auto& engine : core->engines) {
      for (std::size_t s = 1; s < spaces; ++s) {
        read[s] += engine->read_bytes()[s];
        written[s] += engine->written_bytes()[s];
      }
    }
    if (core->matrix) {
      const isa::MatrixLimits& matrix = *shared_.target->matrix;
      const MatrixStats& stats = core->matrix->stats();
      read[matrix.a] += stats.read_bytes_a;
      read[matrix.b] += stats.read_bytes_b;
      read[matrix.c] += stats.read_bytes_c;
      written[matrix.c] += stats.written_bytes_c;
    }
    if (core->vector) {
      read[shared_.target->vector_space] += core->vector->read_bytes();
      written[shared_.target->vector_space] += core->vector->written_bytes();
    }
  }
  for (std::size_t s = 1; s < spaces; ++s) {
    report::Memory memory;
    memory.name = shared_.target->spaces[s].name;
    memory.read_bytes = read[s];
    memory.write_bytes = written[s];
    memory.accesses = accesses[s];
    const double bytes = static_cast<double>(read[s] + written[s]);
    memory.bandwidth_gbps = report_.time_us > 0 ? bytes / report_.time_us / 1e3 : 0;
    report_.memories.push_back(std::move(memory));
  }
}

void Collector::bound() {
  std::vector<Least> least;
  if (model_ != nullptr)
    least.push_back(
        {"gm bandwidth", static_cast<double>(model_->lower_bound_ps(gm_read_ + gm_written_)) / kPsPerUs});
  const double cores = static_cast<double>(cores_);
  const config::IssuePorts& ports = shared_.core->vector.ports;
  const auto per_port = [&](const char* what, isa::Port port, unsigned count) {
    least.push_back({what, us(static_cast<double>(starts(port)) / cores / count)});
  };
  per_port("vector load port", isa::Port::Load, ports.load);
  per_port("vector store port", isa::Port::Store, ports.store);
  per_port("vector arithmetic port", isa::Port::Arithmetic, ports.arithmetic);
  least.push_back({"issue width",
                   us(static_cast<double>(report_.instructions) / cores / shared_.core->vector.issue_width)});
  for (std::size_t i = 0; i < chip_.cores().front()->engines.size(); ++i) {
    std::uint64_t most = 0;
    for (const auto& core : chip_.cores()) most = std::max(most, core->engines[i]->stats().least_cycles);
    least.push_back(
        {fmt::format("width of {}", shared_.target->engines[i + 2]), us(static_cast<double>(most))});
  }
  if (chip_.cores().front()->matrix) {
    std::uint64_t most = 0;
    for (const auto& core : chip_.cores()) most = std::max(most, core->matrix->stats().least_cycles);
    least.push_back({"matrix unit", static_cast<double>(most) * 1e6 /
                                        static_cast<double>(config::matrix_hz(*shared_.core))});
  }
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
    if (core->front->finished() > slowest->front->finished()) slowest = core.get();
  report::EngineCycles front = slowest->front->stats().scalar;
  const std::uint64_t life = slowest->front->finished() - chip_.start_cycle();
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
      life - std::min(life, slowest->front->stream_ended() - chip_.start_cycle());
  for (std::size_t engine = kFirstDma; engine < waited.size(); ++engine)
    if (const auto cycles = static_cast<double>(waited[engine]); cycles > longest.us)
      longest = {fmt::format("waiting for {}", shared_.target->engines[engine]), cycles};
  return fmt::format("{} ({:.0f} % of the slowest core's time)", longest.what,
                     100 * longest.us / static_cast<double>(life));
}

void Collector::hot_spots() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, report::HotSpot> by_line;
  const isa::Program& program = *shared_.program->program;
  for (std::size_t pc = 0; pc < shared_.lines->starts.size(); ++pc) {
    const isa::SourcePlace place = isa::place_of(program, pc);
    report::HotSpot& spot = by_line[{place.file, place.line}];
    spot.line = place.line;
    spot.starts += shared_.lines->starts[pc];
    spot.wait_cycles += shared_.lines->waits[pc];
  }
  const isa::Kernel& kernel = *shared_.program->kernel;
  for (auto& [place, spot] : by_line) {
    if (spot.wait_cycles == 0) continue;
    const auto [file, line] = place;
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
  std::vector<RegionMark> marks = chip_.regions();
  std::stable_sort(marks.begin(), marks.end(), [](const RegionMark& a, const RegionMark& b) {
    return a.core != b.core ? a.core < b.core : a.cycle < b.cycle;
  });
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const bool last = i + 1 == marks.size() || marks[i + 1].core != marks[i].core;
    const std::uint64_t end =
        last ? chip_.cores()[marks[i].core]->front->finished() - chip_.start_cycle() : marks[i + 1].cycle;
    auto known = std::find_if(report_.regions.begin(), report_.regions.end(),
                              [&](const report::Region& r) { return r.name == marks[i].name; });
    if (known == report_.regions.end()) {
      report_.regions.push_back({marks[i].name, marks[i].cycle, 0});
      known = report_.regions.end() - 1;
    }
    known->first_cycle = std::min(known->first_cycle, marks[i].cycle);
    known->cycles += end - marks[i].cycle;
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

void collect(Chip& chip, const Shared& shared, dram::GmModel* model, report::Report& report) {
  Collector(chip, shared, model, report).run();
}

}  // namespace npulab::systemc
