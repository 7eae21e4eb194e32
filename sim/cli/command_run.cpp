// SPDX-License-Identifier: Apache-2.0
// npulab run: one kernel on one machine, with its report.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "isa/error.hpp"
#include "sim/cli/case.hpp"
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

// What a case replaces.
void check_case_options(const Arguments& arguments) {
  if (!arguments.has(kCase)) {
    if (arguments.words().empty())
      throw Error(Category::input, "missing-argument",
                  fmt::format("a KERNEL is missing, or {} with a saved run", written(kCase)));
    return;
  }
  const auto refuse = [](const std::string& what) {
    throw Error(Category::input, "bad-option",
                fmt::format("{} has a kernel, a machine, parameters and inputs of its own: leave {} out",
                            written(kCase), what));
  };
  if (!arguments.words().empty()) refuse(arguments.word(0));
  for (const Option* option : {&kMachine, &kParam, &kIn})
    if (arguments.has(*option)) refuse(written(*option));
}

// Options that change what is simulated, beside those that name files.
std::vector<const Option*> run_options() {
  return {&kCores, &kWarmup, &kMaxCycles, &kSanitize, &kTimingOnly, &kNoBlockCache};
}

// With the options that the case has and the command line has not.
Arguments with_case(const Arguments& given, const SavedCase& saved) {
  Arguments all = given;
  for (const Option* option : run_options())
    for (const auto& [name, value] : saved.options)
      if (name == option->name && !given.has(*option)) all.add(*option, value);
  return all;
}

// The command that gives this report again: everything that it depends on, nothing else.
std::string command_line(const Arguments& arguments,
                         const std::vector<std::pair<std::string, std::string>>& inputs) {
  if (arguments.has(kCase)) {
    std::string line =
        fmt::format("{} run {} {}", kProgramName, written(kCase), quoted(arguments.value(kCase)));
    for (const std::string& value : arguments.values(kSet)) line += " " + written(kSet) + " " + quoted(value);
    return line;
  }
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
    check_case_options(arguments_);
    if (arguments_.has(kCase)) {
      saved_ = read_case(arguments_.value(kCase));
      arguments_ = with_case(arguments_, *saved_);
    }
    SimulationOptions options = options_of(arguments_);
    check_timing_only(arguments_);
    if (arguments_.has(kJson) && !json_to_stdout()) json_.emplace(arguments_.value(kJson));
    if (arguments_.has(kSaveCase)) case_.emplace(arguments_.value(kSaveCase));
    config::Machine machine =
        saved_ ? load(saved_->machine, arguments_.values(kSet), host_) : machine_of(arguments_, host_);
    isa::Kernel kernel = saved_ ? load_kernel(saved_->kernel, machine, saved_->params, host_)
                                : load_kernel(arguments_.word(0), machine, parameters(arguments_), host_);
    data_ = input_data(input_words(), kernel.header);
    outputs_ = output_files(arguments_.values(kOut), kernel.header);
    check_distinct(targets());
    if (checks_reference()) check_reference(kernel.header);
    if (options.timing_only) {
      data_.clear();
    } else {
      check_memory(kernel.header);
      inputs_ = make_inputs(data_, kernel.header);
    }
    interrupt_.throw_if_asked();
    const report::Report report = simulate(std::move(machine), std::move(kernel), std::move(options));
    write(report);
    return outcome_of(report).status;
  }

 private:
  bool json_to_stdout() const { return arguments_.value(kJson) == kStandardOutput; }

  std::vector<const OutputFile*> targets() const {
    std::vector<const OutputFile*> files;
    for (const auto& [tensor, file] : outputs_) files.push_back(&file);
    if (json_) files.push_back(&*json_);
    return files;
  }

  std::vector<std::string> input_words() const {
    if (!saved_) return arguments_.values(kIn);
    std::vector<std::string> words;
    for (const auto& [tensor, file] : saved_->inputs) words.push_back(tensor + "=" + file);
    return words;
  }

  bool checks_reference() const {
    const bool saved = saved_ && saved_->from == ExpectedFrom::reference && !arguments_.has(kTimingOnly);
    return arguments_.has(kCheck) || saved;
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
    report::Report report = run_or_keep(simulation);
    if (progress) progress->finish(report.cycles);
    interrupt_.throw_if_asked();
    report.options = said();
    if (checks_reference())
      report.check = check_outputs(simulation, {inputs_.elements.begin(), inputs_.elements.end()});
    else if (saved_ && saved_->from == ExpectedFrom::run && !arguments_.has(kTimingOnly))
      report.check = check_saved(*saved_, simulation);
    report::self_check(report);
    stage_outputs(simulation);
    if (saved_) note_changes(outcome_of(report), simulation);
    if (case_) stage_case(simulation, outcome_of(report));
    return report;
  }

  // A run that fails is a case and has a report, too.
  report::Report run_or_keep(Simulation& simulation) {
    try {
      return simulation.run();
    } catch (const Error& error) {
      const Outcome outcome{exit_status(error.category()), error.code(), error.what(), {}};
      if (saved_) note_changes(outcome, simulation);
      if (case_) keep_failed(simulation, outcome);
      if (arguments_.has(kJson)) write_unfinished(simulation.unfinished(error));
      throw;
    }
  }

  // What the run failed with is more than that it could not be kept.
  void keep_failed(const Simulation& simulation, const Outcome& outcome) {
    try {
      stage_case(simulation, outcome);
      case_->commit();
    } catch (const Error& error) {
      host_.note(fmt::format("the run is not saved: {}", error.what()));
    }
  }

  void write_unfinished(report::Report report) {
    report.options = said();
    const std::string json = report::to_json(report).dump(kIndent) + "\n";
    if (json_) {
      json_->stage(json);
      json_->commit();
    } else {
      host_.print(json);
    }
  }

  void note_changes(const Outcome& outcome, const Simulation& simulation) {
    for (const std::string& line : changes(*saved_, outcome, simulation)) host_.note(line);
  }

  void stage_case(const Simulation& simulation, const Outcome& outcome) {
    TensorBytes outputs;
    const bool values = outcome.cycles && !arguments_.has(kTimingOnly);
    if (values)
      for (const isa::Tensor& tensor : simulation.kernel().header.tensors)
        if (tensor.direction != isa::Direction::in) outputs[tensor.name] = simulation.output(tensor.name);
    add_case(*case_, {simulation.kernel(), simulation.machine(), arguments_, run_options(),
                      command_line(arguments_, data_), inputs_, values ? &outputs : nullptr, outcome});
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
    if (case_) case_->commit();
    host_.print(json_to_stdout() && arguments_.has(kJson) ? json
                                                          : report::to_text(report, wants_colour(stdout)));
  }

  static Outcome outcome_of(const report::Report& report) {
    Outcome outcome{0, {}, {}, report.cycles};
    const auto error = std::find_if(report.diagnostics.begin(), report.diagnostics.end(),
                                    [](const report::Diagnostic& one) { return one.severity == "error"; });
    if (report.check.requested && !report.check.passed)
      outcome = {exit_status(Category::verdict), "mismatch", "the outputs are not as expected",
                 report.cycles};
    else if (error != report.diagnostics.end())
      outcome = {exit_status(Category::verdict), error->code, error->message, report.cycles};
    return outcome;
  }

  Arguments arguments_;  // with those of the saved case
  Host& host_;
  const InterruptGuard interrupt_;
  std::optional<SavedCase> saved_;
  std::vector<std::pair<std::string, std::string>> data_;
  Inputs inputs_;
  std::vector<std::pair<std::string, OutputFile>> outputs_;
  std::optional<OutputFile> json_;
  std::optional<OutputFolder> case_;
};

int run(const Arguments& arguments, Host& host) {
  return Run(arguments, host).run();
}

}  // namespace

Command run_command() {
  Command command;
  command.name = "run";
  command.summary = "runs a kernel on a machine and reports its time and what bounded it";
  command.words = {"[KERNEL]"};
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
      "uint16 or uint8 (what ml_dtypes saves is read too); i4 is int8, one element each.\n"
      "\n"
      "A saved case holds the kernel with its includes, the machine, parameters, inputs, outputs and what "
      "the "
      "reference\n"
      "expects; its program 'replay' repeats the run and compares. docs/debugging.md shows how to find a "
      "fault.";
  command.examples =
      "  npulab run gemv/register_blocked -D M=1024 -D K=1024 --check\n"
      "  npulab run gemv/register_blocked --set gm.model=ideal --timing-only   what if memory were ideal?\n"
      "  npulab run mine.npu --machine tiny --in x=x.npy --in A=arange --out y=y.npy\n"
      "  npulab run gemv/register_blocked --json - | python3 -m json.tool      the report as data\n"
      "  npulab run mine.npu --check --save-case case      keeps the run; case/replay repeats it anywhere";
  command.options = {&kMachine,      &kSet,        &kParam,    &kIn,     &kOut,       &kCheck,
                     &kSanitize,     &kTimingOnly, &kCores,    &kWarmup, &kMaxCycles, &kJson,
                     &kNoBlockCache, &kProgress,   &kSaveCase, &kCase};
  command.tables = {data_table()};
  command.run = &run;
  return command;
}

}  // namespace npulab::cli
