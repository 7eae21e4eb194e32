// SPDX-License-Identifier: Apache-2.0
// What the twice compiled kernels offer to the dispatcher. Their files hold internal-linkage code alone
// besides these functions, so that no copy of an inline function compiled for AVX2 can reach a host without
// it.
#pragma once

#include "sim/values/lanes.hpp"

namespace npulab::values {

// The function for a legal combination, nullptr for others. find_rows: and for one that has no such form.
namespace baseline {
LaneFunction find(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);
RowsFunction find_rows(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);
}  // namespace baseline
namespace avx2 {
LaneFunction find(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);
RowsFunction find_rows(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);
}  // namespace avx2

// Conversions between any two types, element by element, the same code on every path.
LaneFunction scalar_conversion(isa::DType type, isa::DType type2, LaneModes modes);

}  // namespace npulab::values
