// SPDX-License-Identifier: Apache-2.0
// Which flags a program needs: follows, statement by statement, what each engine knows of the others, and
// asks for a flag or a barrier where an access could overtake another one that it conflicts with.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/target.hpp"

namespace npulab::test {

// Bytes first … end - 1 of a memory; `memory` is a space, or for gm kFirstTensor + the number of a tensor.
struct Access {
  static constexpr unsigned kFirstTensor = 1000;
  unsigned memory = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool write = false;
};

class FlagPlanner {
 public:
  // `queued_vector`: the vector unit has a queue of its own, else it goes in step with the scalar unit.
  FlagPlanner(const isa::Target& target, bool queued_vector);

  // Lines to write before an instruction of `engine` with these accesses, which counts as done from then on.
  std::vector<std::string> before(unsigned engine, const std::vector<Access>& accesses);
  // After "barrier all" or sync_cores: everything is over.
  void all_over();
  bool in_step(unsigned engine) const { return engine == kScalar || (engine == kVector && !queued_vector_); }

  static constexpr unsigned kScalar = 0;
  static constexpr unsigned kVector = 1;

 private:
  static constexpr std::size_t kMostEngines = 32;
  using Clock = std::array<std::uint64_t, kMostEngines>;  // operations of each engine known to be over
  struct Past {
    unsigned engine;
    std::uint64_t number;
    Access access;
  };

  bool legal(unsigned source, unsigned destination) const;
  bool knows(unsigned engine, const Past& past) const;
  // Orders all that `source` did so far before what `destination` does next.
  void order(unsigned source, unsigned destination, std::vector<std::string>& lines);
  void learn(Clock& clock, const Clock& from);

  const isa::Target& target_;
  const bool queued_vector_;
  std::vector<Clock> known_;
  std::vector<std::uint64_t> done_;
  std::vector<Past> past_;
  std::map<std::array<unsigned, 3>, std::uint64_t> last_wait_;  // of (source, destination, id)
};

}  // namespace npulab::test
