// SPDX-License-Identifier: Apache-2.0
// Scalar rows against 64-bit arithmetic, loops and branches against what they count.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "isa/table.hpp"
#include "run_helper.hpp"

namespace npulab {
namespace {

using isa::Op;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::uint64_t u(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

// As a number of the assembler: the least one has no decimal form.
std::string text(std::int64_t value) {
  return fmt::format("{:#x}", u(value));
}

// Nothing for a division by zero.
std::optional<std::int64_t> expected(Op op, std::int64_t a, std::int64_t b) {
  __extension__ using Wide = __int128;
  const auto wrapped = [](Wide value) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  };
  const bool in_range = b >= 0 && b < 64;
  switch (op) {
    case Op::Mov:
      return a;
    case Op::Add:
      return wrapped(Wide{a} + b);
    case Op::Sub:
      return wrapped(Wide{a} - b);
    case Op::Mul:
      return wrapped(Wide{a} * b);
    case Op::Div:
      return b == 0 ? std::optional<std::int64_t>{} : wrapped(Wide{a} / b);
    case Op::Rem:
      return b == 0 ? std::optional<std::int64_t>{} : wrapped(Wide{a} % b);
    case Op::Min:
      return std::min(a, b);
    case Op::Max:
      return std::max(a, b);
    case Op::And:
      return a & b;
    case Op::Or:
      return a | b;
    case Op::Xor:
      return a ^ b;
    case Op::Shl:
      return in_range ? static_cast<std::int64_t>(u(a) << b) : 0;
    case Op::Shr:
      return in_range ? static_cast<std::int64_t>(u(a) >> b) : 0;
    default:
      return std::nullopt;
  }
}

test::Run run_on_tiny(const std::string& body, SimulationOptions options = test::one_core()) {
  return test::run(test::machine("tiny"), ".kernel test/scalar\n" + body, std::move(options));
}

std::string code_of(const std::string& body) {
  try {
    run_on_tiny(body);
  } catch (const Error& error) {
    return error.code() + ":" + std::to_string(error.where().line);
  }
  return "none";
}

TEST(Coverage, IS_08_scalar_rows_in_64_bits) {
  const std::vector<std::int64_t> values{0,
                                         1,
                                         -1,
                                         2,
                                         3,
                                         -7,
                                         63,
                                         64,
                                         65,
                                         1000,
                                         kMost,
                                         kLeast,
                                         kMost - 1,
                                         kLeast + 1,
                                         std::int64_t{1} << 32,
                                         0x5555555555555555};
  for (const isa::InstructionInfo& row : isa::instructions()) {
    const bool unary = row.format == isa::Format::ScalarUnary;
    if (!unary && row.format != isa::Format::ScalarBinary) continue;
    std::string body;
    for (const std::int64_t a : values) {
      for (const std::int64_t b : values) {
        const auto result = expected(row.op, a, b);
        if (!result) continue;
        // From registers, from numbers, and with the destination among the sources.
        body += fmt::format("mov s1, {}\nmov s2, {}\n", text(a), text(b));
        const std::string second = unary ? "" : ", s2";
        const std::string number = unary ? "" : ", " + text(b);
        body += fmt::format(
            "{0} s3, s1{1}\nassert s3, {4}\n{0} s3, {2}{3}\nassert s3, {4}\n{0} s1, s1{1}\nassert s1, {4}\n",
            row.mnemonic, second, text(a), number, text(*result));
      }
    }
    EXPECT_NO_THROW(run_on_tiny(body + "end\n")) << row.mnemonic;
  }
}

TEST(Coverage, Division_by_zero_stops_the_run_with_its_place) {
  EXPECT_EQ(code_of("mov s1, 0\nmov s2, 7\ndiv s3, s2, s1\nend\n"), "division-by-zero:4");
  EXPECT_EQ(code_of("mov s1, 0\nmov s2, 7\nnop\nrem s3, s2, s1\nend\n"), "division-by-zero:5");
  EXPECT_EQ(
      code_of(fmt::format(
          "mov s1, -1\nmov s2, {0}\ndiv s3, s2, s1\nassert s3, {0}\nrem s3, s2, s1\nassert s3, 0\nend\n",
          text(kLeast))),
      "none");
}

TEST(Coverage, IS_08_core_id_and_core_count) {
  SimulationOptions options;
  EXPECT_NO_THROW(
      run_on_tiny("core_count s0\nassert s0, 2\ncore_id s1\nbge s1, 2, bad\nbge s1, 0, good\nbad:\n"
                  "assert s1, 99\ngood:\nend\n",
                  options));
  EXPECT_NO_THROW(run_on_tiny("core_count s0\nassert s0, 1\ncore_id s1\nassert s1, 0\nend\n"));
}

TEST(Coverage, IS_08_branches_each_way) {
  const std::vector<std::int64_t> values{kLeast, -1, 0, 1, kMost};
  std::string body;
  int label = 0;
  for (const std::int64_t a : values) {
    for (const std::int64_t b : values) {
      const std::pair<const char*, bool> branches[] = {
          {"beq", a == b}, {"bne", a != b}, {"blt", a < b}, {"bge", a >= b}};
      for (const auto& [mnemonic, taken] : branches) {
        body += fmt::format(
            "mov s1, {}\nmov s2, {}\nmov s3, 1\n{} s1, s2, there{}\nmov s3, 0\nthere{}:\nassert s3, {}\n",
            text(a), text(b), mnemonic, label, label, taken ? 1 : 0);
        ++label;
      }
    }
  }
  EXPECT_NO_THROW(run_on_tiny(body + "jmp last\nassert 0, 1\nlast:\nend\n"));
  // Backwards: a loop of branches.
  EXPECT_NO_THROW(
      run_on_tiny("mov s1, 0\nagain:\nadd s1, s1, 1\nblt s1, 1000, again\nassert s1, 1000\nend\n"));
}

TEST(Coverage, IS_08_loops_as_deep_as_the_machine_says) {
  // 3 x 4 x 5 x 6 turns; the counts of inner loops may change between turns.
  EXPECT_NO_THROW(run_on_tiny(
      "mov s1, 0\nloop 3\nloop 4\nloop 5\nloop 6\nadd s1, s1, 1\nendloop\nendloop\nendloop\nendloop\n"
      "assert s1, 360\nend\n"));
  EXPECT_NO_THROW(
      run_on_tiny("mov s1, 0\nmov s2, 0\nloop 5\nloop s2\nadd s1, s1, 1\nendloop\nadd s2, s2, 1\nendloop\n"
                  "assert s1, 10\nend\n"));
  EXPECT_THROW(
      run_on_tiny(
          "loop 1\nloop 1\nloop 1\nloop 1\nloop 1\nnop\nendloop\nendloop\nendloop\nendloop\nendloop\nend\n"),
      Error);
}

TEST(Coverage, IS_08_loops_of_no_turn) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, kLeast}) {
    EXPECT_NO_THROW(run_on_tiny(
        fmt::format("mov s1, 0\nmov s2, {}\nloop 3\nloop s2\nadd s1, s1, 1\nendloop\nendloop\nassert s1, 0\n"
                    "loop s2\nadd s1, s1, 1\nendloop\nassert s1, 0\nend\n",
                    text(count))));
  }
  // The count is read once, and loops that end at the same place turn apart.
  EXPECT_NO_THROW(
      run_on_tiny("mov s1, 0\nmov s2, 3\nloop s2\nmov s2, 100\nadd s1, s1, 1\nendloop\nassert s1, 3\nend\n"));
  EXPECT_NO_THROW(run_on_tiny(
      "mov s1, 0\nloop 2\nadd s1, s1, 100\nloop 2\nadd s1, s1, 1\nendloop\nendloop\nassert s1, 204\nend\n"));
}

TEST(Coverage, IS_08_branches_inside_loops) {
  // Every other turn skips; `next` ends the turn.
  EXPECT_NO_THROW(run_on_tiny(
      "mov s1, 0\nmov s2, 0\nloop 10\nadd s2, s2, 1\nand s3, s2, 1\nbeq s3, 0, next\nadd s1, s1, 1\n"
      "next:\nnop\nendloop\nassert s1, 5\nassert s2, 10\nend\n"));
}

TEST(Coverage, IS_08_print_and_region) {
  std::vector<std::string> lines;
  SimulationOptions options = test::one_core();
  options.print = [&lines](const std::string& line) { lines.push_back(line); };
  const test::Run run =
      run_on_tiny("region \"first\"\nmov s1, -3\nprint s1\nprint 7\nregion \"second\"\nnop\nend\n", options);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("test.npu:4: -3"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(": 7"), std::string::npos) << lines[1];
  ASSERT_EQ(run.report.regions.size(), 2U);
  EXPECT_EQ(run.report.regions[0].cycles + run.report.regions[1].cycles, run.report.cycles);
}

}  // namespace
}  // namespace npulab
