// SPDX-License-Identifier: Apache-2.0
// Every number of every shipped machine, a fifth more and a fifth less: something that a run gives moves, or
// the key stands in a table that says why not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/config/describe.hpp"
#include "tests/fuzz/probes.hpp"
#include "tests/fuzz/shipped.hpp"
#include "tests/sanitized.hpp"
#include "tests/simulator/run_helper.hpp"

namespace npulab {
namespace {

// Where a key stands.
struct Place {
  const config::Machine& machine;
  std::vector<std::string> parts;  // of its path

  const config::CoreTypeConfig& core() const { return machine.core_types.at(parts.at(1)); }
  const config::DmaPathConfig& path() const {
    return core().dma.at(parts.at(3)).paths.at(std::stoul(parts.at(5)));
  }
  bool through_gm() const { return path().from == "gm" || path().to == "gm"; }
};

// Keys by path, `*` for any one part of it, that no run feels, where that holds and why.
struct Still {
  std::string path;
  bool (*where)(const Place& place);
  std::string reason;
};

bool views(const Place& place) {
  return place.core().vector.operands == isa::OperandForm::ub;
}
bool no_banks_felt(const Place& place) {
  return !place.core().vector.present || place.core().vector.buffer != place.parts.at(3);
}
bool no_matrix(const Place& place) {
  return place.core().matrix.types.empty();
}
bool no_array(const Place& place) {
  return no_matrix(place) || place.core().matrix.kind != isa::MatrixKind::systolic;
}
bool no_cube(const Place& place) {
  return no_matrix(place) || place.core().matrix.kind != isa::MatrixKind::cube;
}
bool no_semaphores(const Place& place) {
  return place.core().sync.semaphores == 0;
}
bool local_path(const Place& place) {
  return !place.through_gm();
}
bool ideal(const Place& place) {
  return place.machine.gm.model == config::GmModel::ideal;
}
bool no_refresh(const Place& place) {
  return ideal(place) || place.machine.gm.refresh == config::Refresh::none;
}
double burst_ns(const config::GmConfig& gm) {
  return gm.burst_bytes / gm.channel_gbps;
}
bool nobody_copies_into(const Place& place) {
  const std::string remote = place.parts.at(1) + "." + place.parts.at(3);
  for (const auto& [type, core] : place.machine.core_types)
    for (const auto& [name, engine] : core.dma)
      for (const config::DmaPathConfig& path : engine.paths)
        if (path.to == remote) return false;
  return true;
}
bool one_request_at_most(const Place& place) {
  const auto room = [&](const std::string& name) {
    const auto buffer = place.core().buffers.find(name);
    return buffer == place.core().buffers.end() ? std::uint64_t{1} << 40U : buffer->second.bytes;
  };
  return std::min(room(place.path().from), room(place.path().to)) < place.path().request_bytes * 4 / 5;
}

bool never_granted_in_part(const Place& place) {
  for (const auto& [type, core] : place.machine.core_types)
    for (const auto& [name, engine] : core.dma)
      for (const config::DmaPathConfig& path : engine.paths)
        if ((path.from == "gm" || path.to == "gm") &&
            path.request_bytes * path.in_flight > place.machine.gm.grant_bytes)
          return false;
  return true;
}

const std::vector<Still>& stills() {
  static const std::vector<Still> kStills = [] {
    std::vector<Still> all{
        {"core_types.*.vector.max_repeat", [](const Place& p) { return !views(p); }, "only views repeat"},
        {"core_types.*.vector.registers", views, "operands are views"},
        {"core_types.*.vector.register_bits", views, "operands are views"},
        {"core_types.*.buffers.*.inputs", nobody_copies_into, "no other core copies into it"},
        {"core_types.*.dma.*.paths.*.in_flight", local_path, "requests to gm are meant"},
        {"core_types.*.dma.*.paths.*.alignment", local_path, "addresses in gm are meant"},
        {"core_types.*.dma.*.paths.*.layout_bytes_per_cycle",
         [](const Place& p) { return p.path().layouts.empty(); }, "the path has no layouts"},
        {"core_types.*.dma.*.paths.*.request_bytes", one_request_at_most, "no copy on this path is so long"},
        {"gm.bandwidth_gbps", [](const Place& p) { return !ideal(p); }, "the channels say how fast dram is"},
        {"gm.t_refi_ns", no_refresh, "no refresh"},
        {"gm.t_rfc_ns", no_refresh, "no refresh"},
        {"gm.t_ccd_ns",
         [](const Place& p) {
           return ideal(p) || std::max(1.0, p.machine.gm.t_ccd_ns * 1.2) <= burst_ns(p.machine.gm);
         },
         "a burst takes longer"},
        {"gm.t_faw_ns",
         [](const Place& p) {
           return ideal(p) || std::max(1.0, p.machine.gm.t_faw_ns * 1.2) <= 4 * p.machine.gm.t_rrd_ns;
         },
         "t_rrd_ns between four activates takes longer"},
        {"gm.interleave_bytes", [](const Place& p) { return p.machine.gm.channels == 1; }, "one channel"},
        {"gm.grant_bytes", never_granted_in_part, "no engine has more under way"},
        {"core_types.*.vector.operation_bits", views,
         "a repeat takes the interval of its class, whatever its width"},
        {"launch.stagger_cycles",
         [](const Place& p) {
           return p.machine.core_types.size() == 1 && p.machine.core_types.begin()->second.count == 1;
         },
         "one core"}};
    for (const char* const key : {"load", "store"})
      for (const char* const section : {"ports", "latency", "interval"})
        all.push_back(
            {fmt::format("core_types.*.vector.{}.{}", section, key), views, "vld and vst are for registers"});
    for (const char* const key : {"banks", "bank_bytes", "bank_ports"})
      all.push_back({fmt::format("core_types.*.buffers.*.{}", key), no_banks_felt,
                     "banks are those of the vector unit's buffer"});
    for (const char* const key : {"queue_depth", "clock_mhz", "latency_cycles"})
      all.push_back({fmt::format("core_types.*.matrix.{}", key), no_matrix, "no matrix unit"});
    for (const char* const key :
         {"rows", "columns", "a_bytes_per_cycle", "b_bytes_per_cycle", "c_bytes_per_cycle"})
      all.push_back({fmt::format("core_types.*.matrix.{}", key), no_array, "no systolic array"});
    for (const char* const key : {"startup_cycles", "accumulate_cycles"})
      all.push_back({fmt::format("core_types.*.matrix.{}", key), no_cube, "no cube"});
    for (const char* const key :
         {"semaphores", "semaphore_max", "semaphore_initial", "semaphore_latency_cycles"})
      all.push_back({fmt::format("core_types.*.sync.{}", key), no_semaphores, "no semaphores"});
    for (const char* const key :
         {"channels", "channel_gbps", "banks", "row_bytes", "burst_bytes", "interleave_bytes", "t_rcd_ns",
          "t_rp_ns", "t_cl_ns", "t_ras_ns", "t_rrd_ns", "t_wtr_ns", "t_rtw_ns", "t_wr_ns"})
      all.push_back({fmt::format("gm.{}", key), ideal, "an ideal memory has neither channels nor banks"});
    return all;
  }();
  return kStills;
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool matches(const std::string& pattern, const std::string& text) {
  const std::vector<std::string> wanted = parts_of(pattern);
  const std::vector<std::string> given = parts_of(text);
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != "*" && wanted[i] != given[i]) return false;
  return true;
}

struct Number {
  std::string path;
  nlohmann::ordered_json value;
};

void numbers_in(const nlohmann::ordered_json& json, const std::string& path, std::vector<Number>& found) {
  if (json.is_number()) found.push_back({path, json});
  std::size_t index = 0;
  if (json.is_array())
    for (const auto& item : json) numbers_in(item, fmt::format("{}.{}", path, index++), found);
  if (json.is_object())
    for (const auto& [key, item] : json.items())
      numbers_in(item, path.empty() ? key : path + "." + key, found);
}

// The number times `factor`; a step of 1 where that is no step.
std::string changed(const nlohmann::ordered_json& value, double factor) {
  if (value.is_number_integer()) {
    const auto old = value.get<std::int64_t>();
    const auto by = static_cast<std::int64_t>(static_cast<double>(old) * (factor - 1));
    return fmt::format("{}", old + (by != 0 ? by : factor > 1 ? 1 : -1));
  }
  const double old = value.get<double>();
  return fmt::format("{:.6f}", old == 0 ? std::max(0.0, factor > 1 ? 1.0 : 0.0) : old * factor);
}

// What a run of the probe gives: all of its report that is not an echo of the machine, or its refusal.
std::string answer(const config::Machine& machine, const test::Probe& probe) {
  SimulationOptions options;
  options.cores = probe.cores;
  options.timing_only = probe.timing_only;
  options.max_cycles = 2'000'000;
  try {
    const isa::Target target = config::make_target(machine);
    isa::AssembleOptions others;
    others.other_core_types = config::other_targets(machine, target);
    Simulation simulation(machine, isa::assemble({"probe.npu", probe.text}, target, {}, others), options);
    std::vector<std::vector<std::byte>> inputs;
    for (const isa::Tensor& tensor : simulation.kernel().header.tensors) {
      if (probe.timing_only) break;
      std::vector<std::byte>& bytes = inputs.emplace_back(static_cast<std::size_t>(tensor.elements()));
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 97);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
      simulation.set_input(simulation.kernel().header.tensors[i].name, inputs[i]);
    nlohmann::ordered_json json = report::to_json(simulation.run(), false);
    json.erase("resolved_machine");
    json.erase("kernel_hash");
    return json.dump();
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
}

class Sensitivity : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    base_ = test::machine(GetParam());
    probes_ = test::probes(base_);
    for (const test::Probe& probe : probes_) usual_.push_back(answer(base_, probe));
    for (std::size_t i = 0; i < probes_.size(); ++i)
      ASSERT_EQ(usual_[i].front(), '{') << probes_[i].name << ": " << usual_[i] << "\n" << probes_[i].text;
  }

  // `crowds`: with the last probe, too, which takes longest.
  // Whether some probe feels it; nothing when the loader refuses the value.
  std::optional<bool> felt(const Number& number, double factor, bool crowds = true) const {
    try {
      const config::Machine machine =
          test::machine(GetParam(), {number.path + "=" + changed(number.value, factor)});
      // The probe that felt the last number first: neighbours are felt alike.
      for (std::size_t n = 0; n < probes_.size(); ++n) {
        const std::size_t i = (last_ + n) % probes_.size();
        if ((!crowds && i + 1 == probes_.size()) || answer(machine, probes_[i]) == usual_[i]) continue;
        last_ = i;
        return true;
      }
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::input) << number.path;
      return std::nullopt;
    }
  }

  // A fifth more, a fifth less; twice and half as much where neither is legal. True when no change is legal
  // at all.
  bool moves(const Number& number) const {
    bool legal = false;
    for (const auto& [more, less] : {std::pair{1.2, 0.8}, {2.0, 0.5}}) {
      for (const double factor : {more, less}) {
        const std::optional<bool> one = felt(number, factor);
        if (one.value_or(false)) return true;
        legal = legal || one.has_value();
      }
      if (legal) return false;
    }
    return true;
  }

  config::Machine base_;
  std::vector<test::Probe> probes_;
  std::vector<std::string> usual_;
  mutable std::size_t last_ = 0;
};

TEST_P(Sensitivity, every_number_moves_something_or_says_why_not) {
  std::vector<Number> numbers;
  numbers_in(config::to_json(base_), "", numbers);
  EXPECT_GT(numbers.size(), 50U);
  for (const Number& number : numbers) {
    const Place place{base_, parts_of(number.path)};
    const auto still = std::find_if(stills().begin(), stills().end(), [&](const Still& one) {
      return matches(one.path, number.path) && one.where(place);
    });
    if (still == stills().end())
      EXPECT_TRUE(moves(number)) << number.path << " (" << number.value << ") moves nothing";
    else
      EXPECT_FALSE(felt(number, 1.2, place.parts.front() == "gm").value_or(false))
          << number.path << " moves, but the table says: " << still->reason;
  }
}

// Rows of the table that no shipped machine has a key for.
TEST(SensitivityTable, every_row_is_about_some_key) {
  for (const Still& one : stills()) {
    bool used = false;
    for (const test::ShippedMachine& shipped : test::shipped().machines) {
      std::vector<Number> numbers;
      numbers_in(config::to_json(shipped.machine), "", numbers);
      for (const Number& number : numbers)
        used =
            used || (matches(one.path, number.path) && one.where({shipped.machine, parts_of(number.path)}));
    }
    EXPECT_TRUE(used) << one.path << ": " << one.reason;
  }
}

// Whether copies have to say which engine does them, which the probes do not.
bool copies_name_engines(const config::Machine& machine) {
  const std::vector<isa::CopyPath> paths = config::make_target(machine).paths;
  for (const isa::CopyPath& one : paths)
    for (const isa::CopyPath& other : paths)
      if (one.engine != other.engine && one.from == other.from && one.to == other.to) return true;
  return false;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const test::ShippedMachine& one : test::shipped().machines)
    if ((!test::kSanitized || one.machine.name == "tiny") && !copies_name_engines(one.machine))
      names.push_back(one.machine.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Machines, Sensitivity, testing::ValuesIn(machine_names()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace npulab
