// SPDX-License-Identifier: Apache-2.0
// A DMA engine: takes copies from its queue in order, cuts them into requests, keeps as many in flight as its
// path allows, and finishes them in order.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/stats.hpp"
#include "sim/systemc/core_unit.hpp"
#include "sim/systemc/input_ports.hpp"
#include "sim/systemc/ring.hpp"
#include "sim/systemc/semaphore_bank.hpp"

namespace npulab::systemc {

// Engines of one core that share a port share its width.
struct DmaPort {
  std::uint64_t free = 0;  // cycle
  unsigned engines = 0;
};

struct DmaStats {
  report::EngineCycles cycles;
  std::uint64_t copies = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::uint64_t converted_bytes = 0;  // of them, by copies with a layout and by fixpipe
  std::uint64_t gm_read_bytes = 0;
  std::uint64_t gm_write_bytes = 0;
  std::uint64_t least_cycles = 0;  // that its paths' widths allow for what it moved
};

class DmaEngine : public Process, private GmClient, private InputClient {
 public:
  DmaEngine(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit, std::uint8_t engine,
            DmaPort& port);

  bool has_room() const { return queue_.size() < config_.queue_depth; }
  void push(QueueEntry entry);
  bool drained() const { return queue_.empty() && in_flight_.empty(); }
  std::uint64_t finished() const { return last_finish_; }
  const DmaStats& stats() const { return stats_; }
  // Books idle time up to the end of the run.
  void close(std::uint64_t cycle);
  void reset(std::uint64_t cycle);
  std::optional<Standing> standing() const override;
  // What it has not finished, the oldest first.
  std::vector<const QueueEntry*> pending() const;
  // Bytes read from or written to each space, by number.
  const std::vector<std::uint64_t>& read_bytes() const { return read_bytes_; }
  const std::vector<std::uint64_t>& written_bytes() const { return written_bytes_; }

 private:
  struct Batch : GmBatch {
    std::uint64_t flight = 0;           // number of the copy that it belongs to
    std::vector<std::uint64_t> issued;  // cycle of each request
    std::size_t collected = 0;          // requests whose answers the engine took
  };
  // A path of the engine and what its width makes of sizes.
  struct Way {
    explicit Way(const config::DmaPathConfig& path)
        : config(path),
          plain(path.bytes_per_cycle),
          converting(path.layout_bytes_per_cycle > 0 ? path.layout_bytes_per_cycle : path.bytes_per_cycle) {}
    // Cycles that the width takes for so many bytes of a copy.
    std::uint64_t least_cycles(const core::Transfer& transfer, std::uint64_t bytes) const {
      return (transfer.layout ? converting : plain).ceil(transfer.on_path(bytes));
    }
    std::uint64_t cycles(const core::Transfer& transfer, std::uint64_t bytes) const {
      return std::max<std::uint64_t>(least_cycles(transfer, bytes), config.issue_interval_cycles);
    }
    const config::DmaPathConfig& config;
    core::Reciprocal plain, converting;  // bytes per cycle
  };
  // A copy that was issued (all of it or in part), or a flag that follows one.
  struct Flight {
    QueueEntry entry;
    std::size_t way = 0;
    bool issued = false;             // every request is out
    std::uint64_t awaited = 0;       // requests without an answer
    std::uint64_t arrive = 0;        // cycle of the last piece so far
    std::vector<InputSlot*> inputs;  // of other cores' buffers, held until the last piece is there
  };

  void step() override;
  void gm_answered(GmBatch& batch) override;
  void gm_turn(std::uint64_t ps) override;
  bool issue();  // false: nothing can be issued now
  bool start_entry();
  bool start_copy();
  bool start_wait();
  bool start_acquire();
  void inputs_granted(std::uint64_t ps, std::vector<InputSlot*> slots) override;
  // Whether the inputs of the destinations are this engine's; `start`: when the copy may begin, at the
  // earliest.
  bool claim_inputs(const core::Transfer& transfer, std::uint64_t& start);
  // The wait at the head of the queue is over in `cycle`.
  void waited(std::uint64_t cycle, std::uint64_t since);
  void land(const core::Transfer& transfer);
  const isa::Space& space(std::uint8_t number) const { return unit_.shared.target->spaces[number]; }
  // The buffer at one end of a copy, in core `core` of its type where that is another one; null for gm.
  memory::LocalBuffer* buffer(std::uint8_t space_number, std::int64_t core) const;
  bool issue_requests();
  // Issues again in this cycle.
  void issue_at(std::uint64_t cycle);
  // When a request may go out at the earliest, kPending while that depends on an answer.
  std::uint64_t window_opens(std::uint64_t cycle);
  void add_request(Batch& batch, const core::Transfer& transfer, std::uint64_t cycle);
  void issue_local(Flight& flight);
  // What a copy that starts in `cycle` touches.
  void tell_races(const QueueEntry& entry, std::uint64_t cycle) const;
  // Finding "race" for a copy that starts in `cycle` while another engine's copy touches the same bytes.
  void find_races(const core::Transfer& transfer, std::uint64_t cycle) const;
  void collect();  // answers, in order of issue
  void arrived(Flight& flight, const GmRequest& request, std::uint64_t issued);
  bool retire();  // the oldest flight, if it is over by now
  void account(std::uint64_t to, report::Stall cause, std::uint64_t since);
  void pop(std::uint64_t cycle);
  Batch& free_batch();
  const Way& way() const { return ways_[in_flight_.back().way]; }  // of the copy that is being issued

  CoreUnit& unit_;
  const config::DmaEngineConfig& config_;
  const std::uint8_t engine_;
  DmaPort& port_;
  std::vector<Way> ways_;
  Ring<QueueEntry> queue_;
  Ring<Flight> in_flight_;
  Ring<Batch*> outstanding_;     // not collected to their end, over all flights, in order of issue
  std::size_t uncollected_ = 0;  // requests in them
  std::uint64_t retired_ = 0;    // flights that are over: the number of the first in in_flight_
  Ring<std::uint64_t> window_;   // arrivals of collected requests that may lie ahead, ascending
  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<Batch*> free_batches_;
  core::Pieces pieces_;
  bool issuing_ = false;       // the last flight still has pieces
  bool needs_answer_ = false;  // nothing can go on before an answer comes
  bool has_turn_ = false;      // the port will call gm_turn
  std::uint64_t now_ps_ = 0;   // of the last step or turn: turns may be ahead of the simulator's clock
  // What the entry at the head of the queue waits for: a semaphore, or inputs of other cores.
  SemaphoreWait semaphore_{*this};
  bool asked_ = false;  // for inputs
  std::optional<std::uint64_t> granted_ps_;
  std::vector<InputSlot*> granted_inputs_;
  std::uint64_t cycle_ = 0;  // when the next request may start
  std::uint64_t accounted_ = 0;
  std::uint64_t last_arrive_ = 0;  // of the return path
  std::uint64_t last_finish_ = 0;
  DmaStats stats_;
  std::vector<std::uint64_t> read_bytes_;
  std::vector<std::uint64_t> written_bytes_;
};

}  // namespace npulab::systemc
