// SPDX-License-Identifier: Apache-2.0
// Memories as strangers write them, and a checker of the TLM-2.0 base protocol to put in front of them.
#pragma once

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <tlm>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <systemc>
#include <vector>

namespace npulab::systemc::foreign {

inline sc_core::sc_time ns(std::uint64_t n) {
  return sc_core::sc_time::from_value(n * 1000);
}

// Its own stream of numbers: the same on every host.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33) % n;
  }

 private:
  std::uint64_t state_;
};

// Knows b_transport only; waits inside it, or returns its time as a delay.
class BlockingMemory : public sc_core::sc_module {
 public:
  BlockingMemory(const sc_core::sc_module_name& name, bool waits)
      : sc_module(name), socket("socket"), waits_(waits) {
    socket.register_b_transport(this, &BlockingMemory::b_transport);
  }
  tlm_utils::simple_target_socket<BlockingMemory> socket;
  int most_at_once = 0;

 private:
  void b_transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
    most_at_once = std::max(most_at_once, ++at_once_);
    if (waits_)
      wait(ns(50));
    else
      delay += ns(50);
    --at_once_;
    transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  bool waits_;
  int at_once_ = 0;
};

// How a memory answers one request. All of them are legal.
enum class Manner {
  late_end_request,     // accepts the call, END_REQ later, BEGIN_RESP later still
  updated_end_request,  // END_REQ on the return path, with a delay
  updated_response,     // BEGIN_RESP on the return path, with a delay
  skipped_end_request,  // BEGIN_RESP without an END_REQ
  completed,            // at once, with a delay
};

struct Behaviour {
  std::vector<Manner> manners{Manner::late_end_request};  // drawn from
  std::uint64_t accept_ns = 5;
  std::uint64_t response_ns = 50;
  bool random_delays = false;  // up to the figures above
  unsigned gather = 1;         // answers in the opposite order, so many at a time
  std::uint64_t bad_address = ~std::uint64_t{0};
};

// An approximately-timed memory: time stamps in a list, one method, one response at a time.
class TimedMemory : public sc_core::sc_module {
 public:
  TimedMemory(const sc_core::sc_module_name& name, const Behaviour& behaviour)
      : sc_module(name), socket("socket"), behaviour_(behaviour), numbers_(7) {
    socket.register_nb_transport_fw(this, &TimedMemory::nb_transport_fw);
    SC_HAS_PROCESS(TimedMemory);
    SC_METHOD(run);
    sensitive << wake_;
    dont_initialize();
  }
  tlm_utils::simple_target_socket<TimedMemory> socket;
  std::vector<std::uint64_t> addresses;
  std::vector<std::vector<unsigned char>> written;
  std::uint64_t answered = 0;

 private:
  using Transaction = tlm::tlm_generic_payload;
  struct Event {
    Transaction* transaction;
    tlm::tlm_phase phase;
    sc_core::sc_time at;
  };

  sc_core::sc_time delay_of(std::uint64_t most_ns) {
    return ns(behaviour_.random_delays ? numbers_.below(most_ns + 1) : most_ns);
  }

  tlm::tlm_sync_enum nb_transport_fw(Transaction& transaction, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    const sc_core::sc_time now = sc_core::sc_time_stamp();
    if (phase == tlm::END_RESP) {
      EXPECT_EQ(responding_, &transaction);
      finish(transaction);
      return tlm::TLM_COMPLETED;
    }
    EXPECT_TRUE(phase == tlm::BEGIN_REQ);
    addresses.push_back(transaction.get_address());
    if (transaction.is_write())
      written.emplace_back(transaction.get_data_ptr(),
                           transaction.get_data_ptr() + transaction.get_data_length());
    transaction.set_response_status(transaction.get_address() == behaviour_.bad_address
                                        ? tlm::TLM_ADDRESS_ERROR_RESPONSE
                                        : tlm::TLM_OK_RESPONSE);
    const Manner manner = behaviour_.manners[numbers_.below(behaviour_.manners.size())];
    const sc_core::sc_time accept = delay_of(behaviour_.accept_ns);
    const sc_core::sc_time response = accept + delay_of(behaviour_.response_ns);
    if (manner == Manner::completed) {
      delay += response;
      ++answered;
      return tlm::TLM_COMPLETED;
    }
    transaction.acquire();
    if (manner == Manner::updated_response && responding_ == nullptr) {
      responding_ = &transaction;
      phase = tlm::BEGIN_RESP;
      delay += response;
      return tlm::TLM_UPDATED;
    }
    gathered_.push_back({&transaction, tlm::BEGIN_RESP, now + delay + response});
    if (gathered_.size() >= behaviour_.gather) {
      // The last one first.
      for (const Event& event : gathered_)
        events_.push_front({event.transaction, event.phase, now + delay + response});
      gathered_.clear();
    }
    wake_.notify(sc_core::SC_ZERO_TIME);
    if (manner == Manner::updated_end_request) {
      phase = tlm::END_REQ;
      delay += accept;
      return tlm::TLM_UPDATED;
    }
    if (manner != Manner::skipped_end_request)
      events_.push_back({&transaction, tlm::END_REQ, now + delay + accept});
    return tlm::TLM_ACCEPTED;
  }

  // Every event whose time has come; a response waits until the one before was taken.
  void run() {
    const sc_core::sc_time now = sc_core::sc_time_stamp();
    for (bool again = true; again;) {
      again = false;
      for (auto event = events_.begin(); event != events_.end(); ++event) {
        if (event->at > now ||
            (event->phase == tlm::BEGIN_RESP && (responding_ != nullptr || accepts(*event))))
          continue;
        const Event due = *event;
        events_.erase(event);
        report(due);
        again = true;
        break;
      }
    }
    sc_core::sc_time next = sc_core::sc_max_time();
    for (const Event& event : events_)
      if (event.at > now) next = std::min(next, event.at);
    if (next != sc_core::sc_max_time()) wake_.notify(next - now);
  }

  // Whether the event's request still has its END_REQ in the list.
  bool accepts(const Event& response) const {
    return std::any_of(events_.begin(), events_.end(), [&](const Event& event) {
      return event.transaction == response.transaction && event.phase == tlm::END_REQ;
    });
  }

  void report(const Event& event) {
    tlm::tlm_phase phase = event.phase;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    if (phase == tlm::BEGIN_RESP) responding_ = event.transaction;
    const tlm::tlm_sync_enum status = socket->nb_transport_bw(*event.transaction, phase, delay);
    if (event.phase == tlm::BEGIN_RESP &&
        (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::END_RESP)))
      finish(*event.transaction);
  }

  void finish(Transaction& transaction) {
    responding_ = nullptr;
    ++answered;
    transaction.release();
    wake_.notify(sc_core::SC_ZERO_TIME);
  }

  Behaviour behaviour_;
  Numbers numbers_;
  std::deque<Event> events_;
  std::vector<Event> gathered_;
  Transaction* responding_ = nullptr;
  sc_core::sc_event wake_;
};

// Passes everything on and fails the test when one of the two sides breaks the base protocol.
class ProtocolChecker : public sc_core::sc_module {
 public:
  explicit ProtocolChecker(const sc_core::sc_module_name& name) : sc_module(name), from("from"), to("to") {
    from.register_nb_transport_fw(this, &ProtocolChecker::nb_transport_fw);
    to.register_nb_transport_bw(this, &ProtocolChecker::nb_transport_bw);
  }
  tlm_utils::simple_target_socket<ProtocolChecker> from;
  tlm_utils::simple_initiator_socket<ProtocolChecker> to;
  std::uint64_t completed = 0;

  void expect_idle() const { EXPECT_TRUE(state_.empty()) << state_.size() << " transactions never ended"; }

 private:
  using Transaction = tlm::tlm_generic_payload;

  void see(Transaction& transaction, const tlm::tlm_phase& phase) {
    int& last = state_[&transaction];
    if (phase == tlm::BEGIN_REQ) {
      EXPECT_EQ(last, 0) << "a transaction begun twice";
      EXPECT_EQ(request_, nullptr) << "two requests at a time";
      EXPECT_GT(transaction.get_ref_count(), 0) << "sent without a reference";
      EXPECT_EQ(transaction.get_response_status(), tlm::TLM_INCOMPLETE_RESPONSE);
      EXPECT_NE(transaction.get_data_ptr(), nullptr);
      EXPECT_GE(transaction.get_streaming_width(), transaction.get_data_length());
      request_ = &transaction;
    } else if (phase == tlm::END_REQ) {
      EXPECT_EQ(last, 1);
      request_ = nullptr;
    } else if (phase == tlm::BEGIN_RESP) {
      EXPECT_TRUE(last == 1 || last == 2);
      EXPECT_EQ(response_, nullptr) << "two responses at a time";
      if (request_ == &transaction) request_ = nullptr;
      response_ = &transaction;
    } else if (phase == tlm::END_RESP) {
      EXPECT_EQ(last, 3);
      response_ = nullptr;
    }
    last = phase == tlm::BEGIN_REQ ? 1 : phase == tlm::END_REQ ? 2 : phase == tlm::BEGIN_RESP ? 3 : 4;
    if (last == 4) end(transaction);
  }
  void end(Transaction& transaction) {
    if (request_ == &transaction) request_ = nullptr;
    if (response_ == &transaction) response_ = nullptr;
    state_.erase(&transaction);
    ++completed;
  }

  tlm::tlm_sync_enum nb_transport_fw(Transaction& transaction, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    const tlm::tlm_phase sent = phase;
    see(transaction, sent);
    const tlm::tlm_sync_enum status = to->nb_transport_fw(transaction, phase, delay);
    if (sent == tlm::END_RESP) return status;
    if (status == tlm::TLM_UPDATED) see(transaction, phase);
    if (status == tlm::TLM_COMPLETED) end(transaction);
    return status;
  }
  tlm::tlm_sync_enum nb_transport_bw(Transaction& transaction, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    const tlm::tlm_phase sent = phase;
    see(transaction, sent);
    const tlm::tlm_sync_enum status = from->nb_transport_bw(transaction, phase, delay);
    if (status == tlm::TLM_UPDATED) see(transaction, phase);
    if (status == tlm::TLM_COMPLETED && sent == tlm::BEGIN_RESP) end(transaction);
    return status;
  }

  std::map<Transaction*, int> state_;
  Transaction* request_ = nullptr;
  Transaction* response_ = nullptr;
};

}  // namespace npulab::systemc::foreign
