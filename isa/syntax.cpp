// SPDX-License-Identifier: Apache-2.0
#include "isa/syntax.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace npulab::isa {

namespace {

struct KindName {
  OperandKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 8> kKindNames{{
    {OperandKind::vreg, "a vector register"},
    {OperandKind::lane, "a lane of a vector register"},
    {OperandKind::sreg, "a scalar register"},
    {OperandKind::imm, "an integer"},
    {OperandKind::fimm, "a number"},
    {OperandKind::view, "a view"},
    {OperandKind::engine, "an engine"},
    {OperandKind::target, "a label"},
}};

}  // namespace

std::size_t written_operands(const InstructionInfo& row) {
  const std::size_t slots = info(row.format).slots.size();
  return row.format == Format::Loop ? slots - 1 : slots;
}

std::string mnemonic(const Instruction& instruction) {
  std::string text(info(instruction.op).mnemonic);
  if (instruction.type != DType::none) text += fmt::format(".{}", name(instruction.type));
  if (instruction.type2 != DType::none) text += fmt::format(".{}", name(instruction.type2));
  return text;
}

std::string signature(const InstructionInfo& row) {
  std::string text(row.mnemonic);
  if (row.types != kNoTypes) text += ".TYPE";
  if (row.types2 != kNoTypes) text += ".TYPE2";
  const FormatInfo& format = info(row.format);
  for (std::size_t i = 0; i < written_operands(row); ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", format.slots[i].name);
  for (std::size_t i = 0; i < format.mods.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? " {" : ", ", info(format.mods[i]).name);
  return format.mods.empty() ? text : text + "}";
}

std::string described(KindSet kinds) {
  std::vector<std::string_view> names;
  const bool any_number = (kinds & kind(OperandKind::imm)) != 0 && (kinds & kind(OperandKind::fimm)) != 0;
  for (const KindName& row : kKindNames) {
    if ((kinds & kind(row.kind)) == 0) continue;
    if (any_number && row.kind == OperandKind::imm) continue;
    names.push_back(row.name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  return text;
}

std::string type_list(DTypeSet types) {
  std::string text;
  for (const DTypeInfo& row : kDTypes)
    if (contains(types, row.type)) text += fmt::format("{}{}", text.empty() ? "" : ", ", row.name);
  return text;
}

std::string engine_name(const Target& target, std::uint8_t engine) {
  if (engine == kAllEngines) return std::string(kAllEnginesName);
  return engine < target.engines.size() ? target.engines[engine] : fmt::format("engine {}", engine);
}

std::string space_name(const Target& target, std::uint8_t space) {
  return space < target.spaces.size() ? target.spaces[space].name : fmt::format("memory {}", space);
}

KindSet accepted(const Slot& slot, OperandForm form) {
  const bool both =
      (slot.kinds & kind(OperandKind::vreg)) != 0 && (slot.kinds & kind(OperandKind::view)) != 0;
  KindSet kinds = slot.kinds;
  if (form == OperandForm::ub)
    kinds = static_cast<KindSet>(kinds & ~(kind(OperandKind::vreg) | kind(OperandKind::lane)));
  else if (both)
    kinds = static_cast<KindSet>(kinds & ~kind(OperandKind::view));
  return kinds;
}

}  // namespace npulab::isa
