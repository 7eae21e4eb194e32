// SPDX-License-Identifier: Apache-2.0
// Choice of the compiled path and of the lane function in it.
#include "sim/values/lanes.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>

#include "isa/error.hpp"
#include "isa/table.hpp"
#include "sim/values/kernels.hpp"
#include "sim/values/simd.hpp"

#if defined(NPULAB_HAS_AVX2_KERNELS)
#include <cpuid.h>
#endif

namespace npulab::values {

namespace {

constexpr const char* kVariable = "NPULAB_SIMD";

struct PathRow {
  SimdPath path;
  std::string_view name;
};
constexpr std::array<PathRow, 2> kPaths{{{SimdPath::baseline, "baseline"}, {SimdPath::avx2, "avx2"}}};

#if defined(NPULAB_HAS_AVX2_KERNELS)
// AVX2, F16C and FMA in the processor, and the operating system saves the upper halves of the registers.
bool host_has_avx2() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kNeeded = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C;
  if ((c & kNeeded) != kNeeded) return false;
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kXmmAndYmm = 6;
  if ((low & kXmmAndYmm) != kXmmAndYmm) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX2) != 0;
}
#endif

}  // namespace

std::string_view name(SimdPath path) {
  return kPaths[static_cast<std::size_t>(path)].name;
}

bool supported(SimdPath path) {
  if (path == SimdPath::baseline) return true;
#if defined(NPULAB_HAS_AVX2_KERNELS)
  return host_has_avx2();
#else
  return false;
#endif
}

SimdPath choose_simd_path(std::string_view requested) {
  if (requested.empty()) return supported(SimdPath::avx2) ? SimdPath::avx2 : SimdPath::baseline;
  std::array<std::string, kPaths.size()> names;
  for (std::size_t i = 0; i < kPaths.size(); ++i) {
    names[i] = kPaths[i].name;
    if (kPaths[i].name != requested) continue;
    if (supported(kPaths[i].path)) return kPaths[i].path;
    throw Error(Category::input, "simd-path-unsupported",
                fmt::format("{}={}: this host or build cannot run that path; use {}", kVariable, requested,
                            name(SimdPath::baseline)));
  }
  throw Error(Category::input, "unknown-simd-path",
              fmt::format("{}={}: no such path{}", kVariable, requested, suggestion(requested, names)));
}

SimdPath simd_path_in_use() {
  static const SimdPath path = [] {
    const char* requested = std::getenv(kVariable);
    return choose_simd_path(requested == nullptr ? "" : requested);
  }();
  return path;
}

std::string_view simd_path() {
  return name(simd_path_in_use());
}

LaneFunction lane_function_on(SimdPath path, isa::Op op, isa::DType type, isa::DType type2, LaneModes modes) {
  const isa::InstructionInfo& row = isa::info(op);
  LaneFunction function = nullptr;
  if (row.family == isa::Family::Vector && isa::legal_types(row, type, type2)) {
    function = baseline::find(op, type, type2, modes);
#if defined(NPULAB_HAS_AVX2_KERNELS)
    if (path == SimdPath::avx2) function = avx2::find(op, type, type2, modes);
#endif
  }
  if (function == nullptr)
    throw Error(Category::internal, "no-lane-function",
                fmt::format("{}.{}.{} has no meaning on lanes ({})", row.mnemonic, isa::name(type),
                            isa::name(type2), name(path)));
  return function;
}

RowsFunction rows_function_on(SimdPath path, isa::Op op, isa::DType type, isa::DType type2, LaneModes modes) {
  const isa::InstructionInfo& row = isa::info(op);
  if (row.family != isa::Family::Vector || !isa::legal_types(row, type, type2)) return nullptr;
#if defined(NPULAB_HAS_AVX2_KERNELS)
  if (path == SimdPath::avx2) return avx2::find_rows(op, type, type2, modes);
#endif
  return path == SimdPath::baseline ? baseline::find_rows(op, type, type2, modes) : nullptr;
}

RowsFunction rows_function(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes) {
  return rows_function_on(simd_path_in_use(), op, type, type2, modes);
}

LaneFunction lane_function(isa::Op op, isa::DType type, isa::DType type2, LaneModes modes) {
  return lane_function_on(simd_path_in_use(), op, type, type2, modes);
}

}  // namespace npulab::values
