// SPDX-License-Identifier: Apache-2.0
// Entries that read text and binary forms: assembler, binary form, machine files. What is taken must come
// back the same from its other forms.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "isa/binary.hpp"
#include "isa/check.hpp"
#include "isa/directives.hpp"
#include "isa/disassembler.hpp"
#include "isa/table.hpp"
#include "sim/config/describe.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/load.hpp"
#include "tests/fuzz/entries.hpp"
#include "tests/fuzz/shipped.hpp"

namespace npulab::test {

namespace {

std::string text_of(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

Input input_of(const std::string& text) {
  return {text.begin(), text.end()};
}

// Runs `work`; false when it refuses its input, which is fine. Anything else that it throws is a find.
template <class Work>
bool taken(Work&& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.category() != Category::input) throw;
    if (error.code().empty() || error.message().empty()) throw std::logic_error("a refusal without words");
    return false;
  }
}

[[noreturn]] void find(const std::string& what) {
  throw std::logic_error(what);
}

void same_instructions(const isa::Kernel& one, const isa::Kernel& other, const char* what) {
  if (one.programs.size() != other.programs.size()) find(fmt::format("{}: another number of programs", what));
  for (std::size_t i = 0; i < one.programs.size(); ++i)
    if (isa::encode_for_hash(one.programs[i]) != isa::encode_for_hash(other.programs[i]))
      find(fmt::format("{}: program {} differs", what, i));
}

// A kernel that passed every check is the same from its text and from its binary form.
void survives(const isa::Kernel& kernel, const ShippedMachine& on) {
  const std::vector<std::byte> bytes = isa::encode(kernel);
  if (isa::encode(isa::decode(bytes, "again.bin")) != bytes)
    find("the binary form of a kernel does not come back");
  const std::string text = isa::disassemble(kernel, on.target, on.others);
  try {
    same_instructions(isa::assemble({"again.npu", text}, on.target, {}, closed_options(on)), kernel,
                      "disassembled");
  } catch (const Error& error) {
    find(fmt::format("what was disassembled is refused: {}\n{}", error.what(), text));
  }
}

constexpr std::string_view kSetting = "#set ";

}  // namespace

void take_assembler(std::span<const std::uint8_t> bytes) {
  const ShippedMachine& on = machine_for(bytes.size());
  const isa::Source source{"fuzz.npu", text_of(bytes)};
  taken([&] { isa::read_header(source, {}, closed_options(on)); });
  isa::Kernel kernel;
  if (taken([&] { kernel = isa::assemble(source, on.target, {}, closed_options(on)); })) survives(kernel, on);
}

void take_binary(std::span<const std::uint8_t> bytes) {
  isa::Kernel kernel;
  const auto data = std::as_bytes(bytes);
  if (!taken([&] { kernel = isa::decode(data, "fuzz.bin"); })) return;
  const std::vector<std::byte> again = isa::encode(kernel);
  if (!std::equal(again.begin(), again.end(), data.begin(), data.end()))
    find("bytes that were read are not what is written");
  for (const ShippedMachine& on : shipped().machines)
    if (taken([&] { isa::check(kernel, on.target, on.others); })) survives(kernel, on);
}

void take_machine(std::span<const std::uint8_t> bytes) {
  const std::string text = text_of(bytes);
  config::LoadOptions options;
  options.search = {NPULAB_SOURCE_DIR "/configs"};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.rfind(kSetting, 0) == 0) options.set.push_back(line.substr(kSetting.size()));
    at = end + 1;
  }
  // No other files than the shipped ones: what `extends` names may be a pipe that never ends.
  if (text.find("extends") != std::string::npos && text.find('/') != std::string::npos) return;
  config::Machine machine;
  if (!taken([&] { machine = config::machine_from_text(text, "fuzz.yaml", options); })) return;
  const std::string echo = config::to_yaml(machine);
  config::Machine again;
  if (!taken([&] { again = config::machine_from_text(echo, "echo.yaml"); }))
    find("the echo of a machine is refused");
  if (config::to_yaml(again) != echo || !config::diff(machine, again).empty())
    find("a machine does not come back from its echo");
  config::summary(machine);
  for (const auto& [name, core] : machine.core_types)
    config::other_targets(machine, config::make_target(machine, name));
}

std::vector<Input> assembler_seeds() {
  std::vector<Input> seeds;
  for (const isa::Source& kernel : shipped().kernels) seeds.push_back(input_of(kernel.text));
  return seeds;
}

std::vector<Input> binary_seeds() {
  std::vector<Input> seeds;
  for (const isa::Source& kernel : shipped().kernels) {
    for (const ShippedMachine& on : shipped().machines) {
      isa::Kernel built;
      if (!taken([&] { built = isa::assemble(kernel, on.target, {}, closed_options(on)); })) continue;
      const std::vector<std::byte> bytes = isa::encode(built);
      Input& seed = seeds.emplace_back();
      for (const std::byte byte : bytes) seed.push_back(std::to_integer<std::uint8_t>(byte));
      break;
    }
  }
  return seeds;
}

std::vector<Input> machine_seeds() {
  std::vector<Input> seeds;
  for (const ShippedMachine& on : shipped().machines) {
    seeds.push_back(input_of(on.text));
    seeds.push_back(
        input_of(fmt::format("extends: {}\n{}gm.channels=3\n{}core_types.core.vector.issue_width=2\n",
                             on.machine.name, kSetting, kSetting)));
  }
  return seeds;
}

std::vector<std::string> assembler_words() {
  std::vector<std::string> words;
  for (const isa::InstructionInfo& row : isa::instructions())
    words.push_back(fmt::format("{} ", row.mnemonic));
  for (const isa::DirectiveInfo& row : isa::kDirectives) words.push_back(fmt::format("{} ", row.name));
  for (const isa::DTypeInfo& row : isa::kDTypes) words.push_back(fmt::format(".{} ", row.name));
  for (std::size_t i = 0; i < isa::kModCount; ++i)
    words.push_back(fmt::format("{}=", isa::info(static_cast<isa::Mod>(i)).name));
  for (const ShippedMachine& on : shipped().machines) {
    for (const isa::Space& space : on.target.spaces) words.push_back(space.name + "[]");
    for (const std::string& engine : on.target.engines) words.push_back(engine);
  }
  return words;
}

std::vector<std::string> machine_words() {
  std::vector<std::string> words{std::string(kSetting), "null", "{}", "[]", ".NaN", "1e30", "extends: tiny"};
  std::vector<config::KeyInfo> open = config::machine_keys();
  while (!open.empty()) {
    const config::KeyInfo key = std::move(open.back());
    open.pop_back();
    words.push_back(key.key + ": ");
    words.insert(words.end(), key.choices.begin(), key.choices.end());
    open.insert(open.end(), key.keys.begin(), key.keys.end());
  }
  return words;
}

}  // namespace npulab::test
