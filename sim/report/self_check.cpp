// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>

#include "sim/report/rows.hpp"

namespace npulab::report {

namespace {

// Room for the rounding of a quotient of exact figures; a picosecond for bounds in whole picoseconds.
constexpr double kRounding = 1e-9;
constexpr double kPicosecondUs = 1e-6;

[[noreturn]] void refuse(const char* code, const std::string& message) {
  throw Error(Category::internal, code, message);
}

void check_share(const std::string& what, double share) {
  if (!(share >= 0) || share > 1 + kRounding)
    refuse("share-out-of-range", fmt::format("{} is {}, which is not in 0..1", what, share));
}

void check_quotient(const std::string& what, double value, double of, double by) {
  const double expected = by > 0 ? of / by : 0;
  if (!(std::abs(value - expected) <= kRounding * (1 + std::abs(expected))))
    refuse("quotient-is-wrong", fmt::format("{} is {}, but {} / {} = {}", what, value, of, by, expected));
}

void check_engine(const Engine& engine) {
  const std::uint64_t cycles = engine.run_cycles;
  std::uint64_t sum = engine.busy_cycles + engine.idle_cycles;
  for (const std::uint64_t stall : engine.cycles.stall) sum += stall;
  if (sum != cycles * engine.instances)
    refuse("cycles-do-not-add-up",
           fmt::format("engine {}: busy + idle + stalls = {}, but {} cycles x {} instances = {}", engine.name,
                       sum, cycles, engine.instances, cycles * engine.instances));
  check_share(fmt::format("utilization of {}", engine.name), engine.utilization);
  check_quotient(fmt::format("utilization of {}", engine.name), engine.utilization,
                 static_cast<double>(engine.busy_cycles),
                 static_cast<double>(cycles) * static_cast<double>(engine.instances));
}

void check_memory(const Memory& memory, double time_us) {
  check_quotient(fmt::format("bandwidth of {}", memory.name), memory.bandwidth_gbps,
                 static_cast<double>(memory.read_bytes + memory.write_bytes) / 1e3, time_us);
  if (memory.peak_gbps > 0) {
    check_share(fmt::format("utilization of {}", memory.name), memory.utilization);
    check_quotient(fmt::format("utilization of {}", memory.name), memory.utilization, memory.bandwidth_gbps,
                   memory.peak_gbps);
  }
  if (memory.bus_occupancy >= 0)
    check_share(fmt::format("bus occupancy of {}", memory.name), memory.bus_occupancy);
}

}  // namespace

void self_check(const Report& report) {
  to_json(report);  // refuses figures that are not finite
  for (const Engine& engine : report.engines) check_engine(engine);
  for (const Memory& memory : report.memories) check_memory(memory, report.time_us);
  if ((report.cycles == 0) != (report.time_us == 0) || report.time_us < 0)
    refuse("time-is-wrong", fmt::format("{} cycles took {} us", report.cycles, report.time_us));
  if (report.bound.lower_bound_us > report.time_us * (1 + kRounding) + kPicosecondUs)
    refuse("faster-than-possible",
           fmt::format("the run took {} us, less than the {} us that {} needs at least", report.time_us,
                       report.bound.lower_bound_us, report.bound.limited_by));
  if (report.check.requested && report.check.passed && report.check.mismatches != 0)
    refuse("verdict-is-wrong", fmt::format("the check passed with {} mismatches", report.check.mismatches));
}

}  // namespace npulab::report
