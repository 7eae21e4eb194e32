// SPDX-License-Identifier: Apache-2.0
// Files, names, inheritance and forms of numbers.
#include "sim/config/load.hpp"

#include <unistd.h>

#include "tests/config/support.hpp"

namespace npulab::config {
namespace {

constexpr char kSmall[] =
    "name: small\n"
    "core_types:\n"
    "  core:\n"
    "    count: 1\n"
    "    clock_mhz: 1000\n"
    "    vector: {}\n"
    "    buffers: {ub: {bytes: 1024}}\n"
    "    dma: {mte2: {paths: [{from: gm, to: ub}]}}\n"
    "gm: {bytes: 1000000}\n";

TEST(Load, small_machine_takes_defaults) {
  const Machine machine = machine_from_text(kSmall, "m.yaml");
  EXPECT_EQ(machine.core_types.at("core").vector.registers, VectorConfig{}.registers);
  EXPECT_EQ(machine.gm.channels, GmConfig{}.channels);
}

TEST(Load, CF_09_every_shipped_machine_loads_and_its_echo_too) {
  const auto machines = list_machines({configs()});
  ASSERT_GE(machines.size(), 4U);
  for (const MachineInfo& info : machines) {
    const Machine machine = load_machine(info.name, with());
    EXPECT_EQ(machine.name, info.name);
    EXPECT_FALSE(machine.doc.empty()) << info.name;
    const Machine echo = machine_from_text(to_yaml(machine), "echo.yaml");
    EXPECT_EQ(diff(machine, echo), std::vector<std::string>{}) << info.name;
    EXPECT_EQ(diff(machine, machine_from_text(summary(machine), "summary.yaml")), std::vector<std::string>{});
  }
}

TEST(Load, CF_08_file_that_cannot_be_read) {
  const Folder folder;
  const std::string missing = (folder.path() / "none.yaml").string();
  auto error = refusal([&] { load_machine(missing); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot open " + missing + ": No such file or directory");
  EXPECT_EQ(exit_status(error->category()), 2);

  error = refusal([&] { load_machine(folder.path().string()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "cannot-open");
  EXPECT_TRUE(contains(error->what(), "directory"));

  for (const char* const empty : {"", "\n\n", "# nothing\n", "---\n"}) {
    error = refusal([&] { load_machine(folder.write("empty.yaml", empty)); });
    ASSERT_TRUE(error) << empty;
    EXPECT_EQ(error->code(), "empty-file");
  }
  error = refusal([&] {
    load_machine(folder.write("binary.yaml", std::string("\x7f"
                                                         "ELF\0\1",
                                                         6)));
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "not-text");
  error = refusal([&] { load_machine(folder.write("latin.yaml", "name: caf\xe9\n")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "not-text");
  error = refusal([&] { load_machine(folder.write("huge.yaml", std::string((1 << 20) + 1, ' '))); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "too-large");
}

TEST(Load, CF_08_unreadable_file) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const Folder folder;
  const std::string file = folder.write("secret.yaml", kSmall);
  std::filesystem::permissions(file, std::filesystem::perms::none);
  const auto error = refusal([&] { load_machine(file); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot open " + file + ": Permission denied");
}

TEST(Load, CF_14_yaml_and_json_alike) {
  const Folder folder;
  const Machine tiny = load_machine("tiny", with());
  const std::string json = to_json(tiny).dump(2);
  std::string tabs = to_json(tiny).dump(1, '\t');
  for (const std::string& file :
       {folder.write("a.json", json), folder.write("b.yaml", json), folder.write("c.yml", to_yaml(tiny)),
        folder.write("d.json", tabs), folder.write("e.json", to_json(tiny).dump())})
    EXPECT_EQ(diff(tiny, load_machine(file)), std::vector<std::string>{}) << file;
  LoadOptions options;
  options.search = {folder.path()};
  for (const char* const name : {"a", "b", "c"}) EXPECT_EQ(load_machine(name, options).name, "tiny");
}

TEST(Load, CF_14_line_ends_and_byte_order_mark) {
  std::string text = "\xef\xbb\xbf";
  for (const char* c = kSmall; *c != '\0'; ++c) text += *c == '\n' ? std::string("\r\n") : std::string(1, *c);
  EXPECT_EQ(refused(text), "");
}

TEST(Load, unknown_name_lists_the_nearest) {
  const auto error = refusal([&] { load_machine("tinny", with()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "unknown-machine");
  EXPECT_TRUE(contains(error->what(), "did you mean 'tiny'?")) << error->what();
  EXPECT_TRUE(contains(error->what(), configs().string()));
  EXPECT_TRUE(refusal([&] { load_machine("", with()); }));
  EXPECT_TRUE(refusal([&] { load_machine("tiny", LoadOptions{}); }));
}

TEST(Load, forms_of_numbers) {
  const auto try_count = [](const std::string& text) {
    return refused_setting("tiny", {"core_types.core.count=" + text});
  };
  EXPECT_EQ(try_count("7"), "");
  for (const char* const text : {"07",
                                 "0x7",
                                 "7.0",
                                 "1e1",
                                 "1_0",
                                 "+7",
                                 "7 cores",
                                 "'7'",
                                 "\"7\"",
                                 "true",
                                 "0o7",
                                 "",
                                 "~",
                                 "[7]",
                                 "{a: 7}",
                                 "7,",
                                 "18446744073709551617",
                                 "-7",
                                 ".inf",
                                 "NaN"})
    EXPECT_TRUE(contains(try_count(text), "core_types.core.count: ")) << text;
  EXPECT_TRUE(contains(try_count("32.0"), "an integer")) << try_count("32.0");
  const auto try_clock = [](const std::string& text) {
    return refused_setting("tiny", {"core_types.core.clock_mhz=" + text});
  };
  for (const char* const text : {"7", "7.5", "1e3", "7.25E+2"}) EXPECT_EQ(try_clock(text), "") << text;
  for (const char* const text : {".5", "5.", "07.5", "nan", ".nan", "inf", "-.inf", "1e999", "1e-999",
                                 "0x1p3", "1e", "--5", "5 MHz", "1,5"})
    EXPECT_TRUE(contains(try_clock(text), "core_types.core.clock_mhz: ")) << text;
}

TEST(Load, BF_07_negative_numbers_never_wrap) {
  EXPECT_EQ(refused_setting("tiny", {"gm.bytes=-1"}),
            "--set gm.bytes=-1: gm.bytes: -1 is outside 1..281474976710656 bytes");
  EXPECT_TRUE(contains(refused_setting("tiny", {"gm.bytes=-18446744073709551615"}), "is outside"));
}

TEST(Load, CF_03_both_places_of_a_repeated_key) {
  const std::string text = std::string(kSmall) + "name: again\n";
  const std::string message = refused(text);
  EXPECT_TRUE(contains(message, "m.yaml:10:1: name: key 'name' stands twice, first in line 1")) << message;
  const std::string nested = refused(std::string(kSmall) + "launch:\n  dispatch_us: 1\n  dispatch_us: 1\n");
  EXPECT_TRUE(
      contains(nested, "m.yaml:12:3: launch.dispatch_us: key 'dispatch_us' stands twice, first in line 11"))
      << nested;
}

TEST(Load, all_problems_at_once) {
  const std::string message = refused("nam: x\ngm: {bytes: 0, channels: many}\n");
  EXPECT_TRUE(contains(message, "m.yaml:1:1: nam: unknown key 'nam'; did you mean 'name'?")) << message;
  EXPECT_TRUE(contains(message, "name: missing key")) << message;
  EXPECT_TRUE(contains(message, "core_types: missing key")) << message;
  EXPECT_TRUE(contains(message, "\nm.yaml:2:13: gm.bytes: 0 is outside 1..")) << message;
  EXPECT_TRUE(contains(message, "\nm.yaml:2:26: gm.channels: expects an integer of 1..1024")) << message;

  std::string many = kSmall;
  for (int i = 0; i < 30; ++i) many += "key_" + std::to_string(i) + ": 1\n";
  EXPECT_TRUE(contains(refused(many), "\nand 10 more"));
}

TEST(Load, syntax_errors_have_a_place) {
  EXPECT_TRUE(contains(refused("name: [1, 2\ngm: 3\n"), "m.yaml:2:"));
  EXPECT_TRUE(contains(refused("\tname: x\n"), "m.yaml:1:"));
  EXPECT_TRUE(contains(refused("- a\n- b\n"), "m.yaml:1:1: expects a mapping of keys, got a list"));
  EXPECT_TRUE(contains(refused("just text\n"), "expects a mapping of keys, got 'just text'"));
  EXPECT_TRUE(contains(refused(std::string(kSmall) + "---\nname: b\n"), "second document"));
  EXPECT_TRUE(contains(refused("name: !!str x\n"), "m.yaml:1:"));
  EXPECT_TRUE(contains(refused("[a, b]: x\n"), "a key must be plain text"));
  EXPECT_TRUE(contains(refused("{a: b}: x\n"), "a key must be plain text"));
  EXPECT_TRUE(contains(refused("~: x\n"), "a key must be plain text"));
  EXPECT_TRUE(contains(refused("name: *nowhere\n"), "m.yaml:1:"));
}

TEST(Load, anchors_work_and_stay_bounded) {
  std::string text = kSmall;
  text.replace(text.find("paths: ["), 8, "paths: &p [");
  EXPECT_EQ(refused(text), "");
  EXPECT_TRUE(contains(refused("gm: &a [*a]\n"),
                       "m.yaml:1:9: alias '*a' stands inside what its anchor '&a' names, in line 1"))
      << refused("gm: &a [*a]\n");
  EXPECT_TRUE(contains(refused("doc: &x y\ngm: &a\n  hash: &b none\n  model: *a\n"),
                       "alias '*a' stands inside what its anchor '&a' names, in line"));

  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 1; j < 10; ++j) laughs += ", " + last;
    laughs += "]\n";
  }
  EXPECT_TRUE(contains(refused(laughs), "more than 100000 values"));
  EXPECT_TRUE(contains(refused("a: " + std::string(200, '[') + std::string(200, ']') + "\n"),
                       "nested deeper than 64"));
  EXPECT_FALSE(refused("a: " + std::string(100000, '[')).empty());
}

TEST(Load, text_is_one_line) {
  const std::string block = std::string(kSmall) + "doc: >\n  two lines\n  folded\n";
  EXPECT_EQ(machine_from_text(block, "m.yaml").doc, "two lines folded");
  EXPECT_TRUE(contains(refused(std::string(kSmall) + "doc: \"a\\nb\"\n"), "one line of text"));
  EXPECT_TRUE(contains(refused(std::string(kSmall) + "doc: " + std::string(501, 'x') + "\n"), "at most 500"));
  const std::string quotes = std::string(kSmall) + "doc: 'a \"b\" \\ # c: Größe'\n";
  const Machine machine = machine_from_text(quotes, "m.yaml");
  EXPECT_EQ(machine.doc, "a \"b\" \\ # c: Größe");
  EXPECT_EQ(machine_from_text(to_yaml(machine), "echo.yaml").doc, machine.doc);
}

TEST(Extends, child_wins_key_by_key) {
  const Folder folder;
  folder.write("base.yaml", kSmall);
  const std::string child =
      folder.write("child.yaml",
                   "extends: base\nname: child\n"
                   "core_types: {core: {buffers: {l1: {bytes: 77}}, vector: {registers: 9}}}\n");
  const Machine machine = load_machine(child);
  const CoreTypeConfig& core = machine.core_types.at("core");
  EXPECT_EQ(machine.name, "child");
  EXPECT_EQ(core.count, 1U);
  EXPECT_EQ(core.vector.registers, 9U);
  EXPECT_EQ(core.buffers.at("ub").bytes, 1024U);
  EXPECT_EQ(core.buffers.at("l1").bytes, 77U);
}

TEST(Extends, lists_are_replaced_whole) {
  const Machine machine = machine_from_text(
      "extends: tiny\n"
      "core_types:\n"
      "  core: {vector: {types: [f32]}, dma: {mte2: {paths: [{from: gm, to: ub, request_bytes: 64}]}}}\n",
      "m.yaml", with());
  const CoreTypeConfig& core = machine.core_types.at("core");
  EXPECT_EQ(core.vector.types, std::vector<isa::DType>{isa::DType::f32});
  ASSERT_EQ(core.dma.at("mte2").paths.size(), 1U);
  EXPECT_EQ(core.dma.at("mte2").paths[0].in_flight, DmaPathConfig{}.in_flight);
}

TEST(Extends, null_removes_a_named_section) {
  const std::string head = "extends: tiny\ncore_types:\n  core:\n";
  const Machine machine = machine_from_text(head + "    dma: {mte3: null}\n", "m.yaml", with());
  EXPECT_EQ(machine.core_types.at("core").dma.count("mte3"), 0U);
  EXPECT_TRUE(contains(refused(head + "    dma: {mte4: null}\n"), "core_types.core.dma.mte4: has no keys"));
  EXPECT_TRUE(contains(refused(head + "    dma: null\n"),
                       "core_types.core.dma: expects sections by name, got nothing"));
  EXPECT_TRUE(contains(refused(head + "    sync:\n"),
                       "core_types.core.sync: expects a section of keys, got nothing"));
  EXPECT_FALSE(
      machine_from_text(head + "    vector: null\n", "m.yaml", with()).core_types.at("core").vector.present);
  EXPECT_TRUE(contains(refused(head + "    count: null\n"), "m.yaml:4:5: core_types.core.count: expects"));
}

TEST(Extends, beside_the_file_then_in_the_search_folders) {
  const Folder folder;
  std::filesystem::create_directories(folder.path() / "sub");
  folder.write("base.yaml", kSmall);
  const std::string up = folder.write("sub/up.yaml", "extends: ../base.yaml\nname: up\n");
  EXPECT_EQ(load_machine(up).name, "up");
  const std::string shipped = folder.write("shipped.yaml", "extends: tiny.yaml\nname: mine\n");
  EXPECT_EQ(load_machine(shipped, with()).gm.channels, 1U);
  folder.write("tiny.yaml", kSmall);
  EXPECT_EQ(load_machine(shipped, with()).gm.channels, GmConfig{}.channels);
}

TEST(Extends, cycles_and_long_chains_are_refused_with_the_chain) {
  const Folder folder;
  folder.write("a.yaml", "extends: b\n");
  folder.write("b.yaml", "extends: ./a.yaml\n");
  auto error = refusal([&] { load_machine((folder.path() / "a.yaml").string()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "extends");
  EXPECT_TRUE(contains(error->what(), "a.yaml > ")) << error->what();
  EXPECT_TRUE(contains(error->what(), "b.yaml:1:")) << error->what();

  folder.write("c0.yaml", kSmall);
  for (int i = 1; i < 20; ++i)
    folder.write("c" + std::to_string(i) + ".yaml", "extends: c" + std::to_string(i - 1) + "\n");
  EXPECT_EQ(load_machine((folder.path() / "c15.yaml").string()).name, "small");
  error = refusal([&] { load_machine((folder.path() / "c16.yaml").string()); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(contains(error->what(), "more than 16 files")) << error->what();
}

TEST(Extends, problems_name_the_file_they_stand_in) {
  const Folder folder;
  folder.write("base.yaml", std::string(kSmall) + "launch: {dispatch_us: -2}\n");
  const std::string child = folder.write("child.yaml", "extends: base\ngm: {chanels: 2}\n");
  const auto error = refusal([&] { load_machine(child); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(contains(error->what(), "base.yaml:10:23: launch.dispatch_us: -2 is outside")) << error->what();
  EXPECT_TRUE(contains(error->what(), "child.yaml:2:6: gm.chanels: unknown key")) << error->what();
  const std::string lost = folder.write("lost.yaml", "extends: nowhere\n");
  EXPECT_TRUE(contains(refusal([&] { load_machine(lost); })->what(), "lost.yaml:1:10: no machine 'nowhere'"));
  const std::string gone = folder.write("gone.yaml", "extends: gone/at.yaml\n");
  EXPECT_TRUE(contains(refusal([&] { load_machine(gone); })->what(), "gone.yaml:1:10: cannot open "));
  EXPECT_TRUE(contains(refused("extends: [tiny]\n"), "extends: expects"));
}

TEST(Setting, reaches_every_kind_of_place) {
  const Machine machine = load_machine(
      "tiny",
      with({"core_types.core.buffers.ub.bytes=2048", "core_types.core.vector.types.0=f8e4m3",
            "core_types.core.dma.mte2.paths.1.in_flight=3", "launch.stagger_cycles=5", "gm.channels=4",
            "core_types.core.buffers.extra={bytes: 64}", "core_types.core.sync.flag_pairs=[mte2>vector]",
            "core_types.core.dma.mte3=null", "gm={hash: xor_fold, interleave_bytes: 512}"}));
  const CoreTypeConfig& core = machine.core_types.at("core");
  EXPECT_EQ(machine.gm.channels, 4U);
  EXPECT_EQ(machine.gm.hash, AddressHash::xor_fold);
  EXPECT_EQ(machine.gm.interleave_bytes, 512U);
  EXPECT_EQ(machine.launch.stagger_cycles, 5U);
  EXPECT_EQ(core.buffers.at("ub").bytes, 2048U);
  EXPECT_EQ(core.buffers.at("extra").bytes, 64U);
  EXPECT_EQ(core.vector.types.at(0), isa::DType::f8e4m3);
  EXPECT_EQ(core.dma.at("mte2").paths.at(1).in_flight, 3U);
  EXPECT_EQ(core.dma.count("mte3"), 0U);
  EXPECT_EQ(core.sync.flag_pairs, std::vector<std::string>{"mte2>vector"});
}

TEST(Setting, refusals_name_the_setting) {
  const struct {
    const char* set;
    const char* message;
  } rows[] = {
      {"gm.chanels=3", "gm.chanels: unknown key 'chanels'; did you mean 'channels'?"},
      {"gm.channels=0", "gm.channels: 0 is outside 1..1024"},
      {"gm.channels.x=0", "gm.channels.x: 'gm.channels' is a value and has no keys"},
      {"core_types.core.buffers.uub.bytes=4", "no section 'uub'; did you mean 'ub'?"},
      {"core_types.core.dma.mte2.paths.3.in_flight=4", "'3' is no index of a list of 3"},
      {"core_types.core.dma.mte2.paths.-1.in_flight=4", "'-1' is no index"},
      {"core_types.core.dma.mte2.paths.x=4", "'x' is no index"},
      {"core_types.core.buffers.zz=null", "core_types.core.buffers.zz: has no keys"},
      {"core_types.core.buffers.zz=", "core_types.core.buffers.zz: has no keys"},
      {"gm.hash=xorfold", "'xorfold' is none of none, xor_fold; did you mean 'xor_fold'?"},
      {"gm=5", "gm: expects a section of keys, got '5'"},
      {"gm..channels=5", "gm.: unknown key ''"},
      {".gm=5", "unknown key ''"},
      {"gm.channels=[1", "not valid YAML"},
      {"gm={channels: 2, channels: 3}", "key 'channels' stands twice"},
      {"extends=edge", "unknown key 'extends'"},
      {"gm.channels", "expects KEY=VALUE"},
      {"=3", "expects KEY=VALUE"},
      {"", "expects KEY=VALUE"},
  };
  for (const auto& row : rows) {
    const std::string message = refused_setting("tiny", {row.set});
    EXPECT_EQ(message.rfind(std::string("--set ") + row.set + ": ", 0), 0U) << message;
    EXPECT_TRUE(contains(message, row.message)) << row.set << " -> " << message;
  }
}

TEST(Settings, CF_03_a_key_twice_names_both) {
  const std::string message = refused_setting("tiny", {"gm.channels=1", "gm.bytes=4096", "gm.channels=2"});
  EXPECT_TRUE(
      contains(message, "--set gm.channels=2: gm.channels: is set twice, first by --set gm.channels=1"))
      << message;
  EXPECT_EQ(
      machine_from_text("extends: tiny\n", "m.yaml", with({"gm={channels: 1}", "gm.channels=2"})).gm.channels,
      2U)
      << "a part of what another one set is no second time";
}

TEST(Load, tabs_in_the_indentation_are_named) {
  const char* const kTexts[] = {
      "extends: tiny\ngm:\n\tchannels: 2\n", "extends: tiny\ngm:\n  model: ideal\n\tchannels: 2\n",
      "extends: tiny\n\tgm: 3\n", "extends: tiny\ngm:\n-\ta: 1\n", "extends: tiny\ngm:\n  \ta: 1\n"};
  for (const char* text : kTexts)
    EXPECT_TRUE(contains(refused(text), "a tab in the indentation; YAML indents with blanks alone"))
        << refused(text);
  EXPECT_TRUE(contains(refused(kTexts[1]), "m.yaml:4:1: ")) << refused(kTexts[1]);
  EXPECT_TRUE(contains(refused(kTexts[4]), "m.yaml:3:3: ")) << refused(kTexts[4]);
  EXPECT_FALSE(contains(refused("gm: [1\n"), "tab"));
}

}  // namespace
}  // namespace npulab::config
