// SPDX-License-Identifier: Apache-2.0
// Built-in tensor data, the same bits on every host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "isa/dtype.hpp"

namespace npulab::values {

// Fills `elements` elements of `type` from `data` on (i4: (elements + 1) / 2 bytes) as `spec` says:
//   random[:SEED]  floats: (j - 2^23) / 2^23 with j uniform in 0 … 2^24-1, so in [-1, 1), then rounded to the
//   type;
//                  integers uniform over their range. SEED is 0 … 2^64-1, by default 1.
//   zeros, ones
//   arange         0, 1, 2, …: integers wrap at the range of the type, floats are rounded to nearest even
//                  (beyond the largest finite value: infinity, NaN in f8e4m3)
//   const:V        V in every element: for integer types a decimal integer in range, for floats a decimal
//   number,
//                  inf, -inf or nan, rounded to nearest even; a finite V must stay finite, and f8e4m3 takes
//                  no inf
// Throws Error (input): "unknown-data", "bad-seed", "bad-constant", "constant-out-of-range".
void fill(isa::DType type, std::byte* data, std::uint64_t elements, std::string_view spec);

}  // namespace npulab::values
