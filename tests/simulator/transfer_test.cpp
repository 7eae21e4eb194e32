// SPDX-License-Identifier: Apache-2.0
// Copies: what they move, in three dimensions and every direction, where they stop, and what they cost.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <random>

#include "isa/table.hpp"
#include "run_helper.hpp"

namespace npulab {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xffU);
  return bytes;
}

// What a refused run says: "code: message".
std::string refusal(const config::Machine& machine, const std::string& body,
                    const std::map<std::string, Bytes>& inputs = {}) {
  try {
    test::run(machine, ".kernel test/copy\n" + body, test::one_core(), inputs);
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
  return "none";
}

struct View {
  std::int64_t src = 0, dst = 0, bytes = 0, count = 1, count2 = 1;
  std::int64_t src_pitch = 0, dst_pitch = 0, src_pitch2 = 0, dst_pitch2 = 0;
  std::int64_t pad_to = 0;  // 0: none

  void apply(const Bytes& from, Bytes& to) const {
    for (std::int64_t p = 0; p < count2; ++p)
      for (std::int64_t r = 0; r < count; ++r)
        for (std::int64_t b = 0; b < std::max(bytes, pad_to); ++b)
          to[static_cast<std::size_t>(dst + p * dst_pitch2 + r * dst_pitch + b)] =
              b < bytes ? from[static_cast<std::size_t>(src + p * src_pitch2 + r * src_pitch + b)]
                        : std::byte{0};
  }
  std::string text(const std::string& to, const std::string& from) const {
    std::string mods =
        fmt::format("count={}, count2={}, src_pitch={}, dst_pitch={}, src_pitch2={}, dst_pitch2={}", count,
                    count2, src_pitch, dst_pitch, src_pitch2, dst_pitch2);
    if (pad_to > 0) mods += fmt::format(", pad_to={}", pad_to);
    return fmt::format("copy {}[{}], {}[{}], {} {{{}}}\n", to, dst, from, src, bytes, mods);
  }
};

// Sizes from 0 up, pitches of every sign, placed so that all of it lies in [0, size).
View random_view(std::mt19937_64& random, std::int64_t size) {
  const auto pick = [&random](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  View v;
  v.bytes = pick(0, 41);
  v.count = pick(0, 4);
  v.count2 = pick(0, 3);
  v.pad_to = pick(0, 2) == 0 ? v.bytes + pick(0, 9) : 0;
  for (std::int64_t* pitch : {&v.src_pitch, &v.dst_pitch, &v.src_pitch2, &v.dst_pitch2})
    *pitch = pick(0, 4) == 0 ? 0 : pick(-70, 70);
  const auto place = [&](std::int64_t pitch, std::int64_t pitch2, std::int64_t row) {
    const std::int64_t rows = pitch * std::max<std::int64_t>(v.count - 1, 0);
    const std::int64_t planes = pitch2 * std::max<std::int64_t>(v.count2 - 1, 0);
    const std::int64_t low = std::min<std::int64_t>(rows, 0) + std::min<std::int64_t>(planes, 0);
    const std::int64_t high = std::max<std::int64_t>(rows, 0) + std::max<std::int64_t>(planes, 0) + row;
    return pick(-low, size - high);
  };
  v.src = place(v.src_pitch, v.src_pitch2, v.bytes);
  v.dst = place(v.dst_pitch, v.dst_pitch2, std::max(v.bytes, v.pad_to));
  return v;
}

// The barrier waits for work that ends without an event of its own.
TEST(Transfer, a_barrier_behind_a_copy_of_nothing_goes_on) {
  for (const char* const nothing : {"copy ub[0], A[0], 8 {count=0}\n", "copy ub[0], A[0], 0\n",
                                    "set_flag mte2, vector, 0\nwait_flag mte2, vector, 0\n"})
    for (const char* const behind : {"", "copy ub[0], A[0], 8\n", "nop\nnop\nnop\n"})
      EXPECT_EQ(refusal(test::machine("tiny"),
                        fmt::format(".tensor A u8 [64] in\n{}barrier mte2\n{}end\n", nothing, behind)),
                "none");
}

TEST(Transfer, DM_06_DM_07_random_views_in_every_direction) {
  constexpr std::int64_t kSize = 2000;
  std::mt19937_64 random(7);
  for (const char* const name : {"tiny", "edge"}) {
    const config::Machine machine = test::machine(name);
    for (int round = 0; round < 20; ++round) {
      std::map<std::string, Bytes> memory{{"A", random_bytes(kSize, random())},
                                          {"y", random_bytes(kSize, random())},
                                          {"ub", Bytes(kSize)},
                                          {"l1", Bytes(kSize)}};
      const std::map<std::string, Bytes> inputs{{"A", memory["A"]}, {"y", memory["y"]}};
      std::string body = fmt::format(
          ".tensor A u8 [{0}] in\n.tensor y u8 [{0}] inout\n.tensor l u8 [{0}] out\n"
          ".tensor u u8 [{0}] out\n"
          "copy ub[0], A[0], {0}\ncopy l1[0], y[0], {0}\nbarrier all\n",
          kSize);
      memory["ub"] = memory["A"];
      memory["l1"] = memory["y"];
      const std::pair<const char*, const char*> paths[] = {{"ub", "A"}, {"l1", "A"},  {"ub", "l1"},
                                                           {"y", "ub"}, {"l1", "ub"}, {"ub", "y"}};
      for (int i = 0; i < 15; ++i) {
        const auto& [to, from] = paths[random() % std::size(paths)];
        const View view = random_view(random, kSize);
        body += view.text(to, from) + "barrier all\n";
        const Bytes source = memory[from];
        view.apply(source, memory[to]);
      }
      body += fmt::format(
          "copy u[0], ub[0], {0}\nbarrier all\ncopy ub[0], l1[0], {0}\nbarrier all\ncopy l[0], ub[0], "
          "{0}\nend\n",
          kSize);
      const test::Run run = test::run(machine, ".kernel test/copy\n" + body, test::one_core(), inputs);
      EXPECT_TRUE(run.report.diagnostics.empty()) << run.report.diagnostics.front().message << "\n" << body;
      EXPECT_EQ(run.outputs.at("y"), memory["y"]) << name << "\n" << body;
      EXPECT_EQ(run.outputs.at("u"), memory["ub"]) << name << "\n" << body;
      EXPECT_EQ(run.outputs.at("l"), memory["l1"]) << name << "\n" << body;
    }
  }
}

TEST(Transfer, DM_01_rows_of_every_width_and_type_both_ways) {
  const config::Machine machine = test::machine("tiny");
  for (const char* const type : {"f32", "f16", "u8"}) {
    const int size = type == std::string("f32") ? 4 : type == std::string("f16") ? 2 : 1;
    for (int width = 120; width <= 130; ++width) {
      // Rows lie apart in both tensors, differently, and side by side in the buffer.
      const std::string body = fmt::format(
          ".kernel test/rows\n.tensor A {0} [5, {1}] in pitch={2}\n.tensor y {0} [5, {1}] out pitch={3}\n"
          "copy ub[1], A[0], {4} {{count=5, src_pitch={5}}}\nbarrier all\n"
          "copy y[0], ub[1], {4} {{count=5, dst_pitch={6}}}\nend\n",
          type, width, width + 3, width + 1, width * size, (width + 3) * size, (width + 1) * size);
      const Bytes a =
          random_bytes(static_cast<std::size_t>(5 * width * size), static_cast<std::uint64_t>(width));
      const test::Run run = test::run(machine, body, test::one_core(), {{"A", a}});
      EXPECT_EQ(run.outputs.at("y"), a) << body;
      EXPECT_TRUE(run.report.diagnostics.empty()) << body;
      EXPECT_EQ(run.report.memories[0].read_bytes, a.size());
      EXPECT_EQ(run.report.memories[0].write_bytes, a.size());
    }
  }
}

TEST(Transfer, DM_03_rectangle_of_a_padded_matrix) {
  const config::Machine machine = test::machine("tiny");
  // Rows 3…6, columns 5…11 of a 12 x 20 matrix whose rows are 23 apart, to the same place of another one.
  const std::string body =
      ".kernel test/rectangle\n.tensor A u8 [12, 20] in pitch=23\n.tensor y u8 [12, 20] inout pitch=29\n"
      "copy ub[0], A[3 * 23 + 5], 7 {count=4, src_pitch=23}\nbarrier all\n"
      "copy y[3 * 29 + 5], ub[0], 7 {count=4, dst_pitch=29}\nend\n";
  const Bytes a = random_bytes(240, 1);
  Bytes y = random_bytes(240, 2);
  const test::Run run = test::run(machine, body, test::one_core(), {{"A", a}, {"y", y}});
  for (std::size_t row = 3; row < 7; ++row) std::copy_n(&a[row * 20 + 5], 7, &y[row * 20 + 5]);
  EXPECT_EQ(run.outputs.at("y"), y);
}

TEST(Transfer, DM_09_odd_sizes_move_and_what_no_field_holds_is_refused) {
  const config::Machine machine = test::machine("tiny");
  const Bytes a = random_bytes(99, 3);
  for (const int bytes : {1, 3, 5, 7, 9, 31, 33, 63, 65, 99}) {
    const test::Run run = test::run(machine,
                                    fmt::format(".kernel test/odd\n.tensor A u8 [{0}] in\n.tensor y u8 [{0}] "
                                                "out\ncopy ub[3], A[0], {0}\nbarrier all\n"
                                                "copy y[0], ub[3], {0}\nend\n",
                                                bytes),
                                    test::one_core(), {{"A", Bytes(a.begin(), a.begin() + bytes)}});
    EXPECT_EQ(run.outputs.at("y"), Bytes(a.begin(), a.begin() + bytes));
  }
  for (const isa::Mod mod : isa::info(isa::Format::Copy).mods) {
    const isa::ModInfo& rule = isa::info(mod);
    for (const std::int64_t value : {rule.max + 1, rule.min - 1})
      EXPECT_NE(refusal(machine, fmt::format(".tensor A u8 [64] in\ncopy ub[0], A[0], 8 {{{}={}}}\nend\n",
                                             rule.name, value))
                    .find(rule.name),
                std::string::npos);
  }
  const std::string tensor = ".tensor A u8 [64] in\n";
  EXPECT_EQ(refusal(machine, tensor + "mov s1, -1\ncopy ub[0], A[0], s1\nend\n").substr(0, 8), "bad-size");
  EXPECT_EQ(refusal(machine, tensor + "mov s1, -2\ncopy ub[0], A[0], 4 {count=s1}\nend\n").substr(0, 8),
            "bad-size");
  EXPECT_EQ(refusal(machine, tensor + "mov s1, 3\ncopy ub[0], A[0], 4 {pad_to=s1}\nend\n").substr(0, 8),
            "bad-size");
}

TEST(Transfer, DM_06_empty_copies_move_nothing_and_need_no_address) {
  const config::Machine machine = test::machine("tiny");
  for (const char* const copy :
       {"copy ub[s1], A[s1], 0", "copy ub[s1], A[s1], 8 {count=0}", "copy ub[s1], A[s1], 8 {count2=0}",
        "copy ub[s1], A[s1], s2 {count=s2, pad_to=8}"}) {
    const test::Run run = test::run(
        machine,
        fmt::format(".kernel test/empty\n.tensor A u8 [64] in\nmov s1, 100000\nmov s2, 0\n{}\nend\n", copy),
        test::one_core());
    EXPECT_EQ(run.report.memories[0].read_bytes, 0U) << copy;
    EXPECT_LT(run.report.cycles, 10U) << copy;
  }
}

TEST(Transfer, DM_10_DM_11_alignment_of_both_ends) {
  config::Machine machine = test::machine("tiny");
  config::CoreTypeConfig& core = machine.core_types.begin()->second;
  core.buffers.at("ub").alignment = 32;
  for (config::DmaPathConfig& path : core.dma.at("mte2").paths) path.alignment = 16;
  const auto at = [&](int dst, int src, const std::string& mods = "") {
    return refusal(
        machine,
        fmt::format(".tensor A u8 [4096] in\nmov s1, {}\nmov s2, {}\ncopy ub[s1], A[s2], 8 {}\nend\n", dst,
                    src, mods));
  };
  for (const int offset : {4, 16, 31}) {
    const std::string message = at(offset, 0);
    EXPECT_EQ(message.substr(0, 10), "misaligned") << message;
    for (const std::string& part :
         {fmt::format("ub[{}", offset), std::string("multiples of 32"), std::string("test.npu:5")})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_EQ(at(32, 16), "none");
  EXPECT_NE(at(32, 8).find("A are multiples of 16"), std::string::npos) << at(32, 8);
  EXPECT_EQ(at(32, 0, "{count=2, src_pitch=16, dst_pitch=32}"), "none");
  EXPECT_NE(at(32, 0, "{count=2, src_pitch=24, dst_pitch=32}").find("this one is 24"), std::string::npos);
  EXPECT_NE(at(32, 0, "{count=2, src_pitch=16, dst_pitch=16}").find("this one is 16"), std::string::npos);
  EXPECT_NE(at(32, 0, "{count2=2, src_pitch2=16, dst_pitch2=48}").find("this one is 48"), std::string::npos);
  // A fixed address is refused before the run.
  EXPECT_EQ(refusal(machine, ".tensor A u8 [64] in\ncopy ub[4], A[0], 8\nend\n").substr(0, 17),
            "address-alignment");
}

TEST(Transfer, BF_12_bounds_at_both_ends) {
  const config::Machine machine = test::machine("tiny");
  const auto run = [&](const std::string& copy) {
    return refusal(
        machine, ".tensor A u8 [100] in\n.tensor B u8 [100] in\n.tensor y u8 [100] out\n" + copy + "\nend\n");
  };
  EXPECT_EQ(run("mov s1, 4032\ncopy ub[s1], A[0], 64"), "none");
  EXPECT_NE(
      run("mov s1, 4033\ncopy ub[s1], A[0], 64").find("out-of-bounds: test.npu:6: copy writes ub[4033…4096]"),
      std::string::npos)
      << run("mov s1, 4033\ncopy ub[s1], A[0], 64");
  EXPECT_NE(run("mov s1, -1\ncopy ub[s1], A[0], 64").find("ub[-1…62] (0xffffffffffffffff)"),
            std::string::npos);
  EXPECT_EQ(run("mov s1, 36\ncopy ub[0], A[s1], 64"), "none");
  EXPECT_NE(run("mov s1, 37\ncopy ub[0], A[s1], 64").find("copy reads A[37…100] (0x25)"), std::string::npos);
  EXPECT_NE(run("mov s1, -1\ncopy ub[0], B[s1], 1").find("copy reads B[-1…-1]"), std::string::npos);
  EXPECT_NE(run("mov s1, 0xdddddddd\ncopy ub[0], A[s1], 1").find("(0xdddddddd)"), std::string::npos);
  EXPECT_NE(run("mov s1, 0x7fffffffffffffff\ncopy ub[s1], A[0], 64").find("(0x7fffffffffffffff)"),
            std::string::npos);
  // Rows that go down reach exactly byte 0, then one below it.
  const std::string fill = "copy ub[0], A[0], 100\nbarrier all\nmov s1, 60\n";
  EXPECT_EQ(run(fill + "copy y[s1], ub[0], 10 {count=4, src_pitch=10, dst_pitch=-20}"), "none");
  EXPECT_NE(run(fill + "sub s1, s1, 1\ncopy y[s1], ub[0], 10 {count=4, src_pitch=10, dst_pitch=-20}")
                .find("copy writes y[-1…68]"),
            std::string::npos);
  // Counts that multiply beyond 64 bits are no way around.
  EXPECT_NE(run("mov s1, 0xffffffff\nmov s2, 0x1000000000\ncopy ub[0], A[0], 8 {count=s1, dst_pitch=s2}")
                .find("out-of-bounds"),
            std::string::npos);
}

TEST(Transfer, TM_13_offsets_beyond_32_bits_on_a_sparse_gm) {
  const config::Machine machine = test::machine("tiny", {"gm.bytes=68719476736"});
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  constexpr std::int64_t kPitchA = 4294967301;  // 2^32 + 5
  constexpr std::int64_t kPitchY = 6442450949;  // 9 rows of 6 GiB
  const std::string body = fmt::format(
      ".kernel test/far\n.tensor A u8 [2, 64] in pitch={}\n.tensor y u8 [9, 64] out pitch={}\n"
      "copy ub[0], A[0], 64 {{count=2, src_pitch={}}}\nbarrier all\n"
      "copy y[0], ub[0], 64 {{count=9, src_pitch=0, dst_pitch={}}}\nbarrier all\n"
      "mov s1, {}\ncopy y[s1 + 1], ub[64], 63\nend\n",
      kPitchA, kPitchY, kPitchA, kPitchY, 8 * kPitchY);
  const Bytes a = random_bytes(128, 5);
  const test::Run run = test::run(machine, body, test::one_core(), {{"A", a}});
  Bytes expected;
  for (int row = 0; row < 9; ++row) expected.insert(expected.end(), a.begin(), a.begin() + 64);
  std::copy_n(a.begin() + 64, 63, expected.end() - 63);
  EXPECT_EQ(run.outputs.at("y"), expected);
  EXPECT_TRUE(run.report.diagnostics.empty());
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB";
  // One byte more than there is.
  EXPECT_NE(refusal(machine, fmt::format(".tensor y u8 [9, 64] out pitch={}\nend\n",
                                         kPitchY + (std::int64_t{2} << 30)))
                .find("gm-full"),
            std::string::npos);
}

TEST(Transfer, TM_16_cost_of_nothing_of_one_byte_and_of_much) {
  // So many requests in flight that latency hides behind the width.
  config::Machine machine = test::machine("tiny");
  machine.core_types.begin()->second.dma.at("mte2").paths[0].in_flight = 64;
  const auto cycles = [&machine](const std::string& copy) {
    return test::run(machine, ".kernel test/cost\n.tensor A u8 [65536] in\n" + copy + "\nend\n",
                     test::one_core())
        .report.cycles;
  };
  // Nothing: the copy issues in 0, the engine sees it in 1, end in 1, closed 2.
  EXPECT_EQ(cycles("copy ub[0], A[0], 0"), 2U);
  // One burst of 8 bytes: 1 + tRCD 10 + tCL 10 + 1 + way 20, but the path is taken for 1 cycle only.
  EXPECT_EQ(cycles("copy ub[0], A[0], 1"), 42U);
  EXPECT_EQ(cycles("copy ub[0], A[0], 8"), 42U);
  EXPECT_EQ(cycles("copy ub[0], A[0], 64"), 49U);
  // 64 KiB: latency once, then the width: 8192 cycles of 8 bytes. Requests come at the width of the bus, so
  // the first one that finds another row open (10 more: tRP) delays all that follow; later conflicts hide
  // behind that.
  const std::uint64_t much = cycles("copy ub[0], A[0], 64 {count=1024, dst_pitch=0}");
  EXPECT_EQ(much, 1U + 30 + 8192 + 20);
  EXPECT_EQ(cycles("copy ub[0], A[0], 64 {count=1024, dst_pitch=0}\ncopy ub[0], A[0], 0"), much);
}

TEST(Transfer, TM_11_bytes_at_gm_are_the_bytes_of_the_copies) {
  for (const char* const channels : {"1", "2", "8"}) {
    const config::Machine machine = test::machine("tiny", {std::string("gm.channels=") + channels});
    SimulationOptions options;
    const test::Run run =
        test::run(machine,
                  ".kernel test/bytes\n.tensor A u8 [4096] in\n.tensor y u8 [2, 4096] out\n"
                  "core_id s0\nmul s0, s0, 4096\n"
                  "copy ub[0], A[0], 1000 {count=3, src_pitch=1001, dst_pitch=1000}\nbarrier all\n"
                  "copy y[s0], ub[0], 77 {count=10, src_pitch=50, dst_pitch=100}\n"
                  "copy y[s0 + 2000], ub[0], 50 {count=4, pad_to=60}\nend\n",
                  options);
    const report::Memory& gm = run.report.memories.at(0);
    EXPECT_EQ(gm.read_bytes, 2U * 3000);
    EXPECT_EQ(gm.write_bytes, 2U * (770 + 240));  // with the zeros behind each row
    std::uint64_t moved = 0;
    for (const report::Engine& engine : run.report.engines)
      for (const auto& [name, value] : engine.counters) moved += name == "bytes" ? value : 0;
    EXPECT_EQ(moved, gm.read_bytes + gm.write_bytes);
    for (const report::Memory& memory : run.report.memories)
      if (memory.name == "ub") {
        EXPECT_EQ(memory.write_bytes, 2U * 3000);
        EXPECT_EQ(memory.read_bytes, 2U * (770 + 200));
      }
  }
}

TEST(Transfer, TM_03_a_path_is_never_faster_than_its_width) {
  const std::string body = ".tensor A u8 [4096] in\ncopy ub[0], A[0], 64\nend\n";
  // A memory that answers at once: seen in 1, 64 bytes at 8 per cycle, there in 9.
  const std::vector<std::string> at_once{"gm.model=ideal", "gm.latency_ns=0", "gm.bandwidth_gbps=100000",
                                         "gm.t_cl_ns=0"};
  EXPECT_EQ(test::cycles_on_tiny(body, at_once), 9U);
  // Requests far apart: the run ends with the last byte, not with the interval behind the last request.
  config::Machine machine = test::machine("tiny", at_once);
  machine.core_types.begin()->second.dma.at("mte2").paths[0].issue_interval_cycles = 500;
  const test::Run run =
      test::run(machine, ".kernel test/interval\n.tensor A u8 [4096] in\ncopy ub[0], A[0], 128\nend\n",
                test::one_core());
  EXPECT_EQ(run.report.cycles, 1U + 500 + 8);
}

}  // namespace
}  // namespace npulab
