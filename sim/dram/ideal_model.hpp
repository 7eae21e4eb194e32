// SPDX-License-Identifier: Apache-2.0
// Memory of one bandwidth and one latency: a shared bus that requests take one after another.
#pragma once

#include "sim/dram/data_bus.hpp"
#include "sim/dram/gm_model.hpp"

namespace npulab::dram {

// done = max(arrival, bus free) + bytes / bandwidth + latency. The bus is given as DataBus says, with nothing
// to pay for a change of direction.
class IdealModel final : public GmModel {
 public:
  explicit IdealModel(const config::GmConfig& config);

  std::uint64_t access(std::uint64_t address, std::uint32_t bytes, bool write, std::uint64_t at_ps) override;
  void reset(std::uint64_t start_ps) override;
  const GmStats& stats() override;
  std::uint64_t lower_bound_ps(std::uint64_t bytes) const override { return timing_.interval.ps(bytes); }

 private:
  BusTiming timing_;
  std::uint64_t latency_ps_;
  DataBus bus_;
  GmStats stats_;
};

}  // namespace npulab::dram
