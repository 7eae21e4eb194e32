// SPDX-License-Identifier: Apache-2.0
// The bytes of device memory. Costs the host only the pages that were written; knows which bytes nobody
// wrote.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace npulab::memory {

// What memory holds that nobody wrote: never zero, so that a forgotten load shows.
inline constexpr std::byte kPoison{0xA5};

// Byte-addressed memory of up to 2^48 bytes. Ranges must lie inside it: the caller refuses bad addresses with
// the user's own words; here they are internal errors ("gm-out-of-range"). Not for use by several threads at
// once.
class SparseMemory {
 public:
  static constexpr std::uint64_t kPageBytes = 65536;

  explicit SparseMemory(std::uint64_t bytes);
  ~SparseMemory();
  SparseMemory(SparseMemory&&) noexcept;
  SparseMemory& operator=(SparseMemory&&) noexcept;

  std::uint64_t size() const { return bytes_; }

  void write(std::uint64_t address, const std::byte* source, std::uint64_t n);
  void read(std::uint64_t address, std::byte* target, std::uint64_t n) const;

  // Whether every byte of the range was written or adopted; otherwise the address of the first one that was
  // not.
  bool written(std::uint64_t address, std::uint64_t n, std::uint64_t* first_unwritten = nullptr) const;

  // Makes `content` the written content at `address` without copying whole pages: they are read in place, and
  // a page is copied when it is written. The bytes must stay alive and unchanged as long as this memory is
  // read.
  void adopt(std::uint64_t address, std::span<const std::byte> content);

  // The range in place when it lies in one piece of host memory, otherwise null: then use read(). Valid until
  // the next write, adopt or clear. Bytes that nobody wrote read as poison here too.
  const std::byte* contiguous(std::uint64_t address, std::uint64_t n) const;

  // Nothing written any more, all pages given back.
  void clear();

  std::uint64_t touched_bytes() const { return touched_pages_ * kPageBytes; }  // pages written or adopted
  std::uint64_t allocated_bytes() const {
    return allocated_pages_ * kPageBytes;
  }  // pages with bytes of their own

 private:
  static constexpr std::uint64_t kPageWords = kPageBytes / 64;
  static constexpr std::uint64_t kDirectoryPages = 4096;

  struct Shadow {
    std::array<std::uint64_t, kPageWords> words{};
    std::uint64_t count = 0;
  };
  struct Page {
    const std::byte* data = nullptr;   // null: untouched
    std::unique_ptr<std::byte[]> own;  // null: adopted or untouched
    std::unique_ptr<Shadow> shadow;    // null: all written, or untouched
  };
  using Directory = std::array<Page, kDirectoryPages>;

  void check(std::uint64_t address, std::uint64_t n) const;
  const Page* find(std::uint64_t page_index) const;
  Page& page(std::uint64_t page_index);
  // Gives the page bytes of its own to write to.
  std::byte* own_bytes(Page& page);

  std::uint64_t bytes_;
  std::vector<std::unique_ptr<Directory>> directories_;
  std::uint64_t touched_pages_ = 0;
  std::uint64_t allocated_pages_ = 0;
};

}  // namespace npulab::memory
