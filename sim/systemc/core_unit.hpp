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
#include "sim/core/transfer.hpp"
#include "sim/memory/sparse_memory.hpp"
#include "sim/systemc/gm_port.hpp"
#include "sim/systemc/process.hpp"

namespace npulab::systemc {

class FrontEnd;
class VectorEngine;
class DmaEngine;
class MatrixEngine;
class CoreUnit;

// What all cores of a launch share.
struct Shared {
  const config::Machine* machine = nullptr;
  const config::CoreTypeConfig* core = nullptr;
  const isa::Target* target = nullptr;
  const core::DecodedProgram* program = nullptr;
  core::BlockCache* cache = nullptr;  // null: every block is interpreted
  core::LineCounters* lines = nullptr;
  memory::SparseMemory* gm = nullptr;
  std::span<const core::GmTensor> tensors;
  GmPort* port = nullptr;
  core::Diagnostics* diagnostics = nullptr;
  core::Sanitize sanitize = core::Sanitize::fast;
  bool values = true;
  std::uint64_t max_cycles = 0;  // of one run
};

class Chip;
struct DmaPort;

struct QueueEntry {
  enum class Kind : std::uint8_t { copy, set, wait, barrier, vector, matrix };
  Kind kind = Kind::copy;
  std::uint32_t pc = 0;
  std::uint64_t cycle = 0;  // dispatched: the engine sees it from here on
  core::FlagId flag;
  bool operands = false;  // set: once what is before has read its operands
  core::Transfer transfer;
  std::unique_ptr<core::MicroOp> op;  // vector
  std::unique_ptr<core::MatrixProduct> product;
};

class CoreUnit {
 public:
  // `ports`: where the chip keeps the ports that DMA engines share.
  CoreUnit(Chip& chip, Session& session, const Shared& shared, std::uint32_t id, std::uint32_t count,
           std::vector<std::unique_ptr<DmaPort>>& ports);
  ~CoreUnit();

  void start(std::uint64_t cycle);

  // A flag becomes set in `cycle`: told to the engine that waits for it.
  void publish(core::FlagId flag, std::uint64_t cycle, const Where& where);
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
  // "waits for flag …" with the places that set it: of an engine that a stalled run left waiting.
  std::string waits_for(core::FlagId flag) const;

  Chip& chip;
  const Shared& shared;
  const core::Clock clock;
  core::CoreState state;
  core::Flags flags;
  std::unique_ptr<FrontEnd> front;
  std::unique_ptr<VectorEngine> vector;  // null: vector instructions issue in step with the scalar ones
  std::vector<std::unique_ptr<DmaEngine>> engines;  // isa::Target::engines from 2 on
  std::unique_ptr<MatrixEngine> matrix;             // behind them; null: the core has none
};

}  // namespace npulab::systemc
