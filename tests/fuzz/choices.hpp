// SPDX-License-Identifier: Apache-2.0
// Where a generator takes its decisions from: a seed, or bytes that a fuzzer mutates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace npulab::test {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed), seeded_(true) {}
  // Behind the end of the bytes every decision is the first one, so that whatever is generated ends.
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  // A number below `below`, which is not 0.
  std::uint64_t pick(std::uint64_t below) {
    if (below <= 1) return 0;
    if (seeded_) return random_() % below;
    std::uint64_t value = 0;
    for (std::uint64_t reach = 1; reach < below && reach < std::uint64_t{1} << 56U; reach <<= 8U)
      value = value << 8U | next_byte();
    return value % below;
  }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(pick(static_cast<std::uint64_t>(most - least) + 1));
  }
  bool one_in(std::uint64_t n) { return pick(n) == n - 1; }
  std::uint64_t bits64() { return pick(std::uint64_t{1} << 32U) << 32U | pick(std::uint64_t{1} << 32U); }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[pick(all.size())];
  }
  bool exhausted() const { return !seeded_ && at_ >= bytes_.size(); }

 private:
  std::uint64_t next_byte() { return at_ < bytes_.size() ? bytes_[at_++] : 0U; }

  std::mt19937_64 random_;
  bool seeded_ = false;
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace npulab::test
