// SPDX-License-Identifier: Apache-2.0
// The kernels on which the properties of every run are tested: small ones of their own and the library's.
#pragma once

#include <filesystem>

#include "kernels/library.hpp"
#include "run_helper.hpp"
#include "sim/values/generate.hpp"

namespace npulab::test {

struct Work {
  std::string name;
  std::string machine;
  isa::ParamValues params;
};

// For at most four cores. Every flag set and waited for, three streams at work at once.
inline const char* const kStreams = R"(.kernel test/streams
.tensor A u8 [16384] in
.tensor y u8 [16384] inout
core_id s0
core_count s9
mul s5, s0, 4096
set_flag vector, mte2, 0
set_flag vector, mte2, 1
set_flag mte3, vector, 0
set_flag mte3, vector, 1
mov s1, 0
loop 8
  and s2, s1, 1
  mul s3, s2, 480
  mul s4, s1, 480
  add s4, s4, s5
  wait_flag vector, mte2, s2
  copy ub[s3], A[s4], 480
  set_flag mte2, vector, s2
  wait_flag mte2, vector, s2
  wait_flag mte3, vector, s2
  mov s6, s3
  loop 480 / OPBYTES
    vld.u8 v0, ub[s6]
    vadd.u8 v2, v0, v0
    vst.u8 ub[s6 + 1024], v2
    add s6, s6, OPBYTES
  endloop
  set_flag vector, mte2, s2
  set_flag vector, mte3, s2
  wait_flag vector, mte3, s2
  copy y[s4], ub[s3 + 1024], 480
  set_flag mte3, vector, s2
  add s1, s1, 1
endloop
wait_flag vector, mte2, 0
wait_flag vector, mte2, 1
wait_flag mte3, vector, 0
wait_flag mte3, vector, 1
sync_cores
end
)";

// For at most four cores. Many small rows, as gather lists have them.
inline const char* const kRows = R"(.kernel test/rows
.tensor A u8 [65536] in
.tensor y u8 [4096] inout
core_id s0
mul s1, s0, 1024
copy ub[0], A[s1], 24 {count=40, src_pitch=520, dst_pitch=24}
copy ub[1024], A[s1 + 120], 8 {count=16, src_pitch=-8, dst_pitch=8, count2=4, src_pitch2=1000, dst_pitch2=128}
set_flag mte2, mte3, 0
wait_flag mte2, mte3, 0
copy y[s1], ub[0], 24 {count=40, dst_pitch=25}
end
)";

inline std::vector<Work> works() {
  std::vector<Work> all{
      {"streams", "tiny", {}}, {"streams", "edge", {}}, {"rows", "tiny", {}}, {"rows", "edge", {}}};
  const isa::ParamValues shape{{"M", 37}, {"K", 75}, {"Bm", 4}};
  for (const char* const machine : {"tiny", "edge"}) {
    for (const char* const kernel : {"gemv/pipelined", "gemv/register_blocked", "gemv/f32"})
      all.push_back({kernel, machine, shape});
    all.push_back({"gemv/naive", machine, {{"M", 37}, {"K", 75}}});
  }
  all.push_back({"gemv/ub_repeat", "tiny_ub", {{"M", 37}, {"K", 75}}});
  all.push_back({"gemv/pipelined", "ascend910_opsblas", {{"M", 64}, {"K", 300}}});
  return all;
}

inline isa::Kernel kernel_of(const Work& work, const config::Machine& machine) {
  if (work.name == "streams") return assemble(kStreams, machine);
  if (work.name == "rows") return assemble(kRows, machine);
  return kernels::assemble_kernel(work.name, {std::filesystem::path(NPULAB_SOURCE_DIR) / "kernels"}, machine,
                                  work.params);
}

// A kernel with its inputs, ready to run.
class Bench {
 public:
  Bench(const Work& work, const config::Machine& machine, SimulationOptions options = {})
      : simulation_(machine, kernel_of(work, machine), std::move(options)) {
    for (const isa::Tensor& tensor : simulation_.kernel().header.tensors) {
      if (tensor.direction == isa::Direction::out) continue;
      std::vector<std::byte>& bytes = inputs_[tensor.name];
      bytes.resize((tensor.elements() * isa::bits(tensor.type) + 7) / 8);
      values::fill(tensor.type, bytes.data(), tensor.elements(), "random:3");
      simulation_.set_input(tensor.name, bytes);
    }
  }
  Run run() {
    Run result;
    result.report = simulation_.run();
    for (const isa::Tensor& tensor : simulation_.kernel().header.tensors)
      if (tensor.direction != isa::Direction::in)
        result.outputs[tensor.name] = simulation_.output(tensor.name);
    return result;
  }

 private:
  std::map<std::string, std::vector<std::byte>> inputs_;
  Simulation simulation_;
};

inline Run run_work(const Work& work, SimulationOptions options = {}) {
  return Bench(work, machine(work.machine), std::move(options)).run();
}

// Everything that two runs share.
inline std::string text_of(const report::Report& report) {
  return report::to_json(report, false).dump(1);
}

}  // namespace npulab::test
