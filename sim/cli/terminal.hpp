// SPDX-License-Identifier: Apache-2.0
// What the program says while it works: colours, progress, and Ctrl-C.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

namespace npulab::cli {

// Whether to colour what goes to this stream: a terminal, NO_COLOR not set, TERM not "dumb".
bool wants_colour(std::FILE* stream);

// On standard error: one line that is updated on a terminal, else a line every few seconds.
class Progress {
 public:
  Progress();
  ~Progress();  // removes the line of a terminal
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `share` of the outputs that is stored, negative when there are none.
  void update(std::uint64_t cycle, double share);
  // The last line, for runs too short for any other.
  void finish(std::uint64_t cycle);

 private:
  using Clock = std::chrono::steady_clock;
  void show(std::uint64_t cycle, double share, bool last);

  const bool terminal_;
  const Clock::time_point begin_;
  Clock::time_point next_;
  bool shown_ = false;
};

// Thrown where an interrupt was noticed.
struct Interrupted : std::exception {};
inline constexpr int kInterruptedStatus = 130;  // 128 + SIGINT, as shells say it

// While it lives, the first SIGINT asks for an orderly end; a second one ends the process. Where SIGINT was
// ignored (a job in the background), it stays so.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  void throw_if_asked() const;  // Interrupted

 private:
  struct sigaction before_ {};
};

}  // namespace npulab::cli
