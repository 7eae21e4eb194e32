// SPDX-License-Identifier: Apache-2.0
// Races: two accesses to the same bytes, one of them writing, that no flag, semaphore or barrier orders.
// Judged by what the program makes certain, with vector clocks, never by the order in which a run happened to
// do them.
//
// Every stream counts epochs and keeps, for every other stream, the last epoch of which it knows that it is
// over. Setting a flag hands this knowledge on, waiting for the flag takes it over. What one engine does, it
// does in order: its own accesses never race. An instruction that the stream of a core hands to an engine
// knows what the stream had waited for by then; the stream's own loads and stores it does not come after.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/access_history.hpp"
#include "sim/core/clock.hpp"
#include "sim/core/diagnostics.hpp"
#include "sim/core/flags.hpp"
#include "sim/core/semaphores.hpp"
#include "sim/core/transfer.hpp"

namespace npulab::core {

class Races {
 public:
  using Knowledge = std::vector<std::uint32_t>;  // by stream: epochs that are over
  using Snapshot = std::shared_ptr<const Knowledge>;

  // Which memory: gm, or the buffer of `space` in a core of the launch.
  struct Place {
    std::uint32_t core = 0;
    std::uint8_t space = isa::kGmSpace;
  };
  enum class Kind : std::uint8_t { read, write };
  // Which instruction, when, and how many its core had met before: for messages.
  struct Moment {
    std::uint32_t pc = 0;
    std::uint64_t ps = 0;
    std::uint64_t order = 0;
  };

  Races(std::span<const GmTensor> tensors, Diagnostics& diagnostics)
      : tensors_(tensors), diagnostics_(diagnostics) {}

  // The next core of the launch. `in_step`: its vector unit runs in its stream.
  struct CoreFacts {
    const DecodedProgram* program = nullptr;
    const isa::Target* target = nullptr;
    Clock clock{1};
    bool in_step = true;
    std::string name;  // "core 3"
    std::uint32_t semaphores = 0;
    std::uint32_t semaphore_initial = 0;  // what they begin with
  };
  void add_core(CoreFacts facts);
  // Before a run: nobody did anything.
  void reset();

  // `engine` (a number of isa::Target::engines) of core `core` touches bytes [first, end).
  void access(std::uint32_t core, std::uint8_t engine, Place place, Kind kind, std::uint64_t first,
              std::uint64_t end, const Moment& moment);
  // The same for all rows of one side of a copy.
  void access(std::uint32_t core, std::uint8_t engine, Place place, Kind kind, const Side& side,
              const Moment& moment);

  // What an instruction that the stream of `core` hands over now comes after.
  Snapshot handed_over(std::uint32_t core);
  // The engine begins an instruction that was handed over with this.
  void begin(std::uint32_t core, std::uint8_t engine, const Snapshot& snapshot);
  // What whoever waits for this point of the engine's work comes after. `operands`: what reads is over there,
  // not what writes.
  Snapshot publish(std::uint32_t core, std::uint8_t engine, bool operands = false);
  // Told in the order of the sets, and of the waits, of each flag.
  void set(std::uint32_t core, FlagId flag, Snapshot published);
  void take(std::uint32_t core, FlagId flag);
  void release(std::uint32_t core, std::uint8_t engine, SemaphoreId semaphore, std::uint32_t by,
               Snapshot published);
  void acquire(std::uint32_t core, std::uint8_t engine, SemaphoreId semaphore, std::uint32_t by);
  // What the stream of `core` started itself is over.
  void own_barrier(std::uint32_t core);
  // The stream waited for all engines of its core.
  void barrier(std::uint32_t core);
  // The barrier of all cores: each arrives (after barrier()), and goes on when all have.
  void arrive(std::uint32_t core);
  void leave(std::uint32_t core);
  // The end of a run: accesses that are still gathered are judged.
  void finish();

 private:
  struct Open {  // accesses of one instruction that lie side by side
    Place place;
    Kind kind = Kind::read;
    std::uint64_t first = 0, end = 0;
    Moment moment;  // of the first of them
  };
  static constexpr std::size_t kOpenPerInstruction = 4;
  struct Stream {
    std::uint32_t core = 0;
    std::uint8_t engine = 0;
    std::uint32_t pipe = 0;  // streams of one pipe are in order
  };
  // What does its work in order and knows the same at every point of it.
  struct Pipe {
    std::uint32_t stream = 0;  // its own
    std::uint32_t reads = 0;   // of operands; the same but for the matrix unit
    Knowledge known;           // of itself: the epoch under way
    std::vector<Open> open;
    std::vector<std::array<std::uint32_t, kOpenPerInstruction>> last;  // by pc: places in `open`, + 1
    Snapshot begun;                                                    // the last one of begin()
  };
  struct Core {
    CoreFacts facts;
    std::uint32_t first_pipe = 0;    // the stream's, then one for each engine from 1 on
    std::uint32_t first_memory = 0;  // of its buffers
    std::uint32_t over = 0;          // epoch of the stream's own accesses that are over
    Snapshot carried;                // of handed_over(), while nothing changed
  };
  struct Released {
    std::uint64_t units = 0;  // up to and with this one
    Snapshot snapshot;
  };
  struct Semaphore {
    std::map<std::uint32_t, std::deque<Released>> releases;  // by pipe
    std::uint64_t acquired = 0;
  };
  using FlagKey = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint32_t>;

  static FlagKey key(std::uint32_t core, FlagId flag) {
    return {core, flag.source, flag.destination, flag.id};
  }
  Pipe& pipe(std::uint32_t core, std::uint8_t engine);
  void learn(Pipe& pipe, const Knowledge& knowledge);
  void judge(Pipe& pipe);
  void judge(const Pipe& pipe, const Open& open);
  void report(const Access& before, const Access& access, Place place, std::uint64_t first,
              std::uint64_t end);
  std::string who(const Access& access) const;
  std::string bytes_of(Place place, std::uint64_t first, std::uint64_t end) const;
  AccessHistory& memory(Place place);
  std::string missing(const Access& first, const Access& second) const;
  std::string engine_of(const Access& access) const;
  const DecodedProgram& program_of(const Access& access) const;

  std::span<const GmTensor> tensors_;
  Diagnostics& diagnostics_;
  std::vector<Core> cores_;
  std::vector<Pipe> pipes_;
  std::vector<Stream> streams_;
  std::vector<AccessHistory> memories_{1};  // gm, then the buffers of every core
  std::map<FlagKey, std::deque<Snapshot>> flags_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Semaphore> semaphores_;  // by core and id
  Knowledge gathered_;  // of the cores at the barrier of all cores
  Knowledge opened_;
  std::uint32_t arrived_ = 0;
  struct Reported {
    std::size_t number = 0;               // of the finding
    std::array<std::uint64_t, 4> last{};  // when the two came last
  };
  std::map<std::array<std::string, 2>, Reported> reported_;  // by places
};

}  // namespace npulab::core
