// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on the machine's own device memory and on three of ours, and compares values and cycles.
#include <fmt/core.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "isa/assembler.hpp"
#include "isa/error.hpp"
#include "memories.hpp"
#include "sim/config/load.hpp"
#include "sim/simulation.hpp"
#include "sim/systemc/tlm_gm.hpp"
#include "sim/systemc/tlm_lt_front.hpp"

namespace {

using npulab::systemc::GmPort;
using npulab::systemc::LtFront;
using npulab::systemc::Session;
using npulab::systemc::TlmGm;
using MemoryFactory = decltype(npulab::SimulationOptions::memory_factory);

constexpr const char* kKernel = R"(
.kernel example/copy
.tensor x u8 [2048] in "what is copied"
.tensor y u8 [2048] out "the copy"
        copy ub[0], x[0], 2048
        set_flag mte2, mte3, 0
        wait_flag mte2, mte3, 0
        copy y[0], ub[0], 2048
        end
)";

// The port owns our memory: both live as long as one run.
MemoryFactory fixed_latency(double nanoseconds) {
  return [nanoseconds](Session& session, const npulab::config::Machine&) -> std::unique_ptr<GmPort> {
    auto port = std::make_unique<TlmGm>("port", session);
    auto& memory = port->own(
        std::make_unique<FixedLatencyMemory>("memory", 8.0, sc_core::sc_time(nanoseconds, sc_core::SC_NS)));
    port->socket.bind(memory.socket);
    return port;
  };
}

MemoryFactory blocking(double nanoseconds) {
  return [nanoseconds](Session& session, const npulab::config::Machine&) -> std::unique_ptr<GmPort> {
    auto port = std::make_unique<TlmGm>("port", session);
    auto& front = port->own(std::make_unique<LtFront>("front", session, 8));
    auto& memory =
        port->own(std::make_unique<BlockingMemory>("memory", sc_core::sc_time(nanoseconds, sc_core::SC_NS)));
    port->socket.bind(front.from);
    front.to.bind(memory.socket);
    return port;
  };
}

std::uint64_t cycles(const char* what, const MemoryFactory& memory) {
  npulab::config::LoadOptions load;
  load.search = {NPULAB_MACHINES};
  const npulab::config::Machine machine = npulab::config::load_machine("tiny", load);
  const npulab::isa::Kernel kernel =
      npulab::isa::assemble({"copy.npu", kKernel}, npulab::config::make_target(machine));
  npulab::SimulationOptions options;
  options.cores = 1;
  options.memory_factory = memory;
  npulab::Simulation simulation(machine, kernel, options);
  std::vector<std::byte> x(2048);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::byte>(i * 31);
  simulation.set_input("x", x);
  const npulab::report::Report report = simulation.run();
  if (simulation.output("y") != x)
    throw npulab::Error(npulab::Category::verdict, "wrong-copy", "y differs from x");
  fmt::print("{:<28}{:>6} cycles\n", what, report.cycles);
  return report.cycles;
}

}  // namespace

int main() try {
  cycles("the machine's own", nullptr);
  const std::uint64_t fast = cycles("ours, 50 ns", fixed_latency(50));
  const std::uint64_t slow = cycles("ours, 500 ns", fixed_latency(500));
  cycles("ours, blocking, 50 ns", blocking(50));
  return slow > fast ? 0 : 1;
} catch (const npulab::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return npulab::exit_status(error.category());
}
