// SPDX-License-Identifier: Apache-2.0
// What the assembler says of wrong directives and expressions.
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
    {".buffer a ub 100\n.buffer b ub 64\nvld.f32 v0, b[4]\nvld.f32 v0, b[64]\nvld.f32 v0, b[48]\nend\n", false,
     "k.npu:3:13: b[4]: buffer 'b' lies at 128, so offset 4 is address 132 of 'ub'; it must be a multiple of 32\n"
     "k.npu:4:13: b[64]: bytes 64…95 are not within buffer 'b', 64 bytes\n"
     "k.npu:5:13: b[48]: bytes 48…79 are not within buffer 'b', 64 bytes"},
    {".tensor A f32 [4] in\ncopy ub[], A[16], 4\ncopy ub[], A[-1], 4\ncopy ub[], A[s1-1], 4\nend\n", false,
     "k.npu:2:12: A[16]: tensor 'A' has 16 bytes, offsets 0…15\n"
     "k.npu:3:12: A[-1]: tensor 'A' has 16 bytes, offsets 0…15"},
    {".param M = 5 in 1..4\nend\n", false,
     "k.npu:1:8: the default of parameter M = 5 is not in 1..4"},
    {".param M = 5 in 4..1\nend\n", false,
     "k.npu:1:17: the range 4..1 is empty"},
    {".param M = K\n.const Z = M + 1\nend\n", false,
     "k.npu:1:12: undefined name 'K'; known: VREGS, OPBYTES, REGS_PER_OP, CORES, ARRAY_ROWS, ARRAY_COLUMNS, min, max, abs, ceildiv, align, log2ceil, …"},
    {".param M = 1\n.param M = 2\nend\n", false,
     "k.npu:2:8: 'M' is already a parameter, defined at k.npu:1:8"},
    {".param v3 = 1\nend\n", false,
     "k.npu:1:8: 'v3' has a meaning of its own and cannot be defined"},
    {".param size = 1\nend\n", false,
     "k.npu:1:8: 'size' has a meaning of its own and cannot be defined"},
    {".tensor ub f32 [3] in\nend\n", false,
     "k.npu:1:9: 'ub' is a memory of machine 'regs'; name the tensor otherwise"},
    {".tensor A f33 [3] in\nend\n", false,
     "k.npu:1:11: unknown element type 'f33'; known: f32, f16, bf16, i32, i16, i8, u8, i4, f8e4m3, f8e5m2"},
    {".tensor A f32 [3, -1] in\nend\n", false,
     "k.npu:1:16: dimension -1 of tensor 'A' is below 0"},
    {".tensor A f32 [3, 4] in pitch=3\nend\n", false,
     "k.npu:1:25: pitch 3 of tensor 'A' is below its last dimension, 4 elements"},
    {".tensor A i4 [3, 3] in\nend\n", false,
     "k.npu:1:15: rows of tensor 'A' take 3 × 4 bits, which is no whole number of bytes; give it an even pitch"},
    {".tensor A f32 [3] input\nend\n", false,
     "k.npu:1:19: 'input' is not a direction; known: in, out, inout"},
    {".tensor A f32 [1<<40, 1<<40] in\nend\n", false,
     "k.npu:1:16: tensor 'A' is larger than 2^63 elements or bits"},
    {".kernel /x\nend\n", false,
     "k.npu:1:9: '/x' is not a kernel name: letters, digits, _ - and . in parts with / between"},
    {".kern x\nend\n", false,
     "k.npu:1:1: unknown directive '.kern'; known: .kernel, .doc, .param, .const, .tensor, .reference, .require, .program, .buffer, .reg, .vreg, .macro, …"},
    {".require 1 == 2, \"M = {1 + 1} is not {VREGS}\"\nend\n", false,
     "k.npu:1:10: M = 2 is not 128"},
    {".const A = 1 << 63\n.const B = 9223372036854775807 + 1\n.const C = 5 / 0\n.const D = (1 ? 2 : 1/0) + (0 && 1/0) + (1 || 1/0)\n.const E = min(1)\n.const F = minn(1, 2)\n.const G = ((1)\n.const H = ceildiv(1, 0)\n.const I = size(ubb)\n.const J = bytes(i4)\n.const K = 1.5\n.const L = 1 << 64\n.const M = FOO\nend\n", false,
     "k.npu:1:14: 1 << 63 does not fit 64 bits\n"
     "k.npu:2:32: 9223372036854775807 + 1 does not fit 64 bits\n"
     "k.npu:3:14: 5 / 0: division by zero\n"
     "k.npu:5:17: expected ',' instead of ')'; the form is: min(a, b)\n"
     "k.npu:6:12: unknown function 'minn'; did you mean 'min'?\n"
     "k.npu:7:16: expected ')' instead of the end of the line; the form is: (EXPRESSION)\n"
     "k.npu:8:12: ceildiv(1, 0): needs a >= 0 and b > 0\n"
     "k.npu:9:17: machine 'regs' has no memory 'ubb'; did you mean 'ub'?\n"
     "k.npu:10:18: i4 elements have 4 bits and fill no whole byte; use bits(i4)\n"
     "k.npu:11:12: 1.5 is not an integer; expressions are 64-bit integers\n"
     "k.npu:12:14: 1 << 64: a shift is by 0…63\n"
     "k.npu:13:12: undefined name 'FOO'; known: A, B, C, D, E, F, G, H, I, J, K, L, …"},
    {".buffer a ub 65505\n.buffer b ub 32\nend\n", false,
     "k.npu:2:9: the buffers in 'ub' need 65568 bytes, machine 'regs' has 65536: a at 0 (65505 bytes), b at 65536 (32 bytes)"},
    {".buffer a ub -1\nend\n", false,
     "k.npu:1:14: buffer 'a' has -1 bytes; the range is 0…281474976710656"},
    {".buffer a gm 1\nend\n", false,
     "k.npu:1:11: machine 'regs' has no local memory 'gm'; known: ub, l1"},
    {".buffer a ub 1 align=3\nend\n", false,
     "k.npu:1:22: align is 3; it is a power of two up to 2^30"},
    {".macro m a, b\nadd s0, a, b\n.endm\nm 1\nm 1, 2, 3\nm s1, v3\nend\n", false,
     "k.npu:4:1: macro 'm': argument 'b' is missing; the form is: m a, b\n"
     "k.npu:5:1: macro 'm' takes 2 arguments, 3 given; the form is: m a, b\n"
     "k.npu:2:12: operand 'b' of add is a scalar register or an integer; given is a vector register (in macro 'm', called at k.npu:6)"},
    {".macro m\nlab: nop\n.endm\nm\nm\nend\n", false,
     "k.npu:2:1: label 'lab' is already defined, at the instruction of line 2; a label in a macro or .for is local when it begins with a dot (in macro 'm', called at k.npu:5)"},
    {".macro m\nm\n.endm\nm\nend\n", false,
     "k.npu:2: blocks and macros stand more than 64 within each other (in macro 'm', called at k.npu:2)"},
    {".for i in 0..10000000000\n.endfor\nend\n", false,
     "k.npu:1:25: the text expands to more than 4000000 lines"},
    {".if 1\nend\n", false,
     "k.npu:1:1: .if has no .endif"},
    {".endif\n", false,
     "k.npu:1:1: .endif closes nothing"},
    {".for i in 0..3\n.if i\n.endfor\n.endif\n", false,
     "k.npu:3:1: .endfor where .endif must come first, which closes the .if of line 2"},
    {".for i in 0..3 step 0\n.endfor\n", false,
     "k.npu:1:16: a step of 0 never ends"},
    {".for i in 0..3\n.for i in 0..3\nnop\n.endfor\n.endfor\nend\n", false,
     "k.npu:2:6: 'i' is already a name here"},
    {".include \"x\"\nend\n", false,
     "k.npu:1:10: \"x\": includes are not available here"},
    {".program core=aiv\nend\n", false,
     "k.npu:1:15: machine 'regs' has no core type 'aiv'; known: core"},
    {".tensor A f32 [3] in\nmov s0, A\nend\n", false,
     "k.npu:2:9: 'A' alone is no operand; a view of it is A[…]"},
    {".macro load_tile x\nnop\n.endm\nload_tle 3\nend\n", false,
     "k.npu:4:1: unknown instruction 'load_tle'; did you mean 'load_tile'?"},
    {".macro vadd x\n.endm\nend\n", false,
     "k.npu:1:8: 'vadd' cannot name a macro: it is an instruction or holds a dot"},
    {".const a = 1\n.for a in 0..2\nnop\n.endfor\nend\n", false,
     "k.npu:2:6: 'a' is already a constant, defined at k.npu:1:8"},
    {".reg x = v3\n.vreg y = v200\nmov s0, y\nmov x, 1\nend\n", false,
     "k.npu:1:10: expected a register; the form is: .reg NAME = sN\n"
     "k.npu:2:11: v200: machine 'regs' has 128 vector registers, v0…v127"},
    {".vreg acc = v120\nvadd.f32 acc{8}, v2, v4\nvadd.f32 acc{-122}, v2, v4\nmov s{-1}, 3\nend\n", false,
     "k.npu:2:10: v128: machine 'regs' has 128 vector registers, v0…v127\n"
     "k.npu:3:10: v-2: machine 'regs' has 128 vector registers, v0…v127\n"
     "k.npu:4:5: s-1: machine 'regs' has 32 scalar registers, s0…s31"},
    {".reference gemv A=A, A=B\nend\n", false,
     "k.npu:1:22: argument 'A' stands twice"},
    {".reference gemv A\nend\n", false,
     "k.npu:1:18: expected '=' instead of the end of the line; the form is: .reference OPERATION [NAME=VALUE, …]"},
    {".require 1\nend\n", false,
     "k.npu:1:11: expected ',' instead of the end of the line; the form is: .require EXPRESSION, \"text\""},
    {".doc hello\nend\n", false,
     "k.npu:1:6: expected a text in double quotes instead of 'hello'; the form is: .doc \"text\""},
    {".tensor A f32 3 in\nend\n", false,
     "k.npu:1:15: expected '[' instead of '3'; the form is: .tensor NAME TYPE [DIM, …] in|out|inout [pitch=EXPRESSION] [\"text\"]"},
    {".if 1\n.else\n.else\n.endif\n", false,
     "k.npu:3:1: .else after .else"},
    {".endm\n", false,
     "k.npu:1:1: .endm closes nothing"},
    {".buffer a ub 64\n.buffer a ub 64\nend\n", false,
     "k.npu:2:9: 'a' is already a buffer, defined at k.npu:1:9"},
    {".buffer u1 ub 32\n.const k = u1 + 4\nlds.f32 s1, u1[k]\nvld.f32 v0, u1[s1 - 64 + 2 * k]\nvld.f32 v0, u1[2 * k - s1]\nvld.f32 v0, u1[s1 << 2]\nend\n", false,
     "k.npu:3:13: u1[4]: buffer 'u1' lies at 0, so offset 4 is address 4 of 'ub'; it must be a multiple of 32\n"
     "k.npu:5:24: a view adds at most one scalar register\n"
     "k.npu:6:19: expected ']' instead of '<<'; the form is: NAME[REGISTER + OFFSET], the offset in bytes"},
};
// clang-format on

TEST(Messages, Header) {
  for (const Case& one : kCases) {
    const Target target = one.on_views ? test::view_machine() : test::register_machine();
    EXPECT_EQ(test::refusal(one.text, target).text, one.message) << one.text;
  }
}

}  // namespace
}  // namespace npulab::isa
