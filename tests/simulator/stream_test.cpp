// SPDX-License-Identifier: Apache-2.0
// What a stream gets of the HBM of `ascend910_opsblas`, and what keeps a strided access from it.
#include <gtest/gtest.h>

#include "run_helper.hpp"

namespace npulab {
namespace {

// Every core reads its share of A in pieces, without doing anything with them.
std::string stream(const std::string& copy) {
  return ".kernel test/stream\n.param BYTES = 67108864\n.tensor A u8 [BYTES] in\n.const SHARE = BYTES / "
         "CORES\n"
         "core_id s0\nmul s1, s0, SHARE\n" +
         copy + "end\n";
}

report::Report timed(const std::string& body, const std::vector<std::string>& set = {}) {
  SimulationOptions options;
  options.timing_only = true;
  return test::run(test::machine("ascend910_opsblas", set), body, options).report;
}

const report::Memory& gm(const report::Report& report) {
  return report.memories.front();
}

std::uint64_t counter(const report::Memory& memory, const std::string& name) {
  for (const auto& [key, value] : memory.counters)
    if (key == name) return value;
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

std::uint64_t in_flight(const report::Report& report) {
  for (const report::Engine& engine : report.engines)
    if (engine.name == "mte2") return engine.cycles.stall[static_cast<std::size_t>(report::Stall::in_flight)];
  return 0;
}

const std::string kContiguous =
    stream("loop SHARE / 65536\ncopy ub[0], A[s1], 65536\nadd s1, s1, 65536\nendloop\n");
// 32 bytes of every 4096, as one column of operands after the other would be fetched.
const std::string kStrided =
    stream("loop 4\ncopy ub[0], A[s1], 32 {count=SHARE / 4096, src_pitch=4096}\nadd s1, s1, 32\nendloop\n");

TEST(Stream, IdealStreamReachesNineTenthsOfThePeak) {
  const report::Report report = timed(kContiguous);
  EXPECT_GE(gm(report).utilization, 0.9);
  EXPECT_LE(gm(report).utilization, 1.0);
  EXPECT_EQ(gm(report).read_bytes, 67108864U);
  EXPECT_EQ(counter(gm(report), "moved_bytes"), 67108864U);  // whole bursts, nothing wasted
}

TEST(Stream, StridedAccessFallsByThreeMechanismsEachReported) {
  const report::Report contiguous = timed(kContiguous);
  const report::Report strided = timed(kStrided);
  EXPECT_LT(gm(strided).utilization, 0.3);
  // 1. bursts of 64 bytes for requests of 32
  EXPECT_EQ(counter(gm(strided), "moved_bytes"), 2 * gm(strided).read_bytes);
  // 2. rows: each request opens its own
  const auto opened = [](const report::Report& r) {
    return static_cast<double>(counter(gm(r), "row_misses") + counter(gm(r), "row_conflicts")) /
           static_cast<double>(counter(gm(r), "bursts"));
  };
  EXPECT_GT(opened(strided), 5 * opened(contiguous));
  // 3. the limit of requests in flight: lifting it alone makes the run faster
  EXPECT_GT(in_flight(strided), strided.cycles);  // over 32 cores
  const report::Report lifted = timed(kStrided, {"core_types.core.dma.mte2.paths.0.in_flight=256"});
  EXPECT_LT(lifted.cycles, strided.cycles * 9 / 10);
}

TEST(Stream, RefreshAndRowsCostWhatTheyTake) {
  const std::uint64_t with = timed(kContiguous).cycles;
  EXPECT_LE(timed(kContiguous, {"gm.refresh=none"}).cycles, with);
  EXPECT_LE(timed(kContiguous, {"gm.channel_gbps=37.5"}).cycles, with);
  EXPECT_LE(timed(kContiguous, {"gm.channels=128"}).cycles, with);
}

}  // namespace
}  // namespace npulab
