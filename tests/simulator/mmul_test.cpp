// SPDX-License-Identifier: Apache-2.0
// Tiles of matrix products in registers: every tile of the shipped machines against plain loops, cycles
// worked out by hand, refusals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "run_helper.hpp"

namespace npulab::test {
namespace {

using Bytes = std::vector<std::byte>;

// A shim tile fetches the operands for compute tile 0, which multiplies: `work` has A in v0, B in v8 and the
// sums, of 4 bytes each, in v16.
std::string kernel(const isa::MatrixShape& shape, const std::string& work) {
  const auto bytes = [](unsigned elements, isa::DType type) { return elements * isa::bits(type) / 8; };
  const unsigned a = bytes(shape.m * shape.k, shape.a);
  const unsigned b = bytes(shape.k * shape.n, shape.b);
  const unsigned c = shape.m * shape.n;
  std::string text = fmt::format(R"(.kernel test/mmul
.tensor A u8 [{0}] in
.tensor B u8 [{1}] in
.tensor C i32 [{2}] in
.tensor y i32 [{2}] out
.program core=shim cores=1
  copy tile.l1[0], A[], {0} {{core=0, engine=mm2s0}}
  copy tile.l1[1024], B[], {1} {{core=0, engine=mm2s0}}
  copy tile.l1[2048], C[], {3} {{core=0, engine=mm2s0}}
  release mm2s0, first(tile), 0
  end
.program core=tile cores=1
.macro load TYPE, FIRST, AT, ELEMENTS
.for i in 0..ELEMENTS step (OPBYTES / bytes(TYPE))
  vld.TYPE v{{FIRST + i * bytes(TYPE) / OPBYTES * REGS_PER_OP}}, l1[AT + i * bytes(TYPE)] {{n=min(ELEMENTS - i, OPBYTES / bytes(TYPE))}}
.endfor
.endm
  acquire scalar, 0
  load u8, 0, 0, {0}
  load u8, 8, 1024, {1}
  load i32, 16, 2048, {2}
)",
                                 a, b, c, 4 * c);
  text += work;
  for (unsigned at = 0; at < c; at += 16)
    text +=
        fmt::format("  vst.i32 l1[{}], v{} {{n={}}}\n", 4096 + 4 * at, 16 + at / 8, std::min(16U, c - at));
  return text + fmt::format(R"(  set_flag vector, mm2s0, 0
  wait_flag vector, mm2s0, 0
  copy y[], l1[4096], {} {{engine=mm2s0}}
  end
)",
                            4 * c);
}

std::string types_of(const isa::MatrixShape& shape) {
  return fmt::format("{}.{}", isa::info(shape.a).name, isa::info(shape.b).name);
}

Bytes random_bytes(std::size_t bytes, isa::DType type, std::mt19937& random) {
  Bytes data(bytes);
  for (std::byte& one : data) one = static_cast<std::byte>(random());
  if (type == isa::DType::bf16)  // neither NaN nor infinities: exponents around 0
    for (std::size_t i = 1; i < bytes; i += 2) data[i] = (data[i] & std::byte{0x81}) | std::byte{0x3e};
  return data;
}

std::int32_t element(const Bytes& data, isa::DType type, std::size_t index) {
  switch (isa::bits(type)) {
    case 4: {
      const unsigned nibble = static_cast<unsigned>(data[index / 2]) >> (4 * (index % 2)) & 15U;
      return nibble >= 8 ? static_cast<std::int32_t>(nibble) - 16 : static_cast<std::int32_t>(nibble);
    }
    case 8:
      return static_cast<std::int8_t>(data[index]);
    default:
      return static_cast<std::int16_t>(static_cast<unsigned>(data[2 * index]) |
                                       static_cast<unsigned>(data[2 * index + 1]) << 8);
  }
}

float widened(const Bytes& data, std::size_t index) {
  const auto bits = static_cast<std::uint16_t>(element(data, isa::DType::i16, index));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// C + A B: one fused step for each k, ascending; integers wrap.
std::vector<std::uint32_t> plain(const isa::MatrixShape& shape, const Bytes& a, const Bytes& b,
                                 std::vector<std::uint32_t> c) {
  for (std::size_t i = 0; i < shape.m; ++i)
    for (std::size_t j = 0; j < shape.n; ++j)
      for (std::size_t p = 0; p < shape.k; ++p) {
        std::uint32_t& sum = c[i * shape.n + j];
        const std::size_t left = i * shape.k + p;
        const std::size_t right = p * shape.n + j;
        if (isa::info(shape.a).floating)
          sum = std::bit_cast<std::uint32_t>(
              std::fmaf(widened(a, left), widened(b, right), std::bit_cast<float>(sum)));
        else
          sum += static_cast<std::uint32_t>(element(a, shape.a, left) * element(b, shape.b, right));
      }
  return c;
}

const config::Machine& xdna1() {
  static const config::Machine machine = test::machine("xdna1");
  return machine;
}

TEST(Mmul, every_tile_of_the_chip_gives_what_plain_loops_give) {
  const isa::Target target = config::make_target(xdna1(), "tile");
  ASSERT_EQ(target.matrix->types.size(), 10U);
  std::mt19937 random(1);
  for (const isa::MatrixShape& shape : target.matrix->types) {
    const std::string name = types_of(shape) + " " + isa::tile_name(shape.code());
    const Bytes a = random_bytes(shape.m * shape.k * isa::bits(shape.a) / 8, shape.a, random);
    const Bytes b = random_bytes(shape.k * shape.n * isa::bits(shape.b) / 8, shape.b, random);
    std::vector<std::uint32_t> c(shape.m * shape.n);
    for (std::uint32_t& sum : c)
      sum = isa::info(shape.a).floating
                ? std::bit_cast<std::uint32_t>(static_cast<float>(random() % 100) - 50.0F)
                : static_cast<std::uint32_t>(random());
    const auto result = run(xdna1(),
                            kernel(shape, fmt::format("  mmul.{} v16, v0, v8 {{shape={}}}\n", types_of(shape),
                                                      isa::tile_name(shape.code()))),
                            {}, {{"A", a}, {"B", b}, {"C", bytes_of(c)}});
    EXPECT_EQ(values_of<std::uint32_t>(result.outputs.at("y")), plain(shape, a, b, c)) << name;
    EXPECT_EQ(result.report.flops, 2ULL * shape.m * shape.k * shape.n) << name;
    EXPECT_TRUE(result.report.diagnostics.empty()) << name;
  }
}

TEST(Mmul, without_a_shape_the_first_tile_of_the_types_is_taken) {
  const isa::Target target = config::make_target(xdna1(), "tile");
  const isa::MatrixShape* first = target.matrix->shape(isa::DType::i16, isa::DType::i8);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(isa::tile_name(first->code()), "m4k8n4");
  std::mt19937 random(2);
  const Bytes a = random_bytes(64, isa::DType::i16, random);
  const Bytes b = random_bytes(32, isa::DType::i8, random);
  const std::vector<std::uint32_t> c(16, 7);
  const auto result = run(xdna1(), kernel(*first, "  mmul.i16.i8 v16, v0, v8\n"), {},
                          {{"A", a}, {"B", b}, {"C", bytes_of(c)}});
  EXPECT_EQ(values_of<std::uint32_t>(result.outputs.at("y")), plain(*first, a, b, c));
}

std::uint64_t cycles(const std::string& work, const std::vector<std::string>& set = {}) {
  const isa::MatrixShape shape{isa::DType::bf16, isa::DType::bf16, 4, 8, 4};
  return run(machine("xdna1", set), kernel(shape, work)).report.cycles;
}

TEST(Mmul, products_that_add_to_the_same_sums_are_a_latency_apart) {
  const auto chain = [](int products) {
    return cycles(fmt::format("  loop {}\n  mmul.bf16 v16, v0, v8\n  endloop\n", products));
  };
  EXPECT_EQ(chain(9) - chain(1), 8U * 4);
  // Four sums in turn: one product a cycle; the last one's sums are there 4 cycles after its start.
  const auto turns = [](int rounds) {
    return cycles(
        fmt::format("  vdup.f32 v20, 0\n  vdup.f32 v24, 0\n  vdup.f32 v28, 0\n  loop {}\n"
                    "  mmul.bf16 v20, v0, v8\n  mmul.bf16 v24, v0, v8\n  mmul.bf16 v28, v0, v8\n"
                    "  mmul.bf16 v16, v0, v8\n  endloop\n",
                    rounds));
  };
  EXPECT_EQ(turns(9) - turns(1), 8U * 4);
  // Three are too few.
  const auto three = [](int rounds) {
    return cycles(
        fmt::format("  vdup.f32 v20, 0\n  vdup.f32 v24, 0\n  loop {}\n  mmul.bf16 v20, v0, v8\n"
                    "  mmul.bf16 v24, v0, v8\n  mmul.bf16 v16, v0, v8\n  endloop\n",
                    rounds));
  };
  EXPECT_EQ(three(9) - three(1), 8U * 4);
}

TEST(Mmul, a_tile_keeps_the_unit_for_its_cycles) {
  const auto turns = [](int rounds, const std::vector<std::string>& set) {
    return cycles(
        fmt::format("  vdup.f32 v20, 0\n  loop {}\n  mmul.bf16 v20, v0, v8\n  mmul.bf16 v16, v0, v8\n"
                    "  endloop\n",
                    rounds),
        set);
  };
  const std::vector<std::string> slow{"core_types.tile.matrix.types.bf16.cycles=8"};
  EXPECT_EQ(turns(5, slow) - turns(1, slow), 4U * 16);
  EXPECT_EQ(turns(5, {}) - turns(1, {}), 4U * 4);
}

TEST(Mmul, an_operand_waits_for_its_load_and_for_no_other) {
  // A load is there after 7 cycles, 6 behind the cycle in which the product of v0 and v8 starts.
  const auto with = [](const std::string& factor) {
    std::string nops;  // until v0 and v8 are there
    for (int i = 0; i < 16; ++i) nops += "  nop\n";
    return cycles(nops + "  vld.bf16 v4, l1[0]\n  mmul.bf16 v16, " + factor + ", v8\n");
  };
  EXPECT_EQ(with("v4") - with("v0"), 6U);
}

std::string refusal(const std::string& work, const std::vector<std::string>& set = {}) {
  const isa::MatrixShape shape{isa::DType::bf16, isa::DType::bf16, 4, 8, 4};
  try {
    run(machine("xdna1", set), kernel(shape, work + "\n"));
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
  return {};
}

void expect_refusal(const std::string& work, const std::string& code, const std::string& text,
                    const std::vector<std::string>& set = {}) {
  const std::string message = refusal(work, set);
  EXPECT_EQ(message.rfind(code + ": ", 0), 0U) << message;
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST(Mmul, what_the_unit_does_not_have_is_refused) {
  expect_refusal("mmul.i16.i8 v16, v0, v8 {shape=m4k8n8}", "tile-shape",
                 "mmul.i16.i8: the matrix unit of machine 'xdna1' has no tile m4k8n8 of these types; it has "
                 "m4k8n4, m4k4n8, m2k8n8");
  expect_refusal("mmul.i4 v16, v0, v8", "illegal-type",
                 "does not know these types; it knows bf16, i16, i16.i8, i8, i8.i4");
  expect_refusal("mmul.bf16 v16, v0, v8 {shape=4x8x4}", "syntax", "'4x8x4' is not a number");
  for (const char* wrong : {"m4k8", "m4k8n4n4", "m04k8n4", "m4k8n2000", "k8m4n4", "m4k8n"})
    expect_refusal(fmt::format("mmul.bf16 v16, v0, v8 {{shape={}}}", wrong), "unknown-tile",
                   "is no tile; write m, k and n (1…1024) as in m4k8n4");
  expect_refusal("mmul.bf16 v17, v0, v8", "register-alignment", "v16 or v18");
  expect_refusal("mmul.i8 v58, v0, v8", "register-range",
                 "operand 'dst' of mmul.i8 takes 4 registers, v58…v61; machine 'xdna1' has v0…v59");
  expect_refusal("gemm.bf16 4, 4, 8, l1[0], l1[0], l1[0]", "no-matrix-unit", "kind cube or systolic");
  const auto bad = [](const std::string& code, const std::string& types, const std::string& text) {
    expect_refusal("nop", code, text, {"core_types.tile.matrix.types." + types});
  };
  bad("duplicate-name", "i8_3={m: 2, k: 8, n: 8}", "'i8_2' has these types and this tile already");
  bad("bad-combination", "i8_i4={m: 1, k: 1, n: 1}", "a tile of 4 bits is no whole number of bytes");
  bad("bad-combination", "i8_3={m: 256, k: 64, n: 1}", "does not fit registers 60 of register_bits 256");
  bad("bad-name", "i8_x={m: 4, k: 8, n: 8}", "is no pair of element types");
}

TEST(Mmul, copies_name_one_of_several_engines) {
  expect_refusal("copy mem.l2[0], l1[0], 4 {core=0}", "several-engines",
                 "path l1 → mem.l2 of machine 'xdna1' is one of mm2s0, mm2s1: say which copies, as in "
                 "{engine=mm2s0}");
  expect_refusal("copy mem.l2[0], l1[0], 4 {core=0, engine=scalar}", "copy-path",
                 "scalar of machine 'xdna1' has no path l1 → mem.l2; mm2s0, mm2s1 has");
  expect_refusal("copy mem.l2[0], l1[0], 4 {core=0, engine=mm2s}", "unknown-engine", "did you mean 'mm2s0'?");
  // The engine has the path; the launch has no memory tile.
  expect_refusal("copy mem.l2[0], l1[2048], 4 {core=0, engine=mm2s1}", "core-range",
                 "the launch has 0 of type 'mem'");
}

}  // namespace
}  // namespace npulab::test
