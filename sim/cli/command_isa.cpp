// SPDX-License-Identifier: Apache-2.0
// npulab isa: the instruction set, out of its table.
#include <fmt/core.h>

#include "isa/error.hpp"
#include "isa/lexer.hpp"
#include "isa/syntax.hpp"
#include "isa/table.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/host.hpp"

namespace npulab::cli {

namespace {

using isa::InstructionInfo;
using Cells = std::vector<std::vector<std::string>>;

std::string without_modifiers(const InstructionInfo& row) {
  const std::string text = isa::signature(row);
  return text.substr(0, text.find(" {"));
}

std::string overview() {
  std::string text;
  Cells cells;
  const auto flush = [&] {
    text += columns(cells);
    cells.clear();
  };
  const InstructionInfo* previous = nullptr;
  for (const InstructionInfo& row : isa::instructions()) {
    if (previous == nullptr || previous->family != row.family) {
      flush();
      text += fmt::format("{}{}\n", previous == nullptr ? "" : "\n", isa::name(row.family));
    }
    cells.push_back({without_modifiers(row), std::string(row.meaning)});
    previous = &row;
  }
  flush();
  return text + "\n'npulab isa MNEMONIC' shows types, operands and modifiers of one.\n";
}

std::string_view role_text(isa::Role role) {
  switch (role) {
    case isa::Role::none:
      return "";
    case isa::Role::read:
      return "read";
    case isa::Role::write:
      return "written";
    case isa::Role::read_write:
      return "read and written";
  }
  return "";
}

std::string element_text(isa::SlotType element) {
  switch (element) {
    case isa::SlotType::none:
      return "";
    case isa::SlotType::type:
      return " of TYPE";
    case isa::SlotType::type2:
      return " of TYPE2";
    case isa::SlotType::i32:
      return " of i32";
    case isa::SlotType::accumulator:
      return " of the type of sums (f32 of floats, i32 of integers)";
  }
  return "";
}

std::string types_text(const InstructionInfo& row) {
  if (row.types == isa::kNoTypes) return {};
  if (row.types2 == isa::kNoTypes) return fmt::format("\ntypes\n  TYPE: {}\n", isa::type_list(row.types));
  Cells cells;
  for (const isa::DTypeInfo& first : isa::kDTypes) {
    isa::DTypeSet second = isa::kNoTypes;
    for (const isa::DTypeInfo& type : isa::kDTypes)
      if (isa::legal_types(row, first.type, type.type))
        second = static_cast<isa::DTypeSet>(second | isa::set_of(type.type));
    if (second != isa::kNoTypes)
      cells.push_back({fmt::format("TYPE {}", first.name), fmt::format("TYPE2 {}", isa::type_list(second))});
  }
  return "\ntypes\n" + columns(cells);
}

std::string range_of(const isa::ModInfo& mod) {
  if (const std::string_view noun = isa::noun(mod.mod); !noun.empty()) return std::string(noun);
  const bool any = mod.min == INT64_MIN && mod.max == INT64_MAX;
  return (any ? std::string("64 bits") : fmt::format("{}..{}", mod.min, mod.max)) +
         (mod.may_be_register ? " or register" : "");
}

std::string details(const InstructionInfo& row) {
  const isa::FormatInfo& format = isa::info(row.format);
  std::string text = fmt::format("{}\n  {}\n{}", isa::signature(row), row.meaning, types_text(row));
  Cells operands;
  for (std::size_t i = 0; i < isa::written_operands(row); ++i) {
    const isa::Slot& slot = format.slots[i];
    const std::string kinds =
        row.format == isa::Format::Region ? "a name in quotes" : isa::described(slot.kinds);
    operands.push_back(
        {std::string(slot.name), std::string(role_text(slot.role)), kinds + element_text(slot.element)});
  }
  if (!operands.empty()) text += "\noperands\n" + columns(operands);
  Cells modifiers;
  for (const isa::Mod mod : format.mods) {
    const isa::ModInfo& info = isa::info(mod);
    modifiers.push_back({std::string(info.name), range_of(info), std::string(info.meaning)});
  }
  if (!modifiers.empty())
    text += "\nmodifiers, as {name=value, ...} after the operands\n" + columns(modifiers);
  return text +
         fmt::format("\nport {}, cost class {}, code 0x{:03x}\n", row.port_name, row.cost_name, row.code);
}

int run(const Arguments& arguments, Host& host) {
  if (arguments.words().empty()) {
    host.print(overview());
    return 0;
  }
  const std::string& given = arguments.word(0);
  const std::string mnemonic = isa::lower_case(given.substr(0, given.find('.')));  // as kernels take it
  if (const auto op = isa::op_named(mnemonic)) {
    host.print(details(isa::info(*op)));
    return 0;
  }
  std::vector<std::string> names;
  for (const InstructionInfo& row : isa::instructions()) names.emplace_back(row.mnemonic);
  throw Error(Category::input, "unknown-mnemonic",
              fmt::format("no instruction '{}'{}", mnemonic, suggestion(mnemonic, names)));
}

}  // namespace

Command isa_command() {
  Command command;
  command.name = "isa";
  command.summary = "the instruction set, or one instruction in full";
  command.words = {"[MNEMONIC]"};
  command.help =
      "Lists every instruction with its operands and meaning; with a mnemonic, its types, what each operand "
      "may\n"
      "be, its modifiers with their ranges, and what it costs. docs/isa.md is the whole reference.";
  command.examples =
      "  npulab isa              every instruction, a line each\n"
      "  npulab isa vfmaw        the widening multiply-add in full";
  command.run = &run;
  return command;
}

}  // namespace npulab::cli
