// SPDX-License-Identifier: Apache-2.0
// The front of a core: follows the program, runs the scalar unit, and the vector unit in step with it where
// that has no queue of its own; hands everything else to the engines' queues.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/block_timer.hpp"
#include "sim/systemc/core_unit.hpp"
#include "sim/systemc/semaphore_bank.hpp"

namespace npulab::systemc {

class FrontEnd : public Process {
 public:
  FrontEnd(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit);

  void start(std::uint64_t cycle);
  bool done() const { return wait_ == Wait::done; }
  // When the core's program and all its engines were over.
  std::uint64_t finished() const { return finished_; }
  // When its last instruction had started.
  std::uint64_t stream_ended() const { return stream_ended_; }
  core::IssueStats& stats() { return timer_.stats(); }
  // Cycles that the stream waited for each engine (flags, full queues, barriers), by engine number.
  const std::vector<std::uint64_t>& waited_for() const { return waited_for_; }
  std::uint64_t waited_for_semaphores() const { return waited_for_semaphores_; }
  std::uint64_t instructions() const { return instructions_; }
  std::uint64_t block_flops() const { return block_flops_; }
  std::optional<Standing> standing() const override;
  Where where() const { return program_.where(pc_); }

  // An engine's queue has room again since `cycle`.
  void room(std::uint8_t engine, std::uint64_t cycle);
  // The barrier of all cores opened in `cycle`.
  void released(std::uint64_t cycle);
  bool at_barrier() const { return wait_ == Wait::cores; }
  bool in_step(std::uint8_t engine) const;  // runs in this stream

 private:
  enum class Wait : std::uint8_t { nothing, flag, semaphore, room, engines, cores, done };
  struct LoopFrame {
    std::uint32_t start;
    std::uint32_t end;
    std::uint64_t left;  // turns after this one
  };

  void step() override;
  bool one();  // false: it must wait
  void run_block(const core::Block& block, std::uint64_t times);
  void run_addressed(const core::Block& block);
  void act();
  bool step_op(const core::MicroOp& op);
  bool vector_op(const core::MicroOp& op);  // to the vector engine's queue
  bool product(const core::MicroOp& op);    // to the matrix engine's queue
  bool transfer(const core::MicroOp& op);
  bool sync(const core::MicroOp& op);
  bool wait_flag(const core::MicroOp& op);
  bool set_flag(const core::MicroOp& op);
  std::uint64_t issue_and_finish();
  // To the engine's queue; false: that is full.
  bool hand_over(std::uint8_t engine, QueueEntry::Kind kind, core::SemaphoreId semaphore, std::uint32_t by);
  bool release(const core::MicroOp& op);
  bool acquire(const core::MicroOp& op);
  core::SemaphoreId semaphore_of(const core::MicroOp& op) const;
  std::uint32_t amount_of(const core::MicroOp& op, core::SemaphoreId semaphore) const;
  void check_other_cores(const core::Transfer& transfer) const;
  bool sync_cores();
  bool end();
  bool barrier(const core::MicroOp& op);
  bool control(const core::MicroOp& op);
  void loop(const core::MicroOp& op);
  void debug(const core::MicroOp& op);
  bool all_finished();  // engines drained: the stream waits for them
  // Whether the engine's queue takes one more entry; if not, arranges to be woken.
  template <class Engine>
  bool has_room(const Engine& engine, std::uint8_t number);
  bool queue_has_room(std::uint8_t engine);
  QueueEntry entry(QueueEntry::Kind kind, std::uint64_t issued) const;
  void push(std::uint8_t engine, QueueEntry entry);
  core::FlagId flag_of(const core::MicroOp& op) const;
  void turn_loops();
  // Waits; returns the cycles that it took.
  std::uint64_t hold(std::uint64_t cycle, report::Stall cause, std::uint8_t engine);
  void spend(std::uint64_t instructions);

  CoreUnit& unit_;
  const core::DecodedProgram& program_;
  core::BlockTimer timer_;
  std::vector<LoopFrame> loops_;
  static constexpr std::uint32_t kNothingNoted = ~std::uint32_t{0};
  std::uint32_t pc_ = 0;
  std::uint32_t noted_ = kNothingNoted;  // whose scalar registers were noted, and which has not started yet
  Wait wait_ = Wait::done;
  std::uint64_t room_cycle_ = 0;
  std::uint8_t room_wanted_ = isa::kAllEngines;  // the engine whose queue is full, or none
  SemaphoreWait semaphore_{*this};
  std::vector<std::uint64_t> waited_for_;
  std::uint64_t waited_for_semaphores_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t stream_ended_ = 0;
  std::uint64_t instructions_ = 0;
  std::uint64_t block_flops_ = 0;
  std::uint64_t alone_ = 0;  // weight of the instructions since anything but scalar and control work happened
  std::uint64_t unpolled_ = 0;
};

}  // namespace npulab::systemc
