// SPDX-License-Identifier: Apache-2.0
// The boundary between DMA engines and device memory: time only. Values live in memory::SparseMemory.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace npulab::systemc {

inline constexpr std::uint64_t kPending = std::numeric_limits<std::uint64_t>::max();

struct GmRequest {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  bool write = false;
  std::uint64_t at_ps = 0;           // arrival at the memory, on the time axis of the session
  std::uint64_t done_ps = kPending;  // last byte there (read) or accepted (write); set by the port
};

// What one engine asks for in one turn: at most GmConfig::grant_bytes, requests with at_ps ascending. The
// caller owns it and leaves it in place until `pending` is 0.
struct GmBatch {
  std::uint32_t core = 0;  // who asks: ties of one time are granted in the order of core, then engine
  std::uint32_t engine = 0;
  std::vector<GmRequest> requests;
  std::uint32_t pending = 0;  // requests whose done_ps is not known yet; counted down by the port
};

class GmClient {
 public:
  virtual ~GmClient() = default;
  // Called whenever done_ps of one or more requests of `batch` became known (they may lie in the future).
  virtual void gm_answered(GmBatch& batch) = 0;
  // What the client asked for with GmPort::turn_at: it may submit what it has at this time, no more.
  virtual void gm_turn([[maybe_unused]] std::uint64_t ps) {}
};

class GmPort {
 public:
  virtual ~GmPort() = default;
  // Takes the batch at the current simulated time. Requests of one time are collected and granted in a later
  // delta, so the order in which engines were activated never shows.
  virtual void submit(GmBatch& batch, GmClient& client) = 0;
  // Calls client.gm_turn(ps) at simulated time `ps`, which lies ahead, before grants of that time. While
  // nothing else is to happen the port may run ahead of the simulator's clock: then what a client schedules
  // from gm_turn or gm_answered must not lie before its last turn. False: the port does not do that, and the
  // client has to wake itself.
  virtual bool turn_at([[maybe_unused]] std::uint64_t ps, [[maybe_unused]] GmClient& client) { return false; }
  // Ready for a new run at simulated time `start_ps` (soft reset): no request pending, banks idle.
  virtual void reset(std::uint64_t start_ps) = 0;
};

}  // namespace npulab::systemc
