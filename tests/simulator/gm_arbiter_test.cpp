// SPDX-License-Identifier: Apache-2.0
// Grants: collected per time, in an order that does not depend on who came first, and what clients are told.
#include "sim/systemc/gm_arbiter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

namespace npulab::systemc {
namespace {

// Records who was served in which order; every byte takes a picosecond.
class Recorder final : public dram::GmModel {
 public:
  std::uint64_t access(std::uint64_t address, std::uint32_t bytes, bool, std::uint64_t at_ps) override {
    if (address == kPoisonous) throw std::domain_error("poisonous");
    addresses.push_back(address);
    return at_ps + bytes;
  }
  void reset(std::uint64_t start_ps) override { start = start_ps; }
  const dram::GmStats& stats() override { return stats_; }
  std::uint64_t lower_bound_ps(std::uint64_t bytes) const override { return bytes; }

  static constexpr std::uint64_t kPoisonous = 666;
  std::vector<std::uint64_t> addresses;
  std::uint64_t start = 0;

 private:
  dram::GmStats stats_;
};

// Submits its batch at given times; the address tells core and engine.
class Asker final : public sc_core::sc_module, public GmClient {
 public:
  Asker(const sc_core::sc_module_name& name, GmPort& port, std::uint32_t core, std::uint32_t engine,
        int rounds)
      : sc_module(name), port_(port), rounds_(rounds) {
    batch.core = core;
    batch.engine = engine;
    SC_HAS_PROCESS(Asker);
    SC_METHOD(step);
  }
  void gm_answered(GmBatch& answered) override {
    EXPECT_EQ(&answered, &batch);
    EXPECT_EQ(answered.pending, 0U);
    for (const GmRequest& request : answered.requests)
      EXPECT_EQ(request.done_ps, request.at_ps + request.bytes);
    ++answers;
  }

  GmBatch batch;
  int answers = 0;

 private:
  void step() {
    if (rounds_-- == 0) return;
    const std::uint64_t now = sc_core::sc_time_stamp().value();
    const std::uint64_t address = batch.core * 10 + batch.engine;
    batch.requests.assign(2, {address, 64, false, now, kPending});
    batch.pending = 2;
    port_.submit(batch, *this);
    next_trigger(sc_core::sc_time::from_value(1000));
  }

  GmPort& port_;
  int rounds_;
};

std::vector<std::uint64_t> served(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& askers,
                                  int rounds) {
  Session session;
  const auto scope = session.scope();
  Recorder recorder;
  GmArbiter arbiter("gm", session, recorder);
  std::vector<std::unique_ptr<Asker>> all;
  for (const auto& [core, engine] : askers)
    all.push_back(
        std::make_unique<Asker>(sc_core::sc_gen_unique_name("asker"), arbiter, core, engine, rounds));
  session.run();
  for (const auto& asker : all) EXPECT_EQ(asker->answers, rounds);
  return recorder.addresses;
}

TEST(GmArbiter, round_robin_by_core_then_engine) {
  const std::vector<std::uint64_t> want{0,  0,  10, 10, 11, 11, 20, 20,   // from core 0
                                        10, 10, 11, 11, 20, 20, 0,  0,    // from core 1
                                        20, 20, 0,  0,  10, 10, 11, 11,   // from core 2
                                        0,  0,  10, 10, 11, 11, 20, 20};  // and round
  std::vector<std::pair<std::uint32_t, std::uint32_t>> askers{{0, 0}, {1, 0}, {1, 1}, {2, 0}};
  do {
    EXPECT_EQ(served(askers, 4), want);
  } while (std::next_permutation(askers.begin(), askers.end()));
}

TEST(GmArbiter, rotation_skips_cores_that_do_not_ask) {
  EXPECT_EQ(served({{7, 0}, {2, 0}}, 3),
            (std::vector<std::uint64_t>{20, 20, 70, 70, 70, 70, 20, 20, 20, 20, 70, 70}));
}

// A request with an error in it ends the run with the error's own type; nothing is lost on the way.
TEST(GmArbiter, exceptions_keep_their_type) {
  Session session;
  const auto scope = session.scope();
  Recorder recorder;
  GmArbiter arbiter("gm", session, recorder);
  Asker asker("asker", arbiter, 66, 6, 1);
  EXPECT_THROW(session.run(), std::domain_error);
}

// One client that submits again as soon as it is told.
class Chain final : public sc_core::sc_module, public GmClient {
 public:
  Chain(const sc_core::sc_module_name& name, GmPort& port) : sc_module(name), port_(port) {
    SC_HAS_PROCESS(Chain);
    SC_METHOD(start);
  }
  void gm_answered(GmBatch& answered) override {
    times.push_back(answered.requests.front().done_ps);
    if (times.size() < 5) send(answered.requests.front().done_ps);
  }

  std::vector<std::uint64_t> times;

 private:
  void start() { send(0); }
  void send(std::uint64_t at_ps) {
    batch_.requests.assign(1, {0, 10, true, at_ps, kPending});
    batch_.pending = 1;
    port_.submit(batch_, *this);
  }

  GmPort& port_;
  GmBatch batch_;
};

TEST(GmArbiter, a_client_may_submit_while_it_is_told) {
  Session session;
  const auto scope = session.scope();
  Recorder recorder;
  GmArbiter arbiter("gm", session, recorder);
  Chain chain("chain", arbiter);
  session.run();
  EXPECT_EQ(chain.times, (std::vector<std::uint64_t>{10, 20, 30, 40, 50}));
}

TEST(GmArbiter, reset_passes_the_start_on) {
  Session session;
  const auto scope = session.scope();
  Recorder recorder;
  GmArbiter arbiter("gm", session, recorder);
  arbiter.reset(1234);
  EXPECT_EQ(recorder.start, 1234U);
}

}  // namespace
}  // namespace npulab::systemc
