// SPDX-License-Identifier: Apache-2.0
// The compiled paths of the lane functions: which exist, which this host can run, which is in use.
#pragma once

#include <string_view>

#include "sim/values/lanes.hpp"

namespace npulab::values {

enum class SimdPath { baseline, avx2 };

std::string_view name(SimdPath path);
// Compiled in, and the processor and the operating system can run it.
bool supported(SimdPath path);
// The path named by `requested` (empty: the fastest that is supported); errors as simd_path.
SimdPath choose_simd_path(std::string_view requested);
// That of simd_path().
SimdPath simd_path_in_use();
// lane_function and rows_function of a given path, which must be supported.
LaneFunction lane_function_on(SimdPath path, isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);
RowsFunction rows_function_on(SimdPath path, isa::Op op, isa::DType type, isa::DType type2, LaneModes modes);

}  // namespace npulab::values
