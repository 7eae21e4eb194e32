// SPDX-License-Identifier: Apache-2.0
// Kernels in Python: the library, the text form, and kernels assembled for a machine.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <fmt/format.h>

#include <memory>

#include "isa/assembler.hpp"
#include "isa/disassembler.hpp"
#include "kernels/library.hpp"
#include "pysim/bindings.hpp"

namespace npulab::python {

namespace {

using nlohmann::ordered_json;

// The text of a kernel, from the library, a file or the user, not yet for any machine.
class Source {
 public:
  Source(const std::string& name, const std::string& text) : source_{name, text} {}
  static Source find(const std::string& name_or_file, const std::filesystem::path& folder) {
    return Source(kernels::kernel_source(name_or_file, {folder}));
  }

  py::object header(const isa::ParamValues& params) const {
    return to_python(describe(isa::read_header(source_, params, kernels::assemble_options())));
  }
  std::shared_ptr<MachineKernel> assemble(const config::Machine& machine,
                                          const isa::ParamValues& params) const;

 private:
  explicit Source(isa::Source source) : source_(std::move(source)) {}

  isa::Source source_;
};

std::shared_ptr<MachineKernel> Source::assemble(const config::Machine& machine,
                                                const isa::ParamValues& params) const {
  const py::gil_scoped_release free;
  isa::Kernel kernel = kernels::assemble_kernel(source_, machine, params);
  return std::make_shared<MachineKernel>(MachineKernel{machine, std::move(kernel)});
}

py::dict list(const std::filesystem::path& folder) {
  py::dict result;
  for (const kernels::KernelInfo& info : kernels::list_kernels({folder}))
    result[py::str(info.name)] = info.header.doc;
  return result;
}

}  // namespace

ordered_json describe(const isa::KernelHeader& header) {
  ordered_json params = ordered_json::array();
  for (const isa::Parameter& p : header.params)
    params.push_back({{"name", p.name},
                      {"value", p.value},
                      {"default", p.default_value},
                      {"min", p.min},
                      {"max", p.max},
                      {"doc", p.doc}});
  ordered_json tensors = ordered_json::array();
  for (const isa::Tensor& t : header.tensors)
    tensors.push_back({{"name", t.name},
                       {"type", isa::name(t.type)},
                       {"shape", t.shape},
                       {"shape_parameters", t.shape_parameters},
                       {"direction", isa::name(t.direction)},
                       {"pitch", t.pitch},
                       {"doc", t.doc}});
  return {
      {"name", header.name},
      {"doc", header.doc},
      {"params", std::move(params)},
      {"tensors", std::move(tensors)},
      {"reference", {{"operation", header.reference.operation}, {"arguments", header.reference.arguments}}}};
}

void bind_kernel(py::module_& module) {
  py::class_<Source>(module, "Source", "The text of a kernel, not yet for any machine.")
      .def(py::init<const std::string&, const std::string&>(), py::arg("name"), py::arg("text"))
      .def_static("find", &Source::find, py::arg("name_or_file"), py::arg("folder"))
      .def("header", &Source::header, py::arg("params") = isa::ParamValues{},
           "With these parameters, the others at their defaults.")
      .def("assemble", &Source::assemble, py::arg("machine"), py::arg("params"));
  py::class_<MachineKernel, std::shared_ptr<MachineKernel>>(module, "Kernel",
                                                            "A kernel assembled for a machine.")
      .def("header", [](const MachineKernel& self) { return to_python(describe(self.kernel.header)); })
      .def("hash", [](const MachineKernel& self) { return fmt::format("{:016x}", self.kernel.hash()); })
      .def("disassemble", [](const MachineKernel& self) {
        const isa::Target target = config::make_target(self.machine);
        return isa::disassemble(self.kernel, target, config::other_targets(self.machine, target));
      });
  module.def("kernels", &list, py::arg("folder"), "What each kernel of the library does, by name.");
}

}  // namespace npulab::python
