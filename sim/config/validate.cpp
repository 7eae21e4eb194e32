// SPDX-License-Identifier: Apache-2.0
#include "sim/config/validate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "isa/syntax.hpp"
#include "isa/tile.hpp"
#include "sim/config/choices.hpp"
#include "sim/config/names.hpp"
#include "sim/config/walk.hpp"

namespace npulab::config {

namespace {

constexpr std::size_t kMostNamed =
    64;  // buffers or engines of one core type: operands hold their index in a byte

class Validator {
 public:
  explicit Validator(const Machine& machine) : machine_(machine) {}

  std::vector<Problem> run() {
    machine_name();
    named(key_of(&Machine::core_types), machine_.core_types, {kGmName});
    for (const auto& [name, core] : machine_.core_types)
      core_type(join_path(std::string(key_of(&Machine::core_types)), name), core);
    compute_unit();
    device_memory();
    return std::move(problems_);
  }

 private:
  template <class S, class M>
  static std::string at(const std::string& path, M S::*member) {
    return join_path(path, key_of(member));
  }
  // "operation_bits 160" for messages.
  template <class S, class M>
  static std::string shown(const S& section, M S::*member) {
    return fmt::format("{} {}", key_of(member), section.*member);
  }

  void refuse(const char* code, std::string path, std::string message) {
    problems_.push_back({code, std::move(path), std::move(message), {}});
  }
  void refuse_combination(std::string path, std::string message) {
    refuse("bad-combination", std::move(path), std::move(message));
  }

  // `part` must be a multiple of `whole`, both members of one section.
  template <class S>
  void multiple(const std::string& path, const S& section, unsigned S::*part, unsigned S::*whole,
                const char* why) {
    if (section.*part % section.*whole != 0)
      refuse_combination(at(path, part), fmt::format("{} is not a multiple of {}: {}", section.*part,
                                                     shown(section, whole), why));
  }

  void machine_name() {
    const auto legal = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == '-' || c == '.';
    };
    const std::string& name = machine_.name;
    if (name.empty() || !std::all_of(name.begin(), name.end(), legal))
      refuse("bad-name", std::string(key_of(&Machine::name)),
             fmt::format("'{}' is not made of letters, digits, '_', '-' and '.'", name));
  }

  // Rules for the names of sections: at least one, identifiers, none of `reserved`.
  template <class T>
  void named(const std::string_view key, const std::map<std::string, T>& sections,
             std::set<std::string> reserved, const std::string& path = {}) {
    const std::string here = join_path(path, key);
    if (sections.empty()) refuse_combination(here, "names no section; at least one is needed");
    if (sections.size() > kMostNamed)
      refuse_combination(here,
                         fmt::format("names {} sections, at most {} are legal", sections.size(), kMostNamed));
    for (const auto& [name, section] : sections) {
      if (!is_identifier(name))
        refuse(
            "bad-name", join_path(here, name),
            fmt::format(
                "'{}' is no name: a lower-case letter, then lower-case letters, digits and '_', at most 32",
                name));
      else if (reserved.count(name) != 0)
        refuse("bad-name", join_path(here, name),
               fmt::format("'{}' has a meaning of its own; take another name", name));
      else if (is_register_name(name))
        refuse("bad-name", join_path(here, name),
               fmt::format("'{}' would read as a register; take another name", name));
    }
  }

  void compute_unit() {
    using T = CoreTypeConfig;
    const auto able = [](const auto& type) { return computes(type.second); };
    if (std::any_of(machine_.core_types.begin(), machine_.core_types.end(), able)) return;
    refuse_combination(std::string(key_of(&Machine::core_types)),
                       fmt::format("no compute unit: no core type has a section '{}', or '{}' with types",
                                   key_of(&T::vector), key_of(&T::matrix)));
  }

  void core_type(const std::string& path, const CoreTypeConfig& core) {
    using T = CoreTypeConfig;
    if (computes(core) || !core.buffers.empty()) named(key_of(&T::buffers), core.buffers, {kGmName}, path);
    named(key_of(&T::dma), core.dma, {kScalarEngine, kVectorEngine, kMatrixEngine, kEveryEngine}, path);
    if (core.vector.present) vector_unit(at(path, &T::vector), core);
    matrix_unit(at(path, &T::matrix), core);
    paths(at(path, &T::dma), core);
    semaphores(at(path, &T::sync), core.sync);
    flag_pairs(join_path(at(path, &T::sync), key_of(&SyncConfig::flag_pairs)), core);
  }

  void semaphores(const std::string& path, const SyncConfig& sync) {
    if (sync.semaphore_initial > sync.semaphore_max)
      refuse_combination(
          at(path, &SyncConfig::semaphore_initial),
          fmt::format("{} is more than {}", sync.semaphore_initial, shown(sync, &SyncConfig::semaphore_max)));
  }

  void vector_unit(const std::string& path, const CoreTypeConfig& core) {
    using T = VectorConfig;
    const T& vector = core.vector;
    known_buffer(at(path, &T::buffer), vector.buffer, core, false);
    if (vector.register_bits % 8 != 0)
      refuse_combination(at(path, &T::register_bits),
                         fmt::format("{} is no whole number of bytes", vector.register_bits));
    if (vector.operation_bits % 8 != 0)
      refuse_combination(at(path, &T::operation_bits),
                         fmt::format("{} is no whole number of bytes", vector.operation_bits));
    vector_types(path, vector);
    if (vector.operands == isa::OperandForm::registers) register_group(path, vector);
  }

  void register_group(const std::string& path, const VectorConfig& vector) {
    using T = VectorConfig;
    multiple(path, vector, &T::operation_bits, &T::register_bits, "an operation takes whole registers");
    const unsigned group = vector.operation_bits / vector.register_bits;
    if (group > vector.registers)
      refuse_combination(at(path, &T::operation_bits),
                         fmt::format("{} takes {} registers of {}, but {}", vector.operation_bits, group,
                                     shown(vector, &T::register_bits), shown(vector, &T::registers)));
  }

  void vector_types(const std::string& path, const VectorConfig& vector) {
    using T = VectorConfig;
    const std::string here = at(path, &T::types);
    if (vector.types.empty()) refuse_combination(here, "is empty: no compute unit, name at least one type");
    isa::DTypeSet seen = 0;
    for (std::size_t i = 0; i < vector.types.size(); ++i) {
      const isa::DType type = vector.types[i];
      const std::string item = join_path(here, std::to_string(i));
      if (isa::contains(seen, type))
        refuse("duplicate-name", item, fmt::format("'{}' stands twice", isa::name(type)));
      seen = static_cast<isa::DTypeSet>(seen | isa::set_of(type));
      if (vector.operation_bits % isa::bits(type) != 0)
        refuse_combination(item,
                           fmt::format("'{}' has {} bits, and {} is no whole number of them", isa::name(type),
                                       isa::bits(type), shown(vector, &T::operation_bits)));
    }
  }

  void known_buffer(const std::string& path, const std::string& name, const CoreTypeConfig& core,
                    bool or_gm) {
    if (core.buffers.count(name) != 0 || (or_gm && name == kGmName)) return;
    std::vector<std::string> names;
    if (or_gm) names.emplace_back(kGmName);
    for (const auto& [buffer, config] : core.buffers) names.push_back(buffer);
    refuse("unknown-name", path, fmt::format("no buffer '{}'{}", name, suggestion(name, names)));
  }

  void matrix_unit(const std::string& path, const CoreTypeConfig& core) {
    using T = MatrixConfig;
    const T& matrix = core.matrix;
    if (matrix.types.empty()) return;
    std::map<std::tuple<isa::DType, isa::DType, std::int64_t>, std::string> steps;
    for (const auto& [key, type] : matrix.types) {
      const std::string here = join_path(at(path, &T::types), key);
      const auto [a, b] = matrix_types(key);
      if (a == isa::DType::none || !isa::contains(isa::kMatrixTypes, a) ||
          !isa::contains(isa::kMatrixTypes, b)) {
        refuse(
            "bad-name", here,
            fmt::format("'{}' is no pair of element types that are multiplied; write TYPE or TYPE_TYPE of {}",
                        key, isa::type_list(isa::kMatrixTypes)));
        continue;
      }
      if (isa::info(a).floating != isa::info(b).floating)
        refuse_combination(here, fmt::format("'{}' mixes floats and integers", key));
      if (matrix.kind == isa::MatrixKind::systolic && (type.m != 1 || type.n != 1))
        refuse_combination(here, "one element of the array takes one row and one column: m and n are 1");
      const std::int64_t tile_code =
          matrix.kind == isa::MatrixKind::mmul ? isa::tile_code({type.m, type.k, type.n}) : 0;
      const auto [first, fresh] = steps.emplace(std::tuple(a, b, tile_code), key);
      if (!fresh)
        refuse("duplicate-name", here,
               fmt::format("'{}' has these types{} already", first->second,
                           tile_code == 0 ? "; only mmul has several tiles of the same" : " and this tile"));
      if (matrix.kind != isa::MatrixKind::mmul) continue;
      if (core.vector.present)
        tile(here, type, a, b, core.vector);
      else
        refuse_combination(here, "mmul works on registers, and the core has no vector unit");
    }
    if (!has_matrix_engine(core)) return;
    for (const auto& [member, name] :
         {std::pair(&T::a_buffer, matrix.a_buffer), std::pair(&T::b_buffer, matrix.b_buffer),
          std::pair(&T::c_buffer, matrix.c_buffer)})
      known_buffer(at(path, member), name, core, false);
    if (!matrix.bias_buffer.empty()) known_buffer(at(path, &T::bias_buffer), matrix.bias_buffer, core, false);
    if (matrix.c_layout != OperandLayout::nd && matrix.c_layout != OperandLayout::nz)
      refuse_combination(at(path, &T::c_layout), "sums lie in nd or nz");
    if (matrix.sparsity != Sparsity::none && matrix.a_layout != OperandLayout::nd)
      refuse_combination(at(path, &T::sparsity), "packed values of A lie in rows: a_layout must be nd");
  }

  // A, B and the sums of mmul lie in registers, of which the last may be filled in part.
  void tile(const std::string& path, const MatrixTypeConfig& type, isa::DType a, isa::DType b,
            const VectorConfig& vector) {
    const unsigned parts[] = {type.m * type.k * isa::bits(a), type.k * type.n * isa::bits(b),
                              type.m * type.n * isa::bits(isa::accumulator(a))};
    for (const unsigned part : parts)
      if (part % 8 != 0)
        refuse_combination(path, fmt::format("a tile of {} bits is no whole number of bytes", part));
      else if (part > vector.registers * vector.register_bits)
        refuse_combination(path, fmt::format("a tile of {} bits does not fit {} of {}", part,
                                             shown(vector, &VectorConfig::registers),
                                             shown(vector, &VectorConfig::register_bits)));
    if (vector.operands == isa::OperandForm::ub)
      refuse_combination(path, "mmul works on registers, and the vector unit has none");
  }

  void paths(const std::string& path, const CoreTypeConfig& core) {
    for (const auto& [name, engine] : core.dma) {
      std::map<std::pair<std::string, std::string>, std::string> seen;
      const std::string list = join_path(join_path(path, name), key_of(&DmaEngineConfig::paths));
      if (engine.paths.empty()) refuse_combination(list, "is empty: an engine needs at least one path");
      if (!engine.port.empty() && !is_identifier(engine.port))
        refuse("bad-name", at(join_path(path, name), &DmaEngineConfig::port),
               fmt::format("'{}' is no name", engine.port));
      for (std::size_t i = 0; i < engine.paths.size(); ++i) {
        const DmaPathConfig& one = engine.paths[i];
        const std::string here = join_path(list, std::to_string(i));
        dma_path(here, one, core);
        const auto [first, fresh] = seen.emplace(std::pair(one.from, one.to), here);
        if (!fresh)
          refuse("duplicate-name", here,
                 fmt::format("{} > {} is a path of this engine already, see {}: a copy must know its path",
                             one.from, one.to, first->second));
      }
    }
  }

  static bool is_remote(const std::string& end) { return end.find('.') != std::string::npos; }

  // gm, a buffer, or TYPE.BUFFER.
  void path_end(const std::string& path, const std::string& end, const CoreTypeConfig& core) {
    if (!is_remote(end)) {
      known_buffer(path, end, core, true);
      return;
    }
    const auto [type, buffer] = split_remote(end);
    const auto found = machine_.core_types.find(type);
    if (found != machine_.core_types.end()) {
      known_buffer(path, buffer, found->second, false);
      return;
    }
    std::vector<std::string> names;
    for (const auto& [name, config] : machine_.core_types) names.push_back(name);
    refuse("unknown-name", path,
           fmt::format("'{}' names no core type '{}'{}", end, type, suggestion(type, names)));
  }

  void dma_path(const std::string& path, const DmaPathConfig& one, const CoreTypeConfig& core) {
    using T = DmaPathConfig;
    path_end(at(path, &T::from), one.from, core);
    path_end(at(path, &T::to), one.to, core);
    if (one.from == kGmName && one.to == kGmName)
      refuse_combination(at(path, &T::to),
                         fmt::format("both ends are {}: a path has a buffer at one end", kGmName));
    if (is_remote(one.from) && is_remote(one.to))
      refuse_combination(
          at(path, &T::to),
          fmt::format("both ends lie in other cores: one is {} or a buffer of the core itself", kGmName));
    if (one.multicast && !is_remote(one.to))
      refuse_combination(at(path, &T::multicast),
                         fmt::format("'{}' is no TYPE.BUFFER: several cores get a copy only in their own "
                                     "buffers",
                                     one.to));
    multiple(path, one, &T::request_bytes, &T::alignment, "requests are cut at multiples of their size");
    layouts(at(path, &T::layouts), one);
    post(path, one, core);
    if (one.from != kGmName && one.to != kGmName) return;
    const unsigned grant = machine_.gm.grant_bytes;
    if (one.request_bytes > grant)
      refuse_combination(
          at(path, &T::request_bytes),
          fmt::format("{} is more than {}.{} {}: a request is granted as a whole", one.request_bytes,
                      key_of(&Machine::gm), key_of(&GmConfig::grant_bytes), grant));
  }

  void post(const std::string& path, const DmaPathConfig& one, const CoreTypeConfig& core) {
    using T = DmaPathConfig;
    const std::string buffer = at(path, &T::scale_buffer);
    if (!one.scale_buffer.empty()) known_buffer(buffer, one.scale_buffer, core, false);
    if (one.post) return;
    if (!one.scale_buffer.empty())
      refuse_combination(buffer, fmt::format("is for paths with {}: true", key_of(&T::post)));
    for (std::size_t i = 0; i < one.layouts.size(); ++i)
      if (!isa::info(one.layouts[i]).plain)
        refuse_combination(
            join_path(at(path, &T::layouts), std::to_string(i)),
            fmt::format("{} is for paths with {}: true", choice_name(one.layouts[i]), key_of(&T::post)));
  }

  // Fractals lie in buffers: gm sees rows.
  void layouts(const std::string& path, const DmaPathConfig& one) {
    isa::LayoutSet seen = 0;
    for (std::size_t i = 0; i < one.layouts.size(); ++i) {
      const isa::Layout layout = one.layouts[i];
      const std::string item = join_path(path, std::to_string(i));
      if ((seen & isa::set_of(layout)) != 0)
        refuse("duplicate-name", item, fmt::format("'{}' stands twice", choice_name(layout)));
      seen = static_cast<isa::LayoutSet>(seen | isa::set_of(layout));
      const isa::LayoutInfo& row = isa::info(layout);
      const bool rows = row.nz_source || row.nz_destination;
      if ((one.to == kGmName && (!rows || row.nz_destination)) ||
          (one.from == kGmName && (!rows || row.nz_source)))
        refuse_combination(item,
                           fmt::format("{} has its fractals in a buffer, and {} > {} would have them in {}",
                                       choice_name(layout), one.from, one.to, kGmName));
    }
  }

  void flag_pairs(const std::string& path, const CoreTypeConfig& core) {
    std::vector<std::string> engines{kScalarEngine};
    if (core.vector.present) engines.emplace_back(kVectorEngine);
    for (const auto& [name, engine] : core.dma) engines.push_back(name);
    if (has_matrix_engine(core)) engines.emplace_back(kMatrixEngine);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < core.sync.flag_pairs.size(); ++i) {
      const std::string& text = core.sync.flag_pairs[i];
      const std::string here = join_path(path, std::to_string(i));
      const auto [source, destination] = split_pair(text);
      if (source.empty() || destination.empty()) {
        refuse("bad-name", here, fmt::format("'{}' is not of the form source>destination", text));
        continue;
      }
      for (const std::string& name : {source, destination})
        if (std::find(engines.begin(), engines.end(), name) == engines.end())
          refuse("unknown-name", here, fmt::format("no engine '{}'{}", name, suggestion(name, engines)));
      if (source == destination)
        refuse_combination(
            here, fmt::format("'{}': an engine orders its own work with barrier, not with a flag", text));
      if (!seen.insert(text).second) refuse("duplicate-name", here, fmt::format("'{}' stands twice", text));
    }
  }

  void device_memory() {
    using T = GmConfig;
    const T& gm = machine_.gm;
    const std::string path(key_of(&Machine::gm));
    if (gm.model != GmModel::dram) return;
    multiple(path, gm, &T::row_bytes, &T::burst_bytes, "a burst lies in one row");
    multiple(path, gm, &T::interleave_bytes, &T::burst_bytes, "a burst lies in one channel");
    const std::uint64_t least = std::uint64_t{gm.channels} * gm.row_bytes;
    if (gm.bytes < least)
      refuse_combination(at(path, &T::bytes),
                         fmt::format("{} is less than a row on each channel: {} x {} = {}", gm.bytes,
                                     shown(gm, &T::channels), shown(gm, &T::row_bytes), least));
    if (gm.t_ras_ns < gm.t_rcd_ns)
      refuse_combination(at(path, &T::t_ras_ns),
                         fmt::format("{} is shorter than {}: a row closes before it is read", gm.t_ras_ns,
                                     shown(gm, &T::t_rcd_ns)));
    refresh(path, gm);
  }

  void refresh(const std::string& path, const GmConfig& gm) {
    using T = GmConfig;
    const double at_once = gm.refresh == Refresh::per_bank ? gm.banks : 1;
    if (gm.refresh == Refresh::none || gm.t_rfc_ns * at_once < gm.t_refi_ns) return;
    const std::string turns =
        gm.refresh == Refresh::per_bank ? fmt::format(" in each of {} banks", gm.banks) : "";
    refuse_combination(at(path, &T::t_rfc_ns),
                       fmt::format("{} ns{} do not fit into {}: the memory would only refresh", gm.t_rfc_ns,
                                   turns, shown(gm, &T::t_refi_ns)));
  }

  const Machine& machine_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> validate(const Machine& machine) {
  return Validator(machine).run();
}

}  // namespace npulab::config
