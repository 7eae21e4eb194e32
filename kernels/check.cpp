// SPDX-License-Identifier: Apache-2.0
#include "kernels/check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "isa/error.hpp"
#include "kernels/reference_math.hpp"
#include "sim/values/convert.hpp"

namespace npulab::kernels {

namespace {

constexpr std::size_t kMostWorst = 10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.693147180559945309417;

struct Comparison {
  bool right = false;
  double error = 0;         // distance, 0 where either is not finite
  double excess = 0;        // over the bound; infinite for a wrong kind of number
  bool wrong_kind = false;  // NaN or infinite, or not, and must not be
};

Comparison compare(const Expectation& expected, double got, bool saturate) {
  Comparison result;
  if (std::isfinite(expected.value) && std::isfinite(got)) {
    result.error = std::fabs(got - expected.value);
    result.right = result.error <= expected.bound || (saturate && expected.may_overflow);
    result.excess = expected.bound > 0 ? result.error / expected.bound : result.error;
    return result;
  }
  const bool same = std::isnan(expected.value) ? std::isnan(got) : got == expected.value;
  // An overflow elsewhere in the sum can only add infinities, never take one away.
  const bool overflown = expected.may_overflow && !std::isnan(expected.value) && !std::isfinite(got) &&
                         (std::isfinite(expected.value) || std::isnan(got));
  result.right = same || overflown || (saturate && !std::isnan(expected.value) && !std::isnan(got));
  result.wrong_kind = !result.right;
  result.excess = result.right ? 0 : kInfinity;
  return result;
}

// Distance of neighbouring values of the type around `value`.
double spacing(isa::DType type, double value) {
  const isa::DTypeInfo& info = isa::info(type);
  if (!info.floating) return 1;
  const double tiny = values::decode_float(type, 1);
  if (value == 0 || !std::isfinite(value)) return tiny;
  return std::max(tiny, std::ldexp(1.0, std::ilogb(value) - static_cast<int>(info.mantissa_bits)));
}

std::vector<std::uint64_t> index_of(const isa::Tensor& tensor, std::uint64_t element) {
  std::vector<std::uint64_t> index(tensor.shape.size());
  for (std::size_t d = index.size(); d-- > 0;) {
    const auto size = static_cast<std::uint64_t>(tensor.shape[d]);
    index[d] = element % size;
    element /= size;
  }
  return index;
}

// Error over bound; where a bound is 0, every error is infinitely much of it.
double share(double error, double bound) {
  return bound > 0 ? error / bound : kInfinity;
}

// Sums of squares over the elements that are finite in both.
struct Norms {
  double error = 0;
  double expected = 0;
  bool wrong_kind = false;

  std::optional<double> effective_bits() const {
    if (wrong_kind) return 0.0;
    if (error == 0) return std::nullopt;
    return std::max(0.0, (log_of(expected) - log_of(error)) / (2 * kLn2));
  }
};

class Comparer {
 public:
  explicit Comparer(bool saturate) : saturate_(saturate) { data_.passed = true; }

  void add(const isa::Tensor& tensor, const ExpectedTensor& expected, const Output& output);
  CheckData result();

 private:
  struct Wrong {
    double excess;
    WrongElement element;
  };

  void numbers(const isa::Tensor& tensor, const std::vector<Expectation>& expected,
               std::span<const std::byte> got);
  void patterns(const isa::Tensor& tensor, const std::vector<std::byte>& expected,
                std::span<const std::byte> got);
  void count(const isa::Tensor& tensor, std::uint64_t index, const Expectation& want, double got,
             const Comparison& comparison);
  void keep_largest(const isa::Tensor& tensor, std::uint64_t index, const Expectation& want, double error);
  WrongElement* keep_wrong(const isa::Tensor& tensor, std::uint64_t index, const Expectation& want,
                           double got, const Comparison& comparison);

  bool saturate_;
  CheckData data_;
  OutputCheck* output_ = nullptr;
  Norms norms_;
  std::vector<Wrong> worst_;
};

// Largest differences, of elements that differ and are finite.
void Comparer::keep_largest(const isa::Tensor& tensor, std::uint64_t index, const Expectation& want,
                            double error) {
  Differences& most = output_->differences;
  most.max_abs_error = std::max(most.max_abs_error, error);
  if (want.value != 0)
    most.max_relative_error = std::max(most.max_relative_error, error / std::fabs(want.value));
  const double unit = spacing(tensor.type, want.value);
  if (error / unit > most.max_ulp) {
    most.max_ulp = error / unit;
    most.max_ulp_bound = want.bound / unit;
  }
  const double closest = share(data_.closest_error, data_.closest_bound);
  const double here = share(error, want.bound);
  if (data_.closest.empty() || here > closest || (here == closest && error > data_.closest_error)) {
    std::string place;
    for (const std::uint64_t one : index_of(tensor, index))
      place += fmt::format("{}{}", place.empty() ? "" : ", ", one);
    data_.closest = fmt::format("{}[{}]", tensor.name, place);
    data_.closest_error = error;
    data_.closest_bound = want.bound;
  }
}

// Null when it is not one of the worst.
WrongElement* Comparer::keep_wrong(const isa::Tensor& tensor, std::uint64_t index, const Expectation& want,
                                   double got, const Comparison& comparison) {
  const auto place =
      std::upper_bound(worst_.begin(), worst_.end(), comparison.excess,
                       [](double excess, const Wrong& other) { return excess > other.excess; });
  if (place == worst_.end() && worst_.size() == kMostWorst) return nullptr;
  WrongElement wrong{tensor.name, index_of(tensor, index), got, want.value, want.bound, want.may_overflow};
  if (std::isfinite(got) && std::isfinite(want.value)) {
    wrong.ulp = comparison.error / spacing(tensor.type, want.value);
    if (want.value != 0) wrong.relative = comparison.error / std::fabs(want.value);
  }
  const auto at = place - worst_.begin();
  worst_.insert(place, {comparison.excess, std::move(wrong)});
  if (worst_.size() > kMostWorst) worst_.pop_back();
  return &worst_[static_cast<std::size_t>(at)].element;
}

void Comparer::count(const isa::Tensor& tensor, std::uint64_t index, const Expectation& want, double got,
                     const Comparison& comparison) {
  ++output_->differences.elements;
  norms_.wrong_kind = norms_.wrong_kind || comparison.wrong_kind;
  if (std::isfinite(got) && std::isfinite(want.value)) {
    norms_.error += comparison.error * comparison.error;
    norms_.expected += want.value * want.value;
  }
  if (comparison.error > 0) keep_largest(tensor, index, want, comparison.error);
  if (comparison.right) return;
  ++output_->differences.mismatches;
  data_.passed = false;
}

void Comparer::numbers(const isa::Tensor& tensor, const std::vector<Expectation>& expected,
                       std::span<const std::byte> elements) {
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    const double got = values::to_double(tensor.type, elements.data(), i);
    const Comparison comparison = compare(expected[i], got, saturate_);
    count(tensor, i, expected[i], got, comparison);
    if (!comparison.right) keep_wrong(tensor, i, expected[i], got, comparison);
  }
}

// Elements fill whole bytes.
void Comparer::patterns(const isa::Tensor& tensor, const std::vector<std::byte>& expected,
                        std::span<const std::byte> elements) {
  const std::size_t size = isa::bits(tensor.type) / 8;
  const auto hexadecimal = [size](const std::byte* from) {
    std::uint32_t pattern = 0;
    std::memcpy(&pattern, from, size);
    return fmt::format("0x{:0{}x}", pattern, 2 * size);
  };
  for (std::size_t i = 0; i < expected.size() / size; ++i) {
    const Expectation want{values::to_double(tensor.type, expected.data(), i), 0, false};
    const double got = values::to_double(tensor.type, elements.data(), i);
    Comparison comparison = compare(want, got, false);
    comparison.right = std::memcmp(&expected[i * size], &elements[i * size], size) == 0;
    count(tensor, i, want, got, comparison);
    if (comparison.right) continue;
    comparison.excess = kInfinity;
    if (WrongElement* wrong = keep_wrong(tensor, i, want, got, comparison)) {
      wrong->got_bits = hexadecimal(&elements[i * size]);
      wrong->expected_bits = hexadecimal(&expected[i * size]);
    }
  }
}

void Comparer::add(const isa::Tensor& tensor, const ExpectedTensor& expected, const Output& output) {
  const std::uint64_t bytes = (tensor.elements() * isa::bits(tensor.type) + 7) / 8;
  if (output.elements.size() != bytes)
    throw Error(
        Category::input, "wrong-size",
        fmt::format("tensor '{}' has {} bytes, {} given", tensor.name, bytes, output.elements.size()));
  data_.outputs.push_back({tensor.name, {}, bytes, output.unwritten_bytes});
  output_ = &data_.outputs.back();
  norms_ = {};
  if (output.unwritten_bytes > 0) data_.passed = false;
  if (!expected.bits.empty())
    patterns(tensor, expected.bits, output.elements);
  else
    numbers(tensor, expected.elements, output.elements);
  output_->differences.effective_bits = norms_.effective_bits();
}

CheckData Comparer::result() {
  for (const OutputCheck& one : data_.outputs) {
    const Differences& part = one.differences;
    Differences& total = data_;
    total.elements += part.elements;
    total.mismatches += part.mismatches;
    if (part.max_ulp > total.max_ulp) {
      total.max_ulp = part.max_ulp;
      total.max_ulp_bound = part.max_ulp_bound;
    }
    total.max_abs_error = std::max(total.max_abs_error, part.max_abs_error);
    total.max_relative_error = std::max(total.max_relative_error, part.max_relative_error);
    if (part.effective_bits && (!total.effective_bits || *part.effective_bits < *total.effective_bits))
      total.effective_bits = part.effective_bits;
  }
  for (Wrong& wrong : worst_) data_.worst.push_back(std::move(wrong.element));
  return std::move(data_);
}

bool saturates(const config::Machine& machine) {
  return machine.numerics.overflow == config::Overflow::saturate;
}

const isa::Tensor& tensor_named(const isa::KernelHeader& header, const std::string& name) {
  return *std::find_if(header.tensors.begin(), header.tensors.end(),
                       [&](const isa::Tensor& one) { return one.name == name; });
}

}  // namespace

CheckData compare(const isa::KernelHeader& header, const config::Machine& machine,
                  const std::vector<ExpectedTensor>& expected, const Outputs& outputs) {
  Comparer comparer(saturates(machine));
  for (const ExpectedTensor& one : expected) {
    const auto output = outputs.find(one.name);
    if (output == outputs.end())
      throw Error(Category::input, "missing-tensor", fmt::format("the output '{}' is not given", one.name));
    comparer.add(tensor_named(header, one.name), one, output->second);
  }
  return comparer.result();
}

CheckData check(const isa::KernelHeader& header, const config::Machine& machine, const Inputs& inputs,
                const Outputs& outputs) {
  return compare(header, machine, expected_outputs(header, machine, inputs), outputs);
}

ExpectedTensor exactly(const isa::Tensor& tensor, std::vector<std::byte> elements) {
  ExpectedTensor expected{tensor.name, {}};
  if (isa::bits(tensor.type) % 8 == 0) {
    expected.bits = std::move(elements);
    return expected;
  }
  for (std::uint64_t i = 0; i < tensor.elements(); ++i)
    expected.elements.push_back({values::to_double(tensor.type, elements.data(), i), 0, false});
  return expected;
}

std::map<std::string, std::vector<std::byte>> expected_bytes(const isa::KernelHeader& header,
                                                             const config::Machine& machine,
                                                             const Inputs& inputs) {
  std::map<std::string, std::vector<std::byte>> all;
  for (ExpectedTensor& one : expected_outputs(header, machine, inputs)) {
    const isa::Tensor& tensor = tensor_named(header, one.name);
    std::vector<std::byte>& bytes = all[one.name];
    bytes = std::move(one.bits);
    bytes.resize((tensor.elements() * isa::bits(tensor.type) + 7) / 8);
    for (std::uint64_t i = 0; i < one.elements.size(); ++i)
      values::from_double(tensor.type, one.elements[i].value, bytes.data(), i, isa::Round::nearest_even,
                          saturates(machine));
  }
  return all;
}

}  // namespace npulab::kernels
