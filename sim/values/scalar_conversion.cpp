// SPDX-License-Identifier: Apache-2.0
// vcvt between any two types through an array of doubles: any source to double, double to any destination.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/values/convert_core.hpp"
#include "sim/values/kernels.hpp"

namespace npulab::values {

namespace {

using isa::DType;
using isa::Round;

constexpr std::size_t kTypes = isa::kDTypes.size();
constexpr std::size_t kRounds = 5;
constexpr std::size_t kFunctions = kTypes * kTypes * kRounds * 2;
constexpr std::size_t kChunk = 64;  // lanes converted at a time; even, so that pairs of i4 stay together

template <DType From>
void decode_lanes(double* out, const std::byte* a, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = core::to_double(From, a, first + i);
}

template <DType To, Round Mode, bool Saturate>
void encode_lanes(std::byte* dst, const double* in, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) core::from_double(To, in[i], dst, first + i, Mode, Saturate);
}

constexpr std::size_t index_of(DType to, DType from, Round round, bool saturate) {
  const auto types = static_cast<std::size_t>(to) * kTypes + static_cast<std::size_t>(from);
  return (types * kRounds + static_cast<std::size_t>(round)) * 2 + (saturate ? 1 : 0);
}

// Index: index_of its parameters. Wider results from the last chunk down, others up: dst may be the source.
template <std::size_t Index>
void convert_lanes(std::byte* dst, const std::byte* a, const std::byte*, const std::byte*,
                   std::size_t lanes) {
  constexpr bool kSaturate = Index % 2 != 0;
  constexpr auto kRound = static_cast<Round>(Index / 2 % kRounds);
  constexpr auto kFrom = static_cast<DType>(Index / 2 / kRounds % kTypes);
  constexpr auto kTo = static_cast<DType>(Index / 2 / kRounds / kTypes);
  static_assert(Index == index_of(kTo, kFrom, kRound, kSaturate));
  constexpr bool kDown = isa::bits(kTo) > isa::bits(kFrom);
  double values[kChunk];
  const std::size_t chunks = (lanes + kChunk - 1) / kChunk;
  for (std::size_t i = 0; i < chunks; ++i) {
    const std::size_t first = (kDown ? chunks - 1 - i : i) * kChunk;
    const std::size_t count = std::min(kChunk, lanes - first);
    decode_lanes<kFrom>(values, a, first, count);
    encode_lanes<kTo, kRound, kSaturate>(dst, values, first, count);
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
