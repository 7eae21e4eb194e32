// SPDX-License-Identifier: Apache-2.0
// What a kernel must compute: the operations that `.reference` names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.hpp"
#include "sim/config/machine.hpp"

namespace npulab::kernels {

// Elements of a tensor, row-major without padding.
using Inputs = std::map<std::string, std::span<const std::byte>>;

// What one element may be.
struct Expectation {
  double value = 0;  // NaN: the element must be NaN
  double bound = 0;  // most distance from value; 0: these bits (any NaN for NaN, +0 and -0 are equal)
  bool may_overflow = false;  // a sum on the way may have left the type: infinity and NaN are right as well
};

struct ExpectedTensor {
  std::string name;
  std::vector<Expectation> elements;
  // In place of `elements`, where data is only moved: the bytes of all elements, which must be these bit for
  // bit, signs of zeros and payloads of NaNs included.
  std::vector<std::byte> bits{};
};

struct ReferenceCase {
  const isa::KernelHeader& header;
  const config::Machine& machine;  // lanes of an operation and overflow mode
  const Inputs& inputs;
};

struct ReferenceOperation {
  std::string_view name;
  std::string_view arguments;
  std::string_view doc;
  std::vector<ExpectedTensor> (*evaluate)(const ReferenceCase&);
};

std::span<const ReferenceOperation> reference_operations();

// What the header's reference gives for these inputs. Errors: input "no-reference" (the kernel names none),
// "unknown-reference", "reference-argument" (missing, or a tensor or type that does not fit),
// "missing-tensor", "wrong-size".
std::vector<ExpectedTensor> expected_outputs(const isa::KernelHeader& header, const config::Machine& machine,
                                             const Inputs& inputs);

}  // namespace npulab::kernels
