// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/semaphore_bank.hpp"

namespace npulab::systemc {

void SemaphoreBank::reset() {
  counts_.reset();
  clients_.clear();
}

void SemaphoreBank::release(core::Semaphores::Release release) {
  counts_.release(std::move(release));
  arm();
}

void SemaphoreBank::acquire(core::Semaphores::Acquire acquire, SemaphoreClient& client) {
  clients_[{acquire.semaphore.core, acquire.engine}] = &client;
  counts_.acquire(std::move(acquire));
  arm();
}

// A time is over one picosecond later: no engine acts at it any more, in whatever order they were activated.
void SemaphoreBank::arm() {
  if (const auto next = counts_.next()) wake_at_ps(*next + 1);
}

void SemaphoreBank::step() {
  for (const core::Semaphores::Grant& grant : counts_.work_out(now_ps())) {
    SemaphoreClient* const client = clients_.at({grant.semaphore.core, grant.engine});
    client->acquired(grant.ps);
  }
  arm();
}

void SemaphoreWait::reset() {
  asked_ = false;
  ps_.reset();
}

std::optional<std::uint64_t> SemaphoreWait::over(SemaphoreBank& bank, const core::Semaphores::Acquire& wish) {
  if (!asked_) bank.acquire(wish, *this);
  asked_ = true;
  return ps_;
}

void SemaphoreWait::acquired(std::uint64_t ps) {
  ps_ = ps;
  engine_.wake();
}

}  // namespace npulab::systemc
