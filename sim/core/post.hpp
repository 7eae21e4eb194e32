// SPDX-License-Identifier: Apache-2.0
// Post-operations of a transfer on a row of elements: scale, relu, conversion. Values only.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/core/transfer.hpp"
#include "sim/values/lanes.hpp"

namespace npulab::core {

class PostOperations {
 public:
  PostOperations(const MicroOp& op, const Transfer& transfer, bool saturate);

  // `count` elements of the source's type at `in` to the destination's type at `out`.
  // `scales`: a factor for each, null where there is one for all or none.
  void apply(std::byte* out, const std::byte* in, const std::byte* scales);

 private:
  std::size_t count_;
  std::size_t out_bytes_;
  std::array<std::byte, 4> scale_{};
  std::vector<std::byte> room_;  // what comes between in and out, f32
  values::LaneFunction widen_ = nullptr;
  values::LaneFunction multiply_ = nullptr;
  values::LaneFunction relu_ = nullptr;
  values::LaneFunction convert_ = nullptr;
};

}  // namespace npulab::core
