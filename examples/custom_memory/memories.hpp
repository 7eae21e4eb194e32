// SPDX-License-Identifier: Apache-2.0
// Two device memories as a user would write them: plain TLM-2.0, nothing of npulab in them.
#pragma once

#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_target_socket.h>
#include <tlm>

#include <algorithm>
#include <systemc>

// Approximately timed: one bus, requests overlap. A request is accepted when its bytes have passed the bus
// and answered a fixed time later.
class FixedLatencyMemory : public sc_core::sc_module {
 public:
  FixedLatencyMemory(const sc_core::sc_module_name& name, double bytes_per_ns,
                     const sc_core::sc_time& latency)
      : sc_module(name), socket("socket"), bytes_per_ns_(bytes_per_ns), latency_(latency), queue_("queue") {
    socket.register_nb_transport_fw(this, &FixedLatencyMemory::nb_transport_fw);
    SC_HAS_PROCESS(FixedLatencyMemory);
    SC_METHOD(respond);
    sensitive << queue_.get_event();
    dont_initialize();
  }
  tlm_utils::simple_target_socket<FixedLatencyMemory> socket;

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& request, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    if (phase == tlm::END_RESP) {
      request.release();
      return tlm::TLM_COMPLETED;
    }
    const sc_core::sc_time now = sc_core::sc_time_stamp();
    const sc_core::sc_time transfer(request.get_data_length() / bytes_per_ns_, sc_core::SC_NS);
    bus_free_ = std::max(now + delay, bus_free_) + transfer;
    request.set_response_status(tlm::TLM_OK_RESPONSE);
    request.acquire();
    queue_.notify(request, bus_free_ + latency_ - now);
    phase = tlm::END_REQ;
    delay = bus_free_ - now;
    return tlm::TLM_UPDATED;
  }

  // Answers lie at least a transfer apart, and npulab takes each at once.
  void respond() {
    while (tlm::tlm_generic_payload* request = queue_.get_next_transaction()) {
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      socket->nb_transport_bw(*request, phase, delay);
    }
  }

  double bytes_per_ns_;
  sc_core::sc_time latency_;
  sc_core::sc_time bus_free_;
  tlm_utils::peq_with_get<tlm::tlm_generic_payload> queue_;
};

// Loosely timed: waits inside b_transport. npulab::systemc::LtFront keeps several calls under way.
class BlockingMemory : public sc_core::sc_module {
 public:
  BlockingMemory(const sc_core::sc_module_name& name, const sc_core::sc_time& latency)
      : sc_module(name), socket("socket"), latency_(latency) {
    socket.register_b_transport(this, &BlockingMemory::b_transport);
  }
  tlm_utils::simple_target_socket<BlockingMemory> socket;

 private:
  void b_transport(tlm::tlm_generic_payload& request, sc_core::sc_time&) {
    wait(latency_);
    request.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  sc_core::sc_time latency_;
};
