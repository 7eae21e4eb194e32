// SPDX-License-Identifier: Apache-2.0
// What the binding files of pysim._core share. The Python half in pysim/pysim is the public interface.
#pragma once

#include <pybind11/pybind11.h>

#include <nlohmann/json.hpp>

#include "isa/program.hpp"
#include "sim/config/machine.hpp"

namespace npulab::python {

namespace py = pybind11;

// A kernel with the machine that it was assembled for.
struct MachineKernel {
  config::Machine machine;
  isa::Kernel kernel;
};

void bind_errors(py::module_& module);
void bind_machine(py::module_& module);
void bind_kernel(py::module_& module);
void bind_simulation(py::module_& module);
void bind_packing(py::module_& module);

// Objects become dicts in the same order, arrays lists.
py::object to_python(const nlohmann::ordered_json& value);
nlohmann::ordered_json describe(const isa::KernelHeader& header);

}  // namespace npulab::python
