// SPDX-License-Identifier: Apache-2.0
// Exact times on a bus: picoseconds and a fraction, so that rounding never adds up to more than the peak.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace npulab::dram {

__extension__ using Wide = unsigned __int128;

inline constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

inline std::uint64_t ps_from_ns(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns * 1e3));
}
// Rates are whole bytes per second.
inline std::uint64_t bytes_per_second(double gbps) {
  return static_cast<std::uint64_t>(std::llround(gbps * 1e9));
}

// ps + part / Rate::denominator() picoseconds.
struct Instant {
  std::uint64_t ps = 0;
  std::uint64_t part = 0;

  std::uint64_t ceil() const { return ps + (part != 0 ? 1 : 0); }
};

// How long units (bytes, bursts, column commands) take: n of them n * numerator / denominator picoseconds.
class Rate {
 public:
  Rate(std::uint64_t bytes_per_unit, std::uint64_t rate) {
    const std::uint64_t ps = bytes_per_unit * kPsPerSecond;
    const std::uint64_t common = std::gcd(ps, rate);
    numerator_ = ps / common;
    denominator_ = rate / common;
    fill_table();
  }
  // A unit takes whole picoseconds.
  explicit Rate(std::uint64_t ps_per_unit) : numerator_(ps_per_unit) { fill_table(); }

  Instant after(Instant start, std::uint64_t units) const {
    const Instant span = units < kTable ? table_[units] : exact(units);
    Instant end{start.ps + span.ps, start.part + span.part};
    if (end.part >= denominator_) {
      ++end.ps;
      end.part -= denominator_;
    }
    return end;
  }
  std::uint64_t ps(std::uint64_t units) const { return after({}, units).ceil(); }

 private:
  static constexpr std::size_t kTable = 33;

  Instant exact(std::uint64_t units) const {
    const Wide parts = static_cast<Wide>(units) * numerator_;
    return {static_cast<std::uint64_t>(parts / denominator_),
            static_cast<std::uint64_t>(parts % denominator_)};
  }
  void fill_table() {
    for (std::size_t units = 0; units < kTable; ++units) table_[units] = exact(units);
  }

  std::uint64_t numerator_ = 1;
  std::uint64_t denominator_ = 1;
  std::array<Instant, kTable> table_{};  // runs of bursts are short: no division on the way
};

}  // namespace npulab::dram
