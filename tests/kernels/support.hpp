// SPDX-License-Identifier: Apache-2.0
// Helpers of the kernel tests: shipped kernels on shipped machines, data, runs, refusals.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/error.hpp"
#include "kernels/check.hpp"
#include "kernels/library.hpp"
#include "sim/config/load.hpp"
#include "sim/simulation.hpp"
#include "sim/values/generate.hpp"

namespace npulab::kernels::test {

using Bytes = std::vector<std::byte>;

inline std::filesystem::path source_folder(const char* name) {
  return std::filesystem::path(NPULAB_SOURCE_DIR) / name;
}
inline Folders folders() {
  return {source_folder("kernels")};
}

inline const config::Machine& machine(const std::string& name) {
  static std::map<std::string, config::Machine> known;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known.emplace(name, config::load_machine(name, {{}, {source_folder("configs")}})).first->second;
}

struct Launch {
  std::string kernel;
  std::string machine = "ascend910_opsblas";
  isa::ParamValues params;
  std::uint32_t cores = 4;
  bool timing_only = false;
  bool block_cache = true;
  std::optional<std::byte> padding;           // between the rows of tensors with a pitch
  std::map<std::string, std::string> data{};  // tensor: as values::fill takes it
  std::map<std::string, Bytes> inputs{};      // tensor: elements, in place of data
};

struct KernelRun {
  isa::KernelHeader header;
  report::Report report;
  std::map<std::string, Bytes> inputs;
  Bytes y;
  std::uint64_t unwritten = 0;
  CheckData check;
};

inline const isa::Tensor& tensor(const isa::KernelHeader& header, const std::string& name) {
  for (const isa::Tensor& one : header.tensors)
    if (one.name == name) return one;
  throw Error(Category::internal, "test", "no tensor " + name);
}

inline std::map<std::string, Bytes> make_inputs(const isa::KernelHeader& header, const Launch& launch) {
  std::map<std::string, Bytes> inputs;
  int seed = 1;
  for (const isa::Tensor& one : header.tensors) {
    if (one.direction == isa::Direction::out) continue;
    if (const auto given = launch.inputs.find(one.name); given != launch.inputs.end()) {
      inputs[one.name] = given->second;
      continue;
    }
    Bytes& bytes = inputs[one.name];
    bytes.resize(one.elements() * isa::bits(one.type) / 8);
    const auto spec = launch.data.find(one.name);
    values::fill(one.type, bytes.data(), one.elements(),
                 spec != launch.data.end() ? spec->second : "random:" + std::to_string(seed++));
  }
  return inputs;
}

// Runs once; with values also checks against the reference.
inline KernelRun run(const Launch& launch) {
  const config::Machine& on = machine(launch.machine);
  const isa::Kernel kernel = assemble_kernel(launch.kernel, folders(), on, launch.params);
  KernelRun result;
  result.header = kernel.header;
  SimulationOptions options;
  options.cores = launch.cores;
  options.timing_only = launch.timing_only;
  options.block_cache = launch.block_cache;
  Simulation simulation(on, kernel, options);
  result.inputs = make_inputs(kernel.header, launch);
  if (!launch.timing_only)
    for (const auto& [name, bytes] : result.inputs) simulation.set_input(name, bytes);
  for (const isa::Tensor& one : kernel.header.tensors)
    if (launch.padding && one.pitch != one.shape.back()) simulation.set_padding(one.name, *launch.padding);
  result.report = simulation.run();
  if (launch.timing_only) return result;
  result.y = simulation.output("y", &result.unwritten);
  Inputs inputs;
  for (const auto& [name, bytes] : result.inputs) inputs[name] = bytes;
  result.check = check(kernel.header, on, inputs, {{"y", {result.y, result.unwritten}}});
  return result;
}

// What the check says of the worst element.
inline std::string worst_of(const CheckData& check) {
  if (check.worst.empty()) return {};
  const WrongElement& worst = check.worst.front();
  std::string text = worst.tensor;
  for (const std::uint64_t one : worst.index) text += " " + std::to_string(one);
  return text + ": got " + std::to_string(worst.got) + ", expected " + std::to_string(worst.expected) +
         ", bound " + std::to_string(worst.bound);
}

inline std::string first_diagnostic(const KernelRun& run) {
  if (run.report.diagnostics.empty()) return {};
  const report::Diagnostic& d = run.report.diagnostics.front();
  return d.code + ": " + d.message + " at " + d.where;
}

// What `make` throws, or nothing when it throws nothing.
template <class Make>
std::optional<Error> refusal(Make&& make) {
  try {
    make();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace npulab::kernels::test
