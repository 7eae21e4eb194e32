// SPDX-License-Identifier: Apache-2.0
// What the assembler says of instructions that the machine cannot take.
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
    {"mov s0, 99999999999999999999\nend\n", false,
     "k.npu:1:9: '99999999999999999999' does not fit 64 bits; the largest is 9223372036854775807"},
    {"mov s0, 0x1ffffffffffffffff\nend\n", false,
     "k.npu:1:9: '0x1ffffffffffffffff' does not fit 64 bits; the largest is 0xffffffffffffffff"},
    {"vadd.f32 v128, v2, v4\nend\n", false,
     "k.npu:1:10: v128: machine 'regs' has 128 vector registers, v0…v127"},
    {"vadd.f32 v300, v2, v4\nend\n", false,
     "k.npu:1:10: v300: machine 'regs' has 128 vector registers, v0…v127"},
    {"vadd.f32 v1, v2, v4\nend\n", false,
     "k.npu:1:10: v1: a 256-bit operation on machine 'regs' takes 2 registers of 128 bits and names an even one: v0 or v2"},
    {"vfmaw.f32.f16 v126, v2, v4\nend\n", false,
     "k.npu:1:15: v126: operand 'dst' of vfmaw.f32.f16 takes 4 registers, v126…v129; machine 'regs' has v0…v127"},
    {"vadd.f32 v0, v2, v4[8]\nend\n", false,
     "k.npu:1:18: v4[8]: the lanes of f32 here are 0…7"},
    {"vadd.f32 v0, v2, v4[-1]\nend\n", false,
     "k.npu:1:18: v4[-1]: the lanes of f32 here are 0…7"},
    {"vadd.f32 v0, s2, v4\nend\n", false,
     "k.npu:1:14: operand 'a' of vadd is a vector register or a view; given is a scalar register"},
    {"vadd.f32 v0, ub[], v4\nend\n", false,
     "k.npu:1:14: operand 'a' of vadd: the vector unit of machine 'regs' works on its 128 registers, v0…v127; load the view with vld"},
    {"vadd.f32 v0, v2, v4\nend\n", true,
     "k.npu:1:10: operand 'dst' of vadd: machine 'views' has no vector registers; its vector unit works on views\n"
     "k.npu:1:14: operand 'a' of vadd: machine 'views' has no vector registers; its vector unit works on views\n"
     "k.npu:1:18: operand 'b' of vadd: machine 'views' has no vector registers; its vector unit works on views"},
    {"vld.f32 v0, ub[]\nend\n", true,
     "k.npu:1:9: vld works on vector registers, and machine 'views' has none: its vector unit works on views"},
    {"vadd.f32 ub[], ub[64], ub[128] {repeat=256}\nend\n", true,
     "k.npu:1:33: repeat is 256; machine 'views' repeats 0…255 times"},
    {"vadd.f32 ub[], ub[64], ub[128] {repeat=255}\nvadd.f32 ub[196608-256], ub[0], ub[128]\nvadd.f32 ub[196608-224], ub[0], ub[128]\nend\n", true,
     "k.npu:3:10: ub[196384]: bytes 196384…196639 are not within 'ub' of machine 'views', 196608 bytes"},
    {"vadd.f32 v0, v2, v4 {n=9}\nend\n", false,
     "k.npu:1:22: n is 9; vadd.f32 has 8 lanes on machine 'regs'"},
    {"vadd.f32 v0, v2, v4 {n=65536}\nend\n", false,
     "k.npu:1:22: modifier 'n' is 65536; the range is 0…65535"},
    {"vadd.f32 v0, v2, v4 {repeat=2}\nend\n", false,
     "k.npu:1:22: modifier 'repeat' belongs to views; the vector unit of machine 'regs' works on registers"},
    {"vld.f32 v0, ub[] {inc=4}\nend\n", false,
     "k.npu:1:19: inc adds to the base register of the view, and this view has none"},
    {"vld.f32 v0, L1[]\nend\n", false,
     "k.npu:1:13: 'L1' is no tensor, no buffer and no memory of machine 'regs'; did you mean 'l1'?"},
    {"vld.f32 v0, l1[]\nend\n", false,
     "k.npu:1:13: operand 'src' of vld is in 'l1'; the vector unit of machine 'regs' reaches 'ub' only"},
    {"vld.f32 v0, ub[65536]\nend\n", false,
     "k.npu:1:13: ub[65536]: bytes 65536…65567 are not within 'ub' of machine 'regs', 65536 bytes"},
    {"vld.f32 v0, ub[65536-16]\nend\n", false,
     "k.npu:1:13: ub[65520]: bytes 65520…65551 are not within 'ub' of machine 'regs', 65536 bytes"},
    {"vld.f32 v0, ub[4]\nend\n", false,
     "k.npu:1:13: ub[4]: address 4 of 'ub'; it must be a multiple of 32"},
    {"copy l1[], ub[], 4\nend\n", false,
     "k.npu:1:1: machine 'regs' has no path ub → l1; it has gm → ub (mte2), ub → gm (mte3), gm → l1 (mte2)"},
    {"copy ub[], gm[], 32 {pad_to=16}\nend\n", false,
     "k.npu:1:22: pad_to is 16, below the 32 bytes of a row"},
    {"set_flag vector, mte2, 8\nend\n", false,
     "k.npu:1:24: flag id 8: machine 'regs' has 8 ids for each pair of engines, 0…7"},
    {"set_flag mte2, mte3, 0\nend\n", false,
     "k.npu:1:10: machine 'regs' has no flags mte2 → mte3; it has mte2 → vector, vector → mte2, vector → mte3, mte3 → vector"},
    {"set_flag mte4, vector, 0\nend\n", false,
     "k.npu:1:10: machine 'regs' has no engine 'mte4'; did you mean 'mte2'?"},
    {"set_flag all, vector, 0\nend\n", false,
     "k.npu:1:10: operand 'source' of set_flag is one engine; 'all' is for barrier"},
    {"nop\n.param M = 3\nend\n", false,
     "k.npu:2:1: .param stands in the header, before the first buffer, label and instruction"},
    {"vdup.i8 v0, 128\nvdup.u8 v0, -1\nvdup.f16 v0, 65505\nvdup.f8e4m3 v0, 449\nvdup.f8e4m3 v0, inf\nvdup.f32 v0, 1e39\nvdup.i32 v0, 1.5\nmov s0, 1.5\nend\n", false,
     "k.npu:1:13: operand 'value' of vdup (i8) is 128; the range is -128…127\n"
     "k.npu:2:13: operand 'value' of vdup (u8) is -1; the range is 0…255\n"
     "k.npu:3:14: operand 'value' of vdup is 65505, beyond the largest f16, ±65504\n"
     "k.npu:4:17: operand 'value' of vdup is 449, beyond the largest f8e4m3, ±448\n"
     "k.npu:5:17: operand 'value' of vdup: f8e4m3 has no infinity\n"
     "k.npu:6:14: operand 'value' of vdup is 1e+39, beyond the largest f32, ±3.4028234663852886e+38\n"
     "k.npu:7:14: a floating number where an integer of i32 stands\n"
     "k.npu:8:9: a floating number where an integer stands"},
    {"mov s32, 1\nend\n", false,
     "k.npu:1:5: s32: machine 'regs' has 32 scalar registers, s0…s31"},
    {"mov s0, A\nend\n", false,
     "k.npu:1:9: undefined name 'A'; known: VREGS, OPBYTES, REGS_PER_OP, CORES, ARRAY_ROWS, ARRAY_COLUMNS, min, max, abs, ceildiv, align, log2ceil, …"},
    {"vld.f32 v0, ub[s1 + s2]\nend\n", false,
     "k.npu:1:21: a view adds at most one scalar register"},
    {"vld.f32 v0, ub[v1]\nend\n", false,
     "k.npu:1:16: the base of a view is a scalar register"},
    {"copy ub[], gm[], -1\nend\n", false,
     "k.npu:1:18: operand 'bytes' of copy is -1; the range is 0…281474976710655"},
    {"lds.f32 s0, ub[65533]\nend\n", false,
     "k.npu:1:13: ub[65533]: bytes 65533…65536 are not within 'ub' of machine 'regs', 65536 bytes"},
    {"vext.f16 s0, v2\nend\n", false,
     "k.npu:1:14: operand 'a' of vext is a lane of a vector register; given is a vector register"},
    {"print \"x\"\nend\n", false,
     "k.npu:1:7: a string is no operand here"},
    {"mov 3, s0\nend\n", false,
     "k.npu:1:5: operand 'dst' of mov is a scalar register; given is an integer"},
    {"vadd.f32 ub[], ub[64], 3\nvadd.f32 ub[], ub[64], v3[1]\nvadd.f32 l1[], ub[64], 3\nvdup.f32 ub[], s3 {a_block=3}\nvabs.f32 ub[], ub[64] {b_block=3}\nvadd.f32 ub[4], ub[64], 3\nend\n", true,
     "k.npu:2:24: operand 'b' of vadd: machine 'views' has no vector registers; its vector unit works on views\n"
     "k.npu:3:10: operand 'dst' of vadd is in 'l1'; the vector unit of machine 'views' reaches 'ub' only\n"
     "k.npu:4:20: vdup has no modifier 'a_block'; known: n, mask, repeat, dst_block, dst_repeat\n"
     "k.npu:5:24: vabs has no modifier 'b_block'; did you mean 'a_block'?\n"
     "k.npu:6:10: ub[4]: address 4 of 'ub'; it must be a multiple of 32"},
    {"mov v0, 1\nset_flag 1, 2, 3\njmp 3\nbarrier 4\nend\n", false,
     "k.npu:1:5: operand 'dst' of mov is a scalar register; given is a vector register\n"
     "k.npu:2:10: expected the name of an engine instead of '1'; the form is: ENGINE\n"
     "k.npu:3:5: expected a label instead of '3'; the form is: jmp label\n"
     "k.npu:4:9: expected the name of an engine instead of '4'; the form is: ENGINE"},
    {"vadd.f32 ub[], ub[64], 3 {b_block=3}\nend\n", true,
     "k.npu:1:27: modifier 'b_block' is about operand 'b', which is no view here"},
};
// clang-format on

TEST(Messages, Machine) {
  for (const Case& one : kCases) {
    const Target target = one.on_views ? test::view_machine() : test::register_machine();
    EXPECT_EQ(test::refusal(one.text, target).text, one.message) << one.text;
  }
}

}  // namespace
}  // namespace npulab::isa
