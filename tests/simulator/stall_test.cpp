// SPDX-License-Identifier: Apache-2.0
// What a stalled run says, word for word: where every engine stands, what it waits for, who should have
// signalled, and the circle of waits.
#include <gtest/gtest.h>

#include "run_helper.hpp"

namespace npulab::test {
namespace {

// Line 3 is the first one of the body.
Error stall(const std::string& body, const std::string& name = "tiny",
            const std::vector<std::string>& set = {}, SimulationOptions options = {}) {
  try {
    run(machine(name, set), ".kernel test/stall\n.tensor A f16 [64] in\n" + body, std::move(options));
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("it ended");
}

std::string text(const Error& error) {
  EXPECT_EQ(error.category(), Category::stall);
  return error.message();
}

const char* const kCircle =
    "wait_flag vector, mte2, 0\nset_flag mte2, vector, 1\nwait_flag mte2, vector, 1\nset_flag vector, mte2, "
    "0\nend\n";

TEST(Stall, a_circle_of_two_queues) {
  const Error error = stall(kCircle, "tiny", {"core_types.core.vector.queue_depth=4"}, one_core());
  EXPECT_EQ(error.code(), "stall");
  EXPECT_EQ(text(error),
            "nothing can go on: 1 of 1 cores have not reached their end\n"
            "  core 0 front end: test.npu:7: waits until its engines are done\n"
            "  core 0 vector: test.npu:5: waits for flag mte2>vector id 1, which nothing has ever set; "
            "set_flag stands at test.npu:4\n"
            "  core 0 mte2: test.npu:3: waits for flag vector>mte2 id 0, which nothing has ever set; "
            "set_flag stands at test.npu:6\n"
            "  these wait for one another:\n"
            "    core 0 vector at test.npu:5 waits for flag mte2>vector id 1, which core 0 mte2 sets at "
            "test.npu:4, behind its own wait\n"
            "    core 0 mte2 at test.npu:3 waits for flag vector>mte2 id 0, which core 0 vector sets at "
            "test.npu:6, behind its own wait");
}

TEST(Stall, a_circle_with_the_stream) {
  EXPECT_EQ(text(stall(kCircle, "tiny", {}, one_core())),
            "nothing can go on: 1 of 1 cores have not reached their end\n"
            "  core 0 front end: test.npu:5: waits for flag mte2>vector id 1, which nothing has ever set; "
            "set_flag stands at test.npu:4\n"
            "  core 0 mte2: test.npu:3: waits for flag vector>mte2 id 0, which nothing has ever set; "
            "set_flag stands at test.npu:6\n"
            "  these wait for one another:\n"
            "    core 0 front end at test.npu:5 waits for flag mte2>vector id 1, which core 0 mte2 sets at "
            "test.npu:4, behind its own wait\n"
            "    core 0 mte2 at test.npu:3 waits for flag vector>mte2 id 0, which core 0 front end has not "
            "come to set");
}

TEST(Stall, a_full_queue_in_the_circle) {
  const std::string all = text(stall(
      "wait_flag vector, mte2, 0\nloop 80\ncopy ub[0], A[0], 64\nendloop\nset_flag vector, mte2, 0\nend\n",
      "tiny", {}, one_core()));
  EXPECT_NE(all.find("core 0 front end: test.npu:5: waits for room in the queue of mte2\n"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("\n  these wait for one another:\n"
                     "    core 0 front end at test.npu:5 waits for room in the queue of mte2, which core 0 "
                     "mte2 does not empty\n"
                     "    core 0 mte2 at test.npu:3 waits for flag vector>mte2 id 0, which core 0 front end "
                     "has not come to set"),
            std::string::npos)
      << all;
}

TEST(Stall, SY_10_what_nobody_sets_is_no_circle) {
  EXPECT_EQ(text(stall("wait_flag mte3, mte2, 3\nend\n", "tiny", {}, one_core())),
            "nothing can go on: 1 of 1 cores have not reached their end\n"
            "  core 0 front end: test.npu:4: waits until its engines are done\n"
            "  core 0 mte2: test.npu:3: waits for flag mte3>mte2 id 3, which nothing has ever set; no "
            "instruction sets it");
}

TEST(Stall, SY_11_cores_that_wait_for_one_that_waits_for_itself) {
  EXPECT_EQ(
      text(stall("core_id s0\nbeq s0, 1, other\nsync_cores\nend\nother: wait_flag scalar, vector, "
                 "2\nset_flag scalar, vector, 2\nsync_cores\nend\n")),
      "nothing can go on: 2 of 2 cores have not reached their end; 1 of 2 cores have arrived at "
      "sync_cores\n"
      "  core 0 front end: test.npu:5: waits at sync_cores\n"
      "  core 1 front end: test.npu:7: waits for flag scalar>vector id 2, which nothing has ever set; "
      "set_flag stands at test.npu:8\n"
      "  these wait for one another:\n"
      "    core 1 front end at test.npu:7 waits for flag scalar>vector id 2, which core 1 front end has "
      "not come to set");
}

TEST(Stall, a_circle_of_semaphores_over_two_cores) {
  const std::string all = text(stall(R"(.program core=tile cores=2
core_id s0
beq s0, 1, other
acquire out, 0
release out, 1, 0
end
other: acquire scalar, 0
release scalar, 0, 0
end
)",
                                     "tiny_tiles"));
  EXPECT_NE(all.find("\n  these wait for one another:\n"
                     "    core 0 out at test.npu:6 waits until semaphore 0 is 1, which core 1 front end has "
                     "not come to release\n"
                     "    core 1 front end at test.npu:9 waits until semaphore 0 is 1, which core 0 out "
                     "releases at test.npu:7, behind its own wait"),
            std::string::npos)
      << all;
}

TEST(Stall, the_same_whatever_the_order_of_construction) {
  const std::string expected = text(stall("core_id s0\nbeq s0, 1, other\nsync_cores\nother: end\n"));
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    SimulationOptions options;
    options.construction_seed = seed;
    EXPECT_EQ(text(stall("core_id s0\nbeq s0, 1, other\nsync_cores\nother: end\n", "tiny", {}, options)),
              expected);
  }
}

TEST(Stall, SY_15_the_limit_of_cycles_says_where_everything_stands) {
  SimulationOptions options = one_core();
  options.max_cycles = 1000;
  const Error error = stall("wait_flag vector, mte2, 0\nagain:\nnop\njmp again\nend\n", "tiny", {}, options);
  EXPECT_EQ(error.code(), "cycle-limit");
  const std::string all = text(error);
  EXPECT_EQ(all.find("core 0 has not reached its end by cycle 1000, the limit of this run"), 0U) << all;
  EXPECT_NE(all.find("\n  core 0 mte2: test.npu:3: waits for flag vector>mte2 id 0"), std::string::npos)
      << all;
  EXPECT_EQ(all.find("for one another"), std::string::npos) << all;
}

TEST(Stall, an_unfinished_report_names_the_run_and_the_reason) {
  const config::Machine on = machine("tiny");
  Simulation simulation(on, assemble(".kernel test/stall\n.param N = 3\nwait_flag mte2, mte3, 0\nend\n", on));
  try {
    simulation.run();
    FAIL() << "it ended";
  } catch (const Error& error) {
    const report::Report report = simulation.unfinished(error);
    EXPECT_FALSE(report.ended);
    EXPECT_EQ(report.kernel, "test/stall");
    EXPECT_EQ(report.params.at("N"), 3);
    ASSERT_EQ(report.diagnostics.size(), 1U);
    EXPECT_EQ(report.diagnostics[0].code, "stall");
    EXPECT_EQ(report.diagnostics[0].where, "test.npu:4");
  }
}

}  // namespace
}  // namespace npulab::test
