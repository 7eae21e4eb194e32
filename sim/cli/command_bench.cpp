// SPDX-License-Identifier: Apache-2.0
// npulab bench: a suite of runs, and a gate on their simulated cycles.
#include <fmt/core.h>

#include <optional>

#include "isa/error.hpp"
#include "sim/cli/baseline.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/files.hpp"
#include "sim/cli/host.hpp"
#include "sim/cli/launch.hpp"
#include "sim/cli/suite.hpp"
#include "sim/cli/tensor_data.hpp"
#include "sim/cli/terminal.hpp"
#include "sim/simulation.hpp"

namespace npulab::cli {

namespace {

constexpr Option kBaseline{"baseline", '\0', "FILE",
                           "compares with this file, exactly; a change is exit status 1"};
constexpr Option kUpdate{"update", '\0', "", "writes the baseline anew in place of comparing"};

constexpr std::uint64_t kMostBytesOfBaseline = std::uint64_t{16} << 20;
constexpr int kIndent = 1;

report::Report simulate(const SuiteCase& one, Host& host, const InterruptGuard& interrupt) {
  config::Machine machine = load(one.machine, one.set, host);
  isa::Kernel kernel = load_kernel(one.kernel, machine, one.params, host);
  Inputs inputs;
  if (!one.timing_only) {
    check_memory(kernel.header);
    inputs = make_inputs(input_data(one.in, kernel.header), kernel.header);
  }
  SimulationOptions options;
  options.cores = one.cores;
  options.timing_only = one.timing_only;
  options.progress = [&](std::uint64_t, double) { interrupt.throw_if_asked(); };
  Simulation simulation(std::move(machine), std::move(kernel), std::move(options));
  for (const auto& [tensor, elements] : inputs.elements) simulation.set_input(tensor, elements);
  return simulation.run();
}

// What goes wrong in a case is told with its name.
BenchResult result(const SuiteCase& one, Host& host, const InterruptGuard& interrupt) {
  try {
    return result_of(one.name, simulate(one, host, interrupt));
  } catch (const Error& error) {
    throw Error(error.category(), error.code(), fmt::format("case {}: {}", one.name, error.what()),
                one.where);
  }
}

std::string table(const std::vector<BenchResult>& results) {
  std::vector<std::vector<std::string>> rows{{"case", "cycles", "us", "gm bytes", "at least", "limited by"}};
  for (const BenchResult& one : results) {
    const double share = one.time_us > 0 ? one.lower_bound_us / one.time_us : 0;
    rows.push_back({one.name, fmt::format("{}", one.cycles), fmt::format("{:.3f}", one.time_us),
                    fmt::format("{}", one.gm_read_bytes + one.gm_write_bytes),
                    fmt::format("{:.3f} us ({:.1f} %)", one.lower_bound_us, 100 * share), one.limited_by});
  }
  return columns(rows);
}

int gate(const std::string& path, const std::vector<BenchResult>& results, bool quiet, Host& host) {
  const std::vector<std::string> changes =
      compare(from_json(read_file(path, kMostBytesOfBaseline), path), results);
  if (changes.empty()) {
    if (!quiet)
      host.print(
          fmt::format("\nas in {}: {} case{}\n", path, results.size(), results.size() == 1 ? "" : "s"));
    return 0;
  }
  for (const std::string& line : changes) fmt::print(stderr, "{}: changed: {}\n", kProgramName, line);
  fmt::print(stderr, "{}: {} difference{} from {}; if they are meant, --{} writes it anew\n", kProgramName,
             changes.size(), changes.size() == 1 ? "" : "s", path, kUpdate.name);
  return exit_status(Category::verdict);
}

int run(const Arguments& arguments, Host& host) {
  const bool gated = arguments.has(kBaseline);
  const bool update = arguments.has(kUpdate);
  const std::string baseline = arguments.value(kBaseline);
  if (update && !gated)
    throw Error(Category::input, "bad-option",
                fmt::format("--{} needs --{}: the file to write", kUpdate.name, kBaseline.name));
  const bool to_stdout = arguments.value(kJson) == kStandardOutput;
  std::vector<OutputFile> files;
  std::vector<const OutputFile*> targets;
  if (arguments.has(kJson) && !to_stdout) files.emplace_back(arguments.value(kJson));
  if (update) files.emplace_back(baseline);
  for (const OutputFile& file : files) targets.push_back(&file);
  check_distinct(targets);
  if (gated && !update) from_json(read_file(baseline, kMostBytesOfBaseline), baseline);

  const InterruptGuard interrupt;
  std::vector<BenchResult> results;
  for (const SuiteCase& one : read_suite(arguments.word(0))) results.push_back(result(one, host, interrupt));

  const std::string json = to_json(results).dump(kIndent) + "\n";
  for (OutputFile& file : files) file.stage(json);
  interrupt.throw_if_asked();
  for (OutputFile& file : files) file.commit();
  host.print(to_stdout ? json : table(results));
  return gated && !update ? gate(baseline, results, to_stdout, host) : 0;
}

}  // namespace

Command bench_command() {
  Command command;
  command.name = "bench";
  command.summary = "runs a suite; a gate on simulated cycles, which never jitter";
  command.words = {"SUITE.yaml"};
  command.help =
      "Runs the cases of a suite, one after another, and prints for each its simulated cycles and what set "
      "its lower\n"
      "bound. With --baseline the results are compared exactly: any change, and any case that is new or "
      "gone, is exit\n"
      "status 1, with both numbers and their ratio. A suite is\n"
      "\n"
      "  cases:\n"
      "    - name: gemv-1k\n"
      "      kernel: gemv/register_blocked    # or a .npu file, relative to the suite\n"
      "      machine: ascend910_opsblas       # or a .yaml file, relative to the suite\n"
      "      params: {M: 1024, K: 1024}       # optional, like the following\n"
      "      set: [gm.model=ideal]\n"
      "      in: [x=ones]                     # data of inputs, as --in takes it\n"
      "      cores: 8\n"
      "      timing_only: true";
  command.examples =
      "  npulab bench suite.yaml --baseline baseline.json --update    keep what is\n"
      "  npulab bench suite.yaml --baseline baseline.json             has anything changed?";
  command.options = {&kBaseline, &kUpdate, &kJson};
  command.run = &run;
  return command;
}

}  // namespace npulab::cli
