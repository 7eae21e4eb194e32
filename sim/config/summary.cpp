// SPDX-License-Identifier: Apache-2.0
// Peaks that follow from a machine's keys, as comments above its echo.
#include <fmt/core.h>

#include <algorithm>

#include "sim/config/choices.hpp"
#include "sim/config/describe.hpp"
#include "sim/config/names.hpp"
#include "sim/config/read.hpp"

namespace npulab::config {

namespace {

constexpr double kGiga = 1e9;

// Three decimals at most, without trailing zeros.
std::string figure(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string size_text(std::uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string memory_line(const GmConfig& gm) {
  const std::string peak = figure(gm_peak_bytes_per_second(gm) / kGiga);
  const std::string how = gm.model == GmModel::dram ? fmt::format(" = {} channels x {} GB/s", gm.channels,
                                                                  number_text(gm.channel_gbps))
                                                    : "";
  return fmt::format("# {}: {}, {} model, peak {} GB/s{}\n", kGmName, size_text(gm.bytes),
                     choice_name(gm.model), peak, how);
}

// Bandwidth of something that moves `bytes` per cycle: of one core and of all.
std::string width_text(double bytes, const CoreTypeConfig& core) {
  const double one = bytes * static_cast<double>(clock_hz(core)) / kGiga;
  return fmt::format("{} B/cycle = {} GB/s a core, {} GB/s in all", figure(bytes), figure(one),
                     figure(one * core.count));
}

std::string vector_lines(const CoreTypeConfig& core) {
  const VectorConfig& vector = core.vector;
  std::string text;
  const double starts =
      static_cast<double>(std::min(vector.issue_width, vector.ports.arithmetic)) / vector.interval.fma;
  for (const isa::DType type : vector.types) {
    const unsigned lanes = vector.operation_bits / isa::bits(type);
    const double one = 2.0 * lanes * starts * static_cast<double>(clock_hz(core)) / kGiga;
    text += fmt::format("#   {} {}: {} lanes, {} {} a core, {} in all (vfma)\n", kVectorEngine,
                        isa::name(type), lanes, figure(one), isa::info(type).floating ? "GFLOP/s" : "Gop/s",
                        figure(one * core.count));
  }
  const double loads =
      static_cast<double>(std::min(vector.issue_width, vector.ports.load)) / vector.interval.load;
  text +=
      fmt::format("#   {} load: {}\n", kVectorEngine, width_text(vector.operation_bits / 8.0 * loads, core));
  return text;
}

std::string core_lines(const std::string& name, const CoreTypeConfig& core) {
  std::string text = fmt::format("# {}: {} at {} MHz\n", name, core.count, number_text(core.clock_mhz));
  if (core.vector.present) text += vector_lines(core);
  for (const auto& [buffer_name, buffer] : core.buffers)
    text += fmt::format("#   {}: {}, {} banks x {} B x {} = {} B/cycle\n", buffer_name,
                        size_text(buffer.bytes), buffer.banks, buffer.bank_bytes, buffer.bank_ports,
                        std::uint64_t{buffer.banks} * buffer.bank_bytes * buffer.bank_ports);
  for (const auto& [engine_name, engine] : core.dma)
    for (const DmaPathConfig& path : engine.paths)
      text += fmt::format("#   {} {} > {}: {}\n", engine_name, path.from, path.to,
                          width_text(path.bytes_per_cycle, core));
  return text;
}

}  // namespace

std::string summary(const Machine& machine) {
  std::string text = fmt::format("# {}{}{}\n", machine.name, machine.doc.empty() ? "" : ": ", machine.doc);
  text += memory_line(machine.gm);
  for (const auto& [name, core] : machine.core_types) text += core_lines(name, core);
  return text + to_yaml(machine);
}

}  // namespace npulab::config
