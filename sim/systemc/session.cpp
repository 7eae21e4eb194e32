// SPDX-License-Identifier: Apache-2.0
#include "sim/systemc/session.hpp"

#include <cstdlib>

namespace npulab::systemc {

namespace {

std::recursive_mutex& systemc_lock() {
  static std::recursive_mutex lock;
  return lock;
}

// Once per process: no banner, no chatter on standard output; errors stay exceptions.
void quiet_systemc() {
  static const bool done = [] {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    using sc_core::sc_report_handler;
    sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
    return true;
  }();
  (void)done;
}

}  // namespace

Scope::Scope(sc_core::sc_simcontext& context)
    : lock_(systemc_lock()), previous_(sc_core::sc_get_curr_simcontext()) {
  sc_core::sc_curr_simcontext = &context;
}

Scope::~Scope() {
  sc_core::sc_curr_simcontext = previous_;
}

Session::Session() {
  const std::lock_guard lock(systemc_lock());
  quiet_systemc();
  sc_core::sc_get_curr_simcontext();  // the library's first context must exist and outlive all others
  context_ = std::make_unique<sc_core::sc_simcontext>();
  const Scope scope(*context_);
  sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
}

Session::~Session() {
  const std::lock_guard lock(systemc_lock());
  const Scope scope(*context_);
  context_.reset();
}

void Session::run() {
  sc_core::sc_start();
  if (error_) std::rethrow_exception(error_);
}

std::uint64_t Session::now_ps() const {
  return sc_core::sc_time_stamp().value();
}

}  // namespace npulab::systemc
