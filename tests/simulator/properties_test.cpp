// SPDX-License-Identifier: Apache-2.0
// What holds for every kernel on every machine: the same run is the same report however it is run, and
// figures agree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "work_helper.hpp"

namespace npulab {
namespace {

using test::Bench;
using test::run_work;
using test::text_of;
using test::Work;
using test::works;

std::string label(const Work& work) {
  return work.name + " on " + work.machine;
}

TEST(Properties, No_findings_and_figures_in_range) {
  for (const Work& work : works()) {
    const report::Report report = run_work(work).report;
    EXPECT_TRUE(report.diagnostics.empty()) << label(work) << ": " << report.diagnostics.front().message;
    EXPECT_GE(report.time_us, report.bound.lower_bound_us) << label(work);
    for (const report::Engine& engine : report.engines) {
      EXPECT_LE(engine.utilization, 1) << label(work);
      EXPECT_EQ(engine.cycles.accounted() + engine.idle_cycles, report.cycles * engine.instances)
          << label(work);
    }
    for (const report::Memory& memory : report.memories) {
      EXPECT_GE(memory.utilization, 0) << label(work);
      EXPECT_LE(memory.utilization, 1) << label(work);
    }
  }
}

TEST(Properties, Timing_only_takes_the_same_cycles) {
  for (const Work& work : works()) {
    SimulationOptions bare;
    bare.timing_only = true;
    EXPECT_EQ(text_of(run_work(work, bare).report), text_of(run_work(work).report)) << label(work);
  }
}

TEST(Properties, The_block_cache_changes_nothing) {
  for (const Work& work : works()) {
    SimulationOptions without;
    without.block_cache = false;
    const test::Run with_cache = run_work(work);
    const test::Run interpreted = run_work(work, without);
    EXPECT_EQ(text_of(interpreted.report), text_of(with_cache.report)) << label(work);
    EXPECT_EQ(interpreted.outputs, with_cache.outputs) << label(work);
  }
}

TEST(Properties, DE_01_the_order_of_construction_changes_nothing) {
  for (Work work : works()) {
    config::Machine machine = test::machine(work.machine);
    machine.core_types.begin()->second.count = 4;
    const std::string usual = text_of(Bench(work, machine).run().report);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SimulationOptions shuffled;
      shuffled.construction_seed = seed;
      EXPECT_EQ(text_of(Bench(work, machine, shuffled).run().report), usual)
          << label(work) << ", seed " << seed;
    }
  }
}

TEST(Properties, DE_01_twenty_runs_are_one) {
  for (const Work& work : works()) {
    Bench again(work, test::machine(work.machine));
    const std::string first = text_of(run_work(work).report);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(text_of(run_work(work).report), first) << label(work);  // a fresh one
      EXPECT_EQ(text_of(again.run().report), first) << label(work);     // the same one
    }
  }
}

TEST(Properties, DE_05_the_number_of_cores_changes_no_value) {
  for (const Work& work : works()) {
    if (work.name == "streams" || work.name == "rows") continue;  // each core has its own part
    config::Machine machine = test::machine(work.machine);
    machine.core_types.begin()->second.count = 8;
    std::map<std::string, std::vector<std::byte>> first;
    for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 8U}) {
      SimulationOptions options;
      options.cores = cores;
      const test::Run run = Bench(work, machine, options).run();
      if (first.empty()) first = run.outputs;
      EXPECT_EQ(run.outputs, first) << label(work) << ", " << cores << " cores";
    }
  }
}

TEST(Properties, Warm_up_runs_are_not_part_of_the_report) {
  for (const Work& work : works()) {
    SimulationOptions warm;
    warm.warmup = 3;
    const report::Report once = run_work(work).report;
    const report::Report fourth = run_work(work, warm).report;
    EXPECT_EQ(fourth.instructions, once.instructions) << label(work);
    EXPECT_EQ(fourth.flops, once.flops) << label(work);
    EXPECT_EQ(fourth.memories[0].read_bytes, once.memories[0].read_bytes) << label(work);
    // A clock whose period is no whole number of ps starts the fourth run elsewhere between two ps.
    const bool whole = work.machine != "edge" && work.machine != "ascend910_opsblas";
    if (whole) {
      EXPECT_EQ(text_of(fourth), text_of(once)) << label(work);
    }
    EXPECT_NEAR(static_cast<double>(fourth.cycles), static_cast<double>(once.cycles), whole ? 0 : 3)
        << label(work);
  }
  // Findings are those of one run, too.
  SimulationOptions warm = test::one_core();
  warm.warmup = 2;
  const auto report =
      test::run(test::machine("tiny"), ".kernel test/warm\nloop 5\nvld.u8 v0, ub[0]\nendloop\nend\n", warm)
          .report;
  ASSERT_EQ(report.diagnostics.size(), 1U);
  EXPECT_EQ(report.diagnostics[0].count, 5U);
}

TEST(Properties, Two_simulations_in_turn_do_not_meet) {
  for (const Work& work : works()) {
    const std::string alone = text_of(run_work(work).report);
    Bench one(work, test::machine(work.machine));
    const Work other_work{"gemv/naive", "tiny", {{"M", 9}, {"K", 31}}};
    Bench other(other_work, test::machine("tiny"));
    const std::string other_alone = text_of(other.run().report);
    EXPECT_EQ(text_of(one.run().report), alone);
    EXPECT_EQ(text_of(other.run().report), other_alone);
    EXPECT_EQ(text_of(one.run().report), alone);
  }
}

TEST(Properties, A_simulation_inside_another_does_not_meet_it) {
  const Work inner{"gemv/naive", "tiny", {{"M", 9}, {"K", 31}}};
  const std::string inner_alone = text_of(run_work(inner).report);
  const std::string body =
      ".kernel test/outer\n.tensor A u8 [64] in\nloop 40000\nnop\nnop\nendloop\ncopy ub[0], A[0], 64\nend\n";
  const std::string alone = text_of(test::run(test::machine("tiny"), body).report);
  SimulationOptions options;
  int calls = 0;
  options.progress = [&](std::uint64_t, double) {
    ++calls;
    EXPECT_EQ(text_of(run_work(inner).report), inner_alone);
  };
  EXPECT_EQ(text_of(test::run(test::machine("tiny"), body, options).report), alone);
  EXPECT_GT(calls, 0);
}

TEST(Properties, IS_05_a_run_that_ends_in_an_exception_spoils_nothing) {
  // Blocks run before the exception, whose cached timings are counted in the run that follows, if at all.
  const std::string body =
      ".kernel test/broken\n.tensor A u8 [64] in\n.tensor y u8 [64] out\nvdup.u8 v0, 1\n"
      "loop 40000\nmov s1, 1\nadd s2, s1, s1\nvadd.u8 v1, v0, v0\nendloop\nvst.u8 ub[0], v1\n"
      "set_flag vector, mte3, 0\nwait_flag vector, mte3, 0\ncopy y[0], ub[0], 8\nend\n";
  const std::string alone = text_of(test::run(test::machine("tiny"), body).report);
  bool fail = true;
  SimulationOptions options;
  options.progress = [&fail](std::uint64_t, double) {
    if (fail) throw std::runtime_error("stopped by the user");
  };
  const config::Machine machine = test::machine("tiny");
  Simulation simulation(machine, test::assemble(body, machine), options);
  const std::vector<std::byte> a(64);
  simulation.set_input("A", a);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(simulation.run(), std::runtime_error);
  fail = false;
  EXPECT_EQ(text_of(simulation.run()), alone);
  // Refusals and stalls of other simulations leave the process as it was.
  for (const char* const bad :
       {"wait_flag mte2, vector, 0\nend\n", "mov s1, -1\nlds.u8 s0, ub[s1]\nend\n", "assert 1, 2\nend\n"})
    EXPECT_THROW(test::run(machine, std::string(".kernel test/bad\n") + bad), Error);
  EXPECT_EQ(text_of(simulation.run()), alone);
}

TEST(Properties, TM_01_figures_agree_on_many_machines) {
  // self_check() throws where they do not: odd widths, depths, latencies and clocks.
  std::uint64_t state = 12345;
  const auto pick = [&state](std::uint64_t least, std::uint64_t most) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>(least + (state >> 33U) % (most - least + 1));
  };
  for (int i = 0; i < 40; ++i) {
    for (const char* const name : {"tiny", "edge"}) {
      config::Machine machine = test::machine(name);
      config::CoreTypeConfig& core = machine.core_types.begin()->second;
      core.count = pick(1, 5);
      core.clock_mhz = pick(100, 3000) + pick(0, 999) / 1000.0;
      core.vector.issue_width = pick(1, 4);
      core.vector.latency.load = pick(1, 30);
      core.vector.latency.add = pick(1, 30);
      core.vector.interval.add = pick(1, 9);
      core.sync.flag_latency_cycles = pick(0, 40);
      core.sync.barrier_latency_cycles = pick(0, 40);
      for (auto& [engine_name, engine] : core.dma) {
        engine.queue_depth = pick(1, 6);
        for (config::DmaPathConfig& path : engine.paths) {
          path.bytes_per_cycle = pick(1, 70);
          path.latency_cycles = pick(0, 50);
          path.setup_cycles = pick(0, 30);
          path.issue_interval_cycles = pick(1, 40);
          path.in_flight = pick(1, 9);
        }
      }
      machine.gm.latency_ns = pick(0, 100);
      machine.gm.channels = pick(1, 5);
      machine.launch.stagger_cycles = pick(0, 20);
      for (const char* const kernel : {"streams", "rows", "gemv/pipelined"}) {
        Work work{kernel, name, {}};
        if (work.name == "gemv/pipelined") work.params = {{"M", 13}, {"K", 41}, {"Bm", 3}};
        SimulationOptions one;
        one.cores = std::min(core.count, 4U);  // the data of four
        SimulationOptions other = one;
        other.block_cache = false;
        other.timing_only = true;
        std::string first;
        ASSERT_NO_THROW(first = text_of(Bench(work, machine, one).run().report)) << label(work) << " " << i;
        EXPECT_EQ(text_of(Bench(work, machine, other).run().report), first) << label(work) << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace npulab
