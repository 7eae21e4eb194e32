// SPDX-License-Identifier: Apache-2.0
// Built-in tensor data: xoshiro256** seeded by splitmix64, and own mappings from integers to elements.
#include "sim/values/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "isa/error.hpp"
#include "sim/values/convert.hpp"
#include "sim/values/lanes.hpp"

namespace npulab::values {

namespace {

using isa::DType;
using isa::Round;

enum class Kind : std::uint8_t { random, zeros, ones, arange, constant };

// In the order of Kind.
constexpr std::array<DataKind, 5> kKinds{{
    {"random", "random[:SEED]",
     "floats: evenly spread over -1 to below 1, multiples of 2^-23 rounded to the type; integers: evenly "
     "spread over the range of the type; SEED is 0 to 2^64-1 (default 1), the same values on every computer"},
    {"zeros", "zeros", "0 in every element"},
    {"ones", "ones", "1 in every element"},
    {"arange", "arange",
     "0, 1, 2, ... in row-major order: integers wrap at the range of the type, floats are rounded to "
     "nearest even"},
    {"const", "const:V",
     "V in every element: for integers a decimal integer in the range of the type; for floats a decimal "
     "number, inf, -inf or nan, rounded to nearest even"},
}};

struct Spec {
  Kind kind;
  bool has_argument;
  std::string_view argument;
};

Spec parse(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const std::string_view word = spec.substr(0, colon);
  const bool has_argument = colon != std::string_view::npos;
  std::array<std::string, kKinds.size()> names;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    const DataKind& row = kKinds[i];
    const auto kind = static_cast<Kind>(i);
    names[i] = row.name;
    if (row.name != word) continue;
    const bool takes = kind == Kind::random || kind == Kind::constant;
    if ((has_argument && !takes) || (!has_argument && kind == Kind::constant))
      throw Error(Category::input, "unknown-data", fmt::format("'{}': write {}", spec, row.usage));
    return {kind, has_argument, has_argument ? spec.substr(colon + 1) : std::string_view{}};
  }
  throw Error(Category::input, "unknown-data",
              fmt::format("'{}': no such data{}", spec, suggestion(word, names)));
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc{} && result.ptr == end;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {  // splitmix64
      seed += 0x9e3779b97f4a7c15U;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

// The high 24 bits of a 32-bit half of a draw, low half first, as a float in [-1, 1): exact.
float unit_float(std::uint32_t half) {
  return static_cast<float>(static_cast<std::int32_t>(half >> 8) - (1 << 23)) * 0x1p-23F;
}

// Elements from floats, rounded to nearest even. make(chunk, count) gives the next `count` of them and may
// write one more.
template <class Make>
void write_floats(DType type, std::byte* data, std::uint64_t elements, Make make) {
  constexpr std::size_t kChunk = 512;
  alignas(64) std::array<float, kChunk> chunk;
  const std::size_t bytes = isa::bits(type) / 8;
  const LaneFunction convert =
      type == DType::f32 ? nullptr : lane_function(isa::Op::Vcvt, type, DType::f32, LaneModes{});
  for (std::uint64_t first = 0; first < elements; first += kChunk) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, elements - first));
    make(chunk.data(), count);
    std::byte* const to = data + first * bytes;
    const auto* const from = reinterpret_cast<const std::byte*>(chunk.data());
    if (convert == nullptr)
      std::memcpy(to, from, count * bytes);
    else
      convert(to, from, nullptr, nullptr, count);
  }
}

void write_nibble(std::byte* data, std::uint64_t index, unsigned nibble) {
  std::byte& pair = data[index / 2];
  const auto value = static_cast<std::byte>(nibble);
  pair = index % 2 != 0 ? (pair & std::byte{0x0f}) | (value << 4) : (pair & std::byte{0xf0}) | value;
}

void random_floats(DType type, std::byte* data, std::uint64_t elements, Random& random) {
  write_floats(type, data, elements, [&random](float* chunk, std::size_t count) {
    for (std::size_t i = 0; i < count; i += 2) {
      const std::uint64_t draw = random.next();
      chunk[i] = unit_float(static_cast<std::uint32_t>(draw));
      chunk[i + 1] = unit_float(static_cast<std::uint32_t>(draw >> 32));
    }
  });
}

void random_bytes(std::byte* data, std::uint64_t bytes, Random& random) {
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t draw = random.next();
    std::memcpy(data + i, &draw, static_cast<std::size_t>(std::min<std::uint64_t>(8, bytes - i)));
  }
}

void arange_floats(DType type, std::byte* data, std::uint64_t elements) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 24;  // whole numbers below are exact in f32
  const std::uint64_t in_f32 = std::min(elements, kExact);
  std::int32_t next = 0;
  write_floats(type, data, in_f32, [&next](float* chunk, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) chunk[i] = static_cast<float>(next++);
  });
  for (std::uint64_t i = in_f32; i < elements; ++i)
    from_double(type, static_cast<double>(i), data, i, Round::nearest_even, false);
}

template <class T>
void count_up(std::byte* data, std::uint64_t elements) {
  for (std::uint64_t i = 0; i < elements; ++i) {
    const auto low_bits = static_cast<T>(i);
    std::memcpy(data + i * sizeof(T), &low_bits, sizeof(T));
  }
}

// Wrapping keeps the low bits, which are what an element of the type holds.
void arange_integers(DType type, std::byte* data, std::uint64_t elements) {
  if (type == DType::i4) {
    for (std::uint64_t i = 0; i < elements; ++i) write_nibble(data, i, static_cast<unsigned>(i & 0xf));
    return;
  }
  switch (isa::bits(type) / 8) {
    case 1:
      return count_up<std::uint8_t>(data, elements);
    case 2:
      return count_up<std::uint16_t>(data, elements);
    default:
      return count_up<std::uint32_t>(data, elements);
  }
}

void repeat(DType type, std::byte* data, std::uint64_t elements, double value) {
  std::array<std::byte, 4> one{};
  from_double(type, value, one.data(), 0, Round::nearest_even, false);
  DType unit = type;
  std::uint64_t units = elements;
  if (type == DType::i4) {  // whole bytes hold the value twice
    from_double(type, value, one.data(), 1, Round::nearest_even, false);
    unit = DType::u8;
    units = elements / 2;
    if (elements % 2 != 0) from_double(type, value, data, elements - 1, Round::nearest_even, false);
  }
  lane_function(isa::Op::Vdup, unit, DType::none, LaneModes{})(data, one.data(), nullptr, nullptr,
                                                               static_cast<std::size_t>(units));
}

[[noreturn]] void refuse_constant(DType type, std::string_view text) {
  const isa::DTypeInfo& row = isa::info(type);
  if (row.floating)
    throw Error(Category::input, "constant-out-of-range",
                fmt::format("const:{}: out of range for {}, whose largest finite value is {}", text, row.name,
                            decode_float(type, largest_finite(type))));
  const std::int64_t span = std::int64_t{1} << (row.bits - (row.is_signed ? 1 : 0));
  throw Error(Category::input, "constant-out-of-range",
              fmt::format("const:{}: out of range for {}, {} … {}", text, row.name, row.is_signed ? -span : 0,
                          span - 1));
}

double parse_constant(DType type, std::string_view text) {
  if (!isa::info(type).floating) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ptr != end || result.ec == std::errc::invalid_argument)
      throw Error(Category::input, "bad-constant",
                  fmt::format("const:{}: not a decimal integer, as {} needs", text, isa::name(type)));
    const auto exact = static_cast<double>(value);
    if (result.ec == std::errc::result_out_of_range || exact > 4294967296.0 || exact < -4294967296.0 ||
        static_cast<std::int64_t>(encode_integer(type, exact)) != value)
      refuse_constant(type, text);
    return exact;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ptr != end || result.ec == std::errc::invalid_argument)
    throw Error(Category::input, "bad-constant",
                fmt::format("const:{}: not a decimal number, inf, -inf or nan", text));
  if (result.ec == std::errc::result_out_of_range)
    throw Error(Category::input, "constant-out-of-range",
                fmt::format("const:{}: too large or too near to zero for a decimal number", text));
  const double kept = decode_float(type, encode_float(type, value));
  const bool infinity_without_encoding = std::isinf(value) && !std::isinf(kept);
  if (infinity_without_encoding || (std::isfinite(value) && !std::isfinite(kept)))
    refuse_constant(type, text);
  return value;
}

std::uint64_t parse_seed(const Spec& spec) {
  std::uint64_t seed = 1;
  if (spec.has_argument && !parse_whole(spec.argument, seed))
    throw Error(
        Category::input, "bad-seed",
        fmt::format("random:{}: the seed is a whole number, 0 … 18446744073709551615", spec.argument));
  return seed;
}

}  // namespace

std::span<const DataKind> data_kinds() {
  return kKinds;
}

void fill(DType type, std::byte* data, std::uint64_t elements, std::string_view text) {
  const Spec spec = parse(text);
  switch (spec.kind) {
    case Kind::random: {
      Random random(parse_seed(spec));
      if (isa::info(type).floating) return random_floats(type, data, elements, random);
      random_bytes(data, elements * isa::bits(type) / 8, random);
      if (type == DType::i4 && elements % 2 != 0) {
        write_nibble(data, elements - 1, static_cast<unsigned>(random.next() & 0xf));
      }
      return;
    }
    case Kind::zeros:
      return repeat(type, data, elements, 0);
    case Kind::ones:
      return repeat(type, data, elements, 1);
    case Kind::arange:
      if (isa::info(type).floating) return arange_floats(type, data, elements);
      return arange_integers(type, data, elements);
    case Kind::constant:
      return repeat(type, data, elements, parse_constant(type, spec.argument));
  }
}

}  // namespace npulab::values
