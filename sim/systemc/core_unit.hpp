// SPDX-License-Identifier: Apache-2.0
// One core: its state, flags and engines, and what they may ask of each other and of the chip.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/block_timer.hpp"
#include "sim/core/core_state.hpp"
#include "sim/core/flags.hpp"
#include "sim/core/matrix.hpp"
#include "sim/core/races.hpp"
#include "sim/core/semaphores.hpp"
#include "sim/core/transfer.hpp"
#include "sim/memory/sparse_memory.hpp"
#include "sim/systemc/gm_port.hpp"
#include "sim/systemc/input_ports.hpp"
#include "sim/systemc/process.hpp"

namespace npulab::systemc {

class FrontEnd;
class VectorEngine;
class DmaEngine;
class MatrixEngine;
class CoreUnit;

// What all cores that run one program share; the lower part is the same for all programs of a launch.
struct Shared {
  const config::Machine* machine = nullptr;
  const config::CoreTypeConfig* core = nullptr;
  const isa::Target* target = nullptr;
  const core::DecodedProgram* program = nullptr;
  core::BlockCache* cache = nullptr;  // null: every block is interpreted
  core::LineCounters* lines = nullptr;
  std::uint32_t first_core = 0;     // the numbers of its cores in the launch begin here, and those
  std::uint32_t first_of_type = 0;  // among the cores of the type here
  std::uint32_t cores = 0;

  memory::SparseMemory* gm = nullptr;
  std::span<const core::GmTensor> tensors;
  GmPort* port = nullptr;
  core::Diagnostics* diagnostics = nullptr;
  core::Races* races = nullptr;  // null: not judged
  core::Sanitize sanitize = core::Sanitize::fast;
  bool values = true;
  std::uint64_t max_cycles = 0;  // of one run
};

class Chip;
class SemaphoreWait;
struct DmaPort;

struct QueueEntry {
  enum class Kind : std::uint8_t { copy, set, wait, release, acquire, barrier, vector, matrix };
  Kind kind = Kind::copy;
  std::uint32_t pc = 0;
  std::uint64_t cycle = 0;  // dispatched: the engine sees it from here on
  core::FlagId flag;
  bool operands = false;  // set: once what is before has read its operands
  core::SemaphoreId semaphore;
  std::uint32_t by = 0;
  core::Transfer transfer;
  std::unique_ptr<core::MicroOp> op;  // vector
  std::unique_ptr<core::MatrixProduct> product;
  // Races: what it comes after; of a set or release that began, what comes after it is told.
  core::Races::Snapshot knowledge;
  std::uint64_t order = 0;  // instructions that the stream had met
};

// Of an engine that takes what is in its queue in order.
Standing standing_of(const QueueEntry& head, std::size_t queued);

class CoreUnit {
 public:
  CoreUnit(Chip& chip, Session& session, const Shared& shared, std::uint32_t number_in_program);
  ~CoreUnit();

  // `cycle`: its own first one; the run began at start_cycle().
  void start(std::uint64_t run, std::uint64_t cycle);
  std::uint64_t start_cycle() const { return run_start_; }

  // An engine begins what its queue handed it, in `ps`.
  void begin(const QueueEntry& entry, std::uint8_t engine, std::uint64_t ps);
  // What comes after everything that the engine has begun so far; null where races are not judged.
  core::Races::Snapshot done_so_far(std::uint8_t engine, bool operands = false);
  // A flag becomes set in `cycle`, after `done`: told to the engine that waits for it.
  void publish(core::FlagId flag, std::uint64_t cycle, std::uint32_t pc, core::Races::Snapshot done);
  // An engine takes a flag back in `cycle`.
  void take(core::FlagId flag, std::uint64_t cycle);
  // A semaphore of some core grows in `cycle`, after `done`.
  void release(core::SemaphoreId semaphore, std::uint32_t by, std::uint64_t cycle, std::uint8_t engine,
               const Where& where, core::Races::Snapshot done);
  // The wait of `entry` for a semaphore is over.
  void acquire(SemaphoreWait& wait, const QueueEntry& entry, std::uint8_t engine);
  // The cycle in which an engine that waits for a semaphore of this core since `since` may go on, or nothing
  // while that is not known. The wait is reset when it is over.
  std::optional<std::uint64_t> acquired(SemaphoreWait& wait, const QueueEntry& entry, std::uint64_t since,
                                        std::uint8_t engine);
  // An engine has nothing queued or under way any more.
  void engine_drained();
  // An engine took an entry from its full queue.
  void queue_has_room(std::uint8_t engine, std::uint64_t cycle);
  bool drained() const;
  // When the last work of all engines but the front end was over.
  std::uint64_t engines_finished() const;
  std::uint8_t last_engine() const;  // the one that was
  DmaEngine& dma(std::uint8_t engine);
  bool is_matrix(std::uint8_t engine) const { return matrix && engine == engines.size() + 2; }
  // What an engine has not finished, the oldest first.
  std::vector<const QueueEntry*> pending(std::uint8_t engine);
  // "core 3" for messages, with its type where the launch has several programs.
  std::string name() const;
  // The inputs of a buffer, by its space.
  BufferInputs& inputs(std::uint8_t space) { return inputs_[space - 1U]; }

  Chip& chip;
  const Shared& shared;
  const core::Clock clock;
  core::CoreState state;
  core::Flags flags;
  std::unique_ptr<FrontEnd> front;
  std::unique_ptr<VectorEngine> vector;  // null: vector instructions issue in step with the scalar ones
  std::vector<std::unique_ptr<DmaEngine>> engines;  // isa::Target::engines from 2 on
  std::unique_ptr<MatrixEngine> matrix;             // behind them; null: the core has none

 private:
  std::vector<std::unique_ptr<DmaPort>> ports_;
  std::vector<BufferInputs> inputs_;  // by space - 1
  std::uint64_t run_start_ = 0;
};

}  // namespace npulab::systemc
