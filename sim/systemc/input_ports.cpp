// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/input_ports.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace npulab::systemc {

namespace {

// The slot that is free first, or null while copies without a known end hold all of them.
InputSlot* first_free(BufferInputs& inputs) {
  InputSlot* best = nullptr;
  for (InputSlot& slot : inputs.slots)
    if (!slot.held && (best == nullptr || slot.free_ps < best->free_ps)) best = &slot;
  return best;
}

}  // namespace

// Served one picosecond later, when no engine acts at that time any more.
void InputArbiter::request(Request request) {
  wake_at_ps(request.ps + 1);
  waiting_.push_back(std::move(request));
}

void InputArbiter::free(const std::vector<InputSlot*>& slots, std::uint64_t ps) {
  for (InputSlot* slot : slots) {
    slot->held = false;
    slot->free_ps = ps;
  }
  if (!waiting_.empty()) wake_at_ps(now_ps() + 1);
}

void InputArbiter::step() {
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const Request& a, const Request& b) {
    return std::tuple(a.ps, a.core, a.engine) < std::tuple(b.ps, b.core, b.engine);
  });
  std::vector<const BufferInputs*> kept;  // for requests that wait
  std::vector<Request> left;
  for (Request& request : waiting_) {
    std::vector<InputSlot*> slots;
    std::uint64_t ps = request.ps;
    for (BufferInputs* inputs : request.wanted) {
      InputSlot* const slot = first_free(*inputs);
      if (slot == nullptr || std::find(kept.begin(), kept.end(), inputs) != kept.end()) break;
      slots.push_back(slot);
      ps = std::max(ps, slot->free_ps);
    }
    if (request.ps >= now_ps() || slots.size() < request.wanted.size()) {
      kept.insert(kept.end(), request.wanted.begin(), request.wanted.end());
      left.push_back(std::move(request));
      continue;
    }
    for (InputSlot* slot : slots) slot->held = true;
    request.client->inputs_granted(ps, std::move(slots));
  }
  waiting_ = std::move(left);
  for (const Request& request : waiting_)
    if (request.ps >= now_ps()) wake_at_ps(request.ps + 1);
}

}  // namespace npulab::systemc
