// SPDX-License-Identifier: Apache-2.0
// An adapter in front of a memory that only blocks: accepts requests at once and keeps several of them under
// way.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <tlm>

#include <cstddef>
#include <deque>
#include <systemc>
#include <vector>

#include "sim/systemc/session.hpp"

namespace npulab::systemc {

// Each of `outstanding` threads makes one b_transport call at a time. Without this adapter a blocking memory
// works too, through the one in simple_target_socket, but serves one request after the other. Time that the
// memory returns instead of waiting for it is waited for here. These are the only SystemC threads of npulab:
// a target that waits in b_transport cannot be called from a method.
class LtFront final : public sc_core::sc_module {
 public:
  LtFront(const sc_core::sc_module_name& name, Session& session, unsigned outstanding = 16);

  tlm_utils::simple_target_socket<LtFront> from;   // bind npulab's port to it
  tlm_utils::simple_initiator_socket<LtFront> to;  // bind it to the memory

 private:
  struct Arrival {
    tlm::tlm_generic_payload* transaction;
    std::uint64_t at_ps;
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  void serve();
  void respond();
  void accept_waiting();
  void end_response(tlm::tlm_generic_payload& transaction);

  Session& session_;
  unsigned free_threads_;
  std::deque<Arrival> arrivals_;
  std::deque<tlm::tlm_generic_payload*> served_;
  tlm::tlm_generic_payload* waiting_ = nullptr;     // no END_REQ yet: all threads are busy
  tlm::tlm_generic_payload* responding_ = nullptr;  // BEGIN_RESP sent, END_RESP not seen
  sc_core::sc_event arrived_;
  sc_core::sc_event respond_;
};

}  // namespace npulab::systemc
