// SPDX-License-Identifier: Apache-2.0
// npulab run: one kernel on one machine, with its report.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "isa/error.hpp"
#include "sim/cli/check.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/files.hpp"
#include "sim/cli/host.hpp"
#include "sim/cli/launch.hpp"
#include "sim/cli/npy.hpp"
#include "sim/cli/tensor_data.hpp"
#include "sim/cli/terminal.hpp"
#include "sim/simulation.hpp"

namespace npulab::cli {

namespace {

constexpr Option kCheck{"check", '\0', "",
                        "compares the outputs with the kernel's reference operation; a mismatch is exit "
                        "status 1"};
constexpr Option kSanitize{
    "sanitize",
    '\0',
    "off|fast|full",
    "checks of every access: fast (default) finds reads of what was never written and the like; full "
    "finds races by what orders accesses, too, and where NaN, infinities and lost sums begin; off leaves "
    "them out",
    false,
    "fast"};
constexpr Option kTimingOnly{"timing-only", '\0', "", "computes no values; the cycles are the same"};
constexpr Option kCores{
    "cores", '\0', "N",
    "cores of the launch (default: all that the machine has); for kernels that do not say so themselves"};
constexpr Option kWarmup{"warmup", '\0', "N", "runs the kernel N times before the run that is reported",
                         false,    {},   0};
constexpr Option kMaxCycles{"max-cycles",
                            '\0',
                            "N",
                            "ends a run that has not ended by cycle N with status 3",
                            false,
                            {},
                            SimulationOptions::kDefaultMaxCycles};
constexpr Option kNoBlockCache{"no-block-cache", '\0', "",
                               "times every instruction one by one: slower, and the report is the same"};
constexpr Option kProgress{"progress", '\0', "", "says on standard error how far the run is"};

constexpr std::uint64_t kMostCores = 4096;
constexpr std::uint64_t kMostWarmups = 1000;
constexpr std::uint64_t kMostCycles = std::uint64_t{1} << 62;
constexpr int kIndent = 1;  // of JSON

SimulationOptions options_of(const Arguments& arguments) {
  SimulationOptions options;
  options.timing_only = arguments.has(kTimingOnly);
  options.sanitize = sanitize_level(arguments.value(kSanitize, kSanitize.implied));
  options.block_cache = !arguments.has(kNoBlockCache);
  if (arguments.has(kCores))
    options.cores = static_cast<std::uint32_t>(number(kCores, arguments.value(kCores), 1, kMostCores));
  if (arguments.has(kWarmup))
    options.warmup = static_cast<std::uint32_t>(number(kWarmup, arguments.value(kWarmup), 0, kMostWarmups));
  if (arguments.has(kMaxCycles))
    options.max_cycles = number(kMaxCycles, arguments.value(kMaxCycles), 1, kMostCycles);
  options.print = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  return options;
}

// Options that ask for values which --timing-only does not compute.
void check_timing_only(const Arguments& arguments) {
  if (!arguments.has(kTimingOnly)) return;
  for (const Option* option : {&kCheck, &kOut})
    if (arguments.has(*option))
      throw Error(
          Category::input, "no-values",
          fmt::format("{} needs values, and {} computes none", written(*option), written(kTimingOnly)));
}

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The command that gives this report again: everything that it depends on, nothing else.
std::string command_line(const Arguments& arguments,
                         const std::vector<std::pair<std::string, std::string>>& inputs) {
  std::string line = fmt::format("{} run {} {} {}", kProgramName, quoted(arguments.word(0)),
                                 written(kMachine), quoted(arguments.value(kMachine, kDefaultMachine)));
  for (const Option* option : {&kSet, &kParam, &kCores, &kWarmup})
    for (const std::string& value : arguments.values(*option))
      line += " " + written(*option) + " " + quoted(value);
  if (arguments.has(kSanitize)) line += fmt::format(" {}={}", written(kSanitize), arguments.value(kSanitize));
  if (arguments.has(kTimingOnly)) line += " " + written(kTimingOnly);
  for (const auto& [tensor, data] : inputs) line += " " + written(kIn) + " " + quoted(tensor + "=" + data);
  return line;
}

class Run {
 public:
  Run(const Arguments& arguments, Host& host) : arguments_(arguments), host_(host) {}

  int run() {
    SimulationOptions options = options_of(arguments_);
    check_timing_only(arguments_);
    if (arguments_.has(kJson) && !json_to_stdout()) json_.emplace(arguments_.value(kJson));
    config::Machine machine = machine_of(arguments_, host_);
    isa::Kernel kernel = load_kernel(arguments_.word(0), machine, parameters(arguments_), host_);
    data_ = input_data(arguments_.values(kIn), kernel.header);
    outputs_ = output_files(arguments_.values(kOut), kernel.header);
    check_distinct(targets());
    if (arguments_.has(kCheck)) check_reference(kernel.header);
    if (options.timing_only) {
      data_.clear();
    } else {
      check_memory(kernel.header);
      inputs_ = make_inputs(data_, kernel.header);
    }
    interrupt_.throw_if_asked();
    const report::Report report = simulate(std::move(machine), std::move(kernel), std::move(options));
    write(report);
    return verdict(report);
  }

 private:
  bool json_to_stdout() const { return arguments_.value(kJson) == kStandardOutput; }

  std::vector<const OutputFile*> targets() const {
    std::vector<const OutputFile*> files;
    for (const auto& [tensor, file] : outputs_) files.push_back(&file);
    if (json_) files.push_back(&*json_);
    return files;
  }

  report::Report simulate(config::Machine machine, isa::Kernel kernel, SimulationOptions options) {
    std::optional<Progress> progress;
    if (arguments_.has(kProgress)) progress.emplace();
    options.progress = [&](std::uint64_t cycle, double share) {
      interrupt_.throw_if_asked();
      if (progress) progress->update(cycle, share);
    };
    Simulation simulation(std::move(machine), std::move(kernel), std::move(options));
    for (const auto& [tensor, elements] : inputs_.elements) simulation.set_input(tensor, elements);
    report::Report report = simulation.run();
    if (progress) progress->finish(report.cycles);
    interrupt_.throw_if_asked();
    report.options = said();
    if (arguments_.has(kCheck)) {
      report.check = check_outputs(simulation, {inputs_.elements.begin(), inputs_.elements.end()});
      report::self_check(report);
    }
    stage_outputs(simulation);
    return report;
  }

  std::vector<std::pair<std::string, std::string>> said() const {
    std::vector<std::pair<std::string, std::string>> options{
        {std::string(report::kCommandOption), command_line(arguments_, data_)}};
    for (const auto& [tensor, what] : inputs_.descriptions)
      options.emplace_back(fmt::format("in.{}", tensor), what);
    options.emplace_back("values", arguments_.has(kTimingOnly) ? "not computed" : "computed");
    options.emplace_back(
        kSanitize.name, arguments_.has(kTimingOnly) ? "off" : arguments_.value(kSanitize, kSanitize.implied));
    options.emplace_back(kWarmup.name, arguments_.value(kWarmup, std::to_string(*kWarmup.standard)));
    return options;
  }

  void stage_outputs(const Simulation& simulation) {
    for (auto& [name, file] : outputs_) {
      std::uint64_t unwritten = 0;
      const std::vector<std::byte> elements = simulation.output(name, &unwritten);
      if (unwritten > 0)
        host_.note(fmt::format("{} of {} bytes of {} were never written and hold poison", unwritten,
                               elements.size(), name));
      const auto& tensors = simulation.kernel().header.tensors;
      const auto tensor =
          std::find_if(tensors.begin(), tensors.end(),
                       [&, &wanted = name](const isa::Tensor& one) { return one.name == wanted; });
      const std::string note = npy_note(tensor->type);
      if (!note.empty())
        host_.note(fmt::format("{} holds {} as {}", file.path(), isa::name(tensor->type), note));
      file.stage(to_npy(*tensor, elements));
    }
  }

  // All files are complete before the first one takes its place.
  void write(const report::Report& report) {
    const std::string json =
        arguments_.has(kJson) ? report::to_json(report).dump(kIndent) + "\n" : std::string();
    if (json_) json_->stage(json);
    interrupt_.throw_if_asked();
    for (auto& [name, file] : outputs_) file.commit();
    if (json_) json_->commit();
    host_.print(json_to_stdout() && arguments_.has(kJson) ? json
                                                          : report::to_text(report, wants_colour(stdout)));
  }

  static int verdict(const report::Report& report) {
    const bool mismatch = report.check.requested && !report.check.passed;
    const bool error = std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                                   [](const report::Diagnostic& one) { return one.severity == "error"; });
    return mismatch || error ? exit_status(Category::verdict) : 0;
  }

  const Arguments& arguments_;
  Host& host_;
  const InterruptGuard interrupt_;
  std::vector<std::pair<std::string, std::string>> data_;
  Inputs inputs_;
  std::vector<std::pair<std::string, OutputFile>> outputs_;
  std::optional<OutputFile> json_;
};

int run(const Arguments& arguments, Host& host) {
  return Run(arguments, host).run();
}

}  // namespace

Command run_command() {
  Command command;
  command.name = "run";
  command.summary = "runs a kernel on a machine and reports its time and what bounded it";
  command.words = {"KERNEL"};
  command.help =
      "Runs a kernel on a simulated machine: computes its values, its time, and what bounded it. KERNEL is a "
      "name of\n"
      "the library ('npulab kernel list'), a .npu file, or a binary that 'npulab asm' wrote. The report goes "
      "to standard\n"
      "output, everything else to standard error; docs/report.md defines every figure.\n"
      "\n"
      "Files are written whole or not at all, and it is checked before the run that they can be. NumPy files "
      "hold the\n"
      "tensor's own type and shape; nothing is converted. NumPy has no bf16, f8e4m3, f8e5m2: those are their "
      "bits as\n"
      "uint16 or uint8 (what ml_dtypes saves is read too); i4 is int8, one element each.";
  command.examples =
      "  npulab run gemv/register_blocked -D M=1024 -D K=1024 --check\n"
      "  npulab run gemv/register_blocked --set gm.model=ideal --timing-only   what if memory were ideal?\n"
      "  npulab run mine.npu --machine tiny --in x=x.npy --in A=arange --out y=y.npy\n"
      "  npulab run gemv/register_blocked --json - | python3 -m json.tool      the report as data";
  command.options = {&kMachine,    &kSet,   &kParam,  &kIn,        &kOut,  &kCheck,        &kSanitize,
                     &kTimingOnly, &kCores, &kWarmup, &kMaxCycles, &kJson, &kNoBlockCache, &kProgress};
  command.tables = {data_table()};
  command.run = &run;
  return command;
}

}  // namespace npulab::cli
