// SPDX-License-Identifier: Apache-2.0
// Local buffers: written bytes and bank conflicts, by hand and against a count of words.
#include "sim/memory/local_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "sim/memory/sparse_memory.hpp"

namespace npulab::memory {
namespace {

config::BufferConfig banked(unsigned banks, unsigned bank_bytes, unsigned ports, unsigned alignment = 1) {
  config::BufferConfig config;
  config.bytes = 65536;
  config.banks = banks;
  config.bank_bytes = bank_bytes;
  config.bank_ports = ports;
  config.alignment = alignment;
  return config;
}

TEST(LocalBuffer, starts_as_unwritten_poison) {
  LocalBuffer buffer("ub", banked(1, 32, 1));
  EXPECT_EQ(buffer.name(), "ub");
  EXPECT_EQ(buffer.size(), 65536U);
  EXPECT_TRUE(
      std::all_of(buffer.data(), buffer.data() + buffer.size(), [](std::byte b) { return b == kPoison; }));
  EXPECT_FALSE(buffer.written(0, 1));
  EXPECT_TRUE(buffer.written(0, 0));
}

TEST(LocalBuffer, what_was_written_is_poison_again_after_a_reset) {
  LocalBuffer buffer("ub", banked(1, 32, 1));
  std::fill_n(buffer.bytes(4090, 12), 12, std::byte{1});
  EXPECT_EQ(buffer.bytes(4089, 1)[0], kPoison);
  EXPECT_EQ(buffer.bytes(4102, 1)[0], kPoison);
  EXPECT_EQ(buffer.bytes(4101, 1)[0], std::byte{1});
  buffer.reset();
  EXPECT_EQ(buffer.bytes(4090, 12)[0], kPoison);
  EXPECT_EQ(buffer.data()[4101], kPoison);
}

TEST(LocalBuffer, views_tell_good_accesses_from_others) {
  LocalBuffer buffer("ub", banked(1, 32, 1, 2));
  buffer.mark_written(64, 4096);
  const LocalBuffer::View view = buffer.view();
  for (std::uint64_t n : {1U, 31U, 32U, 64U, 300U})
    for (std::uint64_t offset = 0; offset < 4400; offset += n == 32 ? 1 : 7) {
      const bool good = offset % 2 == 0 && offset >= 64 && offset + n <= 4160;
      EXPECT_EQ(view.good(offset, n), good) << offset << " " << n;
      for (std::uint64_t step : {2U, 32U, 64U, 100U, 256U}) {
        const bool all = good && offset + 3 * step + n <= 4160;
        EXPECT_EQ(view.good_rows(offset, n, 4, step), all) << offset << " " << n << " " << step;
      }
    }
  for (std::uint64_t offset : {65504ULL, 65536ULL, ~31ULL, ~0ULL - 1}) {
    EXPECT_FALSE(view.good(offset, 32)) << offset;
    EXPECT_FALSE(view.good_rows(offset, 32, 3, 64)) << offset;
  }
}

TEST(LocalBuffer, knows_exactly_the_written_bytes) {
  LocalBuffer buffer("ub", banked(1, 32, 1));
  buffer.mark_written(60, 70);
  EXPECT_TRUE(buffer.written(60, 70));
  EXPECT_FALSE(buffer.written(59, 2));
  EXPECT_FALSE(buffer.written(129, 2));
  EXPECT_EQ(buffer.first_unwritten(60, 100), 130U);
  EXPECT_EQ(buffer.first_unwritten(10, 100), 10U);
  buffer.mark_written(65535, 1);
  EXPECT_TRUE(buffer.written(65535, 1));
  buffer.mark_written(0, 65536);
  EXPECT_TRUE(buffer.written(0, 65536));
  buffer.reset();
  EXPECT_FALSE(buffer.written(60, 1));
}

TEST(LocalBuffer, contiguous_access_takes_its_words_over_banks_and_ports) {
  const auto one = banked(1, 32, 1);
  EXPECT_EQ(LocalBuffer::bank_cycles(one, 0, 4, 0, 4), 0U);
  EXPECT_EQ(LocalBuffer::bank_cycles(one, 0, 4, 8, 4), 1U);
  EXPECT_EQ(LocalBuffer::bank_cycles(one, 4, 4, 8, 4), 2U);
  EXPECT_EQ(LocalBuffer::bank_cycles(one, 0, 4, 64, 4), 8U);
  const auto eight = banked(8, 32, 1);
  EXPECT_EQ(LocalBuffer::bank_cycles(eight, 0, 4, 64, 4), 1U);
  EXPECT_EQ(LocalBuffer::bank_cycles(eight, 4, 4, 64, 4), 2U);  // nine words: the first bank gives two
  EXPECT_EQ(LocalBuffer::bank_cycles(banked(8, 32, 2), 4, 4, 64, 4), 1U);
}

TEST(LocalBuffer, strides_conflict_by_bank) {
  const auto config = banked(16, 32, 1);
  EXPECT_EQ(LocalBuffer::bank_cycles(config, 0, 32, 8, 512), 8U);  // all on bank 0
  EXPECT_EQ(LocalBuffer::bank_cycles(config, 0, 32, 8, 256), 4U);  // banks 0 and 8
  EXPECT_EQ(LocalBuffer::bank_cycles(config, 0, 32, 8, 544), 1U);  // padded by one word
  EXPECT_EQ(LocalBuffer::bank_cycles(config, 3584, 32, 8, -512), 8U);
  EXPECT_EQ(LocalBuffer::bank_cycles(config, 96, 4, 100, 0), 1U);  // the same word
  EXPECT_EQ(LocalBuffer::bank_cycles(banked(16, 32, 2), 0, 32, 7, 512), 4U);
}

TEST(LocalBuffer, agrees_with_a_count_of_words) {
  std::mt19937_64 random(2);
  for (int step = 0; step < 3000; ++step) {
    const auto config = banked(1U + static_cast<unsigned>(random() % 20), 1U << (random() % 7),
                               1U + static_cast<unsigned>(random() % 3));
    const unsigned element = 1U << (random() % 6);
    const auto count = static_cast<unsigned>(random() % 40);
    const auto stride = static_cast<std::int64_t>(random() % 400) - 200;
    const std::uint64_t offset = 20000 + random() % 1000;
    std::map<std::uint64_t, std::set<std::uint64_t>> words;
    for (unsigned i = 0; i < count; ++i)
      for (unsigned b = 0; b < element; ++b) {
        const auto at = static_cast<std::uint64_t>(static_cast<std::int64_t>(offset) + stride * i) + b;
        words[at / config.bank_bytes % config.banks].insert(at / config.bank_bytes);
      }
    std::size_t most = 0;
    for (const auto& [bank, touched] : words) most = std::max(most, touched.size());
    EXPECT_EQ(LocalBuffer::bank_cycles(config, offset, element, count, stride),
              (most + config.bank_ports - 1) / config.bank_ports);
  }
}

TEST(LocalBuffer, tells_when_the_offset_cannot_matter) {
  std::mt19937_64 random(3);
  int irrelevant = 0;
  for (int step = 0; step < 2000; ++step) {
    const auto config = banked(1U + static_cast<unsigned>(random() % 9), 1U << (random() % 6),
                               1U + static_cast<unsigned>(random() % 2), 1U << (random() % 6));
    const auto n = static_cast<unsigned>(random() % 300);
    std::set<unsigned> cycles;
    for (std::uint64_t offset = 0; offset < 1024; offset += config.alignment)
      cycles.insert(LocalBuffer::bank_cycles(config, offset, 1, n, 1));
    EXPECT_EQ(LocalBuffer::offset_irrelevant(config, n), cycles.size() == 1);
    irrelevant += cycles.size() == 1 ? 1 : 0;
  }
  EXPECT_GT(irrelevant, 200);
  EXPECT_LT(irrelevant, 1950);
}

}  // namespace
}  // namespace npulab::memory
