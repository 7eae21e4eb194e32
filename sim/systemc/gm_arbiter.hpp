// SPDX-License-Identifier: Apache-2.0
// The port to the built-in device memory: collects what engines ask for at one time and grants it in a fixed
// order.
#pragma once

#include <systemc>

#include <vector>

#include "sim/dram/gm_model.hpp"
#include "sim/systemc/gm_grants.hpp"
#include "sim/systemc/gm_port.hpp"
#include "sim/systemc/session.hpp"

namespace npulab::systemc {

// A batch is granted as a whole, in the delta after it was submitted, in the order of GmGrants; its clients
// are told at once, for times that may lie ahead. Turns that clients asked for are taken without the
// simulator as long as nothing else is to happen before them.
class GmArbiter final : public sc_core::sc_module, public GmPort {
 public:
  // The model must outlive the arbiter.
  GmArbiter(const sc_core::sc_module_name& name, Session& session, dram::GmModel& model);

  void submit(GmBatch& batch, GmClient& client) override;
  bool turn_at(std::uint64_t ps, GmClient& client) override;
  void reset(std::uint64_t start_ps) override;

 private:
  struct Turn {
    std::uint64_t ps;
    GmClient* client;

    static bool later(const Turn& a, const Turn& b) { return a.ps > b.ps; }
  };

  void run();
  void grant();
  void take_turns(std::uint64_t ps);
  void run_ahead();

  Session& session_;
  dram::GmModel& model_;
  GmGrants grants_;
  sc_core::sc_event submitted_;
  sc_core::sc_event turn_;
  std::vector<Turn> turns_;  // heap: earliest first
  bool running_ = false;     // run() sees to what is asked for meanwhile
  bool ahead_ = false;       // of the simulator's clock
};

}  // namespace npulab::systemc
