// SPDX-License-Identifier: Apache-2.0
// The outputs of a run against the kernel's reference operation: --check, and `check` in Python.
#pragma once

#include "kernels/check.hpp"
#include "sim/report/report.hpp"
#include "sim/simulation.hpp"

namespace npulab::cli {

// Before a run. Errors: input "no-reference" when the kernel names none, "unknown-reference".
void check_reference(const isa::KernelHeader& header);

// After a run with these inputs. Errors: those of kernels::check.
report::CheckResult check_outputs(const Simulation& simulation, const kernels::Inputs& inputs);

// The same against what is expected, which `name` says in the report.
report::CheckResult check_outputs(const Simulation& simulation,
                                  const std::vector<kernels::ExpectedTensor>& expected, std::string name);

}  // namespace npulab::cli
