// SPDX-License-Identifier: Apache-2.0
// The table of what engines count beside their cycles. Counters of a device memory have a table of their own
// beside its model.
#pragma once

#include <array>
#include <string_view>

namespace npulab::report {

struct CounterInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view definition;
};

inline constexpr std::array<CounterInfo, 12> kEngineCounters{{
    {"load_starts", "slots", "issue slots that vector loads took on the load port, over all cores"},
    {"store_starts", "slots", "issue slots that vector stores took on the store port, over all cores"},
    {"arithmetic_starts", "slots",
     "issue slots that vector arithmetic took on the arithmetic port, over all cores"},
    {"copies", "copies", "copies that a DMA engine carried out, over all cores"},
    {"requests", "requests", "requests that it cut them into"},
    {"bytes", "bytes", "bytes that it moved, counted once per copy"},
    {"converted_bytes", "bytes", "those of them that changed their layout or type on the way"},
    {"products", "instructions", "matrix products that the matrix unit carried out, over all cores"},
    {"macs", "operations", "their multiply-adds, m x n x k of each, whatever zeros saved"},
    {"step_cycles", "cycles",
     "cycles of the unit's clock in which it took a step or waited for operands' ports"},
    {"skipped_cycles", "cycles", "cycles of full use that zeros and packed operands saved"},
    {"wrapped_sums", "elements", "integer sums whose exact value left i32, counted per product"},
}};

}  // namespace npulab::report
