// SPDX-License-Identifier: Apache-2.0
// A report that is right and in which every section has something.
#pragma once

#include "sim/report/report.hpp"

namespace npulab::report::test {

inline Engine engine(const std::string& name, std::uint64_t instances, std::uint64_t busy, std::uint64_t flag,
                     std::uint64_t cycles) {
  Engine made;
  made.name = name;
  made.instances = instances;
  made.run_cycles = cycles;
  made.busy_cycles = made.cycles.busy = busy;
  made.cycles[Stall::flag] = flag;
  made.idle_cycles = cycles * instances - busy - flag;
  made.utilization = static_cast<double>(busy) / static_cast<double>(cycles * instances);
  return made;
}

// 2,000,000 cycles at 1 GHz on two cores; 100 MB of gm traffic of at most 200 MB.
inline Report sound_report() {
  Report report;
  report.npulab_version = "0.0.0";
  report.kernel = "gemv/example";
  report.kernel_hash = "00ff00ff00ff00ff";
  report.machine = "tiny";
  report.resolved_machine = {{"name", "tiny"}, {"gm", {{"bytes", 16}}}};
  report.params = {{"K", 4096}, {"M", 64}};
  report.options = {{"in.A", "random:1"}};
  report.overflow_mode = "inf";
  report.cores = 2;
  report.cycles = 2'000'000;
  report.time_us = 2000;
  report.dispatch_us = 2;
  report.instructions = 1234;
  report.flops = 50'000'000;
  report.gflops = 25;
  report.intensity = 0.5;
  report.bound = {1000, "gm bandwidth", "vector stalled by dependency (40 % of the time)"};
  Memory gm;
  gm.name = "gm";
  gm.read_bytes = 99'000'000;
  gm.write_bytes = 1'000'000;
  gm.accesses = 1000;
  gm.bandwidth_gbps = 50;
  gm.peak_gbps = 100;
  gm.utilization = 0.5;
  gm.bus_occupancy = 0.625;
  gm.counters = {{"bursts", 77}, {"refreshes", 0}};
  Memory ub;
  ub.name = "ub";
  ub.read_bytes = 4'000'000;
  ub.bandwidth_gbps = 2;
  report.memories = {gm, ub};
  report.engines = {engine("scalar", 2, 1'000'000, 0, report.cycles),
                    engine("vector", 2, 3'000'000, 500'000, report.cycles)};
  report.engines[1].counters = {{"load_starts", 5}};
  report.hot_spots = {{"core", "parts.inc", 12, "    wait_flag mte2, vector, 0", 64, 500'000}};
  report.regions = {{"main", 100, 1'999'900}};
  report.check.requested = true;
  report.check.reference = "gemv";
  report.check.max_ulp = 3.5;
  report.check.max_ulp_bound = 7.5;
  report.check.max_abs_error = 0.25;
  report.check.max_relative_error = 0.125;
  report.check.mismatches = 2;
  report.check.elements = 64;
  report.check.closest.where = "y[3]";
  report.check.closest.error = 0.25;
  report.check.closest.bound = 0.2;
  report.check.effective_bits = 9.25;
  report.check.outputs = {{"y", 64, 2, 4, 3.5, 0.25, 0.125, 9.25}};
  WrongElement wrong;
  wrong.tensor = "y";
  wrong.index = {3, 5};
  wrong.got.value = 1;
  wrong.expected.value = 2;
  wrong.bound = 0.25;
  wrong.ulp = 512;
  wrong.relative = 0.5;
  WrongElement bits = wrong;
  bits.got_bits = "0x3c00";
  bits.expected_bits = "0x4000";
  report.check.worst = {wrong, bits};
  report.diagnostics = {{"warning", "never-written", "y was not written", "kernel.npu:7", 3}};
  report.host_seconds = 0.5;
  report.simd_path = "baseline";
  return report;
}

}  // namespace npulab::report::test
