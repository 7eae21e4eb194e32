// SPDX-License-Identifier: Apache-2.0
// Batches that wait for their grant, and the order in which one round grants them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "sim/systemc/gm_port.hpp"

namespace npulab::systemc {

// Round robin over cores: a round serves the cores from `first` on upwards, then the lower ones; engines of a
// core by their number; batches of one engine in the order in which it submitted them. The next round starts
// after the core that this one served first. Which engine was activated first does not matter.
class GmGrants {
 public:
  struct Entry {
    GmBatch* batch;
    GmClient* client;
  };

  void add(GmBatch& batch, GmClient& client) { waiting_.push_back({&batch, &client}); }
  bool empty() const { return waiting_.empty(); }

  // The batches of this round in order; valid until the next call.
  std::span<const Entry> take() {
    round_.clear();
    round_.swap(waiting_);
    if (round_.empty()) return {};
    const auto key = [this](const Entry& entry) {
      return std::tuple(entry.batch->core < first_core_, entry.batch->core, entry.batch->engine);
    };
    // Insertion keeps equal keys in order and needs no memory; rounds are short and mostly sorted.
    for (std::size_t i = 1; i < round_.size(); ++i)
      for (std::size_t k = i; k > 0 && key(round_[k]) < key(round_[k - 1]); --k)
        std::swap(round_[k], round_[k - 1]);
    first_core_ = round_.front().batch->core + 1;
    return round_;
  }

  void reset() {
    waiting_.clear();
    round_.clear();
    first_core_ = 0;
  }

 private:
  std::vector<Entry> waiting_;
  std::vector<Entry> round_;
  std::uint32_t first_core_ = 0;
};

}  // namespace npulab::systemc
