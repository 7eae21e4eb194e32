// SPDX-License-Identifier: Apache-2.0
// Bank conflicts of local buffers.
#include "sim/memory/local_buffer.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace npulab::memory {

namespace {

constexpr std::uint64_t kMostBanks = 1024;

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Words that follow each other spread over the banks evenly.
unsigned cycles_of_run(const config::BufferConfig& config, std::uint64_t words) {
  return static_cast<unsigned>(ceil_div(ceil_div(words, config.banks), config.bank_ports));
}

}  // namespace

LocalBuffer::LocalBuffer(std::string name, const config::BufferConfig& config)
    : name_(std::move(name)), config_(config), poisoned_(ceil_div(config.bytes, kChunk)) {}

void LocalBuffer::take_storage() {
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(config_.bytes);
}

void LocalBuffer::poison(std::uint64_t chunk) {
  const std::uint64_t begin = chunk * kChunk;
  std::fill_n(storage() + begin, std::min(kChunk, config_.bytes - begin), kPoison);
  poisoned_[chunk] = true;
}

void LocalBuffer::reset() {
  poisoned_.assign(poisoned_.size(), false);
  std::fill(shadow_.begin(), shadow_.end(), 0);
}

unsigned LocalBuffer::bank_cycles(const config::BufferConfig& config, std::uint64_t offset,
                                  unsigned element_bytes, unsigned count, std::int64_t stride) {
  if (count == 0 || element_bytes == 0) return 0;
  const std::uint64_t pitch =
      stride < 0 ? ~static_cast<std::uint64_t>(stride) + 1 : static_cast<std::uint64_t>(stride);
  const std::uint64_t span = pitch * (count - 1);
  const std::uint64_t start = stride < 0 ? offset - span : offset;
  const std::uint64_t word_bytes = config.bank_bytes;
  // No word is left out between two elements.
  if (pitch < element_bytes + word_bytes)
    return cycles_of_run(config, (start + span + element_bytes - 1) / word_bytes - start / word_bytes + 1);

  std::array<std::uint32_t, kMostBanks> words_of_bank;
  std::fill_n(words_of_bank.begin(), config.banks, 0);
  std::uint32_t most = 0;
  std::uint64_t next_word = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = start + i * pitch;
    const std::uint64_t last_word = (at + element_bytes - 1) / word_bytes;
    for (std::uint64_t word = std::max(next_word, at / word_bytes); word <= last_word; ++word)
      most = std::max(most, ++words_of_bank[word % config.banks]);
    next_word = last_word + 1;
  }
  return static_cast<unsigned>(ceil_div(most, config.bank_ports));
}

bool LocalBuffer::offset_irrelevant(const config::BufferConfig& config, std::uint64_t n) {
  if (n == 0) return true;
  const std::uint64_t word_bytes = config.bank_bytes;
  const std::uint64_t step = std::gcd<std::uint64_t>(config.alignment, word_bytes);
  const std::uint64_t fewest = ceil_div(n, word_bytes);
  const std::uint64_t most = ceil_div(n + word_bytes - step, word_bytes);
  return cycles_of_run(config, fewest) == cycles_of_run(config, most);
}

}  // namespace npulab::memory
