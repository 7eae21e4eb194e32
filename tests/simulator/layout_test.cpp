// SPDX-License-Identifier: Apache-2.0
// Copies that change the layout of a matrix: values against plain loops, cycles worked out by hand, refusals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "run_helper.hpp"

namespace npulab {
namespace {

using Bytes = std::vector<std::byte>;

// Every layout on every path that may have it, and l1 > ub both ways round.
config::Machine layout_machine(const std::vector<std::string>& set = {}) {
  std::vector<std::string> all{"core_types.core.dma.mte2.paths.0.layouts=[nd2nz]",
                               "core_types.core.dma.mte2.paths.1.layouts=[nd2nz]",
                               "core_types.core.dma.mte2.paths.2.layouts=[nz2nd, transpose16, nd2nz]",
                               "core_types.core.dma.mte3.paths.0.layouts=[nz2nd]",
                               "core_types.core.buffers.ub.bytes=16384",
                               "core_types.core.buffers.l1.bytes=16384"};
  all.insert(all.end(), set.begin(), set.end());
  return test::machine("tiny", all);
}

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(1 + random() % 255);
  return bytes;
}

std::string refusal(const config::Machine& machine, const std::string& body) {
  try {
    test::run(machine, ".kernel test/layout\n" + body, test::one_core());
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
  return "none";
}

std::size_t up16(std::size_t rows) {
  return (rows + 15) / 16 * 16;
}
// Byte b of row r in columns `pitch` apart.
std::size_t nz(std::size_t r, std::size_t b, std::size_t pitch) {
  return b / 32 * pitch + r * 32 + b % 32;
}

TEST(Layout, nd2nz_of_odd_shapes_fills_whole_fractals) {
  const config::Machine machine = layout_machine();
  for (const std::size_t rows : {1U, 15U, 16U, 17U, 33U}) {
    for (const std::size_t bytes : {1U, 31U, 32U, 33U, 70U}) {
      for (const char* const way : {"ub", "l1"}) {
        const std::size_t columns = (bytes + 31) / 32;
        const std::size_t pitch = up16(rows) * 32;
        const std::size_t size = columns * pitch;
        const std::size_t row_pitch = bytes + 3;
        const std::string body = fmt::format(
            ".kernel test/nz\n.tensor A u8 [{0}] in\n.tensor y u8 [{1}] out\n"
            "copy {2}[64], A[0], {3} {{count={4}, src_pitch={5}, layout=nd2nz}}\nbarrier all\n"
            "{6}copy y[0], ub[64], {1}\nend\n",
            rows * row_pitch, size, way, bytes, rows, row_pitch,
            way == std::string("l1") ? fmt::format("copy ub[64], l1[64], {}\nbarrier all\n", size) : "");
        const Bytes a = random_bytes(rows * row_pitch, bytes * 100 + rows);
        const test::Run run = test::run(machine, body, test::one_core(), {{"A", a}});
        Bytes expected(size, std::byte{0});
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t b = 0; b < bytes; ++b) expected[nz(r, b, pitch)] = a[r * row_pitch + b];
        EXPECT_EQ(run.outputs.at("y"), expected) << body;
        EXPECT_TRUE(run.report.diagnostics.empty()) << body;
        EXPECT_EQ(run.report.memories[0].read_bytes, rows * bytes);
      }
    }
  }
}

TEST(Layout, nz2nd_is_the_reverse_with_planes_and_pitches_between_buffers_and_to_gm) {
  const config::Machine machine = layout_machine();
  for (const std::size_t rows : {1U, 16U, 19U}) {
    for (const std::size_t bytes : {2U, 32U, 66U, 94U}) {
      const std::size_t columns = (bytes + 31) / 32;
      const std::size_t column = up16(rows) * 32 + 32;
      const std::size_t plane = columns * column + 64;
      const std::size_t back = bytes + 5;
      const std::string body = fmt::format(
          ".kernel test/nd\n.tensor A u8 [2, {0}, {1}] in\n.tensor y u8 [2, {0}, {1}] out\n.tensor z u8 "
          "[{5}] "
          "out\n"
          "copy l1[0], A[0], {1} {{count={0}, count2=2, layout=nd2nz, dst_pitch={2}, dst_pitch2={3}}}\n"
          "barrier all\n"
          "copy ub[0], l1[0], {1} {{count={0}, count2=2, layout=nz2nd, src_pitch={2}, src_pitch2={3}, "
          "dst_pitch={4}}}\n"
          "copy ub[8192], l1[0], {3} {{count=2}}\nbarrier all\n"
          "copy z[0], ub[0], {5}\n"
          "copy y[0], ub[8192], {1} {{count={0}, count2=2, layout=nz2nd, src_pitch={2}, src_pitch2={3}}}\n"
          "end\n",
          rows, bytes, column, plane, back, 2 * rows * back - 5);
      const Bytes a = random_bytes(2 * rows * bytes, bytes * 100 + rows);
      SimulationOptions options = test::one_core();
      options.sanitize =
          SanitizeLevel::off;  // z has the gaps between rows, and planes have gaps between columns
      const test::Run run = test::run(machine, body, options, {{"A", a}});
      EXPECT_EQ(run.outputs.at("y"), a) << body;
      for (std::size_t i = 0; i < 2 * rows * bytes; ++i)
        ASSERT_EQ(run.outputs.at("z")[i / bytes * back + i % bytes], a[i]) << body;
      EXPECT_EQ(run.report.memories[0].write_bytes, a.size() + 2 * rows * back - 5);
    }
  }
}

TEST(Layout, transpose16_turns_each_fractal) {
  const config::Machine machine = layout_machine();
  const std::string body =
      ".kernel test/turn\n.tensor A u8 [3072] in\n.tensor y u8 [3072] out\n"
      "copy l1[0], A[0], 3072\nbarrier all\n"
      // Two planes of three fractals; within a plane they come out in reverse order.
      "copy ub[1024], l1[0], 512 {count=3, dst_pitch=-512, count2=2, dst_pitch2=1536, layout=transpose16}\n"
      "barrier all\ncopy y[0], ub[0], 3072\nend\n";
  const Bytes a = random_bytes(3072, 5);
  const test::Run run = test::run(machine, body, test::one_core(), {{"A", a}});
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t f = 0; f < 3; ++f)
      for (std::size_t r = 0; r < 16; ++r)
        for (std::size_t c = 0; c < 16; ++c)
          for (std::size_t b = 0; b < 2; ++b)
            ASSERT_EQ(run.outputs.at("y")[p * 1536 + (2 - f) * 512 + (c * 16 + r) * 2 + b],
                      a[p * 1536 + f * 512 + (r * 16 + c) * 2 + b]);
  EXPECT_TRUE(run.report.diagnostics.empty());
}

TEST(Layout, columns_closer_than_whole_fractals_keep_their_rows) {
  const config::Machine machine = layout_machine();
  // Five rows, columns 160 bytes apart: the filling of one column lies under the rows of the next.
  const Bytes a = random_bytes(5 * 96, 9);
  const test::Run run = test::run(machine,
                                  ".kernel test/dense\n.tensor A u8 [480] in\n.tensor y u8 [832] out\n"
                                  "copy ub[0], A[0], 96 {count=5, dst_pitch=160, layout=nd2nz}\nbarrier all\n"
                                  "copy y[0], ub[0], 832\nend\n",
                                  test::one_core(), {{"A", a}});
  Bytes expected(832, std::byte{0});
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t b = 0; b < 96; ++b) expected[nz(r, b, 160)] = a[r * 96 + b];
  EXPECT_EQ(run.outputs.at("y"), expected);
}

TEST(Layout, empty_matrices_move_nothing) {
  const config::Machine machine = layout_machine();
  for (const char* const copy :
       {"copy ub[s1], A[s1], 0 {count=4, layout=nd2nz}", "copy ub[s1], A[s1], 8 {count=0, layout=nd2nz}",
        "copy ub[s1], l1[s1], 512 {count2=0, layout=transpose16}",
        "copy ub[s1], l1[s1], s2 {layout=nz2nd}"}) {
    const test::Run run = test::run(
        machine,
        fmt::format(".kernel test/empty\n.tensor A u8 [64] in\nmov s1, 100000\nmov s2, 0\n{}\nend\n", copy),
        test::one_core());
    EXPECT_EQ(run.report.memories[0].read_bytes, 0U) << copy;
    EXPECT_LT(run.report.cycles, 10U) << copy;
  }
}

TEST(Layout, cycles_by_hand) {
  const auto cycles = [](const std::string& copy, const std::vector<std::string>& set = {}) {
    std::vector<std::string> all{"gm.model=ideal", "gm.latency_ns=20", "gm.bandwidth_gbps=100000"};
    all.insert(all.end(), set.begin(), set.end());
    return test::run(layout_machine(all), ".kernel test/time\n.tensor A u8 [4096] in\n" + copy + "\nend\n",
                     test::one_core())
        .report.cycles;
  };
  const std::vector<std::string> narrow{"core_types.core.dma.mte2.paths.0.layout_bytes_per_cycle=4",
                                        "core_types.core.dma.mte2.paths.2.layout_bytes_per_cycle=4"};
  // Rows of 64 bytes at 8 a cycle, four in flight: gm sees rows, not pieces of 32 bytes; filling is free.
  const std::string plain = "copy ub[0], A[0], 64 {count=4}";
  const std::string nz = "copy ub[0], A[0], 64 {count=4, layout=nd2nz}";
  EXPECT_EQ(cycles(plain), 1U + 20 + 1 + 24);  // the first row is there in 22, the others at the path's width
  EXPECT_EQ(cycles(nz), cycles(plain));
  // Four bytes a cycle for the conversion alone.
  EXPECT_EQ(cycles(nz, narrow), 1U + 20 + 1 + 48);
  EXPECT_EQ(cycles(plain, narrow), cycles(plain));
  // Between buffers: 1 + bytes / width, rows of 40 bytes and not columns of 32.
  const std::string fill = "copy l1[0], A[0], 1024\nbarrier all\n";
  const std::uint64_t before = cycles(fill);
  EXPECT_EQ(cycles(fill + "copy ub[0], l1[0], 40 {count=3, layout=nz2nd}"), before + 3 * 5);
  EXPECT_EQ(cycles(fill + "copy ub[0], l1[0], 40 {count=3, layout=nz2nd}", narrow), before + 3 * 10);
  EXPECT_EQ(cycles(fill + "copy ub[0], l1[0], 40 {count=3, layout=nd2nz}"), before + 3 * 5);
  EXPECT_EQ(cycles(fill + "copy ub[0], l1[0], 512 {count=2, layout=transpose16}"), before + 128);
}

TEST(Layout, timing_alone_takes_the_same_time) {
  const std::string body =
      ".kernel test/only\n.tensor A u8 [4096] in\n"
      "copy l1[0], A[0], 70 {count=21, layout=nd2nz}\nbarrier all\n"
      "copy ub[0], l1[0], 70 {count=21, layout=nz2nd}\nend\n";
  SimulationOptions options = test::one_core();
  const std::uint64_t with_values = test::run(layout_machine(), body, options).report.cycles;
  options.timing_only = true;
  EXPECT_EQ(test::run(layout_machine(), body, options).report.cycles, with_values);
}

TEST(Layout, a_path_without_the_layout_names_those_that_it_has) {
  const auto refused = [](const std::string& copy) {
    return refusal(layout_machine(), ".tensor A u8 [512] in\n.tensor y u8 [512] out\n" + copy + "\nend\n");
  };
  EXPECT_EQ(
      refused("copy l1[0], ub[0], 64 {layout=nd2nz}"),
      "copy-layout: test.npu:4:1: the path ub → l1 (mte3) of machine 'tiny' has no layout nd2nz; it has "
      "none");
  EXPECT_EQ(
      refused("copy y[0], ub[0], 64 {layout=nd2nz}"),
      "copy-layout: test.npu:4:1: the path ub → gm (mte3) of machine 'tiny' has no layout nd2nz; it has "
      "nz2nd");
  EXPECT_NE(refused("copy ub[0], l1[0], 512 {layout=nz2dn}").find("'nz2dn' is no layout; nd2nz ("),
            std::string::npos);
  EXPECT_NE(refused("copy ub[0], A[0], 8 {layout=nd2nz, pad_to=32}").find("modifier-combination"),
            std::string::npos);
  EXPECT_NE(refused("copy ub[0], l1[0], 511 {layout=transpose16}").find("is a fractal of 512 bytes"),
            std::string::npos);
  EXPECT_NE(refused("mov s1, 256\ncopy ub[0], l1[0], s1 {layout=transpose16}").find("bad-size: test.npu:5"),
            std::string::npos);
}

TEST(Layout, bounds_alignment_and_unwritten_bytes_are_exact) {
  const auto refused = [](const std::string& copy, const std::vector<std::string>& set = {}) {
    return refusal(layout_machine(set), ".tensor A u8 [4096] in\n" + copy + "\nend\n");
  };
  // Three rows of 40 bytes: two columns of 512 bytes, the last one whole.
  EXPECT_EQ(refused("mov s1, 15360\ncopy ub[s1], A[0], 40 {count=3, layout=nd2nz}"), "none");
  EXPECT_NE(refused("mov s1, 15361\ncopy ub[s1], A[0], 40 {count=3, layout=nd2nz}")
                .find("copy writes ub[15361…16384]"),
            std::string::npos);
  EXPECT_NE(refused("copy ub[15361], A[0], 40 {count=3, layout=nd2nz}").find("bytes 15361…16384"),
            std::string::npos);
  // Read: 8 bytes of the third row of the last column are the end.
  const std::string read = "copy l1[0], A[0], 4096\ncopy l1[12288], A[0], 4096\nbarrier all\n";
  EXPECT_EQ(refused(read + "mov s1, 15800\ncopy ub[0], l1[s1], 40 {count=3, layout=nz2nd}"), "none");
  EXPECT_NE(refused(read + "mov s1, 15801\ncopy ub[0], l1[s1], 40 {count=3, layout=nz2nd}")
                .find("copy reads l1[15801…16384]"),
            std::string::npos);
  EXPECT_NE(refused(read + "copy ub[0], l1[15801], 40 {count=3, layout=nz2nd}").find("bytes 15801…16384"),
            std::string::npos);
  EXPECT_NE(
      refused(read + "copy ub[0], l1[0], 40 {count=3, src_pitch=-512, layout=nz2nd}").find("bytes -512…95"),
      std::string::npos);
  const std::vector<std::string> aligned{"core_types.core.buffers.ub.alignment=64"};
  EXPECT_EQ(refused("mov s1, 64\ncopy ub[s1], A[0], 40 {count=3, layout=nd2nz}", aligned), "none");
  EXPECT_NE(refused("mov s1, 544\ncopy ub[64], A[0], 40 {count=3, dst_pitch=s1, layout=nd2nz}", aligned)
                .find("this one is 544"),
            std::string::npos);
  EXPECT_EQ(refused("mov s1, 544\ncopy ub[64], A[0], 32 {count=3, dst_pitch=s1, layout=nd2nz}", aligned),
            "none");
  // The third row of the last column, 8 bytes at 512 + 2 * 32, told by its first byte.
  const test::Run run = test::run(layout_machine(),
                                  ".kernel test/unwritten\n.tensor A u8 [4096] in\n"
                                  "copy l1[0], A[0], 576\nbarrier all\n"
                                  "copy ub[0], l1[0], 40 {count=3, layout=nz2nd}\nend\n",
                                  test::one_core());
  ASSERT_EQ(run.report.diagnostics.size(), 1U);
  EXPECT_NE(run.report.diagnostics[0].message.find("copy reads l1 at byte 576 on core 0"), std::string::npos)
      << run.report.diagnostics[0].message;
}

TEST(Layout, races_are_between_bytes_that_both_touch) {
  const auto races = [](const std::string& second) {
    const test::Run run = test::run(layout_machine(),
                                    ".kernel test/race\n.tensor A u8 [4096] in\n.tensor y u8 [4096] out\n"
                                    "copy ub[0], A[0], 4096\nbarrier all\n"
                                    "copy ub[0], A[0], 40 {count=3, dst_pitch=1024, layout=nd2nz}\n" +
                                        second + "\nend\n",
                                    test::one_core());
    std::size_t count = 0;
    for (const report::Diagnostic& d : run.report.diagnostics) count += d.code == "race" ? 1 : 0;
    return count;
  };
  EXPECT_EQ(races("copy y[0], ub[0], 1"), 1U);
  EXPECT_EQ(races("copy y[0], ub[511], 1"), 1U);    // filled rows
  EXPECT_EQ(races("copy y[0], ub[512], 512"), 0U);  // between the columns
  EXPECT_EQ(races("copy y[0], ub[1024], 1"), 1U);
  EXPECT_EQ(races("copy y[0], ub[1536], 512"), 0U);
  // A pitch that nothing uses may be anything.
  EXPECT_EQ(
      races("mov s1, 0x7fffffffffffffff\ncopy y[0], ub[1536], 32 {count=3, src_pitch=s1, layout=nz2nd}"), 0U);
  // Fractals as a source: columns of three pieces of 32 bytes, the last column of pieces of 8.
  EXPECT_EQ(races("copy y[0], ub[1528], 40 {count=3, src_pitch=512, layout=nz2nd}"), 1U);
  EXPECT_EQ(races("copy y[0], ub[1536], 40 {count=3, src_pitch=512, layout=nz2nd}"), 0U);
  EXPECT_EQ(races("copy y[0], ub[1536], 40 {count=1, src_pitch=-520, layout=nz2nd}"), 0U);  // 1016…1023
  EXPECT_EQ(races("copy y[0], ub[1536], 40 {count=2, src_pitch=-520, layout=nz2nd}"), 1U);  // and 1048…1055
}

}  // namespace
}  // namespace npulab
