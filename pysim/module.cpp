// SPDX-License-Identifier: Apache-2.0
// The compiled half of pysim: errors, plain data, and the module itself.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <exception>

#include "isa/dtype.hpp"
#include "isa/error.hpp"
#include "pysim/bindings.hpp"
#include "sim/cli/entry.hpp"
#include "sim/cli/host.hpp"
#include "sim/simulation.hpp"

namespace npulab::python {

namespace {

const char* exception_class(Category category) {
  switch (category) {
    case Category::input:
      return "InputError";
    case Category::verdict:
      return "VerdictError";
    case Category::stall:
      return "StallError";
    case Category::internal:
      return "InternalError";
  }
  return "Error";
}

void translate(std::exception_ptr pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const py::object type = py::module_::import("pysim._errors").attr(exception_class(error.category()));
    const py::object value = type(error.message(), error.code(), to_string(error.where()));
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

py::dict element_types() {
  py::dict result;
  for (const isa::DTypeInfo& row : isa::kDTypes)
    result[py::str(std::string(row.name))] = py::make_tuple(row.bits, std::string(row.numpy));
  return result;
}

std::string similar(const std::string& word, const std::vector<std::string>& known) {
  return suggestion(word, known);
}

}  // namespace

py::object to_python(const nlohmann::ordered_json& value) {
  if (value.is_object()) {
    py::dict result;
    for (const auto& [key, item] : value.items()) result[py::str(key)] = to_python(item);
    return result;
  }
  if (value.is_array()) {
    py::list result;
    for (const auto& item : value) result.append(to_python(item));
    return result;
  }
  if (value.is_string()) return py::str(value.get_ref<const std::string&>());
  if (value.is_boolean()) return py::bool_(value.get<bool>());
  if (value.is_number_unsigned()) return py::int_(value.get<std::uint64_t>());
  if (value.is_number_integer()) return py::int_(value.get<std::int64_t>());
  if (value.is_number_float()) return py::float_(value.get<double>());
  return py::none();
}

void bind_errors(py::module_& module) {
  py::register_local_exception_translator(&translate);
  module.def("suggestion", &similar, py::arg("word"), py::arg("known"),
             "\"; did you mean 'x'?\", or what is known when nothing is near.");
}

}  // namespace npulab::python

PYBIND11_MODULE(_core, module) {
  using namespace npulab;
  namespace py = pybind11;
  module.doc() = "The simulator. Private: `pysim` is the interface.";
  python::bind_errors(module);
  python::bind_machine(module);
  python::bind_kernel(module);
  python::bind_simulation(module);
  python::bind_packing(module);
  module.def("version", &version);
  module.def("element_types", &python::element_types,
             "By name: bits, and NumPy's type string or the name in ml_dtypes.");
  module.def("run_program", &cli::run_program, py::arg("words"), py::arg("data_candidates"),
             py::call_guard<py::gil_scoped_release>(), "The command line `npulab`: its exit status.");
  module.attr("DEFAULT_MACHINE") = std::string(cli::kDefaultMachine);
}
