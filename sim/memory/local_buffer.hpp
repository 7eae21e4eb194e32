// SPDX-License-Identifier: Apache-2.0
// One local buffer of a core: its bytes, which of them were written, and what its banks make of an access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/machine.hpp"
#include "sim/memory/bit_range.hpp"
#include "sim/memory/sparse_memory.hpp"

namespace npulab::memory {

// Offsets and lengths are bytes and must lie inside the buffer: the caller checks them once per access.
class LocalBuffer {
 public:
  LocalBuffer(std::string name, const config::BufferConfig& config);

  const std::string& name() const { return name_; }
  const config::BufferConfig& config() const { return config_; }
  std::uint64_t size() const { return config_.bytes; }
  // Host memory is taken at the first use: most kernels touch one buffer of several.
  std::byte* data() {
    if (bytes_.empty()) bytes_.assign(config_.bytes, kPoison);
    return bytes_.data();
  }

  // Every byte poison and unwritten again.
  void reset();

  // The buffer for a stretch of many accesses: pointers that hold until reset().
  struct View {
    std::byte* data;
    const std::uint64_t* shadow;  // bit per byte: written
    std::uint64_t size;
    std::uint64_t alignment;
    std::uint64_t simple_end;  // size where multiples of 32 are aligned, else 0

    // Whether [offset, offset + n) lies inside, aligned; n at most 2^32.
    bool legal(std::uint64_t offset, std::uint64_t n) const {
      return offset <= size && n <= size - offset && (alignment == 1 || offset % alignment == 0);
    }
    // Whether the 32 bytes at a multiple of 32 are legal and written; may say no where it is merely not that
    // simple.
    bool plainly_good_32(std::uint64_t offset) const {
      constexpr std::uint64_t kBlock = 32;
      return offset % kBlock == 0 && offset < simple_end && offset + kBlock <= simple_end &&
             static_cast<std::uint32_t>(shadow[offset / kWordBits] >> offset % kWordBits) ==
                 ~std::uint32_t{0};
    }
    // Whether bytes that lie in one word of the shadow were written; false where they lie in two.
    bool surely_written(std::uint64_t offset, std::uint64_t n) const {
      const std::uint64_t shift = offset % kWordBits;
      if (shift + n > kWordBits) return false;
      const std::uint64_t mask = (n == kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1) << shift;
      return (shadow[offset / kWordBits] & mask) == mask;
    }
  };
  View view() {
    if (shadow_.empty()) shadow_.resize((config_.bytes + kWordBits - 1) / kWordBits);
    constexpr unsigned kBlock = 32;
    return {data(), shadow_.data(), config_.bytes, config_.alignment,
            kBlock % config_.alignment == 0 ? config_.bytes : 0};
  }

  bool written(std::uint64_t offset, std::uint64_t n) const {
    return first_unwritten(offset, n) == offset + n;
  }
  // The first byte of the range that nobody wrote, or its end.
  std::uint64_t first_unwritten(std::uint64_t offset, std::uint64_t n) const {
    if (shadow_.empty()) return n == 0 ? offset + n : offset;
    return first_clear_bit(shadow_.data(), offset, offset + n);
  }
  void mark_written(std::uint64_t offset, std::uint64_t n) {
    if (shadow_.empty()) shadow_.resize((config_.bytes + kWordBits - 1) / kWordBits);
    set_bits(shadow_.data(), offset, offset + n);
  }

  // Cycles that one access to `count` elements takes, the first at `offset`, each `stride` bytes (0 and
  // negative too) after the one before: the most distinct words that fall on one bank, over the bank's ports.
  // Words that several elements touch count once. 0 for an access of no bytes.
  unsigned bank_cycles(std::uint64_t offset, unsigned element_bytes, unsigned count,
                       std::int64_t stride) const {
    return bank_cycles(config_, offset, element_bytes, count, stride);
  }
  static unsigned bank_cycles(const config::BufferConfig& config, std::uint64_t offset,
                              unsigned element_bytes, unsigned count, std::int64_t stride);

  // Whether `n` bytes in a row take the same cycles at every offset that the buffer's alignment allows, so
  // that timing need not know the offset.
  static bool offset_irrelevant(const config::BufferConfig& config, std::uint64_t n);

 private:
  std::string name_;
  config::BufferConfig config_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> shadow_;
};

}  // namespace npulab::memory
