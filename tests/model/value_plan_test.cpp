// SPDX-License-Identifier: Apache-2.0
// Blocks run as planned against the same operations one by one.
#include "sim/core/value_plan.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "sim/config/load.hpp"
#include "sim/core/meaning.hpp"

namespace npulab::core {
namespace {

constexpr std::int64_t kWritten = 8192;  // bytes of ub, from 0 on

// A kernel decoded for ascend910_opsblas.
struct Decoded {
  explicit Decoded(const std::string& body)
      : machine(config::load_machine("ascend910_opsblas",
                                     {.set = {}, .search = {std::string(NPULAB_SOURCE_DIR) + "/configs"}})),
        target(config::make_target(machine)),
        kernel(isa::assemble({"test.npu", ".kernel test/plan\n" + body + "end\n"}, target, {})),
        program(decode(kernel, kernel.programs.front(), machine, core(), target, {})) {}
  const config::CoreTypeConfig& core() const { return machine.core_types.at(target.core_type); }

  config::Machine machine;
  isa::Target target;
  isa::Kernel kernel;
  DecodedProgram program;
};

struct Core {
  explicit Core(const Decoded& code)
      : state(code.core(), code.target, {}, false, Sanitize::fast, diagnostics) {
    std::mt19937_64 random(7);
    memory::LocalBuffer& buffer = state.buffer(code.target.vector_space);
    std::generate_n(buffer.bytes(0, kWritten), kWritten, [&] { return static_cast<std::byte>(random()); });
    buffer.mark_written(0, kWritten);
    std::generate(state.vectors.begin(), state.vectors.end(),
                  [&] { return static_cast<std::byte>(random()); });
    state.vector_written.set();
    state.scalar_written = ~ScalarSet{0};
    for (std::size_t reg = 0; reg < 8; ++reg) state.scalars[reg] = static_cast<std::int64_t>(reg * 64);
  }
  Diagnostics diagnostics;
  CoreState state;
};

void expect_same(const Decoded& code) {
  Core planned(code);
  Core plain(code);
  for (const Block& block : code.program.blocks) {
    execute(code.program, block, planned.state, true);
    for (std::uint32_t pc = block.first; pc < block.first + block.count; ++pc)
      execute(code.program, pc, plain.state);
    ASSERT_EQ(planned.state.vectors, plain.state.vectors);
    ASSERT_EQ(planned.state.scalars, plain.state.scalars);
    ASSERT_EQ(planned.diagnostics.all().size(), plain.diagnostics.all().size());
  }
}

std::string random_operation(std::mt19937_64& random) {
  const auto even = [&] { return fmt::format("v{}", 2 * (random() % 6)); };
  const auto place = [&] { return fmt::format("ub[s{} + {}]", random() % 4, 32 * (random() % 40)); };
  switch (random() % 12) {
    case 0:
      return fmt::format("vld.f16 {}, {} {{inc=32}}\n", even(), place());
    case 1:
      return fmt::format("vld.f32 {}, ub[s{} + {}]\n", even(), random() % 4, 4 * (random() % 300));
    case 2:
      return fmt::format("add s{}, s{}, {}\n", random() % 8, random() % 8, 32 * (random() % 4));
    case 3:
      return fmt::format("vfmaw.f32.f16 v{}, {}, {}\n", 4 * (random() % 3), even(), even());
    case 4:
      return fmt::format("vadd.f16 {}, {}, {}\n", even(), even(), even());
    case 5:
      return fmt::format("vsel.f16 {}, {}, {}, {}\n", even(), even(), even(), even());
    case 6:
      return random() % 4 == 0 ? fmt::format("vst.f16 ub[{}], {}\n", 32 * (random() % 40), even()) : "nop\n";
    case 7:
    case 8:
      return fmt::format("vfma.f16 {}, {}, {}\n", even(), even(), even());
    default:
      return fmt::format("vld.f16 {}, {}\n", even(), place());
  }
}

TEST(ValuePlan, random_blocks_do_what_their_operations_do) {
  std::mt19937_64 random(3);
  std::size_t planned = 0;
  for (int round = 0; round < 150; ++round) {
    std::string body;
    for (int i = 0; i < 60; ++i) body += random_operation(random);
    SCOPED_TRACE(body);
    const Decoded code(body);
    ASSERT_NO_FATAL_FAILURE(expect_same(code));
    for (const Block& block : code.program.blocks)
      for (const PlanSegment& segment : block.plan) planned += segment.steps.size();
  }
  EXPECT_GT(planned, 1000U);
}

TEST(ValuePlan, rows_of_loads_and_sums_are_one_step) {
  std::string body;
  for (int row = 0; row < 8; ++row)
    body += fmt::format("vld.f16 v{}, ub[s0 + {}]\nvfmaw.f32.f16 v{}, v{}, v100\n", 64 + 2 * (row % 2),
                        256 * row, 4 * row, 64 + 2 * (row % 2));
  const Decoded code(body);
  ASSERT_EQ(code.program.blocks.size(), 1U);
  ASSERT_EQ(code.program.blocks[0].plan.size(), 1U);
  const PlanSegment& segment = code.program.blocks[0].plan[0];
  ASSERT_EQ(segment.steps.size(),
            2U);  // the sums; the two loads whose registers hold their values at the end
  EXPECT_EQ(segment.steps[0].steps.rows, 8U);
  EXPECT_EQ(segment.steps[0].steps.a, 256);
  EXPECT_EQ(segment.steps[1].steps.rows, 2U);
  ASSERT_EQ(segment.loads.size(), 1U);
  EXPECT_EQ(segment.loads[0].rows, 8U);
  expect_same(code);
}

TEST(ValuePlan, a_load_of_unwritten_bytes_is_found_as_ever) {
  std::string body;
  for (int i = 0; i < 6; ++i)
    body +=
        fmt::format("vld.f16 v{}, ub[{}]\nvadd.f16 v20, v20, v{}\n", 2 * i, kWritten - 64 + 32 * i, 2 * i);
  expect_same(Decoded(body));
}

}  // namespace
}  // namespace npulab::core
