// SPDX-License-Identifier: Apache-2.0
// References of attention and of its two products: the exact result, and a bound that holds for blocks of
// keys in order under a running maximum, with shares in f16 and sums in f32.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/reference_case.hpp"
#include "kernels/reference_math.hpp"
#include "kernels/running_error.hpp"

namespace npulab::kernels {

namespace {

using isa::DType;

F32Arithmetic arithmetic_of(const ReferenceCase& reference) {
  const unsigned lanes = config::make_target(reference.machine).operation_bits / isa::bits(DType::f32);
  return {std::max(1U, lanes), reference.machine.numerics.overflow == config::Overflow::saturate};
}

std::uint64_t size(const isa::Tensor& tensor, std::size_t dimension) {
  return static_cast<std::uint64_t>(tensor.shape[dimension]);
}

// A matrix for each head, decoded. Heads of queries share those of keys in equal runs.
struct Heads {
  Heads(const ReferenceArguments& arguments, const std::string& argument)
      : data(arguments.input(argument, 3)),
        heads(size(*data.tensor, 0)),
        rows(size(*data.tensor, 1)),
        columns(size(*data.tensor, 2)),
        values(data.tensor->elements()) {
    for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = data.at(i);
  }

  const double* row(std::uint64_t head, std::uint64_t row) const {
    return values.data() + (head * rows + row) * columns;
  }
  std::uint64_t shared(std::uint64_t head, std::uint64_t of) const { return head / (of / heads); }

  TensorData data;
  std::uint64_t heads;
  std::uint64_t rows;
  std::uint64_t columns;
  std::vector<double> values;
};

void need_shared(const ReferenceArguments& arguments, const Heads& queries, const Heads& keys,
                 const std::string& name) {
  if (keys.heads == 0 || queries.heads % keys.heads != 0)
    arguments.refuse(name, fmt::format("its {} heads must divide {}", keys.heads, queries.heads));
}

const isa::Tensor& output_of(const ReferenceArguments& arguments, const std::string& name,
                             std::uint64_t heads, std::uint64_t rows, std::uint64_t columns) {
  const isa::Tensor& tensor = arguments.output(name, 3);
  if (size(tensor, 0) != heads || size(tensor, 1) != rows || size(tensor, 2) != columns)
    arguments.refuse(name, fmt::format("it must be {} x {} x {}", heads, rows, columns));
  return tensor;
}

// 1 / sqrt(d) as the vector unit has it.
Bounded root(const F32Arithmetic& a, std::uint64_t d) {
  return a.quotient({1}, a.constant(std::sqrt(static_cast<double>(d))));
}

// Rows of scores, before the scale of 1 / sqrt(d) a chain of d steps.
Bounded score(const F32Arithmetic& a, const double* query, const double* key, std::uint64_t d,
              Bounded scale) {
  double sum = 0;
  double magnitude = 0;
  for (std::uint64_t k = 0; k < d; ++k) {
    const double product = query[k] * key[k];
    sum += product;
    if (std::isfinite(product)) magnitude += std::fabs(product);
  }
  return a.product(a.chain(sum, magnitude, d), scale);
}

// Weights of the keys that a query sees, relative to the largest of its scores.
struct Weights {
  std::vector<Bounded> of_key;  // computed in f32, at most off by `error`
  Bounded total;
  bool nan = false;
  bool wild = false;
};

class AttentionCase {
 public:
  explicit AttentionCase(const ReferenceCase& reference)
      : arguments_(reference),
        a_(arithmetic_of(reference)),
        queries_(arguments_, "Q"),
        keys_(arguments_, "K"),
        values_(arguments_, "V"),
        o_(output_of(arguments_, "O", queries_.heads, queries_.rows, queries_.columns)),
        keys_seen_(arguments_.has("keys") ? static_cast<std::uint64_t>(arguments_.number("keys"))
                                          : keys_.rows),
        causal_(arguments_.has("causal") && arguments_.number("causal") != 0),
        scale_(root(a_, queries_.columns)) {
    need_shared(arguments_, queries_, keys_, "K");
    if (keys_.columns != queries_.columns)
      arguments_.refuse("K", fmt::format("it must have {} columns", queries_.columns));
    if (values_.data.tensor->shape != keys_.data.tensor->shape) arguments_.refuse("V", "it must be as K");
    if (keys_seen_ > keys_.rows) arguments_.refuse("keys", fmt::format("K has {}", keys_.rows));
    const std::int64_t block = arguments_.number("block");
    if (block < 1) arguments_.refuse("block", "it is at least 1");
    const std::uint64_t most = std::min(static_cast<std::uint64_t>(block), keys_seen_);
    const std::uint64_t blocks = most == 0 ? 0 : (keys_seen_ + most - 1) / most;
    // A share passes the sum of its block, then a fused step for each further one.
    sum_growth_ = growth_of(kF32Roundoff, most + blocks);
    // Its own power, and a decay for each further block.
    power_growth_ = growth_of(kF32Roundoff * 1.002, blocks + 1);
  }

  std::vector<ExpectedTensor> result() const {
    ExpectedTensor expected{o_.name, std::vector<Expectation>(o_.elements())};
    for (std::uint64_t head = 0; head < queries_.heads; ++head)
      for (std::uint64_t row = 0; row < queries_.rows && queries_.columns > 0; ++row) {
        const Weights weights = weights_of(head, row);
        Expectation* out = expected.elements.data() + (head * queries_.rows + row) * queries_.columns;
        for (std::uint64_t i = 0; i < queries_.columns; ++i)
          out[i] = a_.expectation(element(weights, head, i), o_.type);
      }
    return {std::move(expected)};
  }

 private:
  static constexpr double kF32Roundoff = 0x1p-24;
  static constexpr double kF16Roundoff = 0x1p-11;
  static constexpr double kF16Tiny = 0x1p-24;
  static constexpr double kF32Tiny = 0x1p-149;

  std::uint64_t seen(std::uint64_t row) const {
    if (!causal_) return keys_seen_;
    const std::uint64_t past = row + 1 + keys_seen_;
    return past <= queries_.rows ? 0 : std::min(keys_seen_, past - queries_.rows);
  }

  Weights weights_of(std::uint64_t head, std::uint64_t row) const {
    Weights weights;
    double largest = -std::numeric_limits<double>::infinity();
    const std::uint64_t kv = keys_.shared(head, queries_.heads);
    weights.of_key.resize(seen(row));
    for (std::uint64_t k = 0; k < weights.of_key.size(); ++k) {
      Bounded& s = weights.of_key[k];
      s = score(a_, queries_.row(head, row), keys_.row(kv, k), queries_.columns, scale_);
      weights.wild = weights.wild || s.wild;
      weights.nan = weights.nan || std::isnan(s.value) || s.value == std::numeric_limits<double>::infinity();
      largest = std::max(largest, s.value);
    }
    if (weights.nan || weights.wild) return weights;
    double magnitude_error = 0;
    for (Bounded& s : weights.of_key) {
      if (std::isinf(s.value)) {
        s = {0};
        continue;
      }
      // The largest score itself cancels between O and the total; differences round once for each block, and
      // those roundings add up to one of the whole distance.
      const double shift = s.error + kF32Roundoff * (largest - s.value + 2 * s.error);
      const double value = exp_of(s.value - largest);
      const double growth = exp_of(shift) - 1 + power_growth_ * exp_of(shift);
      s = {value, value * growth + kF32Tiny};
      weights.total.value += value;
      magnitude_error += s.error;
    }
    weights.total.error = magnitude_error + sum_growth_ * (weights.total.value + magnitude_error);
    return weights;
  }

  Bounded element(const Weights& weights, std::uint64_t head, std::uint64_t column) const {
    if (weights.wild) return {0, 0, true};
    if (weights.nan) return {std::numeric_limits<double>::quiet_NaN()};
    const std::uint64_t kv = values_.shared(head, queries_.heads);
    Bounded sum;
    double magnitude = 0;
    bool wild = false;
    for (std::uint64_t k = 0; k < keys_seen_; ++k) {
      const double v = values_.row(kv, k)[column];
      if (!std::isfinite(v)) {
        // A NaN that is seen shows; what is masked or has a share of nearly 0 may, by the block it stands in.
        if (std::isnan(v) && k < weights.of_key.size()) return {v};
        wild = true;
        continue;
      }
      if (k >= weights.of_key.size()) continue;
      const Bounded& w = weights.of_key[k];
      sum.value += w.value * v;
      magnitude += w.value * std::fabs(v);
      sum.error += std::fabs(v) * (w.error + kF16Roundoff * (w.value + w.error) + kF16Tiny);
    }
    if (wild) return {0, 0, true};
    if (weights.total.value == 0) return {0};
    sum.error += sum_growth_ * (magnitude + sum.error);
    return a_.product(sum, a_.quotient({1}, weights.total));
  }

  ReferenceArguments arguments_;
  F32Arithmetic a_;
  Heads queries_;
  Heads keys_;
  Heads values_;
  const isa::Tensor& o_;
  std::uint64_t keys_seen_;
  bool causal_;
  Bounded scale_;
  double sum_growth_ = 0;
  double power_growth_ = 0;
};

// Scales of scores from integers.
struct Scales {
  std::optional<TensorData> query;
  std::optional<TensorData> key;
};

Expectation integer_score(const double* query, const double* key, std::uint64_t d, float q_scale,
                          float k_scale, DType type, bool saturate) {
  double sum = 0;  // below 2^53 exact
  for (std::uint64_t k = 0; k < d; ++k) sum += query[k] * key[k];
  const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
  const float root = 1.0F / std::sqrt(static_cast<float>(d));
  const float by_head = q_scale * root;
  const float factor = k_scale * by_head;
  const float product = static_cast<float>(wrapped) * factor;
  return {stored(type, product, saturate)};
}

}  // namespace

std::vector<ExpectedTensor> attention_reference(const ReferenceCase& reference) {
  return AttentionCase(reference).result();
}

std::vector<ExpectedTensor> attention_scores_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const F32Arithmetic a = arithmetic_of(reference);
  const Heads queries(arguments, "Q");
  const Heads keys(arguments, "K");
  need_shared(arguments, queries, keys, "K");
  const isa::Tensor& p = output_of(arguments, "P", queries.heads, queries.rows, keys.rows);
  const Scales scales{arguments.optional_input("q_scale", 1), arguments.optional_input("k_scale", 2)};
  const bool integer = !isa::info(queries.data.tensor->type).floating;
  if (integer != scales.query.has_value() || integer != scales.key.has_value())
    arguments.refuse("q_scale", "integers have q_scale and k_scale, floats neither");
  if (scales.query && (size(*scales.query->tensor, 0) != queries.heads ||
                       scales.key->tensor->elements() != keys.heads * keys.rows))
    arguments.refuse("q_scale", "q_scale has a number for each head of Q, k_scale for each key of a head");
  const bool saturate = reference.machine.numerics.overflow == config::Overflow::saturate;
  const Bounded scale = root(a, queries.columns);
  ExpectedTensor expected{p.name, std::vector<Expectation>(p.elements())};
  std::uint64_t index = 0;
  for (std::uint64_t head = 0; head < queries.heads; ++head) {
    const std::uint64_t kv = keys.shared(head, queries.heads);
    for (std::uint64_t row = 0; row < queries.rows; ++row)
      for (std::uint64_t k = 0; k < keys.rows; ++k) {
        const double* query = queries.row(head, row);
        const double* key = keys.row(kv, k);
        expected.elements[index++] =
            integer ? integer_score(query, key, queries.columns, static_cast<float>(scales.query->at(head)),
                                    static_cast<float>(scales.key->at(kv * keys.rows + k)), p.type, saturate)
                    : a.expectation(score(a, query, key, queries.columns, scale), p.type);
      }
  }
  return {std::move(expected)};
}

std::vector<ExpectedTensor> attention_values_reference(const ReferenceCase& reference) {
  const ReferenceArguments arguments(reference);
  const F32Arithmetic a = arithmetic_of(reference);
  const Heads shares(arguments, "P");
  const Heads values(arguments, "V");
  need_shared(arguments, shares, values, "V");
  if (shares.columns != values.rows)
    arguments.refuse("V", fmt::format("it must have {} rows", shares.columns));
  const isa::Tensor& o = output_of(arguments, "O", shares.heads, shares.rows, values.columns);
  ExpectedTensor expected{o.name, std::vector<Expectation>(o.elements())};
  std::uint64_t index = 0;
  for (std::uint64_t head = 0; head < shares.heads; ++head) {
    const std::uint64_t kv = values.shared(head, shares.heads);
    for (std::uint64_t row = 0; row < shares.rows; ++row)
      for (std::uint64_t i = 0; i < values.columns; ++i) {
        double sum = 0;
        double magnitude = 0;
        for (std::uint64_t k = 0; k < shares.columns; ++k) {
          const double product = shares.row(head, row)[k] * values.row(kv, k)[i];
          sum += product;
          if (std::isfinite(product)) magnitude += std::fabs(product);
        }
        expected.elements[index++] = a.expectation(a.chain(sum, magnitude, shares.columns), o.type);
      }
  }
  return {std::move(expected)};
}

}  // namespace npulab::kernels
