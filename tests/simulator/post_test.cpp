// SPDX-License-Identifier: Apache-2.0
// Transfers with post-operations: every pair of types against an independent reference, layouts, cycles
// worked out by hand, refusals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "isa/table.hpp"
#include "post_reference.hpp"
#include "run_helper.hpp"

namespace npulab {
namespace {

using isa::DType;
using Bytes = std::vector<std::byte>;

// tiny with a buffer of factors and post-operations on gm > ub, l1 > ub and ub > gm.
config::Machine post_machine(const std::vector<std::string>& set = {}) {
  const std::string path = "core_types.core.dma.";
  std::vector<std::string> all{"core_types.core.buffers.fb={bytes: 1024}",
                               path + "mte1={queue_depth: 4, paths: [{from: gm, to: fb, request_bytes: 64}]}",
                               "core_types.core.buffers.ub.bytes=16384",
                               "core_types.core.buffers.l1.bytes=16384"};
  for (const std::string& one : {path + "mte2.paths.0.", path + "mte2.paths.2.", path + "mte3.paths.0."}) {
    all.push_back(one + "post=true");
    all.push_back(one + "scale_buffer=fb");
  }
  all.push_back(path + "mte2.paths.0.layouts=[nd2nz]");
  all.push_back(path + "mte2.paths.2.layouts=[nz2nd, nz2nz, nd2nz]");
  all.push_back(path + "mte3.paths.0.layouts=[nz2nd]");
  all.insert(all.end(), set.begin(), set.end());
  return test::machine("tiny", all);
}

std::size_t size_of(DType type) {
  return isa::bits(type) / 8;
}

std::uint32_t element(const Bytes& bytes, DType type, std::size_t index) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &bytes[index * size_of(type)], size_of(type));
  return bits;
}

void set_element(Bytes& bytes, DType type, std::size_t index, std::uint32_t bits) {
  std::memcpy(&bytes[index * size_of(type)], &bits, size_of(type));
}

// Ties, bounds of the narrow types, infinities, NaNs, zeros, subnormals; then anything.
Bytes awkward(DType type, std::size_t count, std::uint64_t seed) {
  static constexpr double kNumbers[] = {0.5,    1.5,    2.5,    -0.5,  -1.5,   126.5,       127.5,     128.5,
                                        -127.5, -128.5, -129,   254.5, 255.5,  2049,        2051,      257.5,
                                        65519,  65520,  -65520, 1e-7,  3e-8,   2147483520., 448,       464,
                                        480,    57344,  61440,  1e30,  -1e-30, 16777217,    -16777219, 1e39};
  Bytes bytes(count * size_of(type));
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = static_cast<std::uint32_t>(random());
    if (!isa::info(type).floating) {
      if (i < std::size(kNumbers))
        bits =
            static_cast<std::uint32_t>(static_cast<std::int64_t>(std::clamp(kNumbers[i], -0x1p53, 0x1p53)));
      if (i % 3 == 2) bits >>= 24;
    } else {
      const test::Format f(type);
      if (i < std::size(kNumbers))
        bits = test::encoded_float(type, kNumbers[i], isa::Round::nearest_even, false);
      if (i == std::size(kNumbers)) bits = f.infinity();
      if (i == std::size(kNumbers) + 1) bits = f.infinity() | f.sign();
      if (i == std::size(kNumbers) + 2) bits = f.infinity() + 1;  // a NaN that is not the canonical one
      if (i == std::size(kNumbers) + 3) bits = f.sign();
      if (i == std::size(kNumbers) + 4) bits = 0;
      if (i == std::size(kNumbers) + 5) bits = 1 | f.sign();
    }
    set_element(bytes, type, i, bits);
  }
  return bytes;
}

struct Variant {
  std::optional<float> scale;
  bool per_column = false;
  bool relu = false;
  isa::Round round = isa::Round::nearest_even;
};

constexpr std::size_t kRows = 3;
constexpr std::size_t kColumns = 37;

std::string body_of(DType type, DType type2, const Variant& v) {
  std::string mods = fmt::format("count={}, src_pitch={}", kRows, kColumns * size_of(type2));
  if (v.scale && !v.per_column) mods += fmt::format(", scale=0x{:x}", std::bit_cast<std::uint32_t>(*v.scale));
  if (v.per_column) mods += ", scale_at=4";
  if (v.relu) mods += ", relu=1";
  if (v.round != isa::Round::nearest_even) mods += fmt::format(", round={}", isa::name(v.round));
  return fmt::format(
      ".kernel test/post\n.tensor A {1} [{2}, {3}] in\n.tensor factors f32 [{3}] in\n.tensor y {0} [{2}, "
      "{3}] out\n"
      "copy fb[4], factors[0], {4}\ncopy l1[0], A[0], {5}\nbarrier all\n"
      "fixpipe.{0}.{1} ub[0], l1[0], {3} {{{6}}}\nbarrier all\ncopy y[0], ub[0], {7}\nend\n",
      isa::name(type), isa::name(type2), kRows, kColumns, kColumns * 4, kRows * kColumns * size_of(type2),
      mods, kRows * kColumns * size_of(type));
}

TEST(Post, NU_13_NU_14_every_pair_of_types_with_scale_relu_rounding_and_both_overflows) {
  const isa::InstructionInfo& row = isa::info(isa::Op::Fixpipe);
  std::vector<float> factors;
  for (std::size_t i = 0; i < kColumns; ++i) factors.push_back(static_cast<float>(i) / 16 - 0.75F);
  const Variant variants[] = {{},
                              {1.0F},
                              {0.1F, false, true},
                              {0.0F},
                              {-1.0e30F},
                              {std::nullopt, false, true},
                              {1.0F, true},
                              {std::nullopt, false, false, isa::Round::up},
                              {0.5F, false, true, isa::Round::nearest_away}};
  for (const bool saturate : {false, true}) {
    const config::Machine machine =
        post_machine({fmt::format("numerics.overflow={}", saturate ? "saturate" : "inf")});
    for (const isa::DTypeInfo& to : isa::kDTypes) {
      for (const isa::DTypeInfo& from : isa::kDTypes) {
        if (!isa::legal_types(row, to.type, from.type)) continue;
        const Bytes a = awkward(from.type, kRows * kColumns, 17);
        for (const Variant& v : variants) {
          const std::string body = body_of(to.type, from.type, v);
          const test::Run run =
              test::run(machine, body, test::one_core(), {{"A", a}, {"factors", test::bytes_of(factors)}});
          EXPECT_TRUE(run.report.diagnostics.empty());
          for (std::size_t i = 0; i < kRows * kColumns; ++i) {
            test::PostCall call{to.type, from.type, v.scale, v.relu, saturate, v.round};
            if (v.per_column) call.scale = factors[i % kColumns];
            ASSERT_EQ(element(run.outputs.at("y"), to.type, i), call(element(a, from.type, i)))
                << "element " << i << " = " << test::decoded(from.type, element(a, from.type, i)) << "\n"
                << body;
          }
        }
      }
    }
  }
}

std::size_t up16(std::size_t rows) {
  return (rows + 15) / 16 * 16;
}

// Accumulators of 16 columns x 16 rows, whatever their size.
TEST(Post, nz2nd_of_accumulators_with_odd_rows_and_columns) {
  const config::Machine machine = post_machine();
  for (const std::size_t rows : {1U, 16U, 19U}) {
    for (const std::size_t columns : {1U, 15U, 33U}) {
      const std::size_t column = up16(rows) * 16 * 4;
      const std::size_t size = (columns + 15) / 16 * column;
      Bytes fractals(size);
      Bytes expected(rows * columns * 2);
      std::mt19937_64 random(rows * 100 + columns);
      const test::PostCall call{DType::f16, DType::f32, 0.25F, false, false, isa::Round::nearest_even};
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          const auto bits =
              std::bit_cast<std::uint32_t>(static_cast<float>(random() % 100000) * 0.37F - 18000);
          set_element(fractals, DType::f32, c / 16 * column / 4 + r * 16 + c % 16, bits);
          set_element(expected, DType::f16, r * columns + c, call(bits));
        }
      const std::string fill = fmt::format(
          ".kernel test/nd\n.tensor A u8 [{0}] in\n.tensor y f16 [{1}, {2}] out\n"
          "copy l1[0], A[0], {0}\ncopy ub[8192], A[0], {0}\nbarrier all\n",
          size, rows, columns);
      const std::string mods = fmt::format("{{count={}, layout=nz2nd, scale={}}}", rows, 0x3e800000);
      const test::Run local = test::run(
          machine,
          fill +
              fmt::format("fixpipe.f16.f32 ub[0], l1[0], {0} {1}\nbarrier all\ncopy y[0], ub[0], {2}\nend\n",
                          columns, mods, rows * columns * 2),
          test::one_core(), {{"A", fractals}});
      EXPECT_EQ(local.outputs.at("y"), expected) << rows << " x " << columns;
      const test::Run stored = test::run(
          machine, fill + fmt::format("fixpipe.f16.f32 y[0], ub[8192], {} {}\nend\n", columns, mods),
          test::one_core(), {{"A", fractals}});
      EXPECT_EQ(stored.outputs.at("y"), expected) << rows << " x " << columns;
      EXPECT_EQ(stored.report.memories[0].write_bytes, rows * columns * 2);
      EXPECT_TRUE(stored.report.diagnostics.empty());
    }
  }
}

// Fractals of the next product have 32 bytes a row, so 8, 16 or 32 columns.
TEST(Post, nz2nz_keeps_fractals_with_the_width_of_the_new_type) {
  const config::Machine machine = post_machine();
  constexpr std::size_t kM = 19;
  constexpr std::size_t kN = 35;
  const std::size_t column = up16(kM) * 16 * 4;
  const std::size_t size = 3 * column;
  Bytes fractals(size);
  for (std::size_t r = 0; r < kM; ++r)
    for (std::size_t c = 0; c < kN; ++c)
      set_element(fractals, DType::f32, c / 16 * column / 4 + r * 16 + c % 16,
                  std::bit_cast<std::uint32_t>(static_cast<float>(r * 3 + c) - 40.5F));
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::i32}) {
    const std::size_t c0 = 32 / size_of(type);
    const std::size_t bytes = (kN + c0 - 1) / c0 * up16(kM) * 32;
    const std::string body = fmt::format(
        ".kernel test/nz\n.tensor A u8 [{0}] in\n.tensor y u8 [{1}] out\ncopy l1[0], A[0], {0}\nbarrier all\n"
        "fixpipe.{2}.f32 ub[0], l1[0], {3} {{count={4}, layout=nz2nz}}\nbarrier all\ncopy y[0], ub[0], {1}\n"
        "end\n",
        size, bytes, isa::name(type), kN, kM);
    const test::Run run = test::run(machine, body, test::one_core(), {{"A", fractals}});
    Bytes expected(bytes, std::byte{0});
    for (std::size_t r = 0; r < kM; ++r)
      for (std::size_t c = 0; c < kN; ++c) {
        const test::PostCall call{type, DType::f32, std::nullopt, false, false, isa::Round::nearest_even};
        set_element(expected, type, c / c0 * up16(kM) * c0 + r * c0 + c % c0,
                    call(element(fractals, DType::f32, c / 16 * column / 4 + r * 16 + c % 16)));
      }
    EXPECT_EQ(run.outputs.at("y"), expected) << isa::name(type);
    EXPECT_TRUE(run.report.diagnostics.empty());
  }
}

TEST(Post, master_weights_of_f32_become_bf16_on_load) {
  constexpr std::size_t kM = 5;
  constexpr std::size_t kN = 21;
  std::vector<float> a(kM * kN);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1.0F + static_cast<float>(i) / 1024;
  for (const bool fractals : {false, true}) {
    const std::size_t bytes = fractals ? 2 * 512 : kM * kN * 2;
    const test::Run run = test::run(
        post_machine(),
        fmt::format(
            ".kernel test/load\n.tensor A f32 [{0}, {1}] in\n.tensor y bf16 [{2}] out\n"
            "fixpipe.bf16.f32 ub[0], A[0], {1} {{count={0}{3}}}\nbarrier all\ncopy y[0], ub[0], {4}\nend\n",
            kM, kN, bytes / 2, fractals ? ", layout=nd2nz" : "", bytes),
        test::one_core(), {{"A", test::bytes_of(a)}});
    Bytes expected(bytes, std::byte{0});
    for (std::size_t r = 0; r < kM; ++r)
      for (std::size_t c = 0; c < kN; ++c) {
        const test::PostCall call{DType::bf16, DType::f32, std::nullopt,
                                  false,       false,      isa::Round::nearest_even};
        const std::size_t at = fractals ? c / 16 * 256 + r * 16 + c % 16 : r * kN + c;
        set_element(expected, DType::bf16, at, call(std::bit_cast<std::uint32_t>(a[r * kN + c])));
      }
    EXPECT_EQ(run.outputs.at("y"), expected);
    EXPECT_EQ(run.report.memories[0].read_bytes, kM * kN * 4);
    for (const report::Memory& memory : run.report.memories)
      if (memory.name == "ub") {
        EXPECT_EQ(memory.write_bytes, fractals ? 1024 : kM * kN * 2);
      }
  }
}

TEST(Post, IS_06_every_modifier_changes_what_arrives) {
  const auto stored = [](const std::string& mods) {
    return test::run(post_machine(),
                     fmt::format(".kernel test/each\n.tensor A f32 [8, 64] in\n.tensor factors f32 [64] in\n"
                                 ".tensor y u8 [4096] out\ncopy fb[0], factors[0], 256\n"
                                 "copy l1[0], A[0], 2048\ncopy ub[0], A[0], 2048\n"
                                 "copy ub[2048], A[0], 2048\nbarrier all\n"
                                 "fixpipe.i8.f32 ub[0], l1[0], 20 {{{}}}\nbarrier all\n"
                                 "copy y[0], ub[0], 4096\nend\n",
                                 mods),
                     test::one_core(),
                     {{"A", awkward(DType::f32, 512, 3)}, {"factors", awkward(DType::f32, 64, 4)}})
        .outputs.at("y");
  };
  const Bytes plain = stored("count=2");
  for (const char* const mods :
       {"count=3", "count=2, src_pitch=84", "count=2, dst_pitch=21", "count=2, layout=nz2nd",
        "count=2, layout=nz2nz", "count=2, layout=nd2nz", "count=2, scale=0x3f000000", "count=2, scale_at=0",
        "count=2, scale_at=4", "count=2, relu=1", "count=2, round=rup"})
    EXPECT_NE(stored(mods), plain) << mods;
  EXPECT_NE(stored("count=2, scale_at=4"), stored("count=2, scale_at=0"));
  EXPECT_EQ(stored("count=2, relu=0, round=rne, src_pitch=80, dst_pitch=20, scale=0x3f800000"), plain);
}

TEST(Post, no_rows_and_no_columns_move_nothing) {
  for (const char* const mods :
       {"0", "8 {count=0}", "s2 {count=4, layout=nz2nz}", "3 {count=s2, scale_at=s1}"}) {
    const test::Run run = test::run(
        post_machine(),
        fmt::format(".kernel test/empty\nmov s1, 100000\nmov s2, 0\nfixpipe.f16.f32 ub[s1], l1[s1], "
                    "{}\nend\n",
                    mods),
        test::one_core());
    EXPECT_LT(run.report.cycles, 10U) << mods;
    EXPECT_TRUE(run.report.diagnostics.empty());
  }
}

TEST(Post, cycles_by_hand_and_the_same_without_values) {
  const std::vector<std::string> ideal{"gm.model=ideal", "gm.latency_ns=20", "gm.bandwidth_gbps=100000"};
  const auto cycles = [&](const std::string& line, const std::vector<std::string>& set = {}) {
    std::vector<std::string> all = ideal;
    all.insert(all.end(), set.begin(), set.end());
    const std::string body =
        ".kernel test/time\n.tensor A u8 [4096] in\n.tensor y u8 [4096] out\ncopy l1[0], A[0], 4096\n"
        "copy ub[0], A[0], 4096\nbarrier all\n" +
        line + "\nend\n";
    SimulationOptions options = test::one_core();
    const std::uint64_t with_values = test::run(post_machine(all), body, options).report.cycles;
    options.timing_only = true;
    EXPECT_EQ(test::run(post_machine(all), body, options).report.cycles, with_values) << line;
    return with_values;
  };
  const std::uint64_t before = cycles("");
  // Between buffers, 8 bytes a cycle of the wider side: 3 rows of 20 f32, whichever side has them.
  EXPECT_EQ(cycles("fixpipe.f16.f32 ub[0], l1[0], 20 {count=3}"), before + 3 * 10);
  EXPECT_EQ(cycles("fixpipe.f32.f16 ub[0], l1[0], 20 {count=3}"), before + 3 * 10);
  EXPECT_EQ(cycles("fixpipe.i8.f32 ub[0], l1[0], 20 {count=3, layout=nz2nd}"), before + 3 * 10);
  EXPECT_EQ(cycles("fixpipe.f16.f16 ub[0], l1[0], 20 {count=3}"), before + 3 * 5);
  // Fractals to fractals: whole columns of the source, 2 of 3 rows of 64 bytes.
  EXPECT_EQ(cycles("fixpipe.f16.f32 ub[0], l1[0], 20 {count=3, layout=nz2nz}"), before + 2 * 24);
  // A width of its own for layouts: 4 bytes a cycle.
  EXPECT_EQ(cycles("fixpipe.i8.f32 ub[0], l1[0], 20 {count=3, layout=nz2nd}",
                   {"core_types.core.dma.mte2.paths.2.layout_bytes_per_cycle=4"}),
            before + 3 * 20);
  // To gm: rows of 32 bytes as requests, 64 on the path; from gm: the same the other way round.
  const std::uint64_t store = cycles("copy y[0], ub[0], 64 {count=3}");
  EXPECT_EQ(cycles("fixpipe.f16.f32 y[0], ub[0], 16 {count=3}"), store);
  EXPECT_EQ(cycles("fixpipe.f16.f32 y[0], ub[0], 16 {count=3, layout=nz2nd}"), store);
  const std::uint64_t load = cycles("copy ub[0], A[0], 64 {count=3}");
  EXPECT_EQ(cycles("fixpipe.f32.f16 ub[0], A[0], 16 {count=3}"), load);
  EXPECT_EQ(cycles("fixpipe.bf16.f32 ub[0], A[0], 16 {count=3, layout=nd2nz}"), load);
}

TEST(Post, what_was_converted_is_counted_apart) {
  const test::Run run = test::run(post_machine(),
                                  ".kernel test/count\n.tensor A u8 [4096] in\n"
                                  "copy ub[0], A[0], 512\nfixpipe.bf16.f32 ub[0], A[0], 16 {count=3}\n"
                                  "copy ub[1024], A[0], 100 {count=2, layout=nd2nz}\nend\n",
                                  test::one_core());
  for (const report::Engine& engine : run.report.engines) {
    if (engine.name != "mte2") continue;
    std::map<std::string, std::uint64_t> counters(engine.counters.begin(), engine.counters.end());
    EXPECT_EQ(counters.at("bytes"), 512U + 192 + 200);
    EXPECT_EQ(counters.at("converted_bytes"), 192U + 200);
  }
}

std::string refusal(const std::string& line, const std::vector<std::string>& set = {}) {
  try {
    test::run(post_machine(set), ".kernel test/post\n.tensor A u8 [4096] in\n" + line + "\nend\n",
              test::one_core());
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
  return "none";
}

TEST(Post, refusals_say_what_where_and_the_rule) {
  const std::pair<const char*, const char*> cases[] = {
      {"fixpipe.f16.f32 l1[0], A[0], 8",
       "copy-post: test.npu:3:1: the path gm → l1 (mte2) of machine 'tiny' has no post-operations"},
      {"fixpipe.f16.f32 l1[0], l1[0], 8", "copy-path"},
      {"fixpipe.f16.f32 ub[0], A[0], 8 {layout=nz2nd}", "has no layout nz2nd; it has nd2nz"},
      {"fixpipe.f16.f32 ub[0], l1[0], 8 {layout=transpose16}",
       "copy-layout: test.npu:3:1: fixpipe has no layout transpose16; it has nd2nz, nz2nd, nz2nz"},
      {"copy ub[0], l1[0], 8 {layout=nz2nz}", "copy has no layout nz2nz; it has nd2nz, nz2nd, transpose16"},
      {"fixpipe.f16.f32 ub[0], l1[0], 8 {scale=0, scale_at=0}", "modifier-combination"},
      {"fixpipe.f16.f32 ub[0], l1[0], 8 {scale=-1}", "modifier 'scale' is -1; the range is 0…4294967295"},
      {"fixpipe.f16.f32 ub[0], l1[0], 8 {relu=s1}", "modifier 'relu' is no register"},
      {"fixpipe.i4.f32 ub[0], l1[0], 8", "fixpipe does not take i4"},
      {"fixpipe.f16.i8 ub[0], l1[0], 8", "it takes f32, f16, bf16, i32"},
      {"mov s1, -1\nfixpipe.f16.f32 ub[0], l1[0], s1", "bad-size: test.npu:4: fixpipe with columns = -1"},
      {"mov s1, -1\nfixpipe.f16.f32 ub[0], l1[0], 8 {scale=s1}",
       "value-range: test.npu:4: fixpipe with scale = -1 on core 0: it is the bits of an f32, 0…2^32-1"},
      {"fixpipe.f16.f32 ub[0], l1[0], 8 {scale_at=996}",
       "out-of-bounds: test.npu:3: fixpipe reads fb[996…1027]"},
      // 19 columns of f32 in fractals of 16: 64 bytes of the first column, 12 of the second one at 1024.
      {"fixpipe.f16.f32 ub[0], l1[15349], 19 {layout=nz2nd}", "bytes 15349…16384"},
      {"fixpipe.f32.f16 ub[16353], l1[0], 8", "bytes 16353…16384"},
  };
  for (const auto& [line, message] : cases) {
    const std::string said = refusal(line);
    EXPECT_NE(said.find(message), std::string::npos) << line << " -> " << said;
  }
  EXPECT_EQ(refusal("mov s1, 15348\nfixpipe.f16.f32 ub[0], l1[s1], 19 {layout=nz2nd}"), "none");
  EXPECT_NE(
      refusal("fixpipe.f16.f32 l1[0], A[0], 8 {scale_at=0}", {"core_types.core.dma.mte2.paths.1.post=true"})
          .find("has no buffer of factors for scale_at"),
      std::string::npos);
}

TEST(Post, factors_that_nothing_wrote_and_factors_that_change_meanwhile_are_found) {
  const auto codes = [](const std::string& text) {
    const test::Run run = test::run(
        post_machine(), ".kernel test/found\n.tensor A u8 [4096] in\n" + text + "\nend\n", test::one_core());
    std::string all;
    for (const report::Diagnostic& d : run.report.diagnostics) all += d.code + " " + d.message + "\n";
    return all;
  };
  EXPECT_NE(codes("copy l1[0], A[0], 64\ncopy fb[0], A[0], 28\nbarrier all\n"
                  "fixpipe.f16.f32 ub[0], l1[0], 8 {scale_at=0}")
                .find("uninitialised-read fixpipe reads fb at byte 28 on core 0"),
            std::string::npos);
  const std::string ready = "copy l1[0], A[0], 64\ncopy fb[0], A[0], 64\nbarrier all\n";
  EXPECT_NE(
      codes(ready + "copy fb[28], A[0], 32\nfixpipe.f16.f32 ub[0], l1[0], 8 {scale_at=0}").find("race "),
      std::string::npos);
  EXPECT_EQ(codes(ready + "copy fb[32], A[0], 32\nfixpipe.f16.f32 ub[0], l1[0], 8 {scale_at=0}"), "");
}

}  // namespace
}  // namespace npulab
