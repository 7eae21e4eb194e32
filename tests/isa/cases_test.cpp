// SPDX-License-Identifier: Apache-2.0
// Cases from the field, named by their ids.
#include <gtest/gtest.h>

#include <limits>

#include "isa/check.hpp"
#include "isa/syntax.hpp"
#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

using test::refusal;

// Every modifier of every instruction at min - 1, min, max, max + 1.
TEST(Fields, IS_01_every_modifier_keeps_its_range) {
  for (const InstructionInfo& row : instructions()) {
    for (const Mod mod : info(row.format).mods) {
      const ModInfo& rule = info(mod);
      Instruction in;
      in.op = row.op;
      for (std::size_t t = 0; t <= kDTypes.size() && !legal_types(row, in.type, in.type2); ++t)
        for (std::size_t t2 = 0; t2 <= kDTypes.size() && !legal_types(row, in.type, in.type2); ++t2) {
          in.type = static_cast<DType>(t);
          in.type2 = static_cast<DType>(t2);
        }
      for (const Slot& slot : info(row.format).slots) {
        Operand& operand = in.operands[in.operand_count++];
        for (const OperandKind one :
             {OperandKind::sreg, OperandKind::vreg, OperandKind::view, OperandKind::engine})
          if ((slot.kinds & kind(one)) != 0) operand.kind = one;
        if (operand.kind != OperandKind::view) operand.reg = 0;
      }
      in.mod_count = 1;
      in.mods[0].mod = mod;
      in.mods[0].value.kind = OperandKind::imm;
      const auto refused = [&](std::int64_t value) {
        in.mods[0].value.imm = value;
        const std::vector<Finding> findings = check_shape(in, 0);
        return !findings.empty() && findings[0].code == "value-range" &&
               findings[0].part.kind == PartKind::modifier;
      };
      SCOPED_TRACE(std::string(row.mnemonic) + " " + std::string(rule.name));
      EXPECT_FALSE(refused(rule.min));
      EXPECT_FALSE(refused(rule.max));
      if (rule.min > std::numeric_limits<std::int64_t>::min()) {
        EXPECT_TRUE(refused(rule.min - 1));
      }
      if (rule.max < std::numeric_limits<std::int64_t>::max()) {
        EXPECT_TRUE(refused(rule.max + 1));
      }
    }
  }
}

TEST(Fields, IS_01_immediates_keep_the_range_of_their_type) {
  const auto taken = [](const std::string& type, const std::string& value) {
    const test::Refusal refused = refusal("vdup." + type + " v0, " + value + "\nend\n");
    EXPECT_TRUE(refused.code.empty() || refused.code == "value-range") << refused.text;
    return refused.code.empty();
  };
  for (const DTypeInfo& type : kDTypes) {
    if (type.floating || type.bits < 8) continue;
    const std::int64_t span = std::int64_t{1} << (type.is_signed ? type.bits - 1 : type.bits);
    const std::int64_t least = type.is_signed ? -span : 0;
    const std::string name(type.name);
    EXPECT_FALSE(taken(name, std::to_string(least - 1)));
    EXPECT_TRUE(taken(name, std::to_string(least)));
    EXPECT_TRUE(taken(name, std::to_string(span - 1)));
    EXPECT_FALSE(taken(name, std::to_string(span)));
  }
  EXPECT_TRUE(taken("f16", "65504"));
  EXPECT_FALSE(taken("f16", "70000"));
  EXPECT_TRUE(taken("bf16", "3.3895e38"));
  EXPECT_FALSE(taken("bf16", "3.39e38"));
  EXPECT_TRUE(taken("f8e5m2", "-57344"));
  EXPECT_FALSE(taken("f8e5m2", "57345"));
}

TEST(Fields, IS_01_registers_flags_and_lanes) {
  const std::vector<std::pair<std::string, bool>> cases{{"mov s31, 0", true},
                                                        {"mov s32, 0", false},
                                                        {"vmov.f32 v126, v0", true},
                                                        {"vmov.f32 v128, v0", false},
                                                        {"copy ub[], gm[], 0", true},
                                                        {"copy ub[], gm[], -1", false},
                                                        {"set_flag mte2, vector, 7", true},
                                                        {"set_flag mte2, vector, 8", false},
                                                        {"vext.i8 s0, v0[31]", true},
                                                        {"vext.i8 s0, v0[32]", false},
                                                        {"set_flag mte2, vector, -1", false}};
  for (const auto& [text, good] : cases) EXPECT_EQ(refusal(text + "\nend\n").code.empty(), good) << text;
}

TEST(Labels, IS_02_undefined_duplicate_forward) {
  EXPECT_EQ(refusal("jmp nowhere\nend\n").text, "k.npu:1:5: undefined label 'nowhere'");
  EXPECT_EQ(refusal("x: nop\nx: end\n").code, "duplicate-label");
  EXPECT_EQ(test::assembled("jmp ahead\nnop\nahead: end\n").programs[0].instructions[0].operands[0].imm, 2);
}

TEST(Flags, SY_03_more_events_than_ids) {
  std::string text;
  for (int id = 0; id < 9; ++id) text += "set_flag mte2, vector, " + std::to_string(id) + "\n";
  EXPECT_EQ(refusal(text + "end\n").text,
            "k.npu:9:24: flag id 8: machine 'regs' has 8 ids for each pair of engines, 0…7");
}

TEST(Buffers, BF_01_need_have_and_list) {
  const auto fill = [](std::int64_t more) {
    return ".buffer big ub 131072\n.buffer rest ub " + std::to_string(65536 + more) + "\nend\n";
  };
  const Target target = test::view_machine();
  EXPECT_EQ(refusal(fill(-1), target).text, "");
  EXPECT_EQ(refusal(fill(0), target).text, "");
  EXPECT_EQ(refusal(fill(1), target).text,
            "k.npu:2:9: the buffers in 'ub' need 196609 bytes, machine 'views' has 196608: big at 0 (131072 "
            "bytes), rest at 131072 (65537 bytes)");
}

TEST(Buffers, BF_03_over_allocation_is_refused_before_any_run) {
  EXPECT_EQ(refusal(".buffer huge ub 1 << 40\nvld.f32 v0, huge[1 << 30]\nend\n").code, "space-full");
  EXPECT_EQ(refusal(".buffer huge ub -1\nend\n").code, "value-range");
}

TEST(Addresses, DM_10_constant_offsets_are_aligned) {
  for (const int offset : {0, 4, 16, 31, 32}) {
    const std::string text =
        ".buffer x ub 64\n.buffer y ub 256\nvld.f32 v0, y[" + std::to_string(offset) + "]\nend\n";
    const std::string expected = offset % 32 == 0
                                     ? ""
                                     : "k.npu:3:13: y[" + std::to_string(offset) +
                                           "]: buffer 'y' lies at 64, so offset " + std::to_string(offset) +
                                           " is address " + std::to_string(64 + offset) +
                                           " of 'ub'; it must be a multiple of 32";
    EXPECT_EQ(refusal(text).text, expected);
  }
  EXPECT_EQ(refusal("copy ub[4], gm[], 32\nend\n").code, "address-alignment");
}

TEST(Modifiers, DM_14_a_misspelt_field_is_an_error) {
  EXPECT_EQ(refusal("copy ub[], gm[], 32 {count=2, scr_pitch=64}\nend\n").text,
            "k.npu:1:31: copy has no modifier 'scr_pitch'; did you mean 'src_pitch'?");
  EXPECT_EQ(refusal("copy ub[], gm[], 32 {stride=64}\nend\n").code, "unknown-modifier");
  EXPECT_EQ(refusal("copy ub[], gm[], 32 {count=2, count=2}\nend\n").code, "duplicate-modifier");
}

}  // namespace
}  // namespace npulab::isa
