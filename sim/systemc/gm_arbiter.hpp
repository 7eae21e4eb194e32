// SPDX-License-Identifier: Apache-2.0
// The port to the built-in device memory: collects what engines ask for at one time and grants it in a fixed
// order.
#pragma once

#include <systemc>

#include "sim/dram/gm_model.hpp"
#include "sim/systemc/gm_grants.hpp"
#include "sim/systemc/gm_port.hpp"
#include "sim/systemc/session.hpp"

namespace npulab::systemc {

// A batch is granted as a whole, in the delta after it was submitted, in the order of GmGrants; its clients
// are told at once, for times that may lie ahead.
class GmArbiter final : public sc_core::sc_module, public GmPort {
 public:
  // The model must outlive the arbiter.
  GmArbiter(const sc_core::sc_module_name& name, Session& session, dram::GmModel& model);

  void submit(GmBatch& batch, GmClient& client) override;
  void reset(std::uint64_t start_ps) override;

 private:
  void grant();

  Session& session_;
  dram::GmModel& model_;
  GmGrants grants_;
  sc_core::sc_event submitted_;
};

}  // namespace npulab::systemc
