// SPDX-License-Identifier: Apache-2.0
// Runs of random programs: on which machines, with which inputs, what comes out, and what should.
#pragma once

#include <charconv>
#include <cstdlib>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "tests/fuzz/plain_interpreter.hpp"
#include "tests/fuzz/random_program.hpp"
#include "tests/sanitized.hpp"
#include "tests/simulator/run_helper.hpp"

namespace npulab::test {

using Inputs = std::map<std::string, Bytes>;

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = kSanitized ? 150 : 500;
  bool usual = true;
};

inline Seeds seeds() {
  Seeds result;
  const char* const given = std::getenv("NPULAB_SEEDS");
  if (given == nullptr) return result;
  const std::string text = given;
  const std::size_t dots = text.find("..");
  result.usual = false;
  const auto read = [&](std::size_t from, std::size_t to, std::uint64_t& value) {
    return std::from_chars(text.data() + from, text.data() + to, value).ptr == text.data() + to && from < to;
  };
  if (dots == std::string::npos || !read(0, dots, result.first) || !read(dots + 2, text.size(), result.last))
    throw std::invalid_argument("NPULAB_SEEDS is FIRST..LAST, not " + text);
  return result;
}

struct Outcome {
  std::string error;  // code and message, empty for none
  Category category = Category::verdict;
  std::string report;
  std::uint64_t cycles = 0;
  std::string findings;
  std::string errors;  // those of the findings that are no warnings
  Bytes y;
};

inline Outcome outcome(const config::Machine& on, const std::string& text, SimulationOptions options,
                       const Inputs& inputs) {
  Outcome result;
  options.cores = kRandomCores;
  options.max_cycles = 10'000'000;
  try {
    Run done = run(on, text, std::move(options), inputs);
    result.report = report::to_json(done.report, false).dump(1);
    result.cycles = done.report.cycles;
    for (const auto& one : done.report.diagnostics) {
      result.findings += one.message + "\n";
      if (one.severity == "error") result.errors += one.code + " at " + one.where + ": " + one.message + "\n";
    }
    result.y = done.outputs.at("y");
  } catch (const Error& error) {
    result.error = error.code() + ": " + error.what();
    result.category = error.category();
  }
  return result;
}

// `more`: settings in place of their own.
inline std::vector<config::Machine> machines(const std::vector<std::string>& more = {}) {
  std::vector<config::Machine> all;
  const auto add = [&](const char* name, std::vector<std::string> set) {
    for (const std::string& one : more) {
      const std::string key = one.substr(0, one.find('=') + 1);
      std::erase_if(set, [&key](const std::string& own) { return own.starts_with(key); });
      set.push_back(one);
    }
    all.push_back(machine(name, set));
  };
  for (const char* name : {"tiny", "edge", "tiny_ub", "ascend910_opsblas"}) add(name, {});
  add("tiny", {"core_types.core.vector.queue_depth=3", "core_types.core.dma.mte2.queue_depth=1",
               "core_types.core.sync.flag_latency_cycles=9", "gm.latency_ns=3"});
  add("edge", {"core_types.core.vector.issue_width=1", "core_types.core.sync.flag_latency_cycles=0",
               "core_types.core.dma.mte3.queue_depth=1", "core_types.core.matrix.dataflow=output_stationary",
               "gm.model=ideal", "numerics.overflow=saturate"});
  return all;
}

// Half of A is any bytes, the other half reads as moderate numbers in every float type.
inline Inputs random_inputs(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Inputs inputs{{"A", Bytes(kSourceBytes)}, {"y", Bytes(kPart * kRandomCores)}};
  for (auto& [name, bytes] : inputs)
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xffU);
  Bytes& a = inputs.at("A");
  for (std::size_t i = a.size() / 2; i < a.size(); i += 2)
    a[i + 1] = static_cast<std::byte>((random() & 0x80U) | (0x38U + random() % 8));
  return inputs;
}

inline Bytes interpreted(const config::Machine& on, const std::string& text, const Inputs& inputs) {
  const isa::Target target = config::make_target(on);
  const isa::Kernel kernel = assemble(text, on);
  PlainInterpreter plain(on, target, kernel, kRandomCores);
  for (const auto& [name, bytes] : inputs) plain.tensor(name) = bytes;
  plain.run();
  return plain.tensor("y");
}

}  // namespace npulab::test
