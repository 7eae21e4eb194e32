// SPDX-License-Identifier: Apache-2.0
// Softmax and norms once more, element by element in the order that the kernels state, to compare bits.
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/values/lanes.hpp"
#include "tests/kernels/norm_act_cases.hpp"

namespace npulab::kernels::test {
namespace {

using isa::DType;

float function(isa::Op op, float x) {
  float result = 0;
  const values::LaneFunction apply = values::lane_function(op, DType::f32, DType::none, {});
  apply(reinterpret_cast<std::byte*>(&result), reinterpret_cast<const std::byte*>(&x), nullptr, nullptr, 1);
  return result;
}

// Operands of f32 that a kernel holds: variables, which are UNROLL times HALVES of them, and single ones.
struct Registers {
  unsigned variables;
  unsigned singles;
};

// Sums along a row on a machine.
class Order {
 public:
  Order(const std::string& machine_name, DType type, Registers registers) {
    const isa::Target target = config::make_target(machine(machine_name));
    half_ = target.operation_bits / 32;
    const unsigned halves = 32 / isa::bits(type);
    const unsigned operands = target.vector_registers / (target.operation_bits / target.register_bits);
    const unsigned most = (operands - registers.singles) / (registers.variables * halves);
    wide_ = std::min(16U, std::bit_floor(most) * halves);
  }

  // `add` gives a partial sum and an element the next partial sum.
  template <class Add>
  float sum(const std::vector<float>& row, Add&& add) const {
    std::vector<float> partial(std::size_t{wide_} * half_, 0.0F);
    for (std::size_t i = 0; i < row.size(); ++i)
      partial[i % partial.size()] = add(partial[i % partial.size()], row[i]);
    while (partial.size() > 1) {
      const std::size_t operands = partial.size() / half_;
      const std::size_t kept = operands > 1 ? operands / 2 * half_ : std::bit_floor(partial.size() - 1);
      for (std::size_t i = 0; i + kept < partial.size(); ++i) partial[i] += partial[i + kept];
      partial.resize(kept);
    }
    return partial.front();
  }
  float plain_sum(const std::vector<float>& row) const {
    return sum(row, [](float sum, float x) { return sum + x; });
  }
  float sum_of_squares(const std::vector<float>& row) const {
    return sum(row, [](float sum, float x) { return std::fma(x, x, sum); });
  }

 private:
  unsigned half_ = 0;
  unsigned wide_ = 0;
};

std::vector<float> floats(const KernelRun& run, const std::string& name) {
  const isa::Tensor& one = tensor(run.header, name);
  std::vector<float> result(one.elements());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>(values::to_double(one.type, run.inputs.at(name).data(), i));
  return result;
}

std::vector<float> softmax(const Order& order, const KernelRun&, std::vector<float> row) {
  const float largest = *std::max_element(row.begin(), row.end());
  for (float& x : row) x = function(isa::Op::Vexp, x - largest);
  const float share = 1 / order.plain_sum(row);
  for (float& x : row) x *= share;
  return row;
}

float scale(const Order& order, const std::vector<float>& row) {
  constexpr float kEps = 10000000.0F * 1e-12F;
  return function(isa::Op::Vrsqrt, order.sum_of_squares(row) / static_cast<float>(row.size()) + kEps);
}

std::vector<float> layernorm(const Order& order, const KernelRun& run, std::vector<float> row) {
  const std::vector<float> gamma = floats(run, "gamma");
  const std::vector<float> beta = floats(run, "beta");
  const float mean = order.plain_sum(row) / static_cast<float>(row.size());
  for (float& x : row) x -= mean;
  const float by = scale(order, row);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::fma(row[i] * by, gamma[i], beta[i]);
  return row;
}

std::vector<float> rmsnorm(const Order& order, const KernelRun& run, std::vector<float> row) {
  const std::vector<float> gamma = floats(run, "gamma");
  const float by = scale(order, row);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] * by * gamma[i];
  return row;
}

struct Model {
  const char* family;
  Registers registers;
  std::vector<float> (*row)(const Order&, const KernelRun&, std::vector<float>);
};

TEST(NormActOrder, BitsAreThoseOfTheStatedOrder) {
  for (const Model& model : {Model{"softmax", {2, 2}, softmax}, Model{"layernorm", {3, 3}, layernorm},
                             Model{"rmsnorm", {2, 3}, rmsnorm}})
    for (const DType type : {DType::f16, DType::f32, DType::bf16})
      for (const char* on : {"ascend910_opsblas", "tiny", "edge"}) {
        SCOPED_TRACE(std::string(model.family) + " " + std::string(isa::name(type)) + " on " + on);
        constexpr std::size_t kRows = 3;
        constexpr std::size_t kColumns = 313;
        Launch launch;
        launch.machine = on;
        launch.cores = 2;
        const KernelRun result = verified({model.family, type}, launch, {kRows, kColumns});
        const std::vector<float> x = floats(result, "x");
        Bytes want(result.y.size());
        for (std::size_t row = 0; row < kRows; ++row) {
          const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * kColumns);
          const std::vector<float> y =
              model.row(Order(on, type, model.registers), result, {begin, begin + kColumns});
          for (std::size_t i = 0; i < kColumns; ++i)
            values::from_double(type, static_cast<double>(y[i]), want.data(), row * kColumns + i,
                                isa::Round::nearest_even, false);
        }
        EXPECT_TRUE(result.y == want);
      }
}

}  // namespace
}  // namespace npulab::kernels::test
