// SPDX-License-Identifier: Apache-2.0
// What a kernel must compute: the operations that `.reference` names, and the comparison of a run with them.
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
struct Output {
  std::span<const std::byte> elements;
  std::uint64_t unwritten_bytes = 0;  // which the kernel never stored
};
using Outputs = std::map<std::string, Output>;

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

struct CheckData {
  bool passed = false;
  double max_ulp = 0;        // distance over the spacing of the output's type at the expected value
  double max_ulp_bound = 0;  // most distance allowed at that element, in the same unit
  double max_abs_error = 0;  // over elements that are finite in both
  double max_rel_error = 0;
  // Most n for which all errors of an output are within 2^-n of its largest magnitude, the least over the
  // outputs; 0 where no element differs (`closest` is empty).
  std::uint64_t effective_bits = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t elements = 0;
  // Of the elements that are finite and not as expected the one whose error is the largest part of its bound.
  std::string closest;  // "y[3]", empty when there is none
  double closest_error = 0;
  double closest_bound = 0;
  std::vector<std::string> worst;  // a line each, the worst first, at most 10
};

// Compares the outputs of a run with the header's reference. Errors: input "no-reference" (the kernel names
// none), "unknown-reference", "reference-argument" (missing, or a tensor or type that does not fit),
// "missing-tensor", "wrong-size".
CheckData check(const isa::KernelHeader& header, const config::Machine& machine, const Inputs& inputs,
                const Outputs& outputs);

}  // namespace npulab::kernels
