// SPDX-License-Identifier: Apache-2.0
// More of anything never makes a run slower: channels, widths, ports, queues, requests in flight, shorter
// latencies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/sanitized.hpp"
#include "work_helper.hpp"

namespace npulab {
namespace {

using config::Machine;
using test::Work;

struct Knob {
  std::string name;
  std::vector<unsigned> values;  // from the worst to the best
  std::function<void(Machine&, unsigned)> turn;
};

config::CoreTypeConfig& core_of(Machine& machine) {
  return machine.core_types.begin()->second;
}

template <class Set>
std::function<void(Machine&, unsigned)> each_path(Set set) {
  return [set](Machine& machine, unsigned value) {
    for (auto& [name, engine] : core_of(machine).dma)
      for (config::DmaPathConfig& path : engine.paths) set(path, value);
  };
}

std::vector<Knob> knobs() {
  return {
      {"channel_gbps", {2, 4, 8, 16, 64}, [](Machine& m, unsigned v) { m.gm.channel_gbps = v; }},
      {"gm latency", {200, 100, 50, 20, 0}, [](Machine& m, unsigned v) { m.gm.latency_ns = v; }},
      {"channels", {1, 2, 4, 8}, [](Machine& m, unsigned v) { m.gm.channels = v; }},
      {"banks", {1, 2, 4, 16}, [](Machine& m, unsigned v) { m.gm.banks = v; }},
      {"in_flight", {1, 2, 4, 8, 32}, each_path([](config::DmaPathConfig& p, unsigned v) {
         p.in_flight = v;
       })},
      {"bytes_per_cycle", {2, 4, 8, 16, 64}, each_path([](config::DmaPathConfig& p, unsigned v) {
         p.bytes_per_cycle = v;
       })},
      {"path latency", {40, 20, 5, 0}, each_path([](config::DmaPathConfig& p, unsigned v) {
         p.latency_cycles = v;
       })},
      {"set-up", {40, 20, 5, 0}, each_path([](config::DmaPathConfig& p, unsigned v) { p.setup_cycles = v; })},
      {"interval", {40, 20, 5, 1}, each_path([](config::DmaPathConfig& p, unsigned v) {
         p.issue_interval_cycles = v;
       })},
      {"queue_depth",
       {1, 2, 4, 16},
       [](Machine& m, unsigned v) {
         for (auto& [n, e] : core_of(m).dma) e.queue_depth = v;
       }},
      {"flag latency",
       {30, 10, 2, 0},
       [](Machine& m, unsigned v) { core_of(m).sync.flag_latency_cycles = v; }},
      {"issue_width", {1, 2, 3, 4}, [](Machine& m, unsigned v) { core_of(m).vector.issue_width = v; }},
      {"load ports", {1, 2, 4}, [](Machine& m, unsigned v) { core_of(m).vector.ports.load = v; }},
      {"arithmetic ports", {1, 2, 4}, [](Machine& m, unsigned v) { core_of(m).vector.ports.arithmetic = v; }},
      {"scalar ports", {1, 2, 4}, [](Machine& m, unsigned v) { core_of(m).vector.ports.scalar = v; }},
      {"load latency", {20, 8, 3, 1}, [](Machine& m, unsigned v) { core_of(m).vector.latency.load = v; }},
      {"add latency", {20, 8, 3, 1}, [](Machine& m, unsigned v) { core_of(m).vector.latency.add = v; }},
      {"fma latency", {20, 8, 3, 1}, [](Machine& m, unsigned v) { core_of(m).vector.latency.fma = v; }},
      {"fma interval", {9, 4, 2, 1}, [](Machine& m, unsigned v) { core_of(m).vector.interval.fma = v; }},
      {"scalar latency", {9, 4, 2, 1}, [](Machine& m, unsigned v) { core_of(m).scalar.latency.op = v; }},
      {"bank ports",
       {1, 2, 4},
       [](Machine& m, unsigned v) {
         for (auto& [n, b] : core_of(m).buffers) b.bank_ports = v;
       }},
  };
}

using Change = std::function<void(Machine&)>;

void expect_monotone(const Change& base, std::uint32_t cores, double tolerance) {
  for (const Work& work : test::works()) {
    if (work.name == "gemv/f32" || work.name == "gemv/register_blocked") continue;  // like gemv/pipelined
    for (const Knob& knob : knobs()) {
      std::uint64_t worse = ~std::uint64_t{0};
      for (const unsigned value : knob.values) {
        Machine machine = test::machine(work.machine);
        base(machine);
        knob.turn(machine, value);
        SimulationOptions options;
        options.timing_only = true;
        options.cores = cores;
        const std::uint64_t cycles = test::Bench(work, machine, options).run().report.cycles;
        EXPECT_LE(static_cast<double>(cycles), static_cast<double>(worse) * (1 + tolerance))
            << work.name << " on " << work.machine << ": " << knob.name << " = " << value;
        worse = cycles;
      }
    }
  }
}

// Where nothing is shared, more is never slower, not by one cycle.
TEST(Monotone, TM_06_more_is_never_slower_where_nothing_is_shared) {
  if (test::kSanitized) GTEST_SKIP() << "hundreds of runs";
  expect_monotone(
      [](Machine& machine) {
        machine.gm.model = config::GmModel::ideal;
        machine.gm.bandwidth_gbps = 100000;
        for (auto& [name, engine] : core_of(machine).dma) engine.port.clear();
      },
      1, 0);
}

// Where cores and engines share rows of DRAM, a change of timing changes the order of their requests, and
// with it which of them find their row open: the anomaly of every in-order schedule. It is bounded.
TEST(Monotone, TM_06_more_is_hardly_ever_slower_where_rows_are_shared) {
  if (test::kSanitized) GTEST_SKIP() << "hundreds of runs";
  expect_monotone([](Machine&) {}, 0, 0.16);
}

// Bytes per nanosecond that a core gets for rows of 32 bytes, each `pitch` behind the one before.
double achieved_gbps(const Machine& machine, int pitch) {
  const std::string body = fmt::format(
      ".kernel test/rows\n.tensor A u8 [{}] in\ncopy ub[0], A[0], 32 {{count=2048, src_pitch={}, "
      "dst_pitch=0}}\nend\n",
      2048 * pitch, pitch);
  SimulationOptions options = test::one_core();
  options.timing_only = true;
  const report::Report report = test::run(machine, body, options).report;
  EXPECT_LE(report.memories[0].bandwidth_gbps, report.memories[0].peak_gbps);
  return report.memories[0].bandwidth_gbps;
}

TEST(Monotone, TM_04_no_limit_is_passed_and_scattered_rows_are_slower_than_a_stream) {
  for (const unsigned gbps : {2U, 4U, 8U}) {
    Machine machine = test::machine("tiny");
    machine.gm.channel_gbps = gbps;
    for (config::DmaPathConfig& path : core_of(machine).dma.at("mte2").paths) {
      path.in_flight = 64;
      path.bytes_per_cycle = 64;
    }
    const double stream = achieved_gbps(machine, 32);
    EXPECT_GT(stream, 0.6 * gbps);
    // Another row of the same bank with every request: tRP, tRCD, tCL and the burst each time.
    const double scattered = achieved_gbps(machine, 512);
    EXPECT_LT(scattered, 32.0 / 30);
    EXPECT_LT(scattered, stream);
  }
}

TEST(Monotone, TM_02_no_stall_for_memory_without_a_limit) {
  Machine machine = test::machine("tiny");
  machine.gm.model = config::GmModel::ideal;
  machine.gm.latency_ns = 0;
  machine.gm.bandwidth_gbps = 1e6;
  const std::string body = ".kernel test/free\n.tensor A u8 [4096] in\ncopy ub[0], A[0], 4096\nend\n";
  const report::Report report = test::run(machine, body, test::one_core()).report;
  EXPECT_EQ(report.cycles, 1U + 4096 / 8);
  for (const report::Engine& engine : report.engines) {
    if (engine.name != "mte2") continue;
    EXPECT_EQ(engine.busy_cycles, 4096U / 8);
    EXPECT_EQ(engine.cycles.accounted(), engine.busy_cycles);
  }
}

}  // namespace
}  // namespace npulab
