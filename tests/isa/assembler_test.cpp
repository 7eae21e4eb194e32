// SPDX-License-Identifier: Apache-2.0
// The assembler: what each statement of the text form means.
#include "isa/assembler.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

using test::assembled;

const Instruction& at(const Kernel& kernel, std::size_t index) {
  return kernel.programs.at(0).instructions.at(index);
}

TEST(Assembler, WholeKernel) {
  const Kernel kernel = assembled(R"(
; y = A x
.kernel gemv/small
.doc "One line."
.doc "Another."
.param M = 64 in 1..4096 "rows"
.param K = M * 2 in 1..8192 "columns"
.param BM = 4
.const BYTES = K * bytes(f16)
.tensor A f16 [M, K] in pitch=K + 8 "matrix"
.tensor y f32 [M] out
.reference gemv A=A, y=y, accumulate=f32, rows=(M / 2)
.require M % BM == 0, "M = {M} is no multiple of {BM}"
.buffer tile ub BYTES * BM align=64
.buffer sums ub 4 * BM
.reg row = s4
.vreg acc = v8
        mov row, 0
again:  copy tile[], A[row + BYTES], BYTES {count=BM, src_pitch=2*K}
        set_flag mte2, vector, 0
        wait_flag mte2, vector, 0
        loop BM
          vld.f16 v0, tile[s1] {inc=32}
          .for i in 0..2
          vfmaw.f32.f16 acc{4*i}, v0, v2[3]
          .endfor
          vmul.f32 v4, v4, -1.5e-3
        endloop
        add row, row, 1
        blt row, BM, again
        region "done"
        barrier all
        end
)");
  EXPECT_EQ(kernel.header.name, "gemv/small");
  EXPECT_EQ(kernel.header.doc, "One line.\nAnother.");
  ASSERT_EQ(kernel.header.params.size(), 3U);
  EXPECT_EQ(kernel.header.params[1].value, 128);
  EXPECT_EQ(kernel.header.params[1].max, 8192);
  ASSERT_EQ(kernel.header.tensors.size(), 2U);
  EXPECT_EQ(kernel.header.tensors[0].shape_parameters, (std::vector<std::string>{"M", "K"}));
  EXPECT_EQ(kernel.header.tensors[0].pitch, 136);
  EXPECT_EQ(kernel.header.tensors[0].bytes(), 64U * 136 * 2);
  EXPECT_EQ(kernel.header.reference.arguments.at("rows"), "32");
  EXPECT_EQ(kernel.header.reference.arguments.at("accumulate"), "f32");

  const Instruction& copy = at(kernel, 1);
  EXPECT_EQ(copy.op, Op::Copy);
  EXPECT_EQ(copy.operands[1].tensor, 0);
  EXPECT_EQ(copy.operands[1].reg, 4);
  EXPECT_EQ(copy.operands[1].imm, 256);
  EXPECT_EQ(copy.mod(Mod::src_pitch)->imm, 256);
  EXPECT_EQ(at(kernel, 4).op, Op::Loop);
  EXPECT_EQ(at(kernel, 4).operands[1].imm, 9);
  EXPECT_EQ(at(kernel, 7).operands[0].reg, 12);
  EXPECT_EQ(at(kernel, 7).operands[2].kind, OperandKind::lane);
  EXPECT_EQ(std::bit_cast<double>(at(kernel, 8).operands[2].imm), -1.5e-3);
  EXPECT_EQ(at(kernel, 10).operands[2].imm, 1);
  EXPECT_EQ(kernel.programs[0].strings.at(0), "done");
  EXPECT_EQ(kernel.programs[0].places.at(1), (SourcePlace{0, 19, 0}));
  EXPECT_EQ(kernel.programs[0].labels.at("again"), 1U);
}

}  // namespace
}  // namespace npulab::isa
