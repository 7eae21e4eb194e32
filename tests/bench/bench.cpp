// SPDX-License-Identifier: Apache-2.0
// Wall clock of the simulator as ratios to OpenBLAS, one thread, both in turn in one run. Prints, gates
// nothing.
#include <cblas.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/library.hpp"
#include "sim/config/load.hpp"
#include "sim/simulation.hpp"
#include "sim/values/generate.hpp"
#include "sim/values/lanes.hpp"

namespace npulab {
namespace {

using Seconds = double;

const std::string kSource = NPULAB_SOURCE_DIR;

Seconds time_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

config::Machine machine(const std::string& name) {
  config::LoadOptions options;
  options.search = {kSource + "/configs"};
  return config::load_machine(name, options);
}

// A kernel with random inputs, ready to run.
class Job {
 public:
  Job(const std::string& kernel, const std::string& machine_name, const isa::ParamValues& params,
      SimulationOptions options = {})
      : simulation_(machine(machine_name),
                    kernels::assemble_kernel(kernel, {kSource + "/kernels"}, machine(machine_name), params),
                    std::move(options)) {
    for (const isa::Tensor& tensor : simulation_.kernel().header.tensors) {
      if (tensor.direction == isa::Direction::out) continue;
      std::vector<std::byte>& bytes = inputs_.emplace_back(tensor.elements() * isa::bits(tensor.type) / 8);
      values::fill(tensor.type, bytes.data(), tensor.elements(), "random:1");
    }
    std::size_t next = 0;
    for (const isa::Tensor& tensor : simulation_.kernel().header.tensors)
      if (tensor.direction != isa::Direction::out) simulation_.set_input(tensor.name, inputs_[next++]);
  }
  report::Report run() { return simulation_.run(); }

 private:
  Simulation simulation_;
  std::vector<std::vector<std::byte>> inputs_;
};

constexpr int kRounds = 7;

struct Case {
  const char* name;
  const char* kernel;
  bool timing_only;
  double bar;  // most times the reference; 0: none stated
};

// What a group of cases is measured against.
struct Reference {
  const char* name;
  std::function<void()> work;
};

void compare(const std::vector<Case>& cases, const isa::ParamValues& params, const Reference& reference) {
  for (const Case& c : cases) {
    SimulationOptions options;
    options.timing_only = c.timing_only;
    Job job(c.kernel, "ascend910_opsblas", params, options);
    std::vector<double> simulated;
    std::vector<double> blas;
    std::vector<double> ratios;
    std::uint64_t instructions = 0;
    job.run();
    reference.work();
    for (int round = 0; round < kRounds; ++round) {
      simulated.push_back(time_of([&] { instructions = job.run().instructions; }));
      blas.push_back(time_of(reference.work));
      ratios.push_back(simulated.back() / blas.back());
    }
    const double seconds = median(simulated);
    fmt::print("  {:<52} {:7.2f} ms  {} {:6.2f} ms  ratio {:6.2f}{}  {:6.1f} M instructions/s\n", c.name,
               seconds * 1e3, reference.name, median(blas) * 1e3, median(ratios),
               c.bar > 0 ? fmt::format(" (bar {})", c.bar) : "",
               static_cast<double>(instructions) / seconds / 1e6);
  }
}

void gemv(int m, int k) {
  std::vector<float> a(static_cast<std::size_t>(m) * static_cast<std::size_t>(k), 0.5F);
  std::vector<float> x(static_cast<std::size_t>(k), 0.25F);
  std::vector<float> y(static_cast<std::size_t>(m));
  fmt::print("GEMV {} x {} on ascend910_opsblas, 32 cores, against OpenBLAS sgemv, {} rounds in turn\n", m, k,
             kRounds);
  compare({{"gemv/mixed (f16 in, f32 sums), timing + values", "gemv/mixed", false, 6.0},
           {"gemv/register_blocked (f16 sums), timing + values", "gemv/register_blocked", false, 0},
           {"gemv/pipelined (f16 sums), timing + values", "gemv/pipelined", false, 0},
           {"gemv/f32, timing + values", "gemv/f32", false, 0},
           {"gemv/mixed, timing only", "gemv/mixed", true, 0}},
          {{"M", m}, {"K", k}}, {"sgemv", [&] {
                                   cblas_sgemv(CblasRowMajor, CblasNoTrans, m, k, 1.0F, a.data(), k, x.data(),
                                               1, 0.0F, y.data(), 1);
                                 }});
}

// C[m x n] = A[m x k] B[k x n] by OpenBLAS, on numbers that are not all alike.
class Sgemm {
 public:
  Sgemm(int m, int n, int k) : m_(m), n_(n), k_(k), a_(filled(m, k)), b_(filled(k, n)), c_(filled(m, n)) {}
  void operator()() {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, n_, k_, 1.0F, a_.data(), k_, b_.data(), n_,
                0.0F, c_.data(), n_);
  }

 private:
  static std::vector<float> filled(int rows, int columns) {
    std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) * 0.25F - 0.75F;
    return values;
  }
  int m_, n_, k_;
  std::vector<float> a_, b_, c_;
};

void gemm(int size) {
  fmt::print("GEMM {0} x {0} x {0} on ascend910_opsblas, 32 cores, against OpenBLAS sgemm ({1})\n", size,
             openblas_get_corename());
  Sgemm sgemm(size, size, size);
  compare({{"gemm/double_buffered (f16), timing + values", "gemm/double_buffered", false, 2.5},
           {"gemm/double_buffered (f16), timing only", "gemm/double_buffered", true, 0.7},
           {"gemm/double_buffered_i8, timing + values", "gemm/double_buffered_i8", false, 0}},
          {{"M", size}, {"N", size}, {"K", size}}, {"sgemm", [&] { sgemm(); }});
}

void attention(int heads, int length, int depth) {
  fmt::print(
      "attention, {} heads, {} x {}, on ascend910_opsblas, against its two products by OpenBLAS sgemm\n",
      heads, length, depth);
  Sgemm scores(length, length, depth);
  Sgemm values(length, depth, length);
  compare({{"attention/flash (f16), timing + values", "attention/flash", false, 0},
           {"attention/flash (f16), timing only", "attention/flash", true, 0}},
          {{"heads", heads}, {"kv_heads", heads}, {"S", length}, {"L", length}, {"d", depth}},
          {"sgemm", [&] {
             for (int head = 0; head < heads; ++head) {
               scores();
               values();
             }
           }});
}

// A small kernel again and again: what one run costs beside its instructions.
void small_runs() {
  Job job("gemv/register_blocked", "tiny", {{"M", 8}, {"K", 8}, {"Bm", 4}});
  job.run();
  constexpr int kRuns = 1000;
  const Seconds seconds = time_of([&] {
    for (int i = 0; i < kRuns; ++i) job.run();
  });
  fmt::print("small runs: {:.0f} us each ({} of gemv 8 x 8 on tiny)\n", seconds / kRuns * 1e6, kRuns);
}

void start_up() {
  const Seconds seconds = time_of([] {
    Job job("gemv/vectorized", "ascend910_opsblas", {{"M", 16}, {"K", 16}});
    job.run();
  });
  fmt::print(
      "load machine, assemble and run gemv/vectorized 16 x 16 on ascend910_opsblas: {:.1f} ms (bar 50)\n",
      seconds * 1e3);
}

}  // namespace
}  // namespace npulab

int main(int argc, char** argv) {
  // One thread, whatever the environment says.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  const int size = argc > 1 ? std::atoi(argv[1]) : 4096;
  if (size < 16 || size > 16384) {
    fmt::print(stderr,
               "usage: npulab_bench [SIZE]: rows and columns of the matrix, 16…16384 (default 4096)\n");
    return 2;
  }
  fmt::print("values by {}\n", npulab::values::simd_path());
  npulab::start_up();
  npulab::small_runs();
  npulab::gemv(size, size);
  npulab::gemm(1024);
  npulab::attention(8, 1024, 64);
  return 0;
}
