// SPDX-License-Identifier: Apache-2.0
// The tile of one matrix step, A m x k by B k x n, as it is written (m4k8n4) and stored in an instruction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace npulab::isa {

struct TileSize {
  unsigned m = 1;
  unsigned k = 1;
  unsigned n = 1;
  friend bool operator==(const TileSize&, const TileSize&) = default;
};

inline constexpr unsigned kMostTileSize = 1024;  // of m, k and n

// The immediate of Mod::shape; never 0.
constexpr std::int64_t tile_code(const TileSize& tile) {
  return (static_cast<std::int64_t>(tile.m) << 32) | (static_cast<std::int64_t>(tile.k) << 16) | tile.n;
}
inline constexpr std::int64_t kMostTileCode = tile_code({kMostTileSize, kMostTileSize, kMostTileSize});

std::string tile_name(std::int64_t code);  // "m4k8n4"
std::optional<std::int64_t> tile_named(std::string_view text);

}  // namespace npulab::isa
