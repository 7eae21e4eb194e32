// SPDX-License-Identifier: Apache-2.0
// The semaphores of a launch in simulated time: collects what engines tell of one time, works it out when
// that time is over, and wakes those that may go on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/semaphores.hpp"
#include "sim/systemc/process.hpp"

namespace npulab::systemc {

class SemaphoreClient {
 public:
  SemaphoreClient() = default;
  virtual ~SemaphoreClient() = default;
  // What it waited for was there at `ps`, which is past.
  virtual void acquired(std::uint64_t ps) = 0;
};

class SemaphoreBank : public Process {
 public:
  SemaphoreBank(const sc_core::sc_module_name& name, Session& session, core::Clock domain,
                core::Diagnostics& diagnostics)
      : Process(name, session, domain), counts_(diagnostics) {}

  core::Semaphores& counts() { return counts_; }
  const core::Semaphores& counts() const { return counts_; }
  void reset();
  void release(core::Semaphores::Release release);
  // An engine waits for one acquisition at a time.
  void acquire(core::Semaphores::Acquire acquire, SemaphoreClient& client);

 private:
  void step() override;
  void arm();

  core::Semaphores counts_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, SemaphoreClient*> clients_;  // by core and engine
};

// The one acquisition that an engine waits for.
class SemaphoreWait final : private SemaphoreClient {
 public:
  explicit SemaphoreWait(Process& engine) : engine_(engine) {}

  void reset();
  // When what was asked for was there; asks the first time, and the engine is woken when that is known.
  std::optional<std::uint64_t> over(SemaphoreBank& bank, const core::Semaphores::Acquire& wish);

 private:
  void acquired(std::uint64_t ps) override;

  Process& engine_;
  bool asked_ = false;
  std::optional<std::uint64_t> ps_;
};

}  // namespace npulab::systemc
