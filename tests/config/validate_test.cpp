// SPDX-License-Identifier: Apache-2.0
// Rules between keys: each broken in turn, and the odd combinations that are legal.
#include "sim/config/validate.hpp"

#include "tests/config/support.hpp"

namespace npulab::config {
namespace {

struct Rule {
  const char* machine;
  std::vector<std::string> set;
  const char* path;
  const char* message;
};

TEST(Validate, every_rule_says_key_values_and_reason) {
  const std::string core = "core_types.core.";
  const Rule rules[] = {
      {"tiny",
       {"vector.operation_bits=96"},
       "vector.operation_bits",
       "96 is not a multiple of register_bits 64"},
      {"tiny",
       {"vector.operation_bits=2048"},
       "vector.operation_bits",
       "takes 32 registers of register_bits 64, but registers 16"},
      {"tiny", {"vector.register_bits=68"}, "vector.register_bits", "68 is no whole number of bytes"},
      {"tiny",
       {"vector.register_bits=40", "vector.operation_bits=40"},
       "vector.types.0",
       "'f32' has 32 bits, and operation_bits 40"},
      {"tiny", {"vector.types=[f32, f32]"}, "vector.types.1", "'f32' stands twice"},
      {"tiny", {"vector.types=[]"}, "vector.types", "no compute unit"},
      {"tiny", {"vector.buffer=lu"}, "vector.buffer", "no buffer 'lu'; did you mean"},
      {"tiny", {"vector.buffer=gm"}, "vector.buffer", "no buffer 'gm'"},
      {"tiny_ub", {"vector.operation_bits=100"}, "vector.operation_bits", "100 is no whole number of bytes"},
      {"tiny", {"dma.mte2.paths.0.to=l2"}, "dma.mte2.paths.0.to", "no buffer 'l2'"},
      {"tiny", {"dma.mte2.paths.0.to=gm"}, "dma.mte2.paths.0.to", "both ends are gm"},
      {"tiny", {"dma.mte2.paths.1.to=ub"}, "dma.mte2.paths.1", "gm > ub is a path of this engine"},
      {"tiny", {"dma.mte2.paths=[]"}, "dma.mte2.paths", "is empty"},
      {"tiny", {"dma.mte2.port='a b'"}, "dma.mte2.port", "'a b' is no name"},
      {"tiny",
       {"dma.mte2.paths.0.request_bytes=128"},
       "dma.mte2.paths.0.request_bytes",
       "128 is more than gm.grant_bytes 64"},
      {"tiny",
       {"dma.mte2.paths.0.alignment=48"},
       "dma.mte2.paths.0.request_bytes",
       "64 is not a multiple of alignment 48"},
      {"tiny", {"dma.mte2.paths.0.layouts=[nd2nz, nd2nz]"}, "dma.mte2.paths.0.layouts.1", "stands twice"},
      {"tiny",
       {"dma.mte2.paths.0.layouts=[nz2nd]"},
       "dma.mte2.paths.0.layouts.0",
       "nz2nd has its fractals in a buffer, and gm > ub would have them in gm"},
      {"tiny",
       {"dma.mte3.paths.0.layouts=[nd2nz]"},
       "dma.mte3.paths.0.layouts.0",
       "ub > gm would have them in gm"},
      {"tiny", {"dma.mte2.paths.0.layouts=[transpose16]"}, "dma.mte2.paths.0.layouts.0", "transpose16 has"},
      {"tiny",
       {"dma.mte2.paths.2.layouts=[nz2nd, nz2nz]"},
       "dma.mte2.paths.2.layouts.1",
       "nz2nz is for paths with post: true"},
      {"tiny",
       {"dma.mte3.paths.0.scale_buffer=l1"},
       "dma.mte3.paths.0.scale_buffer",
       "is for paths with post: true"},
      {"tiny",
       {"dma.mte3.paths.0.post=true", "dma.mte3.paths.0.scale_buffer=l2"},
       "dma.mte3.paths.0.scale_buffer",
       "no buffer 'l2'"},
      {"tiny", {"dma.mte3.paths.0.post=yes"}, "dma.mte3.paths.0.post", "expects true or false, got"},
      {"tiny", {"dma.mte3.paths.0.post='true'"}, "dma.mte3.paths.0.post", "expects true or false, got"},
      {"tiny", {"buffers.gm={bytes: 64}"}, "buffers.gm", "'gm' has a meaning of its own"},
      {"tiny", {"buffers.UB={bytes: 64}"}, "buffers.UB", "'UB' is no name"},
      {"tiny", {"buffers.v1={bytes: 64}"}, "buffers.v1", "'v1' would read as a register"},
      {"tiny", {"dma.vector={paths: [{from: ub, to: ub}]}"}, "dma.vector", "'vector' has a meaning"},
      {"tiny", {"dma.all={paths: [{from: ub, to: ub}]}"}, "dma.all", "'all' has a meaning"},
      {"tiny", {"dma.mte3.paths.0.to=core.l2"}, "dma.mte3.paths.0.to", "no buffer 'l2'"},
      {"tiny",
       {"dma.mte3.paths.0.to=cor.ub"},
       "dma.mte3.paths.0.to",
       "names no core type 'cor'; did you mean 'core'?"},
      {"tiny",
       {"dma.mte3.paths.0={from: core.ub, to: core.l1}"},
       "dma.mte3.paths.0.to",
       "both ends lie in other cores"},
      {"tiny",
       {"dma.mte3.paths.1.multicast=true"},
       "dma.mte3.paths.1.multicast",
       "'l1' is no TYPE.BUFFER: several cores get a copy only in their own buffers"},
      {"tiny", {"sync.semaphore_initial=64"}, "sync.semaphore_initial", "64 is more than semaphore_max 63"},
      {"tiny", {"sync.flag_pairs=[mte2-vector]"}, "sync.flag_pairs.0", "not of the form source>destination"},
      {"tiny", {"sync.flag_pairs=[a>b>c]"}, "sync.flag_pairs.0", "not of the form source>destination"},
      {"tiny",
       {"sync.flag_pairs=[mte2>vectr]"},
       "sync.flag_pairs.0",
       "no engine 'vectr'; did you mean 'vector'?"},
      {"tiny", {"sync.flag_pairs=[mte2>mte2]"}, "sync.flag_pairs.0", "an engine orders its own work"},
      {"tiny", {"sync.flag_pairs=[mte2>vector, mte2>vector]"}, "sync.flag_pairs.1", "stands twice"},
  };
  for (Rule rule : rules) {
    for (std::string& set : rule.set) set.insert(0, core);
    const std::string message = refused_setting(rule.machine, rule.set);
    EXPECT_TRUE(contains(message, ": " + core + rule.path + ": ")) << rule.set[0] << " -> " << message;
    EXPECT_TRUE(contains(message, rule.message)) << rule.set[0] << " -> " << message;
  }
}

TEST(Validate, rules_of_device_memory_and_machine) {
  const Rule rules[] = {
      {"tiny",
       {"gm.row_bytes=100"},
       "gm.row_bytes",
       "100 is not a multiple of burst_bytes 8: a burst lies in one row"},
      {"tiny", {"gm.burst_bytes=512"}, "gm.row_bytes", "256 is not a multiple of burst_bytes 512"},
      {"tiny", {"gm.interleave_bytes=100"}, "gm.interleave_bytes", "100 is not a multiple of burst_bytes 8"},
      {"tiny",
       {"gm.bytes=255"},
       "gm.bytes",
       "255 is less than a row on each channel: channels 1 x row_bytes 256 = 256"},
      {"tiny", {"gm.t_ras_ns=9.5"}, "gm.t_ras_ns", "9.5 is shorter than t_rcd_ns 10"},
      {"tiny", {"gm.refresh=all_bank", "gm.t_rfc_ns=3900"}, "gm.t_rfc_ns", "do not fit into t_refi_ns 3900"},
      {"tiny", {"gm.refresh=per_bank", "gm.t_rfc_ns=1950"}, "gm.t_rfc_ns", "in each of 2 banks"},
      {"tiny", {"name=a b"}, "name", "'a b' is not made of"},
      {"tiny", {"name=''"}, "name", "'' is not made of"},
      {"tiny", {"core_types.core=null"}, "core_types", "names no section"},
  };
  for (const Rule& rule : rules) {
    const std::string message = refused_setting(rule.machine, rule.set);
    EXPECT_TRUE(contains(message, std::string(": ") + rule.path + ": ")) << rule.set[0] << " -> " << message;
    EXPECT_TRUE(contains(message, rule.message)) << rule.set[0] << " -> " << message;
  }
}

TEST(Validate, places_of_broken_rules) {
  const std::string message = refused("extends: tiny\ngm:\n  row_bytes: 100\n");
  EXPECT_EQ(message.rfind("m.yaml:3:3: gm.row_bytes: ", 0), 0U) << message;
  // a default is to blame: the place is the section that should have said it
  EXPECT_EQ(refused("extends: tiny\ncore_types: {core: {vector: {types: [i4]}}}\n"), "");
}

TEST(Validate, odd_but_legal) {
  EXPECT_EQ(refused_setting("tiny", {"gm.model=ideal", "gm.row_bytes=100", "gm.bytes=1"}), "");
  EXPECT_EQ(refused_setting("tiny", {"gm.channels=3", "gm.banks=5", "gm.hash=xor_fold"}), "");
  EXPECT_EQ(refused_setting("tiny", {"core_types.core.dma.mte2.paths.2.request_bytes=4096"}), "");
  EXPECT_EQ(refused_setting("tiny", {"core_types.core.buffers.ub.bytes=1"}), "");
  EXPECT_EQ(refused_setting("tiny", {"core_types.core.dma.mte2.paths.2={from: ub, to: ub}"}), "");
  EXPECT_EQ(refused_setting("tiny_ub", {"core_types.core.vector.registers=1"}), "");
}

TEST(Validate, core_types_that_only_copy) {
  const Machine machine = load_machine(
      "tiny",
      with({"core_types.mem={count: 3, clock_mhz: 500, buffers: {stage: {bytes: 64}}, dma: {feed: {paths: "
            "[{from: stage, to: core.ub, multicast: true}]}}}"}));
  const isa::Target target = make_target(machine, "mem");
  EXPECT_FALSE(target.vector_unit);
  EXPECT_EQ(target.vector_types, 0);
  ASSERT_EQ(target.spaces.size(), 3U);
  EXPECT_EQ(target.spaces[2].name, "core.ub");
  EXPECT_EQ(make_target(machine, "core").spaces.at(target.spaces[2].remote_space).name, "ub");
  EXPECT_EQ(target.spaces[2].cores, 2U);
  EXPECT_TRUE(target.paths[0].multicast);
  // flags: no pair with the vector unit, which is not there
  for (const auto& [source, destination] : target.flag_pairs) {
    EXPECT_NE(source, isa::kVectorEngineIndex);
    EXPECT_NE(destination, isa::kVectorEngineIndex);
  }
  EXPECT_EQ(make_target(machine).core_type, "core");
  EXPECT_EQ(other_targets(machine, target).size(), 1U);
  EXPECT_EQ(to_yaml(machine_from_text(to_yaml(machine), "again.yaml")), to_yaml(machine));
}

TEST(Validate, CF_10_no_compute_unit) {
  std::string yaml = to_yaml(load_machine("edge", with()));
  for (const auto& [first, next] :
       {std::pair("    vector:\n", "    buffers:\n"), std::pair("    matrix:\n", "    sync:\n")}) {
    const std::size_t start = yaml.find(first);
    yaml.erase(start, yaml.find(next) - start);
  }
  const std::string message = refused(yaml);
  EXPECT_TRUE(contains(
      message, "core_types: no compute unit: no core type has a section 'vector', or 'matrix' with types"))
      << message;
}

}  // namespace
}  // namespace npulab::config
