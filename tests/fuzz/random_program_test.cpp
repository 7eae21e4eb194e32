// SPDX-License-Identifier: Apache-2.0
// Random programs on several machines: what they leave behind is what the plain interpreter says, times do
// not depend on how they are worked out, and nothing that a program does is npulab's own fault.
//
// NPULAB_SEEDS=FIRST..LAST runs other seeds than the usual ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "sim/values/simd.hpp"
#include "tests/fuzz/random_program.hpp"
#include "tests/fuzz/random_run.hpp"

namespace npulab {
namespace {

using test::Bytes;
using test::Inputs;
using test::interpreted;
using test::machines;
using test::Outcome;
using test::outcome;
using test::random_inputs;
using test::Seeds;
using test::seeds;

// Whether a run ends well and leaves other bytes than the interpreter does.
bool differs(const config::Machine& machine, const std::string& text, const Inputs& inputs) {
  try {
    const Outcome run = outcome(machine, text, {}, inputs);
    return run.error.empty() && run.findings.empty() && run.y != interpreted(machine, text, inputs);
  } catch (const std::exception&) {
    return false;
  }
}

bool is_flag(const std::string& line) {
  return line.find("_flag") != std::string::npos || line.rfind("barrier", 0) == 0 || line == "sync_cores\n";
}

// The program without the lines that a difference does not need. Lines of flags stay, as a program that lacks
// some may well differ.
std::string reduced(const config::Machine& machine, const std::string& text, const Inputs& inputs) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at + 1));
    at = end + 1;
  }
  const auto joined = [](const std::vector<std::string>& all) {
    return fmt::format("{}", fmt::join(all, ""));
  };
  for (std::size_t size = lines.size() / 2; size > 0; size /= 2) {
    for (std::size_t at = 0; at + size <= lines.size();) {
      std::vector<std::string> fewer;
      for (std::size_t i = 0; i < lines.size(); ++i)
        if (i < at || i >= at + size || is_flag(lines[i])) fewer.push_back(lines[i]);
      if (fewer.size() < lines.size() && differs(machine, joined(fewer), inputs))
        lines = std::move(fewer);
      else
        at += size;
    }
  }
  return joined(lines);
}

struct Case {
  const config::Machine* machine;
  test::RandomProgram program;
  Inputs inputs;
};

class RandomPrograms : public testing::Test {
 protected:
  Case make(std::uint64_t seed) const {
    const config::Machine& machine = machines_[seed % machines_.size()];
    const isa::Target target = config::make_target(machine);
    test::ProgramOptions options;
    options.broken = seed % 5 == 0;
    return {&machine, test::ProgramWriter(machine, target, test::Choices(seed), options).write(),
            random_inputs(seed)};
  }
  static std::string replay(std::uint64_t seed, const Case& one) {
    return fmt::format(
        "seed {0} on {1}; again with: NPULAB_SEEDS={0}..{0} npulab_test_fuzz "
        "--gtest_filter='RandomPrograms.*'\n{2}",
        seed, one.machine->name, one.program.text);
  }

  const std::vector<config::Machine> machines_ = machines();
};

// The same program with everything off that only makes it faster, and with what must not matter.
void compare(std::uint64_t seed, const Case& one, const Outcome& usual) {
  SimulationOptions other;
  other.block_cache = false;
  other.construction_seed = seed;
  const Outcome slow = outcome(*one.machine, one.program.text, other, one.inputs);
  ASSERT_EQ(slow.error, usual.error);
  ASSERT_EQ(slow.report, usual.report);
  ASSERT_EQ(slow.y, usual.y);
  if (!usual.error.empty()) return;
  SimulationOptions unchecked;
  unchecked.sanitize = SanitizeLevel::off;
  const Outcome quiet = outcome(*one.machine, one.program.text, unchecked, one.inputs);
  ASSERT_EQ(quiet.cycles, usual.cycles);
  ASSERT_EQ(quiet.y, usual.y);
  if (one.program.values_steer) return;
  SimulationOptions bare;
  bare.timing_only = true;
  ASSERT_EQ(outcome(*one.machine, one.program.text, bare, one.inputs).cycles, usual.cycles);
}

TEST_F(RandomPrograms, leave_behind_what_a_plain_interpreter_leaves) {
  std::size_t compared = 0, stalls = 0, found = 0, refused = 0;
  const Seeds range = seeds();
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    const Case one = make(seed);
    SCOPED_TRACE(replay(seed, one));
    const Outcome usual = outcome(*one.machine, one.program.text, {}, one.inputs);
    ASSERT_NE(usual.category, Category::internal) << usual.error;
    ASSERT_NE(usual.category, Category::input) << usual.error;
    compare(seed, one, usual);
    if (HasFatalFailure()) return;
    stalls += usual.category == Category::stall ? 1 : 0;
    found += usual.findings.empty() ? 0 : 1;
    refused += usual.error.empty() ? 0 : 1;
    if (!one.program.sound) continue;
    ASSERT_TRUE(usual.error.empty()) << usual.error;
    ASSERT_TRUE(usual.findings.empty()) << usual.findings;
    ASSERT_TRUE(usual.y == interpreted(*one.machine, one.program.text, one.inputs))
        << "the run leaves other bytes than the interpreter. What is needed for that:\n"
        << reduced(*one.machine, one.program.text, one.inputs);
    ++compared;
  }
  fmt::print(
      "{} programs: {} compared with the interpreter, {} refused, {} of them stalls, {} with findings\n",
      range.last - range.first + 1, compared, refused, stalls, found);
  if (!range.usual) return;
  // All kinds come about.
  EXPECT_GT(compared, range.last / 2);
  EXPECT_GT(stalls, range.last / 100);
  EXPECT_GT(found, range.last / 100);
}

// Cycles and tensors of some programs as one number.
std::uint64_t digest(const std::function<Case(std::uint64_t)>& make) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3U; };
  for (std::uint64_t seed = 1; seed <= 48; ++seed) {
    const Case one = make(seed);
    const Outcome result = outcome(*one.machine, one.program.text, {}, one.inputs);
    add(result.cycles);
    for (const std::byte byte : result.y) add(std::to_integer<std::uint64_t>(byte));
  }
  return hash;
}

// Printed for the run of this program on the other path.
TEST_F(RandomPrograms, digest) {
  fmt::print("digest {:016x}\n", digest([this](std::uint64_t seed) { return make(seed); }));
}

TEST_F(RandomPrograms, leave_the_same_on_every_simd_path) {
  const std::string mine =
      fmt::format("digest {:016x}\n", digest([this](std::uint64_t seed) { return make(seed); }));
  for (const values::SimdPath path : {values::SimdPath::baseline, values::SimdPath::avx2}) {
    if (!values::supported(path) || path == values::simd_path_in_use()) continue;
    const std::string command =
        fmt::format("NPULAB_SIMD={} '{}' --gtest_filter=RandomPrograms.digest", values::name(path),
                    std::filesystem::read_symlink("/proc/self/exe").string());
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    ASSERT_NE(pipe, nullptr);
    std::string said;
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) said += part.data();
    EXPECT_NE(said.find(mine), std::string::npos) << command << " says\n" << said << "here it is " << mine;
  }
}

}  // namespace
}  // namespace npulab

// SystemC's pool of timed events: one that was pending when a run ended by an exception stays with the
// simulation that is gone, and with it, to a leak checker, the block of the pool that it lies in.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:sc_core::sc_event_timed::allocate\n";
}
