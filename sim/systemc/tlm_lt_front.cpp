// SPDX-License-Identifier: Apache-2.0
// Both sides of the adapter for blocking memories.
#include "sim/systemc/tlm_lt_front.hpp"

#include <fmt/core.h>

#include "isa/error.hpp"

namespace npulab::systemc {

LtFront::LtFront(const sc_core::sc_module_name& name, Session& session, unsigned outstanding)
    : sc_module(name), from("from"), to("to"), session_(session), free_threads_(outstanding) {
  if (outstanding == 0)
    throw Error(Category::input, "no-outstanding-requests",
                "LtFront with 0 outstanding requests would never serve one; at least 1");
  from.register_nb_transport_fw(this, &LtFront::nb_transport_fw);
  SC_HAS_PROCESS(LtFront);
  for (unsigned i = 0; i < outstanding; ++i)
    sc_core::sc_spawn([this] { serve(); }, sc_core::sc_gen_unique_name("serve"));
  SC_METHOD(respond);
  sensitive << respond_;
  dont_initialize();
}

tlm::tlm_sync_enum LtFront::nb_transport_fw(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                            sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) {
    end_response(transaction);
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  transaction.acquire();
  arrivals_.push_back({&transaction, (sc_core::sc_time_stamp() + delay).value()});
  arrived_.notify(sc_core::SC_ZERO_TIME);
  if (free_threads_ == 0) {
    waiting_ = &transaction;
    return tlm::TLM_ACCEPTED;
  }
  --free_threads_;
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

// One thread. Nothing that owns memory lives on its stack: a context is deleted without unwinding it.
void LtFront::serve() {
  session_.guarded([this] {
    while (true) {
      while (arrivals_.empty()) wait(arrived_);
      const Arrival arrival = arrivals_.front();
      arrivals_.pop_front();
      const std::uint64_t now_ps = sc_core::sc_time_stamp().value();
      if (arrival.at_ps > now_ps) wait(sc_core::sc_time::from_value(arrival.at_ps - now_ps));
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      to->b_transport(*arrival.transaction, delay);
      if (delay != sc_core::SC_ZERO_TIME) wait(delay);
      served_.push_back(arrival.transaction);
      ++free_threads_;
      respond_.notify(sc_core::SC_ZERO_TIME);
    }
  });
}

// Sends what is due: the END_REQ that was held back, and one response at a time.
void LtFront::respond() {
  session_.guarded([this] {
    accept_waiting();
    while (responding_ == nullptr && !served_.empty()) {
      tlm::tlm_generic_payload& transaction = *served_.front();
      served_.pop_front();
      responding_ = &transaction;
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      const tlm::tlm_sync_enum status = from->nb_transport_bw(transaction, phase, delay);
      if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::END_RESP))
        end_response(transaction);
    }
  });
}

void LtFront::accept_waiting() {
  if (waiting_ == nullptr || free_threads_ == 0) return;
  tlm::tlm_generic_payload& transaction = *waiting_;
  waiting_ = nullptr;
  --free_threads_;
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  from->nb_transport_bw(transaction, phase, delay);
}

void LtFront::end_response(tlm::tlm_generic_payload& transaction) {
  if (responding_ != &transaction) return;
  responding_ = nullptr;
  transaction.release();
  respond_.notify(sc_core::SC_ZERO_TIME);
}

}  // namespace npulab::systemc
