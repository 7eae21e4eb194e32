// SPDX-License-Identifier: Apache-2.0
// Echo, comparison, schema, reference page, derived peaks, assembler target.
#include "sim/config/describe.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "sim/config/keys.hpp"
#include "sim/config/node.hpp"
#include "tests/config/support.hpp"

namespace npulab::config {
namespace {

using nlohmann::ordered_json;

constexpr const char* kMachines[] = {"tiny", "tiny_ub", "edge", "ascend910_opsblas"};

TEST(Echo, writes_every_key) {
  const std::string yaml = to_yaml(load_machine("tiny", with()));
  const std::function<void(const std::vector<KeyInfo>&)> check = [&](const std::vector<KeyInfo>& keys) {
    for (const KeyInfo& info : keys) {
      EXPECT_TRUE(contains(yaml, info.key + ":")) << info.key;
      check(info.keys);
    }
  };
  check(machine_keys());
}

TEST(Echo, doubles_come_back_exactly) {
  for (const char* const text : {"733.333333", "1000.1", "1.0000000000000002", "9999.999999999998"}) {
    const Machine machine = load_machine("tiny", with({std::string("core_types.core.clock_mhz=") + text}));
    const Machine echo = machine_from_text(to_yaml(machine), "echo.yaml");
    EXPECT_EQ(machine.core_types.at("core").clock_mhz, echo.core_types.at("core").clock_mhz) << text;
  }
}

TEST(Echo, empty_and_word_like_texts_come_back) {
  const Machine machine =
      load_machine("tiny", with({"doc='yes'", "name=null_", "core_types.core.dma.mte2.port=on",
                                 "core_types.core.sync.flag_pairs=[mte2>vector, scalar>mte3]"}));
  EXPECT_EQ(diff(machine, machine_from_text(to_yaml(machine), "echo.yaml")), std::vector<std::string>{});
  EXPECT_TRUE(contains(to_yaml(machine), "port: \"on\""));
}

TEST(Diff, names_each_difference) {
  EXPECT_EQ(diff(load_machine("tiny", with()), load_machine("tiny", with())), std::vector<std::string>{});
  const std::vector<std::string> lines = diff(
      load_machine("tiny", with()),
      load_machine("tiny", with({"gm.channels=2", "core_types.core.vector.types=[f16]",
                                 "core_types.core.dma.mte3=null", "core_types.core.buffers.extra={bytes: 64}",
                                 "core_types.core.dma.mte2.paths.1.in_flight=9"})));
  const std::vector<std::string> expected{
      "core_types.core.vector.types: [f32, f16, bf16, i32, i16, i8, u8, i4] -> [f16]",
      "core_types.core.buffers.extra: (none) -> (section)",
      "core_types.core.dma.mte2.paths.1.in_flight: 4 -> 9",
      "core_types.core.dma.mte3: (section) -> (none)",
      "gm.channels: 1 -> 2",
  };
  EXPECT_EQ(lines, expected);
}

TEST(Summary, TM_18_derived_peaks_are_shown) {
  const Machine machine = load_machine("ascend910_opsblas", with());
  EXPECT_DOUBLE_EQ(gm_peak_bytes_per_second(machine.gm), 1.2e12);
  const std::string text = summary(machine);
  EXPECT_TRUE(contains(text, "# gm: 64 GiB, dram model, peak 1200 GB/s = 64 channels x 18.75 GB/s\n"))
      << text;
  EXPECT_TRUE(contains(text, "#   vector f16: 16 lanes, 35.2 GFLOP/s a core, 1126.4 in all (vfma)\n"))
      << text;
  EXPECT_TRUE(contains(text, "#   vector load: 32 B/cycle = 35.2 GB/s a core, 1126.4 GB/s in all\n")) << text;
  EXPECT_TRUE(contains(text, "#   ub: 256 KiB, 16 banks x 32 B x 1 = 512 B/cycle\n")) << text;
  EXPECT_TRUE(contains(text, "#   mte2 gm > ub: 64 B/cycle = 70.4 GB/s a core, 2252.8 GB/s in all\n"))
      << text;
  const Machine ideal = load_machine("tiny", with({"gm.model=ideal", "gm.bandwidth_gbps=12.5"}));
  EXPECT_TRUE(contains(summary(ideal), "ideal model, peak 12.5 GB/s\n"));
  EXPECT_DOUBLE_EQ(gm_peak_bytes_per_second(ideal.gm), 12.5e9);
}

// A tree of a file as JSON, plain scalars typed as YAML readers type them.
ordered_json json_from(const Node& node) {
  if (node.kind == NodeKind::null) return nullptr;
  if (node.kind == NodeKind::scalar) {
    ordered_json number = node.quoted ? ordered_json() : ordered_json::parse(node.text, nullptr, false);
    return number.is_number() || number.is_boolean() ? number : ordered_json(node.text);
  }
  ordered_json tree = node.kind == NodeKind::map ? ordered_json::object() : ordered_json::array();
  for (const Node& item : node.items) {
    if (node.kind == NodeKind::map)
      tree[item.key] = json_from(item);
    else
      tree.push_back(json_from(item));
  }
  return tree;
}

// The keywords of JSON schema that json_schema() uses; anything else fails.
class SchemaCheck {
 public:
  explicit SchemaCheck(const ordered_json& root) : root_(root) {}

  bool matches(const ordered_json& value, const ordered_json& schema) const {
    if (schema.contains("if"))
      return matches(value, matches(value, schema["if"]) ? schema["then"] : schema["else"]);
    if (schema.contains("$ref"))
      return matches(value,
                     root_.at(ordered_json::json_pointer(schema["$ref"].get<std::string>().substr(1))));
    if (schema.contains("anyOf")) {
      for (const auto& one : schema["anyOf"])
        if (matches(value, one)) return true;
      return false;
    }
    return type_matches(value, schema.at("type").get<std::string>()) && bounds_match(value, schema) &&
           list_matches(value, schema) && object_matches(value, schema);
  }

 private:
  static bool type_matches(const ordered_json& value, const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    return type == "null" && value.is_null();
  }

  static bool bounds_match(const ordered_json& value, const ordered_json& schema) {
    if (schema.contains("minimum") && value.get<double>() < schema["minimum"].get<double>()) return false;
    if (schema.contains("maximum") && value.get<double>() > schema["maximum"].get<double>()) return false;
    if (!schema.contains("enum")) return true;
    const auto& choices = schema["enum"];
    return std::find(choices.begin(), choices.end(), value) != choices.end();
  }

  bool list_matches(const ordered_json& value, const ordered_json& schema) const {
    if (!value.is_array()) return true;
    if (schema.contains("minItems") && value.size() < schema["minItems"].get<std::size_t>()) return false;
    for (const auto& item : value)
      if (!matches(item, schema.at("items"))) return false;
    return true;
  }

  bool object_matches(const ordered_json& value, const ordered_json& schema) const {
    if (!value.is_object()) return true;
    if (schema.contains("required"))
      for (const auto& key : schema["required"])
        if (!value.contains(key.get<std::string>())) return false;
    if (!schema.contains("properties") && !schema.contains("additionalProperties")) return true;
    const ordered_json properties = schema.value("properties", ordered_json::object());
    for (const auto& [key, item] : value.items()) {
      if (properties.contains(key)) {
        if (!matches(item, properties[key])) return false;
      } else if (schema["additionalProperties"].is_boolean() ||
                 !matches(item, schema["additionalProperties"])) {
        return false;
      }
    }
    return true;
  }

  const ordered_json& root_;
};

TEST(Schema, accepts_every_shipped_file_and_every_echo) {
  const ordered_json schema = json_schema();
  const SchemaCheck check(schema);
  for (const char* const name : kMachines) {
    Problems problems;
    const ordered_json file =
        json_from(parse_yaml(text_of(configs() / (std::string(name) + ".yaml")), name, problems));
    EXPECT_TRUE(check.matches(file, schema)) << name;
    EXPECT_TRUE(check.matches(to_json(load_machine(name, with())), schema)) << name;
  }
}

TEST(Schema, refuses_what_the_loader_refuses) {
  const ordered_json schema = json_schema();
  const SchemaCheck check(schema);
  const ordered_json good = to_json(load_machine("tiny", with()));
  const auto spoilt = [&](const char* pointer, const ordered_json& value) {
    ordered_json bad = good;
    bad[ordered_json::json_pointer(pointer)] = value;
    return check.matches(bad, schema);
  };
  EXPECT_TRUE(spoilt("/gm/channels", 2));
  EXPECT_FALSE(spoilt("/gm/channels", 0));
  EXPECT_FALSE(spoilt("/gm/channels", 2.5));
  EXPECT_FALSE(spoilt("/gm/channels", "2"));
  EXPECT_FALSE(spoilt("/gm/chanels", 2));
  EXPECT_FALSE(spoilt("/gm/hash", "xor"));
  EXPECT_FALSE(spoilt("/core_types/core/buffers/ub", nullptr));
  EXPECT_FALSE(spoilt("/core_types/core/dma/mte2/paths/0", {{"from", "gm"}}));
  ordered_json partial = {{"extends", "tiny"}, {"core_types", {{"core", {{"dma", {{"mte3", nullptr}}}}}}}};
  EXPECT_TRUE(check.matches(partial, schema));
  partial.erase("extends");
  EXPECT_FALSE(check.matches(partial, schema));
}

TEST(Schema, describes_every_key_with_unit_range_and_default) {
  const ordered_json gm = json_schema()["$defs"]["complete"]["properties"]["gm"]["properties"];
  EXPECT_EQ(gm["latency_ns"]["minimum"], 0.0);
  EXPECT_TRUE(contains(gm["latency_ns"]["description"].get<std::string>(), "[ns]"));
  EXPECT_EQ(gm["channels"]["default"], GmConfig{}.channels);
  EXPECT_FALSE(gm["bytes"].contains("default"));
}

TEST(Keys, have_docs_and_sane_ranges) {
  const std::function<void(const std::vector<KeyInfo>&, const std::string&)> check =
      [&](const std::vector<KeyInfo>& keys, const std::string& path) {
        std::set<std::string> seen;
        for (const KeyInfo& info : keys) {
          const std::string at = path + "." + info.key;
          EXPECT_FALSE(info.doc.empty()) << at;
          EXPECT_TRUE(seen.insert(info.key).second) << at;
          if (info.kind == KeyKind::integer || info.kind == KeyKind::number) {
            EXPECT_LT(info.min, info.max) << at;
            EXPECT_GE(info.min, 0) << at;
            if (!info.required) {
              EXPECT_GE(info.default_value.get<double>(), info.min) << at;
              EXPECT_LE(info.default_value.get<double>(), info.max) << at;
            }
          }
          check(info.keys, at);
        }
      };
  check(machine_keys(), "");
}

// NPULAB_UPDATE=1 in the environment writes the page instead.
TEST(Reference, page_is_current) {
  const std::filesystem::path page = std::filesystem::path(NPULAB_SOURCE_DIR) / "docs" / "machines.md";
  const std::string text = reference_markdown({configs()});
  if (std::getenv("NPULAB_UPDATE") != nullptr) std::ofstream(page, std::ios::binary) << text;
  EXPECT_TRUE(text_of(page) == text) << "docs/machines.md is out of date: run this test with NPULAB_UPDATE=1";
}

TEST(Target, carries_names_and_limits) {
  const isa::Target target = make_target(load_machine("tiny", with()));
  EXPECT_EQ(target.machine, "tiny");
  EXPECT_EQ(target.core_type, "core");
  std::vector<std::string> spaces;
  for (const isa::Space& space : target.spaces) spaces.push_back(space.name);
  EXPECT_EQ(spaces, (std::vector<std::string>{"gm", "bt", "l0a", "l0b", "l0c", "l1", "ub"}));
  EXPECT_EQ(target.spaces.back().bytes, 4096U);
  EXPECT_EQ(target.engines,
            (std::vector<std::string>{"scalar", "vector", "fix", "mte1", "mte2", "mte3", "matrix"}));
  ASSERT_EQ(target.paths.size(), 11U);
  EXPECT_EQ(target.paths.back().from, 6);
  EXPECT_EQ(target.paths.back().to, 5);
  EXPECT_EQ(target.paths.back().engine, 5);
  EXPECT_EQ(target.flag_pairs.size(), 42U);
  ASSERT_TRUE(target.matrix.has_value());
  EXPECT_EQ(target.matrix->kind, isa::MatrixKind::systolic);
  EXPECT_EQ(target.matrix->c, 4);
  ASSERT_NE(target.matrix->shape(isa::DType::i8, isa::DType::none), nullptr);
  EXPECT_EQ(target.matrix->shape(isa::DType::i8, isa::DType::i8)->k, 2U);
  EXPECT_EQ(target.matrix->shape(isa::DType::i4, isa::DType::none), nullptr);
  EXPECT_EQ(target.cores, 2U);
  EXPECT_EQ(target.vector_registers, 16U);
  EXPECT_EQ(target.register_bits, 64U);
  EXPECT_EQ(target.operation_bits, 64U);
  EXPECT_TRUE(isa::contains(target.vector_types, isa::DType::bf16));
  EXPECT_FALSE(isa::contains(target.vector_types, isa::DType::f8e4m3));
  EXPECT_EQ(make_target(load_machine("tiny_ub", with())).form, isa::OperandForm::ub);
  EXPECT_EQ(make_target(load_machine("tiny_ub", with())).spaces.back().alignment, 32U);
}

TEST(Target, flag_pairs_of_the_file) {
  const isa::Target target =
      make_target(load_machine("tiny", with({"core_types.core.sync.flag_pairs=[mte2>vector, scalar>mte3]"})));
  const std::vector<std::pair<std::uint8_t, std::uint8_t>> expected{{4, 1}, {0, 5}};
  EXPECT_EQ(target.flag_pairs, expected);
}

TEST(Target, unknown_core_type_is_refused_with_the_nearest) {
  const Machine machine = load_machine("tiny", with());
  EXPECT_EQ(make_target(machine, "core").core_type, "core");
  const auto error = refusal([&] { make_target(machine, "cor"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "unknown-core-type");
  EXPECT_TRUE(contains(error->what(), "did you mean 'core'?"));
  EXPECT_TRUE(refusal([] { make_target(Machine{}); }));
}

TEST(Target, clocks_are_exact_to_the_hertz) {
  CoreTypeConfig core;
  for (const auto& [mhz, hz] : {std::pair(1000.0, 1000000000ULL),
                                {733.333333, 733333333ULL},
                                {976.5625, 976562500ULL},
                                {1.000001, 1000001ULL},
                                {9999.999999, 9999999999ULL}}) {
    core.clock_mhz = mhz;
    EXPECT_EQ(clock_hz(core), hz);
  }
}

}  // namespace
}  // namespace npulab::config
