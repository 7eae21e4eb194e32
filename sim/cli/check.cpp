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
  std::string name = header.reference.operation;
  for (const auto& [key, value] : header.reference.arguments) name += fmt::format(" {}={}", key, value);
  return check_outputs(simulation, kernels::expected_outputs(header, simulation.machine(), inputs),
                       std::move(name));
}

report::CheckResult check_outputs(const Simulation& simulation,
                                  const std::vector<kernels::ExpectedTensor>& expected, std::string name) {
  const isa::KernelHeader& header = simulation.kernel().header;
  std::map<std::string, std::vector<std::byte>> stored;
  kernels::Outputs outputs;
  for (const isa::Tensor& tensor : header.tensors) {
    if (tensor.direction == isa::Direction::in) continue;
    kernels::Output& output = outputs[tensor.name];
    output.elements = stored[tensor.name] = simulation.output(tensor.name, &output.unwritten_bytes);
  }
  kernels::CheckData data = kernels::compare(header, simulation.machine(), expected, outputs);
  report::CheckResult result;
  result.requested = true;
  result.passed = data.passed;
  result.reference = std::move(name);
  result.max_ulp = data.max_ulp;
  result.max_ulp_bound = data.max_ulp_bound;
  result.max_abs_error = data.max_abs_error;
  result.max_relative_error = data.max_relative_error;
  result.effective_bits = data.effective_bits;
  result.mismatches = data.mismatches;
  result.elements = data.elements;
  result.closest = {std::move(data.closest), data.closest_error, data.closest_bound};
  for (const kernels::OutputCheck& one : data.outputs) {
    const kernels::Differences& part = one.differences;
    result.outputs.push_back({one.name, part.elements, part.mismatches, one.unwritten_bytes, part.max_ulp,
                              part.max_abs_error, part.max_relative_error, part.effective_bits});
  }
  for (kernels::WrongElement& one : data.worst)
    result.worst.push_back({std::move(one.tensor),
                            std::move(one.index),
                            {one.got},
                            {one.expected},
                            one.bound,
                            one.may_overflow,
                            one.ulp,
                            one.relative,
                            std::move(one.got_bits),
                            std::move(one.expected_bits)});
  return result;
}

}  // namespace npulab::cli
