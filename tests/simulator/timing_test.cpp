// SPDX-License-Identifier: Apache-2.0
// Cycle counts on `tiny` worked out by hand: each comment is the derivation.
#include <gtest/gtest.h>

#include "run_helper.hpp"

namespace npulab {
namespace {

using test::cycles_on_tiny;

// vdup starts in cycle 0, its result is ready in 1 (simple 1). The operation starts in 1 and takes its
// latency; `end` fits into the same cycle (issue width 2).
TEST(Timing, LatencyOfEachVectorClass) {
  const auto after_vdup = [](const std::string& operation) {
    return cycles_on_tiny("vdup.f16 v0, 1.0\n" + operation + "\nend\n");
  };
  EXPECT_EQ(after_vdup("vabs.f16 v1, v0"), 1U + 1U);       // simple
  EXPECT_EQ(after_vdup("vadd.f16 v1, v0, v0"), 1U + 2U);   // add
  EXPECT_EQ(after_vdup("vmul.f16 v1, v0, v0"), 1U + 3U);   // multiply
  EXPECT_EQ(after_vdup("vfma.f16 v0, v0, v0"), 1U + 4U);   // fma
  EXPECT_EQ(after_vdup("vdiv.f16 v1, v0, v0"), 1U + 8U);   // divide
  EXPECT_EQ(after_vdup("vexp.f16 v1, v0"), 1U + 10U);      // transcendental
  EXPECT_EQ(after_vdup("vcvt.i16.f16 v1, v0"), 1U + 2U);   // convert
  EXPECT_EQ(after_vdup("vrsum.f16 v1, v0"), 1U + 3U);      // reduce
  EXPECT_EQ(after_vdup("vslide.f16 v1, v0, 1"), 1U + 2U);  // permute
  EXPECT_EQ(after_vdup("vst.f16 ub[0], v0"), 1U + 1U);     // store
}

// Load 2: vst in cycle 1, ready 2; the load starts in the next cycle of its own port, which is cycle 1 too.
TEST(Timing, LoadAndDependentOperation) {
  // 0 vdup; 1 vst and (port load) vld: values in order, so the load sees the store. vadd waits for 1 + 2 = 3,
  // ends 5.
  EXPECT_EQ(
      cycles_on_tiny("vdup.f16 v0, 1.0\nvst.f16 ub[0], v0\nvld.f16 v1, ub[0]\nvadd.f16 v2, v1, v1\nend\n"),
      5U);
}

TEST(Timing, OnePortTakesOneInstructionPerCycle) {
  // 0 vdup; 1…8 eight independent vadds on the one arithmetic port; the last result 8 + 2.
  std::string body = "vdup.f16 v0, 1.0\n.for i in 1..9\nvadd.f16 v{i}, v0, v0\n.endfor\nend\n";
  EXPECT_EQ(cycles_on_tiny(body), 10U);
}

TEST(Timing, IntervalHoldsThePort) {
  // divide: interval 4, latency 8. 0 vdup; starts in 1, 5, 9; 9 + 8.
  EXPECT_EQ(cycles_on_tiny("vdup.f16 v0, 1.0\n.for i in 1..4\nvdiv.f16 v{i}, v0, v0\n.endfor\nend\n"), 17U);
}

TEST(Timing, IssueWidthTwoPairsPorts) {
  // 0 vdup + mov (scalar port), 1 vadd + mov, 2 vadd + end: 2 + 2.
  EXPECT_EQ(cycles_on_tiny(
                "vdup.f16 v0, 1.0\nmov s0, 1\nvadd.f16 v1, v0, v0\nmov s1, 2\nvadd.f16 v2, v0, v0\nend\n"),
            4U);
}

TEST(Timing, ScalarClasses) {
  // A chain of two: the second starts when the first is ready; `end` needs a slot of the scalar port after
  // it.
  EXPECT_EQ(cycles_on_tiny("mov s0, 3\nadd s1, s0, 1\nend\n"), 3U);                 // 0, 1, end 2, closed 3
  EXPECT_EQ(cycles_on_tiny("mov s0, 3\nmul s1, s0, 2\nadd s2, s1, 1\nend\n"), 5U);  // 0, 1, 1 + 2 = 3, end 4
  EXPECT_EQ(cycles_on_tiny("mov s0, 9\ndiv s1, s0, 2\nadd s2, s1, 1\nend\n"), 9U);  // 0, 1, 1 + 6 = 7, end 8
}

TEST(Timing, TakenBranchAndHardwareLoop) {
  // jmp in 0, its target in 0 + 2; end in 2, closed 3.
  EXPECT_EQ(cycles_on_tiny("jmp there\nnop\nthere:\nend\n"), 3U);
  // loop in 0, set-up 1: ten nops in 1…10 at no cost per turn; end in 11, closed 12.
  EXPECT_EQ(cycles_on_tiny("loop 10\nnop\nendloop\nend\n"), 12U);
  // count 0 skips the body: loop 0, end 1, closed 2.
  EXPECT_EQ(cycles_on_tiny("loop 0\nnop\nendloop\nend\n"), 2U);
}

const char* const kTensors = ".tensor A u8 [4096] in\n";

TEST(Timing, OneCopyFromAClosedRow) {
  // copy issued in 0, seen by the engine in 1: the request goes out at 1 ns. tRCD 10 + tCL 10 + 64 B at 8
  // B/ns 8 + way 20 = 49 ns.
  EXPECT_EQ(cycles_on_tiny(std::string(kTensors) + "copy ub[0], A[0], 64\nend\n"), 49U);
}

TEST(Timing, RowHitMissAndConflict) {
  const auto two = [](int second) {
    return cycles_on_tiny(std::string(kTensors) + "copy ub[0], A[0], 64\ncopy ub[64], A[" +
                          std::to_string(second) + "], 64\nend\n");
  };
  // The second request goes out at 9 (64 B take 8 cycles of the path). Row hit: its column command could come
  // at 9, data from 19, but the bus is taken until 1 + 10 + 10 + 8 = 29: 29 + 8 + 20.
  EXPECT_EQ(two(64), 57U);
  // Row miss in the other bank: activate at 9, data from 9 + 20 = 29: the bus is just free. No time lost.
  EXPECT_EQ(two(256), 57U);
  // Row conflict: the row was opened at 1, so it may close at 1 + tRAS 20 = 21 (its last column command went
  // out at 18):
  // + tRP 10 + tRCD 10 + tCL 10 = 51, + 8 + 20.
  EXPECT_EQ(two(512), 79U);
}

TEST(Timing, RefreshDelaysAnAccess) {
  // All banks stand still from 200 to 260 ns. loop in 0, nops in 1…207, copy in 208: its request goes out at
  // 209, its row is opened at 260: 260 + 10 + 10 + 8 + 20.
  const std::string body = std::string(kTensors) + "loop 207\nnop\nendloop\ncopy ub[0], A[0], 64\nend\n";
  const std::vector<std::string> refresh{"gm.refresh=all_bank", "gm.t_refi_ns=200", "gm.t_rfc_ns=60"};
  EXPECT_EQ(cycles_on_tiny(body), 257U);  // 209 + 48
  EXPECT_EQ(cycles_on_tiny(body, refresh), 308U);
}

TEST(Timing, WriteToReadTurnaround) {
  // Ideal order: read, write, read through two engines would race; one engine in and one out, tied by flags.
  const std::string body = std::string(kTensors) + ".tensor y u8 [64] out\n" +
                           "copy ub[0], A[0], 64\n"
                           "set_flag mte2, mte3, 0\nwait_flag mte2, mte3, 0\n"
                           "copy y[0], ub[0], 64\n"
                           "end\n";
  // Read over at 49; the flag is set one cycle later, in 50: the write goes out at 50. y lies at 4096: bank
  // 0, row 8, another row than A's: precharge at 50 (tRAS long over), activate 60, write 70, data 70 + tCL 10
  // … 88, way 20: 108.
  EXPECT_EQ(cycles_on_tiny(body), 108U);
}

// Ten tiles whose load and work take equally long overlap: eleven tile times, not twenty.
TEST(Timing, LoadAndComputeOverlap) {
  const std::string body = R"(
.tensor A u8 [10240] in
vdup.u8 v2, 0
vdup.u8 v3, 0
set_flag vector, mte2, 0
set_flag vector, mte2, 1
mov s0, 0            ; tile to load
mov s1, 0            ; buffer to load
mov s2, 0            ; buffer to work on
wait_flag vector, mte2, 0
copy ub[0], A[0], 1024
set_flag mte2, vector, 0
loop 10
  add s0, s0, 1024
  xor s1, s1, 1
  bge s0, 10240, last
  mul s3, s1, 1024
  wait_flag vector, mte2, s1
  copy ub[s3], A[s0], 1024
  set_flag mte2, vector, s1
last:
  wait_flag mte2, vector, s2
  mul s4, s2, 1024
  loop 32              ; one load a cycle; each addition takes what was loaded two cycles before
    vld.u8 v0, ub[s4] {inc=8}
    vadd.u8 v4, v2, v2
    vld.u8 v1, ub[s4] {inc=8}
    vadd.u8 v5, v3, v3
    vld.u8 v2, ub[s4] {inc=8}
    vadd.u8 v6, v0, v0
    vld.u8 v3, ub[s4] {inc=8}
    vadd.u8 v7, v1, v1
  endloop
  set_flag vector, mte2, s2
  xor s2, s2, 1
endloop
wait_flag vector, mte2, 0
wait_flag vector, mte2, 1
end
)";
  // A tile is 1024 B: 128 cycles of the path (8 B/cycle, gm 8 GB/s) and 128 cycles of the load port.
  const std::uint64_t tile = 128;
  const std::uint64_t cycles =
      cycles_on_tiny(body, {"gm.model=ideal", "gm.latency_ns=0", "gm.bandwidth_gbps=8", "gm.t_cl_ns=0"});
  EXPECT_GE(cycles, 11 * tile);
  EXPECT_LE(cycles, 12 * tile);
}

TEST(Timing, BankConflict) {
  // Four f16 elements 32 bytes apart all lie in bank 0 of 4 x 8 B: four cycles instead of one. vld starts in
  // 0, ready in 0 + 2 + 3; vadd from 5 to 7.
  const std::string fill = "vdup.f16 v0, 1.0\n.for i in 0..16\nvst.f16 ub[8*i], v0\n.endfor\n";
  const std::uint64_t without = cycles_on_tiny(fill + "vld.f16 v1, ub[0]\nvadd.f16 v2, v1, v1\nend\n");
  const std::uint64_t with =
      cycles_on_tiny(fill + "vld.f16 v1, ub[0] {stride=32}\nvadd.f16 v2, v1, v1\nend\n");
  EXPECT_EQ(with, without + 3);
  // The load port is held: a second load starts three cycles later too, and says why.
  const auto report =
      test::run(test::machine("tiny"),
                ".kernel test/bank\n" + fill + "vld.f16 v1, ub[0] {stride=32}\nvld.f16 v2, ub[0]\nend\n",
                test::one_core())
          .report;
  for (const report::Engine& engine : report.engines) {
    if (engine.name != "vector") continue;
    EXPECT_EQ(engine.cycles.stall[static_cast<std::size_t>(report::Stall::bank_conflict)], 3U);
  }
}

TEST(Timing, QueueFullStallsTheStream) {
  // Queue of 4: the engine takes the first copy in cycle 1; the sixth copy finds four waiting and stalls.
  std::string body = kTensors;
  for (int i = 0; i < 8; ++i)
    body += "copy ub[" + std::to_string(64 * i) + "], A[" + std::to_string(64 * i) + "], 64\n";
  const auto report =
      test::run(test::machine("tiny"), ".kernel test/queue\n" + body + "end\n", test::one_core()).report;
  std::uint64_t stalled = 0;
  for (const report::Engine& engine : report.engines)
    if (engine.name == "scalar")
      stalled = engine.cycles.stall[static_cast<std::size_t>(report::Stall::queue_full)];
  EXPECT_GT(stalled, 0U);
}

TEST(Timing, BarrierOfAllCores) {
  // Core 1 comes late by its loop: loop 0, nops 1…50, sync_cores 51, there at 52. Released one cycle later
  // (53); end 53, closed 54. Core 0 waits for it.
  const std::string body =
      ".kernel test/barrier\ncore_id s0\nbeq s0, 0, there\nloop 50\nnop\nendloop\nthere:\nsync_cores\nend\n";
  const auto report = test::run(test::machine("tiny"), body).report;
  // core_id 0; beq needs s0: 1, not taken; loop 2, nops 3…52, sync_cores 53, there 54, released 55, end 55,
  // closed 56.
  EXPECT_EQ(report.cycles, 56U);
}

}  // namespace
}  // namespace npulab
