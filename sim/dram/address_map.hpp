// SPDX-License-Identifier: Apache-2.0
// Where an address lies in DRAM: channel, bank, row, column.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/config/machine.hpp"

namespace npulab::dram {

// Division by a number that is known late; powers of two are shifts.
class Divider {
 public:
  struct Result {
    std::uint64_t quotient;
    std::uint64_t remainder;
  };

  explicit Divider(std::uint64_t divisor)
      : divisor_(divisor),
        shift_(static_cast<unsigned>(std::countr_zero(divisor))),
        power_(std::has_single_bit(divisor)) {}

  std::uint64_t divisor() const { return divisor_; }
  bool power_of_two() const { return power_; }
  Result divide(std::uint64_t x) const { return power_ ? shift(x) : Result{x / divisor_, x % divisor_}; }
  // For powers of two only.
  Result shift(std::uint64_t x) const { return {x >> shift_, x & (divisor_ - 1)}; }

 private:
  std::uint64_t divisor_;
  unsigned shift_;
  bool power_;
};

// The higher bits of an address, exclusive-or'ed down to a digit: bit j counts as x^(width + j) modulo a
// primitive polynomial over GF(2), the digit's own bits as x^0 … x^(width - 1). Any `width` neighbouring
// address bits, and nearly any others, thus reach every value of the digit: no power-of-two pitch, and no
// pattern of rows and cores, camps on a few.
class Fold {
 public:
  Fold() = default;  // folds to nothing
  explicit Fold(int width);

  explicit operator bool() const { return !tables_.empty(); }
  std::uint64_t operator()(std::uint64_t higher) const {
    std::uint64_t sum = 0;
    for (const auto& table : tables_) {
      sum ^= table[higher & 0xff];
      higher >>= 8;
      if (higher == 0) break;
    }
    return sum;
  }

 private:
  std::vector<std::array<std::uint16_t, 256>> tables_;  // by byte of the higher bits
};

inline Fold::Fold(int width) {
  // Primitive polynomials by degree, the leading term included.
  constexpr std::array<std::uint32_t, 11> kPolynomials{0,           0b11,         0b111,        0b1011,
                                                       0b10011,     0b100101,     0b1000011,    0b10000011,
                                                       0b100011101, 0b1000010001, 0b10000001001};
  const std::uint32_t polynomial = kPolynomials[static_cast<std::size_t>(width)];
  std::uint32_t power = 1;
  const auto step = [&] {
    power <<= 1U;
    if ((power >> static_cast<unsigned>(width) & 1U) != 0) power ^= polynomial;
  };
  for (int i = 0; i < width; ++i) step();
  tables_.resize(8);
  for (auto& table : tables_) {
    table[0] = 0;
    for (std::size_t bit = 0; bit < 8; ++bit, step())
      for (std::size_t i = 0; i < std::size_t{1} << bit; ++i)
        table[(std::size_t{1} << bit) | i] = static_cast<std::uint16_t>(table[i] ^ power);
  }
}

struct Location {
  std::uint32_t channel = 0;
  std::uint32_t bank = 0;
  std::uint64_t row = 0;
  std::uint64_t column = 0;     // byte in the row
  std::uint64_t run_bytes = 0;  // bytes from here on that follow each other in the same row

  // For AddressMap::next.
  std::uint64_t channel_digit = 0;
  std::uint64_t block_column = 0;  // column of the first byte of the block
};

// Blocks of interleave_bytes go round the channels; inside a channel, column bits are lowest, then bank, then
// row. With the hash, the channel of a block is turned by a fold of all higher address bits, and the bank of
// a row by that of the row number. Each digit stays a permutation for given higher digits, so the map is a
// bijection for every number of channels and banks.
class AddressMap {
 public:
  explicit AddressMap(const config::GmConfig& config);

  Location locate(std::uint64_t address) const {
    return shifts_ ? locate(address, [](const Divider& by, std::uint64_t x) { return by.shift(x); })
                   : locate(address, [](const Divider& by, std::uint64_t x) { return by.divide(x); });
  }

  // The first byte after the run at `address`. Blocks of one round lie in the same row of their channels.
  Location next(const Location& at, std::uint64_t address) const {
    const std::uint64_t digit = at.channel_digit + 1;
    if (!next_is_cheap_ || digit == channels_.count.divisor()) return locate(address + at.run_bytes);
    Location next = at;
    next.channel_digit = digit;
    next.channel = at.channel ^ static_cast<std::uint32_t>(digit ^ at.channel_digit);
    next.column = at.block_column;
    next.run_bytes = interleave_.divisor();
    return next;
  }

 private:
  // A digit of the address, perhaps turned by the higher ones.
  struct Digit {
    Digit(std::uint64_t n, bool hash)
        : count(n), fold(hash && n > 1 ? Fold(static_cast<int>(std::bit_width(n - 1))) : Fold()) {}

    template <class Divide>
    std::uint64_t turned(std::uint64_t digit, std::uint64_t higher, const Divide& divide) const {
      if (!fold) return digit;
      const std::uint64_t by = fold(higher);
      return count.power_of_two() ? digit ^ by : divide(count, digit + by).remainder;
    }

    Divider count;
    Fold fold;
  };

  template <class Divide>
  Location locate(std::uint64_t address, const Divide& divide) const {
    const auto [block, offset] = divide(interleave_, address);
    const auto [round, channel] = divide(channels_.count, block);
    const auto [page, column] = divide(row_bytes_, round * interleave_.divisor() + offset);
    const auto [row, bank] = divide(banks_.count, page);
    Location at;
    at.row = row;
    at.channel = static_cast<std::uint32_t>(channels_.turned(channel, round, divide));
    at.bank = static_cast<std::uint32_t>(banks_.turned(bank, row, divide));
    at.column = column;
    at.channel_digit = channel;
    at.block_column = column - offset;
    at.run_bytes = std::min(interleave_.divisor() - offset, row_bytes_.divisor() - column);
    return at;
  }

  Divider interleave_;
  Divider row_bytes_;
  Digit channels_;
  Digit banks_;
  bool shifts_;         // all of them powers of two
  bool next_is_cheap_;  // and rows hold whole blocks
};

inline AddressMap::AddressMap(const config::GmConfig& config)
    : interleave_(config.interleave_bytes),
      row_bytes_(config.row_bytes),
      channels_(config.channels, config.hash == config::AddressHash::xor_fold),
      banks_(config.banks, config.hash == config::AddressHash::xor_fold),
      shifts_(interleave_.power_of_two() && row_bytes_.power_of_two() && channels_.count.power_of_two() &&
              banks_.count.power_of_two()),
      next_is_cheap_(shifts_ && config.interleave_bytes <= config.row_bytes) {}

}  // namespace npulab::dram
