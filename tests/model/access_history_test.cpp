// SPDX-License-Identifier: Apache-2.0
// The history of accesses against one entry per byte, over random accesses of streams that learn of each
// other.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "sim/core/access_history.hpp"

namespace npulab::core {
namespace {

constexpr std::uint32_t kStreams = 4;
constexpr std::uint64_t kBytes = 64;

// What is known of whom; every stream counts its own epochs.
using Knowledge = std::array<std::array<std::uint32_t, kStreams>, kStreams>;

bool ordered(const Knowledge& known, std::uint32_t stream, const Access& before) {
  return before.stream == stream || before.epoch <= known[stream][before.stream];
}

using Found = std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>>;  // pcs of the two, byte

// Every access is kept: whatever conflicts with the new one and is not known to be over.
class EveryByte {
 public:
  void add(const Access& access, std::uint64_t first, std::uint64_t end, const Knowledge& known,
           Found& found) {
    for (std::uint64_t at = first; at < end; ++at) {
      for (const Access& before : bytes_[at])
        if ((before.write || access.write) && !ordered(known, access.stream, before))
          found.insert({before.pc, access.pc, at});
      bytes_[at].push_back(access);
    }
  }

 private:
  std::array<std::vector<Access>, kBytes> bytes_;
};

TEST(AccessHistory, a_write_after_a_read_in_part_is_found_for_that_part_alone) {
  AccessHistory history;
  const auto never = [](const Access&) { return false; };
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  const auto note = [&](const Access&, std::uint64_t first, std::uint64_t end) {
    found.push_back({first, end});
  };
  history.add({0, 1, 1, 0, 0, false}, 10, 20, never, note);
  history.add({1, 1, 2, 0, 0, true}, 15, 30, never, note);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], (std::pair<std::uint64_t, std::uint64_t>{15, 20}));
  EXPECT_EQ(history.stretches(), 2U);
}

TEST(AccessHistory, neighbours_with_one_history_are_one_stretch) {
  AccessHistory history;
  const auto always = [](const Access&) { return true; };
  const auto nothing = [](const Access&, std::uint64_t, std::uint64_t) {};
  const Access write{0, 1, 1, 0, 0, true};
  for (std::uint64_t at = 0; at < 256; at += 8) history.add(write, at, at + 8, always, nothing);
  EXPECT_EQ(history.stretches(), 1U);
  const Access read{1, 1, 2, 0, 0, false};
  for (std::uint64_t at = 0; at < 256; at += 8) history.add(read, at, at + 8, always, nothing);
  EXPECT_EQ(history.stretches(), 1U);
}

// The first race on a byte is found, and nothing that is none; behind a race the history of that byte goes on
// with the later access.
TEST(AccessHistory, agrees_with_one_list_per_byte) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    Knowledge known{};
    std::array<std::uint32_t, kStreams> epoch{};
    epoch.fill(1);
    AccessHistory history;
    EveryByte reference;
    std::set<std::uint64_t> raced;
    for (std::uint32_t pc = 0; pc < 200; ++pc) {
      const auto stream = static_cast<std::uint32_t>(random() % kStreams);
      if (random() % 4 == 0) {  // a flag from another stream: what that knows, this one knows
        const auto from = static_cast<std::uint32_t>(random() % kStreams);
        if (from == stream) continue;
        known[stream][from] = epoch[from]++;
        for (std::uint32_t i = 0; i < kStreams; ++i)
          if (i != stream && i != from) known[stream][i] = std::max(known[stream][i], known[from][i]);
        continue;
      }
      const std::uint64_t first = random() % kBytes;
      const std::uint64_t end = first + 1 + random() % (kBytes - first);
      const Access access{stream, epoch[stream], pc, 0, 0, random() % 2 == 0};
      Found expected;
      reference.add(access, first, end, known, expected);
      std::set<std::uint64_t> racing, found;
      for (const auto& [before, after, at] : expected) racing.insert(at);
      history.add(
          access, first, end, [&](const Access& before) { return ordered(known, stream, before); },
          [&](const Access& before, std::uint64_t from, std::uint64_t to) {
            for (std::uint64_t at = std::max(from, first); at < std::min(to, end); ++at) {
              EXPECT_TRUE(expected.contains({before.pc, pc, at})) << "seed " << seed;
              found.insert(at);
            }
          });
      for (std::uint64_t at = first; at < end; ++at) {
        if (raced.contains(at)) continue;
        EXPECT_EQ(found.contains(at), racing.contains(at)) << "seed " << seed << ", byte " << at;
      }
      raced.insert(racing.begin(), racing.end());
    }
  }
}

}  // namespace
}  // namespace npulab::core
