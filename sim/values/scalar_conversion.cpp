// SPDX-License-Identifier: Apache-2.0
// vcvt between any two types, one element at a time through double.
#include <array>
#include <utility>

#include "sim/values/convert.hpp"
#include "sim/values/kernels.hpp"

namespace npulab::values {

namespace {

using isa::DType;
using isa::Round;

constexpr std::size_t kTypes = isa::kDTypes.size();
constexpr std::size_t kRounds = 5;
constexpr std::size_t kFunctions = kTypes * kTypes * kRounds * 2;

constexpr std::size_t index_of(DType to, DType from, Round round, bool saturate) {
  return ((static_cast<std::size_t>(to) * kTypes + static_cast<std::size_t>(from)) * kRounds +
          static_cast<std::size_t>(round)) *
             2 +
         (saturate ? 1 : 0);
}

// Index: index_of its parameters. Wider results from the last lane down, others up: dst may be the source.
template <std::size_t Index>
void convert_lanes(std::byte* dst, const std::byte* a, const std::byte*, const std::byte*,
                   std::size_t lanes) {
  constexpr bool kSaturate = Index % 2 != 0;
  constexpr auto kRound = static_cast<Round>(Index / 2 % kRounds);
  constexpr auto kFrom = static_cast<DType>(Index / 2 / kRounds % kTypes);
  constexpr auto kTo = static_cast<DType>(Index / 2 / kRounds / kTypes);
  static_assert(Index == index_of(kTo, kFrom, kRound, kSaturate));
  constexpr bool kDown = isa::bits(kTo) > isa::bits(kFrom);
  for (std::size_t i = 0; i < lanes; ++i) {
    const std::size_t lane = kDown ? lanes - 1 - i : i;
    from_double(kTo, to_double(kFrom, a, lane), dst, lane, kRound, kSaturate);
  }
}

template <std::size_t... Index>
constexpr std::array<LaneFunction, kFunctions> make_table(std::index_sequence<Index...>) {
  return {&convert_lanes<Index>...};
}
constexpr std::array<LaneFunction, kFunctions> kTable = make_table(std::make_index_sequence<kFunctions>{});

}  // namespace

LaneFunction scalar_conversion(DType type, DType type2, LaneModes modes) {
  if (type == DType::none || type2 == DType::none) return nullptr;
  return kTable[index_of(type, type2, modes.round, modes.saturate)];
}

}  // namespace npulab::values
