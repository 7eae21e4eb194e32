// SPDX-License-Identifier: Apache-2.0
// Races in random programs. Where every dependence has its flag, none is found. And whatever flags are
// missing: a program in which nothing is found leaves the same on every timing, which is what the plain
// interpreter says.
//
// NPULAB_SEEDS=FIRST..LAST runs other seeds than the usual ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <exception>
#include <optional>

#include "tests/fuzz/random_run.hpp"

namespace npulab {
namespace {

using test::Inputs;
using test::Outcome;
using test::outcome;

SimulationOptions level(SanitizeLevel sanitize) {
  SimulationOptions options;
  options.sanitize = sanitize;
  return options;
}

// The text without one of its pairs of a set and the wait right behind it; what the end stores keeps its own.
std::optional<std::string> without_a_flag(const std::string& text, std::uint64_t seed) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // first byte, bytes
  const std::size_t last = text.rfind("sync_cores");
  for (std::size_t at = text.find("set_flag "); at < last; at = text.find("set_flag ", at + 1)) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string wait = "wait_flag " + text.substr(at + 9, end - at - 9);
    if (text.compare(end, wait.size(), wait) == 0) pairs.emplace_back(at, end - at + wait.size());
  }
  if (pairs.empty()) return std::nullopt;
  const auto [first, bytes] = pairs[seed * 7919 % pairs.size()];
  return text.substr(0, first) + text.substr(first + bytes);
}

class RandomRaces : public testing::Test {
 protected:
  struct Found {
    std::size_t programs = 0, races = 0, silent = 0;
  };

  std::size_t place(std::uint64_t seed) const { return seed % timings_.front().size(); }
  const config::Machine& machine(std::uint64_t seed) const { return timings_.front()[place(seed)]; }

  test::RandomProgram program(std::uint64_t seed, bool broken) const {
    const isa::Target target = config::make_target(machine(seed));
    return test::ProgramWriter(machine(seed), target, test::Choices(seed), {broken}).write();
  }

  // Whether npulab finds a race in this program; where it finds nothing, the values are certain.
  void judge(std::uint64_t seed, const std::string& text, Found& found) const {
    const Inputs inputs = test::random_inputs(seed);
    const Outcome full = outcome(machine(seed), text, level(SanitizeLevel::full), inputs);
    ASSERT_NE(full.category, Category::internal) << full.error;
    ++found.programs;
    found.races += full.errors.find("race at ") != std::string::npos ? 1 : 0;
    if (!full.error.empty() || !full.errors.empty()) return;
    ++found.silent;
    const std::optional<test::Bytes> expected = certain(seed, text, inputs);
    if (!expected) return;
    for (std::size_t timing = 0; timing < timings_.size(); ++timing) {
      const Outcome run = outcome(timings_[timing][place(seed)], text, level(SanitizeLevel::fast), inputs);
      ASSERT_TRUE(run.error.empty()) << run.error;
      ASSERT_TRUE(run.y == *expected) << "nothing is found, and with timing " << timing
                                      << " the run leaves other bytes than the interpreter";
    }
  }

  // What the plain interpreter says; nothing where it knows no meaning, as for an empty access at an address
  // that is nowhere.
  std::optional<test::Bytes> certain(std::uint64_t seed, const std::string& text,
                                     const Inputs& inputs) const {
    try {
      return test::interpreted(machine(seed), text, inputs);
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  static test::Seeds seeds() {
    test::Seeds range = test::seeds();
    if (range.usual) range.last /= 2;
    return range;
  }

  static std::string replay(std::uint64_t seed, const std::string& text) {
    return fmt::format("seed {0}; again with: NPULAB_SEEDS={0}..{0} --gtest_filter='RandomRaces.*'\n{1}",
                       seed, text);
  }

  // Each machine as it is, and with other latencies and queues.
  const std::vector<std::vector<config::Machine>> timings_{
      test::machines(),
      test::machines({"gm.latency_ns=900", "core_types.core.sync.flag_latency_cycles=0"}),
      test::machines({"gm.model=ideal", "gm.latency_ns=1", "core_types.core.sync.flag_latency_cycles=40"}),
      test::machines({"core_types.core.dma.mte2.queue_depth=16", "core_types.core.dma.mte3.queue_depth=16",
                      "core_types.core.clock_mhz=40"}),
  };
};

TEST_F(RandomRaces, are_not_found_where_every_dependence_has_its_flag) {
  const test::Seeds range = seeds();
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    const test::RandomProgram one = program(seed, false);
    SCOPED_TRACE(replay(seed, one.text));
    const Inputs inputs = test::random_inputs(seed);
    const Outcome fast = outcome(machine(seed), one.text, {}, inputs);
    const Outcome full = outcome(machine(seed), one.text, level(SanitizeLevel::full), inputs);
    ASSERT_EQ(full.error, "");
    ASSERT_EQ(full.errors, "");
    ASSERT_EQ(full.cycles, fast.cycles);
    ASSERT_TRUE(full.y == fast.y);
  }
}

TEST_F(RandomRaces, are_found_or_do_not_matter_where_a_flag_is_missing) {
  const test::Seeds range = seeds();
  Found found;
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    const auto text = without_a_flag(program(seed, false).text, seed);
    if (!text) continue;
    SCOPED_TRACE(replay(seed, *text));
    judge(seed, *text, found);
    if (HasFatalFailure()) return;
  }
  fmt::print("{} programs without one of their flags: races in {}, nothing in {}\n", found.programs,
             found.races, found.silent);
  if (range.usual) {
    EXPECT_GT(found.races, found.programs / 3);
  }
}

TEST_F(RandomRaces, are_found_or_do_not_matter_in_broken_programs) {
  const test::Seeds range = seeds();
  Found found;
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    const std::string text = program(seed, true).text;
    SCOPED_TRACE(replay(seed, text));
    judge(seed, text, found);
    if (HasFatalFailure()) return;
  }
  fmt::print("{} broken programs: races in {}, nothing in {}\n", found.programs, found.races, found.silent);
}

}  // namespace
}  // namespace npulab
