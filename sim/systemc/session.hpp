// SPDX-License-Identifier: Apache-2.0
// The only code that touches SystemC's global context. A Session owns a simulation context of its own, so
// that any number of simulations can run one after another in a process, and keeps the first exception of its
// processes.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <systemc>

namespace npulab::systemc {

// Makes a context current for as long as it lives and holds the process-wide lock: SystemC's globals allow
// one simulation at a time in a process.
class Scope {
 public:
  explicit Scope(sc_core::sc_simcontext& context);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  sc_core::sc_simcontext* previous_;
};

// Everything that builds, runs, reads time or destroys modules happens inside scope(). Modules must be
// destroyed before the session.
class Session {
 public:
  Session();  // time resolution 1 ps
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::unique_ptr<Scope> scope() { return std::make_unique<Scope>(*context_); }

  // Runs until nothing is left to happen or a process failed; rethrows what it threw. After an error the
  // session cannot run again.
  void run();
  // Body of every process: an exception ends the simulation and comes out of run() with its type.
  template <class Body>
  void guarded(Body&& body) {
    if (error_) return;
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
      sc_core::sc_stop();
    }
  }
  std::uint64_t now_ps() const;

 private:
  std::unique_ptr<sc_core::sc_simcontext> context_;
  std::exception_ptr error_;
};

}  // namespace npulab::systemc
