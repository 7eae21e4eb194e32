// SPDX-License-Identifier: Apache-2.0
// Pages, copy on write and the shadow of written bytes.
#include "sim/memory/sparse_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "isa/error.hpp"
#include "sim/memory/bit_range.hpp"

namespace npulab::memory {

namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 48;

// The part of a range that lies in one page.
struct Piece {
  std::uint64_t page_index;
  std::uint64_t offset;
  std::uint64_t n;
};

Piece first_piece(std::uint64_t address, std::uint64_t n) {
  const std::uint64_t offset = address % SparseMemory::kPageBytes;
  return {address / SparseMemory::kPageBytes, offset, std::min(n, SparseMemory::kPageBytes - offset)};
}

}  // namespace

SparseMemory::SparseMemory(std::uint64_t bytes) : bytes_(bytes) {
  if (bytes > kMostBytes)
    throw Error(Category::internal, "gm-too-large", fmt::format("a memory of {} bytes; at most 2^48", bytes));
  constexpr std::uint64_t kDirectoryBytes = kDirectoryPages * kPageBytes;
  directories_.resize((bytes + kDirectoryBytes - 1) / kDirectoryBytes);
}

SparseMemory::~SparseMemory() = default;
SparseMemory::SparseMemory(SparseMemory&&) noexcept = default;
SparseMemory& SparseMemory::operator=(SparseMemory&&) noexcept = default;

void SparseMemory::check(std::uint64_t address, std::uint64_t n) const {
  if (address <= bytes_ && n <= bytes_ - address) return;
  throw Error(Category::internal, "gm-out-of-range",
              fmt::format("{} bytes at {:#x} of a memory of {:#x} bytes", n, address, bytes_));
}

const SparseMemory::Page* SparseMemory::find(std::uint64_t page_index) const {
  const Directory* directory = directories_[page_index / kDirectoryPages].get();
  if (directory == nullptr) return nullptr;
  const Page& found = (*directory)[page_index % kDirectoryPages];
  return found.data == nullptr ? nullptr : &found;
}

SparseMemory::Page& SparseMemory::page(std::uint64_t page_index) {
  std::unique_ptr<Directory>& directory = directories_[page_index / kDirectoryPages];
  if (!directory) directory = std::make_unique<Directory>();
  return (*directory)[page_index % kDirectoryPages];
}

std::byte* SparseMemory::own_bytes(Page& page) {
  if (page.own) return page.own.get();
  auto own = std::make_unique_for_overwrite<std::byte[]>(kPageBytes);
  if (page.data != nullptr) {
    std::memcpy(own.get(), page.data, kPageBytes);
  } else {
    std::fill_n(own.get(), kPageBytes, kPoison);
    page.shadow = std::make_unique<Shadow>();
    ++touched_pages_;
  }
  ++allocated_pages_;
  page.own = std::move(own);
  page.data = page.own.get();
  return page.own.get();
}

void SparseMemory::write(std::uint64_t address, const std::byte* source, std::uint64_t n) {
  check(address, n);
  while (n > 0) {
    const Piece piece = first_piece(address, n);
    Page& target = page(piece.page_index);
    std::memcpy(own_bytes(target) + piece.offset, source, piece.n);
    if (target.shadow) {
      target.shadow->count += set_bits(target.shadow->words.data(), piece.offset, piece.offset + piece.n);
      if (target.shadow->count == kPageBytes) target.shadow.reset();
    }
    address += piece.n;
    source += piece.n;
    n -= piece.n;
  }
}

void SparseMemory::read(std::uint64_t address, std::byte* target, std::uint64_t n) const {
  check(address, n);
  while (n > 0) {
    const Piece piece = first_piece(address, n);
    if (const Page* source = find(piece.page_index))
      std::memcpy(target, source->data + piece.offset, piece.n);
    else
      std::fill_n(target, piece.n, kPoison);
    address += piece.n;
    target += piece.n;
    n -= piece.n;
  }
}

bool SparseMemory::written(std::uint64_t address, std::uint64_t n, std::uint64_t* first_unwritten) const {
  check(address, n);
  while (n > 0) {
    const Piece piece = first_piece(address, n);
    const Page* found = find(piece.page_index);
    std::uint64_t good = piece.n;
    if (found == nullptr)
      good = 0;
    else if (found->shadow)
      good =
          first_clear_bit(found->shadow->words.data(), piece.offset, piece.offset + piece.n) - piece.offset;
    if (good < piece.n) {
      if (first_unwritten != nullptr) *first_unwritten = address + good;
      return false;
    }
    address += piece.n;
    n -= piece.n;
  }
  return true;
}

void SparseMemory::adopt(std::uint64_t address, std::span<const std::byte> content) {
  check(address, content.size());
  while (!content.empty()) {
    const Piece piece = first_piece(address, content.size());
    if (piece.n == kPageBytes) {
      Page& target = page(piece.page_index);
      if (target.data == nullptr) ++touched_pages_;
      if (target.own) --allocated_pages_;
      target.own.reset();
      target.shadow.reset();
      target.data = content.data();
    } else {
      write(address, content.data(), piece.n);
    }
    address += piece.n;
    content = content.subspan(piece.n);
  }
}

const std::byte* SparseMemory::contiguous(std::uint64_t address, std::uint64_t n) const {
  check(address, n);
  if (n == 0) return nullptr;
  Piece piece = first_piece(address, n);
  const Page* found = find(piece.page_index);
  if (found == nullptr) return nullptr;
  const std::byte* const start = found->data + piece.offset;
  const std::byte* expected = found->data + kPageBytes;
  // Pages that follow each other in host memory: own pages never do by contract, adopted ones of one call do.
  for (std::uint64_t rest = n - piece.n; rest > 0; rest -= piece.n) {
    if (found->own) return nullptr;
    piece = {piece.page_index + 1, 0, std::min(rest, kPageBytes)};
    found = find(piece.page_index);
    if (found == nullptr || found->own || found->data != expected) return nullptr;
    expected += kPageBytes;
  }
  return start;
}

void SparseMemory::clear() {
  for (std::unique_ptr<Directory>& directory : directories_) directory.reset();
  touched_pages_ = 0;
  allocated_pages_ = 0;
}

}  // namespace npulab::memory
