// SPDX-License-Identifier: Apache-2.0
// Several programs in one kernel: cores, numbering in expressions, both forms, and what core types lack.
#include <gtest/gtest.h>

#include "isa/binary.hpp"
#include "isa/check.hpp"
#include "isa/disassembler.hpp"
#include "isa/launch.hpp"
#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

Target tile() {
  Target target = test::register_machine();
  target.core_type = "tile";
  target.cores = 8;
  return target;
}

// Copies only, into the tiles' ub.
Target mem() {
  Target target = test::register_machine();
  target.core_type = "mem";
  target.cores = 2;
  target.vector_unit = false;
  target.vector_types = 0;
  target.spaces = {
      {"gm", std::uint64_t{1} << 36, 1}, {"stage", 65536, 1}, {"tile.ub", 65536, 32, "tile", 1, 8}};
  target.engines = {"scalar", "vector", "load", "feed"};
  target.paths = {{0, 1, 2}, {1, 2, 3, 0, false, 0, true}, {2, 1, 3}};
  target.flag_pairs = {{2, 3}};
  target.semaphores = 4;
  return target;
}

AssembleOptions with_mem() {
  AssembleOptions options;
  options.other_core_types = {mem()};
  return options;
}

Kernel assembled(const std::string& text) {
  return assemble({"k.npu", text}, tile(), {}, with_mem());
}

std::string refused(const std::string& text) {
  try {
    assembled(text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Programs, expressions_know_the_cores_of_all_programs) {
  // count(mem) is asked before the text says how many there are, and decides how many tiles there are.
  const Kernel kernel = assembled(R"(
.const MEMS = count(mem)
.program core=tile cores=count(mem) * 2
  mov s0, first(mem) + MEMS
.if count(mem) == 1
  nop
.endif
  end
.program core=mem cores=1
  mov s0, count(tile)
  end
)");
  ASSERT_EQ(kernel.programs.size(), 2U);
  EXPECT_EQ(kernel.programs[0].cores, 2U);
  EXPECT_EQ(kernel.programs[0].instructions.size(), 3U);
  EXPECT_EQ(kernel.programs[0].instructions[0].operands[1].imm, 3);
  EXPECT_EQ(kernel.programs[1].instructions[0].operands[1].imm, 2);
}

TEST(Programs, what_expressions_used_is_what_a_launch_gets) {
  EXPECT_EQ(assembled(".program core=tile\n  end\n").programs[0].cores, 0U);
  EXPECT_EQ(assembled(".program core=tile\n  mov s0, count(tile)\n  end\n").programs[0].cores, 8U);
  EXPECT_EQ(assembled("  mov s0, count(tile)\n  end\n").programs[0].cores, 8U);
}

TEST(Programs, first_and_count_are_names_for_other_things_too) {
  EXPECT_EQ(assembled(".const first = 3\n.const count = 4\n  mov s0, first + count\n  end\n")
                .programs[0]
                .instructions[0]
                .operands[1]
                .imm,
            7);
}

TEST(Programs, refusals) {
  EXPECT_EQ(refused("  mov s0, count(tiles)\n  end\n"),
            "k.npu:1:17: machine 'regs' has no core type 'tiles'; did you mean 'tile'?");
  EXPECT_EQ(refused(".program core=tile\n  mov s0, first(mem)\n  end\n"),
            "k.npu:2:17: no program of this kernel runs on core type 'mem'");
  EXPECT_EQ(refused(".program core=tile cores=9\n  end\n"),
            "k.npu:1:26: cores=9: machine 'regs' has 1…8 of type 'tile'");
  EXPECT_EQ(
      refused(".program core=tile cores=count(mem) + 1\n  end\n.program core=mem cores=count(tile)\n  end\n")
          .find("k.npu"),
      0U);
  EXPECT_EQ(
      refused(".program core=mem\n  copy tile.ub[0], stage[0], 32 {core=0, core_step=0, cores=2}\n  end\n"),
      "k.npu:2:3: core_step 0 names one core several times");
  EXPECT_EQ(refused(".program core=mem\n  copy tile.ub[0], stage[0], 32 {core=0, cores=9}\n  end\n"),
            "k.npu:2:3: core 8: machine 'regs' has 8 cores of type 'tile', 0…7");
  EXPECT_EQ(refused(".program core=mem\n  copy stage[0], gm[0], 32 {core=0}\n  end\n"),
            "k.npu:2:3: modifier 'core' is about buffers of other cores, and gm → stage stays in this one");
}

TEST(Programs, the_scalar_unit_reaches_local_buffers_only) {
  EXPECT_EQ(refused(".tensor A i32 [4] in\n  lds.i32 s0, A[0]\n  end\n"),
            "k.npu:2:15: operand 'src' of lds is in 'gm'; the scalar unit reaches local buffers only, copy "
            "it there");
  EXPECT_EQ(refused("  sts.i32 gm[0], s0\n  end\n").find("k.npu:1:11: operand 'dst' of sts is in 'gm'"), 0U);
}

TEST(Programs, buffers_of_other_cores_have_names_and_sizes) {
  const Kernel kernel = assembled(R"(
.program core=mem
.buffer a tile.ub 48
.buffer b tile.ub 32
  copy b[], stage[0], 32 {core=7}
  mov s0, size(tile.ub)
  end
)");
  EXPECT_EQ(kernel.programs[0].instructions[0].operands[0].imm, 64);
  EXPECT_EQ(kernel.programs[0].instructions[1].operands[1].imm, 65536);
}

TEST(Programs, both_forms_keep_them) {
  const std::string text = R"(
.program core=tile cores=3
  acquire mte2, 0 {by=2}
  release vector, 5, s3
  end
.program core=mem cores=1
  copy tile.ub[32], stage[s1], 32 {core=1, cores=s2, core_step=-1}
  acquire feed, 3
  end
)";
  Target with = tile();
  with.semaphores = 2;
  const AssembleOptions options = with_mem();
  const Kernel kernel = assemble({"k.npu", text}, with, {}, options);
  const std::string again_text = disassemble(kernel, with, options.other_core_types);
  const Kernel again = assemble({"k.npu", again_text}, with, {}, options);
  EXPECT_TRUE(test::same_programs(kernel, again)) << again_text;
  EXPECT_EQ(again.programs[0].cores, 3U);
  const Kernel decoded = decode(encode(kernel), "k.npub");
  EXPECT_EQ(decoded.programs[1].cores, 1U);
  EXPECT_EQ(decoded.hash(), kernel.hash());
  check(decoded, with, options.other_core_types);
  // It depends on both core types, and on no third one.
  Target wider = mem();
  wider.spaces[1].bytes *= 2;
  EXPECT_THROW(check(decoded, with, std::vector<Target>{wider}), Error);
  Target third = mem();
  third.core_type = "third";
  check(decoded, with, std::vector<Target>{third, mem()});
}

TEST(Launch, parts_follow_each_other) {
  const std::vector<Target> others{mem()};
  const std::vector<LaunchWish> wishes{{"mem", 1}, {"mem", 0}, {"", 3}, {"tile", 0}};
  const std::vector<LaunchPart> parts = launch_parts(wishes, tile(), others);
  const std::vector<LaunchPart> expected{
      {"mem", 0, 0, 1}, {"mem", 1, 1, 1}, {"tile", 2, 0, 3}, {"tile", 5, 3, 5}};
  EXPECT_EQ(parts, expected);
  const std::vector<LaunchCount> counts{{"mem", 0, 2}, {"tile", 2, 8}};
  EXPECT_EQ(launch_counts(parts), counts);
}

}  // namespace
}  // namespace npulab::isa
