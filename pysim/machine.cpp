// SPDX-License-Identifier: Apache-2.0
// Machines in Python: loading, and every view of one as text or plain data.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pysim/bindings.hpp"
#include "sim/config/describe.hpp"
#include "sim/config/load.hpp"
#include "sim/data_folders.hpp"

namespace npulab::python {

namespace {

config::LoadOptions options(std::vector<std::string> settings, const std::filesystem::path& folder) {
  return {std::move(settings), {folder}};
}

config::Machine load(const std::string& name_or_file, std::vector<std::string> settings,
                     const std::filesystem::path& folder) {
  const py::gil_scoped_release free;
  return config::load_machine(name_or_file, options(std::move(settings), folder));
}

config::Machine from_text(const std::string& text, const std::string& source,
                          std::vector<std::string> settings, const std::filesystem::path& folder) {
  const py::gil_scoped_release free;
  return config::machine_from_text(text, source, options(std::move(settings), folder));
}

py::dict list(const std::filesystem::path& folder) {
  py::dict result;
  for (const config::MachineInfo& info : config::list_machines({folder}))
    result[py::str(info.name)] = info.doc;
  return result;
}

py::tuple folders(const std::vector<std::filesystem::path>& candidates) {
  const DataFolders found = find_data_folders(candidates);
  return py::make_tuple(found.machines, found.kernels);
}

}  // namespace

void bind_machine(py::module_& module) {
  py::class_<config::Machine>(module, "Machine", "A machine, loaded and checked.")
      .def(py::init(&load), py::arg("name_or_file"), py::arg("settings"), py::arg("folder"),
           "`settings`: \"a.b.c=value\" each, applied in order.")
      .def_static("from_text", &from_text, py::arg("text"), py::arg("source"), py::arg("settings"),
                  py::arg("folder"))
      .def("to_dict", [](const config::Machine& self) { return to_python(config::to_json(self)); })
      .def("to_yaml", &config::to_yaml)
      .def("summary", &config::summary)
      .def("diff", &config::diff, py::arg("other"));
  module.def("machines", &list, py::arg("folder"), "What each machine of the folder is, by name.");
  module.def("data_folders", &folders, py::arg("candidates"),
             "Of the shipped machines and kernels: NPULAB_DATA, else the first candidate that has both.");
}

}  // namespace npulab::python
