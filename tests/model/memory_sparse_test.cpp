// SPDX-License-Identifier: Apache-2.0
// Sparse device memory: poison, written bytes, adoption without copies, the ends of large memories.
#include "sim/memory/sparse_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "isa/error.hpp"

namespace npulab::memory {
namespace {

constexpr std::uint64_t kPage = SparseMemory::kPageBytes;

std::vector<std::byte> pattern(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + (i >> 8) * 13 + 1);
  return bytes;
}

TEST(SparseMemory, unwritten_reads_as_poison_and_is_known) {
  const SparseMemory memory(1 << 20);
  std::vector<std::byte> got(100);
  memory.read(kPage - 50, got.data(), got.size());
  EXPECT_TRUE(std::all_of(got.begin(), got.end(), [](std::byte b) { return b == kPoison; }));
  std::uint64_t first = 0;
  EXPECT_FALSE(memory.written(70000, 10, &first));
  EXPECT_EQ(first, 70000U);
  EXPECT_TRUE(memory.written(70000, 0));
  EXPECT_EQ(memory.contiguous(0, 8), nullptr);
  EXPECT_EQ(memory.touched_bytes(), 0U);
}

TEST(SparseMemory, write_crosses_pages_and_marks_exactly_its_bytes) {
  SparseMemory memory(1 << 20);
  const auto data = pattern(1000);
  memory.write(kPage - 300, data.data(), data.size());
  std::vector<std::byte> got(1002);
  memory.read(kPage - 301, got.data(), got.size());
  EXPECT_EQ(got.front(), kPoison);
  EXPECT_EQ(got.back(), kPoison);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin() + 1));
  EXPECT_TRUE(memory.written(kPage - 300, 1000));
  std::uint64_t first = 0;
  EXPECT_FALSE(memory.written(kPage - 301, 2, &first));
  EXPECT_EQ(first, kPage - 301);
  EXPECT_FALSE(memory.written(kPage - 300, 1001, &first));
  EXPECT_EQ(first, kPage + 700);
  EXPECT_EQ(memory.touched_bytes(), 2 * kPage);
  EXPECT_NE(memory.contiguous(kPage, 700), nullptr);
  EXPECT_EQ(memory.contiguous(kPage - 1, 2), nullptr);
}

// TM-13: offsets are 64 bits wide from the first byte to the last of 64 GiB, and of the largest memory.
TEST(SparseMemory, TM_13_first_and_last_byte_of_64_gib) {
  for (const std::uint64_t bytes : {1ULL << 36, 1ULL << 48}) {
    SparseMemory memory(bytes);
    const std::byte a{0x11};
    const std::byte z{0x77};
    memory.write(0, &a, 1);
    memory.write(bytes - 1, &z, 1);
    std::byte got{};
    memory.read(0, &got, 1);
    EXPECT_EQ(got, a);
    memory.read(bytes - 1, &got, 1);
    EXPECT_EQ(got, z);
    EXPECT_EQ(memory.touched_bytes(), 2 * kPage);
    EXPECT_FALSE(memory.written(bytes - 2, 2));
    EXPECT_FALSE(memory.written((bytes - 1) & 0xFFFFFFFFU, 1));
  }
}

TEST(SparseMemory, adopts_large_input_in_place_at_any_alignment) {
  const auto data = pattern(33 << 20);
  for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{1}, kPage - 1, 5 * kPage + 4097}) {
    SparseMemory memory(1ULL << 36);
    memory.adopt(base, data);
    EXPECT_LE(memory.allocated_bytes(), 2 * kPage);
    EXPECT_TRUE(memory.written(base, data.size()));
    EXPECT_FALSE(memory.written(base, data.size() + 1));
    std::vector<std::byte> got(data.size());
    memory.read(base, got.data(), got.size());
    EXPECT_EQ(got, data);
    const std::uint64_t inside = (base / kPage + 1) * kPage;
    EXPECT_EQ(memory.contiguous(inside, 3 * kPage + 5), data.data() + (inside - base));
  }
}

TEST(SparseMemory, write_to_adopted_bytes_copies_one_page_and_leaves_the_callers_alone) {
  const auto data = pattern(4 * kPage);
  const auto before = data;
  SparseMemory memory(1 << 24);
  memory.adopt(0, data);
  EXPECT_EQ(memory.allocated_bytes(), 0U);
  const std::byte mark{0xEE};
  memory.write(kPage + 9, &mark, 1);
  EXPECT_EQ(data, before);
  EXPECT_EQ(memory.allocated_bytes(), kPage);
  std::vector<std::byte> got(4 * kPage);
  memory.read(0, got.data(), got.size());
  EXPECT_EQ(got[kPage + 9], mark);
  got[kPage + 9] = data[kPage + 9];
  EXPECT_EQ(got, data);
  EXPECT_EQ(memory.contiguous(kPage - 4, 8), nullptr);
  EXPECT_EQ(memory.contiguous(2 * kPage, 2 * kPage), data.data() + 2 * kPage);
  memory.adopt(0, data);
  EXPECT_EQ(memory.allocated_bytes(), 0U);
  EXPECT_EQ(memory.touched_bytes(), 4 * kPage);
}

TEST(SparseMemory, agrees_with_a_flat_array) {
  constexpr std::uint64_t kBytes = 5 * kPage + 123;
  SparseMemory memory(kBytes);
  std::vector<std::byte> bytes(kBytes, kPoison);
  std::vector<bool> known(kBytes, false);
  const auto data = pattern(3 * kPage);
  std::mt19937_64 random(1);
  for (int step = 0; step < 400; ++step) {
    const std::uint64_t limit = step % 4 == 0 ? 3 * kPage : 300;
    const std::uint64_t at = random() % kBytes;
    const std::uint64_t n = std::min(random() % limit, kBytes - at);
    const std::span source = std::span(data).subspan(random() % (data.size() - n + 1), n);
    if (step % 3 == 0)
      memory.adopt(at, source);
    else
      memory.write(at, source.data(), n);
    std::copy(source.begin(), source.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(at), n, true);
    const std::uint64_t from = random() % kBytes;
    const std::uint64_t count = std::min(random() % (2 * kPage), kBytes - from);
    std::vector<std::byte> got(count);
    memory.read(from, got.data(), count);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from)));
    std::uint64_t first = from;
    while (first < from + count && known[first]) ++first;
    std::uint64_t told = from + count;
    ASSERT_EQ(memory.written(from, count, &told), first == from + count);
    ASSERT_EQ(told, first);
    if (const std::byte* in_place = memory.contiguous(from, count)) {
      ASSERT_TRUE(std::equal(got.begin(), got.end(), in_place));
    }
  }
  memory.clear();
  EXPECT_EQ(memory.touched_bytes(), 0U);
  EXPECT_FALSE(memory.written(0, 1));
}

TEST(SparseMemory, refuses_ranges_outside) {
  SparseMemory memory(1000);
  std::byte b{};
  memory.write(999, &b, 1);
  memory.read(1000, &b, 0);
  for (const auto& [address, n] : {std::pair{1000ULL, 1ULL}, {999ULL, 2ULL}, {~0ULL, 2ULL}, {5ULL, ~0ULL}}) {
    try {
      memory.read(address, &b, n);
      FAIL() << address;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::internal);
      EXPECT_EQ(error.code(), "gm-out-of-range");
    }
  }
  EXPECT_THROW(SparseMemory((1ULL << 48) + 1), Error);
}

}  // namespace
}  // namespace npulab::memory
