// SPDX-License-Identifier: Apache-2.0
// Foreign device memories behind TLM-2.0: every request is answered exactly once, at a plausible time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gm_foreign_targets.hpp"
#include "isa/error.hpp"
#include "sim/systemc/session.hpp"
#include "sim/systemc/tlm_gm.hpp"
#include "sim/systemc/tlm_lt_front.hpp"

namespace npulab::systemc {
namespace {

using foreign::Behaviour;
using foreign::BlockingMemory;
using foreign::Manner;
using foreign::ProtocolChecker;
using foreign::TimedMemory;

constexpr std::uint64_t kNs = 1000;

// AddressSanitizer loses the bounds of the main stack after SystemC's threads and then sees errors that are
// none, and SystemC's own adapter never gives its threads back: tests with threads run without it.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kThreads = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kThreads = false;
#else
constexpr bool kThreads = true;
#endif
#else
constexpr bool kThreads = true;
#endif

// An engine with one batch under way at a time.
class Engine final : public sc_core::sc_module, public GmClient {
 public:
  struct Job {
    std::uint32_t core = 0, engine = 0;
    unsigned batches = 10;
    unsigned requests = 4;          // of each batch
    std::uint64_t interval_ns = 0;  // between two requests of a batch
    bool writes = false;
  };

  Engine(const sc_core::sc_module_name& name, GmPort& port, const Job& job)
      : sc_module(name), port_(port), job_(job) {
    batch_.core = job.core;
    batch_.engine = job.engine;
    SC_HAS_PROCESS(Engine);
    SC_METHOD(step);
    sensitive << wake_;
  }

  void gm_answered(GmBatch& batch) override {
    EXPECT_EQ(&batch, &batch_);
    if (batch.pending == 0) wake_.notify(sc_core::SC_ZERO_TIME);
  }

  std::uint64_t done() const { return done_; }
  std::uint64_t end_ps() const { return end_ps_; }
  unsigned batches_left() const { return job_.batches; }

 private:
  void step() {
    const std::uint64_t now = sc_core::sc_time_stamp().value();
    for (const GmRequest& request : batch_.requests) {
      EXPECT_NE(request.done_ps, kPending);
      EXPECT_GE(request.done_ps, request.at_ps);
      end_ps_ = std::max(end_ps_, request.done_ps);
      ++done_;
    }
    batch_.requests.clear();
    if (job_.batches == 0) return;
    --job_.batches;
    for (unsigned i = 0; i < job_.requests; ++i) {
      const std::uint64_t address = (job_.core * 100ULL + job_.engine * 10ULL + i) * 64;
      batch_.requests.push_back({address, 64, job_.writes, now + i * job_.interval_ns * kNs, kPending});
    }
    batch_.pending = job_.requests;
    port_.submit(batch_, *this);
  }

  GmPort& port_;
  Job job_;
  GmBatch batch_;
  sc_core::sc_event wake_;
  std::uint64_t done_ = 0;
  std::uint64_t end_ps_ = 0;
};

std::vector<std::unique_ptr<Engine>> engines_on(GmPort& port, const std::vector<Engine::Job>& jobs) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (const Engine::Job& job : jobs)
    engines.push_back(std::make_unique<Engine>(sc_core::sc_gen_unique_name("engine"), port, job));
  return engines;
}

struct Outcome {
  std::uint64_t end_ps = 0;
  std::vector<std::uint64_t> addresses;
};

// Three engines on a timed memory behind the checker.
Outcome run_timed(const Behaviour& behaviour,
                  std::vector<Engine::Job> jobs = {
                      {0, 0, 10, 4, 3, false}, {1, 0, 10, 4, 3, true}, {1, 1, 10, 4, 0, false}}) {
  Session session;
  const auto scope = session.scope();
  TlmGm port("port", session);
  ProtocolChecker checker("checker");
  TimedMemory memory("memory", behaviour);
  port.socket.bind(checker.from);
  checker.to.bind(memory.socket);
  const auto engines = engines_on(port, jobs);
  session.run();
  Outcome outcome;
  std::uint64_t requests = 0;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    EXPECT_EQ(engines[i]->batches_left(), 0U);
    EXPECT_EQ(engines[i]->done(), jobs[i].batches * jobs[i].requests);
    requests += engines[i]->done();
    outcome.end_ps = std::max(outcome.end_ps, engines[i]->end_ps());
  }
  EXPECT_EQ(memory.answered, requests);
  EXPECT_EQ(checker.completed, requests);
  EXPECT_EQ(port.outstanding(), 0U);
  checker.expect_idle();
  outcome.addresses = memory.addresses;
  return outcome;
}

TEST(GmForeign, late_end_request) {
  const Outcome outcome = run_timed({});
  // 120 requests at least 5 ns apart, and the last one's 50.
  EXPECT_GE(outcome.end_ps, (120 * 5 + 50) * kNs);
  EXPECT_LE(outcome.end_ps, 10 * (12 * 5 + 55) * kNs);
}

TEST(GmForeign, end_request_on_the_return_path) {
  const Outcome outcome = run_timed({.manners = {Manner::updated_end_request}});
  EXPECT_GE(outcome.end_ps, (120 * 5 + 50) * kNs);
  EXPECT_LE(outcome.end_ps, 10 * (12 * 5 + 55) * kNs);
}

TEST(GmForeign, response_on_the_return_path) {
  // Such a memory takes one request at a time: 55 ns each.
  EXPECT_EQ(run_timed({.manners = {Manner::updated_response}}).end_ps, 120 * 55 * kNs);
}

TEST(GmForeign, response_without_end_request) {
  EXPECT_EQ(run_timed({.manners = {Manner::skipped_end_request}}).end_ps, 120 * 55 * kNs);
}

TEST(GmForeign, early_completion) {
  // All requests overlap: ten batches of an engine, one after the other.
  EXPECT_EQ(run_timed({.manners = {Manner::completed}}).end_ps, 10 * (55 + 3 * 3) * kNs);
}

TEST(GmForeign, every_manner_with_random_delays) {
  const Behaviour behaviour{
      .manners = {Manner::late_end_request, Manner::updated_end_request, Manner::updated_response,
                  Manner::skipped_end_request, Manner::completed},
      .accept_ns = 9,
      .response_ns = 120,
      .random_delays = true};
  const std::vector<Engine::Job> jobs{
      {0, 0, 60, 5, 2, false}, {3, 1, 60, 7, 0, true}, {2, 0, 60, 1, 0, false}};
  const Outcome outcome = run_timed(behaviour, jobs);
  EXPECT_EQ(run_timed(behaviour, jobs).end_ps, outcome.end_ps);
}

TEST(GmForeign, answers_out_of_order) {
  run_timed({.manners = {Manner::late_end_request}, .gather = 4}, {{0, 0, 20, 4, 0, false}});
  run_timed({.manners = {Manner::updated_end_request}, .gather = 4}, {{0, 0, 20, 4, 0, true}});
}

TEST(GmForeign, order_of_construction_never_shows) {
  std::vector<Engine::Job> jobs{{0, 0, 5, 2, 0, false}, {1, 0, 5, 2, 0, false}, {1, 1, 5, 2, 0, false}};
  const auto before = [](const Engine::Job& a, const Engine::Job& b) {
    return std::pair(a.core, a.engine) < std::pair(b.core, b.engine);
  };
  const Outcome first = run_timed({}, jobs);
  EXPECT_EQ(std::vector(first.addresses.begin(), first.addresses.begin() + 6),
            (std::vector<std::uint64_t>{0, 64, 6400, 6464, 7040, 7104}));
  while (std::next_permutation(jobs.begin(), jobs.end(), before)) {
    const Outcome other = run_timed({}, jobs);
    EXPECT_EQ(other.addresses, first.addresses);
    EXPECT_EQ(other.end_ps, first.end_ps);
  }
}

// A memory that only blocks, bound directly: the adapter inside its socket serves one request after the
// other.
TEST(GmForeign, blocking_memory_bound_directly) {
  if (!kThreads) GTEST_SKIP() << "SystemC threads under AddressSanitizer";
  for (const bool waits : {true, false}) {
    Session session;
    const auto scope = session.scope();
    TlmGm port("port", session);
    BlockingMemory memory("memory", waits);
    port.socket.bind(memory.socket);
    const auto engines = engines_on(port, {{0, 0, 3, 4, 0, false}, {1, 0, 3, 4, 0, true}});
    session.run();
    for (const auto& engine : engines) EXPECT_EQ(engine->done(), 12U);
    EXPECT_EQ(memory.most_at_once, 1);
    EXPECT_EQ(std::max(engines[0]->end_ps(), engines[1]->end_ps()), 24 * 50 * kNs);
  }
}

TEST(GmForeign, blocking_memory_behind_lt_front_overlaps) {
  if (!kThreads) GTEST_SKIP() << "SystemC threads under AddressSanitizer";
  for (const bool waits : {true, false})
    for (const unsigned outstanding : {1U, 2U, 3U, 64U}) {
      Session session;
      const auto scope = session.scope();
      TlmGm port("port", session);
      ProtocolChecker checker("checker");
      LtFront front("front", session, outstanding);
      BlockingMemory memory("memory", waits);
      port.socket.bind(checker.from);
      checker.to.bind(front.from);
      front.to.bind(memory.socket);
      const auto engines = engines_on(port, {{0, 0, 3, 4, 0, false}, {1, 0, 3, 4, 0, true}});
      session.run();
      for (const auto& engine : engines) EXPECT_EQ(engine->done(), 12U);
      checker.expect_idle();
      const std::uint64_t end = std::max(engines[0]->end_ps(), engines[1]->end_ps());
      if (waits) {
        EXPECT_EQ(memory.most_at_once, static_cast<int>(std::min(outstanding, 8U)));
      }
      EXPECT_GE(end, (24 + outstanding - 1) / outstanding * 50 * kNs);
      EXPECT_LE(end, ((24 + outstanding - 1) / outstanding + 2) * 50 * kNs);
    }
}

Error error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {Category::internal, "none", ""};
}

TEST(GmForeign, error_response_names_command_and_address) {
  for (const Manner manner : {Manner::late_end_request, Manner::completed, Manner::updated_response}) {
    const Error error = error_of([&] {
      run_timed({.manners = {manner}, .bad_address = 6464}, {{1, 0, 10, 4, 0, true}});
    });
    EXPECT_EQ(error.category(), Category::verdict);
    EXPECT_EQ(error.code(), "memory-error-response");
    EXPECT_THAT(error.message(),
                testing::HasSubstr("TLM_ADDRESS_ERROR_RESPONSE to a write of 64 bytes at 0x1940 (core 1"));
  }
}

// Says whatever it is told to say on the backward path.
class LawlessMemory : public sc_core::sc_module {
 public:
  LawlessMemory(const sc_core::sc_module_name& name, std::vector<tlm::tlm_phase> phases,
                bool own_transaction = false)
      : sc_module(name), socket("socket"), phases_(std::move(phases)), own_transaction_(own_transaction) {
    socket.register_nb_transport_fw(this, &LawlessMemory::nb_transport_fw);
    SC_HAS_PROCESS(LawlessMemory);
    SC_METHOD(run);
    sensitive << wake_;
    dont_initialize();
  }
  tlm_utils::simple_target_socket<LawlessMemory> socket;

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& transaction, tlm::tlm_phase& phase,
                                     sc_core::sc_time&) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
    transaction.set_response_status(tlm::TLM_OK_RESPONSE);
    transaction_ = &transaction;
    wake_.notify(foreign::ns(1));
    return tlm::TLM_ACCEPTED;
  }
  void run() {
    tlm::tlm_generic_payload mine;
    for (tlm::tlm_phase phase : phases_) {
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      socket->nb_transport_bw(own_transaction_ ? mine : *transaction_, phase, delay);
    }
  }
  std::vector<tlm::tlm_phase> phases_;
  bool own_transaction_;
  tlm::tlm_generic_payload* transaction_ = nullptr;
  sc_core::sc_event wake_;
};

void run_lawless(const std::vector<tlm::tlm_phase>& phases, bool own_transaction = false) {
  Session session;
  const auto scope = session.scope();
  TlmGm port("port", session);
  LawlessMemory memory("memory", phases, own_transaction);
  port.socket.bind(memory.socket);
  const auto engines = engines_on(port, {{0, 0, 1, 1, 0, false}});
  session.run();
}

TEST(GmForeign, breaches_of_the_protocol_are_named) {
  const std::vector<std::vector<tlm::tlm_phase>> breaches{{tlm::END_REQ, tlm::END_REQ},
                                                          {tlm::BEGIN_RESP, tlm::END_REQ},
                                                          {tlm::BEGIN_RESP, tlm::BEGIN_RESP},
                                                          {tlm::BEGIN_REQ},
                                                          {tlm::END_RESP}};
  for (const auto& phases : breaches) {
    const Error error = error_of([&] { run_lawless(phases); });
    EXPECT_EQ(error.category(), Category::input);
    EXPECT_EQ(error.code(), "memory-protocol");
    EXPECT_THAT(error.message(), testing::HasSubstr("read of 64 bytes at 0x0"));
  }
  EXPECT_EQ(error_of([] { run_lawless({tlm::END_REQ}, true); }).code(), "memory-protocol");
}

TEST(GmForeign, a_memory_that_never_answers_leaves_requests_outstanding) {
  Session session;
  const auto scope = session.scope();
  TlmGm port("port", session);
  LawlessMemory memory("memory", {tlm::END_REQ});
  port.socket.bind(memory.socket);
  const auto engines = engines_on(port, {{0, 0, 2, 3, 0, false}});
  session.run();
  EXPECT_EQ(engines[0]->done(), 0U);
  EXPECT_EQ(port.outstanding(), 3U);
}

TEST(GmForeign, written_bytes_are_passed_when_given) {
  for (const bool given : {false, true}) {
    Session session;
    const auto scope = session.scope();
    TlmGm::WriteData data;
    if (given)
      data = [](const GmRequest& request, std::span<std::byte> bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i)
          bytes[i] = static_cast<std::byte>(request.address / 64 + i);
      };
    TlmGm port("port", session, data);
    TimedMemory memory("memory", {});
    port.socket.bind(memory.socket);
    const auto engines = engines_on(port, {{0, 0, 1, 2, 0, true}});
    session.run();
    ASSERT_EQ(memory.written.size(), 2U);
    EXPECT_EQ(memory.written[1].size(), 64U);
    EXPECT_EQ(memory.written[1][0], given ? 1 : 0xA5);
    EXPECT_EQ(memory.written[1][63], given ? 64 : 0xA5);
  }
}

TEST(GmForeign, requests_of_no_bytes_are_answered_without_the_memory) {
  class Client final : public GmClient {
   public:
    void gm_answered(GmBatch&) override { ++answers; }
    int answers = 0;
  };
  Session session;
  const auto scope = session.scope();
  TlmGm port("port", session);
  TimedMemory memory("memory", {});
  port.socket.bind(memory.socket);
  Client client;
  GmBatch batch;
  batch.requests = {{0, 0, false, 5 * kNs, kPending}};
  batch.pending = 1;
  port.submit(batch, client);
  session.run();
  EXPECT_EQ(client.answers, 1);
  EXPECT_EQ(batch.pending, 0U);
  EXPECT_EQ(batch.requests[0].done_ps, 5 * kNs);
  EXPECT_TRUE(memory.addresses.empty());
}

TEST(GmForeign, several_runs_on_one_port) {
  Session session;
  const auto scope = session.scope();
  TlmGm port("port", session);
  TimedMemory memory("memory", {});
  port.socket.bind(memory.socket);
  Engine engine("engine", port, {0, 0, 3, 2, 0, false});
  session.run();
  EXPECT_EQ(engine.done(), 6U);
  port.reset(session.now_ps());
  session.run();
  EXPECT_EQ(memory.answered, 6U);
}

TEST(GmForeign, front_without_threads_is_refused) {
  Session session;
  const auto scope = session.scope();
  EXPECT_EQ(error_of([&] { LtFront("front", session, 0); }).code(), "no-outstanding-requests");
}

}  // namespace
}  // namespace npulab::systemc
