// SPDX-License-Identifier: Apache-2.0
#include "isa/tile.hpp"

#include <fmt/format.h>

#include <charconv>

namespace npulab::isa {

std::string tile_name(std::int64_t code) {
  return fmt::format("m{}k{}n{}", code >> 32, code >> 16 & 0xffff, code & 0xffff);
}

std::optional<std::int64_t> tile_named(std::string_view text) {
  TileSize tile;
  for (const auto& [letter, size] :
       {std::pair('m', &tile.m), std::pair('k', &tile.k), std::pair('n', &tile.n)}) {
    if (text.empty() || text.front() != letter) return std::nullopt;
    text.remove_prefix(1);
    if (text.empty() || text.front() == '0') return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *size);
    if (error != std::errc() || *size > kMostTileSize) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return text.empty() ? std::optional(tile_code(tile)) : std::nullopt;
}

}  // namespace npulab::isa
