// SPDX-License-Identifier: Apache-2.0
// Macros, loops, conditions, includes: what they expand to, and that hostile text ends soon.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

using test::assembled;
using test::refusal;

// The immediates of the `mov s0, …` of a text, in order.
std::vector<std::int64_t> moved(const std::string& text, const ParamValues& overrides = {}) {
  std::vector<std::int64_t> values;
  const Kernel kernel = assembled(text + "\nend\n", test::register_machine(), overrides);
  for (const Instruction& instruction : kernel.programs[0].instructions)
    if (instruction.op == Op::Mov) values.push_back(instruction.operands[1].imm);
  return values;
}
using Values = std::vector<std::int64_t>;

std::int64_t value_of(const std::string& expression) {
  return moved("mov s0, " + expression).at(0);
}

TEST(Expression, OperatorsAndFunctions) {
  EXPECT_EQ(value_of("1 + 2 * 3 - 4 / 2"), 5);
  EXPECT_EQ(value_of("(1 + 2) * 3"), 9);
  EXPECT_EQ(value_of("-7 / 2"), -3);
  EXPECT_EQ(value_of("-7 % 4"), -3);
  EXPECT_EQ(value_of("10 - 3 - 2"), 5);
  EXPECT_EQ(value_of("1 << 4 | 3 & 6 ^ 1"), 16 | ((3 & 6) ^ 1));
  EXPECT_EQ(value_of("-16 >> 2"), -4);
  EXPECT_EQ(value_of("~0 == -1 && !0 && 3 >= 3 && 2 != 1"), 1);
  EXPECT_EQ(value_of("0 || 1 > 2 || 2 < 1 || 1 <= 0"), 0);
  EXPECT_EQ(value_of("5 > 3 ? 1 ? 10 : 20 : 30"), 10);
  EXPECT_EQ(value_of("0 ? 1 / 0 : 1 << 62 >> 62 == 0 ? 7 : 8"), 8) << "the branch not taken is not computed";
}

TEST(Expression, ValuesOfFunctionsAndNames) {
  EXPECT_EQ(value_of("min(-2, 3) + max(4, 5) + abs(-6)"), 9);
  EXPECT_EQ(value_of("ceildiv(10, 4) * 100 + align(10, 4)"), 312);
  EXPECT_EQ(value_of("log2ceil(1) + 10 * log2ceil(4) + 100 * log2ceil(5)"), 320);
  EXPECT_EQ(value_of("log2ceil(0x7fffffffffffffff)"), 63);
  EXPECT_EQ(value_of("size(ub) + bytes(f32) + bits(i4)"), 65536 + 4 + 4);
  EXPECT_EQ(value_of("VREGS * 1000000 + OPBYTES * 1000 + REGS_PER_OP * 100 + CORES"), 128'032'232);
  EXPECT_EQ(value_of("has(ub) + 10 * has(mte2) + 100 * has(gm) + 1000 * has(shim_in)"), 111);
  EXPECT_EQ(value_of("ARRAY_ROWS + ARRAY_COLUMNS"), 0) << "no systolic array";
  EXPECT_EQ(value_of("1_000 + 0xff + 0b101 + 0XA"), 1270);
  EXPECT_EQ(value_of("0xffffffffffffffff"), -1);
  EXPECT_EQ(value_of("-0x7fffffffffffffff - 1"), INT64_MIN);
}

TEST(Expression, RowsAndColumnsOfAnArray) {
  Target target = test::matrix_machine(MatrixKind::systolic);
  target.matrix->rows = 5;
  target.matrix->columns = 7;
  const Kernel kernel = assembled("mov s0, ARRAY_ROWS * 10 + ARRAY_COLUMNS\nend\n", target);
  EXPECT_EQ(kernel.programs.at(0).instructions.at(0).operands[1].imm, 57);
}

TEST(Expression, OverflowIsRefused) {
  for (const char* text : {"0x7fffffffffffffff + 1", "0x8000000000000000 - 1", "0x4000000000000000 * 2",
                           "1 << 63", "-0x8000000000000000", "0x8000000000000000 / -1",
                           "abs(0x8000000000000000)", "align(0x7fffffffffffffff, 2)", "1 << -1"})
    EXPECT_EQ(refusal(std::string("mov s0, ") + text + "\nend\n").code, "value-range") << text;
  EXPECT_EQ(value_of("0x8000000000000000 % -1"), 0);
}

TEST(Expansion, Loops) {
  EXPECT_EQ(moved(".for i in 0..3\nmov s0, i * i\n.endfor"), (Values{0, 1, 4}));
  EXPECT_EQ(moved(".for i in 5..0 step -2\nmov s0, i\n.endfor"), (Values{5, 3, 1}));
  EXPECT_EQ(moved(".for i in 3..3\nmov s0, i\n.endfor"), (Values{}));
  EXPECT_EQ(moved(".for i in 0..2\n.for j in 0..i + 1\n.const k = 10 * i + j\nmov s0, k\n.endfor\n.endfor"),
            (Values{0, 10, 11}));
  EXPECT_EQ(moved(".for i in 0x7ffffffffffffffe..0x7fffffffffffffff step 5\nmov s0, 1\n.endfor"),
            (Values{1}));
}

TEST(Expansion, Conditions) {
  const std::string text =
      ".param M = 2\n.if M == 1\nmov s0, 1\n.elif M == 2\nmov s0, 2\n.if 0\nmov s0, 9\n.endif\n.else\nmov "
      "s0, 3\n.endif";
  EXPECT_EQ(moved(text), (Values{2}));
  EXPECT_EQ(moved(text, {{"M", 1}}), (Values{1}));
  EXPECT_EQ(moved(text, {{"M", 7}}), (Values{3}));
}

TEST(Expansion, MacroArgumentsAreTokens) {
  EXPECT_EQ(moved(".macro put a, b=a * 2\nmov s0, a\nmov s0, b\n.endm\nput 1 + 2\nput 4, 5"),
            (Values{3, 5, 4, 5}));
  EXPECT_EQ(moved(".macro op name, x\nname s0, x\n.endm\nop mov, min(1, 2)"), (Values{1}));
  const Kernel kernel = assembled(".macro add2 T, d\nvadd.T d, d, v0[1]\n.endm\nadd2 f16, v{2 * 4}\nend\n");
  EXPECT_EQ(kernel.programs[0].instructions[0].type, DType::f16);
  EXPECT_EQ(kernel.programs[0].instructions[0].operands[0].reg, 8);
}

TEST(Expansion, NamesOfABodyAreItsOwn) {
  const char* text = R"(
.macro inner n
.for i in 0..2
mov s0, n * 10 + i
.endfor
.const k = n
mov s0, k
.endm
.for i in 1..3
inner i
.endfor
)";
  EXPECT_EQ(moved(text), (Values{10, 11, 1, 20, 21, 2}));
}

TEST(Expansion, LocalLabels) {
  const Kernel kernel =
      assembled(".macro m\n.again: nop\njmp .again\n.endm\nm\nm\n.for i in 0..2\n.x: jmp .x\n.endfor\n");
  const std::vector<Instruction>& code = kernel.programs[0].instructions;
  EXPECT_EQ(code[1].operands[0].imm, 0);
  EXPECT_EQ(code[3].operands[0].imm, 2);
  EXPECT_EQ(code[5].operands[0].imm, 5);
  EXPECT_EQ(refusal(".macro m\n.here: nop\n.endm\nm\njmp .here\n").code, "undefined-label");
}

TEST(Expansion, RequirementsSeeArguments) {
  const test::Refusal refused = refusal(
      ".macro tile m\n.const twice = 2 * (m)\n.require twice < 8, \"tile {m}: {twice} is not below 8, m it "
      "is\"\n.endm\ntile 3\ntile 2 + 2\nend\n");
  EXPECT_EQ(refused.text,
            "k.npu:3:10: tile 4: 8 is not below 8, m it is (in macro 'tile', called at k.npu:6)");
}

TEST(Expansion, IncludeIsRelativeAndBounded) {
  AssembleOptions options;
  options.include = [](const std::string& name) -> Source {
    if (name == "lib/a.inc") return {name, ".macro put x\nmov s0, x\n.endm\n.include \"b.inc\"\n"};
    if (name == "lib/b.inc") return {name, "put 3\nput v1\n"};
    if (name == "lib/self.inc") return {name, ".include \"self.inc\"\n.include \"self.inc\"\n"};
    throw Error(Category::input, "no-such-file", "no such file");
  };
  const auto message = [&](const std::string& text) -> std::string {
    try {
      assemble({"lib/k.npu", text}, test::register_machine(), {}, options);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message("nop\n.include \"a.inc\"\nend\n"),
            "lib/a.inc:2:9: operand 'a' of mov is a scalar register or an integer; given is a vector "
            "register (in macro "
            "'put', called at lib/b.inc:2)");
  EXPECT_EQ(message(".include \"c.inc\"\nend\n"), "lib/k.npu:1:10: \"c.inc\": no such file");
  EXPECT_EQ(message(".include \"self.inc\"\nend\n"),
            "lib/self.inc:1:10: \"self.inc\": includes go 16 deep and number 1000 at most");
  const Source good{"lib/k.npu", "nop\n.include \"a2.inc\"\nput 4\nend\n"};
  options.include = [](const std::string& name) {
    return Source{name, ".macro put x\nmov s0, x\n.endm\nput 3\n"};
  };
  const Kernel kernel = assemble(good, test::register_machine(), {}, options);
  // Of the macro the line in its file, with the line of the kernel that brought it in.
  EXPECT_EQ(kernel.programs[0].places,
            (std::vector<SourcePlace>{{0, 1, 0}, {1, 2, 2}, {1, 2, 3}, {0, 4, 0}}));
  ASSERT_EQ(kernel.files.size(), 2U);
  EXPECT_EQ(kernel.files[1].name, "lib/a2.inc");
  EXPECT_EQ(kernel.files[1].lines.at(1), "mov s0, x");
  EXPECT_EQ(kernel.short_name(0), "k.npu");
  EXPECT_EQ(kernel.short_name(1), "a2.inc");
  EXPECT_EQ(to_string(kernel.where(kernel.programs[0], 1)), "lib/a2.inc:2 (from lib/k.npu:2)");
  EXPECT_EQ(to_string(kernel.where(kernel.programs[0], 3)), "lib/k.npu:4");
}

TEST(Expansion, PlacesAreThoseOfTheBody) {
  const Kernel kernel = assembled(".macro m\nnop\n.endm\nm\n.for i in 0..2\nnop\n.endfor\nend\n");
  EXPECT_EQ(kernel.programs[0].places,
            (std::vector<SourcePlace>{{0, 2, 4}, {0, 6, 0}, {0, 6, 0}, {0, 8, 0}}));
  EXPECT_EQ(to_string(kernel.where(kernel.programs[0], 0)), "k.npu:2 (from line 4)");
}

TEST(Expansion, AMacroInAMacroComesFromTheOuterCall) {
  const Kernel kernel = assembled(".macro inner\nnop\n.endm\n.macro outer\ninner\n.endm\nnop\nouter\nend\n");
  EXPECT_EQ(kernel.programs[0].places, (std::vector<SourcePlace>{{0, 7, 0}, {0, 2, 8}, {0, 9, 0}}));
}

TEST(Expression, TheLeastIntegerCanBeWrittenInDecimal) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto value = [](const std::string& text) {
    return assembled("mov s0, " + text + "\nend\n").programs[0].instructions[0].operands[1].imm;
  };
  EXPECT_EQ(value("-9223372036854775808"), kLeast);
  EXPECT_EQ(value("(- 9_223_372_036_854_775_808) + 1"), kLeast + 1);
  EXPECT_EQ(value("0 ? -9223372036854775808 : 5"), 5);
  for (const char* text :
       {"9223372036854775808", "+9223372036854775808", "0 - 9223372036854775808", "~9223372036854775808",
        "-(9223372036854775808)", "-9223372036854775809", "--9223372036854775808"})
    EXPECT_EQ(refusal(std::string("mov s0, ") + text + "\nend\n").code, "value-range") << text;
  const Kernel kernel = assembled(".param N = -9223372036854775808 in -9223372036854775808..0\nend\n");
  EXPECT_EQ(kernel.header.params[0].value, kLeast);
}

TEST(Expansion, FilesAreNamedAsSeenFromTheKernel) {
  Kernel kernel;
  for (const char* name : {"/a/b/k.npu", "/a/b/k.inc", "/a/c/d.inc", "far.inc"})
    kernel.files.push_back({name, {}});
  EXPECT_EQ(kernel.short_name(0), "k.npu");
  EXPECT_EQ(kernel.short_name(1), "k.inc");
  EXPECT_EQ(kernel.short_name(2), "../c/d.inc");
  EXPECT_EQ(kernel.short_name(3), "far.inc") << "no way leads from one to the other";
  kernel.files = {{"k.npu", {}}, {"part/d.inc", {}}};
  EXPECT_EQ(kernel.short_name(1), "part/d.inc");
}

TEST(Expansion, MessagesAboutOtherFilesNameThem) {
  AssembleOptions options;
  options.include = [](const std::string& name) {
    return Source{name, "loop 2\nend\nendloop\nagain: nop\n"};
  };
  try {
    assemble({"k.npu", "nop\nloop 3\n.include \"b.inc\"\nagain: nop\nendloop\nend\n"},
             test::register_machine(), {}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "k.npu:4:1: label 'again' is already defined, at the instruction of b.inc:4; a label "
                 "in a macro or .for is local when it begins with a dot");
  }
  try {
    assemble({"k.npu", "nop\nloop 3\n.include \"b.inc\"\nbeq s0, 1, out\nendloop\nout: end\n"},
             test::register_machine(), {}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "b.inc:2:1: 'end' stands in the loop of line 1\n"
        "k.npu:4:12: jumps to line 6, out of the loop of line 2; to go on with its next turn, jump to a "
        "nop before endloop");
  }
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(Hostile, EveryExpansionIsBounded) {
  const auto start = std::chrono::steady_clock::now();
  const std::string doubling = ".macro d x\nd (x) + (x)\n.endm\nd 1\nend\n";
  const std::string bomb = ".macro a n\n.if n > 0\na n - 1\na n - 1\n.endif\n.endm\na 60\nend\n";
  EXPECT_EQ(refusal(doubling).code, "expansion-limit");
  std::string defaults = ".macro e a0=1";
  for (int i = 1; i < 40; ++i) defaults += fmt::format(", a{0}=a{1} a{1}", i, i - 1);
  EXPECT_EQ(refusal(defaults + "\n.endm\ne\nend\n").code, "expansion-limit");
  EXPECT_EQ(refusal(bomb).code, "expansion-limit");
  EXPECT_EQ(refusal(".for i in 0..1<<40\n.for j in 0..1<<40\n.endfor\n.endfor\nend\n").code,
            "expansion-limit");
  EXPECT_EQ(refusal(".for i in 0..1000001\nnop\n.endfor\nend\n").code, "expansion-limit");
  EXPECT_EQ(refusal("mov s0, " + repeated("(", 100000) + "\nend\n").code, "syntax");
  EXPECT_EQ(refusal("mov s0, " + repeated("- ", 100000) + "1\nend\n").code, "syntax");
  EXPECT_EQ(refusal("mov s0, " + repeated("1 ? ", 100000) + "1\nend\n").code, "syntax");
  EXPECT_EQ(refusal(repeated(".if 1\n", 100000)).code, "unmatched-block");
  EXPECT_EQ(refusal(repeated(".for x in 0..1\n", 100)).code, "unmatched-block");
  EXPECT_EQ(refusal(std::string(20 << 20, ' ')).code, "expansion-limit");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(Hostile, AtMostTwentyErrorsEachPlaceOnce) {
  const std::string text =
      test::refusal(".for i in 0..100\nmov v0, i\n.endfor\n" + repeated("bad\n", 100)).text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 19);
  EXPECT_EQ(text.substr(0, 9), "k.npu:2:5");
  EXPECT_NE(text.find("\nk.npu:4:1: unknown instruction 'bad'"), std::string::npos);
}

TEST(Hostile, RandomTextIsRefusedAsInput) {
  const std::vector<std::string> words{
      ".for", "i",      "in",      "..",       "0",      "3",     ".endfor",  "\n",      "\n",
      "v0",   "{",      "}",       "[",        "]",      ",",     "vadd.f32", ".macro",  ".endm",
      ".if",  ".endif", ".const",  "=",        "(",      ")",     "x:",       "loop",    "endloop",
      "s1",   "ub",     "\"{i}\"", ".require", "+",      "-",     "end",      ".tensor", "f16",
      "?",    ":",      "copy",    ".buffer",  ".param", ".vreg", "a",        "@"};
  std::uint32_t state = 12345;
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      state = state * 1664525 + 1013904223;
      text += words[(state >> 8) % words.size()] + " ";
    }
    try {
      assembled(text);
    } catch (const Error& error) {
      ASSERT_EQ(error.category(), Category::input) << text;
    }
  }
}

}  // namespace
}  // namespace npulab::isa
