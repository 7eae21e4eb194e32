// SPDX-License-Identifier: Apache-2.0
// The port to a device memory of the user's own: an approximately-timed TLM-2.0 initiator that drives any
// target.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <systemc>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/systemc/gm_grants.hpp"
#include "sim/systemc/gm_port.hpp"
#include "sim/systemc/session.hpp"

namespace npulab::systemc {

// Sends every request at its time, or as soon as the one before was accepted; requests of one time in the
// order of GmGrants. The memory alone decides how long they take and how many it accepts: answers may come in
// any order. Bind `socket` to a target that implements nb_transport, or to LtFront in front of one that
// blocks in b_transport.
//
// A request that is completed at once (TLM_COMPLETED) leaves the way free at once, however long its annotated
// delay: a memory that says so keeps its own account of what it has under way.
//
// The memory is asked for time only: what a program reads always comes from npulab's own copy of the device
// memory. Written bytes are passed when `write_data` gives them, otherwise the payload holds poison.
//
// Errors, all of them out of Session::run(): verdict "memory-error-response" when the memory answers a
// request with an error; input "memory-protocol" when it breaks the base protocol.
class TlmGm final : public sc_core::sc_module, public GmPort, private tlm::tlm_mm_interface {
 public:
  // Fills in what a write request writes.
  using WriteData = std::function<void(const GmRequest& request, std::span<std::byte> bytes)>;

  TlmGm(const sc_core::sc_module_name& name, Session& session, WriteData write_data = {});
  ~TlmGm() override;

  tlm_utils::simple_initiator_socket<TlmGm> socket;

  // Keeps what the port is bound to (the memory, adapters) alive as long as itself; the last one given goes
  // first.
  template <class Module>
  Module& own(std::unique_ptr<Module> module) {
    Module& given = *module;
    owned_.push_back(std::move(module));
    return given;
  }

  void submit(GmBatch& batch, GmClient& client) override;
  void reset(std::uint64_t start_ps) override;

  std::uint64_t outstanding() const { return outstanding_; }  // requests sent that have no answer yet

 private:
  struct Payload;
  struct Queued {
    GmBatch* batch;
    GmClient* client;
    std::uint32_t request;
    std::uint64_t at_ps;
    std::uint64_t order;

    static bool later(const Queued& a, const Queued& b) {
      return std::tie(a.at_ps, a.order) > std::tie(b.at_ps, b.order);
    }
  };
  struct Response {
    Payload* payload;
    std::uint64_t at_ps;
    bool needs_end;  // END_RESP is still to be sent
  };

  void step();
  void collect();
  void send(std::uint64_t now_ps);
  void begin(const Queued& queued, std::uint64_t now_ps);
  void add_response(const Response& response);
  void answer(std::uint64_t now_ps);
  void finish(Payload& payload, std::uint64_t at_ps);
  void on_phase(Payload& payload, const tlm::tlm_phase& phase, std::uint64_t at_ps);
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  void free(tlm::tlm_generic_payload* transaction) override;
  Payload& new_payload();
  void schedule(std::uint64_t now_ps);
  [[noreturn]] void protocol_error(const Payload* payload, const std::string& what) const;

  std::vector<std::shared_ptr<void>> owned_;
  Session& session_;
  WriteData write_data_;
  GmGrants grants_;
  sc_core::sc_event wake_;
  std::vector<Queued> queue_;        // heap: earliest first
  std::vector<Response> responses_;  // known, not passed on yet; in order of time
  std::vector<std::unique_ptr<Payload>> payloads_;
  std::vector<Payload*> free_payloads_;
  Payload* unaccepted_ = nullptr;  // sent, no END_REQ yet: nothing else may be sent
  std::uint64_t accepted_ps_ = 0;  // when the last END_REQ takes effect
  std::uint64_t order_ = 0;
  std::uint64_t outstanding_ = 0;
};

}  // namespace npulab::systemc
