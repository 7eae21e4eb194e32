// SPDX-License-Identifier: Apache-2.0
// Layouts that transfers convert between, and the geometry of fractals.
//
// NZ cuts a matrix into columns of pieces: byte b of row r lies at b / piece * pitch + r * piece + b % piece.
// A piece is kPieceBytes long, and kFractalRows rows of one column make a fractal.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace npulab::isa {

enum class Layout : std::uint8_t { nd2nz, nz2nd, transpose16 };  // Mod::layout
inline constexpr std::array<std::string_view, 3> kLayoutNames{"nd2nz", "nz2nd", "transpose16"};

using LayoutSet = std::uint8_t;
constexpr LayoutSet set_of(Layout layout) {
  return static_cast<LayoutSet>(1U << static_cast<unsigned>(layout));
}

inline constexpr std::int64_t kFractalRows = 16;
inline constexpr std::int64_t kPieceBytes = 32;
inline constexpr std::int64_t kFractalBytes = kFractalRows * kPieceBytes;

constexpr bool nz_source(Layout layout) {
  return layout == Layout::nz2nd;
}
constexpr bool nz_destination(Layout layout) {
  return layout == Layout::nd2nz;
}

// `value` >= 0, at most 2^62.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace npulab::isa
