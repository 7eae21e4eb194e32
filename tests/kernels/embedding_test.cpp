// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index: every length around a slot, indices out of range, any number of cores.
#include "sim/values/convert.hpp"
#include "tests/kernels/tensors.hpp"

namespace npulab::kernels::test {
namespace {

const std::vector<std::string> kMachines{"ascend910_opsblas", "tiny", "edge"};

Bytes indices(std::int64_t tokens, std::int64_t rows) {
  Bytes bytes(static_cast<std::size_t>(tokens) * 4);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = static_cast<std::int32_t>(t == 1 ? rows - 1 : (t * 7919 + t / 3) % rows);
    std::memcpy(&bytes[static_cast<std::size_t>(t) * 4], &row, sizeof row);
  }
  return bytes;
}

Launch gather(const std::string& kernel, const std::string& on, std::int64_t tokens, std::int64_t width,
              std::int64_t beyond) {
  constexpr std::int64_t kRows = 41;
  Launch launch;
  launch.kernel = kernel;
  launch.machine = on;
  launch.params = {
      {"T", tokens}, {"V", kRows}, {"D", width}, {"ldt", width + beyond}, {"ldy", width + 2 * beyond}};
  launch.inputs["index"] = indices(tokens, kRows);
  launch.inputs["table"] =
      noise(static_cast<std::size_t>(kRows * width) * (kernel == "embedding/gather" ? 2 : 1));
  return launch;
}

class Embedding : public testing::TestWithParam<std::string> {};

TEST_P(Embedding, SH_08_SH_09_every_length_on_every_machine) {
  int count = 0;
  for (const std::string& on : kMachines)
    for (const std::int64_t tokens : {0, 1, 31, 32, 33, 103})
      for (const std::int64_t width : {0, 1, 15, 16, 17, 31, 32, 33, 103})
        run_all(gather(GetParam(), on, tokens, width, count++ % 3 * 5));
}

TEST_P(Embedding, RowsLongerThanTheBuffer) {
  for (const char* on : {"tiny", "edge"})
    for (const std::int64_t width : {1500, 4001}) run_all(gather(GetParam(), on, 5, width, 3));
  run_all(gather(GetParam(), "ascend910_opsblas", 3, 70001, 1));
}

TEST_P(Embedding, MoreTokensThanIndicesFetchedAtOnce) {
  for (const std::int64_t tokens : {255, 256, 257, 600}) {
    Launch launch = gather(GetParam(), "ascend910_opsblas", tokens, 20, 0);
    launch.cores = 1;
    run_all(launch);
  }
}

TEST_P(Embedding, DE_05_same_bits_on_any_number_of_cores) {
  std::vector<Bytes> results;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch = gather(GetParam(), "ascend910_opsblas", 101, 77, 0);
    launch.cores = cores;
    results.push_back(run_all(launch)["y"]);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST_P(Embedding, IndicesBeyondTheTableEndTheRun) {
  for (const std::int32_t wrong : {-1, 41, 1 << 30, INT32_MIN}) {
    Launch launch = gather(GetParam(), "tiny", 9, 12, 0);
    std::memcpy(&launch.inputs["index"][4 * 5], &wrong, sizeof wrong);
    const auto error = refusal([&] { run_all(launch); });
    ASSERT_TRUE(error) << wrong;
    EXPECT_EQ(error->category(), Category::verdict) << error->message();
    EXPECT_EQ(error->code(), "assertion");
    EXPECT_NE(error->message().find(std::to_string(wrong) + " is not "), std::string::npos)
        << error->message();
  }
}

TEST_P(Embedding, AnEmptyTableIsRefused) {
  Launch launch;
  launch.kernel = GetParam();
  launch.params = {{"V", 0}};
  EXPECT_NE(refused(launch).find("the table has no rows"), std::string::npos);
}

// Indices are values, and addresses come from them.
TEST_P(Embedding, TimingOnlyIsRefused) {
  Launch launch = gather(GetParam(), "tiny", 9, 12, 0);
  launch.timing_only = true;
  launch.cores = 2;
  const auto error = refusal([&] { run(launch); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "values-steer-time");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Embedding, testing::Values("embedding/gather", "embedding/gather_int8"),
                         [](const auto& test) { return test.param.substr(test.param.find('/') + 1); });

TEST(EmbeddingByHand, NU_10_least_integers_times_their_scales) {
  Launch launch;
  launch.kernel = "embedding/gather_int8";
  launch.machine = "tiny";
  launch.params = {{"T", 3}, {"V", 2}, {"D", 2}};
  const float scales[] = {0.5F, 2.0F};
  const std::int32_t rows[] = {1, 0, 1};
  launch.inputs["table"] = {std::byte{0x80}, std::byte{127}, std::byte{0x80}, std::byte{1}};
  launch.inputs["scale"] = Bytes(8);
  launch.inputs["index"] = Bytes(12);
  std::memcpy(launch.inputs["scale"].data(), scales, sizeof scales);
  std::memcpy(launch.inputs["index"].data(), rows, sizeof rows);
  const Outcome result = run_all(launch);
  const std::vector<double> want{-256, 2, -64, 63.5, -256, 2};
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(values::to_double(isa::DType::f16, result["y"].data(), i), want[i]);
}

TEST(EmbeddingRefusal, ViewsAsOperands) {
  Launch launch;
  launch.kernel = "embedding/gather_int8";
  launch.machine = "tiny_ub";
  EXPECT_NE(refused(launch).find("this kernel needs vector registers"), std::string::npos);
  launch.kernel = "embedding/gather";
  EXPECT_NE(refused(launch).find("this kernel reads indices at multiples of 4"), std::string::npos);
}

}  // namespace
}  // namespace npulab::kernels::test
