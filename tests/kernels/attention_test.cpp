// SPDX-License-Identifier: Apache-2.0
// Attention: flash, decode and the chain of three kernels against the reference; tails, masks, sharing of
// heads, special values, traffic.
#include <cmath>
#include <limits>

#include "sim/values/convert.hpp"
#include "tests/kernels/tensors.hpp"
#include "tests/sanitized.hpp"

namespace npulab::kernels::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kTile = 32;

Launch flash(std::int64_t queries, std::int64_t keys, std::int64_t d, bool causal = false) {
  Launch launch;
  launch.kernel = "attention/flash";
  launch.params = {{"heads", 1},  {"S", queries}, {"L", keys}, {"d", d}, {"causal", causal ? 1 : 0},
                   {"Br", kTile}, {"Bc", kTile}};
  return launch;
}

// Nothing lies densely: NaNs stand between the rows of every tensor.
Launch loose(Launch launch, std::initializer_list<std::pair<const char*, const char*>> pitches) {
  std::int64_t beyond = 3;
  for (const auto& [pitch, dense] : pitches) launch.params[pitch] = launch.params.at(dense) + beyond++;
  return launch;
}

std::int64_t& parameter(Launch& launch, const char* name) {
  return launch.params[name];
}

Bytes halves(const std::vector<double>& elements) {
  Bytes bytes(elements.size() * 2);
  for (std::size_t i = 0; i < elements.size(); ++i)
    values::from_double(isa::DType::f16, elements[i], bytes.data(), i, isa::Round::nearest_even, false);
  return bytes;
}

double half(const Bytes& bytes, std::size_t index) {
  return values::to_double(isa::DType::f16, bytes.data(), index);
}

// Smooth and different everywhere.
std::vector<double> waves(std::size_t count, double size, double step) {
  std::vector<double> result(count);
  double phase = 0;
  for (double& one : result) {
    phase += step;
    phase -= std::floor(phase);
    one = size * (2 * phase - 1);
  }
  return result;
}

constexpr std::int64_t kSizes[] = {0, 1, 15, 16, 17, kTile, kTile + 1, 3 * kTile + 7};
constexpr std::int64_t kWidths[] = {1, 16, 64, 80, 128};

TEST(Attention, FlashOfAllSizes) {
  std::size_t turn = 0;
  for (const std::int64_t queries : kSizes)
    for (const std::int64_t keys : kSizes) {
      if (npulab::test::kSanitized && turn % 3 != 0 && ++turn != 0) continue;
      Launch launch = flash(queries, keys, kWidths[turn % 5], turn % 2 == 1);
      launch.cores = 1 + static_cast<std::uint32_t>(turn % 4);
      run_all(loose(launch, {{"ldq", "d"}, {"ldk", "d"}, {"ldv", "d"}, {"ldo", "d"}}), turn % 7 == 0);
      ++turn;
    }
}

TEST(Attention, FlashOfAllWidthsBothWays) {
  for (const std::int64_t d : kWidths)
    for (const bool causal : {false, true}) run_all(flash(kTile + 1, 3 * kTile + 7, d, causal), true);
}

TEST(Attention, FlashInItsOwnBlocks) {
  Launch launch = flash(150, 301, 128, true);
  launch.params.erase("Br");
  launch.params.erase("Bc");
  parameter(launch, "heads") = 2;
  run_all(launch, true);
}

TEST(Attention, FlashInBlocksOfAnyShape) {
  for (const auto& [br, bc] :
       {std::pair(16, 16), std::pair(128, 16), std::pair(16, 128), std::pair(48, 80)}) {
    Launch launch = flash(131, 170, 40, true);
    parameter(launch, "Br") = br;
    parameter(launch, "Bc") = bc;
    run_all(launch);
  }
}

TEST(Attention, DE_05_same_bits_on_any_number_of_cores) {
  std::vector<Bytes> results;
  std::vector<Bytes> decoded;
  for (const std::uint32_t cores : {1U, 2U, 3U, 7U, 32U}) {
    Launch launch = flash(70, 75, 24, true);
    parameter(launch, "heads") = 3;
    launch.cores = cores;
    results.push_back(run_all(launch)["O"]);
    launch = {};
    launch.kernel = "attention/decode";
    launch.cores = cores;
    launch.params = {{"heads", 6}, {"kv_heads", 2}, {"L", 500}, {"d", 40}, {"section", 100}, {"Bc", 32}};
    decoded.push_back(run_all(launch)["O"]);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
  for (const Bytes& other : decoded) EXPECT_TRUE(other == decoded.front());
}

TEST(Attention, SH_04_padding_takes_no_part) {
  std::vector<Bytes> results;
  for (const std::byte padding : {std::byte{0}, std::byte{0xff}, std::byte{0x7c}}) {
    Launch launch = loose(flash(33, 47, 21), {{"ldq", "d"}, {"ldk", "d"}, {"ldv", "d"}, {"ldo", "d"}});
    launch.padding = padding;
    results.push_back(run_all(launch)["O"]);
  }
  for (const Bytes& other : results) EXPECT_TRUE(other == results.front());
}

TEST(Attention, QueriesThatSeeNothingAreZero) {
  constexpr std::int64_t kQueries = 40;
  constexpr std::int64_t kKeys = 25;
  constexpr std::int64_t kWidth = 16;
  const Outcome result = run_all(flash(kQueries, kKeys, kWidth, true));
  for (std::size_t i = 0; i < (kQueries - kKeys) * kWidth; ++i) EXPECT_EQ(half(result["O"], i), 0.0);
  EXPECT_NE(half(result["O"], (kQueries - kKeys) * kWidth), 0.0);
}

TEST(Attention, FirstQueryOfCausalTakesItsValue) {
  const Outcome result = run_all(flash(20, 20, 16, true));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(half(result["O"], i), half(result.inputs.at("V"), i));
}

// Whatever masked keys hold, the result has the same bits.
TEST(Attention, MaskedKeysTakeNoPart) {
  constexpr std::int64_t kQueries = 50;
  constexpr std::int64_t kWidth = 16;
  Launch launch = flash(kQueries, kQueries, kWidth, true);
  std::vector<double> keys = waves(kQueries * kWidth, 1, 0.37);
  launch.inputs["K"] = halves(keys);
  const Outcome clean = run_all(launch);
  constexpr std::size_t kLate = 30;
  for (std::size_t i = kLate * kWidth; i < keys.size(); ++i) keys[i] = i % 2 == 0 ? kInfinity : std::nan("");
  launch.inputs["K"] = halves(keys);
  const Outcome spoilt = run_all(launch);
  const auto row = [&](const Outcome& one, std::size_t i) {
    const auto first = one["O"].begin() + static_cast<std::ptrdiff_t>(i * kWidth * 2);
    return Bytes(first, first + kWidth * 2);
  };
  for (std::size_t i = 0; i < kLate; ++i) EXPECT_TRUE(row(clean, i) == row(spoilt, i)) << i;
  for (std::size_t i = kLate; i < kQueries; ++i) EXPECT_TRUE(std::isnan(half(spoilt["O"], i * kWidth))) << i;
}

// Scores of hundreds of thousands: powers of them are far beyond every type, their differences are not.
TEST(Attention, LargeScoresDoNotOverflow) {
  for (const char* kernel : {"attention/flash", "attention/decode"}) {
    constexpr std::int64_t kKeys = 100;
    constexpr std::int64_t kWidth = 64;
    Launch launch = flash(1, kKeys, kWidth);
    if (std::string(kernel) == "attention/decode")
      launch.params = {{"heads", 1}, {"L", kKeys}, {"d", kWidth}, {"section", 32}, {"Bc", 32}};
    launch.kernel = kernel;
    launch.inputs["Q"] = halves(std::vector<double>(kWidth, 1000));
    std::vector<double> keys(kKeys * kWidth);
    for (std::size_t i = 0; i < keys.size(); ++i)
      keys[i] = (i / kWidth == 70 ? 500 : -500) + static_cast<double>(i % 3);
    launch.inputs["K"] = halves(keys);
    const Outcome result = run_all(launch);
    for (std::size_t i = 0; i < kWidth; ++i)
      EXPECT_EQ(half(result["O"], i), half(result.inputs.at("V"), 70 * kWidth + i));
  }
}

TEST(Attention, SpecialScoresStayInTheirRows) {
  constexpr std::int64_t kQueries = 40;
  constexpr std::int64_t kWidth = 16;
  std::vector<double> queries = waves(kQueries * kWidth, 1, 0.61);
  queries[3 * kWidth + 5] = std::nan("");
  for (std::size_t i = 0; i < kWidth; ++i) queries[7 * kWidth + i] = i == 0 ? kInfinity : 0.0;
  for (std::size_t i = 0; i < kWidth; ++i) queries[9 * kWidth + i] = i == 0 ? -kInfinity : 0.0;
  Launch launch = flash(kQueries, 45, kWidth);
  launch.inputs["Q"] = halves(queries);
  launch.data["K"] = "ones";
  const Outcome result = run_all(launch);
  for (std::size_t row = 0; row < kQueries; ++row) {
    const double first = half(result["O"], row * kWidth);
    if (row == 3 || row == 7)
      EXPECT_TRUE(std::isnan(first)) << row;
    else
      EXPECT_TRUE(std::isfinite(first)) << row;
  }
  EXPECT_EQ(half(result["O"], 9 * kWidth), 0.0);
}

// Heads that share keys give the bits of heads that have them each.
TEST(Attention, HeadsShareKeys) {
  constexpr std::int64_t kKeys = 37;
  constexpr std::int64_t kWidth = 24;
  for (const char* kernel : {"attention/flash", "attention/decode"}) {
    Launch launch = flash(20, kKeys, kWidth);
    if (std::string(kernel) == "attention/decode") launch.params = {{"L", kKeys}, {"d", kWidth}};
    launch.kernel = kernel;
    parameter(launch, "heads") = 4;
    parameter(launch, "kv_heads") = 2;
    const Outcome shared = run_all(launch);
    for (const char* name : {"K", "V"}) {
      const Bytes& two = shared.inputs.at(name);
      const auto middle = two.begin() + static_cast<std::ptrdiff_t>(two.size() / 2);
      Bytes four;
      for (const auto& [from, to] : {std::pair(two.begin(), middle), std::pair(middle, two.end())})
        for (int i = 0; i < 2; ++i) four.insert(four.end(), from, to);
      launch.inputs[name] = four;
    }
    launch.inputs["Q"] = shared.inputs.at("Q");
    parameter(launch, "kv_heads") = 4;
    EXPECT_TRUE(run_all(launch)["O"] == shared["O"]) << kernel;
  }
}

TEST(Attention, DecodeOfAllSizes) {
  std::size_t turn = 0;
  for (const std::int64_t keys : kSizes)
    for (const std::int64_t section : {16, 64, 1024}) {
      Launch launch;
      launch.kernel = "attention/decode";
      const std::int64_t sharing = std::vector<std::int64_t>{1, 3, 20}[turn % 3];
      launch.params = {{"heads", 2 * sharing},   {"kv_heads", 2},      {"L", keys}, {"capacity", keys + 5},
                       {"d", kWidths[turn % 5]}, {"section", section}, {"Bc", 32}};
      run_all(loose(launch, {{"ldq", "d"}, {"ldk", "d"}, {"ldv", "d"}, {"ldo", "d"}}), true);
      ++turn;
    }
}

TEST(Attention, DecodeNeverLooksBeyondTheKeys) {
  constexpr std::size_t kKeys = 70;
  constexpr std::size_t kRoom = 96;
  constexpr std::size_t kWidth = 32;
  Launch launch;
  launch.kernel = "attention/decode";
  launch.params = {{"heads", 1},  {"L", kKeys},    {"capacity", kRoom},
                   {"d", kWidth}, {"section", 32}, {"Bc", 32}};
  std::vector<double> cache = waves(kRoom * kWidth, 1, 0.29);
  for (std::size_t i = kKeys * kWidth; i < cache.size(); ++i) cache[i] = std::nan("");
  launch.inputs["K"] = halves(cache);
  const Outcome with_keys = run_all(launch);
  for (std::size_t i = 0; i < kWidth; ++i) EXPECT_TRUE(std::isfinite(half(with_keys["O"], i)));
}

TEST(Attention, ProductsOfAllSizes) {
  std::size_t turn = 0;
  for (const std::int64_t queries : {0, 1, 17, 128, 150})
    for (const std::int64_t keys : {0, 1, 16, 130, 263})
      for (const char* kernel : {"attention/scores", "attention/values", "attention/scores_int8"}) {
        Launch launch;
        launch.kernel = kernel;
        launch.params = {
            {"heads", 2}, {"kv_heads", 1}, {"S", queries}, {"L", keys}, {"d", kWidths[turn % 5]}};
        launch.cores = 1 + static_cast<std::uint32_t>(turn % 3);
        const bool last = launch.kernel == "attention/values";
        run_all(last ? loose(launch, {{"ldp", "L"}, {"ldv", "d"}, {"ldo", "d"}})
                     : loose(launch, {{"ldq", "d"}, {"ldk", "d"}, {"ldp", "L"}}),
                turn % 5 == 0);
        ++turn;
      }
}

TEST(Attention, ValuesOfNoKeysAreZero) {
  Launch launch;
  launch.kernel = "attention/values";
  launch.params = {{"heads", 1}, {"S", 20}, {"L", 0}, {"d", 16}};
  const Outcome result = run_all(launch);
  EXPECT_TRUE(result["O"] == Bytes(20 * 16 * 2));
}

std::uint64_t gm_bytes(const Outcome& outcome) {
  for (const auto& memory : outcome.report.memories)
    if (memory.name == "gm") return memory.read_bytes + memory.write_bytes;
  return 0;
}

// The chain of three kernels gives the same within both bounds, and moves more bytes.
TEST(Attention, FlashMovesFewerBytesThanTheChain) {
  constexpr std::int64_t kSize = 512;
  Launch launch;
  launch.kernel = "attention/scores";
  launch.params = {{"heads", 1}, {"S", kSize}, {"L", kSize}, {"d", 64}};
  const Outcome scores = run_all(launch);
  launch.kernel = "norm_act/softmax";
  launch.params = {{"M", kSize}, {"N", kSize}};
  launch.inputs["x"] = scores["P"];
  const Outcome shares = run_all(launch);
  launch.kernel = "attention/values";
  launch.params = {{"heads", 1}, {"S", kSize}, {"L", kSize}, {"d", 64}};
  launch.inputs["P"] = shares["y"];
  const Outcome values = run_all(launch);
  launch.kernel = "attention/flash";
  launch.inputs["Q"] = scores.inputs.at("Q");
  launch.inputs["K"] = scores.inputs.at("K");
  launch.inputs["V"] = values.inputs.at("V");
  const Outcome flash = run_all(launch);
  const std::uint64_t chain = gm_bytes(scores) + gm_bytes(shares) + gm_bytes(values);
  EXPECT_LT(gm_bytes(flash) * 2, chain);
  // Q and O once, K and V once for each block of 64 queries; an element has 2 bytes.
  EXPECT_EQ(gm_bytes(flash), 2U * kSize * 64 * (2 + 2 * (kSize / 64)));
  double most = 0;
  for (std::size_t i = 0; i < kSize * 64; ++i)
    most = std::max(most, std::fabs(half(flash["O"], i) - half(values["O"], i)));
  EXPECT_GT(most, 0.0);
  EXPECT_LT(most, 2e-3);
}

// Shares of a masked chain: rows that are masked whole give zeros, masked keys take no part.
TEST(Attention, MaskedRowsInTheChain) {
  constexpr std::size_t kQueries = 37;
  constexpr std::size_t kKeys = 53;
  constexpr std::size_t kWidth = 24;
  constexpr std::size_t kHeads = 2;
  constexpr std::size_t kRows = kHeads * kQueries;
  Launch launch;
  launch.kernel = "attention/scores";
  launch.params = {{"heads", kHeads}, {"S", kQueries}, {"L", kKeys}, {"d", kWidth}};
  const Outcome scores = run_all(launch);
  Bytes mask(kRows * kKeys);
  for (std::size_t i = 0; i < mask.size(); ++i)
    mask[i] = static_cast<std::byte>(i / kKeys % 5 != 3 && i * 7 % 11 > 3 ? 1 : 0);
  launch = {};
  launch.kernel = "norm_act/softmax_mask";
  launch.params = {{"M", kRows}, {"N", kKeys}};
  launch.inputs = {{"x", scores["P"]}, {"mask", mask}};
  const Outcome shares = run_all(launch);
  launch = {};
  launch.kernel = "attention/values";
  launch.params = {{"heads", kHeads}, {"S", kQueries}, {"L", kKeys}, {"d", kWidth}};
  launch.inputs["P"] = shares["y"];
  const Outcome values = run_all(launch);
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t head = row / kQueries;
    std::vector<double> powers(kKeys);
    double total = 0;
    for (std::size_t key = 0; key < kKeys; ++key) {
      double score = 0;
      for (std::size_t i = 0; i < kWidth; ++i)
        score += half(scores.inputs.at("Q"), row * kWidth + i) *
                 half(scores.inputs.at("K"), (head * kKeys + key) * kWidth + i);
      powers[key] = mask[row * kKeys + key] == std::byte{0} ? 0 : std::exp(score / std::sqrt(double{kWidth}));
      total += powers[key];
    }
    EXPECT_EQ(total == 0, row % 5 == 3);
    for (std::size_t i = 0; i < kWidth; ++i) {
      double mean = 0;
      for (std::size_t key = 0; key < kKeys; ++key)
        mean += powers[key] * half(values.inputs.at("V"), (head * kKeys + key) * kWidth + i);
      if (total == 0)
        EXPECT_EQ(half(values["O"], row * kWidth + i), 0.0);
      else
        EXPECT_NEAR(half(values["O"], row * kWidth + i), mean / total, 2e-3);
    }
  }
}

TEST(Attention, MachinesWithoutACubeAreRefused) {
  for (const char* on : {"tiny", "edge", "tiny_ub", "xdna_64x64"})
    for (const char* kernel : {"attention/flash", "attention/decode", "attention/scores",
                               "attention/scores_int8", "attention/values"}) {
      Launch launch;
      launch.kernel = kernel;
      launch.machine = on;
      launch.params = {{"heads", 1}, {"L", 16}, {"d", 16}};
      EXPECT_EQ(refused(launch).find("this kernel multiplies on a cube"), 0U) << refused(launch);
    }
}

// The bound has teeth: one element, moved by three units of its last place, is a mismatch.
TEST(Attention, ReferenceFindsAWrongElement) {
  Launch launch = flash(8, 60, 32);
  launch.data["V"] = "ones";
  Outcome result = run_all(launch);
  Bytes& bytes = result.outputs["O"];
  values::from_double(isa::DType::f16, half(bytes, 77) + 3 * 0x1p-10, bytes.data(), 77,
                      isa::Round::nearest_even, false);
  Inputs inputs;
  for (const auto& [name, data] : result.inputs) inputs[name] = data;
  EXPECT_EQ(check(result.header, machine(launch.machine), inputs, {{"O", {bytes, 0}}}).mismatches, 1U);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  Launch launch = flash(64, 64, 64);
  parameter(launch, "Br") = 24;
  EXPECT_NE(refused(launch).find("multiples of 16"), std::string::npos);
  launch = flash(64, 64, 256);
  parameter(launch, "Bc") = 128;
  EXPECT_NE(refused(launch).find("l0b"), std::string::npos);
  launch = flash(64, 64, 64);
  parameter(launch, "heads") = 3;
  parameter(launch, "kv_heads") = 2;
  EXPECT_NE(refused(launch).find("no multiple"), std::string::npos);
}

}  // namespace
}  // namespace npulab::kernels::test
