// SPDX-License-Identifier: Apache-2.0
// A vector unit with a queue of its own (queue_depth > 0): works through operations in order, in register or
// UB form.
#pragma once

#include <string>

#include "sim/core/issue.hpp"
#include "sim/core/meaning.hpp"
#include "sim/systemc/core_unit.hpp"
#include "sim/systemc/ring.hpp"
#include "sim/systemc/semaphore_bank.hpp"

namespace npulab::systemc {

class VectorEngine : public Process {
 public:
  VectorEngine(const sc_core::sc_module_name& name, Session& session, CoreUnit& unit);

  bool has_room() const { return queue_.size() < unit_.shared.core->vector.queue_depth; }
  void push(QueueEntry entry);
  bool drained() const { return queue_.empty() && reached(finished_); }
  std::uint64_t finished() const { return finished_; }
  report::EngineCycles& cycles() { return cycles_; }
  std::uint64_t read_bytes() const { return read_bytes_; }  // of the vector buffer, UB form
  std::uint64_t written_bytes() const { return written_bytes_; }
  void reset(std::uint64_t cycle);
  std::optional<Standing> standing() const override;
  // What it has not finished, the oldest first.
  std::vector<const QueueEntry*> pending() const;

 private:
  // What an operation of the UB form wrote lately, for reads that must wait for it.
  struct Result {
    std::int64_t first;
    std::int64_t end;
    std::uint64_t ready;
  };

  void step() override;
  bool take();  // the entry at the head; false: it must wait
  bool sync_entry(QueueEntry& entry);
  bool acquire(const QueueEntry& entry, std::uint64_t since);
  // The wait at the head of the queue is over in `cycle`.
  void waited(std::uint64_t cycle, std::uint64_t since);
  void run(QueueEntry& entry);
  void run_registers(QueueEntry& entry);
  void run_ub(QueueEntry& entry);
  std::uint64_t operands_ready(const core::UbAccess& access) const;
  void pop(std::uint64_t cycle);
  void account(std::uint64_t to, report::Stall cause, std::uint64_t since);

  CoreUnit& unit_;
  Ring<QueueEntry> queue_;
  SemaphoreWait semaphore_{*this};
  core::Issue issue_;       // register form
  Ring<Result> results_;    // UB form, newest last
  std::uint64_t free_ = 0;  // UB form: when the next operation may start
  std::uint64_t accounted_ = 0;
  std::uint64_t finished_ = 0;
  report::EngineCycles cycles_;
  std::uint64_t read_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
};

}  // namespace npulab::systemc
