// SPDX-License-Identifier: Apache-2.0
// Random programs: values are those of a plain interpreter, times do not depend on how they are worked out,
// and nothing that a program does is npulab's own fault.
#include <gtest/gtest.h>

#include "random_program.hpp"
#include "run_helper.hpp"

namespace npulab {
namespace {

using test::Bytes;

struct Outcome {
  std::string error;  // code and message, empty for none
  Category category = Category::verdict;
  std::string report;
  std::uint64_t cycles = 0;
  bool findings = false;
  Bytes y;
};

Outcome outcome(const config::Machine& machine, const std::string& text, SimulationOptions options,
                const std::map<std::string, Bytes>& inputs) {
  Outcome result;
  options.cores = test::kCores;
  options.max_cycles = 10'000'000;
  try {
    test::Run run = test::run(machine, text, std::move(options), inputs);
    result.report = report::to_json(run.report, false).dump(1);
    result.cycles = run.report.cycles;
    result.findings = !run.report.diagnostics.empty();
    result.y = run.outputs.at("y");
  } catch (const Error& error) {
    result.error = error.code() + ": " + error.what();
    result.category = error.category();
  }
  return result;
}

Bytes interpreted(const test::RandomProgram& program, unsigned width,
                  const std::map<std::string, Bytes>& inputs) {
  Bytes y = inputs.at("y");
  for (int id = 0; id < test::kCores; ++id) {
    test::PlainCore core;
    core.s[1] = id * test::kPart;
    core.v.assign(std::size_t{width} * 16, std::byte{0});
    core.ub.assign(4096, std::byte{0});
    core.a = &inputs.at("A");
    core.y = &y;
    program.meaning(core);
  }
  return y;
}

std::vector<config::Machine> machines() {
  std::vector<config::Machine> all{test::machine("tiny"), test::machine("edge"), test::machine("tiny_ub")};
  all[2].core_types.begin()->second.buffers.at("ub").alignment = 32;
  all.push_back(
      test::machine("tiny", {"core_types.core.vector.queue_depth=3", "core_types.core.dma.mte2.queue_depth=1",
                             "core_types.core.sync.flag_latency_cycles=9", "gm.latency_ns=3"}));
  all.push_back(test::machine(
      "edge", {"core_types.core.vector.issue_width=1", "core_types.core.sync.flag_latency_cycles=0",
               "core_types.core.dma.mte3.queue_depth=1", "gm.model=ideal"}));
  return all;
}

TEST(FuzzRun, Random_programs_on_several_machines) {
  const std::vector<config::Machine> all = machines();
  std::size_t compared = 0;
  std::size_t stalls = 0;
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const config::Machine& machine = all[seed % all.size()];
    test::ProgramWriter writer(machine.core_types.begin()->second, seed);
    const test::RandomProgram program = writer.write();
    std::mt19937_64 random(seed);
    std::map<std::string, Bytes> inputs{{"A", Bytes(test::kPart)}, {"y", Bytes(test::kPart * test::kCores)}};
    for (auto& [name, bytes] : inputs)
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xffU);
    SCOPED_TRACE(fmt::format("seed {} on {}\n{}", seed, machine.name, program.text));

    const Outcome usual = outcome(machine, program.text, {}, inputs);
    ASSERT_NE(usual.category, Category::internal) << usual.error;
    ASSERT_NE(usual.category, Category::input) << usual.error;
    SimulationOptions other;
    other.block_cache = false;
    other.construction_seed = seed;
    const Outcome interpreted_time = outcome(machine, program.text, other, inputs);
    ASSERT_EQ(interpreted_time.error, usual.error);
    ASSERT_EQ(interpreted_time.report, usual.report);
    ASSERT_EQ(interpreted_time.y, usual.y);
    if (!program.values_steer && usual.error.empty()) {
      SimulationOptions bare;
      bare.timing_only = true;
      ASSERT_EQ(outcome(machine, program.text, bare, inputs).cycles, usual.cycles);
    }
    if (program.sound) {
      ASSERT_TRUE(usual.error.empty()) << usual.error;
      ASSERT_FALSE(usual.findings) << usual.report;
      ASSERT_EQ(usual.y, interpreted(program, writer.width(), inputs));
      ++compared;
    }
    stalls += usual.category == Category::stall ? 1 : 0;
    found += usual.findings ? 1 : 0;
  }
  // All kinds come about.
  EXPECT_GT(compared, 800U);
  EXPECT_GT(stalls, 20U);
  EXPECT_GT(found, 20U);
}

}  // namespace
}  // namespace npulab
