// SPDX-License-Identifier: Apache-2.0
// Base of every engine: one SC_METHOD that sleeps on one event. Whatever an engine waits for lies in counts
// and queues; a wake-up only makes it look again.
#pragma once

#include <cstdint>
#include <optional>
#include <systemc>

#include "sim/core/clock.hpp"
#include "sim/systemc/session.hpp"
#include "sim/systemc/standing.hpp"

namespace npulab::systemc {

class Process : public sc_core::sc_module {
 public:
  Process(const sc_core::sc_module_name& name, Session& session, core::Clock clock);

  // Looks again at `ps` (now, if that is past). The earliest wish wins; step() repeats the others.
  void wake_at_ps(std::uint64_t ps);
  void wake_at(std::uint64_t cycle) { wake_at_ps(clock.ps(cycle)); }
  void wake() { wake_at_ps(0); }

  // Where it stands and what it waits for; nothing when it is done.
  virtual std::optional<Standing> standing() const { return std::nullopt; }

 protected:
  virtual void step() = 0;
  std::uint64_t now_ps() const { return session_.now_ps(); }
  // Whether the simulated time has reached the cycle.
  bool reached(std::uint64_t cycle) const { return clock.ps(cycle) <= now_ps(); }

  const core::Clock clock;

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  void run();
  void notify(std::uint64_t ps);
  Session& session_;
  sc_core::sc_event wake_;
  bool stepping_ = false;
  std::uint64_t wish_ = kNever;  // the earliest wish of the step that is running: one timer for all of them
};

}  // namespace npulab::systemc
