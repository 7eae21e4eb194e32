// SPDX-License-Identifier: Apache-2.0
// Runs in Python: the GIL is free while one simulates, and taken now and then for progress and Ctrl-C.
#include "sim/simulation.hpp"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "isa/error.hpp"
#include "kernels/check.hpp"
#include "pysim/bindings.hpp"
#include "sim/cli/check.hpp"
#include "sim/report/report.hpp"

namespace npulab::python {

namespace {

using Clock = std::chrono::steady_clock;
using Arrays = std::map<std::string, py::array>;

// Between two looks at signals and two calls of `progress`.
constexpr std::chrono::milliseconds kPollInterval{50};

// Frees the bytes of an output together with the array that shows them.
py::array_t<std::uint8_t> to_array(std::vector<std::byte> bytes) {
  auto owned = std::make_unique<std::vector<std::byte>>(std::move(bytes));
  const auto size = static_cast<py::ssize_t>(owned->size());
  auto* data = reinterpret_cast<std::uint8_t*>(owned->data());
  const py::capsule owner(owned.release(), [](void* p) { delete static_cast<std::vector<std::byte>*>(p); });
  return py::array_t<std::uint8_t>(size, data, owner);
}

std::span<const std::byte> bytes_of(const py::array& array) {
  static constexpr std::byte kNothing{};
  if (array.nbytes() == 0) return {&kNothing, 0};
  return {static_cast<const std::byte*>(array.data()), static_cast<std::size_t>(array.nbytes())};
}

// Whatever is not an Error and not Python's is a fault of npulab.
template <class Body>
auto guarded(Body&& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const py::error_already_set&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(Category::internal, "unexpected", error.what());
  }
}

struct Outcome {
  report::Report report;
  std::map<std::string, std::vector<std::byte>> outputs;
};

// The process simulates one thing at a time; a simulation may run another one from `progress` or `print`.
using Turn = std::recursive_timed_mutex;

// Waits for the turn without keeping Ctrl-C from the thread that waits. The GIL is free.
std::unique_lock<Turn> take(Turn& turn) {
  std::unique_lock lock(turn, std::defer_lock);
  while (!lock.try_lock_for(kPollInterval)) {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  return lock;
}

// Sets a flag for as long as it lives.
class Mark {
 public:
  explicit Mark(bool& flag) : flag_(flag) { flag_ = true; }
  ~Mark() { flag_ = false; }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  bool& flag_;
};

class PySimulation {
 public:
  PySimulation(std::shared_ptr<Turn> turn, std::shared_ptr<const MachineKernel> kernel,
               SimulationOptions options, py::object progress, py::object print);

  // A report and the bytes of each output. `inputs`: dense arrays, one per tensor that is read.
  std::pair<report::Report, py::dict> run(const Arrays& inputs, bool check);

 private:
  void poll(std::uint64_t cycle, double share);
  void set_inputs(const kernels::Inputs& inputs);
  Outcome launch(const kernels::Inputs& inputs, bool check);

  std::shared_ptr<Turn> turn_;
  std::shared_ptr<const MachineKernel> kernel_;
  bool timing_only_;
  std::vector<std::pair<std::string, std::string>> said_;  // the options, for the report
  py::object progress_;
  py::object print_;
  Clock::time_point polled_;
  bool running_ = false;  // guarded by the turn
  std::optional<Simulation> simulation_;
};

PySimulation::PySimulation(std::shared_ptr<Turn> turn, std::shared_ptr<const MachineKernel> kernel,
                           SimulationOptions options, py::object progress, py::object print)
    : turn_(std::move(turn)),
      kernel_(std::move(kernel)),
      timing_only_(options.timing_only),
      said_{{"values", timing_only_ ? "not computed" : "computed"},
            {"sanitize", std::string(name_of(timing_only_ ? SanitizeLevel::off : options.sanitize))},
            {"warmup", std::to_string(options.warmup)}},
      progress_(std::move(progress)),
      print_(std::move(print)) {
  options.progress = [this](std::uint64_t cycle, double share) { poll(cycle, share); };
  options.print = [this](const std::string& line) {
    const py::gil_scoped_acquire gil;
    print_(line);
  };
  simulation_.emplace(kernel_->machine, kernel_->kernel, std::move(options));
}

void PySimulation::poll(std::uint64_t cycle, double share) {
  const Clock::time_point now = Clock::now();
  if (now - polled_ < kPollInterval) return;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (!progress_.is_none()) progress_(cycle, share);
  polled_ = Clock::now();
}

void PySimulation::set_inputs(const kernels::Inputs& inputs) {
  for (const auto& [name, bytes] : inputs) simulation_->set_input(name, bytes);
  for (const isa::Tensor& tensor : kernel_->kernel.header.tensors)
    if (tensor.direction != isa::Direction::out && !timing_only_ && !inputs.contains(tensor.name))
      throw Error(Category::input, "missing-input",
                  "kernel " + kernel_->kernel.header.name + " reads tensor '" + tensor.name +
                      "', and no array was given for it");
}

Outcome PySimulation::launch(const kernels::Inputs& inputs, bool check) {
  const isa::KernelHeader& header = kernel_->kernel.header;
  if (check) cli::check_reference(header);
  set_inputs(inputs);
  polled_ = Clock::now();
  Outcome outcome{simulation_->run(), {}};
  outcome.report.options = said_;
  if (check) {
    outcome.report.check = cli::check_outputs(*simulation_, inputs);
    report::self_check(outcome.report);
  }
  if (timing_only_) return outcome;
  for (const isa::Tensor& tensor : header.tensors)
    if (tensor.direction != isa::Direction::in)
      outcome.outputs[tensor.name] = simulation_->output(tensor.name);
  return outcome;
}

std::pair<report::Report, py::dict> PySimulation::run(const Arrays& inputs, bool check) {
  kernels::Inputs spans;
  for (const auto& [name, array] : inputs) spans[name] = bytes_of(array);
  Outcome outcome;
  {
    // The GIL first, then the turn: in the other order a thread that waits for its turn would keep the GIL
    // from the one that runs and wants to look at signals.
    const py::gil_scoped_release free;
    const std::unique_lock<Turn> lock = take(*turn_);
    if (running_)
      throw Error(Category::input, "busy",
                  "this simulation is running: its own progress or print function cannot run it again");
    const Mark mark(running_);
    outcome = guarded([&] { return launch(spans, check); });
  }
  py::dict arrays;
  for (auto& [name, bytes] : outcome.outputs) arrays[py::str(name)] = to_array(std::move(bytes));
  return {std::move(outcome.report), std::move(arrays)};
}

}  // namespace

void bind_simulation(py::module_& module) {
  module.attr("DEFAULT_MAX_CYCLES") = SimulationOptions{}.max_cycles;
  py::class_<report::Report>(module, "Report", "What a run took and why; `to_dict` is the JSON form.")
      .def_readonly("cycles", &report::Report::cycles)
      .def_readonly("time_us", &report::Report::time_us)
      .def("to_dict", [](const report::Report& self) { return to_python(report::to_json(self)); })
      .def("to_text", [](const report::Report& self) { return report::to_text(self); });
  py::class_<PySimulation>(module, "Simulation", "A kernel ready to run any number of times.")
      .def(py::init([turn = std::make_shared<Turn>()](
                        std::shared_ptr<MachineKernel> kernel, bool timing_only, const std::string& sanitize,
                        std::uint32_t cores, std::uint32_t warmup, std::uint64_t max_cycles, bool block_cache,
                        py::object progress, py::object print) {
             SimulationOptions options;
             options.timing_only = timing_only;
             options.sanitize = sanitize_level(sanitize);
             options.cores = cores;
             options.warmup = warmup;
             options.max_cycles = max_cycles;
             options.block_cache = block_cache;
             return std::make_unique<PySimulation>(turn, std::move(kernel), std::move(options),
                                                   std::move(progress), std::move(print));
           }),
           py::arg("kernel"), py::arg("timing_only"), py::arg("sanitize"), py::arg("cores"),
           py::arg("warmup"), py::arg("max_cycles"), py::arg("block_cache"), py::arg("progress"),
           py::arg("print"))
      .def("run", &PySimulation::run, py::arg("inputs"), py::arg("check"),
           "The report, and the bytes of each output. `inputs`: dense arrays of the tensors that are read.");
}

}  // namespace npulab::python
