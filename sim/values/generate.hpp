// SPDX-License-Identifier: Apache-2.0
// Built-in tensor data, the same bits on every host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/dtype.hpp"

namespace npulab::values {

struct DataKind {
  std::string_view name;
  std::string_view usage;    // name with its argument
  std::string_view meaning;  // the values, exactly
};
std::span<const DataKind> data_kinds();

// Fills `elements` elements of `type` from `data` on (i4: (elements + 1) / 2 bytes) as `spec`, one of
// data_kinds(), says. arange of floats: beyond the largest finite value infinity, NaN in f8e4m3. const: a
// finite V must stay finite, and f8e4m3 takes no inf. Throws Error (input): "unknown-data", "bad-seed",
// "bad-constant", "constant-out-of-range".
void fill(isa::DType type, std::byte* data, std::uint64_t elements, std::string_view spec);

}  // namespace npulab::values
