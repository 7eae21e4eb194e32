// SPDX-License-Identifier: Apache-2.0
// How long one core spent in each named region: sums, so that marks in long loops cost no memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace npulab::systemc {

class RegionLog {
 public:
  struct Total {
    std::string name;
    std::uint64_t first_cycle = 0;
    std::uint64_t cycles = 0;
  };

  // A region begins, and the one before it ends. Cycles never decrease.
  void mark(const std::string& name, std::uint64_t cycle) {
    close(totals_, cycle);
    const auto known =
        std::find_if(totals_.begin(), totals_.end(), [&](const Total& total) { return total.name == name; });
    open_ = static_cast<std::size_t>(known - totals_.begin());
    if (known == totals_.end()) totals_.push_back({name, cycle, 0});
    since_ = cycle;
  }
  // In the order of their first marks; `end` is when the core ended.
  std::vector<Total> totals(std::uint64_t end) const {
    std::vector<Total> result = totals_;
    close(result, end);
    return result;
  }

 private:
  void close(std::vector<Total>& totals, std::uint64_t cycle) const {
    if (!totals.empty()) totals[open_].cycles += cycle - since_;
  }

  std::vector<Total> totals_;
  std::size_t open_ = 0;
  std::uint64_t since_ = 0;
};

}  // namespace npulab::systemc
