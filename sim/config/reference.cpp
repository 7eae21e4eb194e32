// SPDX-License-Identifier: Apache-2.0
// docs/machines.md, made of the key tables and the shipped machines.
#include <fmt/core.h>

#include "sim/config/describe.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/read.hpp"

namespace npulab::config {

namespace {

constexpr char kIntroduction[] =
    R"(<!-- Written by reference_markdown() out of the tables in sim/config/machine.hpp; a test compares. -->

# Machine files

A machine file describes a device: its core types with their units, buffers and DMA engines, and its memory. Nothing
about a machine is compiled in.

- **Form**: YAML, or JSON, which is a subset of it (`.yaml`, `.yml`, `.json`). One document; anchors and aliases work,
  tags do not. A name such as `tiny` means the file `tiny.yaml` in the machine folders; anything with a slash or one of
  these endings is a file.
- **Strict**: an unknown or repeated key, a wrong type, a value outside its range and a broken rule between keys are
  refused, with file, line, column and key path, all at once. Numbers are plain decimals: `010`, `0x10`, `1_000`, `nan`
  and `inf` are refused. An integer is written in digits alone, so `32.0` and `1e3` are refused for integer keys.
- **`extends: NAME or FILE`** inherits from another machine, looked for beside the file first, then in the machine
  folders, at most 16 deep. Sections are merged key by key and the inheriting file wins; lists are replaced whole; `null`
  removes a named section (a buffer, an engine, a core type) or a vector unit.
- **`--set a.b.c=value`** is applied last, with the same checks. The path goes through keys, names of sections and
  indices of lists: `core_types.core.dma.mte2.paths.0.in_flight=8`. A named section that is not there yet is added whole:
  `core_types.core.buffers.extra={bytes: 4096}`.
- **Defaults** are below; keys marked *required* have none. `npulab machine show NAME` prints every key with its value.

Further rules between keys:

- Names of sections are lower-case identifiers that no register has (`v0`, `s1`); a buffer is not called `gm`, an engine
  not `scalar`, `vector` or `all`.
- Registers form: one operation takes a whole number of registers, at most all of them. Registers and operations are
  whole bytes, and every element type fills an operation without a rest.
- Paths name `gm`, buffers of the core type or `TYPE.BUFFER`, not `gm` at both ends, and each pair of ends once in an
  engine. Where several engines have a pair, copies name theirs (`engine=`). A request to or from `gm` is at most `gm.grant_bytes`, because it is granted as a whole.
- `dram` model: a row and an interleave unit are whole bursts; each channel holds a row at least; `t_ras_ns` is
  not below `t_rcd_ns`; refreshes fit into their interval (per bank: one after the other).
- A path lists each layout once. Fractals lie in buffers: no path that ends in `gm` has `nd2nz`, none that begins there has
  `nz2nd`, and `transpose16` and `nz2nz` are between two buffers. `nz2nz` and `scale_buffer` are for paths with `post: true`.
- Flag pairs join two different engines.
- At least one core type has a vector or a matrix unit. A core type with neither may have no buffer either, and its cores
  run a scalar stream and copies.
- A path that begins or ends in `TYPE.BUFFER` reaches that buffer of other cores: the copy names the core. Its other end is
  `gm` or a buffer of the core itself. `multicast` belongs to paths `to: TYPE.BUFFER`.
- `semaphore_initial` is at most `semaphore_max`.
)";

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "`" : ", `") + item + "`";
  return text;
}

std::string type_text(const KeyInfo& info) {
  switch (info.kind) {
    case KeyKind::integer:
      return "integer";
    case KeyKind::number:
      return "number";
    case KeyKind::boolean:
      return "true or false";
    case KeyKind::text:
      return "text";
    case KeyKind::choice:
      return "one of " + joined(info.choices);
    case KeyKind::text_list:
      return "list of text";
    case KeyKind::choice_list:
      return "list out of " + joined(info.choices);
    case KeyKind::section:
      return "section";
    case KeyKind::section_list:
      return "list of sections";
    case KeyKind::named_sections:
      return "sections by name";
  }
  return {};
}

std::string default_text(const KeyInfo& info) {
  if (info.required) return "*required*";
  const nlohmann::ordered_json& value = info.default_value;
  if (info.may_be_absent || info.kind == KeyKind::named_sections) return "none";
  if (value.is_null()) return "its own";
  if (value.is_number_float()) return "`" + number_text(value.get<double>()) + "`";
  if (value.is_array()) {
    std::string items;
    for (const auto& item : value) items += (items.empty() ? "" : ", ") + item.get<std::string>();
    return "`[" + items + "]`";
  }
  if (value.is_string())
    return value.get<std::string>().empty() ? "empty" : "`" + value.get<std::string>() + "`";
  return "`" + value.dump() + "`";
}

std::string in_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

void add_section(const std::string& path, const std::vector<KeyInfo>& keys, std::string& page) {
  page += fmt::format("\n### {}\n\n", path.empty() ? "Top level" : "`" + path + "`");
  page += "| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n";
  if (path.empty()) page += fmt::format("| `{}` | text |  | none |  | {} |\n", kExtendsKey, kExtendsDoc);
  for (const KeyInfo& info : keys) {
    const bool number = info.kind == KeyKind::integer || info.kind == KeyKind::number;
    page +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", info.key, type_text(info), info.unit,
                    default_text(info), number ? range_text(info.min, info.max, "") : "", in_cell(info.doc));
  }
  for (const KeyInfo& info : keys) {
    if (info.keys.empty()) continue;
    std::string below = path.empty() ? info.key : path + "." + info.key;
    if (info.kind == KeyKind::named_sections) below += ".NAME";
    if (info.kind == KeyKind::section_list) below += ".INDEX";
    add_section(below, info.keys, page);
  }
}

}  // namespace

std::string reference_markdown(const std::vector<std::filesystem::path>& search) {
  std::string page = kIntroduction;
  page += "\n## Keys\n";
  add_section("", machine_keys(), page);
  page += "\n## Machines in `configs/`\n\n| name | what it is |\n|---|---|\n";
  for (const MachineInfo& machine : list_machines(search))
    page += fmt::format("| `{}` | {} |\n", machine.name, in_cell(machine.doc));
  return page;
}

}  // namespace npulab::config
