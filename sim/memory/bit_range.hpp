// SPDX-License-Identifier: Apache-2.0
// Ranges of bits in arrays of 64-bit words: which bytes of a memory were written.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace npulab::memory {

inline constexpr std::uint64_t kWordBits = 64;
inline constexpr std::uint64_t kAllBits = ~std::uint64_t{0};

// The bits of [begin, end) that lie in the word of `begin`; begin < end.
constexpr std::uint64_t word_mask(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t low = begin % kWordBits;
  const std::uint64_t count = std::min(end - begin, kWordBits - low);
  return (kAllBits >> (kWordBits - count)) << low;
}

// Sets the bits [begin, end) and returns how many of them were clear.
constexpr std::uint64_t set_bits(std::uint64_t* words, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t fresh = 0;
  while (begin < end) {
    const std::uint64_t mask = word_mask(begin, end);
    std::uint64_t& word = words[begin / kWordBits];
    fresh += static_cast<std::uint64_t>(std::popcount(mask & ~word));
    word |= mask;
    begin = (begin / kWordBits + 1) * kWordBits;
  }
  return fresh;
}

constexpr void clear_bits(std::uint64_t* words, std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    words[begin / kWordBits] &= ~word_mask(begin, end);
    begin = (begin / kWordBits + 1) * kWordBits;
  }
}

// Sets the bits [begin, end), whole words at a time.
constexpr void fill_bits(std::uint64_t* words, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first_whole = (begin + kWordBits - 1) / kWordBits;
  const std::uint64_t last_whole = end / kWordBits;
  if (first_whole >= last_whole) {
    set_bits(words, begin, end);
    return;
  }
  set_bits(words, begin, first_whole * kWordBits);
  std::fill(words + first_whole, words + last_whole, kAllBits);
  set_bits(words, last_whole * kWordBits, end);
}

// The first clear bit of [begin, end), or `end` when all are set.
constexpr std::uint64_t first_clear_bit(const std::uint64_t* words, std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    const std::uint64_t missing = word_mask(begin, end) & ~words[begin / kWordBits];
    const std::uint64_t base = begin / kWordBits * kWordBits;
    if (missing != 0) return base + static_cast<std::uint64_t>(std::countr_zero(missing));
    begin = base + kWordBits;
    for (const std::uint64_t* four = words + begin / kWordBits;
         begin + 4 * kWordBits <= end && (four[0] & four[1] & four[2] & four[3]) == kAllBits; four += 4)
      begin += 4 * kWordBits;
  }
  return end;
}

}  // namespace npulab::memory
