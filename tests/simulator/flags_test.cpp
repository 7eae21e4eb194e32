// SPDX-License-Identifier: Apache-2.0
// Synchronisation that works, that hangs and that is wrong: what the run does, says and never prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "run_helper.hpp"
#include "tests/sanitized.hpp"

namespace npulab {
namespace {

const std::string kTensors = ".kernel test/flags\n.tensor A u8 [4096] in\n.tensor y u8 [4096] inout\n";

test::Run run(const std::string& body, SimulationOptions options = test::one_core(),
              const std::vector<std::string>& set = {}, const std::string& machine = "tiny") {
  return test::run(test::machine(machine, set), kTensors + body, std::move(options));
}

struct Outcome {
  std::optional<Error> error;
  report::Report report;

  bool stalled() const { return error && error->category() == Category::stall; }
  std::string text() const { return error ? error->code() + ": " + error->what() : "none"; }
  bool says(const std::string& part) const { return text().find(part) != std::string::npos; }
  // "code:line" of each finding.
  std::vector<std::string> findings() const {
    std::vector<std::string> all;
    for (const report::Diagnostic& d : report.diagnostics)
      all.push_back(d.code + d.where.substr(d.where.find(':')));
    return all;
  }
};

Outcome outcome(const std::string& body, SimulationOptions options = test::one_core(),
                const std::vector<std::string>& set = {}, const std::string& machine = "tiny") {
  Outcome result;
  try {
    result.report = run(body, std::move(options), set, machine).report;
  } catch (const Error& error) {
    result.error = error;
  }
  return result;
}

using Findings = std::vector<std::string>;

TEST(Flags, SY_01_wait_for_what_the_end_of_the_turn_sets) {
  const std::string loop =
      "loop 3\nwait_flag vector, mte2, 0\ncopy ub[0], A[0], 64\nset_flag mte2, vector, 0\nwait_flag mte2, "
      "vector, 0\n"
      "set_flag vector, mte2, 0\nendloop\n";
  const Outcome hangs = outcome(loop + "end\n");
  ASSERT_TRUE(hangs.stalled()) << hangs.text();
  EXPECT_TRUE(hangs.says(
      "front end: test.npu:8: waits for flag mte2>vector id 0, which nothing has ever set; set_flag stands "
      "at test.npu:7"))
      << hangs.text();
  EXPECT_TRUE(hangs.says(
      "mte2: test.npu:5: waits for flag vector>mte2 id 0, which nothing has ever set; set_flag stands at "
      "test.npu:9"))
      << hangs.text();
  EXPECT_EQ(hangs.error->where().line, 8);
  EXPECT_EQ(outcome("set_flag vector, mte2, 0\n" + loop + "wait_flag vector, mte2, 0\nend\n").findings(),
            Findings{});
}

TEST(Flags, SY_03_ids_beyond_the_machine) {
  EXPECT_TRUE(outcome("set_flag mte2, vector, 8\nend\n").says("flag id 8"));
  for (const char* const id : {"8", "-1", "0x100000000"}) {
    const Outcome late = outcome(fmt::format("mov s1, {}\nnop\nset_flag mte2, vector, s1\nend\n", id));
    ASSERT_TRUE(late.error) << id;
    EXPECT_EQ(late.error->category(), Category::verdict);
    EXPECT_EQ(late.error->code(), "flag-id");
    EXPECT_EQ(late.error->where().line, 6);
  }
}

TEST(Flags, SY_05_barrier_on_one_path_only) {
  const auto with = [](int taken) {
    return outcome(fmt::format(
        "copy ub[0], A[0], 64\nmov s0, {}\nbeq s0, 0, go_on\nbarrier all\ngo_on:\nvld.u8 v0, ub[0]\nend\n",
        taken));
  };
  EXPECT_EQ(with(1).findings(), Findings{});
  EXPECT_EQ(with(0).findings(), Findings{"uninitialised-read:9"});
}

TEST(Flags, SY_08_flags_that_count_allow_the_depth_and_no_more) {
  const std::string set = "set_flag vector, mte2, 0\n";
  const std::string wait = "wait_flag vector, mte2, 0\ncopy ub[0], A[0], 8\n";
  const std::string later = "loop 20\nnop\nendloop\n";
  const std::vector<std::string> two{"core_types.core.sync.flag_max=2"};
  EXPECT_EQ(outcome(set + set + later + wait + wait + set + wait + "end\n", test::one_core(), two).findings(),
            Findings{});
  EXPECT_EQ(outcome(set + set + set + later + wait + wait + wait + "end\n", test::one_core(), two).findings(),
            Findings{"flag-overflow:6"});
  EXPECT_EQ(outcome(set + set + later + wait + wait + "end\n").findings(), Findings{"flag-overflow:5"});
}

TEST(Flags, SY_09_a_slot_that_is_never_given_back) {
  // Two turns over one slot: the second waits for a release that nobody sends.
  const Outcome hangs = outcome(
      "set_flag vector, mte2, 0\nloop 2\nwait_flag vector, mte2, 0\ncopy ub[0], A[0], 64\nset_flag mte2, "
      "vector, 0\n"
      "wait_flag mte2, vector, 0\nendloop\nend\n");
  ASSERT_TRUE(hangs.stalled()) << hangs.text();
  EXPECT_TRUE(hangs.says(
      "mte2: test.npu:6: waits for flag vector>mte2 id 0, which was last set at test.npu:4 and taken since"))
      << hangs.text();
}

TEST(Flags, SY_10_wait_that_nobody_serves) {
  const Outcome hangs = outcome("nop\nwait_flag mte2, vector, 3\nend\n");
  ASSERT_TRUE(hangs.stalled()) << hangs.text();
  EXPECT_TRUE(hangs.says("test.npu:5: waits for flag mte2>vector id 3, which nothing has ever set"))
      << hangs.text();
  EXPECT_FALSE(hangs.says("stands at"));
  const Outcome queued = outcome("wait_flag mte3, mte2, 3\nend\n");
  ASSERT_TRUE(queued.stalled());
  EXPECT_TRUE(queued.says("mte2: test.npu:4: waits for flag mte3>mte2 id 3")) << queued.text();
}

TEST(Flags, SY_11_barrier_of_all_cores_without_one) {
  const Outcome hangs = outcome("core_id s0\nbeq s0, 1, skip\nsync_cores\nskip:\nend\n", {});
  ASSERT_TRUE(hangs.stalled()) << hangs.text();
  EXPECT_TRUE(hangs.says("1 of 2 cores have arrived at sync_cores")) << hangs.text();
  EXPECT_TRUE(hangs.says("core 0 front end: test.npu:6: waits at sync_cores")) << hangs.text();
  // 47 of 48, as it was reported; and all of them.
  const std::vector<std::string> many{"core_types.core.count=48"};
  EXPECT_TRUE(outcome("core_id s0\nbeq s0, 17, skip\nsync_cores\nskip:\nend\n", {}, many).says("47 of 48"));
  EXPECT_FALSE(outcome("sync_cores\nsync_cores\nend\n", {}, many).error);
}

// Fetch, work, bring back, twice, with a flag for every dependence.
std::vector<std::string> pipeline() {
  return {"set_flag vector, mte2, 0",
          "set_flag mte3, vector, 0",
          "mov s1, 0",
          "loop 2",
          "wait_flag vector, mte2, 0",
          "copy ub[0], A[s1], 64",
          "set_flag mte2, vector, 0",
          "wait_flag mte2, vector, 0",
          "wait_flag mte3, vector, 0",
          "vld.u8 v0, ub[0]",
          "vst.u8 ub[64], v0",
          "set_flag vector, mte2, 0",
          "set_flag vector, mte3, 0",
          "wait_flag vector, mte3, 0",
          "copy y[s1], ub[64], 8",
          "set_flag mte3, vector, 0",
          "add s1, s1, 64",
          "endloop",
          "wait_flag vector, mte2, 0",
          "wait_flag mte3, vector, 0",
          "end"};
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Flags, SY_13_any_signal_or_wait_left_out_is_never_a_time) {
  ASSERT_EQ(outcome(joined(pipeline())).findings(), Findings{});
  for (std::size_t i = 0; i < pipeline().size(); ++i) {
    std::vector<std::string> lines = pipeline();
    const bool set = lines[i].starts_with("set_flag");
    if (!set && !lines[i].starts_with("wait_flag")) continue;
    const std::string left_out = lines[i];
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    const Outcome result = outcome(joined(lines));
    if (set) {
      EXPECT_TRUE(result.stalled()) << i << ": " << left_out << " -> " << result.text();
      EXPECT_TRUE(result.says("nothing can go on: 1 of 1 cores")) << result.text();
    } else {
      EXPECT_FALSE(result.error) << i << ": " << left_out << " -> " << result.text();
      EXPECT_FALSE(result.findings().empty()) << i << ": " << left_out;
    }
  }
}

TEST(Flags, SY_15_a_slow_host_is_no_stall) {
  const std::string body = "loop 100000\nloop 10\nnop\nnop\nendloop\nendloop\nend\n";
  const std::uint64_t cycles = run(body).report.cycles;
  SimulationOptions slow = test::one_core();
  int calls = 0;
  slow.progress = [&calls](std::uint64_t, double) {
    if (++calls <= 10) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_EQ(run(body, slow).report.cycles, cycles);
  EXPECT_GT(calls, 5);
}

TEST(Flags, SY_15_a_long_counted_loop_is_no_stall_and_an_endless_one_is) {
  if (test::kSanitized) GTEST_SKIP() << "hundreds of millions of instructions";
  std::string turn;
  for (int i = 0; i < 32; ++i) turn += "mov s1, 1\n";
  const Outcome counted = outcome("loop 10000000\n" + turn + "endloop\nend\n");
  EXPECT_FALSE(counted.error) << counted.text();
  EXPECT_EQ(counted.report.instructions, 320000002U);
  const auto begin = std::chrono::steady_clock::now();
  for (const char* const body :
       {"again:\njmp again\nend\n", "mov s1, 0\nagain:\nadd s1, s1, 1\nbge s1, 0, again\nend\n"}) {
    const Outcome endless = outcome(body);
    ASSERT_TRUE(endless.stalled()) << endless.text();
    EXPECT_EQ(endless.error->code(), "endless-stream");
    EXPECT_GT(endless.error->where().line, 3);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(Flags, SY_16_memory_holds_poison_and_flags_are_clear) {
  SimulationOptions off = test::one_core();
  off.sanitize = SanitizeLevel::off;
  const test::Run quiet = test::run(
      test::machine("tiny"),
      ".kernel test/poison\n.tensor y u8 [64] out\nlds.i32 s1, ub[0]\nassert s1, 0xffffffffa5a5a5a5\nend\n",
      off);
  for (const std::byte byte : quiet.outputs.at("y")) ASSERT_EQ(byte, std::byte{0xa5});
  EXPECT_TRUE(outcome("wait_flag mte2, vector, 0\nend\n").stalled());
}

TEST(Flags, SY_21_one_engine_in_order_raises_no_alarm) {
  const std::string there_and_back =
      "copy l1[0], A[0], 64\ncopy ub[0], l1[0], 64\ncopy ub[64], A[64], 64\nset_flag mte2, mte3, "
      "0\nwait_flag mte2, mte3, 0\n"
      "copy y[0], ub[0], 128\nend\n";
  const test::Run copies = run(there_and_back);
  EXPECT_TRUE(copies.report.diagnostics.empty());
  for (std::size_t i = 0; i < 128; ++i) ASSERT_EQ(copies.outputs.at("y")[i], static_cast<std::byte>(i % 97));
  EXPECT_EQ(
      outcome("vdup.u8 v0, 7\nvst.u8 ub[0], v0\nvld.u8 v1, ub[0]\nvst.u8 ub[0], v1\nvst.u8 ub[0], v0\nend\n")
          .findings(),
      Findings{});
  // Across engines the same is a race.
  EXPECT_EQ(outcome("copy ub[0], A[0], 64\ncopy y[0], ub[0], 64\nend\n").findings(), Findings{"race:5"});
}

TEST(Flags, Double_set_is_found_whichever_is_told_first) {
  // Both sets are told before the waits: the source's stream runs ahead of mte2, which is busy until 49.
  EXPECT_EQ(outcome("copy ub[0], A[0], 64\nbarrier mte2\nset_flag vector, mte2, 0\nset_flag vector, mte2, 0\n"
                    "wait_flag vector, mte2, 0\nwait_flag vector, mte2, 0\nend\n")
                .findings(),
            Findings{"flag-overflow:7"});
  // The first wait is told before the second set, which happens earlier: the stream waits in cycle 1000.
  EXPECT_EQ(
      outcome("vdup.u8 v0, 1\nvst.u8 ub[0], v0\nset_flag vector, mte3, 0\nwait_flag vector, mte3, 0\n"
              "copy y[0], ub[0], 8\nset_flag mte3, vector, 0\ncopy y[8], ub[0], 8\nset_flag mte3, vector, 0\n"
              "loop 1000\nnop\nendloop\nwait_flag mte3, vector, 0\nwait_flag mte3, vector, 0\nend\n")
          .findings(),
      Findings{"flag-overflow:11"});
  // Never waited for: too many sets, and a set left over.
  EXPECT_EQ(outcome("set_flag vector, mte2, 0\nset_flag vector, mte2, 0\nend\n").findings(),
            (Findings{"flag-overflow:5", "flag-unbalanced:5"}));
  EXPECT_EQ(outcome("set_flag vector, mte2, 1\nend\n").findings(), Findings{"flag-unbalanced:4"});
}

TEST(Flags, A_full_queue_stalls_and_goes_on) {
  std::string body;
  for (int i = 0; i < 40; ++i) body += fmt::format("copy ub[{0}], A[{0}], 32\n", 32 * i);
  body += "set_flag mte2, mte3, 0\nwait_flag mte2, mte3, 0\n";
  for (int i = 0; i < 40; ++i) body += fmt::format("copy y[{0}], ub[{0}], 32\n", 32 * i);
  body += "end\n";
  const std::vector<std::string> shallow{"core_types.core.dma.mte2.queue_depth=1",
                                         "core_types.core.dma.mte3.queue_depth=1"};
  const test::Run deep = run(body);
  const test::Run one = run(body, test::one_core(), shallow);
  EXPECT_EQ(one.outputs.at("y"), deep.outputs.at("y"));
  EXPECT_GT(one.report.engines[0].cycles.stall[static_cast<std::size_t>(report::Stall::queue_full)], 0U);
  EXPECT_GE(one.report.cycles, deep.report.cycles);
  // The vector unit's queue as well.
  std::string vectors;
  for (int i = 0; i < 20; ++i) vectors += fmt::format("vdup.u8 ub[{}], {}\n", 256 * i, i);
  const Outcome vector =
      outcome(vectors + "end\n", test::one_core(), {"core_types.core.vector.queue_depth=1"}, "tiny_ub");
  EXPECT_FALSE(vector.error) << vector.text();
}

TEST(Flags, A_circle_of_waits_is_told_in_full) {
  const Outcome hangs = outcome(
      "wait_flag mte3, mte2, 0\nset_flag mte2, mte3, 0\nwait_flag mte2, mte3, 0\nset_flag mte3, mte2, "
      "0\nwait_flag mte3, scalar, 1\n"
      "set_flag mte3, scalar, 1\nend\n");
  ASSERT_TRUE(hangs.stalled()) << hangs.text();
  for (const char* const part :
       {"mte2: test.npu:4: waits for flag mte3>mte2 id 0", "mte3: test.npu:6: waits for flag mte2>mte3 id 0",
        "front end: test.npu:8: waits for flag mte3>scalar id 1"})
    EXPECT_TRUE(hangs.says(part)) << hangs.text();
}

TEST(Flags, A_flag_set_behind_a_wait_is_not_set_before_it) {
  // mte3 needs until about 90 for its copy; mte2 waits for it and passes it on without a copy of its own.
  const std::string body =
      "vdup.u8 v0, 1\nvst.u8 ub[0], v0\nset_flag vector, mte3, 0\nwait_flag vector, mte3, 0\ncopy y[0], "
      "ub[0], 8\n"
      "set_flag mte3, mte2, 0\nwait_flag mte3, mte2, 0\nset_flag mte2, vector, 0\nwait_flag mte2, vector, 0\n"
      "region \"behind\"\nnop\nend\n";
  const report::Report report = run(body).report;
  ASSERT_EQ(report.regions.size(), 1U);
  // The copy goes out at 4 and is over at 4 + 20 + 1 + 20 = 45; two flags of 1 cycle each.
  EXPECT_EQ(report.regions[0].first_cycle, 45U + 2);
}

TEST(Flags, The_run_lasts_as_long_as_the_last_wait) {
  // The flag comes 100 cycles after the copy is over (49), and nothing follows the wait.
  const report::Report report =
      run("copy ub[0], A[0], 64\nset_flag mte2, mte3, 0\nwait_flag mte2, mte3, 0\nend\n", test::one_core(),
          {"core_types.core.sync.flag_latency_cycles=100"})
          .report;
  EXPECT_EQ(report.cycles, 149U);
  const report::Report vector =
      run("copy ub[0], A[0], 64\nset_flag mte2, vector, 0\nwait_flag mte2, vector, 0\nend\n",
          test::one_core(), {"core_types.core.sync.flag_latency_cycles=100"}, "tiny_ub")
          .report;
  EXPECT_EQ(vector.cycles, 149U);
}

TEST(Flags, Barriers_hold_their_engine_only) {
  // With a barrier the second copy goes out when the first is over (49): its row is open, 10 + 8 + 20 more.
  EXPECT_EQ(run("copy ub[0], A[0], 64\nbarrier mte2\ncopy ub[64], A[64], 64\nend\n").report.cycles,
            49U + 10 + 8 + 20);
  EXPECT_EQ(run("copy ub[0], A[0], 64\ncopy ub[64], A[64], 64\nend\n").report.cycles, 57U);
  // The stream itself goes on behind barrier mte2, and waits behind barrier all.
  const auto mark = [](const std::string& barrier) {
    return run("copy ub[0], A[0], 64\n" + barrier + "\nregion \"behind\"\nend\n")
        .report.regions.at(0)
        .first_cycle;
  };
  EXPECT_LT(mark("barrier mte2"), 5U);
  EXPECT_GE(mark("barrier all"), 49U);
}

// Macros of the kernel: the place is the line in the body, and the call is named too.
TEST(Flags, PlacesOfMacrosAreTheirLinesAndTheirCalls) {
  const Outcome hangs = outcome(".macro take id\nwait_flag mte2, vector, id\n.endm\ntake 0\nend\n");
  ASSERT_TRUE(hangs.stalled()) << hangs.text();
  const std::string first = hangs.text();
  EXPECT_NE(first.find(" (from line "), std::string::npos) << first;
}

}  // namespace
}  // namespace npulab
