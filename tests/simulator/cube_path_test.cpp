// SPDX-License-Identifier: Apache-2.0
// A product the way a cube core does it, through every layout on its way: rows in gm, fractals in l1,
// operands beside the cube, sums, rows again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "run_helper.hpp"
#include "sim/values/convert.hpp"

namespace npulab {
namespace {

struct Shape {
  std::size_t m, n, k;
};

std::size_t blocks(std::size_t elements) {
  return (elements + 15) / 16;
}

// A and B to fractals in l1, A in rows of blocks to l0a, B the same with every block transposed to l0b.
std::string product(const Shape& s, const std::string& last) {
  const std::size_t mb = blocks(s.m), nb = blocks(s.n), kb = blocks(s.k);
  std::string text = fmt::format(
      ".kernel test/cube\n.tensor A f16 [{0}, {1}] in\n.tensor B f16 [{1}, {2}] in\n.tensor C f32 [{0}, {2}] "
      "out\n.tensor D f16 [{0}, {2}] out\n",
      s.m, s.k, s.n);
  text += fmt::format("copy l1[0], A[0], {} {{count={}, layout=nd2nz}}\n", 2 * s.k, s.m);
  text += fmt::format("copy l1[{}], B[0], {} {{count={}, layout=nd2nz}}\nbarrier all\n", mb * kb * 512,
                      2 * s.n, s.k);
  text += fmt::format(
      "copy l0a[0], l1[0], 512 {{count={}, src_pitch=512, dst_pitch={}, count2={}, src_pitch2={}, "
      "dst_pitch2=512}}\n",
      mb, kb * 512, kb, mb * 512);
  text += fmt::format(
      "copy l0b[0], l1[{}], 512 {{count={}, src_pitch=512, dst_pitch={}, count2={}, src_pitch2={}, "
      "dst_pitch2=512, layout=transpose16}}\nbarrier all\n",
      mb * kb * 512, kb, nb * 512, nb, kb * 512);
  text += fmt::format("mmad.f16 {}, {}, {}, l0a[0], l0b[0], l0c[0]\nbarrier all\n", s.m, s.n, s.k);
  return text + last + "end\n";
}

struct Case {
  std::vector<std::uint16_t> a, b;
  std::vector<float> c;
};

// Sums of f16 products in f32, one fused step per k.
Case make_case(const Shape& s) {
  Case made;
  std::mt19937_64 random(s.m * 10000 + s.n * 100 + s.k);
  const auto fill = [&random](std::vector<std::uint16_t>& values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(values::f32_to_f16(static_cast<float>(random() % 4096) / 1024 - 2));
  };
  fill(made.a, s.m * s.k);
  fill(made.b, s.k * s.n);
  for (std::size_t i = 0; i < s.m; ++i)
    for (std::size_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (std::size_t l = 0; l < s.k; ++l)
        sum = std::fma(values::f16_to_f32(made.a[i * s.k + l]), values::f16_to_f32(made.b[l * s.n + j]), sum);
      made.c.push_back(sum);
    }
  return made;
}

constexpr Shape kShapes[] = {{1, 1, 1}, {16, 16, 16}, {17, 33, 47}, {5, 70, 19}, {64, 3, 100}, {33, 16, 1}};

TEST(CubePath, rows_to_fractals_to_sums_to_rows_for_odd_sizes) {
  const config::Machine machine = test::machine("ascend910_opsblas");
  for (const Shape& s : kShapes) {
    const Case data = make_case(s);
    const test::Run run = test::run(
        machine,
        product(s, fmt::format("fixpipe.f32.f32 C[0], l0c[0], {0} {{count={1}, layout=nz2nd}}\n"
                               "fixpipe.f16.f32 D[0], l0c[0], {0} {{count={1}, layout=nz2nd, relu=1}}\n",
                               s.n, s.m)),
        test::one_core(), {{"A", test::bytes_of(data.a)}, {"B", test::bytes_of(data.b)}});
    EXPECT_EQ(run.outputs.at("C"), test::bytes_of(data.c)) << s.m << " x " << s.n << " x " << s.k;
    std::vector<std::uint16_t> narrow;
    for (const float sum : data.c) narrow.push_back(values::f32_to_f16(sum > 0 ? sum : 0));
    EXPECT_EQ(run.outputs.at("D"), test::bytes_of(narrow)) << s.m << " x " << s.n << " x " << s.k;
    EXPECT_TRUE(run.report.diagnostics.empty()) << run.report.diagnostics.front().message;
  }
}

// The same with A as f32 in gm, narrowed on its way into the fractals.
TEST(CubePath, f32_weights_become_f16_on_load) {
  const config::Machine machine = test::machine("ascend910_opsblas");
  for (const Shape& s : kShapes) {
    const Case data = make_case(s);
    std::string text =
        product(s, fmt::format("fixpipe.f32.f32 C[0], l0c[0], {0} {{count={1}, layout=nz2nd}}\n"
                               "fixpipe.f16.f32 D[0], l0c[0], {0} {{count={1}, layout=nz2nd}}\n",
                               s.n, s.m));
    const auto replace = [&text](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    replace(".tensor A f16", ".tensor A f32");
    replace(fmt::format("copy l1[0], A[0], {}", 2 * s.k),
            fmt::format("fixpipe.f16.f32 l1[0], A[0], {}", s.k));
    std::vector<float> wide;
    for (const std::uint16_t bits : data.a) wide.push_back(values::f16_to_f32(bits));
    const test::Run run = test::run(machine, text, test::one_core(),
                                    {{"A", test::bytes_of(wide)}, {"B", test::bytes_of(data.b)}});
    EXPECT_EQ(run.outputs.at("C"), test::bytes_of(data.c)) << s.m << " x " << s.n << " x " << s.k;
    EXPECT_EQ(run.report.memories[0].read_bytes, 4 * s.m * s.k + 2 * s.k * s.n);
  }
}

// The result as the left operand of another product, without leaving the core: (A B) I.
TEST(CubePath, nz2nz_makes_the_operand_of_the_next_product) {
  const config::Machine machine = test::machine("ascend910_opsblas");
  for (const Shape& s : kShapes) {
    const Case data = make_case(s);
    const std::size_t mb = blocks(s.m), nb = blocks(s.n);
    std::string last =
        fmt::format("fixpipe.f16.f32 l1[0], l0c[0], {} {{count={}, layout=nz2nz}}\n", s.n, s.m);
    last += fmt::format("copy l1[{}], I[0], {} {{count={}, layout=nd2nz}}\nbarrier all\n", mb * nb * 512,
                        2 * s.n, s.n);
    last += fmt::format(
        "copy l0a[0], l1[0], 512 {{count={}, src_pitch=512, dst_pitch={}, count2={}, src_pitch2={}, "
        "dst_pitch2=512}}\n",
        mb, nb * 512, nb, mb * 512);
    // A unit matrix is its own transpose, block by block on the diagonal; the others are zero.
    last += fmt::format("copy l0b[0], l1[{}], {} \nbarrier all\n", mb * nb * 512, nb * nb * 512);
    last += fmt::format("mmad.f16 {0}, {1}, {1}, l0a[0], l0b[0], l0c[0]\nbarrier all\n", s.m, s.n);
    last += fmt::format(
        "fixpipe.f32.f32 C[0], l0c[0], {0} {{count={1}, layout=nz2nd}}\n"
        "fixpipe.f16.f32 D[0], l0c[0], {0} {{count={1}, layout=nz2nd}}\n",
        s.n, s.m);
    std::string text = product(s, last);
    text.insert(text.find("copy"), fmt::format(".tensor I f16 [{0}, {0}] in\n", s.n));
    std::vector<std::uint16_t> unit(s.n * s.n, 0);
    for (std::size_t i = 0; i < s.n; ++i) unit[i * s.n + i] = values::f32_to_f16(1);
    const test::Run run = test::run(
        machine, text, test::one_core(),
        {{"A", test::bytes_of(data.a)}, {"B", test::bytes_of(data.b)}, {"I", test::bytes_of(unit)}});
    std::vector<float> expected;
    for (const float sum : data.c) expected.push_back(values::f16_to_f32(values::f32_to_f16(sum)));
    EXPECT_EQ(run.outputs.at("C"), test::bytes_of(expected)) << s.m << " x " << s.n << " x " << s.k;
    EXPECT_TRUE(run.report.diagnostics.empty()) << run.report.diagnostics.front().message;
  }
}

}  // namespace
}  // namespace npulab
