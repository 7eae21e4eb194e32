// SPDX-License-Identifier: Apache-2.0
// One clock domain: integer cycles to integer picoseconds and back, exact for any frequency in Hz.
#pragma once

#include <cstdint>

namespace npulab::core {

class Clock {
 public:
  explicit Clock(std::uint64_t hz) : hz_(hz), whole_ps_(kPsPerSecond % hz == 0 ? kPsPerSecond / hz : 0) {}

  // When cycle `cycle` begins: floor(cycle * 10^12 / hz).
  std::uint64_t ps(std::uint64_t cycle) const {
    if (whole_ps_ != 0) return cycle * whole_ps_;
    return static_cast<std::uint64_t>(static_cast<Wide>(cycle) * kPsPerSecond / hz_);
  }
  // The first cycle that begins at or after `ps`.
  std::uint64_t cycle(std::uint64_t ps) const {
    if (whole_ps_ != 0) return (ps + whole_ps_ - 1) / whole_ps_;
    const Wide product = static_cast<Wide>(ps) * hz_;
    auto cycle = static_cast<std::uint64_t>(product / kPsPerSecond);
    while (this->ps(cycle) < ps) ++cycle;
    return cycle;
  }
  std::uint64_t hz() const { return hz_; }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000U;
  std::uint64_t hz_;
  std::uint64_t whole_ps_;  // period where it is whole, else 0
};

}  // namespace npulab::core
