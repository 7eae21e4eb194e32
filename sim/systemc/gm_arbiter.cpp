// SPDX-License-Identifier: Apache-2.0
// Rounds of grants.
#include "sim/systemc/gm_arbiter.hpp"

#include <algorithm>

namespace npulab::systemc {

GmArbiter::GmArbiter(const sc_core::sc_module_name& name, Session& session, dram::GmModel& model)
    : sc_module(name), session_(session), model_(model) {
  SC_HAS_PROCESS(GmArbiter);
  SC_METHOD(run);
  sensitive << submitted_ << turn_;
  dont_initialize();
}

void GmArbiter::submit(GmBatch& batch, GmClient& client) {
  grants_.add(batch, client);
  if (!ahead_) submitted_.notify(sc_core::SC_ZERO_TIME);
}

bool GmArbiter::turn_at(std::uint64_t ps, GmClient& client) {
  const bool first = turns_.empty() || ps < turns_.front().ps;
  turns_.push_back({ps, &client});
  std::push_heap(turns_.begin(), turns_.end(), Turn::later);
  if (first && !running_) turn_.notify(sc_core::sc_time::from_value(ps - session_.now_ps()));
  return true;
}

void GmArbiter::reset(std::uint64_t start_ps) {
  grants_.reset();
  submitted_.cancel();
  turn_.cancel();
  turns_.clear();
  running_ = ahead_ = false;
  model_.reset(start_ps);
}

void GmArbiter::run() {
  session_.guarded([this] {
    running_ = true;
    const std::uint64_t now = session_.now_ps();
    if (!turns_.empty() && turns_.front().ps <= now)
      take_turns(now);  // what they submit is granted with what others submit at this time, a delta later
    else
      grant();
    if (!grants_.empty()) submitted_.notify(sc_core::SC_ZERO_TIME);
    turn_.cancel();
    run_ahead();
    if (!turns_.empty()) turn_.notify(sc_core::sc_time::from_value(turns_.front().ps - now));
    running_ = false;
  });
}

// Nobody else can submit anything before the next event of the simulator.
void GmArbiter::run_ahead() {
  ahead_ = true;
  while (!turns_.empty() && !sc_core::sc_pending_activity_at_current_time()) {
    const std::uint64_t ps = turns_.front().ps;
    if (sc_core::sc_time_to_pending_activity().value() <= ps - session_.now_ps()) break;
    take_turns(ps);
    grant();
  }
  ahead_ = false;
}

void GmArbiter::take_turns(std::uint64_t ps) {
  while (!turns_.empty() && turns_.front().ps <= ps) {
    std::pop_heap(turns_.begin(), turns_.end(), Turn::later);
    GmClient* const client = turns_.back().client;
    turns_.pop_back();
    client->gm_turn(ps);
  }
}

void GmArbiter::grant() {
  // A client may submit again while it is told: that goes into the next round.
  for (const GmGrants::Entry& entry : grants_.take()) {
    for (GmRequest& request : entry.batch->requests)
      request.done_ps = model_.access(request.address, request.bytes, request.write, request.at_ps);
    entry.batch->pending = 0;
    entry.client->gm_answered(*entry.batch);
  }
}

}  // namespace npulab::systemc
