// SPDX-License-Identifier: Apache-2.0
// The outputs of a run against what the kernel's reference operation gives: which elements are out of their
// bound, and how far everything is off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/reference.hpp"

namespace npulab::kernels {

struct Output {
  std::span<const std::byte> elements;  // row-major without padding
  std::uint64_t unwritten_bytes = 0;    // which the kernel never stored
};
using Outputs = std::map<std::string, Output>;

// An element that is out of its bound.
struct WrongElement {
  std::string tensor;
  std::vector<std::uint64_t> index;
  double got = 0;  // both may be NaN or infinite
  double expected = 0;
  double bound = 0;                  // may be infinite
  bool may_overflow = false;         // an overflow would be right as well
  std::optional<double> ulp{};       // of the output's type at `expected`; none unless both are finite
  std::optional<double> relative{};  // none unless both are finite and `expected` is not 0
  std::string got_bits{};            // hexadecimal where bits are compared, else empty
  std::string expected_bits{};
};

struct Differences {
  std::uint64_t elements = 0;
  std::uint64_t mismatches = 0;
  double max_ulp = 0;        // distance over the spacing of the output's type at the expected value
  double max_ulp_bound = 0;  // most distance allowed at that element, in the same unit
  double max_abs_error = 0;  // over elements that are finite in both
  double max_relative_error = 0;
  // -log2(|got - expected| / |expected|), norms over the elements that are finite in both; not below 0, and 0
  // where an element is NaN or infinite and must not be. None: no element is off.
  std::optional<double> effective_bits{};
};

struct OutputCheck {
  std::string name;
  Differences differences;
  std::uint64_t bytes = 0;
  std::uint64_t unwritten_bytes = 0;
};

// Over all outputs; the effective bits are the fewest of one.
struct CheckData : Differences {
  bool passed = false;
  std::vector<OutputCheck> outputs;
  // Of the elements that are finite and not as expected the one whose error is the largest part of its bound.
  std::string closest;  // "y[3]", empty when there is none
  double closest_error = 0;
  double closest_bound = 0;
  std::vector<WrongElement> worst;  // the worst first, at most 10
};

// Compares the outputs of a run with what was expected of them. Errors: input "missing-tensor",
// "wrong-size".
CheckData compare(const isa::KernelHeader& header, const config::Machine& machine,
                  const std::vector<ExpectedTensor>& expected, const Outputs& outputs);

// The same with the header's reference. A NaN is right only where the reference is NaN,
// or where a sum on the way may have overflown. Errors: those of expected_outputs().
CheckData check(const isa::KernelHeader& header, const config::Machine& machine, const Inputs& inputs,
                const Outputs& outputs);

// That an output has these elements, bit for bit.
ExpectedTensor exactly(const isa::Tensor& tensor, std::vector<std::byte> elements);

// What the header's reference gives, rounded to the types of the outputs. Errors: those of
// expected_outputs().
std::map<std::string, std::vector<std::byte>> expected_bytes(const isa::KernelHeader& header,
                                                             const config::Machine& machine,
                                                             const Inputs& inputs);

}  // namespace npulab::kernels
