// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>

#include "isa/check.hpp"
#include "isa/launch.hpp"
#include "sim/config/describe.hpp"
#include "sim/core/float_control.hpp"
#include "sim/dram/gm_model.hpp"
#include "sim/memory/sparse_memory.hpp"
#include "sim/systemc/chip.hpp"
#include "sim/systemc/collect.hpp"
#include "sim/systemc/gm_arbiter.hpp"
#include "sim/values/lanes.hpp"

namespace npulab {

namespace {

constexpr std::uint64_t kTensorAlignment = 4096;

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

core::Sanitize sanitize_of(const SimulationOptions& options) {
  if (options.timing_only || options.sanitize == SanitizeLevel::off) return core::Sanitize::off;
  return options.sanitize == SanitizeLevel::full ? core::Sanitize::full : core::Sanitize::fast;
}

// Rows of a tensor: all dimensions but the last.
std::uint64_t rows(const isa::Tensor& tensor) {
  if (tensor.shape.empty()) return 1;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
    count *= static_cast<std::uint64_t>(tensor.shape[i]);
  return count;
}

std::uint64_t dense_bytes(const isa::Tensor& tensor) {
  return (tensor.elements() * isa::bits(tensor.type) + 7) / 8;
}

std::uint64_t row_bytes(const isa::Tensor& tensor) {
  const std::uint64_t last = tensor.shape.empty() ? 1 : static_cast<std::uint64_t>(tensor.shape.back());
  return (last * isa::bits(tensor.type) + 7) / 8;
}

std::uint64_t pitch_bytes(const isa::Tensor& tensor) {
  return (static_cast<std::uint64_t>(tensor.pitch) * isa::bits(tensor.type) + 7) / 8;
}

bool padded(const isa::Tensor& tensor) {
  return pitch_bytes(tensor) != row_bytes(tensor);
}

// Deterministic order of construction: a Fisher-Yates shuffle by splitmix64.
std::vector<std::uint32_t> construction_order(std::uint32_t cores, std::uint64_t seed) {
  std::vector<std::uint32_t> order(cores);
  std::iota(order.begin(), order.end(), 0U);
  if (seed == 0) return order;
  for (std::uint32_t i = cores; i > 1; --i) {
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t z = seed;
    z = (z ^ z >> 30U) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27U) * 0x94d049bb133111ebU;
    std::swap(order[i - 1], order[(z ^ z >> 31U) % i]);
  }
  return order;
}

}  // namespace

struct Simulation::Impl {
  Impl(config::Machine given_machine, isa::Kernel given_kernel, SimulationOptions given_options);

  const isa::Tensor& tensor(const std::string& name) const;
  std::size_t index(const isa::Tensor& tensor) const {
    return static_cast<std::size_t>(&tensor - kernel.header.tensors.data());
  }
  void place_programs();
  void decode_programs();
  std::vector<systemc::Shared> shared_by(const systemc::Shared& common);
  void place_tensors();
  void load_inputs();
  report::Report run();
  void header(report::Report& report) const;
  std::uint64_t unwritten(const isa::Tensor& t) const;
  void check_outputs(core::Diagnostics& diagnostics) const;
  std::string not_finite_output() const;
  systemc::Listener listener();

  config::Machine machine;
  isa::Kernel kernel;
  SimulationOptions options;
  // A program on its cores. Worked out once, for any number of runs.
  struct Part {
    isa::LaunchPart launch;
    const config::CoreTypeConfig* core = nullptr;
    isa::Target target;
    core::DecodedProgram program;
    std::unique_ptr<core::BlockCache> cache;
    core::LineCounters lines;
  };
  std::vector<Part> parts;
  std::vector<core::GmTensor> placed;
  std::vector<std::span<const std::byte>> inputs;  // by tensor; data() null: none
  std::vector<std::optional<std::byte>> padding;
  memory::SparseMemory gm;
  std::uint64_t output_bytes = 0;
  // Worked out once, for any number of runs.
  std::string hash;
  nlohmann::ordered_json resolved_machine;
};

Simulation::Impl::Impl(config::Machine given_machine, isa::Kernel given_kernel,
                       SimulationOptions given_options)
    : machine(std::move(given_machine)),
      kernel(std::move(given_kernel)),
      options(std::move(given_options)),
      gm(machine.gm.bytes) {
  place_programs();
  place_tensors();
  inputs.resize(kernel.header.tensors.size());
  padding.resize(kernel.header.tensors.size());
  hash = fmt::format("{:016x}", kernel.hash());
  resolved_machine = config::to_json(machine);
  decode_programs();
}

// Which cores run which program.
void Simulation::Impl::place_programs() {
  const isa::Target target = config::make_target(machine);
  const std::vector<isa::Target> others = config::other_targets(machine, target);
  isa::check(kernel, target, others);
  std::vector<isa::LaunchPart> launch = isa::launch_parts(kernel, target, others);
  const std::uint32_t asked = options.cores;
  if (asked != 0 && (kernel.programs.size() > 1 || kernel.programs.front().cores != 0) &&
      asked != launch.back().first + launch.back().cores)
    throw Error(
        Category::input, "cores-are-fixed",
        fmt::format("a launch on {} cores: the programs of kernel {} say themselves how many they take, {} "
                    "in all",
                    asked, kernel.header.name, launch.back().first + launch.back().cores));
  if (asked != 0 && launch.size() == 1) {
    if (asked > launch.front().cores)
      throw Error(Category::input, "too-many-cores",
                  fmt::format("a launch on {} cores: {} has {} of type {}", asked, machine.name,
                              launch.front().cores, launch.front().core_type));
    launch.front().cores = asked;
  }
  for (isa::LaunchPart& one : launch) {
    Part part;
    part.core = &machine.core_types.at(one.core_type);
    part.target = isa::target_for(one.core_type, target, others);
    part.launch = std::move(one);
    parts.push_back(std::move(part));
  }
}

void Simulation::Impl::decode_programs() {
  if (options.timing_only && options.sanitize == SanitizeLevel::full)
    throw Error(Category::input, "no-values", "--sanitize=full needs values, and --timing-only computes none",
                {kernel.source_name, 0, 0});
  std::vector<std::uint64_t> bases;
  for (const core::GmTensor& t : placed) bases.push_back(t.base);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    part.program = core::decode(kernel, kernel.programs[i], machine, *part.core, part.target, bases);
    if (options.timing_only && part.program.values_steer_time)
      throw Error(
          Category::input, "values-steer-time",
          fmt::format("--timing-only is not possible: '{}' makes the time of {} depend on tensor values",
                      part.program.value_steered_by, kernel.header.name),
          {kernel.source_name, 0, 0});
    part.cache = std::make_unique<core::BlockCache>(part.program);
    part.lines.resize(part.program.ops.size());
  }
}

std::vector<systemc::Shared> Simulation::Impl::shared_by(const systemc::Shared& common) {
  std::vector<systemc::Shared> all;
  for (Part& part : parts) {
    systemc::Shared shared = common;
    shared.core = part.core;
    shared.target = &part.target;
    shared.program = &part.program;
    shared.cache = options.block_cache ? part.cache.get() : nullptr;
    shared.lines = &part.lines;
    shared.first_core = part.launch.first;
    shared.first_of_type = part.launch.index;
    shared.cores = part.launch.cores;
    all.push_back(shared);
  }
  return all;
}

void Simulation::Impl::place_tensors() {
  std::uint64_t next = 0;
  std::string list;
  for (const isa::Tensor& tensor : kernel.header.tensors) {
    const std::uint64_t bytes = tensor.bytes();
    placed.push_back({tensor.name, next, bytes});
    list += fmt::format("\n  {} {} bytes", tensor.name, bytes);
    const std::uint64_t room = round_up(std::max<std::uint64_t>(bytes, 1), kTensorAlignment);
    if (bytes > machine.gm.bytes || next > machine.gm.bytes - bytes)
      throw Error(Category::input, "gm-full",
                  fmt::format("the tensors need more than the {} bytes of gm on {}:{}", machine.gm.bytes,
                              machine.name, list));
    next += room;
    if (tensor.direction != isa::Direction::in) output_bytes += dense_bytes(tensor);
  }
}

const isa::Tensor& Simulation::Impl::tensor(const std::string& name) const {
  std::vector<std::string> names;
  for (const isa::Tensor& t : kernel.header.tensors) {
    if (t.name == name) return t;
    names.push_back(t.name);
  }
  throw Error(
      Category::input, "unknown-tensor",
      fmt::format("kernel {} has no tensor '{}'{}", kernel.header.name, name, suggestion(name, names)));
}

// Bytes of an output that no copy has written.
std::uint64_t Simulation::Impl::unwritten(const isa::Tensor& t) const {
  const core::GmTensor& place = placed[index(t)];
  const std::uint64_t row = row_bytes(t);
  std::uint64_t missing = 0;
  for (std::uint64_t r = 0; row > 0 && r < rows(t); ++r) {
    const std::uint64_t address = place.base + r * pitch_bytes(t);
    if (gm.written(address, row)) continue;
    for (std::uint64_t i = 0; i < row; ++i) missing += gm.written(address + i, 1) ? 0 : 1;
  }
  return missing;
}

void Simulation::Impl::check_outputs(core::Diagnostics& diagnostics) const {
  if (options.timing_only || options.sanitize == SanitizeLevel::off) return;
  for (const isa::Tensor& t : kernel.header.tensors) {
    if (t.direction == isa::Direction::in) continue;
    const std::uint64_t missing = unwritten(t);
    if (missing > 0)
      diagnostics.add(
          core::Severity::error, "output-never-written",
          fmt::format("{} of the {} bytes of output {} were never written", missing, dense_bytes(t), t.name),
          {kernel.source_name, 0, 0}, 0);
  }
}

// The first output that holds NaN or infinities, where it was written.
std::string Simulation::Impl::not_finite_output() const {
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const isa::Tensor& t = kernel.header.tensors[i];
    if (t.direction == isa::Direction::in || !isa::info(t.type).floating) continue;
    std::vector<std::byte> row(row_bytes(t));
    for (std::uint64_t r = 0; !row.empty() && r < rows(t); ++r) {
      const std::uint64_t at = placed[i].base + r * pitch_bytes(t);
      if (!gm.written(at, row.size())) continue;
      gm.read(at, row.data(), row.size());
      if (core::any_not_finite(t.type, row.data(), row.size() * 8 / isa::bits(t.type))) return t.name;
    }
  }
  return {};
}

void Simulation::Impl::load_inputs() {
  gm.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const isa::Tensor& t = kernel.header.tensors[i];
    if (padding[i] && padded(t)) {
      const std::vector<std::byte> fill(placed[i].bytes, *padding[i]);
      gm.write(placed[i].base, fill.data(), fill.size());
    }
    if (t.direction == isa::Direction::out || dense_bytes(t) == 0 || options.timing_only) continue;
    if (inputs[i].data() == nullptr)
      throw Error(Category::input, "missing-input",
                  fmt::format("kernel {} reads tensor '{}', and no values were given for it",
                              kernel.header.name, t.name));
    if (!padded(t)) {
      gm.adopt(placed[i].base, inputs[i]);
      continue;
    }
    for (std::uint64_t row = 0; row < rows(t); ++row)
      gm.write(placed[i].base + row * pitch_bytes(t), inputs[i].data() + row * row_bytes(t), row_bytes(t));
  }
}

systemc::Listener Simulation::Impl::listener() {
  systemc::Listener result;
  if (options.progress)
    result.poll = [this](std::uint64_t cycle, std::uint64_t stored) {
      options.progress(cycle, output_bytes == 0 ? -1.0
                                                : std::min(1.0, static_cast<double>(stored) /
                                                                    static_cast<double>(output_bytes)));
    };
  result.print = options.print;
  return result;
}

void Simulation::Impl::header(report::Report& report) const {
  report.npulab_version = version();
  report.kernel = kernel.header.name;
  report.kernel_hash = hash;
  report.machine = machine.name;
  report.resolved_machine = resolved_machine;
  for (const isa::Parameter& parameter : kernel.header.params)
    report.params[parameter.name] = parameter.value;
  report.overflow_mode = machine.numerics.overflow == config::Overflow::inf ? "inf" : "saturate";
  report.simd_path = std::string(values::simd_path());
}

report::Report Simulation::Impl::run() {
  const auto begin = std::chrono::steady_clock::now();
  const core::FloatControl exact;  // round to nearest, subnormals kept, whatever the host process set
  core::Diagnostics diagnostics;
  systemc::Shared shared;
  shared.machine = &machine;
  shared.gm = &gm;
  shared.tensors = placed;
  shared.diagnostics = &diagnostics;
  shared.sanitize = sanitize_of(options);
  std::optional<core::Races> races;
  if (shared.sanitize == core::Sanitize::full) shared.races = &races.emplace(placed, diagnostics);
  shared.values = !options.timing_only;
  shared.max_cycles = options.max_cycles;

  systemc::Session session;
  const auto scope = session.scope();
  std::unique_ptr<dram::GmModel> model;
  std::unique_ptr<systemc::GmPort> port;
  if (options.memory_factory) {
    port = options.memory_factory(session, machine);
  } else {
    model = dram::make_gm_model(machine.gm);
    port = std::make_unique<systemc::GmArbiter>("gm", session, *model);
  }
  shared.port = port.get();
  const std::vector<systemc::Shared> programs = shared_by(shared);
  const std::uint32_t cores = programs.back().first_core + programs.back().cores;
  systemc::Chip chip(session, programs, listener(), construction_order(cores, options.construction_seed));
  for (Part& part : parts) part.cache->forget();
  for (std::uint32_t i = 0; i <= options.warmup; ++i) {
    load_inputs();
    for (Part& part : parts) part.lines.clear();
    diagnostics = {};
    chip.run(session);
    for (Part& part : parts) part.cache->settle(part.lines);
  }
  check_outputs(diagnostics);
  if (shared.sanitize == core::Sanitize::full) {
    const std::string output = not_finite_output();
    for (const auto& core : chip.cores())
      core->state.watch.finish(*core->shared.program, core->state, output);
  }
  report::Report report;
  header(report);
  systemc::collect(chip, model.get(), report);
  report.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report::self_check(report);
  return report;
}

SanitizeLevel sanitize_level(std::string_view name) {
  std::vector<std::string> names;
  for (const SanitizeRow& row : kSanitizeLevels) {
    if (row.name == name) return row.level;
    names.emplace_back(row.name);
  }
  throw Error(Category::input, "unknown-choice",
              fmt::format("'{}' is no level of checks{}", name, suggestion(std::string(name), names)));
}

std::string_view name_of(SanitizeLevel level) {
  return kSanitizeLevels[static_cast<std::size_t>(level)].name;
}

Simulation::Simulation(config::Machine machine, isa::Kernel kernel, SimulationOptions options)
    : impl_(std::make_unique<Impl>(std::move(machine), std::move(kernel), std::move(options))) {}
Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;

const isa::Kernel& Simulation::kernel() const {
  return impl_->kernel;
}
const config::Machine& Simulation::machine() const {
  return impl_->machine;
}

void Simulation::set_input(const std::string& name, std::span<const std::byte> elements) {
  const isa::Tensor& tensor = impl_->tensor(name);
  if (tensor.direction == isa::Direction::out)
    throw Error(Category::input, "not-an-input",
                fmt::format("tensor '{}' is written by the kernel, not read", name));
  if (elements.size() != dense_bytes(tensor))
    throw Error(Category::input, "wrong-size",
                fmt::format("tensor '{}' takes {} bytes ({} elements of {}), {} were given", name,
                            dense_bytes(tensor), tensor.elements(), isa::name(tensor.type), elements.size()));
  if (isa::bits(tensor.type) % 8 != 0 && rows(tensor) > 1 && tensor.elements() / rows(tensor) % 2 != 0)
    throw Error(Category::input, "half-bytes",
                fmt::format("tensor '{}' of {} needs rows of an even number of elements", name,
                            isa::name(tensor.type)));
  impl_->inputs[impl_->index(tensor)] = elements;
}

void Simulation::set_padding(const std::string& name, std::byte value) {
  impl_->padding[impl_->index(impl_->tensor(name))] = value;
}

report::Report Simulation::run() {
  return impl_->run();
}

report::Report Simulation::unfinished(const Error& error) const {
  report::Report report;
  impl_->header(report);
  report.ended = false;
  report.diagnostics.push_back({"error", error.code(), error.message(), to_string(error.where())});
  return report;
}

std::vector<std::byte> Simulation::output(const std::string& name, std::uint64_t* unwritten) const {
  const isa::Tensor& tensor = impl_->tensor(name);
  const core::GmTensor& place = impl_->placed[impl_->index(tensor)];
  std::vector<std::byte> result(dense_bytes(tensor));
  const std::uint64_t row = row_bytes(tensor);
  for (std::uint64_t r = 0; row > 0 && r < rows(tensor); ++r)
    impl_->gm.read(place.base + r * pitch_bytes(tensor), result.data() + r * row, row);
  if (unwritten != nullptr) *unwritten = impl_->unwritten(tensor);
  return result;
}

std::string version() {
  return NPULAB_VERSION;
}

}  // namespace npulab
