// SPDX-License-Identifier: Apache-2.0
// The table of what engines count beside their cycles. Counters of a device memory have a table of their own
// beside its model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace npulab::report {

enum class EngineCounter : std::uint8_t {
  load_starts,
  store_starts,
  arithmetic_starts,
  copies,
  requests,
  bytes,
  converted_bytes,
  products,
  macs,
  step_cycles,
  skipped_cycles,
  wrapped_sums,
  kCount
};
inline constexpr std::size_t kEngineCounterCount = static_cast<std::size_t>(EngineCounter::kCount);

struct CounterInfo {
  EngineCounter counter;
  std::string_view name;
  std::string_view unit;
  std::string_view definition;
};

inline constexpr std::array<CounterInfo, kEngineCounterCount> kEngineCounters{{
    {EngineCounter::load_starts, "load_starts", "slots",
     "issue slots that vector loads took on the load port, over all cores"},
    {EngineCounter::store_starts, "store_starts", "slots",
     "issue slots that vector stores took on the store port, over all cores"},
    {EngineCounter::arithmetic_starts, "arithmetic_starts", "slots",
     "issue slots that vector arithmetic took on the arithmetic port, over all cores"},
    {EngineCounter::copies, "copies", "copies", "copies that a DMA engine carried out, over all cores"},
    {EngineCounter::requests, "requests", "requests", "requests that it cut them into"},
    {EngineCounter::bytes, "bytes", "bytes", "bytes that it moved, counted once per copy"},
    {EngineCounter::converted_bytes, "converted_bytes", "bytes",
     "those of them that changed their layout or type on the way"},
    {EngineCounter::products, "products", "instructions",
     "matrix products that the matrix unit carried out, over all cores"},
    {EngineCounter::macs, "macs", "operations",
     "their multiply-adds, m x n x k of each, whatever zeros saved"},
    {EngineCounter::step_cycles, "step_cycles", "cycles",
     "cycles of the unit's clock in which it took a step or waited for operands' ports"},
    {EngineCounter::skipped_cycles, "skipped_cycles", "cycles",
     "cycles of full use that zeros and packed operands saved"},
    {EngineCounter::wrapped_sums, "wrapped_sums", "elements",
     "integer sums whose exact value left i32, counted per product"},
}};

constexpr bool engine_counters_in_order() {
  for (std::size_t i = 0; i < kEngineCounters.size(); ++i)
    if (static_cast<std::size_t>(kEngineCounters[i].counter) != i) return false;
  return true;
}
static_assert(engine_counters_in_order(), "rows of kEngineCounters stand in the order of EngineCounter");

constexpr std::string_view name(EngineCounter counter) {
  return kEngineCounters[static_cast<std::size_t>(counter)].name;
}

}  // namespace npulab::report
