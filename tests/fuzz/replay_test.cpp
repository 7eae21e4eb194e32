// SPDX-License-Identifier: Apache-2.0
// The fuzzing entries on their seeds, on the committed corpora, and on what a plain mutator makes of both.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/entries.hpp"

namespace npulab::test {
namespace {

// tests/fuzz/corpus/ENTRY/*: inputs that were finds once.
std::vector<Input> committed(std::string_view entry) {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::path folder = std::filesystem::path(NPULAB_SOURCE_DIR) / "tests/fuzz/corpus" / entry;
  if (std::filesystem::exists(folder))
    for (const auto& file : std::filesystem::directory_iterator(folder)) paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Mutator {
 public:
  Mutator(const std::vector<Input>& inputs, std::vector<std::string> words)
      : inputs_(inputs), words_(std::move(words)) {}

  Input next() {
    Input input = inputs_[random_() % inputs_.size()];
    for (std::uint64_t i = 1 + random_() % 4; i > 0; --i) change(input);
    return input;
  }

 private:
  std::size_t place(const Input& input) { return input.empty() ? 0 : random_() % input.size(); }
  void insert(Input& input, std::size_t at, auto begin, auto end) {
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), begin, end);
  }
  void change(Input& input) {
    static constexpr std::uint8_t kBytes[] = {0, 1, 0x7f, 0x80, 0xff, '-', '9', '{', '\n'};
    const std::size_t at = place(input);
    const std::size_t length = std::min<std::size_t>(1 + random_() % 24, input.size() - at);
    const auto from = input.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = from + static_cast<std::ptrdiff_t>(length);
    switch (random_() % 6) {
      case 0:
        if (!input.empty()) input[at] = static_cast<std::uint8_t>(random_() & 0xffU);
        return;
      case 1:
        if (!input.empty()) input[at] = kBytes[random_() % std::size(kBytes)];
        return;
      case 2:
        input.erase(from, to);
        return;
      case 3: {
        const Input piece(from, to);
        insert(input, place(input), piece.begin(), piece.end());
        return;
      }
      case 4: {
        if (words_.empty()) return;
        const std::string& word = words_[random_() % words_.size()];
        insert(input, at, word.begin(), word.end());
        return;
      }
      default: {
        const Input& other = inputs_[random_() % inputs_.size()];
        if (other.empty()) return;
        input.resize(at);
        insert(input, at, other.begin() + static_cast<std::ptrdiff_t>(random_() % other.size()), other.end());
      }
    }
  }

  const std::vector<Input>& inputs_;
  std::vector<std::string> words_;
  std::mt19937_64 random_{1};
};

class Replay : public testing::TestWithParam<Entry> {
 protected:
  static void take(const Input& input) {
    try {
      GetParam().take(input);
    } catch (const std::exception& error) {
      const auto path =
          std::filesystem::temp_directory_path() / fmt::format("npulab_find_{}", GetParam().name);
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
      ADD_FAILURE() << GetParam().name << ": " << error.what() << "\nThe input is in " << path;
    }
  }
};

TEST_P(Replay, seeds_and_corpus_are_taken_or_refused) {
  for (const Input& input : GetParam().seeds()) take(input);
  for (const Input& input : committed(GetParam().name)) take(input);
  take({});
}

// For how long each entry is given mutations; NPULAB_MUTATE_SECONDS makes it longer.
std::chrono::duration<double> mutation_time() {
  const char* const given = std::getenv("NPULAB_MUTATE_SECONDS");
  return std::chrono::duration<double>(given == nullptr ? 0.5 : std::strtod(given, nullptr));
}

// The same ones in the same order on every host, as many as there is time for.
TEST_P(Replay, mutations_are_taken_or_refused) {
  std::vector<Input> inputs = GetParam().seeds();
  for (Input& input : committed(GetParam().name)) inputs.push_back(std::move(input));
  Mutator mutator(inputs, GetParam().words());
  const auto begin = std::chrono::steady_clock::now();
  std::size_t count = 0;
  for (; std::chrono::steady_clock::now() - begin < mutation_time() && !HasFailure(); ++count)
    take(mutator.next());
  fmt::print("{}: {} mutations\n", GetParam().name, count);
  EXPECT_GT(count, 0U);
}

INSTANTIATE_TEST_SUITE_P(Entries, Replay, testing::ValuesIn(entries().begin(), entries().end()),
                         [](const auto& entry) { return std::string(entry.param.name); });

}  // namespace
}  // namespace npulab::test
