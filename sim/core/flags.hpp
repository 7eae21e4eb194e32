// SPDX-License-Identifier: Apache-2.0
// The flags of one core: counters that one engine sets and another takes back, with the times of both.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "isa/error.hpp"
#include "isa/target.hpp"
#include "sim/core/diagnostics.hpp"

namespace npulab::core {

struct FlagId {
  std::uint8_t source = 0;  // engine numbers of isa::Target::engines
  std::uint8_t destination = 0;
  std::uint32_t id = 0;
};

// Sets and waits are matched in order: wait k takes set k. Both may be told early (engines run ahead of each
// other); the rules are judged on cycles, never on the order in which they were told.
class Flags {
 public:
  // Where an instruction stands, by its number: asked for findings alone.
  using Place = std::function<Where(std::uint32_t pc)>;

  Flags(const isa::Target& target, unsigned most, std::uint32_t core, Diagnostics& diagnostics, Place place)
      : target_(target), most_(most), core_(core), diagnostics_(diagnostics), place_(std::move(place)) {
    flags_.resize(target.engines.size() * target.engines.size() * target.flag_ids);
  }

  void reset() { flags_.assign(flags_.size(), Flag{}); }
  // The source engine sets the flag in `cycle`, by instruction `pc`. Finding "flag-overflow": set again
  // before it was taken back.
  void set(FlagId flag, std::uint64_t cycle, std::uint32_t pc);
  // The cycle in which the next wait may go on, or nothing while that set has not been told.
  std::optional<std::uint64_t> peek(FlagId flag) const;
  // The destination engine takes the flag back in `cycle`.
  void take(FlagId flag, std::uint64_t cycle);
  // At the end: finding "flag-unbalanced" for every flag that was set and never waited for.
  void finish();
  // "mte2>vector, id 0"
  std::string name(FlagId flag) const;
  // Where the flag was set last, if ever.
  std::optional<Where> last_set(FlagId flag) const;

 private:
  using Times = boost::container::small_vector<std::uint64_t, 2>;
  struct Flag {
    Times sets;   // not taken yet
    Times waits;  // the last `most_` ones, oldest first
    std::uint64_t set_count = 0;
    std::uint64_t wait_count = 0;
    std::uint32_t set_at = 0;  // instruction
  };
  std::size_t index(FlagId flag) const {
    return (std::size_t{flag.source} * target_.engines.size() + flag.destination) * target_.flag_ids +
           flag.id;
  }
  void overflow(FlagId flag, std::uint32_t pc, std::uint64_t cycle);

  const isa::Target& target_;
  const unsigned most_;
  const std::uint32_t core_;
  Diagnostics& diagnostics_;
  const Place place_;
  std::vector<Flag> flags_;
};

}  // namespace npulab::core
