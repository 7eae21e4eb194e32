// SPDX-License-Identifier: Apache-2.0
// The inputs of buffers that other cores copy into: each takes one copy at a time, and a copy to several
// cores begins when all of them can take it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/systemc/process.hpp"

namespace npulab::systemc {

struct InputSlot {
  bool held = false;  // by a copy whose end is not known yet
  std::uint64_t free_ps = 0;
};

struct BufferInputs {
  std::vector<InputSlot> slots;
};

class InputClient {
 public:
  virtual ~InputClient() = default;
  // The slots are the client's from `ps` on, until it frees them.
  virtual void inputs_granted(std::uint64_t ps, std::vector<InputSlot*> slots) = 0;
};

// Requests are served in the order of time, core and engine, and wait for one another: one that must wait
// keeps its inputs from later ones, so that a copy to many cores has its turn, too.
class InputArbiter : public Process {
 public:
  struct Request {
    std::uint64_t ps = 0;
    std::uint32_t core = 0;
    std::uint8_t engine = 0;
    std::vector<BufferInputs*> wanted;
    InputClient* client = nullptr;
  };

  InputArbiter(const sc_core::sc_module_name& name, Session& session, core::Clock domain)
      : Process(name, session, domain) {}

  void reset() { waiting_.clear(); }
  void request(Request request);
  void free(const std::vector<InputSlot*>& slots, std::uint64_t ps);

 private:
  void step() override;

  std::vector<Request> waiting_;
};

}  // namespace npulab::systemc
