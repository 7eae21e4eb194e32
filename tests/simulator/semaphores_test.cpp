// SPDX-License-Identifier: Apache-2.0
// Counting semaphores between cores: back-pressure with two buffers, misuse, and the report of a stall.
#include <gtest/gtest.h>

#include "run_helper.hpp"

namespace npulab::test {
namespace {

// One memory tile streams N blocks into two buffers of one tile, which adds them up. The tile's semaphore 0
// counts full buffers, the memory tile's counts empty ones.
const char* const kStream = R"(.kernel test/stream
.param N = 6 in 1..100
.tensor A i32 [N, 16] in
.tensor y i32 [2] out
.program core=mem cores=1
  copy stage[0], A[0], N * 64
  set_flag load, feed, 0
  wait_flag load, feed, 0
  mov s1, 0
  loop N
    and s2, s1, 1
    mul s2, s2, 64
    mul s3, s1, 64
    acquire feed, 0
    copy tile.ub[s2], stage[s3], 64 {core=0}
    release feed, first(tile), 0
    add s1, s1, 1
  endloop
  acquire feed, 0 {by=2}
  end
.program core=tile cores=1
  release scalar, first(mem), 0 {by=2}
  vdup.i32 v2, 0
  mov s1, 0
  loop N
    and s2, s1, 1
    mul s2, s2, 64
    acquire scalar, 0
    loop 8
      vld.i32 v0, ub[s2] {inc=8}
      vadd.i32 v2, v2, v0
    endloop
    release scalar, first(mem), 0
    add s1, s1, 1
  endloop
  vst.i32 ub[128], v2
  set_flag vector, out, 0
  wait_flag vector, out, 0
  copy y[0], ub[128], 8
  end
)";

Run stream(std::int64_t blocks, const std::vector<std::string>& set = {}, SimulationOptions options = {}) {
  return run(machine("tiny_tiles", set), kStream, std::move(options), {}, {{"N", blocks}});
}

Error stall(const std::string& body, const std::vector<std::string>& set = {}) {
  try {
    run(machine("tiny_tiles", set), ".kernel test/stall\n" + body);
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("it ended");
}

std::string findings(const std::string& body) {
  std::string text;
  for (const report::Diagnostic& one :
       run(machine("tiny_tiles"), ".kernel test/find\n" + body).report.diagnostics)
    text += one.severity + " " + one.code + " " + one.where + " " + one.message + "\n";
  return text;
}

TEST(Semaphores, a_stream_over_two_buffers) {
  const auto result = stream(6);
  EXPECT_TRUE(result.report.diagnostics.empty());
  const std::vector<std::int32_t> y = values_of<std::int32_t>(result.outputs.at("y"));
  std::vector<std::int32_t> a(6 * 16);
  for (std::size_t i = 0; i < a.size() * 4; ++i)
    reinterpret_cast<unsigned char*>(a.data())[i] = static_cast<unsigned char>(i % 97);
  std::uint32_t even = 0;
  std::uint32_t odd = 0;
  for (std::size_t i = 0; i < a.size(); i += 2) {
    even += static_cast<std::uint32_t>(a[i]);
    odd += static_cast<std::uint32_t>(a[i + 1]);
  }
  EXPECT_EQ(static_cast<std::uint32_t>(y[0]), even);
  EXPECT_EQ(static_cast<std::uint32_t>(y[1]), odd);
}

TEST(Semaphores, the_slower_side_sets_the_pace) {
  // The feed is at work 16 cycles for a block; the tile needs more: it sets the pace, whatever the feed does.
  const auto period = [](const std::vector<std::string>& set) {
    constexpr std::uint64_t kLoad = 8;  // of one more block, before anything is fed
    return stream(9, set).report.cycles - stream(8, set).report.cycles - kLoad;
  };
  const std::string slow = "core_types.tile.vector.latency.add=6";
  const std::uint64_t tile = period({slow});
  EXPECT_GT(tile, 8U * 6);
  EXPECT_LT(tile, 64U);
  EXPECT_EQ(period({slow, "core_types.mem.dma.feed.paths.0.bytes_per_cycle=8"}), tile);
  // 64 cycles for a block, 4 of latency until it is there, and 2 until the next may be asked for: the feed is
  // never idle, for it has two buffers.
  EXPECT_EQ(period({"core_types.mem.dma.feed.paths.0.bytes_per_cycle=1"}), 64U);
}

TEST(Semaphores, the_report_does_not_depend_on_the_order_of_construction) {
  const auto text = [](const test::Run& one) { return report::to_json(one.report, false).dump(1); };
  const std::string expected = text(stream(7));
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    SimulationOptions options;
    options.construction_seed = seed;
    EXPECT_EQ(text(stream(7, {}, options)), expected);
  }
  SimulationOptions options;
  options.block_cache = false;
  EXPECT_EQ(text(stream(7, {}, options)), expected);
}

TEST(Semaphores, a_vector_unit_with_a_queue_releases_and_acquires) {
  const std::vector<std::string> queued{"core_types.tile.vector.queue_depth=4"};
  const auto result = run(machine("tiny_tiles", queued), R"(.kernel test/queued
.tensor y i32 [2] out
.program core=tile cores=2
  core_id s0
  vdup.i32 v0, 5
  vst.i32 ub[0], v0
  bne s0, 0, other
  release vector, 1, 0
  end
other:
  acquire vector, 0
  vld.i32 v1, ub[0]
  vadd.i32 v1, v1, v1
  vst.i32 ub[0], v1
  release vector, 1, 1
  acquire out, 1
  copy y[0], ub[0], 8
  end
)");
  EXPECT_EQ(values_of<std::int32_t>(result.outputs.at("y")), (std::vector<std::int32_t>{10, 10}));
  EXPECT_TRUE(result.report.diagnostics.empty());
}

TEST(Semaphores, time_of_a_release_by_hand) {
  // release in cycle 0 is over in 1, its latency on tiles is 1: there in cycle 2, where core 1 goes on;
  // end 3.
  const std::string body = R"(.kernel test/time
.program core=tile cores=2
  core_id s0
  bne s0, 0, other
  release scalar, 1, 0
  end
other:
  acquire scalar, 0
  end
)";
  // core_id 0, bne 1 (not taken), release 2, over 3, there 4; core 1: acquire 4, end 5.
  EXPECT_EQ(run(machine("tiny_tiles"), body).report.cycles, 6U);
  EXPECT_EQ(
      run(machine("tiny_tiles", {"core_types.tile.sync.semaphore_latency_cycles=11"}), body).report.cycles,
      16U);
}

TEST(Semaphores, more_than_the_largest_count_is_found_with_both_places) {
  const std::string text = findings(R"(.program core=tile cores=1
  release scalar, 0, 3 {by=2}
  release scalar, 0, 3
  nop
  nop
  nop
  acquire scalar, 3 {by=2}
  acquire scalar, 3
  end
)");
  EXPECT_EQ(
      text,
      "error semaphore-overflow test.npu:4 semaphore 3 of core 0 grows to 3 in cycle 3 by this release on "
      "core 0, and counts to 2 at most; the release before it stands at test.npu:3\n");
}

TEST(Semaphores, counts_that_do_not_end_as_they_began_are_found) {
  const std::string text = findings(R"(.program core=mem cores=1
  release scalar, first(tile) + 1, 2
  end
.program core=tile cores=2
  end
)");
  EXPECT_EQ(
      text,
      "warning semaphore-unbalanced test.npu:3 semaphore 2 of core 2 began at 0 and ends at 1: releases and "
      "acquisitions do not match\n");
}

TEST(Semaphores, a_stall_says_who_waits_and_who_should_release) {
  const Error error = stall(R"(.program core=mem cores=1
  copy stage[0], stage[0], 0
  end
.program core=tile cores=1
  end
)");
  EXPECT_EQ(error.code(), "copy-path");
  const Error never = stall(R"(.program core=mem cores=1
  beq s0, 0, over
  release feed, first(tile), 1
over: end
.program core=tile cores=1
  acquire scalar, 1
  end
)");
  EXPECT_EQ(never.category(), Category::stall);
  const std::string text = never.what();
  EXPECT_NE(
      text.find("core 1 (tile 0) front end: test.npu:7: waits until semaphore 1 is 1; it is 0, and nothing "
                "has ever released it; release stands at test.npu:4 (mem)"),
      std::string::npos)
      << text;
  const Error short_of = stall(R"(.program core=tile cores=2
  core_id s0
  beq s0, 1, other
  acquire out, 0 {by=2}
  barrier all
  end
other: release scalar, 0, 0
  end
)");
  const std::string second = short_of.what();
  EXPECT_NE(
      second.find(
          "out: test.npu:5: waits until semaphore 0 is 2; it is 1, and was last released at test.npu:8"),
      std::string::npos)
      << second;
  EXPECT_NE(stall(".program core=tile cores=1\n  acquire scalar, 0\n  end\n")
                .message()
                .find("no program holds a release of it"),
            std::string::npos);
}

TEST(Semaphores, wrong_cores_and_numbers_are_refused) {
  const auto expect = [](const std::string& body, const std::string& code, const std::string& text) {
    const Error error = stall(".program core=tile cores=2\n" + body + "  end\n");
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  };
  expect("  release scalar, 2, 0\n", "semaphore-id", "the launch has cores 0…1");
  expect("  release scalar, 1, 4\n", "semaphore-id", "that core has semaphores 0…3");
  expect("  acquire scalar, 4\n", "semaphore-id",
         "semaphore 4: core type 'tile' of machine 'tiny_tiles' has 0…3");
  expect("  acquire scalar, 0 {by=3}\n", "semaphore-range", "waits for a count of 3");
  expect("  mov s0, 3\n  release scalar, 1, 0 {by=s0}\n", "semaphore-range", "a count goes up to 2");
  EXPECT_EQ(
      stall(".program core=tile\n  acquire scalar, 0\n  end\n", {"core_types.tile.sync.semaphores=0"}).code(),
      "semaphore-id");
}

}  // namespace
}  // namespace npulab::test
