// SPDX-License-Identifier: Apache-2.0
// Several programs on several core types in one launch: numbering, copies between cores, multicast, clocks,
// and reports that do not depend on how the run is carried out. Cycles are worked out by hand.
#include <gtest/gtest.h>

#include "isa/binary.hpp"
#include "run_helper.hpp"

namespace npulab::test {
namespace {

// Two memory tiles stage a block each and feed the two tiles of their row, which add and store.
const char* const kFeed = R"(.kernel test/feed
.tensor A f32 [2, 16] in
.tensor y f32 [4, 16] out
.program core=mem
  core_id s0
  mul s1, s0, 2
  mul s2, s0, 64
  copy stage[0], A[s2], 64
  set_flag load, feed, 0
  wait_flag load, feed, 0
  copy tile.ub[0], stage[0], 64 {core=s1, cores=2}
  add s3, s1, first(tile)
  release feed, s3, 0
  add s3, s3, 1
  release feed, s3, 0
  end
.program core=tile
  core_id s0
  mul s1, s0, 64
  acquire scalar, 0
  mov s2, 0
  loop 8
    vld.f32 v0, ub[s2]
    vadd.f32 v1, v0, 1.5
    vst.f32 ub[s2 + 64], v1
    add s2, s2, 8
  endloop
  set_flag vector, out, 0
  wait_flag vector, out, 0
  copy y[s1], ub[64], 64
  end
)";

SimulationOptions unchecked() {
  SimulationOptions options;
  options.sanitize = SanitizeLevel::off;
  return options;
}

const report::Engine& engine(const report::Report& report, const std::string& name) {
  for (const report::Engine& one : report.engines)
    if (one.name == name) return one;
  throw std::runtime_error("no engine " + name);
}

std::uint64_t waited_for_port(const report::Report& report, const std::string& name) {
  return engine(report, name).cycles.stall[static_cast<std::size_t>(report::Stall::port)];
}

const report::Memory& memory(const report::Report& report, const std::string& name) {
  for (const report::Memory& one : report.memories)
    if (one.name == name) return one;
  throw std::runtime_error("no memory " + name);
}

std::vector<float> block_values() {
  std::vector<float> a(32);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  return a;
}

Run feed(const std::vector<std::string>& set = {}, SimulationOptions options = {}) {
  return run(machine("tiny_tiles", set), kFeed, std::move(options), {{"A", bytes_of(block_values())}});
}

Error refusal(const std::string& body, SimulationOptions options = {},
              const std::vector<std::string>& set = {}) {
  try {
    run(machine("tiny_tiles", set), ".kernel test/refused\n" + body, std::move(options));
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("it was taken");
}

void expect_refusal(const std::string& body, const std::string& code, const std::string& text) {
  const Error error = refusal(body);
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
}

TEST(Tiles, a_memory_tile_feeds_a_row_in_hand_worked_cycles) {
  const auto result = feed();
  // mem: the copy is queued in cycle 3 and starts in 4; gm takes 8 cycles for each of the two, then 20: they
  // are there in 32 and 40. Flag: 33 and 41. The stream of 4 bytes per cycle takes 16, its latency is 4: 53
  // and
  // 61. Released 2 later: 55 and 63.
  // tile: acquire 55, mov 56, loop 57, eight turns of 5 cycles from 58 on, set_flag 98, there 100; the copy
  // starts in 101 (row 1: 109). gm takes four blocks one after the other: 101 + 4 * 8 + 20.
  EXPECT_EQ(result.report.cycles, 153U);
  EXPECT_EQ(result.report.cores, 6U);
  const std::vector<float> y = values_of<float>(result.outputs.at("y"));
  const std::vector<float> a = block_values();
  for (std::size_t tile = 0; tile < 4; ++tile)
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(y[tile * 16 + i], a[tile / 2 * 16 + i] + 1.5F);
  EXPECT_TRUE(result.report.diagnostics.empty());
}

TEST(Tiles, bytes_count_once_at_the_source_and_once_for_each_destination) {
  const report::Report report = feed().report;
  EXPECT_EQ(memory(report, "gm").read_bytes, 128U);
  EXPECT_EQ(memory(report, "gm").write_bytes, 256U);
  EXPECT_EQ(memory(report, "mem.stage").write_bytes, 128U);
  EXPECT_EQ(memory(report, "mem.stage").read_bytes, 128U);
  EXPECT_EQ(memory(report, "tile.ub").write_bytes, 4U * (64 + 64));
  EXPECT_EQ(engine(report, "mem.feed").busy_cycles, 32U);
  EXPECT_EQ(engine(report, "mem.feed").instances, 2U);
  EXPECT_EQ(engine(report, "tile.scalar").instances, 4U);
}

TEST(Tiles, the_report_does_not_depend_on_how_it_is_run) {
  const auto text = [](const test::Run& one) { return report::to_json(one.report, false).dump(1); };
  const std::string expected = text(feed());
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    SimulationOptions options;
    options.construction_seed = seed;
    EXPECT_EQ(text(feed({}, options)), expected) << seed;
  }
  SimulationOptions options;
  options.block_cache = false;
  EXPECT_EQ(text(feed({}, options)), expected);
  options = {};
  options.warmup = 2;
  EXPECT_EQ(text(feed({}, options)), expected);
  options = {};
  options.timing_only = true;
  EXPECT_EQ(feed({}, options).report.cycles, 153U);
  // The binary form runs as the text does.
  const config::Machine m = machine("tiny_tiles");
  const isa::Kernel kernel = assemble(kFeed, m);
  isa::Kernel decoded = isa::decode(isa::encode(kernel), "test.npu");
  EXPECT_EQ(decoded.hash(), kernel.hash());
  Simulation simulation(m, std::move(decoded));
  const std::vector<std::byte> a = bytes_of(block_values());
  simulation.set_input("A", a);
  EXPECT_EQ(simulation.run().cycles, 153U);
}

TEST(Tiles, every_core_type_counts_in_its_own_clock) {
  const std::vector<std::string> slow{"core_types.mem.clock_mhz=500"};
  const report::Report report = feed(slow).report;
  // mem in cycles of 2 ns: copy 4 (8 ns); gm done at 36 and 44 ns = 18 and 22; flag 19, 23; 16 + 4; release
  // 41 and 45 = 82 and 90 ns, which is 27 later than at 1 GHz; so the blocks come to gm at 128 and 136 ns.
  EXPECT_EQ(report.cycles, 90U);
  EXPECT_DOUBLE_EQ(report.time_us, 0.18);
  EXPECT_EQ(engine(report, "mem.scalar").run_cycles, 90U);
  EXPECT_EQ(engine(report, "tile.scalar").run_cycles, 180U);
  SimulationOptions options;
  options.warmup = 1;
  EXPECT_EQ(feed(slow, options).report.cycles, 90U);
  options.construction_seed = 3;
  EXPECT_EQ(feed(slow, options).report.cycles, 90U);
}

TEST(Tiles, a_copy_waits_for_the_inputs_of_all_its_destinations) {
  const std::string body = R"(.kernel test/inputs
.program core=mem cores=1
  copy tile.ub[0], stage[0], 64 {core=0, cores=4}
  end
.program core=mem cores=1
  copy tile.ub[64], stage[0], 32 {core=2}
  end
.program core=tile
  end
)";
  // Both ask in cycle 1; the lower number first: 16 cycles, then 8 cycles, and 4 of latency.
  const report::Report report = run(machine("tiny_tiles"), body, unchecked()).report;
  EXPECT_EQ(report.cycles, 1U + 16 + 8 + 4);
  EXPECT_EQ(waited_for_port(report, "mem.feed"), 16U);
  EXPECT_EQ(
      run(machine("tiny_tiles", {"core_types.tile.buffers.ub.inputs=2"}), body, unchecked()).report.cycles,
      1U + 16 + 4);
  SimulationOptions options = unchecked();
  options.construction_seed = 7;
  EXPECT_EQ(run(machine("tiny_tiles"), body, options).report.cycles, 29U);
}

TEST(Tiles, a_column_is_fed_in_steps) {
  const auto result = run(machine("tiny_tiles"), R"(.kernel test/column
.tensor A i32 [4] in
.tensor y i32 [4, 4] inout
.program core=mem cores=1
  copy stage[0], A[0], 16
  set_flag load, feed, 0
  wait_flag load, feed, 0
  mov s0, 2
  copy tile.ub[0], stage[0], 16 {core=1, cores=s0, core_step=2}
  barrier all
  sync_cores
  end
.program core=tile
  core_id s0
  mul s1, s0, 16
  sync_cores
  and s2, s0, 1
  beq s2, 0, over
  copy y[s1], ub[0], 16
over: end
)",
                          {},
                          {{"A", bytes_of(std::vector<std::int32_t>{7, 8, 9, 10})},
                           {"y", bytes_of(std::vector<std::int32_t>(16, 1))}});
  EXPECT_EQ(values_of<std::int32_t>(result.outputs.at("y")),
            (std::vector<std::int32_t>{1, 1, 1, 1, 7, 8, 9, 10, 1, 1, 1, 1, 7, 8, 9, 10}));
  EXPECT_TRUE(result.report.diagnostics.empty());
}

TEST(Tiles, a_core_copies_out_of_another_one) {
  const auto result = run(machine("tiny_tiles"), R"(.kernel test/near
.tensor y i32 [4] out
.program core=tile
  core_id s0
  add s1, s0, 40
  sts.i32 ub[0], s1
  sync_cores
  sub s2, 3, s0
  copy ub[4], tile.ub[0], 4 {core=s2}
  set_flag near, out, 0
  wait_flag near, out, 0
  mul s3, s0, 4
  copy y[s3], ub[4], 4
  end
)");
  EXPECT_EQ(values_of<std::int32_t>(result.outputs.at("y")), (std::vector<std::int32_t>{43, 42, 41, 40}));
  EXPECT_TRUE(result.report.diagnostics.empty());
}

TEST(Tiles, a_copy_from_gm_holds_the_input_until_it_is_there) {
  // A shim tile: no buffer of its own.
  const std::vector<std::string> shim{
      "core_types.shim={count: 2, clock_mhz: 1000, dma: {in: {paths: [{from: gm, to: tile.ub, "
      "bytes_per_cycle: 8, "
      "request_bytes: 64, multicast: true}]}}}"};
  const auto result = run(machine("tiny_tiles", shim), R"(.kernel test/shim
.tensor A i32 [2, 16] in
.tensor y i32 [2, 16] out
.program core=shim
  core_id s0
  mul s1, s0, 64
  copy tile.ub[s1], A[s1], 64 {core=0, cores=2}
  barrier all
  sync_cores
  end
.program core=tile cores=2
  sync_cores
  core_id s0
  mul s1, s0, 64
  copy y[s1], ub[s1], 64
  end
)");
  // Shim 0: queued in 2, from 3 on, gm takes 8 + 20: 31. Only then shim 1 asks gm: 31 + 28 = 59. end of
  // barrier 59, sync_cores 60, there 61, open 62; tile: 62 core_id, mul 63, copy 65 (mul takes 2), starts 66;
  // 8 + 8 + 20.
  EXPECT_EQ(waited_for_port(result.report, "shim.in"), 28U);
  EXPECT_EQ(result.report.cycles, 102U);
  EXPECT_EQ(result.outputs.at("y").size(), 128U);
  EXPECT_TRUE(result.report.diagnostics.empty());
}

TEST(Tiles, numbers_count_within_a_program) {
  const auto result = run(machine("tiny_tiles"), R"(.kernel test/numbers
.tensor y i32 [6] out
.const AT = first(tile) + count(tile)
.program core=tile cores=1
  core_id s0
  core_count s1
  assert s0, 0
  assert s1, 1
  assert AT, 4
  assert first(mem), 4
  end
.program core=tile
  core_id s0
  core_count s1
  assert s1, 3
  assert count(tile), 4
  end
.program core=mem cores=2
  core_count s1
  assert s1, 2
  end
)",
                          unchecked());
  EXPECT_EQ(result.report.cores, 6U);
}

TEST(Tiles, cores_of_other_programs_are_named_within_their_type) {
  const std::string ends = ".program core=tile cores=2\n  end\n";
  expect_refusal(".program core=mem\n  copy tile.ub[0], stage[0], 64 {core=4}\n  end\n" + ends, "core-range",
                 "core 4: machine 'tiny_tiles' has 4 cores of type 'tile', 0…3");
  expect_refusal(".program core=mem cores=1\n  copy tile.ub[0], stage[0], 64 {core=3}\n  end\n" + ends,
                 "core-range",
                 "test.npu:3: copy to tile.ub on core 0 (mem 0): core 3: the launch has 2 of type 'tile'");
  expect_refusal(
      ".program core=mem\n  mov s0, 3\n  copy tile.ub[0], stage[0], 64 {core=0, cores=s0}\n  end\n" + ends,
      "core-range", "3 cores from 0 on in steps of 1: the launch has 2 of type 'tile'");
  expect_refusal(
      ".program core=mem\n  mov s0, 0\n  copy tile.ub[0], stage[0], 64 {core=0, cores=s0}\n  end\n" + ends,
      "core-range", "cores is 0, and at least 1");
  expect_refusal(".program core=mem\n  copy mem.stage[0], stage[0], 64 {core=1}\n  end\n", "unknown-space",
                 "'mem.stage' is no tensor, no buffer and no memory of machine 'tiny_tiles'");
  expect_refusal(".program core=tile\n  copy mem.stage[0], ub[0], 64 {core=0, cores=2}\n  end\n",
                 "no-multicast", "path ub → mem.stage of machine 'tiny_tiles' reaches one core at a time");
  expect_refusal(
      ".program core=tile\n  mov s0, 2\n  copy mem.stage[0], ub[0], 64 {core=0, cores=s0}\n  end\n",
      "no-multicast", "'multicast: true'");
  expect_refusal(".program core=tile\n  copy mem.stage[0], ub[0], 64\n  end\n", "no-core",
                 "'mem.stage' lies in 2 cores of type 'mem': say which one, as in {core=0}");
  expect_refusal(".program core=mem\n  copy tile.ub[4080], stage[0], 64 {core=0}\n  end\n", "address-range",
                 "tile.ub[4080]: bytes 4080…4143 are not within 'tile.ub'");
  expect_refusal(
      ".program core=mem\n  mov s0, 4080\n  copy tile.ub[s0], stage[0], 64 {core=0}\n  end\n" + ends,
      "out-of-bounds", "copy writes tile.ub[4080…4143]");
}

TEST(Tiles, a_core_without_a_vector_unit_has_none_of_its_instructions) {
  expect_refusal(".program core=mem\n  vadd.f32 v0, v1, v2\n  end\n", "no-vector-unit",
                 "vadd.f32: core type 'mem' of machine 'tiny_tiles' has no vector unit");
  expect_refusal(".program core=mem\n  barrier vector\n  end\n", "no-vector-unit", "has no vector unit");
  expect_refusal(".program core=mem\n  lds.i32 s0, tile.ub[0]\n  end\n", "remote-space",
                 "'tile.ub' lies in other cores, where only copy reaches");
}

TEST(Tiles, the_cores_of_a_launch_are_those_of_its_programs) {
  SimulationOptions options;
  options.cores = 2;
  const Error error = refusal(".program core=mem\n  end\n.program core=tile\n  end\n", options);
  EXPECT_EQ(error.code(), "cores-are-fixed");
  EXPECT_NE(std::string(error.what()).find("how many they take, 6 in all"), std::string::npos)
      << error.what();
  EXPECT_EQ(
      run(machine("tiny_tiles"), ".kernel test/cores\n.program core=tile\n  end\n", options).report.cores,
      2U);
  expect_refusal(".program core=tile cores=5\n  end\n", "too-many-cores",
                 "cores=5: machine 'tiny_tiles' has 1…4 of type 'tile'");
  expect_refusal(".program core=tile cores=3\n  end\n.program core=tile cores=2\n  end\n", "too-many-cores",
                 "program 2 takes 2 of the cores of type 'tile'");
  expect_refusal(".program core=tile cores=1\n  end\n.program core=mem\n  end\n.program core=tile\n  end\n",
                 "program-order", "programs of one core type stand one after the other");
}

TEST(Tiles, hot_spots_say_whose_they_are) {
  const report::Report report = feed().report;
  ASSERT_FALSE(report.hot_spots.empty());
  EXPECT_EQ(report.hot_spots[0].core_type, "tile");
  EXPECT_NE(report.hot_spots[0].text.find("acquire scalar, 0"), std::string::npos);
  EXPECT_EQ(report.bound.bounded_by.substr(0, 22), "waiting for semaphores");
}

}  // namespace
}  // namespace npulab::test
