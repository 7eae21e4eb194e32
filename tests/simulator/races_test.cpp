// SPDX-License-Identifier: Apache-2.0
// Races, judged by what a program makes certain and not by what a run happened to do; each fault beside a
// twin that orders the two accesses, on which nothing is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_helper.hpp"

namespace npulab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SimulationOptions full(std::uint32_t cores = 1) {
  SimulationOptions options;
  options.cores = cores;
  options.sanitize = SanitizeLevel::full;
  return options;
}

std::string findings(const report::Report& report) {
  std::string all;
  for (const report::Diagnostic& d : report.diagnostics)
    all += d.code + " at " + d.where + ": " + d.message + "\n";
  return all;
}

// The findings of a run on tiny, one a line. The tensors stand in lines 2 and 3.
std::string found(const std::string& body, SimulationOptions options = full()) {
  const std::string text =
      ".kernel test/race\n.tensor A u8 [256] in\n.tensor B u8 [256] out\n" + body + "end\n";
  return findings(test::run(test::machine("tiny"), text, std::move(options)).report);
}

// B gets its bytes, behind whatever a body did.
const std::string kAllOut = "barrier all\ncopy ub[0], A[0], 256\nbarrier all\ncopy B[0], ub[0], 256\n";

TEST(Race, read_after_write_names_both_and_what_is_missing) {
  const std::string text = found("copy ub[0], A[0], 64\nvld.u8 v0, ub[0]\n" + kAllOut);
  EXPECT_THAT(text,
              HasSubstr("race at test.npu:5: read after write: vld at test.npu:5 (vector of core 0, cycle "));
  EXPECT_THAT(text, HasSubstr("reads ub[0…7] of core 0, which copy at test.npu:4 (mte2 of core 0, cycle "));
  EXPECT_THAT(
      text,
      HasSubstr(
          "set_flag mte2, vector, ID behind test.npu:4 and wait_flag mte2, vector, ID before test.npu:5"));
}

TEST(Race, a_flag_orders) {
  EXPECT_EQ(
      found("copy ub[0], A[0], 64\nset_flag mte2, vector, 0\nwait_flag mte2, vector, 0\nvld.u8 v0, ub[0]\n" +
            kAllOut),
      "");
}

TEST(Race, a_flag_set_before_the_write_does_not_order) {
  EXPECT_THAT(
      found("set_flag mte2, vector, 0\ncopy ub[0], A[0], 64\nwait_flag mte2, vector, 0\nvld.u8 v0, ub[0]\n" +
            kAllOut),
      HasSubstr("read after write"));
}

// The next copy is under way before the flag behind the first one is set.
TEST(Race, a_flag_does_not_cover_what_its_engine_starts_after_it) {
  EXPECT_EQ(found("copy ub[0], A[0], 64\nset_flag mte2, vector, 0\ncopy ub[64], A[64], 64\n"
                  "wait_flag mte2, vector, 0\nvld.u8 v0, ub[0]\n" +
                  kAllOut),
            "");
  EXPECT_THAT(found("copy ub[0], A[0], 64\nset_flag mte2, vector, 0\ncopy ub[64], A[64], 64\n"
                    "wait_flag mte2, vector, 0\nvld.u8 v0, ub[64]\n" +
                    kAllOut),
              HasSubstr("race"));
}

TEST(Race, write_after_read_and_write_after_write) {
  const std::string store = "copy ub[0], A[0], 256\nbarrier all\nvld.u8 v0, ub[0]\n";
  EXPECT_THAT(found(store + "copy ub[0], A[0], 8\n" + kAllOut),
              HasSubstr("write after read: copy at test.npu:7"));
  EXPECT_THAT(found(store + "vst.u8 ub[16], v0\ncopy ub[0], A[0], 32\n" + kAllOut),
              HasSubstr("write after write: copy at test.npu:8"));
  EXPECT_EQ(found(store +
                  "vst.u8 ub[16], v0\nset_flag vector, mte2, 0\nwait_flag vector, mte2, 0\n"
                  "copy ub[0], A[0], 32\n" +
                  kAllOut),
            "");
}

// Long before, in this run; nothing makes it so.
TEST(Race, SY_23_order_by_luck_is_found) {
  std::string wait;
  for (int i = 0; i < 400; ++i) wait += "nop\n";
  SimulationOptions fast = full();
  fast.sanitize = SanitizeLevel::fast;
  const std::string body = "copy ub[0], A[0], 256\n" + wait + "copy B[0], ub[0], 256\n";
  EXPECT_EQ(found(body, fast), "");
  EXPECT_THAT(found(body), HasSubstr("read after write: copy at test.npu:405 (mte3 of core 0"));
}

TEST(Race, SY_05_a_barrier_on_one_path_only) {
  const std::string body =
      "copy ub[0], A[0], 256\ncore_id s0\nbeq s0, 1, past\nbarrier all\npast:\nvld.u8 v0, ub[0]\n";
  const std::string text = found(body + kAllOut, full(2));
  EXPECT_THAT(text, HasSubstr("race at test.npu:9: read after write: vld at test.npu:9 (vector of core 1"));
  EXPECT_THAT(text, Not(HasSubstr("vector of core 0")));
}

TEST(Race, what_one_engine_does_in_order_is_no_race) {
  EXPECT_EQ(found("copy ub[0], A[0], 64\ncopy ub[32], A[64], 64\ncopy ub[0], A[0], 256\n" + kAllOut), "");
}

TEST(Race, knowledge_goes_on_from_flag_to_flag) {
  EXPECT_EQ(found("copy ub[0], A[0], 256\nset_flag mte2, vector, 0\nwait_flag mte2, vector, 0\n"
                  "set_flag vector, mte3, 0\nwait_flag vector, mte3, 0\ncopy B[0], ub[0], 256\n"),
            "");
}

TEST(Race, an_instruction_knows_what_its_stream_waited_for) {
  EXPECT_EQ(found("copy ub[0], A[0], 256\nset_flag mte2, scalar, 0\nwait_flag mte2, scalar, 0\n"
                  "copy B[0], ub[0], 256\n"),
            "");
  EXPECT_THAT(found("copy ub[0], A[0], 256\nset_flag mte2, scalar, 0\ncopy B[0], ub[0], 256\n"
                    "wait_flag mte2, scalar, 0\n"),
              HasSubstr("read after write: copy at test.npu:6 (mte3 of core 0"));
}

TEST(Race, a_store_of_the_stream_needs_a_flag_too) {
  EXPECT_THAT(found("copy ub[0], A[0], 256\nbarrier all\nsts.i32 ub[0], 7\ncopy B[0], ub[0], 256\n"),
              HasSubstr("sts at test.npu:6 (scalar of core 0"));
  EXPECT_EQ(found("copy ub[0], A[0], 256\nbarrier all\nsts.i32 ub[0], 7\nset_flag scalar, mte3, 0\n"
                  "wait_flag scalar, mte3, 0\ncopy B[0], ub[0], 256\n"),
            "");
}

TEST(Race, cores_meet_in_gm) {
  const std::string both =
      "core_id s0\nmul s0, s0, 128\nmov s1, 128\nsub s1, s1, s0\ncopy ub[0], A[0], 128\nbarrier all\n"
      "copy B[s0], ub[0], 128\nbarrier all\n";
  const std::string again = "copy B[s1], ub[0], 128\n";
  const std::string bad = found(both + again, full(2));
  EXPECT_THAT(bad, HasSubstr("write after write: copy at test.npu:12"));
  EXPECT_THAT(bad,
              HasSubstr("sync_cores between test.npu:10 and test.npu:12, whichever shall be first, would"));
  EXPECT_EQ(found(both + "sync_cores\n" + again, full(2)), "");
}

TEST(Race, all_findings_are_listed_whatever_place_they_share) {
  const std::string text = found(
      "copy ub[0], A[0], 256\nbarrier all\ncopy B[0], ub[0], 128\ncopy B[128], ub[128], 128\n"
      "copy ub[0], A[0], 256\n");
  EXPECT_THAT(text, HasSubstr("race at test.npu:8: write after read: copy at test.npu:8 (mte2 of core 0"));
  EXPECT_THAT(text, HasSubstr("which copy at test.npu:6"));
  EXPECT_THAT(text, HasSubstr("which copy at test.npu:7"));
}

TEST(Race, the_matrix_unit_with_its_operands_and_its_sums) {
  const std::string loads =
      "copy ub[0], A[0], 256\nbarrier all\ncopy l1[0], ub[0], 256\nbarrier all\n"
      "copy l0a[0], l1[0], 64\ncopy l0b[0], l1[64], 64\nset_flag mte1, matrix, 0\n"
      "wait_flag mte1, matrix, 0\ngemm.f16.f16 4, 4, 4, l0a[0], l0b[0], l0c[0]\n";
  const std::string reload = "wait_flag matrix, mte1, 0\ncopy l0a[0], l1[0], 64\n";
  // Operands were read: they may be overwritten. The sums are not there yet.
  EXPECT_EQ(found(loads + "set_flag matrix, mte1, 0 {operands=1}\n" + reload + kAllOut), "");
  EXPECT_THAT(
      found(loads +
            "set_flag matrix, fix, 0 {operands=1}\nwait_flag matrix, fix, 0\ncopy l1[512], l0c[0], 64\n" +
            kAllOut),
      HasSubstr("read after write: copy at test.npu:15 (fix of core 0"));
  EXPECT_EQ(found(loads + "set_flag matrix, fix, 0\nwait_flag matrix, fix, 0\ncopy l1[512], l0c[0], 64\n" +
                  kAllOut),
            "");
  EXPECT_THAT(found(loads + "copy l0a[0], l1[0], 64\n" + kAllOut), HasSubstr("write after read"));
}

TEST(Race, timing_only_has_no_values_to_judge) {
  SimulationOptions options = full();
  options.timing_only = true;
  try {
    found(kAllOut, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "no-values");
  }
}

TEST(Watch, NaN_is_told_where_it_was_made_and_only_when_it_comes_out) {
  const std::string divide = "vdup.f32 v0, 0\nvdiv.f32 v1, v0, v0\n";
  EXPECT_EQ(found(divide + kAllOut), "");
  const std::string text = ".kernel test/nan\n.tensor y f32 [2] out\n" + divide +
                           "vmul.f32 v2, v1, 2\nvst.f32 ub[0], v2\nbarrier all\ncopy y[0], ub[0], 8\nend\n";
  const std::string all = findings(test::run(test::machine("tiny"), text, full()).report);
  EXPECT_THAT(all,
              HasSubstr("nan-produced at test.npu:4: vdiv.f32 on core 0 makes NaN out of numbers, in lane 0: "
                        "a = 0, b = 0; output y holds NaN or infinities"));
  EXPECT_THAT(all, Not(HasSubstr("test.npu:5")));
}

TEST(Watch, NU_06_a_narrow_sum_that_stands_still) {
  const auto sum = [](const std::string& one) {
    return findings(
        test::run(test::machine("tiny"),
                  ".kernel test/sum\n.tensor y f16 [4] out\nvdup.f16 v0, 0\nvdup.f16 v1, " + one +
                      "\nloop 4096\nvadd.f16 v0, v0, v1\nendloop\nvst.f16 ub[0], v0\nbarrier all\n"
                      "copy y[0], ub[0], 8\nend\n",
                  full())
            .report);
  };
  EXPECT_THAT(sum("1"), HasSubstr("additions-lost at test.npu:6: 8192 of 16384 additions of vadd.f16"));
  EXPECT_EQ(sum("0"), "");
}

TEST(Watch, an_integer_sum_that_wraps) {
  const std::string text =
      ".kernel test/wrap\n.tensor y i32 [2] out\nvdup.i32 v0, 2147483000\nvdup.i8 v1, 127\nvdot.i32.i8 v0, "
      "v1, v1\n"
      "vst.i32 ub[0], v0\nbarrier all\ncopy y[0], ub[0], 8\nend\n";
  EXPECT_THAT(findings(test::run(test::machine("tiny"), text, full()).report),
              HasSubstr("sum-wrapped at test.npu:5: 2 sums of vdot on core 0 left i32 and wrapped"));
}

}  // namespace
}  // namespace npulab
