// SPDX-License-Identifier: Apache-2.0
// One clock domain: integer cycles to integer picoseconds and back, exact for any frequency in Hz.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>

namespace npulab::core {

// Division by a number that is known late, without a division; exact for every dividend.
class Reciprocal {
 public:
  explicit Reciprocal(std::uint64_t divisor)
      : divisor_(divisor), inverse_(std::numeric_limits<std::uint64_t>::max() / divisor) {}

  std::uint64_t floor(std::uint64_t x) const {
    // Cut off twice, the product is the quotient or one below it.
    const auto quotient = static_cast<std::uint64_t>(static_cast<Wide>(x) * inverse_ >> 64U);
    return quotient + (x - quotient * divisor_ >= divisor_ ? 1 : 0);
  }
  std::uint64_t ceil(std::uint64_t x) const { return x == 0 ? 0 : floor(x - 1) + 1; }
  std::uint64_t divisor() const { return divisor_; }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t divisor_;
  std::uint64_t inverse_;
};

class Clock {
 public:
  explicit Clock(std::uint64_t hz)
      : hz_(hz),
        numerator_(kPsPerSecond / std::gcd(kPsPerSecond, hz)),
        denominator_(hz / std::gcd(kPsPerSecond, hz)),
        most_cycle_(kMost / numerator_.divisor()),
        most_ps_(kMost / denominator_.divisor()) {}

  // When cycle `cycle` begins: floor(cycle * 10^12 / hz).
  std::uint64_t ps(std::uint64_t cycle) const {
    if (cycle <= most_cycle_) return denominator_.floor(cycle * numerator_.divisor());
    return static_cast<std::uint64_t>(static_cast<Wide>(cycle) * numerator_.divisor() /
                                      denominator_.divisor());
  }
  // The first cycle that begins at or after `ps`.
  std::uint64_t cycle(std::uint64_t ps) const {
    if (ps <= most_ps_) return numerator_.ceil(ps * denominator_.divisor());
    const Wide parts = static_cast<Wide>(ps) * denominator_.divisor();
    return static_cast<std::uint64_t>((parts + numerator_.divisor() - 1) / numerator_.divisor());
  }
  std::uint64_t hz() const { return hz_; }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000U;
  static constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t hz_;
  Reciprocal numerator_;  // period in ps as a fraction in lowest terms: 64 bits do for long runs
  Reciprocal denominator_;
  std::uint64_t most_cycle_;  // up to these the products have 64 bits
  std::uint64_t most_ps_;
};

}  // namespace npulab::core
