// SPDX-License-Identifier: Apache-2.0
// Softmax, norms and activations: single results that can be told beforehand, refusals, bytes that fusion
// saves.
#include <cmath>

#include "kernels/reference_math.hpp"
#include "tests/kernels/norm_act_cases.hpp"

namespace npulab::kernels::test {
namespace {

using isa::DType;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(NormActSoftmax, MaskedRowsAreZeros) {
  for (const DType type : {DType::f16, DType::f32, DType::bf16}) {
    Launch launch;
    // Row 0: all masked, and NaN below the mask. Row 1: one element is left.
    launch.inputs = {
        {"x", encoded(type, {kNan, kInf, 1, 2, 3, 4})},
        {"mask", {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}, std::byte{0}}}};
    const KernelRun boolean = verified({"softmax_mask", type}, launch, {2, 3});
    for (const std::uint64_t i : {0U, 1U, 2U, 3U, 5U}) EXPECT_EQ(element(boolean, i), 0.0);
    EXPECT_EQ(element(boolean, 4), 1.0);

    launch.inputs = {{"x", encoded(type, {1, 5, 1, 2, 3, 4})},
                     {"mask", encoded(type, {-kInf, -kInf, -kInf, -kInf, 0, -kInf})}};
    const KernelRun additive = verified({"softmax_additive", type}, launch, {2, 3});
    for (const std::uint64_t i : {0U, 1U, 2U, 3U, 5U}) EXPECT_EQ(element(additive, i), 0.0);
    EXPECT_EQ(element(additive, 4), 1.0);
  }
}

TEST(NormActSoftmax, NU_05_masked_rows_are_zeros_where_the_machine_saturates) {
  config::Machine saturating = machine("tiny");
  saturating.numerics.overflow = config::Overflow::saturate;
  for (const DType type : {DType::f16, DType::f32, DType::bf16}) {
    const std::string name = RowKernel{"softmax_mask", type}.name();
    const isa::Kernel kernel = assemble_kernel(name, folders(), saturating, {{"M", 2}, {"N", 2}});
    const Bytes x = encoded(type, {-kInf, kInf, -kInf, 2});
    const Bytes mask{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1}};
    Simulation simulation(saturating, kernel, {});
    simulation.set_input("x", x);
    simulation.set_input("mask", mask);
    simulation.run();
    EXPECT_TRUE(simulation.output("y") == encoded(type, {0, 0, 0, 1})) << name;
  }
}

TEST(NormActSoftmax, LargeElementsDoNotOverflow) {
  Launch launch;
  launch.inputs = {{"x", encoded(DType::f16, {65504, 65504, -65504, 65504})}};
  const KernelRun result = verified({"softmax", DType::f16}, launch, {1, 4});
  EXPECT_EQ(element(result, 2), 0.0);
  EXPECT_NEAR(element(result, 0), 1.0 / 3, 0x1p-12);
  const KernelRun sum = verified({"logsumexp", DType::f16}, launch, {1, 4});
  EXPECT_EQ(element(sum, 0), 65504.0);
}

TEST(NormActSoftmax, RowsOfEqualElementsAreExact) {
  Launch launch;
  launch.data["x"] = "const:3";
  const KernelRun result = verified({"softmax", DType::f16}, launch, {3, 4096});
  for (std::uint64_t i = 0; i < 3 * 4096; ++i) ASSERT_EQ(element(result, i), 0x1p-12);
}

TEST(NormActSoftmax, NU_06_long_sums_of_ones) {
  // 65536 powers of 1 each: an f16 sum would stay at 2048.
  Launch launch;
  launch.data["x"] = "zeros";
  const KernelRun result = verified({"logsumexp", DType::f16}, launch, {1, 65536});
  EXPECT_NEAR(element(result, 0), 11.0904, 0.005);
}

TEST(NormActNorm, NU_06_long_sums_of_ones) {
  for (const DType type : {DType::f16, DType::bf16}) {
    Launch launch;
    launch.data = {{"x", "ones"}, {"gamma", "ones"}, {"beta", "zeros"}};
    const KernelRun centred = verified({"layernorm", type}, launch, {2, 40000});
    for (std::uint64_t i = 0; i < 80000; ++i) ASSERT_EQ(element(centred, i), 0.0);
    const KernelRun scaled = verified({"rmsnorm", type}, launch, {2, 40000});
    for (std::uint64_t i = 0; i < 80000; ++i) ASSERT_EQ(element(scaled, i), 1.0);
  }
}

TEST(NormActNorm, NU_15_rows_of_zeros_stay_zeros) {
  Launch launch;
  launch.data = {{"x", "zeros"}, {"beta", "zeros"}};
  for (const char* family : {"layernorm", "rmsnorm", "layernorm_gelu"}) {
    const KernelRun result = verified({family, DType::f16}, launch, {3, 100});
    for (std::uint64_t i = 0; i < 300; ++i) EXPECT_EQ(element(result, i), 0.0) << family;
  }
}

TEST(NormActNorm, NU_17_squares_of_f16_do_not_overflow) {
  Launch launch;
  launch.data = {{"x", "const:60000"}, {"gamma", "ones"}};
  const KernelRun result = verified({"rmsnorm", DType::f16}, launch, {2, 512});
  for (std::uint64_t i = 0; i < 1024; ++i) EXPECT_EQ(element(result, i), 1.0);
}

TEST(NormActNorm, NU_05_overflow_of_f16_results_follows_the_machine) {
  Launch launch;
  launch.inputs = {{"x", encoded(DType::f16, {0, 0, 0, 4})},
                   {"gamma", encoded(DType::f16, {1, 1, 1, 65504})}};
  const KernelRun result = verified({"rmsnorm", DType::f16}, launch, {1, 4});
  EXPECT_EQ(element(result, 3), kInf);
}

TEST(NormActNorm, EpsilonIsAddedToTheMeanOfSquares) {
  // sqrt(0 + 1e12 * 1e-12) = 1, and mean of squares 3 with it is 4.
  Launch launch;
  launch.params["eps_e12"] = 1'000'000'000'000;
  launch.inputs = {{"x", encoded(DType::f32, {std::sqrt(3.0), -std::sqrt(3.0)})}};
  launch.data["gamma"] = "ones";
  const KernelRun result = verified({"rmsnorm", DType::f32}, launch, {1, 2});
  EXPECT_NEAR(element(result, 0), std::sqrt(3.0) / 2, 1e-6);
}

TEST(NormActNorm, MeanAndVarianceOfALargeOffset) {
  // A sum of squares less the square of the sum would have nothing left of the variance.
  Launch launch;
  std::vector<double> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 4096 + (i % 2 == 0 ? 1.0 : -1.0);
  launch.inputs = {{"x", encoded(DType::f32, x)}};
  launch.data = {{"gamma", "ones"}, {"beta", "zeros"}};
  const KernelRun result = verified({"layernorm", DType::f32}, launch, {1, 64});
  EXPECT_NEAR(element(result, 0), 1.0, 1e-5);
  EXPECT_NEAR(element(result, 1), -1.0, 1e-5);
}

TEST(NormActActivation, ValuesThatAreKnown) {
  Launch launch;
  launch.inputs = {{"x", encoded(DType::f32, {0, 1, -1, 3, -3, kInf, -kInf, kNan})}};
  const auto near = [](const KernelRun& result, const std::vector<double>& want) {
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(element(result, i), want[i], 1e-6) << i;
    EXPECT_EQ(element(result, 5), kInf);
    EXPECT_TRUE(std::isnan(element(result, 6)));
    EXPECT_TRUE(std::isnan(element(result, 7)));
  };
  near(verified({"gelu", DType::f32}, launch, {1, 8}), {0, 0.8413447, -0.1586553, 2.9959503, -0.0040497});
  launch.params["approximate"] = 1;
  near(verified({"gelu", DType::f32}, launch, {1, 8}), {0, 0.8411920, -0.1588080, 2.9963627, -0.0036373});
  launch.params.clear();
  near(verified({"silu", DType::f32}, launch, {1, 8}), {0, 0.7310586, -0.2689414, 2.8577224, -0.1422776});
}

TEST(NormActRope, NU_22_rotation_by_nothing_keeps_every_bit) {
  for (const DType type : {DType::f16, DType::bf16}) {
    Launch launch;
    Bytes x;
    for (unsigned bits = 1; x.size() < std::size_t{2} * 600; ++bits) {  // subnormals
      x.push_back(static_cast<std::byte>(bits & 0x7f));
      x.push_back(std::byte{0});
    }
    launch.inputs = {{"x", x}};
    launch.data = {{"cos", "ones"}, {"sin", "zeros"}};
    const KernelRun result = verified({"rope", type}, launch, {1, 100});
    EXPECT_TRUE(result.y == x);
  }
}

TEST(NormActRope, QuarterTurnSwapsThePairs) {
  for (const int interleaved : {0, 1}) {
    Launch launch;
    launch.params["interleaved"] = interleaved;
    launch.data = {{"x", "arange"}, {"cos", "zeros"}, {"sin", "ones"}};
    const KernelRun result = verified({"rope", DType::f32}, launch, {1, 2});  // heads of 4
    const std::vector<double> want = interleaved != 0 ? std::vector<double>{-1, 0, -3, 2, -5, 4}
                                                      : std::vector<double>{-2, -3, 0, 1, -6, -7};
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(element(result, i), want[i]) << interleaved;
  }
}

TEST(NormActRefusal, OperandsOfTheOtherForm) {
  for (const RowKernel& kernel : row_kernels()) {
    const auto error = refusal([&] { assemble_kernel(kernel.name(), folders(), machine("tiny_ub")); });
    ASSERT_TRUE(error) << kernel.name();
    EXPECT_EQ(error->code(), "requirement") << kernel.name();
    EXPECT_NE(error->message().find("this kernel needs vector registers"), std::string::npos)
        << error->message();
    EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
  }
}

TEST(NormActRefusal, OddHeads) {
  const auto error = refusal([] {
    assemble_kernel("norm_act/rope", folders(), machine("ascend910_opsblas"), {{"D", 7}});
  });
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("D = 7: a head is rotated in pairs, so D is even"), std::string::npos);
}

// A smaller buffer gives the same bits until not even a tile fits, which is refused with its bytes.
TEST(NormActRefusal, BF_04_buffer_halved_until_nothing_fits) {
  for (const char* family : {"softmax", "layernorm", "swiglu", "rope"}) {
    const RowKernel kernel{family, DType::f16};
    Launch launch;
    set_shape(kernel, {5, 90}, launch);
    config::Machine small = machine("tiny");
    std::vector<Bytes> results;
    std::optional<Error> error;
    for (auto& buffer = small.core_types.begin()->second.buffers.at("ub"); !error && buffer.bytes > 0;
         buffer.bytes /= 2) {
      error = refusal([&] {
        Simulation simulation(small, assemble_kernel(kernel.name(), folders(), small, launch.params), {});
        const auto inputs = make_inputs(simulation.kernel().header, launch);
        for (const auto& [name, bytes] : inputs) simulation.set_input(name, bytes);
        EXPECT_TRUE(simulation.run().diagnostics.empty()) << family << " in " << buffer.bytes;
        results.push_back(simulation.output("y"));
      });
    }
    ASSERT_TRUE(error) << family;
    EXPECT_EQ(error->code(), "requirement") << error->message();
    EXPECT_NE(error->message().find("fit ub"), std::string::npos) << error->message();
    EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
    EXPECT_GE(results.size(), 1U) << family;
    for (const Bytes& other : results) EXPECT_TRUE(other == results.front()) << family;
  }
}

struct Traffic {
  std::uint64_t bytes;
  std::uint64_t cycles;
};
Traffic traffic(const std::string& kernel) {
  Launch launch;
  launch.kernel = kernel;
  launch.params = {{"M", 128}, {"N", 512}};
  launch.timing_only = true;
  const report::Report report = run(launch).report;
  const report::Memory& gm = report.memories.front();
  return {gm.read_bytes + gm.write_bytes, report.cycles};
}

TEST(NormActFusion, LayernormGeluMovesFewerBytesThanTheChain) {
  const Traffic norm = traffic("norm_act/layernorm");
  const Traffic gelu = traffic("norm_act/gelu");
  const Traffic fused = traffic("norm_act/layernorm_gelu");
  // What the chain writes between the two and reads again.
  EXPECT_EQ(norm.bytes + gelu.bytes - fused.bytes, 2U * 128 * 512 * 2);
  EXPECT_LT(fused.cycles, norm.cycles + gelu.cycles);
}

TEST(ReferenceMath, AgreesWithTheHost) {
  for (int i = -4000; i <= 4000; ++i) {
    const double x = i / 128.0 + i * 1e-7;
    const auto close = [&](double got, double want, const char* name) {
      EXPECT_LE(std::fabs(got - want), 0x1p-45 * std::fabs(want)) << name << "(" << x << ")";
    };
    close(exp_of(x), std::exp(x), "exp");
    close(tanh_of(x), std::tanh(x), "tanh");
    close(erf_of(x), std::erf(x), "erf");
    close(log_of(std::exp(x)), std::log(std::exp(x)), "log");
  }
  EXPECT_EQ(exp_of(-kInf), 0.0);
  EXPECT_EQ(exp_of(kInf), kInf);
  EXPECT_EQ(log_of(0), -kInf);
  EXPECT_EQ(log_of(kInf), kInf);
  EXPECT_TRUE(std::isnan(log_of(-1)));
  EXPECT_EQ(tanh_of(-kInf), -1.0);
  EXPECT_EQ(erf_of(kInf), 1.0);
  EXPECT_TRUE(std::isnan(exp_of(kNan)) && std::isnan(log_of(kNan)) && std::isnan(tanh_of(kNan)) &&
              std::isnan(erf_of(kNan)));
}

}  // namespace
}  // namespace npulab::kernels::test
