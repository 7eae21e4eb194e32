// SPDX-License-Identifier: Apache-2.0
// Quantisation on the vector unit: scales, both directions, every granularity, ties, zeros, tails.
#include <cmath>
#include <limits>

#include "sim/values/convert.hpp"
#include "tests/kernels/tensors.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

const std::vector<std::string> kMachines{"ascend910_opsblas", "tiny", "edge"};
constexpr std::int64_t kTile = 32;  // columns of i8 in an operation of the largest machine
const std::vector<std::int64_t> kSides{0, 1, kTile - 1, kTile, kTile + 1, 3 * kTile + 7};

Bytes encoded(isa::DType type, const std::vector<double>& elements) {
  Bytes bytes(elements.size() * isa::bits(type) / 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    values::from_double(type, elements[i], bytes.data(), i, isa::Round::nearest_even, false);
  return bytes;
}

std::vector<double> decoded(isa::DType type, const Bytes& bytes) {
  std::vector<double> elements(bytes.size() * 8 / isa::bits(type));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = values::to_double(type, bytes.data(), i);
  return elements;
}

struct Kernel {
  std::string name;
  std::int64_t bits;  // 0: has no such parameter
  bool scaled;        // takes scales
};

void PrintTo(const Kernel& kernel, std::ostream* out) {
  *out << kernel.name << " " << kernel.bits;
}

Launch launch_of(const Kernel& kernel, const std::string& on, std::int64_t rows, std::int64_t columns,
                 std::int64_t by, std::int64_t beyond) {
  Launch launch;
  launch.kernel = kernel.name;
  launch.machine = on;
  launch.params = {{"M", rows}, {"N", columns}, {"ldx", columns + beyond}};
  if (kernel.bits > 0) launch.params["element_bits"] = kernel.bits;
  if (kernel.name != "quant/calibrate_percentile") {
    launch.params["by"] = by;
    launch.params["group"] = 20;
  }
  if (kernel.scaled) launch.params["ldy"] = columns + 2 * beyond;
  launch.data["x"] = "random:7";
  launch.data["scale"] = kernel.name == "quant/requantize" ? "const:3e-8" : "random:9";
  return launch;
}

class Quant : public testing::TestWithParam<Kernel> {};

std::int64_t granularities(const Kernel& kernel) {
  if (kernel.name == "quant/calibrate_percentile") return 1;
  return kernel.scaled ? 4 : 3;
}

TEST_P(Quant, SH_04_SH_06_SH_12_every_shape_granularity_and_machine) {
  int count = 0;
  for (const std::string& on : kMachines)
    for (std::int64_t by = 0; by < granularities(GetParam()); ++by)
      for (const std::int64_t rows : {0, 1, 5, 39})
        for (const std::int64_t columns : kSides) {
          if (GetParam().name == "quant/calibrate_percentile" && (rows == 5 || columns == kTile)) continue;
          ++count;
          run_all(launch_of(GetParam(), on, rows, columns, by, count % 3 * 5), count % 8 == 0);
          if (npulab::test::kSanitized && count % 24 > 6) break;
        }
}

TEST_P(Quant, RowsLongerThanTheBuffer) {
  for (const std::string& on : kMachines)
    for (std::int64_t by = 0; by < granularities(GetParam()); ++by) {
      const bool large = on == "ascend910_opsblas";
      if (large && GetParam().name == "quant/calibrate_percentile") continue;
      run_all(launch_of(GetParam(), on, 3, large ? 80003 : 3001, by, 0));
    }
}

TEST_P(Quant, DE_05_same_bits_on_any_number_of_cores) {
  for (std::int64_t by = 0; by < granularities(GetParam()); ++by) {
    std::vector<Bytes> results;
    for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
      Launch launch = launch_of(GetParam(), "ascend910_opsblas", 75, 91, by, 0);
      launch.cores = cores;
      results.push_back(run_all(launch, true)[GetParam().scaled ? "y" : "scale"]);
    }
    for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
  }
}

// NaN, infinities, subnormals and all else.
TEST_P(Quant, NU_22_every_bit_pattern) {
  if (GetParam().bits == 0) return;
  for (std::int64_t by = 0; by < granularities(GetParam()); ++by) {
    Launch launch = launch_of(GetParam(), "ascend910_opsblas", 64, 100, by, 0);
    const isa::KernelHeader header = find_kernel(launch.kernel, folders(), launch.params).header;
    launch.inputs["x"] = noise(dense_bytes(tensor(header, "x")));
    if (GetParam().scaled) launch.inputs["scale"] = noise(dense_bytes(tensor(header, "scale")));
    run_all(launch);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Quant,
    testing::Values(Kernel{"quant/calibrate_absmax", 16, false}, Kernel{"quant/calibrate_absmax", 32, false},
                    Kernel{"quant/calibrate_percentile", 16, false},
                    Kernel{"quant/calibrate_percentile", 32, false}, Kernel{"quant/quantize", 16, true},
                    Kernel{"quant/quantize", 32, true}, Kernel{"quant/dequantize", 16, true},
                    Kernel{"quant/dequantize", 32, true}, Kernel{"quant/requantize", 0, true}),
    [](const auto& test) {
      return test.param.name.substr(test.param.name.find('/') + 1) +
             (test.param.bits > 0 ? std::to_string(test.param.bits) : "");
    });

std::vector<double> quantized(const std::vector<double>& x, double scale, std::int64_t lowest = -128) {
  Launch launch;
  launch.kernel = "quant/quantize";
  launch.machine = "tiny";
  launch.params = {{"M", 1},
                   {"N", static_cast<std::int64_t>(x.size())},
                   {"element_bits", 32},
                   {"by", 0},
                   {"lowest", lowest}};
  launch.inputs = {{"x", encoded(isa::DType::f32, x)}, {"scale", encoded(isa::DType::f32, {scale})}};
  return decoded(isa::DType::i8, run_all(launch)["y"]);
}

TEST(QuantByHand, NU_13_ties_go_to_even) {
  std::vector<double> x;
  std::vector<double> want;
  for (int k = -130; k <= 130; ++k) {
    x.push_back((k + 0.5) * 0.25);
    const int even = k % 2 == 0 ? k : k + 1;
    want.push_back(std::clamp(even, -128, 127));
  }
  EXPECT_EQ(quantized(x, 0.25), want);
}

TEST(QuantByHand, NU_14_rounded_then_clamped_never_cut) {
  EXPECT_EQ(quantized({0.5003, -0.5003, 0.4997, -0.4997, 126.7, 127.5, 1e30, -128.4, -1e30}, 1),
            (std::vector<double>{1, -1, 0, 0, 127, 127, 127, -128, -128}));
  EXPECT_EQ(quantized({-128, -127.5, -126.4}, 1, -127), (std::vector<double>{-127, -127, -126}));
}

TEST(QuantByHand, NU_15_zeros_stay_zeros) {
  EXPECT_EQ(quantized({0.0, -0.0, 1.0, -3.0}, 0), (std::vector<double>{0, 0, 0, 0}));
  // Dynamic quantisation of a matrix with a row of zeros, there and back.
  Launch launch;
  launch.machine = "tiny";
  std::vector<double> x(3 * 20, 0.0);
  for (std::size_t i = 0; i < 20; ++i) {
    x[i] = static_cast<double>(i) - 7;
    x[40 + i] = 1e-3 * static_cast<double>(i);
  }
  launch.params = {{"M", 3}, {"N", 20}, {"element_bits", 32}};
  launch.kernel = "quant/calibrate_absmax";
  launch.inputs["x"] = encoded(isa::DType::f32, x);
  launch.inputs["scale"] = run_all(launch)["scale"];
  EXPECT_EQ(decoded(isa::DType::f32, launch.inputs["scale"])[1], 0.0);
  launch.kernel = "quant/quantize";
  launch.inputs["x"] = encoded(isa::DType::f32, x);
  launch.inputs["x"] = run_all(launch)["y"];
  launch.kernel = "quant/dequantize";
  const std::vector<double> back = decoded(isa::DType::f32, run_all(launch)["y"]);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], i < 20 ? 12 / 254.0 : 0.019 / 254);
  for (std::size_t i = 20; i < 40; ++i) EXPECT_EQ(back[i], 0.0);
}

TEST(QuantByHand, NU_10_the_least_integer_has_its_value) {
  Launch launch;
  launch.kernel = "quant/dequantize";
  launch.machine = "tiny";
  launch.params = {{"M", 1}, {"N", 3}, {"by", 0}};
  launch.inputs = {{"x", encoded(isa::DType::i8, {-128, 127, -1})},
                   {"scale", encoded(isa::DType::f32, {0.5})}};
  EXPECT_EQ(decoded(isa::DType::f16, run_all(launch)["y"]), (std::vector<double>{-64, 63.5, -0.5}));
}

TEST(QuantByHand, RequantizeRoundsTheSumThenTheProduct) {
  Launch launch;
  launch.kernel = "quant/requantize";
  launch.machine = "tiny";
  launch.params = {{"M", 1}, {"N", 6}, {"by", 0}};
  launch.inputs = {{"x", encoded(isa::DType::i32, {-2147483648.0, 2147483647, 3, 5, -3, 16777217})},
                   {"scale", encoded(isa::DType::f32, {0.5})}};
  EXPECT_EQ(decoded(isa::DType::i8, run_all(launch)["y"]), (std::vector<double>{-128, 127, 2, 2, -2, 127}));
}

TEST(QuantByHand, PercentilesByPlace) {
  for (const auto& [ppm, place] : {std::pair(1, 1), std::pair(500000, 5), std::pair(500001, 6),
                                   std::pair(900000, 9), std::pair(900001, 10), std::pair(1000000, 10)}) {
    Launch launch;
    launch.kernel = "quant/calibrate_percentile";
    launch.machine = "tiny";
    launch.params = {{"M", 2}, {"N", 5}, {"ppm", ppm}, {"steps", 1}};
    launch.inputs["x"] = encoded(isa::DType::f16, {-10, 3, 1, -2, 9, 8, -4, 6, 5, -7});
    EXPECT_EQ(decoded(isa::DType::f32, run_all(launch)["scale"]), (std::vector<double>{1.0 * place})) << ppm;
  }
}

TEST(QuantByHand, AbsmaxOfGroupsWithATailAndANan) {
  Launch launch;
  launch.kernel = "quant/calibrate_absmax";
  launch.machine = "tiny";
  launch.params = {{"M", 2}, {"N", 5}, {"by", 2}, {"group", 3}, {"steps", 1}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  launch.inputs["x"] = encoded(isa::DType::f16, {1, -5, 2, 3, -4, 0, 0, -0.0, nan, 9});
  const std::vector<double> scales = decoded(isa::DType::f32, run_all(launch)["scale"]);
  EXPECT_EQ(scales[0], 5);
  EXPECT_EQ(scales[1], 4);
  EXPECT_EQ(scales[2], 0);
  EXPECT_TRUE(std::isnan(scales[3]));
}

TEST(QuantRefusal, NU_19_groups_that_do_not_fit) {
  Launch launch;
  launch.kernel = "quant/quantize";
  launch.machine = "tiny";
  launch.params = {{"M", 2}, {"N", 5000}, {"by", 2}, {"group", 4000}};
  EXPECT_NE(refused(launch).find("group = 4000: at most "), std::string::npos);
  launch.machine = "tiny_ub";
  launch.params = {};
  EXPECT_NE(refused(launch).find("this kernel needs vector registers"), std::string::npos);
  launch.kernel = "quant/calibrate_absmax";
  launch.params = {{"element_bits", 24}};
  EXPECT_NE(refused(launch).find("element_bits = 24: x is f16 (16) or f32 (32)"), std::string::npos);
}

}  // namespace
}  // namespace npulab::kernels::test
