// SPDX-License-Identifier: Apache-2.0
// Runs a kernel given as text on a shipped machine, for tests of time and values.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "sim/config/load.hpp"
#include "sim/simulation.hpp"

namespace npulab::test {

inline config::Machine machine(const std::string& name, const std::vector<std::string>& set = {}) {
  config::LoadOptions options;
  options.set = set;
  options.search = {std::string(NPULAB_SOURCE_DIR) + "/configs"};
  return config::load_machine(name, options);
}

inline isa::Kernel assemble(const std::string& body, const config::Machine& m,
                            const isa::ParamValues& params = {}) {
  const isa::Target target = config::make_target(m);
  isa::AssembleOptions options;
  options.other_core_types = config::other_targets(m, target);
  return isa::assemble({"test.npu", body}, target, params, options);
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

struct Run {
  report::Report report;
  std::map<std::string, std::vector<std::byte>> outputs;
};

// Inputs not named are filled with 0, 1, 2, … bytes (modulo 97, so that rows differ).
inline Run run(const config::Machine& m, const std::string& body, SimulationOptions options = {},
               const std::map<std::string, std::vector<std::byte>>& inputs = {},
               const isa::ParamValues& params = {}) {
  Simulation simulation(m, assemble(body, m, params), std::move(options));
  std::map<std::string, std::vector<std::byte>> kept = inputs;
  for (const isa::Tensor& tensor : simulation.kernel().header.tensors) {
    if (tensor.direction == isa::Direction::out) continue;
    if (!kept.contains(tensor.name)) {
      std::vector<std::byte>& bytes = kept[tensor.name];
      bytes.resize((tensor.elements() * isa::bits(tensor.type) + 7) / 8);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 97);
    }
    simulation.set_input(tensor.name, kept[tensor.name]);
  }
  Run result;
  result.report = simulation.run();
  for (const isa::Tensor& tensor : simulation.kernel().header.tensors)
    if (tensor.direction != isa::Direction::in) result.outputs[tensor.name] = simulation.output(tensor.name);
  return result;
}

inline SimulationOptions one_core() {
  SimulationOptions options;
  options.cores = 1;
  return options;
}

inline std::uint64_t cycles_on_tiny(const std::string& body, const std::vector<std::string>& set = {}) {
  return run(machine("tiny", set), ".kernel test/time\n" + body, one_core()).report.cycles;
}

}  // namespace npulab::test
