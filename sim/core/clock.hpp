// SPDX-License-Identifier: Apache-2.0
// One clock domain: integer cycles to integer picoseconds and back, exact for any frequency in Hz.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>

namespace npulab::core {

class Clock {
 public:
  explicit Clock(std::uint64_t hz)
      : hz_(hz),
        numerator_(kPsPerSecond / std::gcd(kPsPerSecond, hz)),
        denominator_(hz / std::gcd(kPsPerSecond, hz)) {}

  // When cycle `cycle` begins: floor(cycle * 10^12 / hz).
  std::uint64_t ps(std::uint64_t cycle) const {
    if (cycle <= kMost / numerator_) return cycle * numerator_ / denominator_;
    return static_cast<std::uint64_t>(static_cast<Wide>(cycle) * numerator_ / denominator_);
  }
  // The first cycle that begins at or after `ps`.
  std::uint64_t cycle(std::uint64_t ps) const {
    std::uint64_t cycle = ps <= kMost / denominator_
                              ? ps * denominator_ / numerator_
                              : static_cast<std::uint64_t>(static_cast<Wide>(ps) * denominator_ / numerator_);
    while (this->ps(cycle) < ps) ++cycle;
    return cycle;
  }
  std::uint64_t hz() const { return hz_; }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000U;
  static constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t hz_;
  std::uint64_t numerator_;  // period in ps as a fraction in lowest terms: 64 bits do for long runs
  std::uint64_t denominator_;
};

}  // namespace npulab::core
