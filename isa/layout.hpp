// SPDX-License-Identifier: Apache-2.0
// Layouts that transfers convert between, and the geometry of fractals.
//
// NZ cuts a matrix into columns of pieces: byte b of row r lies at b / piece * pitch + r * piece + b % piece.
// A piece is kPieceBytes long, of accumulators kPieceElements elements; kFractalRows rows of one column make
// a fractal.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace npulab::isa {

enum class Layout : std::uint8_t { nd2nz, nz2nd, transpose16, nz2nz };  // Mod::layout

struct LayoutInfo {
  Layout layout;
  std::string_view name;
  bool nz_source;
  bool nz_destination;
  bool plain;  // copies have it
  bool post;   // transfers with post-operations have it
};
inline constexpr std::array<LayoutInfo, 4> kLayouts{{
    {Layout::nd2nz, "nd2nz", false, true, true, true},
    {Layout::nz2nd, "nz2nd", true, false, true, true},
    {Layout::transpose16, "transpose16", false, false, true, false},
    {Layout::nz2nz, "nz2nz", true, true, false, true},
}};

inline constexpr auto kLayoutNames = [] {
  std::array<std::string_view, kLayouts.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kLayouts[i].name;
  return names;
}();

constexpr const LayoutInfo& info(Layout layout) {
  return kLayouts[static_cast<std::size_t>(layout)];
}

constexpr bool layouts_in_order() {
  for (std::size_t i = 0; i < kLayouts.size(); ++i)
    if (static_cast<std::size_t>(kLayouts[i].layout) != i) return false;
  return true;
}
static_assert(layouts_in_order(), "rows of kLayouts stand in the order of Layout");

using LayoutSet = std::uint8_t;
constexpr LayoutSet set_of(Layout layout) {
  return static_cast<LayoutSet>(1U << static_cast<unsigned>(layout));
}

inline constexpr std::int64_t kFractalRows = 16;
inline constexpr std::int64_t kPieceBytes = 32;
inline constexpr std::int64_t kPieceElements = 16;
inline constexpr std::int64_t kFractalBytes = kFractalRows * kPieceBytes;

// `value` >= 0, at most 2^62.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace npulab::isa
