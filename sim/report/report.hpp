// SPDX-License-Identifier: Apache-2.0
// The result of a run as plain data. Writers (text, JSON) and the reference page read it; nothing computes in
// them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/error.hpp"
#include "sim/report/stats.hpp"

namespace npulab::report {

inline constexpr std::string_view kSchema = "npulab-report-1";
inline constexpr std::string_view kCommandOption =
    "command";  // Report::options: the command that gives it again

struct Memory {
  std::string name;
  std::uint64_t read_bytes = 0;  // requested
  std::uint64_t write_bytes = 0;
  std::uint64_t accesses = 0;
  double bandwidth_gbps = 0;                                    // (read + write) / time
  double peak_gbps = 0;                                         // 0: no peak is stated
  double utilization = 0;                                       // bandwidth / peak
  std::vector<std::pair<std::string, std::uint64_t>> counters;  // of the model: row hits, bursts, …
  double bus_occupancy = -1;  // share of the time in which data moved, over all channels; < 0: not stated
};

// Sums over cores: busy + idle + stalls = run_cycles * instances.
struct Engine {
  std::string name;
  std::uint64_t instances = 0;
  std::uint64_t run_cycles = 0;  // of the whole run, in the clock of its cores
  std::uint64_t busy_cycles = 0;
  std::uint64_t idle_cycles = 0;
  EngineCycles cycles;     // its stalls
  double utilization = 0;  // busy / (run_cycles * instances)
  std::vector<std::pair<std::string, std::uint64_t>> counters;
};

struct HotSpot {
  std::string core_type;  // of the program
  std::string file;       // as seen from the folder of the kernel's own, empty when the line is not known
  std::uint32_t line = 0;
  std::string text;               // the source line, empty when the source is not known
  std::uint64_t starts = 0;       // instructions of this line that started, over all cores
  std::uint64_t wait_cycles = 0;  // that the stream waited before them, over all cores
};

struct Region {
  std::string name;
  std::uint64_t first_cycle = 0;  // the earliest mark of any core
  std::uint64_t cycles = 0;       // from a mark to the core's next mark or the end, summed over cores
};

struct Bound {
  double lower_bound_us = 0;  // no machine with these widths could do this work faster
  std::string limited_by;     // what sets it
  std::string bounded_by;     // what held the run up most beyond that
};

struct ClosestElement {
  std::string where;  // empty: no element differs
  double error = 0;
  double bound = 0;
};

// A number that may be NaN or infinite; in JSON the texts "nan", "inf" and "-inf" stand for those.
struct AnyNumber {
  double value = 0;
};

struct WrongElement {
  std::string tensor;
  std::vector<std::uint64_t> index;
  AnyNumber got;
  AnyNumber expected;
  double bound = 0;  // may be infinite
  bool may_overflow = false;
  std::optional<double> ulp;
  std::optional<double> relative;
  std::string got_bits;  // empty where values are compared, not bits
  std::string expected_bits;
};

struct CheckedOutput {
  std::string name;
  std::uint64_t elements = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t unwritten_bytes = 0;
  double max_ulp = 0;
  double max_abs_error = 0;
  double max_relative_error = 0;
  std::optional<double> effective_bits;
};

struct CheckResult {
  bool requested = false;
  bool passed = false;
  std::string reference;
  double max_ulp = 0;
  double max_ulp_bound = 0;
  double max_abs_error = 0;
  double max_relative_error = 0;
  std::optional<double> effective_bits;  // none: no element is off
  std::uint64_t mismatches = 0;
  std::uint64_t elements = 0;
  ClosestElement closest;
  std::vector<CheckedOutput> outputs;
  std::vector<WrongElement> worst;
};

struct Diagnostic {
  std::string severity;
  std::string code;
  std::string message;
  std::string where;
  std::uint64_t count = 1;
};

struct Report {
  std::string npulab_version;
  std::string kernel;
  std::string kernel_hash;
  std::string machine;
  nlohmann::ordered_json resolved_machine;
  std::map<std::string, std::int64_t> params;
  std::vector<std::pair<std::string, std::string>> options;  // what else the run depends on
  std::string overflow_mode;
  bool ended = true;  // false: there are no figures, and `diagnostics` says why
  std::uint64_t cores = 0;
  std::uint64_t cycles = 0;
  double time_us = 0;
  double dispatch_us = 0;
  std::uint64_t instructions = 0;
  std::uint64_t flops = 0;
  double gflops = 0;
  double intensity = 0;  // flops per byte of gm
  Bound bound;
  std::vector<Memory> memories;  // gm first
  std::vector<Engine> engines;
  std::vector<HotSpot> hot_spots;  // by wait_cycles, at most 10
  std::vector<Region> regions;
  CheckResult check;
  std::vector<Diagnostic> diagnostics;
  // Wall clock, apart from everything that two runs share.
  double host_seconds = 0;
  std::string simd_path;
};

// Refuses a report of an ended run that contradicts itself: Error internal, naming the rule. Rules: every
// figure finite; busy
// + stalls + idle = cycles * instances; utilisations in 0…1; time not below the lower bound.
void self_check(const Report& report);

// `with_host`: the wall-clock section too.
nlohmann::ordered_json to_json(const Report& report, bool with_host = true);
// For people. `colour`: terminal colours.
std::string to_text(const Report& report, bool colour = false);
// "y[3, 5]: got 1, expected 2, …".
std::string to_text(const WrongElement& element);

// Definition and unit of every key of the JSON form; keys of maps stand as NAME.
struct Figure {
  std::string_view key;
  std::string_view unit;
  std::string_view definition;
};
const std::vector<Figure>& figures();
// docs/report.md. `gm_counters`: the rows of the table beside the memory model, which this layer does not
// know.
std::string reference_markdown(std::span<const Figure> gm_counters);

}  // namespace npulab::report
