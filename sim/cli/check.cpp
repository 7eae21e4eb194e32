// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/check.hpp"

#include <fmt/core.h>

#include <utility>

#include "isa/error.hpp"

namespace npulab::cli {

void check_reference(const isa::KernelHeader& header) {
  const std::string& operation = header.reference.operation;
  if (operation.empty())
    throw Error(Category::input, "no-reference",
                fmt::format("kernel {} names no operation to compare it with; .reference does", header.name));
  std::vector<std::string> names;
  for (const kernels::ReferenceOperation& known : kernels::reference_operations()) {
    if (known.name == operation) return;
    names.emplace_back(known.name);
  }
  throw Error(Category::input, "unknown-reference",
              fmt::format("kernel {} names the operation '{}', which is not known{}", header.name, operation,
                          suggestion(operation, names)));
}

report::CheckResult check_outputs(const Simulation& simulation, const kernels::Inputs& inputs) {
  const isa::KernelHeader& header = simulation.kernel().header;
  std::map<std::string, std::vector<std::byte>> stored;
  kernels::Outputs outputs;
  for (const isa::Tensor& tensor : header.tensors) {
    if (tensor.direction == isa::Direction::in) continue;
    kernels::Output& output = outputs[tensor.name];
    output.elements = stored[tensor.name] = simulation.output(tensor.name, &output.unwritten_bytes);
  }
  kernels::CheckData data = kernels::check(header, simulation.machine(), inputs, outputs);
  report::CheckResult result;
  result.requested = true;
  result.passed = data.passed;
  result.reference = header.reference.operation;
  for (const auto& [name, value] : header.reference.arguments)
    result.reference += fmt::format(" {}={}", name, value);
  result.max_ulp = data.max_ulp;
  result.max_ulp_bound = data.max_ulp_bound;
  result.max_abs_error = data.max_abs_error;
  result.max_rel_error = data.max_rel_error;
  result.effective_bits = data.effective_bits;
  result.mismatches = data.mismatches;
  result.elements = data.elements;
  result.closest = {std::move(data.closest), data.closest_error, data.closest_bound};
  result.worst = std::move(data.worst);
  return result;
}

}  // namespace npulab::cli
