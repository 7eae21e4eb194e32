// SPDX-License-Identifier: Apache-2.0
// Rows that move elements between registers and the buffer, and those that move lanes: every type, every
// modifier.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lane_reference.hpp"
#include "run_helper.hpp"

namespace npulab {
namespace {

using isa::DType;
using test::Bytes;

constexpr std::size_t kImage = 2048;    // read from ub[0], random bytes
constexpr std::size_t kResults = 2048;  // where results lie in ub

config::Machine machine_of_all_types() {
  config::Machine m = test::machine("tiny");
  config::CoreTypeConfig& core = m.core_types.begin()->second;
  core.vector.register_bits = 128;
  core.vector.operation_bits = 256;
  core.vector.registers = 32;
  core.vector.types.clear();
  for (const isa::DTypeInfo& type : isa::kDTypes) core.vector.types.push_back(type.type);
  core.buffers.at("ub").bytes = 1 << 16;
  return m;
}

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xffU);
  return bytes;
}

// Runs `body` on ub[0, kImage) = `image` and gives ub[kResults, + count).
Bytes buffer_after(const config::Machine& machine, const std::string& body, const Bytes& image,
                   std::size_t count) {
  const std::string text = fmt::format(
      ".kernel test/cover\n.tensor image u8 [{0}] in\n.tensor result u8 [{1}] out\n"
      "copy ub[0], image[], {0}\nset_flag mte2, vector, 0\nwait_flag mte2, vector, 0\n{2}"
      "set_flag vector, mte3, 0\nwait_flag vector, mte3, 0\ncopy result[], ub[{3}], {1}\nend\n",
      image.size(), count, body, kResults);
  const test::Run run = test::run(machine, text, test::one_core(), {{"image", image}});
  EXPECT_TRUE(run.report.diagnostics.empty()) << run.report.diagnostics.front().message << "\n" << body;
  return run.outputs.at("result");
}

std::vector<DType> types_of(isa::Op op) {
  std::vector<DType> types;
  for (const isa::DTypeInfo& type : isa::kDTypes)
    if (isa::contains(isa::info(op).types, type.type)) types.push_back(type.type);
  return types;
}

struct Access {
  std::int64_t offset;
  std::int64_t stride;
  std::int64_t n;
  std::string mods;
};

std::vector<Access> accesses(std::int64_t size, std::int64_t lanes) {
  return {{64, size, lanes, ""},
          {3, size, lanes, ""},
          {64, size, 3, "n=3"},
          {64, size, 0, "n=0"},
          {64, size, lanes, "n=s5"},  // s5 = 1000
          {64, size, 0, "n=s6"},      // s6 = -1
          {96, 7 * size + 1, lanes, fmt::format("stride={}", 7 * size + 1)},
          {640, -size, lanes, fmt::format("stride={}", -size)},
          {1500, -11, lanes, "stride=s7"},  // s7 = -11
          {77, 0, lanes, "stride=0"},
          {640, -2 * size, 2, fmt::format("stride={}, n=2", -2 * size)}};
}

const char* const kSetUp = "mov s5, 1000\nmov s6, -1\nmov s7, -11\n";

TEST(Coverage, IS_08_vld_every_type_and_modifier) {
  const config::Machine machine = machine_of_all_types();
  const Bytes image = random_bytes(kImage, 1);
  for (const DType type : types_of(isa::Op::Vld)) {
    const auto size = static_cast<std::int64_t>(isa::bits(type) / 8);
    const std::int64_t lanes = 32 / size;
    std::string body = kSetUp;
    Bytes expected;
    for (const Access& access : accesses(size, lanes)) {
      body += fmt::format("vld.{} v2, ub[{}] {{{}}}\nvst.u8 ub[{}], v2\n", isa::name(type), access.offset,
                          access.mods, kResults + expected.size());
      if (access.mods.empty()) body.replace(body.find(" {}"), 3, "");
      for (std::int64_t i = 0; i < lanes; ++i)
        for (std::int64_t byte = 0; byte < size; ++byte)
          expected.push_back(i < access.n
                                 ? image[static_cast<std::size_t>(access.offset + i * access.stride + byte)]
                                 : std::byte{0});
    }
    EXPECT_EQ(buffer_after(machine, body, image, expected.size()), expected) << isa::name(type) << "\n"
                                                                             << body;
  }
}

TEST(Coverage, IS_08_vst_every_type_and_modifier) {
  const config::Machine machine = machine_of_all_types();
  const Bytes image = random_bytes(kImage, 2);
  for (const DType type : types_of(isa::Op::Vst)) {
    const auto size = static_cast<std::int64_t>(isa::bits(type) / 8);
    const std::int64_t lanes = 32 / size;
    for (const Access& access : accesses(size, lanes)) {
      Bytes expected = image;
      for (std::int64_t i = 0; i < std::min(access.n, lanes); ++i)
        for (std::int64_t byte = 0; byte < size; ++byte)
          expected[static_cast<std::size_t>(access.offset + i * access.stride + byte)] =
              image[static_cast<std::size_t>(1024 + i * size + byte)];
      const std::string mods = access.mods.empty() ? "" : fmt::format("{{{}}}", access.mods);
      std::string body = kSetUp;
      body += fmt::format(
          "vld.u8 v4, ub[1024]\nmov s1, 0\nloop {}\nvld.u8 v2, ub[s1]\nvst.u8 ub[s1 + {}], v2\n"
          "add s1, s1, 32\nendloop\nvst.{} ub[{}], v4 {}\n",
          kImage / 32, kResults, isa::name(type), kResults + static_cast<std::size_t>(access.offset), mods);
      EXPECT_EQ(buffer_after(machine, body, image, kImage), expected)
          << isa::name(type) << " " << access.mods;
    }
  }
}

// IS-06: the base register moves by inc, whatever the lanes; the next access sees it.
TEST(Coverage, IS_06_post_increment_of_every_memory_row) {
  const config::Machine machine = machine_of_all_types();
  const Bytes image = random_bytes(kImage, 3);
  const std::string body = fmt::format(
      "mov s1, 100\nmov s2, {0}\nmov s3, -40\nmov s10, 4\n"
      "vld.u8 v2, ub[s1] {{inc=64}}\nvst.u8 ub[s2], v2 {{inc=32}}\n"
      "vld.u8 v2, ub[s1 + 8] {{inc=s3}}\nvst.u8 ub[s2], v2 {{inc=32, n=s10}}\n"
      "vdup.i32 v4, 1\nvdup.i32 v6, 1\nvdup.i32 v8, 1\nvdup.i32 v10, 1\n"
      "vgather.u8 v2, ub[s1], v4 {{inc=-24}}\nvst.u8 ub[s2], v2 {{inc=32}}\n"
      "lds.u8 s4, ub[s1] {{inc=7}}\nsts.u8 ub[s2], s4 {{inc=1}}\nsts.i32 ub[s2], s1 {{inc=4}}\nsts.i32 "
      "ub[s2], s2 {{inc=s1}}\n"
      "sub s2, s2, s1\nsts.i32 ub[s2 + 4], s2\n",
      kResults);
  const Bytes result = buffer_after(
      machine, "vld.u8 v2, ub[0]\nvst.u8 ub[2048], v2\nvst.u8 ub[2080], v2\n" + body, image, 109);
  Bytes expected(image.begin() + 100, image.begin() + 132);                   // s1 = 164
  expected.insert(expected.end(), image.begin() + 172, image.begin() + 176);  // s1 = 124, four bytes
  expected.insert(expected.end(), image.begin() + 4, image.begin() + 32);     // what lay there before
  expected.insert(expected.end(), 32, image[125]);                            // s1 = 100
  expected.push_back(image[100]);                                             // s1 = 107
  const auto word = [&expected](std::uint32_t value) {
    for (unsigned i = 0; i < 4; ++i) expected.push_back(static_cast<std::byte>(value >> (8 * i) & 0xffU));
  };
  word(107);
  word(kResults + 96 + 5);  // read before the increment
  word(kResults + 96 + 5);  // and taken back
  EXPECT_EQ(result, expected);
}

TEST(Coverage, IS_08_vgather_every_type) {
  const config::Machine machine = machine_of_all_types();
  Bytes image = random_bytes(kImage, 4);
  std::mt19937_64 random(4);
  for (const DType type : types_of(isa::Op::Vgather)) {
    const std::size_t size = isa::bits(type) / 8;
    const std::size_t lanes = 32 / size;
    std::vector<std::int32_t> index(lanes);
    for (std::int32_t& i : index) i = static_cast<std::int32_t>(random() % 1000) - 500;
    std::memcpy(&image[1024], index.data(), 4 * lanes);
    std::string body = "mov s2, 5\n";
    for (std::size_t i = 0; i < 4 * lanes / 32; ++i)
      body += fmt::format("vld.u8 v{}, ub[{}]\n", 8 + 2 * i, 1024 + 32 * i);
    body += fmt::format(
        "vgather.{0} v2, ub[512], v8\nvst.u8 ub[{1}], v2\nvgather.{0} v2, ub[512], v8 {{n=3}}\n"
        "vst.u8 ub[{2}], v2\nvgather.{0} v8, ub[512], v8 {{n=s2}}\nvst.u8 ub[{3}], v8\n",
        isa::name(type), kResults, kResults + 32, kResults + 64);
    Bytes expected;
    for (const std::size_t n : {lanes, std::size_t{3}, std::size_t{5}})
      for (std::size_t i = 0; i < lanes; ++i)
        for (std::size_t byte = 0; byte < size; ++byte)
          expected.push_back(i < n ? image[static_cast<std::size_t>(512 + index[i]) + byte] : std::byte{0});
    EXPECT_EQ(buffer_after(machine, body, image, 96), expected) << isa::name(type);
  }
}

TEST(Coverage, IS_08_vslide_and_vext_every_type) {
  const config::Machine machine = machine_of_all_types();
  const Bytes image = random_bytes(kImage, 5);
  for (const DType type : types_of(isa::Op::Vslide)) {
    const std::size_t size = isa::bits(type) / 8;
    const auto lanes = static_cast<std::int64_t>(32 / size);
    std::string body = "vld.u8 v2, ub[0]\n";
    Bytes expected;
    for (const std::int64_t amount : {std::int64_t{0}, std::int64_t{1}, -lanes + 1, lanes, -lanes,
                                      std::int64_t{1} << 33, std::numeric_limits<std::int64_t>::min()}) {
      body += fmt::format("mov s1, {:#x}\nvslide.{} v4, v2, s1\nvst.u8 ub[{}], v4\n",
                          static_cast<std::uint64_t>(amount), isa::name(type), kResults + expected.size());
      for (std::int64_t i = 0; i < lanes; ++i) {
        const bool exists =
            amount > -lanes - 1 && amount < lanes + 1 && i + amount >= 0 && i + amount < lanes;
        for (std::size_t byte = 0; byte < size; ++byte)
          expected.push_back(exists ? image[static_cast<std::size_t>(i + amount) * size + byte]
                                    : std::byte{0});
      }
    }
    body += fmt::format(
        "vslide.{0} v2, v2, 1\nvext.{0} s2, v2[{1}]\nsts.u8 ub[{2}], s2\nshr s2, s2, {3}\nsts.i32 ub[{4}], "
        "s2\n",
        isa::name(type), lanes - 2, kResults + expected.size(), 8 * (size - 1),
        kResults + expected.size() + 1);
    expected.push_back(image[static_cast<std::size_t>(lanes - 1) * size]);
    expected.push_back(image[static_cast<std::size_t>(lanes) * size - 1]);
    expected.insert(expected.end(), 3, std::byte{0});  // zero-extended
    EXPECT_EQ(buffer_after(machine, body, image, expected.size()), expected) << isa::name(type);
  }
}

TEST(Coverage, IS_08_lds_and_sts_every_type) {
  const config::Machine machine = machine_of_all_types();
  for (const DType type : types_of(isa::Op::Lds)) {
    const std::size_t size = isa::bits(type) / 8;
    Bytes image = random_bytes(kImage, 6);
    image[5 + size - 1] |= std::byte{0x80};  // negative where signed
    image[9 + size - 1] &= std::byte{0x7f};
    std::string body = "mov s9, 0x123456789abcdef\n";
    Bytes expected;
    for (const std::size_t offset : {std::size_t{5}, std::size_t{9}}) {
      body +=
          fmt::format("lds.{0} s1, ub[{1}]\nsts.i32 ub[{2}], s1\nshr s1, s1, 32\nsts.i32 ub[{2} + 4], s1\n",
                      isa::name(type), offset, kResults + expected.size());
      std::uint64_t bits = 0;
      std::memcpy(&bits, &image[offset], size);
      if (!isa::info(type).floating) bits = static_cast<std::uint64_t>(test::integer_of(type, bits));
      for (unsigned i = 0; i < 8; ++i) expected.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xffU));
    }
    body += fmt::format("sts.i32 ub[{0}], 0\nsts.{1} ub[{0}], s9\nsts.i32 ub[{2}], -1\nsts.{1} ub[{2}], 3\n",
                        kResults + 16, isa::name(type), kResults + 20);
    if (isa::info(type).floating) body.replace(body.rfind(", 3\n"), 4, ", 3\n");
    const Bytes low{std::byte{0xef}, std::byte{0xcd}, std::byte{0xab}, std::byte{0x89}};
    for (std::size_t i = 0; i < 4; ++i) expected.push_back(i < size ? low[i] : std::byte{0});
    for (std::size_t i = 0; i < 4; ++i)
      expected.push_back(i >= size ? std::byte{0xff} : i == 0 ? std::byte{3} : std::byte{0});
    EXPECT_EQ(buffer_after(machine, body, image, expected.size()), expected) << isa::name(type);
  }
}

}  // namespace
}  // namespace npulab
