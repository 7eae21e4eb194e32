// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/matrix.hpp"

#include <algorithm>

namespace npulab::cost {

namespace {

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Cycles of a port of `width` bytes for so many bits; a port of width 0 is no limit.
std::uint64_t port_cycles(std::uint64_t bits, unsigned width) {
  return width == 0 ? 0 : ceil_div(bits, std::uint64_t{8} * width);
}

}  // namespace

void MatrixTimer::reset(std::uint64_t cycle) {
  free_ = again_ = register_ = load_free_ = cycle;
  shifted_ = 0;
  rows_began_.clear();
  holds_ = false;
}

MatrixTimes MatrixTimer::run(const MatrixWork& work, std::uint64_t earliest) {
  if (work.m == 0 || work.n == 0) {
    const std::uint64_t start = std::max(earliest, free_);
    return {start, free_ = start, start, 0};
  }
  if (config_.kind == isa::MatrixKind::cube) return cube(work, earliest);
  return config_.dataflow == config::Dataflow::output_stationary ? output_stationary(work, earliest)
                                                                 : weight_stationary(work, earliest);
}

std::uint64_t MatrixTimer::least_cycles(const MatrixWork& work) const {
  const config::MatrixTypeConfig& step = *work.step;
  const bool systolic = config_.kind == isa::MatrixKind::systolic;
  const std::uint64_t elements = systolic ? std::uint64_t{config_.rows} * config_.columns : 1;
  if (work.steps.empty())
    return work.m * work.n * work.k * step.cycles / (elements * step.m * step.k * step.n);
  std::uint64_t cycles = 0;
  for (const std::uint64_t steps : work.steps) cycles += steps;
  return cycles * step.cycles;
}

MatrixTimes MatrixTimer::cube(const MatrixWork& work, std::uint64_t earliest) {
  const config::MatrixTypeConfig& step = *work.step;
  const std::uint64_t steps = ceil_div(work.m, step.m) * ceil_div(work.n, step.n) * ceil_div(work.k, step.k);
  MatrixTimes times;
  times.start = std::max(earliest, free_);
  if (work.accumulate && work.same_sums) times.start = std::max(times.start, again_);
  times.busy = steps * step.cycles;
  times.free = free_ = times.start + config_.startup_cycles + times.busy;
  times.done = times.free - 1 + config_.latency_cycles;
  // The next product meets its first sums one startup behind its start; here they were made last at the
  // beginning of the last round over the blocks of C.
  const std::uint64_t blocks = ceil_div(work.m, step.m) * ceil_div(work.n, step.n) * step.cycles;
  const std::uint64_t last_round = times.free - std::min(times.busy, blocks);
  again_ = last_round + config_.accumulate_cycles;
  again_ -= std::min<std::uint64_t>(again_, config_.startup_cycles);
  return times;
}

// Cycles in which one row of sums enters or leaves.
std::uint64_t MatrixTimer::shift_cycles(std::uint64_t columns, unsigned bits) const {
  return std::max<std::uint64_t>(1, port_cycles(columns * bits, config_.c_bytes_per_cycle));
}

MatrixTimes MatrixTimer::output_stationary(const MatrixWork& work, std::uint64_t earliest) {
  const std::uint64_t latency = config_.latency_cycles;
  const std::uint64_t all_steps = ceil_div(work.k, work.step->k);
  MatrixTimes times;
  bool first = true;
  std::size_t tile = 0;
  for (std::uint64_t row = 0; row < work.m; row += config_.rows) {
    const std::uint64_t m = std::min<std::uint64_t>(config_.rows, work.m - row);
    for (std::uint64_t column = 0; column < work.n; column += config_.columns, ++tile) {
      const std::uint64_t n = std::min<std::uint64_t>(config_.columns, work.n - column);
      const std::uint64_t steps = work.steps.empty() ? all_steps : work.steps[tile];
      const auto read = [&](std::uint64_t bits) {
        return work.skips_reads && all_steps > 0 ? bits * steps / all_steps : bits;
      };
      const std::uint64_t feed = std::max(
          {steps * work.step->cycles, port_cycles(read(m * work.a_row_bits), config_.a_bytes_per_cycle),
           port_cycles(read(n * work.b_column_bits), config_.b_bytes_per_cycle)});
      const std::uint64_t shift = config_.rows * shift_cycles(n, work.c_bits);
      std::uint64_t start = std::max(earliest, free_);
      if (work.accumulate && !holds_) {
        const std::uint64_t enters = std::max(earliest, register_);
        register_ = enters + shift;
        start = std::max(start, register_);
      }
      // The sums before must have left before those of row 0 are complete.
      const std::uint64_t to_sums = feed == 0 ? latency : feed - 1 + latency;
      if (shifted_ + 1 > start + to_sums) start = shifted_ + 1 - to_sums;
      free_ = start + feed;
      holds_ = work.hold;
      std::uint64_t done = start + to_sums + (m - 1) + (n - 1);
      if (!work.hold) {
        shifted_ = std::max(start + to_sums + (m - 1), register_);
        register_ = shifted_ + shift;
        done = register_ + (n - 1);
      }
      times.busy += feed;
      if (first) times.start = start;
      first = false;
      times.done = std::max(times.done, done);
    }
  }
  times.free = free_;
  return times;
}

MatrixTimes MatrixTimer::weight_stationary(const MatrixWork& work, std::uint64_t earliest) {
  const std::uint64_t latency = config_.latency_cycles;
  const std::uint64_t deep = std::uint64_t{config_.rows} * work.step->k;  // of k, in one tile
  const std::size_t tiles = ceil_div(work.n, config_.columns);
  if (!(work.accumulate && work.same_sums) || rows_began_.size() != tiles) rows_began_.assign(tiles, 0);
  MatrixTimes times;
  bool first = true;
  for (std::uint64_t k0 = 0; k0 < std::max<std::uint64_t>(work.k, 1); k0 += deep) {
    const std::uint64_t k = std::min(deep, work.k - k0);
    const std::uint64_t rows = ceil_div(k, work.step->k);
    const auto part = [&](std::uint64_t bits) { return work.k == 0 ? 0 : bits * k / work.k; };
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const std::uint64_t n = std::min<std::uint64_t>(config_.columns, work.n - tile * config_.columns);
      const std::uint64_t load =
          std::max(rows, port_cycles(part(n * work.b_column_bits), config_.b_bytes_per_cycle));
      const bool adds = k0 > 0 || work.accumulate;
      const std::uint64_t sums = work.m * n * work.c_bits * (adds ? 2 : 1);
      const std::uint64_t feed = std::max(
          {work.m * work.step->cycles, port_cycles(part(work.m * work.a_row_bits), config_.a_bytes_per_cycle),
           port_cycles(sums, config_.c_bytes_per_cycle)});
      const std::uint64_t loaded = std::max(earliest, load_free_) + load;
      std::uint64_t start = std::max(loaded, free_);
      if (adds && rows_began_[tile] > 0)
        start = std::max(start, rows_began_[tile] - 1 + config_.rows * latency);
      rows_began_[tile] = start + 1;
      // A row of the next B may pass when the one before it was taken into use.
      load_free_ = start + 1 + (rows == 0 ? 0 : (rows - 1) * (latency - 1));
      free_ = start + feed;
      times.busy += feed;
      if (first) times.start = start;
      first = false;
      times.done = std::max(times.done, start + feed - 1 + (n - 1) + config_.rows * latency);
    }
  }
  times.free = free_;
  return times;
}

}  // namespace npulab::cost
