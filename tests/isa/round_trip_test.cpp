// SPDX-License-Identifier: Apache-2.0
// Every row of the table with every legal pair of types goes text -> kernel -> text -> kernel and through the
// bytes.
#include <gtest/gtest.h>

#include <random>

#include "isa/assembler.hpp"
#include "isa/binary.hpp"
#include "isa/builder.hpp"
#include "isa/check.hpp"
#include "isa/disassembler.hpp"
#include "isa/syntax.hpp"
#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

// One operand that the slot takes; `variant` chooses among the kinds that the machine has for it.
std::string operand_text(const InstructionInfo& row, std::size_t index, DType type, const Target& target,
                         unsigned variant) {
  const Slot& slot = info(row.format).slots[index];
  const KindSet kinds = row.family == Family::Vector || row.family == Family::VectorMemory
                            ? accepted(slot, target.form)
                            : slot.kinds;
  std::vector<std::string> choices;
  const auto offer = [&](OperandKind one, const std::string& text) {
    if ((kinds & kind(one)) != 0) choices.push_back(text);
  };
  if (row.format == Format::Region) return variant % 2 == 0 ? "\"part \\\"one\\\"\"" : "\"two\"";
  if (row.family == Family::Transfer && index < 2)
    return index == 0         ? variant % 3 == 0 ? "ub[s1 + 64]" : "core.ub[s1 + 64]"
           : variant % 2 == 0 ? "A[s2 - 32]"
                              : "gm[4096]";
  if ((row.format == Format::SetFlag || row.format == Format::WaitFlag) && index < 2)
    return index == 0 ? "mte2" : "vector";
  offer(OperandKind::vreg, std::to_string(index * 32).insert(0, "v"));
  offer(OperandKind::lane, "v32[1]");
  offer(OperandKind::sreg, "s5");
  offer(OperandKind::view, variant % 3 == 0 ? "ub[s1 + 64]" : variant % 3 == 1 ? "ub[128]" : "ub[s1 - 32]");
  offer(OperandKind::engine, variant % 2 == 0 || row.format != Format::Barrier ? "mte3" : "all");
  offer(OperandKind::target, "start");
  if (type == DType::none || !info(type).floating) offer(OperandKind::imm, variant % 2 == 0 ? "7" : "0");
  if (type != DType::none && info(type).floating) offer(OperandKind::fimm, variant % 2 == 0 ? "-0.125" : "2");
  return choices.at(variant % choices.size());
}

std::string instruction_text(const InstructionInfo& row, DType type, DType type2, const Target& target,
                             unsigned variant) {
  Instruction typed;
  typed.op = row.op;
  typed.type = type;
  typed.type2 = type2;
  std::string text = mnemonic(typed);
  bool has_base = false;
  bool b_is_view = false;
  for (std::size_t i = 0; i < written_operands(row); ++i) {
    const SlotType element = info(row.format).slots[i].element;
    const DType of = element == SlotType::type ? type : element == SlotType::type2 ? type2 : DType::none;
    const std::string operand = operand_text(row, i, of, target, variant + static_cast<unsigned>(i));
    b_is_view = b_is_view || (info(row.format).slots[i].name == "b" && operand.substr(0, 2) == "ub");
    has_base = has_base || operand.find("[s") != std::string::npos;
    text += (i == 0 ? " " : ", ") + operand;
  }
  std::string mods;
  std::size_t count = 0;
  for (const Mod mod : info(row.format).mods) {
    if (variant % 3 == 0 || ++count > kMaxMods) continue;
    if (mod == Mod::inc && !has_base) continue;
    if ((mod == Mod::b_block || mod == Mod::b_repeat) && !b_is_view) continue;
    if (target.form == OperandForm::registers && mod >= Mod::repeat && mod <= Mod::b_repeat) continue;
    // Those that exclude each other.
    if (mod == (variant % 2 == 0 ? Mod::layout : Mod::pad_to)) continue;
    if (mod == (variant % 2 == 0 ? Mod::scale : Mod::scale_at)) continue;
    const Enumeration* names = enumeration(mod);
    const std::string value = names != nullptr     ? std::string(names->names[variant % 2])
                              : mod == Mod::shape  ? "m8k8n8"
                              : mod == Mod::engine ? "mte2"
                              : variant % 3 == 1 && info(mod).may_be_register ? "s9"
                              : mod == Mod::pad_to                            ? "32"
                                                                              : "1";
    mods += (mods.empty() ? " {" : ", ") + std::string(info(mod).name) + "=" + value;
  }
  return text + (mods.empty() ? "" : mods + "}");
}

std::string whole(const InstructionInfo& row, const std::string& instruction) {
  std::string text = ".tensor A f16 [64, 64] inout\nstart: nop\n  " + instruction + "\n";
  if (row.op == Op::Loop) text += "  nop\nendloop\n";
  return text + "  end\n";
}

bool fits(const InstructionInfo& row, const Target& target) {
  if (row.cost == CostClass::Matrix)
    return target.matrix && (target.matrix->kind == MatrixKind::mmul) == (row.format == Format::Tile);
  if (row.family != Family::Vector && row.family != Family::VectorMemory) return true;
  for (const Slot& slot : info(row.format).slots)
    if (accepted(slot, target.form) == 0) return false;
  return true;
}

// With a path that reaches the buffers of other cores, and semaphores.
Target with_other_cores(Target target) {
  const Space ub = target.spaces[1];
  CopyPath path = target.paths.front();
  path.to = static_cast<std::uint8_t>(target.spaces.size());
  path.multicast = true;
  target.paths.push_back(path);
  target.spaces.push_back({"core.ub", ub.bytes, ub.alignment, "core", 1, 32});
  target.semaphores = 8;
  return target;
}

TEST(RoundTrip, EveryRowWithEveryLegalType) {
  std::size_t cases = 0;
  for (const Target& target :
       {with_other_cores(test::register_machine()), with_other_cores(test::view_machine()),
        with_other_cores(test::matrix_machine(MatrixKind::cube)),
        with_other_cores(test::matrix_machine(MatrixKind::mmul))}) {
    for (const InstructionInfo& row : instructions()) {
      if (!fits(row, target)) continue;
      for (std::size_t t = 0; t <= kDTypes.size(); ++t) {
        for (std::size_t t2 = 0; t2 <= kDTypes.size(); ++t2) {
          const auto type = static_cast<DType>(t);
          const auto type2 = static_cast<DType>(t2);
          if (!legal_types(row, type, type2)) continue;
          for (unsigned variant = 0; variant < 6; ++variant) {
            const std::string text = whole(row, instruction_text(row, type, type2, target, variant));
            SCOPED_TRACE(text);
            const Kernel kernel = test::assembled(text, target);
            check(kernel, target);
            const Kernel again = test::assembled(disassemble(kernel, target), target);
            ASSERT_TRUE(test::same_programs(kernel, again)) << disassemble(kernel, target);
            const std::vector<std::byte> bytes = encode(kernel);
            const Kernel decoded = decode(bytes, "k.npk");
            ASSERT_TRUE(test::same_programs(kernel, decoded));
            ASSERT_EQ(encode(decoded), bytes);
            ASSERT_EQ(decoded.hash(), kernel.hash());
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 2000U);
}

constexpr const char* kWholeKernel = R"(.kernel a/b-c_d.e
.doc "first \"line\""
.doc "second"
.param N = 32 in -5..64 "an \\ n"
.param P = 1 << 62
.tensor A i4 [3, N] in pitch=N + 2 "codes"
.tensor b f8e5m2 [N] out
.reference gemv A=A, n=(N - 40), t=f16
.program cores=8
start: mov s1, 0x8000000000000000
outer: loop 3
  loop s1
    region "x"
    copy ub[], A[s1 + 2], 2
  endloop
  endloop
  vadd.f32 v0, v2, inf
  vadd.f32 v0, v2, -0.0
  vdup.f16 v0, nan
  bge s1, 5, start
  beq s1, 5, last
.program core=core
  jmp forward
forward: print 3
last: end
)";

TEST(RoundTrip, HeaderAndPrograms) {
  const Target target = test::register_machine();
  std::string text = kWholeKernel;
  text.insert(text.rfind(".program"), "last: end\n");
  const Kernel kernel = test::assembled(text, target, {{"N", 40}});
  const Kernel again = test::assembled(disassemble(kernel, target), target);
  ASSERT_TRUE(test::same_programs(kernel, again)) << disassemble(kernel, target);
  EXPECT_EQ(again.programs[0].labels, kernel.programs[0].labels);
  EXPECT_EQ(again.header.params.at(0).default_value, 40);
  const Kernel decoded = decode(encode(kernel), "x");
  EXPECT_EQ(decoded.programs[0].places, kernel.programs[0].places);
  for (const KernelHeader* header : {&again.header, &decoded.header}) {
    EXPECT_EQ(header->name, "a/b-c_d.e");
    EXPECT_EQ(header->doc, "first \"line\"\nsecond");
    EXPECT_EQ(header->params.at(0).doc, "an \\ n");
    EXPECT_EQ(header->params.at(0).value, 40);
    EXPECT_EQ(header->params.at(0).min, -5);
    EXPECT_EQ(header->params.at(1).value, std::int64_t{1} << 62);
    EXPECT_EQ(header->tensors.at(0).pitch, 42);
    EXPECT_EQ(header->tensors.at(0).shape, (std::vector<std::int64_t>{3, 40}));
    EXPECT_EQ(header->tensors.at(0).doc, "codes");
    EXPECT_EQ(header->tensors.at(1).direction, Direction::out);
    EXPECT_EQ(header->reference.arguments, kernel.header.reference.arguments);
  }
}

TEST(RoundTrip, PlacesAndFiles) {
  AssembleOptions options;
  options.include = [](const std::string& name) { return Source{name, ".macro m\nnop\n.endm\nnop\n"}; };
  const auto kernel_in = [&](const std::string& folder) {
    return assemble({folder + "k.npu", ".include \"lib/a.inc\"\nm\nend\n"}, test::register_machine(), {},
                    options);
  };
  const Kernel kernel = kernel_in("/some/where/");
  const std::vector<std::byte> bytes = encode(kernel);
  EXPECT_EQ(bytes, encode(kernel_in("")));  // the same wherever it lies
  const Kernel decoded = decode(bytes, "k.npub");
  EXPECT_EQ(decoded.programs[0].places, kernel.programs[0].places);
  EXPECT_EQ(to_string(decoded.where(decoded.programs[0], 1)), "lib/a.inc:2 (from k.npu:2)");
  EXPECT_EQ(encode(decoded), bytes);
  EXPECT_EQ(kernel.hash(), test::assembled("nop\nnop\nend\n").hash());
}

TEST(RoundTrip, HashIgnoresLinesAndLabels) {
  EXPECT_EQ(test::assembled("mov s0, 1\nend\n").hash(),
            test::assembled("\n; c\nx: mov s0, 1\ny: end\n").hash());
  EXPECT_NE(test::assembled("mov s0, 1\nend\n").hash(), test::assembled("mov s0, 2\nend\n").hash());
}

TEST(RoundTrip, BuilderMakesTheSameProgram) {
  const Target target = test::register_machine();
  const Kernel text = test::assembled(R"(
.tensor A f32 [64] in
top: mov s0, 0
  loop 4
    vld.f32 v0, ub[s0 + 32] {n=4, inc=32}
    vfmaw.f32.f16 v4, v0, v2[1]
    vmul.f32 v8, v8, 0.5
  endloop
  copy ub[], A[s0], 64
  region "tail"
  barrier all
  bne s0, 8, done
  jmp top
done: end
)");
  Builder b(target, "k");
  b.header().tensors.push_back(text.header.tensors[0]);
  b.label("top");
  b.emit(Op::Mov, {sreg(0), imm(0)});
  b.loop(imm(4));
  b.emit(Op::Vld, DType::f32, DType::none, {vreg(0), view(1, sreg(0), 32)},
         {{Mod::inc, imm(32)}, {Mod::n, imm(4)}});
  b.emit(Op::Vfmaw, DType::f32, DType::f16, {vreg(4), vreg(0), lane(2, 1)});
  b.emit(Op::Vmul, DType::f32, DType::none, {vreg(8), vreg(8), fimm(0.5)});
  b.endloop();
  b.emit(Op::Copy, {view(1), tensor(0, sreg(0)), imm(64)});
  b.region("tail");
  b.emit(Op::Barrier, {engine(kAllEngines)});
  b.branch(Op::Bne, {sreg(0), imm(8)}, "done");
  b.branch(Op::Jmp, {}, "top");
  b.label("done");
  b.emit(Op::End);
  const Kernel built = b.finish();
  EXPECT_TRUE(test::same_programs(text, built));
  EXPECT_EQ(text.programs[0].labels, built.programs[0].labels);
  EXPECT_EQ(text.hash(), built.hash());
}

TEST(RoundTrip, BuilderRefusesWhatTextRefuses) {
  const Target target = test::register_machine();
  Builder b(target, "k");
  b.emit(Op::Vadd, DType::f32, DType::none, {vreg(1), vreg(2), vreg(4)});
  b.emit(Op::End);
  try {
    b.finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "register-alignment");
    EXPECT_NE(error.message().find("instruction 0: v1: a 256-bit operation"), std::string::npos)
        << error.what();
  }
}

std::vector<std::byte> sample() {
  std::string text = kWholeKernel;
  text.insert(text.rfind(".program"), "last: end\n");
  return encode(test::assembled(text));
}

TEST(Binary, EveryTruncationAndExtensionIsRefused) {
  std::vector<std::byte> bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(decode(std::span(bytes).first(size), "t.npk"), Error) << size;
  bytes.push_back(std::byte{0});
  try {
    decode(bytes, "t.npk");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "trailing-bytes");
    EXPECT_NE(std::string(error.what()).find("t.npk: byte "), std::string::npos) << error.what();
  }
}

TEST(Binary, FieldsThatMustBeAtRestAreChecked) {
  std::vector<std::byte> bytes = sample();
  const auto code = [](const std::vector<std::byte>& data) -> std::string {
    try {
      decode(data, "t.npk");
    } catch (const Error& error) {
      return error.code();
    }
    return {};
  };
  EXPECT_EQ(code(bytes), "");
  for (const int other : {0, 1, kBinaryVersion + 1}) {
    bytes[4] = static_cast<std::byte>(other);
    EXPECT_EQ(code(bytes), "unknown-version");
  }
  bytes[4] = static_cast<std::byte>(kBinaryVersion);
  bytes[6] = std::byte{1};
  EXPECT_EQ(code(bytes), "unused-field");
  bytes[0] = std::byte{'n'};
  EXPECT_EQ(code(bytes), "not-a-kernel");
}

TEST(Binary, MutationsNeverCrash) {
  const std::vector<std::byte> good = sample();
  const Target target = test::register_machine();
  std::mt19937 random(20240601);
  std::size_t taken = 0;
  for (int round = 0; round < 10000; ++round) {
    std::vector<std::byte> bytes = good;
    const unsigned changes = 1 + random() % 4;
    for (unsigned i = 0; i < changes; ++i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<std::byte>(random());
          break;
        case 1:
          bytes[at] ^= static_cast<std::byte>(1U << (random() % 8));
          break;
        case 2:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::byte>(random()));
          break;
      }
    }
    try {
      const Kernel kernel = decode(bytes, "m.npk");
      ++taken;
      EXPECT_EQ(encode(kernel), bytes) << "a kernel that was taken has one binary form";
      check(kernel, target);
      disassemble(kernel, target);
    } catch (const Error& error) {
      ASSERT_EQ(error.category(), Category::input) << error.what();
    }
  }
  EXPECT_GT(taken, 100U);
}

}  // namespace
}  // namespace npulab::isa
