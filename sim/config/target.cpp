// SPDX-License-Identifier: Apache-2.0
// What other layers take from a machine: the assembler's target, clocks, peaks.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "isa/error.hpp"
#include "isa/instruction.hpp"
#include "sim/config/machine.hpp"
#include "sim/config/names.hpp"

namespace npulab::config {

namespace {

const std::pair<const std::string, CoreTypeConfig>& find_core_type(const Machine& machine,
                                                                   const std::string& name) {
  const auto able = [](const auto& type) { return computes(type.second); };
  auto found = machine.core_types.find(name);
  if (name.empty()) found = std::find_if(machine.core_types.begin(), machine.core_types.end(), able);
  if (found != machine.core_types.end()) return *found;
  std::vector<std::string> names;
  for (const auto& [known, core] : machine.core_types) names.push_back(known);
  throw Error(Category::input, "unknown-core-type",
              name.empty() ? fmt::format("machine '{}' has no core type", machine.name)
                           : fmt::format("machine '{}' has no core type '{}'{}", machine.name, name,
                                         suggestion(name, names)));
}

template <class Items>
std::uint8_t index_in(const Items& items, const std::string& name) {
  const auto found = std::find(items.begin(), items.end(), name);
  if (found == items.end())
    throw Error(Category::internal, "unknown-name", fmt::format("'{}' is not part of this core type", name));
  return static_cast<std::uint8_t>(found - items.begin());
}

void add_flag_pairs(const SyncConfig& sync, isa::Target& target) {
  for (const std::string& text : sync.flag_pairs) {
    const auto [source, destination] = split_pair(text);
    target.flag_pairs.emplace_back(index_in(target.engines, source), index_in(target.engines, destination));
  }
  if (!sync.flag_pairs.empty()) return;
  const auto usable = [&](std::size_t engine) {
    return target.vector_unit || target.engines[engine] != kVectorEngine;
  };
  for (std::size_t source = 0; source < target.engines.size(); ++source)
    for (std::size_t destination = 0; destination < target.engines.size(); ++destination)
      if (source != destination && usable(source) && usable(destination))
        target.flag_pairs.emplace_back(static_cast<std::uint8_t>(source),
                                       static_cast<std::uint8_t>(destination));
}

void add_local_spaces(const CoreTypeConfig& core, isa::Target& target) {
  for (const auto& [name, buffer] : core.buffers)
    target.spaces.push_back({name, buffer.bytes, buffer.alignment, {}, 0, 1});
}

// The buffers of other cores that paths reach, each once.
void add_remote_spaces(const Machine& machine, const CoreTypeConfig& core, isa::Target& target) {
  for (const auto& [name, engine] : core.dma) {
    for (const DmaPathConfig& path : engine.paths) {
      for (const std::string& end : {path.from, path.to}) {
        const auto [type, buffer] = split_remote(end);
        const auto same = [&](const isa::Space& space) { return space.name == end; };
        if (type.empty() || std::any_of(target.spaces.begin(), target.spaces.end(), same)) continue;
        const CoreTypeConfig& owner = find_core_type(machine, type).second;
        const auto found = owner.buffers.find(buffer);
        const auto number = static_cast<std::uint8_t>(1 + std::distance(owner.buffers.begin(), found));
        target.spaces.push_back(
            {end, found->second.bytes, found->second.alignment, type, number, owner.count});
      }
    }
  }
}

void add_engines(const CoreTypeConfig& core, isa::Target& target) {
  std::vector<std::string> spaces;
  for (const isa::Space& space : target.spaces) spaces.push_back(space.name);
  target.engines = {kScalarEngine, kVectorEngine};
  for (const auto& [name, engine] : core.dma) {
    const auto index = static_cast<std::uint8_t>(target.engines.size());
    target.engines.push_back(name);
    for (const DmaPathConfig& path : engine.paths) {
      isa::LayoutSet layouts = 0;
      for (const isa::Layout layout : path.layouts)
        layouts = static_cast<isa::LayoutSet>(layouts | isa::set_of(layout));
      target.paths.push_back(
          {index_in(spaces, path.from), index_in(spaces, path.to), index, layouts, path.post,
           path.scale_buffer.empty() ? isa::kGmSpace : index_in(spaces, path.scale_buffer), path.multicast});
    }
  }
  if (has_matrix_engine(core)) target.engines.push_back(kMatrixEngine);
}

void add_matrix(const CoreTypeConfig& core, isa::Target& target) {
  const MatrixConfig& matrix = core.matrix;
  if (matrix.types.empty()) return;
  isa::MatrixLimits limits;
  limits.kind = matrix.kind;
  if (matrix.kind == isa::MatrixKind::systolic) {
    limits.rows = matrix.rows;
    limits.columns = matrix.columns;
  }
  limits.sparse_list = matrix.sparsity == Sparsity::list || matrix.sparsity == Sparsity::any;
  limits.sparse_structured = matrix.sparsity == Sparsity::structured || matrix.sparsity == Sparsity::any;
  if (has_matrix_engine(core)) {
    std::vector<std::string> spaces;
    for (const isa::Space& space : target.spaces) spaces.push_back(space.name);
    limits.a = index_in(spaces, matrix.a_buffer);
    limits.b = index_in(spaces, matrix.b_buffer);
    limits.c = index_in(spaces, matrix.c_buffer);
    if (!matrix.bias_buffer.empty()) limits.bias = index_in(spaces, matrix.bias_buffer);
  }
  for (const auto& [key, type] : matrix.types) {
    const auto [a, b] = matrix_types(key);
    limits.types.push_back({a, b, type.m, type.k, type.n});
  }
  target.matrix = std::move(limits);
}

}  // namespace

bool computes(const CoreTypeConfig& core) {
  return core.vector.present || !core.matrix.types.empty();
}

bool has_matrix_engine(const CoreTypeConfig& core) {
  return !core.matrix.types.empty() && core.matrix.kind != isa::MatrixKind::mmul;
}

std::uint64_t matrix_hz(const CoreTypeConfig& core) {
  return core.matrix.clock_mhz == 0 ? clock_hz(core)
                                    : static_cast<std::uint64_t>(core.matrix.clock_mhz * 1e6 + 0.5);
}

std::uint64_t clock_hz(const CoreTypeConfig& core) {
  return static_cast<std::uint64_t>(core.clock_mhz * 1e6 + 0.5);
}

double gm_peak_bytes_per_second(const GmConfig& gm) {
  return (gm.model == GmModel::ideal && gm.bandwidth_gbps > 0 ? gm.bandwidth_gbps
                                                              : gm.channel_gbps * gm.channels) *
         1e9;
}

isa::Target make_target(const Machine& machine, const std::string& core_type) {
  const auto& [name, core] = find_core_type(machine, core_type);
  isa::Target target;
  target.machine = machine.name;
  target.core_type = name;
  target.spaces.push_back({kGmName, machine.gm.bytes, 1});
  target.vector_unit = core.vector.present;
  add_local_spaces(core, target);
  add_remote_spaces(machine, core, target);
  add_engines(core, target);
  add_matrix(core, target);
  add_flag_pairs(core.sync, target);
  target.flag_ids = core.sync.flag_ids;
  target.semaphores = core.sync.semaphores;
  target.semaphore_max = core.sync.semaphore_max;
  target.cores = core.count;
  target.scalar_registers = core.scalar.registers;
  target.loop_depth = core.scalar.loop_depth;
  if (!core.vector.present) {
    target.vector_registers = target.register_bits = target.operation_bits = 0;
    return target;
  }
  for (std::size_t space = 1; space < target.spaces.size(); ++space)
    if (target.spaces[space].name == core.vector.buffer)
      target.vector_space = static_cast<std::uint8_t>(space);
  target.form = core.vector.operands;
  target.vector_registers = core.vector.registers;
  target.register_bits = core.vector.register_bits;
  target.operation_bits = core.vector.operation_bits;
  target.max_repeat = core.vector.max_repeat;
  for (const isa::DType type : core.vector.types)
    target.vector_types = static_cast<isa::DTypeSet>(target.vector_types | isa::set_of(type));
  return target;
}

std::vector<isa::Target> other_targets(const Machine& machine, const isa::Target& target) {
  std::vector<isa::Target> others;
  for (const auto& [name, core] : machine.core_types)
    if (name != target.core_type) others.push_back(make_target(machine, name));
  return others;
}

}  // namespace npulab::config
