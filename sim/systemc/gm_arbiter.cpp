// SPDX-License-Identifier: Apache-2.0
// Rounds of grants.
#include "sim/systemc/gm_arbiter.hpp"

namespace npulab::systemc {

GmArbiter::GmArbiter(const sc_core::sc_module_name& name, Session& session, dram::GmModel& model)
    : sc_module(name), session_(session), model_(model) {
  SC_HAS_PROCESS(GmArbiter);
  SC_METHOD(grant);
  sensitive << submitted_;
  dont_initialize();
}

void GmArbiter::submit(GmBatch& batch, GmClient& client) {
  grants_.add(batch, client);
  submitted_.notify(sc_core::SC_ZERO_TIME);
}

void GmArbiter::reset(std::uint64_t start_ps) {
  grants_.reset();
  submitted_.cancel();
  model_.reset(start_ps);
}

void GmArbiter::grant() {
  session_.guarded([this] {
    // A client may submit again while it is told: that goes into the next round.
    for (const GmGrants::Entry& entry : grants_.take()) {
      for (GmRequest& request : entry.batch->requests)
        request.done_ps = model_.access(request.address, request.bytes, request.write, request.at_ps);
      entry.batch->pending = 0;
      entry.client->gm_answered(*entry.batch);
    }
  });
}

}  // namespace npulab::systemc
