// SPDX-License-Identifier: Apache-2.0
// What the assembler says of text that is wrong whatever the machine.
#include <gtest/gtest.h>

#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

struct Case {
  const char* text;
  bool on_views;  // on the machine whose vector unit works on views
  const char* message;
};

// clang-format off
constexpr Case kCases[] = {
    {"mov s0, 010\nend\n", false,
     "k.npu:1:9: '010' begins with a zero, which other languages read as octal; write 10 or 0x…"},
    {"mov s0, 12ab\nend\n", false,
     "k.npu:1:9: '12ab' is not a number"},
    {"mov s0, $\nend\n", false,
     "k.npu:1:9: unexpected character '$'"},
    {"region \"abc\nend\n", false,
     "k.npu:1:8: the string has no closing '\"' on its line"},
    {"vad.f32 v0, v2, v4\nend\n", false,
     "k.npu:1:1: unknown instruction 'vad'; did you mean 'vadd'?"},
    {"vadd v0, v2, v4\nend\n", false,
     "k.npu:1:1: vadd needs an element type, as in vadd.f32; it takes f32, f16, bf16, i32, i16, i8, u8"},
    {"vadd.i4 v0, v2, v4\nend\n", false,
     "k.npu:1:6: vadd does not take i4; it takes f32, f16, bf16, i32, i16, i8, u8"},
    {"vadd.f23 v0, v2, v4\nend\n", false,
     "k.npu:1:6: unknown element type 'f23'; did you mean 'f32'?"},
    {"vadd.f32.f16 v0, v2, v4\nend\n", false,
     "k.npu:1:6: vadd takes one element type"},
    {"vfmaw.f32.i8 v0, v2, v4\nend\n", false,
     "k.npu:1:7: vfmaw.f32 does not take i8 as its second type; it takes f16, bf16"},
    {"vfmaw.f32 v0, v2, v4\nend\n", false,
     "k.npu:1:7: vfmaw.f32 needs a second element type, as in vfmaw.f32.f16; with f32 it takes f16, bf16"},
    {"mov.f32 s0, 1\nend\n", false,
     "k.npu:1:5: mov takes no element type"},
    {"vadd.f32 v0, v2\nend\n", false,
     "k.npu:1:16: vadd takes 3 operands, 2 given; the form is: vadd.TYPE dst, a, b {n, mask, repeat, dst_block, dst_repeat, a_block, a_repeat, b_block, b_repeat}"},
    {"vadd.f32 v0, v2, v4, v6\nend\n", false,
     "k.npu:1:20: vadd takes 3 operands, more are given; the form is: vadd.TYPE dst, a, b {n, mask, repeat, dst_block, dst_repeat, a_block, a_repeat, b_block, b_repeat}"},
    {"vadd.f32 v0 v2, v4\nend\n", false,
     "k.npu:1:13: expected ',' instead of 'v2'"},
    {"vadd.f32 v0, v2, v4 v6\nend\n", false,
     "k.npu:1:21: 'v6' is too much here; the form is: vadd.TYPE dst, a, b {n, mask, repeat, dst_block, dst_repeat, a_block, a_repeat, b_block, b_repeat}"},
    {"vadd.f32 v0, v2, v4 {m=3}\nend\n", false,
     "k.npu:1:22: vadd has no modifier 'm'; did you mean 'n'?"},
    {"vadd.f32 v0, v2, v4 {maks=3}\nend\n", false,
     "k.npu:1:22: vadd has no modifier 'maks'; did you mean 'mask'?"},
    {"copy ub[], gm[], 32 {src_pich=64}\nend\n", false,
     "k.npu:1:22: copy has no modifier 'src_pich'; did you mean 'src_pitch'?"},
    {"vadd.f32 v0, v2, v4 {n=3, n=4}\nend\n", false,
     "k.npu:1:27: modifier 'n' stands twice"},
    {"mov s0, 1 {n=1}\nend\n", false,
     "k.npu:1:12: mov has no modifier 'n'; it has none"},
    {"vcvt.i8.f32 v0, v8 {round=near}\nend\n", false,
     "k.npu:1:27: 'near' is no rounding mode; rounding mode: rne (nearest even), rtz (to zero), rdn (down), rup (up), rna (nearest, ties away)"},
    {"jmp nowhere\nend\n", false,
     "k.npu:1:5: undefined label 'nowhere'"},
    {"start: nop\njmp strat\nend\n", false,
     "k.npu:2:5: undefined label 'strat'; did you mean 'start'?"},
    {"a: nop\na: nop\nend\n", false,
     "k.npu:2:1: label 'a' is already defined, at the instruction of line 1; a label in a macro or .for is local when it begins with a dot"},
    {"loop 3\nendloop\nend\n", false,
     "k.npu:1:1: the body of this loop is empty"},
    {"loop 3\nregion \"a\"\nprint 1\nendloop\nend\n", false,
     "k.npu:1:1: nothing in the body of this loop takes time, and its turns take none: put a nop or any other instruction into it"},
    {"loop 3\nnop\nend\n", false,
     "k.npu:1:1: the loop has no endloop"},
    {"endloop\nend\n", false,
     "k.npu:1:1: endloop closes no loop"},
    {"loop 2\njmp out\nendloop\nout: end\n", false,
     "k.npu:2:5: jumps to line 4, out of the loop of line 1; to go on with its next turn, jump to a nop before endloop"},
    {"jmp in\nloop 2\nnop\nin: nop\nendloop\nend\n", false,
     "k.npu:1:5: jumps to line 4, into the loop of line 2"},
    {"loop 2\nend\nendloop\nend\n", false,
     "k.npu:2:1: 'end' stands in the loop of line 1"},
    {"loop 1\nloop 1\nloop 1\nloop 1\nloop 1\nnop\nendloop\nendloop\nendloop\nendloop\nendloop\nend\n", false,
     "k.npu:5:1: this is loop 5 within each other; machine 'regs' nests 4"},
    {"nop\n", false,
     "k.npu:1:1: the program runs off its end after this instruction; write 'end' behind it"},
    {"\n", false,
     "k.npu:1: the program has no instruction; the shortest one is 'end'"},
    {"jmp x\nend\nx:\n", false,
     "k.npu:1:5: jumps behind the last instruction; no instruction follows this label"},
    {"x y z\n", false,
     "k.npu:1:1: unknown instruction 'x'; known: endloop, vadd, vsub, vmul, vdiv, vmin, vmax, vabs, vneg, vfma, vfms, vfmaw, …"},
    {"barrier\nend\n", false,
     "k.npu:1:8: operand 'engine' is missing; the form is: barrier engine"},
    {"loop\nendloop\nend\n", false,
     "k.npu:1:5: operand 'count' is missing; the form is: loop count"},
    {"lab: .if 1\nend\n", false,
     "k.npu:1:6: .if stands on a line of its own, without a label"},
    {"+ 3\n", false,
     "k.npu:1:1: a line begins with a label, a directive or an instruction, not with '+'"},
    {"mov s0, (1 + 2\nend\n", false,
     "k.npu:1:15: expected ')' instead of the end of the line; the form is: (EXPRESSION)"},
};
// clang-format on

TEST(Messages, Text) {
  for (const Case& one : kCases) {
    const Target target = one.on_views ? test::view_machine() : test::register_machine();
    EXPECT_EQ(test::refusal(one.text, target).text, one.message) << one.text;
  }
}

}  // namespace
}  // namespace npulab::isa
