// SPDX-License-Identifier: Apache-2.0
// One local buffer of a core: its bytes, which of them were written, and what its banks make of an access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  // The bytes [offset, offset + n) in place, up to reset(): poison where nobody wrote. Host memory is taken,
  // and poisoned, where it is used: most kernels touch a part of one buffer of several.
  std::byte* bytes(std::uint64_t offset, std::uint64_t n) {
    if (n == 0) return storage() + offset;
    for (std::uint64_t chunk = offset / kChunk; chunk <= (offset + n - 1) / kChunk; ++chunk)
      if (!poisoned_[chunk]) poison(chunk);
    return storage() + offset;
  }
  std::byte* data() { return bytes(0, config_.bytes); }

  // Every byte poison and unwritten again.
  void reset();

  // The buffer for a stretch of many accesses: pointers that hold until reset().
  struct View {
    const std::byte* data;        // only written bytes are there
    const std::uint64_t* shadow;  // bit per byte: written
    std::uint64_t size;
    std::uint64_t alignment;
    std::uint64_t simple_end;  // end of the whole blocks, where their beginnings are aligned, else 0

    // Whether [offset, offset + n) lies inside, aligned; n at most 2^32.
    bool legal(std::uint64_t offset, std::uint64_t n) const {
      return offset <= size && n <= size - offset && (alignment == 1 || offset % alignment == 0);
    }
    // Whether the bytes are legal and written.
    bool good(std::uint64_t offset, std::uint64_t n) const {
      if (n == kBlock && offset % kBlock == 0 && offset < simple_end && block_written(offset)) return true;
      return legal(offset, n) && first_clear_bit(shadow, offset, offset + n) == offset + n;
    }
    // The same of n bytes at offset, offset + step, …; rows and step below 2^31.
    bool good_rows(std::uint64_t offset, std::uint64_t n, std::uint64_t rows, std::uint64_t step) const {
      if (n == kBlock && offset % kBlock == 0 && step % kWordBits == 0 && offset < simple_end &&
          step * (rows - 1) < simple_end - offset) {  // the same half of words that lie equally far apart
        std::uint64_t all = kAllBits;
        const std::uint64_t* word = shadow + offset / kWordBits;
        for (std::uint64_t row = 0; row < rows; ++row) all &= word[row * (step / kWordBits)];
        return static_cast<std::uint32_t>(all >> offset % kWordBits) == ~std::uint32_t{0};
      }
      for (std::uint64_t row = 0; row < rows; ++row)
        if (!good(offset + row * step, n)) return false;
      return true;
    }
    // Of 32 bytes at a multiple of 32 inside the buffer.
    bool block_written(std::uint64_t offset) const {
      return static_cast<std::uint32_t>(shadow[offset / kWordBits] >> offset % kWordBits) ==
             ~std::uint32_t{0};
    }
  };
  View view() {
    if (shadow_.empty()) shadow_.resize((config_.bytes + kWordBits - 1) / kWordBits);
    return {storage(), shadow_.data(), config_.bytes, config_.alignment,
            kBlock % config_.alignment == 0 ? config_.bytes / kBlock * kBlock : 0};
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
    fill_bits(shadow_.data(), offset, offset + n);
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
  static constexpr std::uint64_t kChunk = 4096;
  static constexpr std::uint64_t kBlock = 32;  // of the usual load
  std::byte* storage() {
    if (!bytes_) take_storage();
    return bytes_.get();
  }
  void take_storage();
  void poison(std::uint64_t chunk);

  std::string name_;
  config::BufferConfig config_;
  std::unique_ptr<std::byte[]> bytes_;
  std::vector<bool> poisoned_;  // by chunk: it holds poison or what was written since
  std::vector<std::uint64_t> shadow_;
};

}  // namespace npulab::memory
