// SPDX-License-Identifier: Apache-2.0
// Runs of kernels with any tensors: all outputs, poison between the rows of every tensor, raw bits as data.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "tests/kernels/support.hpp"

namespace npulab::kernels::test {

struct Outcome {
  isa::KernelHeader header;
  report::Report report;
  std::map<std::string, Bytes> inputs;
  std::map<std::string, Bytes> outputs;
  CheckData check;

  const Bytes& operator[](const std::string& name) const { return outputs.at(name); }
};

// Bits without meaning: every pattern of NaN, infinity and subnormals turns up.
inline Bytes noise(std::size_t bytes, std::uint64_t seed = 1) {
  Bytes result(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::byte& byte : result) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56U);
  }
  return result;
}

inline std::size_t dense_bytes(const isa::Tensor& one) {
  return (one.elements() * isa::bits(one.type) + 7) / 8;
}

inline std::string spelled(const Launch& launch) {
  std::string text = launch.kernel + " on " + launch.machine + " cores=" + std::to_string(launch.cores);
  for (const auto& [name, value] : launch.params) text += " " + name + "=" + std::to_string(value);
  return text;
}

// Runs once and holds the result against the reference, the sanitizer and the clock without values. Outputs
// hold noise before, and so does what lies between the rows of every tensor.
inline Outcome run_all(const Launch& launch, bool also_timing_only = false) {
  SCOPED_TRACE(spelled(launch));
  const config::Machine& on = machine(launch.machine);
  const isa::Kernel kernel = assemble_kernel(launch.kernel, folders(), on, launch.params);
  Outcome result;
  result.header = kernel.header;
  SimulationOptions options;
  options.cores = std::min(launch.cores, on.core_types.begin()->second.count);
  options.block_cache = launch.block_cache;
  Simulation simulation(on, kernel, options);
  int seed = 1;
  for (const isa::Tensor& one : kernel.header.tensors) {
    simulation.set_padding(one.name, launch.padding.value_or(std::byte{0xff}));
    if (one.direction == isa::Direction::out) continue;
    Bytes& bytes = result.inputs[one.name];
    const auto given = launch.inputs.find(one.name);
    const auto spec = launch.data.find(one.name);
    bytes.resize(dense_bytes(one));
    if (given != launch.inputs.end())
      bytes = given->second;
    else
      values::fill(one.type, bytes.data(), one.elements(),
                   spec != launch.data.end() ? spec->second : "random:" + std::to_string(seed++));
    simulation.set_input(one.name, bytes);
  }
  result.report = simulation.run();
  Inputs inputs;
  for (const auto& [name, bytes] : result.inputs) inputs[name] = bytes;
  Outputs outputs;
  for (const isa::Tensor& one : kernel.header.tensors) {
    if (one.direction == isa::Direction::in) continue;
    Output& output = outputs[one.name];
    output.elements = result.outputs[one.name] = simulation.output(one.name, &output.unwritten_bytes);
    EXPECT_EQ(output.unwritten_bytes, 0U) << one.name;
  }
  result.check = check(kernel.header, on, inputs, outputs);
  EXPECT_TRUE(result.check.passed) << worst_of(result.check);
  for (const report::Diagnostic& d : result.report.diagnostics)
    ADD_FAILURE() << d.code << ": " << d.message << " at " << d.where;
  if (also_timing_only) {
    options.timing_only = true;
    EXPECT_EQ(Simulation(on, kernel, options).run().cycles, result.report.cycles);
  }
  return result;
}

// The refusal of a kernel on a machine; a run that is not refused fails the test.
inline std::string refused(const Launch& launch) {
  const auto error =
      refusal([&] { assemble_kernel(launch.kernel, folders(), machine(launch.machine), launch.params); });
  EXPECT_TRUE(error) << spelled(launch) << " is not refused";
  return error ? error->message() : std::string();
}

}  // namespace npulab::kernels::test
