// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/process.hpp"

#include <algorithm>

namespace npulab::systemc {

Process::Process(const sc_core::sc_module_name& name, Session& session, core::Clock domain)
    : sc_module(name), clock(domain), session_(session) {
  SC_HAS_PROCESS(Process);
  SC_METHOD(run);
  sensitive << wake_;
  dont_initialize();
}

void Process::run() {
  session_.guarded([this] {
    stepping_ = true;
    wish_ = kNever;
    step();
    stepping_ = false;
    if (wish_ != kNever) notify(wish_);
  });
}

void Process::wake_at_ps(std::uint64_t ps) {
  if (stepping_)
    wish_ = std::min(wish_, ps);
  else
    notify(ps);
}

void Process::notify(std::uint64_t ps) {
  const std::uint64_t now = now_ps();
  if (ps <= now)
    wake_.notify(sc_core::SC_ZERO_TIME);
  else
    wake_.notify(sc_core::sc_time::from_value(ps - now));
}

}  // namespace npulab::systemc
