// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/terminal.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace npulab::cli {

namespace {

constexpr std::chrono::milliseconds kTerminalPeriod{100};
constexpr std::chrono::seconds kPlainPeriod{2};

// A signal handler reaches nothing but this.
volatile sig_atomic_t interrupt_asked = 0;

void on_interrupt(int) {
  interrupt_asked = 1;
}

}  // namespace

bool wants_colour(std::FILE* stream) {
  const char* none = std::getenv("NO_COLOR");
  if (none != nullptr && *none != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return ::isatty(::fileno(stream)) == 1;
}

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) == 1), begin_(Clock::now()), next_(begin_) {
  next_ += terminal_ ? Clock::duration(kTerminalPeriod) : Clock::duration(kPlainPeriod);
}

Progress::~Progress() {
  if (terminal_ && shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::uint64_t cycle, double share) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(kTerminalPeriod) : Clock::duration(kPlainPeriod));
  show(cycle, share, false);
}

void Progress::finish(std::uint64_t cycle) {
  show(cycle, -1, true);
}

void Progress::show(std::uint64_t cycle, double share, bool last) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  const double rate = seconds > 0 ? static_cast<double>(cycle) / seconds / 1e6 : 0;
  std::string line = fmt::format("cycle {}, {:.2f} Mcycles/s", cycle, rate);
  if (last) line += ", done";
  if (share >= 0) line += fmt::format(", {:.0f} % of the outputs stored", 100 * share);
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}{}", line, last ? "\n" : "");
  } else {
    fmt::print(stderr, "npulab: {}\n", line);
  }
  std::fflush(stderr);
  shown_ = !last;
}

InterruptGuard::InterruptGuard() {
  interrupt_asked = 0;
  ::sigaction(SIGINT, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = &on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second one finds the default
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &before_, nullptr);
}

void InterruptGuard::throw_if_asked() const {
  if (interrupt_asked != 0) throw Interrupted();
}

}  // namespace npulab::cli
