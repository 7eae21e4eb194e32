// SPDX-License-Identifier: Apache-2.0
// What a run refuses and what it finds: each with its place, once per place, and never a byte beyond a
// buffer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run_helper.hpp"

namespace npulab {
namespace {

struct Outcome {
  std::optional<Error> error;
  report::Report report;
  std::map<std::string, std::vector<std::byte>> outputs;

  std::string text() const {
    if (error) return fmt::format("{}: {}", error->code(), error->what());
    std::string all;
    for (const report::Diagnostic& d : report.diagnostics)
      all += fmt::format("{} x{} at {}: {}\n", d.code, d.count, d.where, d.message);
    return all.empty() ? "none" : all;
  }
  bool says(const std::string& part) const { return text().find(part) != std::string::npos; }
};

Outcome outcome(const std::string& body, const std::string& machine = "tiny",
                const std::vector<std::string>& set = {}, SimulationOptions options = test::one_core()) {
  Outcome result;
  try {
    test::Run run =
        test::run(test::machine(machine, set), ".kernel test/sanitize\n" + body, std::move(options));
    result.report = std::move(run.report);
    result.outputs = std::move(run.outputs);
  } catch (const Error& error) {
    result.error = error;
  }
  return result;
}

SimulationOptions off() {
  SimulationOptions options = test::one_core();
  options.sanitize = SanitizeLevel::off;
  return options;
}

// Every byte of ub written, in the fewest lines.
const char* const kFill = ".tensor A u8 [16384] in\ncopy ub[0], A[0], size(ub)\nbarrier all\nvdup.u8 v0, 0\n";

struct LocalAccess {
  const char* text;  // with {} for the address
  int bytes;
};

const LocalAccess kAccesses[] = {
    {"vld.u8 v1, ub[{}]", 8}, {"vst.f16 ub[{}], v0", 8},        {"lds.i32 s5, ub[{}]", 4},
    {"sts.i16 ub[{}], 7", 2}, {"vgather.u8 v1, ub[{}], v2", 1}, {"vld.f16 v1, ub[{}] {{stride=100}}", 302}};

TEST(Sanitize, BF_12_first_and_last_byte_of_a_buffer) {
  for (const LocalAccess& access : kAccesses) {
    const auto at = [&access](std::int64_t address) {
      return outcome(
          fmt::format("{}vdup.i32 v2, 0\n.for i in 3..10\nvdup.i32 v{{i}}, 0\n.endfor\nmov s1, {}\n{}\nend\n",
                      kFill, address, fmt::format(fmt::runtime(access.text), "s1")));
    };
    EXPECT_EQ(at(0).text(), "none") << access.text;
    EXPECT_EQ(at(4096 - access.bytes).text(), "none") << access.text;
    for (const std::int64_t address :
         {std::int64_t{4096} - access.bytes + 1, std::int64_t{-1}, std::int64_t{-32}, std::int64_t{4096},
          std::int64_t{0xdddddddd}, std::int64_t{1} << 62, -(std::int64_t{1} << 62)}) {
      const Outcome bad = at(address);
      ASSERT_TRUE(bad.error) << access.text << " at " << address;
      EXPECT_EQ(bad.error->category(), Category::verdict);
      EXPECT_EQ(bad.error->code(), "out-of-bounds") << bad.text();
      EXPECT_EQ(bad.error->where().line, 11) << bad.text();
      EXPECT_TRUE(bad.says(fmt::format("ub[{}…", address))) << bad.text();
      EXPECT_TRUE(bad.says(fmt::format("(0x{:x})", static_cast<std::uint64_t>(address)))) << bad.text();
      EXPECT_TRUE(bad.says("ub has bytes 0…4095")) << bad.text();
    }
  }
}

TEST(Sanitize, Out_of_bounds_with_the_sanitizer_off) {
  for (const LocalAccess& access : kAccesses)
    for (const char* const address : {"-1", "4096", "0x7fffffffffffffff", "0x8000000000000000"}) {
      const std::string body =
          fmt::format("mov s1, {}\n{}\nend\n", address, fmt::format(fmt::runtime(access.text), "s1"));
      EXPECT_TRUE(outcome(body, "tiny", {}, off()).says("out-of-bounds")) << access.text << " at " << address;
    }
  // Indices of a gather, one of which is wrong.
  EXPECT_TRUE(outcome("vdup.i32 v2, 0\nmov s1, 0\nsts.i32 ub[0], 4096\nsts.i32 ub[4], 0\nvld.i32 v4, ub[0]\n"
                      "vgather.i32 v6, ub[s1], v4\nend\n",
                      "tiny", {}, off())
                  .says("ub[4096…4099]"));
}

TEST(Sanitize, Strides_and_repeats_beyond_their_range) {
  for (const char* const stride :
       {"0x2000000000000000", "0x7fffffffffffffff", "0x8000000000000000", "0x100000000"})
    for (const char* const access : {"vld.u8 v1, ub[64] {stride=s1}", "vst.u8 ub[64], v0 {stride=s1}"}) {
      const Outcome bad =
          outcome(fmt::format("vdup.u8 v0, 1\nmov s1, {}\n{}\nend\n", stride, access), "tiny", {}, off());
      EXPECT_TRUE(bad.says("value-range: test.npu:4: stride of v")) << bad.text();
    }
  const std::string fill =
      ".tensor A u8 [16384] in\ncopy ub[0], A[0], size(ub)\nset_flag mte2, vector, 0\nwait_flag mte2, "
      "vector, 0\n";
  for (const char* const mods :
       {"repeat=s1", "dst_repeat=s1, repeat=2", "a_block=s1", "a_repeat=s1, repeat=2"})
    for (const char* const value : {"-1", "65536", "0x4000000000000000"}) {
      const Outcome bad = outcome(
          fmt::format("{}mov s1, {}\nvrsum.f32 ub[0], ub[1024] {{{}}}\nend\n", fill, value, mods), "tiny_ub");
      EXPECT_TRUE(bad.says("value-range: test.npu:7")) << bad.text();
    }
  EXPECT_TRUE(
      outcome(fill + "mov s1, 256\nvabs.f32 ub[0], ub[1024] {repeat=s1, a_repeat=0, dst_repeat=0}\nend\n",
              "tiny_ub")
          .says("its range is 0…255"));
}

TEST(Sanitize, Views_with_repeat_stay_inside_with_and_without_values) {
  const std::string fill =
      ".tensor A u8 [16384] in\ncopy ub[0], A[0], size(ub)\nset_flag mte2, vector, 0\nwait_flag mte2, "
      "vector, 0\n";
  for (const bool timing_only : {false, true}) {
    SimulationOptions options = test::one_core();
    options.timing_only = timing_only;
    const auto at = [&](const std::string& text) {
      return outcome(fill + text + "\nend\n", "tiny_ub", {}, options);
    };
    EXPECT_EQ(at("mov s1, 16384 - 256\nvabs.f32 ub[s1], ub[0]").text(), "none");
    EXPECT_TRUE(at("mov s1, 16384 - 224\nvabs.f32 ub[s1], ub[0]").says("writes ub[16160…16415]"));
    EXPECT_TRUE(at("mov s1, -32\nvabs.f32 ub[0], ub[s1]").says("reads ub[-32…223]"));
    EXPECT_EQ(at("mov s1, 16384 - 768\nvabs.f32 ub[0], ub[s1] {repeat=3}").text(), "none");
    EXPECT_TRUE(
        at("mov s1, 16384 - 768\nvabs.f32 ub[0], ub[s1] {repeat=3, a_repeat=9}").says("out-of-bounds"));
    EXPECT_EQ(at("mov s1, 16384 - 32\nvabs.f32 ub[0], ub[s1] {n=8}").text(), "none");
    EXPECT_TRUE(at("mov s1, 16384 - 32\nvabs.f32 ub[0], ub[s1] {n=9}").says("out-of-bounds"));
    EXPECT_EQ(at("mov s1, 16384 - 32\nvabs.f32 ub[0], ub[s1] {a_block=0}").text(), "none");
    EXPECT_TRUE(at("mov s1, 4\nvabs.f32 ub[0], ub[s1]").says("misaligned"));
  }
}

TEST(Sanitize, Misaligned) {
  const std::vector<std::string> aligned{"core_types.core.buffers.ub.alignment=8"};
  const auto at = [&aligned](int address) {
    return outcome(fmt::format("{}mov s1, {}\nvld.u8 v1, ub[s1]\nend\n", kFill, address), "tiny", aligned);
  };
  EXPECT_EQ(at(8).text(), "none");
  EXPECT_EQ(at(4088).text(), "none");
  for (const int address : {1, 4, 7, 4087})
    EXPECT_TRUE(at(address).says(fmt::format("misaligned: test.npu:7: vld reads ub[{}…", address)))
        << at(address).text();
}

TEST(Sanitize, Registers_that_nothing_has_written) {
  // Once per place, counted; a place for each; a register counts as written once it is.
  const Outcome found = outcome(
      "loop 3\nvadd.f16 v2, v1, v0\nendloop\nvdup.f16 v1, 1.0\nvabs.f16 v3, v1\nvabs.f16 v4, v5\nend\n");
  ASSERT_EQ(found.report.diagnostics.size(), 2U) << found.text();
  EXPECT_TRUE(found.says("uninitialised-register x6 at test.npu:3: vadd reads v1, which nothing has written"))
      << found.text();
  EXPECT_TRUE(found.says("uninitialised-register x1 at test.npu:7: vabs reads v5, which nothing has written"))
      << found.text();
  // The lanes that a mask or n keeps are read, too; those of a reduction are not.
  EXPECT_TRUE(outcome("vdup.f16 v1, 1.0\nvabs.f16 v0, v1 {n=2}\nend\n").says("vabs reads v0"));
  EXPECT_TRUE(outcome("vdup.f16 v1, 1.0\nvabs.f16 v0, v1 {mask=5}\nend\n").says("vabs reads v0"));
  EXPECT_EQ(outcome("vdup.f16 v1, 1.0\nvrsum.f16 v0, v1 {n=2}\nend\n").text(), "none");
  EXPECT_TRUE(outcome("vext.f16 s1, v3[1]\nend\n").says("vext reads v3"));
  // A unit with a queue of its own as well, without false alarms.
  const std::vector<std::string> queue{"core_types.core.vector.queue_depth=4"};
  EXPECT_EQ(outcome("vdup.f16 v1, 1.0\nvadd.f16 v2, v1, v1\nvext.f16 s1, v2[0]\nassert s1, 0x4000\nend\n",
                    "tiny", queue)
                .text(),
            "none");
  EXPECT_TRUE(outcome("vdup.f16 v1, 1.0\nvadd.f16 v2, v1, v3\nend\n", "tiny", queue)
                  .says("uninitialised-register x1 at test.npu:3: vadd reads v3"));
}

TEST(Sanitize, Scalar_registers_that_nothing_has_written) {
  const Outcome found = outcome("loop 4\nadd s1, s2, s3\nendloop\nmov s3, 1\nadd s4, s1, s3\nend\n");
  ASSERT_EQ(found.report.diagnostics.size(), 1U) << found.text();
  EXPECT_TRUE(found.says("uninitialised-register x8 at test.npu:3: add reads s2, which nothing has written"))
      << found.text();
  for (const char* const line : {"beq s5, 0, there\nthere:\nnop", "loop s5\nnop\nendloop",
                                 "set_flag vector, mte2, s5\nwait_flag vector, mte2, 0",
                                 "copy ub[s5], A[0], 8", "copy ub[0], A[0], 8 {count=s5}", "vdup.f16 v0, s5",
                                 "print s5", "assert s5, 0", "vld.u8 v0, ub[0] {n=s5}", "sts.u8 ub[0], s5"})
    EXPECT_TRUE(outcome(std::string(".tensor A u8 [64] in\n") + line + "\nend\n")
                    .says("uninitialised-register x1 at test.npu:3"))
        << line << ": " << outcome(std::string(".tensor A u8 [64] in\n") + line + "\nend\n").text();
  EXPECT_EQ(outcome("core_id s0\ncore_count s1\nadd s2, s0, s1\nsts.i32 ub[0], s2\nlds.i32 s3, ub[0]\nadd "
                    "s3, s3, s3\nend\n")
                .text(),
            "none");
  EXPECT_EQ(outcome("add s1, s2, s3\nend\n", "tiny", {}, off()).text(), "none");
}

TEST(Sanitize, Buffers_and_gm_that_nothing_has_written) {
  const Outcome load = outcome(
      "vdup.u8 v0, 1\nvst.u8 ub[0], v0\nloop 5\nvld.u8 v1, ub[1]\nendloop\nlds.u8 s1, ub[7]\nlds.u8 s1, "
      "ub[8]\nend\n");
  ASSERT_EQ(load.report.diagnostics.size(), 2U) << load.text();
  EXPECT_TRUE(load.says("uninitialised-read x5 at test.npu:5: vld reads ub[1…8] on core 0")) << load.text();
  EXPECT_TRUE(load.says("uninitialised-read x1 at test.npu:8: lds reads ub[8…8] on core 0")) << load.text();
  // Strided and gathered elements one by one; what lies between does not matter.
  EXPECT_EQ(
      outcome("vdup.u8 v0, 1\nvst.u8 ub[0], v0 {stride=16}\nvld.u8 v1, ub[0] {stride=16}\nend\n").text(),
      "none");
  EXPECT_TRUE(outcome("vdup.u8 v0, 1\nvst.u8 ub[0], v0 {stride=16}\nvld.u8 v1, ub[0] {stride=17}\nend\n")
                  .says("vld reads ub[17…17]"));
  // Outputs before they are written, and what lies between rows.
  const Outcome gm = outcome(
      ".tensor A u8 [4, 8] in pitch=12\n.tensor y u8 [64] out\ncopy ub[0], y[8], 8\ncopy ub[8], A[0], "
      "44\nbarrier all\n"
      "copy y[0], ub[0], 64 \nend\n");
  EXPECT_TRUE(gm.says(
      "uninitialised-read x1 at test.npu:4: copy reads y at byte 8 on core 0, which nothing has written"))
      << gm.text();
  EXPECT_TRUE(gm.says("test.npu:5: copy reads A at byte 8 on core 0")) << gm.text();
  EXPECT_TRUE(gm.says("test.npu:7: copy reads ub at byte 52 on core 0")) << gm.text();
  // Padding was written.
  EXPECT_EQ(
      outcome(".tensor A u8 [8] in\ncopy ub[0], A[0], 5 {pad_to=8}\nbarrier all\nvld.u8 v0, ub[0]\nend\n")
          .text(),
      "none");
}

TEST(Sanitize, SH_15_outputs_that_are_never_written) {
  const std::string copy =
      ".tensor A u8 [64] in\n.tensor y u8 [64] out\n.tensor z u8 [3, 5] out pitch=9\ncopy ub[0], A[0], "
      "64\nbarrier all\n";
  const Outcome found = outcome(copy + "copy y[0], ub[0], 60\ncopy z[9], ub[0], 5\nend\n");
  EXPECT_TRUE(found.says("output-never-written x1")) << found.text();
  EXPECT_TRUE(found.says("4 of the 64 bytes of output y were never written")) << found.text();
  EXPECT_TRUE(found.says("10 of the 15 bytes of output z were never written")) << found.text();
  EXPECT_EQ(outcome(copy + "copy y[0], ub[0], 64\ncopy z[0], ub[0], 5 {count=3, dst_pitch=9}\nend\n").text(),
            "none");
  EXPECT_EQ(outcome(copy + "end\n", "tiny", {}, off()).text(), "none");
}

TEST(Sanitize, Off_is_silent_and_gives_the_same_values) {
  const std::string body =
      ".tensor y u8 [16] out\nvst.u8 ub[0], v3\nvld.u8 v1, ub[100]\nvadd.u8 v2, v1, v5\nvst.u8 ub[8], "
      "v2\nset_flag vector, mte3, 0\n"
      "wait_flag vector, mte3, 0\ncopy y[0], ub[0], 16\nset_flag mte3, vector, 1\nend\n";
  const Outcome fast = outcome(body);
  const Outcome silent = outcome(body, "tiny", {}, off());
  EXPECT_TRUE(fast.says("uninitialised-register")) << fast.text();
  EXPECT_EQ(silent.outputs, fast.outputs);
  EXPECT_EQ(silent.report.cycles, fast.report.cycles);
  for (const report::Diagnostic& d : silent.report.diagnostics) EXPECT_EQ(d.code, "flag-unbalanced");
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(silent.outputs.at("y")[i], std::byte{0xa5});   // poison
  for (std::size_t i = 8; i < 16; ++i) EXPECT_EQ(silent.outputs.at("y")[i], std::byte{0x4a});  // twice that
}

TEST(Sanitize, Assertions_end_the_run_with_their_place) {
  const Outcome failed = outcome("mov s1, 3\nadd s1, s1, 4\nnop\nassert s1, 8\nend\n");
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->category(), Category::verdict);
  EXPECT_EQ(failed.error->where().line, 5);
  EXPECT_TRUE(failed.says("assertion: test.npu:5: assertion failed on core 0 in cycle 2: 7 is not 8"))
      << failed.text();
  EXPECT_EQ(outcome("mov s1, 3\nassert s1, 3\nend\n").text(), "none");
}

TEST(Sanitize, Findings_are_the_same_for_every_core_and_are_told_by_place) {
  std::string body;
  for (int i = 0; i < 300; ++i) body += fmt::format("lds.u8 s1, ub[{}]\n", i);
  const Outcome found = outcome(body + "end\n", "tiny", {}, {});
  ASSERT_EQ(found.report.diagnostics.size(), 201U);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(found.report.diagnostics[i].where, fmt::format("test.npu:{}", i + 2));
    EXPECT_EQ(found.report.diagnostics[i].count, 2U);  // of two cores
  }
}

TEST(Sanitize, a_load_just_below_the_buffer_is_out_of_bounds) {
  try {
    test::run(test::machine("ascend910_opsblas"),
              ".kernel test/below\nmov s0, -32\nvld.f16 v0, ub[s0]\nend\n", test::one_core());
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "out-of-bounds");
  }
}

}  // namespace
}  // namespace npulab
