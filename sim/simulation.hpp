// SPDX-License-Identifier: Apache-2.0
// The facade: a kernel on a machine, with tensors in and out. No SystemC in this header.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.hpp"
#include "sim/config/machine.hpp"
#include "sim/report/report.hpp"

namespace npulab {

namespace systemc {
class GmPort;
class Session;
}  // namespace systemc

// fast: what costs little on every access. full: races too, judged by what orders accesses, and where values
// first go wrong.
enum class SanitizeLevel : std::uint8_t { off, fast, full };
struct SanitizeRow {
  SanitizeLevel level;
  std::string_view name;
};
inline constexpr std::array<SanitizeRow, 3> kSanitizeLevels{
    {{SanitizeLevel::off, "off"}, {SanitizeLevel::fast, "fast"}, {SanitizeLevel::full, "full"}}};
// The level of this name. Errors: input "unknown-choice" with the nearest right spelling.
SanitizeLevel sanitize_level(std::string_view name);
std::string_view name_of(SanitizeLevel level);

struct SimulationOptions {
  bool timing_only = false;  // no values; the same cycles. Refused where values steer time.
  SanitizeLevel sanitize = SanitizeLevel::fast;
  bool block_cache = true;  // false: every instruction is timed one by one; the report is the same
  // Of the launch; 0: as many as the machine has. Kernels with several programs, or with `cores=`, say
  // themselves how many they take, and anything else is refused.
  std::uint32_t cores = 0;
  std::uint32_t warmup = 0;  // runs before the one that is reported
  // A run that has not ended by this cycle is a stall "cycle-limit": an endless loop ends too.
  static constexpr std::uint64_t kDefaultMaxCycles = 1'000'000'000;
  std::uint64_t max_cycles = kDefaultMaxCycles;
  std::uint64_t construction_seed = 0;  // not 0: cores are built in a shuffled order; the report is the same
  // Called now and then with the cycle and the share of the outputs that is stored (0…1, negative when the
  // kernel has no outputs). May throw: the run ends with that exception.
  std::function<void(std::uint64_t cycle, double share)> progress;
  // Lines of `print` instructions.
  std::function<void(const std::string& line)> print;
  // A device memory of the user's own in place of the machine's; called inside the simulation's context, for
  // each run.
  std::function<std::unique_ptr<systemc::GmPort>(systemc::Session&, const config::Machine&)> memory_factory;
};

// One kernel, assembled for the machine, ready to run any number of times. Not for use by several threads at
// once.
class Simulation {
 public:
  // Errors: input when the kernel does not fit the machine (tensors larger than gm, too many cores, …).
  Simulation(config::Machine machine, isa::Kernel kernel, SimulationOptions options = {});
  ~Simulation();
  Simulation(Simulation&&) noexcept;

  const isa::Kernel& kernel() const;
  const config::Machine& machine() const;

  // The elements of a tensor in row-major order without padding: exactly elements * bits / 8 bytes, which
  // must stay alive until the last run. `in` and `inout` tensors need one unless timing_only. Errors: input
  // "unknown-tensor", "wrong-size", "not-an-input".
  void set_input(const std::string& tensor, std::span<const std::byte> elements);
  // What lies between the rows of tensors with a pitch (default: nothing was ever written there).
  void set_padding(const std::string& tensor, std::byte value);

  // Runs once. Errors: verdict (an access out of bounds, a failed assertion), stall, internal. Findings that
  // let the run go on stand in Report::diagnostics.
  report::Report run();

  // The report of a run that ended with this error: no figures, the error as its diagnostic.
  report::Report unfinished(const Error& error) const;

  // The elements of an `out` or `inout` tensor after a run, row-major without padding. `unwritten`: how many
  // of its bytes the kernel never wrote (they hold poison).
  std::vector<std::byte> output(const std::string& tensor, std::uint64_t* unwritten = nullptr) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string version();  // "0.1.0"

}  // namespace npulab
