// SPDX-License-Identifier: Apache-2.0
// The initiator's side of the base protocol.
#include "sim/systemc/tlm_gm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "isa/error.hpp"
#include "sim/memory/sparse_memory.hpp"

namespace npulab::systemc {

namespace {

enum class Stage : std::uint8_t { idle, requested, accepted, answered };

std::uint64_t now() {
  return sc_core::sc_time_stamp().value();
}

std::string describe(const tlm::tlm_generic_payload& transaction) {
  return fmt::format("{} of {} bytes at {:#x}", transaction.is_write() ? "write" : "read",
                     transaction.get_data_length(), transaction.get_address());
}

}  // namespace

struct TlmGm::Payload final : tlm::tlm_generic_payload {
  GmBatch* batch = nullptr;  // null: nobody waits for it any more
  GmClient* client = nullptr;
  std::uint32_t request = 0;
  Stage stage = Stage::idle;
  std::vector<std::byte> data;
};

TlmGm::TlmGm(const sc_core::sc_module_name& name, Session& session, WriteData write_data)
    : sc_module(name), socket("socket"), session_(session), write_data_(std::move(write_data)) {
  socket.register_nb_transport_bw(this, &TlmGm::nb_transport_bw);
  SC_HAS_PROCESS(TlmGm);
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
}

TlmGm::~TlmGm() {
  while (!owned_.empty()) owned_.pop_back();
}

void TlmGm::submit(GmBatch& batch, GmClient& client) {
  grants_.add(batch, client);
  wake_.notify(sc_core::SC_ZERO_TIME);
}

// Answers to requests of an earlier run may still come: they complete the protocol and are passed to nobody.
void TlmGm::reset(std::uint64_t) {
  grants_.reset();
  queue_.clear();
  order_ = 0;
  for (const auto& payload : payloads_) payload->batch = nullptr;
}

void TlmGm::step() {
  session_.guarded([this] {
    const std::uint64_t now_ps = now();
    answer(now_ps);
    collect();
    send(now_ps);
    schedule(now_ps);
  });
}

void TlmGm::collect() {
  for (const GmGrants::Entry& entry : grants_.take()) {
    for (std::uint32_t i = 0; i < entry.batch->requests.size(); ++i) {
      queue_.push_back({entry.batch, entry.client, i, entry.batch->requests[i].at_ps, order_++});
      std::push_heap(queue_.begin(), queue_.end(), Queued::later);
    }
  }
}

void TlmGm::send(std::uint64_t now_ps) {
  while (!queue_.empty() && queue_.front().at_ps <= now_ps) {
    if (unaccepted_ != nullptr || accepted_ps_ > now_ps) return;
    std::pop_heap(queue_.begin(), queue_.end(), Queued::later);
    const Queued next = queue_.back();
    queue_.pop_back();
    begin(next, now_ps);
  }
}

void TlmGm::begin(const Queued& queued, std::uint64_t now_ps) {
  GmRequest& request = queued.batch->requests[queued.request];
  if (request.bytes == 0) {  // TLM has no empty transfers
    request.done_ps = now_ps;
    --queued.batch->pending;
    queued.client->gm_answered(*queued.batch);
    return;
  }
  Payload& payload = new_payload();
  payload.batch = queued.batch;
  payload.client = queued.client;
  payload.request = queued.request;
  payload.stage = Stage::requested;
  payload.data.assign(request.bytes, memory::kPoison);
  if (request.write && write_data_) write_data_(request, payload.data);
  payload.set_command(request.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(request.address);
  payload.set_data_ptr(reinterpret_cast<unsigned char*>(payload.data.data()));
  payload.set_data_length(request.bytes);
  payload.set_streaming_width(request.bytes);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_dmi_allowed(false);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);

  unaccepted_ = &payload;
  ++outstanding_;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum status = socket->nb_transport_fw(payload, phase, delay);
  const std::uint64_t at_ps = now_ps + delay.value();
  if (status == tlm::TLM_UPDATED) {
    on_phase(payload, phase, at_ps);
  } else if (status == tlm::TLM_COMPLETED) {
    if (payload.stage == Stage::answered) protocol_error(&payload, "TLM_COMPLETED after BEGIN_RESP");
    unaccepted_ = nullptr;
    payload.stage = Stage::answered;
    add_response({&payload, at_ps, false});
  }
}

void TlmGm::add_response(const Response& response) {
  const auto later = [](const Response& a, const Response& b) { return a.at_ps < b.at_ps; };
  responses_.insert(std::upper_bound(responses_.begin(), responses_.end(), response, later), response);
}

// A phase that the target reports, on either path, which takes effect at `at_ps`.
void TlmGm::on_phase(Payload& payload, const tlm::tlm_phase& phase, std::uint64_t at_ps) {
  const bool end_request = phase == tlm::END_REQ;
  if (!end_request && phase != tlm::BEGIN_RESP)
    protocol_error(&payload, fmt::format("phase {} from the memory", phase.get_name()));
  const bool expected =
      payload.stage == Stage::requested || (payload.stage == Stage::accepted && !end_request);
  if (!expected)
    protocol_error(&payload,
                   fmt::format("{} twice, or for a request that is not under way", phase.get_name()));
  if (payload.stage == Stage::requested) {  // a response accepts the request too
    unaccepted_ = nullptr;
    accepted_ps_ = at_ps;
  }
  payload.stage = end_request ? Stage::accepted : Stage::answered;
  if (!end_request) add_response({&payload, at_ps, true});
}

tlm::tlm_sync_enum TlmGm::nb_transport_bw(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                          sc_core::sc_time& delay) {
  session_.guarded([&] {
    auto* const payload = dynamic_cast<Payload*>(&transaction);
    if (payload == nullptr) protocol_error(nullptr, "a transaction that npulab never sent");
    on_phase(*payload, phase, now() + delay.value());
    wake_.notify(sc_core::SC_ZERO_TIME);
  });
  return tlm::TLM_ACCEPTED;
}

// Passes on the responses that have arrived, in order of time.
void TlmGm::answer(std::uint64_t now_ps) {
  std::size_t count = 0;
  while (count < responses_.size() && responses_[count].at_ps <= now_ps) {
    const Response response = responses_[count++];
    if (response.needs_end) {
      tlm::tlm_phase phase = tlm::END_RESP;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      socket->nb_transport_fw(*response.payload, phase, delay);
    }
    finish(*response.payload, response.at_ps);
  }
  responses_.erase(responses_.begin(), responses_.begin() + static_cast<std::ptrdiff_t>(count));
}

void TlmGm::finish(Payload& payload, std::uint64_t at_ps) {
  if (!payload.is_response_ok() && payload.batch != nullptr)
    throw Error(Category::verdict, "memory-error-response",
                fmt::format("the memory model answered {} to a {} (core {}, DMA engine {})",
                            payload.get_response_string(), describe(payload), payload.batch->core,
                            payload.batch->engine));
  GmBatch* const batch = payload.batch;
  GmClient* const client = payload.client;
  const std::uint32_t request = payload.request;
  payload.batch = nullptr;
  payload.stage = Stage::idle;
  --outstanding_;
  payload.release();
  if (batch == nullptr) return;
  batch->requests[request].done_ps = at_ps;
  --batch->pending;
  client->gm_answered(*batch);
}

// Wakes up for the next thing that is known to happen; everything else comes with a wake-up of its own.
void TlmGm::schedule(std::uint64_t now_ps) {
  std::uint64_t next_ps = std::numeric_limits<std::uint64_t>::max();
  if (!responses_.empty()) next_ps = responses_.front().at_ps;
  if (!queue_.empty() && unaccepted_ == nullptr)
    next_ps = std::min(next_ps, std::max(queue_.front().at_ps, accepted_ps_));
  if (next_ps == std::numeric_limits<std::uint64_t>::max()) return;
  if (next_ps <= now_ps)
    wake_.notify(sc_core::SC_ZERO_TIME);
  else
    wake_.notify(sc_core::sc_time::from_value(next_ps - now_ps));
}

TlmGm::Payload& TlmGm::new_payload() {
  if (free_payloads_.empty()) {
    payloads_.push_back(std::make_unique<Payload>());
    payloads_.back()->set_mm(this);
    free_payloads_.push_back(payloads_.back().get());
  }
  Payload& payload = *free_payloads_.back();
  free_payloads_.pop_back();
  payload.acquire();
  return payload;
}

// Called when the last holder releases a transaction.
void TlmGm::free(tlm::tlm_generic_payload* transaction) {
  transaction->reset();
  free_payloads_.push_back(static_cast<Payload*>(transaction));
}

void TlmGm::protocol_error(const Payload* payload, const std::string& what) const {
  const std::string of = payload == nullptr ? "" : fmt::format(" (a {})", describe(*payload));
  throw Error(
      Category::input, "memory-protocol",
      fmt::format(
          "the memory model breaks the TLM-2.0 base protocol: {}{}; a request is answered by END_REQ and "
          "BEGIN_RESP, by BEGIN_RESP alone, or by completing it at once",
          what, of));
}

}  // namespace npulab::systemc
