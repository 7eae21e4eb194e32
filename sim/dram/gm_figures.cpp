// SPDX-License-Identifier: Apache-2.0
#include "sim/dram/gm_figures.hpp"

#include <tuple>

#include "sim/dram/gm_model.hpp"

namespace npulab::dram {

std::vector<report::Figure> gm_figures() {
  std::vector<report::Figure> rows;
  std::apply(
      [&](const auto&... field) {
        (rows.push_back({field.key, field.unit, field.doc}), ...);
      },
      ChannelStats::fields());
  return rows;
}

}  // namespace npulab::dram
