// SPDX-License-Identifier: Apache-2.0
// y = W x with quantised weights: group sizes, tails, packed halves of bytes, the least integers, any number
// of cores.
#include <cmath>

#include "sim/values/convert.hpp"
#include "tests/kernels/tensors.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

const std::vector<std::string> kMachines{"ascend910_opsblas", "tiny", "edge"};

Bytes encoded(isa::DType type, const std::vector<double>& elements) {
  Bytes bytes((elements.size() * isa::bits(type) + 7) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    values::from_double(type, elements[i], bytes.data(), i, isa::Round::nearest_even, false);
  return bytes;
}

std::vector<double> result(const Outcome& outcome) {
  std::vector<double> y(outcome["y"].size() / 4);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = values::to_double(isa::DType::f32, outcome["y"].data(), i);
  return y;
}

Launch launch_of(const std::string& kernel, const std::string& on, std::int64_t rows, std::int64_t columns,
                 std::int64_t group, std::int64_t beyond) {
  Launch launch;
  launch.kernel = kernel;
  launch.machine = on;
  launch.params = {{"M", rows}, {"K", columns}, {"ldw", (columns + 1) / 2 * 2 + beyond}};
  if (kernel != "quant/w8a8") launch.params["group"] = group;
  return launch;
}

class QuantGemv : public testing::TestWithParam<std::string> {};

TEST_P(QuantGemv, NU_19_SH_03_SH_06_SH_11_SH_12_every_shape_and_group) {
  int count = 0;
  for (const std::string& on : kMachines)
    for (const std::int64_t rows : {0, 1, 7, 8, 9, 31})
      for (const std::int64_t columns : {0, 1, 31, 32, 33, 63, 64, 65, 103, 199})
        for (const std::int64_t group : {2, 32, 64, 256}) {
          if (GetParam() == "quant/w8a8" && group != 2) continue;
          if (npulab::test::kSanitized && ++count % 5 != 0) continue;
          ++count;
          run_all(launch_of(GetParam(), on, rows, columns, group, count % 3 * 4), count % 16 == 0);
        }
}

TEST_P(QuantGemv, NU_19_long_rows_in_pieces) {
  for (const std::int64_t group : {32, 64, 128, 256, 300, 4096})
    for (const std::int64_t columns : {544, 608, 1000, 1664, 4095}) {
      if (GetParam() == "quant/w8a8" && group != 32) continue;
      run_all(launch_of(GetParam(), "ascend910_opsblas", 21, columns, group, 0));
    }
  for (const std::string& on : {std::string("tiny"), std::string("edge")})
    for (const std::int64_t columns : {500, 701}) run_all(launch_of(GetParam(), on, 11, columns, 20, 0));
  run_all(launch_of(GetParam(), "ascend910_opsblas", 9, 40001, 96, 0));
}

TEST_P(QuantGemv, DE_05_same_bits_on_any_number_of_cores) {
  std::vector<Bytes> results;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch = launch_of(GetParam(), "ascend910_opsblas", 301, 333, 64, 0);
    launch.cores = cores;
    results.push_back(run_all(launch, true)["y"]);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(QuantGemv, SH_04_padding_takes_no_part) {
  std::vector<Bytes> results;
  for (const std::byte padding : {std::byte{0}, std::byte{0xd1}, std::byte{0xff}, std::byte{0x7c}}) {
    Launch launch = launch_of(GetParam(), "ascend910_opsblas", 19, 21, 8, 12);
    launch.padding = padding;
    results.push_back(run_all(launch)["y"]);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

// Infinity in one group stays out of sums of the groups beside it, where its weight is 0 it gives NaN.
TEST_P(QuantGemv, SpecialValuesOfX) {
  Launch launch = launch_of(GetParam(), "ascend910_opsblas", 2, 40, 20, 0);
  std::vector<double> x(40, 1);
  x[20] = std::numeric_limits<double>::infinity();
  std::vector<double> weights(80, 1);
  weights[40 + 20] = 0;
  launch.inputs["x"] = encoded(isa::DType::f16, x);
  launch.inputs["W"] = encoded(GetParam() == "quant/w4a16" ? isa::DType::i4 : isa::DType::i8, weights);
  launch.data["scale"] = "ones";
  const std::vector<double> y = result(run_all(launch));
  if (GetParam() == "quant/w8a8") {
    EXPECT_TRUE(std::isnan(y[0]));
  } else {
    EXPECT_EQ(y[0], std::numeric_limits<double>::infinity());
  }
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST_P(QuantGemv, NU_15_zero_scales_and_zero_x_give_zeros) {
  for (const char* zero : {"scale", "x"}) {
    Launch launch = launch_of(GetParam(), "tiny", 5, 37, 16, 0);
    launch.data[zero] = "zeros";
    for (const double one : result(run_all(launch))) EXPECT_EQ(one, 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, QuantGemv, testing::Values("quant/w8a16", "quant/w4a16", "quant/w8a8"),
                         [](const auto& test) { return test.param.substr(test.param.find('/') + 1); });

TEST(QuantGemvByHand, NU_10_NU_11_the_least_integers_lose_nothing) {
  Launch launch = launch_of("quant/w8a16", "tiny", 2, 4, 2, 0);
  launch.inputs = {{"W", encoded(isa::DType::i8, {-128, -128, 127, 127, -128, 127, -128, 127})},
                   {"scale", encoded(isa::DType::f32, {1, 2, 0.5, 1})},
                   {"x", encoded(isa::DType::f16, {127, -128, 127, 127})}};
  EXPECT_EQ(result(run_all(launch)),
            (std::vector<double>{128 + 2 * 127 * 254, 0.5 * (-128 * 127 - 127 * 128) - 127}));
  launch = launch_of("quant/w4a16", "tiny", 1, 5, 2, 0);
  launch.inputs = {{"W", encoded(isa::DType::i4, {-8, 7, -1, 3, 5, -8})},
                   {"scale", encoded(isa::DType::f32, {1, 10, 100})},
                   {"x", encoded(isa::DType::f16, {1, 2, 3, 4, 5})}};
  EXPECT_EQ(result(run_all(launch)), (std::vector<double>{6 + 90 + 2500}));
  // The low half of a byte comes first.
  EXPECT_EQ(launch.inputs["W"].front(), std::byte{0x78});
  launch = launch_of("quant/w8a8", "tiny", 1, 64, 2, 0);
  launch.inputs = {{"W", encoded(isa::DType::i8, std::vector<double>(64, -128))},
                   {"scale", encoded(isa::DType::f32, {1})},
                   {"x", encoded(isa::DType::f16, std::vector<double>(64, -127))}};
  EXPECT_EQ(result(run_all(launch)), (std::vector<double>{64.0 * 128 * 127}));
}

// The same bits as gemv/int8 with x quantised beforehand, where the step is a power of two.
TEST(QuantGemvByHand, DynamicStepsAgreeWithGemvOfIntegers) {
  constexpr std::size_t kRows = 40;
  constexpr std::size_t kColumns = 100;
  std::vector<double> q(kColumns);
  std::vector<double> x(kColumns);
  for (std::size_t k = 0; k < kColumns; ++k) {
    q[k] = k == 50 ? 127 : static_cast<double>(k * 37 % 251) - 125;
    x[k] = q[k] * 0.125;
  }
  std::vector<double> scales(kRows);
  for (std::size_t m = 0; m < kRows; ++m) scales[m] = 0.001 * static_cast<double>(m + 1);
  const Bytes weights = noise(kRows * kColumns);
  Launch launch = launch_of("quant/w8a8", "ascend910_opsblas", kRows, kColumns, 2, 0);
  launch.inputs = {
      {"W", weights}, {"x", encoded(isa::DType::f16, x)}, {"scale", encoded(isa::DType::f32, scales)}};
  const std::vector<double> y = result(run_all(launch));
  Launch other;
  other.kernel = "gemv/int8";
  other.params = {{"M", kRows}, {"K", kColumns}};
  for (double& scale : scales) scale *= 0.125;
  other.inputs = {
      {"A", weights}, {"x", encoded(isa::DType::i8, q)}, {"scale", encoded(isa::DType::f32, scales)}};
  const KernelRun integers = run(other);
  for (std::size_t m = 0; m < kRows; ++m) {
    const std::uint32_t half = values::encode_float(isa::DType::f16, y[m]);
    EXPECT_EQ(values::decode_float(isa::DType::f16, half),
              values::to_double(isa::DType::f16, integers.y.data(), m));
  }
}

TEST(QuantGemvRefusal, HalvesOfBytesGroupsAndBuffers) {
  Launch launch = launch_of("quant/w4a16", "tiny", 4, 100, 33, 0);
  EXPECT_NE(refused(launch).find("group = 33: a group of i4 begins with a byte"), std::string::npos);
  launch.params["group"] = 100;
  launch.params["ldw"] = 101;
  EXPECT_NE(refused(launch).find("ldw = 101: a row of i4 begins with a byte"), std::string::npos);
  launch = launch_of("quant/w8a16", "tiny", 4, 3000, 32, 0);
  EXPECT_NE(refused(launch).find("x of 3000 columns (6016 bytes)"), std::string::npos) << refused(launch);
  launch = launch_of("quant/w8a16", "tiny_ub", 4, 30, 32, 0);
  EXPECT_NE(refused(launch).find("this kernel needs vector registers"), std::string::npos);
  launch = launch_of("quant/w8a8", "ascend910_opsblas", 4, 131072, 32, 0);
  EXPECT_NE(refused(launch).find("K = 131072 is not in 0..131071"), std::string::npos);
}

}  // namespace
}  // namespace npulab::kernels::test
