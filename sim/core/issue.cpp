// SPDX-License-Identifier: Apache-2.0
#include "sim/core/issue.hpp"

#include <algorithm>

namespace npulab::core {

namespace {
constexpr std::size_t kScalars = 64;
constexpr std::uint32_t kSlotBits = 8;
}  // namespace

Issue::Issue(const config::CoreTypeConfig& core) : width_(core.vector.issue_width) {
  vector_base_ = kScalars;
  std::size_t next = vector_base_ + core.vector.registers;
  const config::IssuePorts& ports = core.vector.ports;
  const std::array<unsigned, isa::kPortCount> counts{ports.load, ports.store, ports.arithmetic, ports.scalar};
  for (std::size_t port = 0; port < counts.size(); ++port) {
    ports_[port] = {next, counts[port]};
    next += counts[port];
  }
  conflict_base_ = next;
  times_.assign(next + isa::kPortCount + 1, 0);
}

void Issue::reset(std::uint64_t cycle) {
  std::fill(times_.begin(), times_.end(), cycle);
  cycle_ = cycle;
  slots_ = 0;
  had_scalar_ = had_vector_ = false;
  stats_ = {};
}

// A unit that starts something in a cycle is busy in it; the other one then merely has nothing to start.
void Issue::close_cycle() {
  stats_.scalar.busy += had_scalar_ ? 1 : 0;
  stats_.vector.busy += had_vector_ ? 1 : 0;
  ++cycle_;
  slots_ = 0;
  had_scalar_ = had_vector_ = false;
}

void Issue::advance(std::uint64_t to, report::Stall cause) {
  if (to <= cycle_) return;
  // A cycle in which nothing was placed yet is part of the wait.
  if (slots_ != 0) close_cycle();
  gap_ = to - cycle_;
  stats_.scalar[cause] += gap_;
  if (cause == report::Stall::port)
    stats_.vector.busy += gap_;  // its own port is at work
  else
    stats_.vector[cause] += gap_;
  cycle_ = to;
}

void Issue::wait_until(std::uint64_t cycle, report::Stall cause) {
  advance(cycle, cause);
}

std::uint64_t Issue::earliest(const Timing& timing, report::Stall& cause) const {
  std::uint64_t t = cycle_;
  for (std::size_t i = 0; i < timing.scalar_read_count; ++i) t = std::max(t, times_[timing.scalar_reads[i]]);
  for (std::size_t i = 0; i < timing.read_count; ++i) {
    const std::uint64_t* ready = &times_[vector_base_ + timing.reads[i].first];
    for (std::size_t r = 0; r < timing.reads[i].count; ++r) t = std::max(t, ready[r]);
  }
  // In-order completion of writes to one register.
  const std::uint64_t* written = &times_[vector_base_ + timing.write.first];
  for (std::size_t r = 0; r < timing.write.count; ++r)
    if (written[r] > t + timing.latency) t = written[r] - timing.latency;
  if (timing.scalar_write != isa::kNoRegister && times_[timing.scalar_write] > t + timing.latency)
    t = times_[timing.scalar_write] - timing.latency;
  if (t > cycle_) cause = report::Stall::dependency;
  const Unit& unit = ports_[static_cast<std::size_t>(timing.port)];
  const std::uint64_t free =
      *std::min_element(times_.begin() + static_cast<std::ptrdiff_t>(unit.first),
                        times_.begin() + static_cast<std::ptrdiff_t>(unit.first + unit.count));
  if (free > t) {
    t = free;
    const bool conflict = times_[conflict_base_ + static_cast<std::size_t>(timing.port)] == free;
    cause = conflict ? report::Stall::bank_conflict : report::Stall::port;
  }
  return t;
}

std::uint64_t Issue::issue(const Timing& timing, std::uint32_t extra) {
  gap_ = 0;
  report::Stall cause = report::Stall::dependency;
  std::uint64_t t = earliest(timing, cause);
  if (t > cycle_) {
    advance(t, cause);
  } else if (slots_ == width_) {
    close_cycle();
    t = cycle_;
  }
  ++slots_;
  (timing.vector ? had_vector_ : had_scalar_) = true;

  const Unit& port = ports_[static_cast<std::size_t>(timing.port)];
  auto unit = std::min_element(times_.begin() + static_cast<std::ptrdiff_t>(port.first),
                               times_.begin() + static_cast<std::ptrdiff_t>(port.first + port.count));
  *unit = t + timing.interval + extra;
  const std::uint64_t ready = t + timing.latency + extra;
  std::uint64_t* written = &times_[vector_base_ + timing.write.first];
  for (std::size_t r = 0; r < timing.write.count; ++r) written[r] = ready;
  if (timing.scalar_write != isa::kNoRegister) times_[timing.scalar_write] = ready;
  if (timing.scalar_write2 != isa::kNoRegister) times_[timing.scalar_write2] = t + 1;
  times_.back() = std::max(times_.back(), ready);
  if (extra != 0) times_[conflict_base_ + static_cast<std::size_t>(timing.port)] = *unit;
  return t;
}

std::uint64_t Issue::finished() const {
  return std::max(times_.back(), cycle_ + (slots_ != 0 ? 1 : 0));
}

void Issue::save(std::vector<std::uint32_t>& relative) const {
  relative.resize(times_.size() + 1);
  for (std::size_t i = 0; i < times_.size(); ++i)
    relative[i] = static_cast<std::uint32_t>(times_[i] > cycle_ ? times_[i] - cycle_ : 0);
  relative.back() = slots_ | (had_scalar_ ? 1U << kSlotBits : 0U) | (had_vector_ ? 2U << kSlotBits : 0U);
}

void Issue::restore(std::uint64_t cycle, const std::vector<std::uint32_t>& relative) {
  cycle_ = cycle;
  for (std::size_t i = 0; i < times_.size(); ++i) times_[i] = cycle + relative[i];
  const Placed now = placed(relative.back());
  slots_ = now.slots;
  had_scalar_ = now.scalar;
  had_vector_ = now.vector;
}

Issue::Placed Issue::placed(std::uint32_t last_entry) {
  return {last_entry & ((1U << kSlotBits) - 1), (last_entry >> kSlotBits & 1U) != 0,
          (last_entry >> kSlotBits & 2U) != 0};
}

}  // namespace npulab::core
