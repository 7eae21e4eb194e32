// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "isa/check.hpp"
#include "isa/syntax.hpp"

namespace npulab::isa {

namespace {

constexpr std::int64_t kMostMatrixSize = 65535;
constexpr std::int64_t kMostOffset = (std::int64_t{1} << 48) - 1;

struct Range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

Range integer_range(const DTypeInfo& type) {
  const std::int64_t span = std::int64_t{1} << (type.is_signed ? type.bits - 1 : type.bits);
  return {type.is_signed ? -span : 0, span - 1};
}

// Largest finite value of a floating type. f8e4m3 has no infinity and gives that exponent to numbers.
double largest(const DTypeInfo& type) {
  const bool without_infinity = type.type == DType::f8e4m3;
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const int exponent = bias + (without_infinity ? 1 : 0);
  double value =
      2.0 - 1.0 / static_cast<double>(std::uint64_t{1} << (type.mantissa_bits - (without_infinity ? 1 : 0)));
  for (int i = 0; i < exponent; ++i) value *= 2.0;
  return value;
}

class ShapeChecker {
 public:
  ShapeChecker(const Instruction& instruction, std::size_t strings)
      : in_(instruction), row_(info(instruction.op)), format_(info(row_.format)), strings_(strings) {}

  std::vector<Finding> run() {
    if (!legal_types(row_, in_.type, in_.type2)) {
      types();
      return std::move(findings_);
    }
    if (in_.operand_count != format_.slots.size()) {
      say({}, "operand-count",
          fmt::format("{} operands where the form is: {}", in_.operand_count, signature(row_)));
      return std::move(findings_);
    }
    for (std::size_t i = 0; i < kMaxOperands; ++i) {
      if (i < in_.operand_count)
        operand(i);
      else if (in_.operands[i] != Operand{})
        say({}, "unused-field", "an operand beyond the last one is not at rest");
    }
    modifiers();
    return std::move(findings_);
  }

 private:
  void say(Part part, std::string code, std::string message) {
    findings_.push_back({0, part, std::move(code), std::move(message)});
  }

  void types() {
    const Part part{PartKind::type, 0};
    if (row_.types == kNoTypes)
      say(part, "illegal-type", fmt::format("{} takes no element type", row_.mnemonic));
    else if (in_.type == DType::none)
      say(part, "illegal-type",
          fmt::format("{0} needs an element type, as in {0}.{1}; it takes {2}", row_.mnemonic, first_type(),
                      type_list(row_.types)));
    else if (!contains(row_.types, in_.type))
      say(part, "illegal-type",
          fmt::format("{} does not take {}; it takes {}", row_.mnemonic, name(in_.type),
                      type_list(row_.types)));
    else if (in_.type2 == DType::none)
      say(part, "illegal-type",
          fmt::format("{0}.{1} needs a second element type, as in {0}.{2}; with {1} it takes {3}",
                      row_.mnemonic, name(in_.type), first_type(), second_types()));
    else if (row_.types2 == kNoTypes)
      say(part, "illegal-type", fmt::format("{} takes one element type", row_.mnemonic));
    else
      say(part, "illegal-type",
          fmt::format("{}.{} does not take {} as its second type; it takes {}", row_.mnemonic, name(in_.type),
                      name(in_.type2), second_types()));
  }

  // A legal suffix, with the first type as given where one is.
  std::string first_type() const {
    for (const DTypeInfo& type : kDTypes) {
      if (!contains(row_.types, type.type) || (in_.type != DType::none && in_.type != type.type)) continue;
      if (row_.types2 == kNoTypes) return std::string(type.name);
      for (const DTypeInfo& second : kDTypes)
        if (legal_types(row_, type.type, second.type)) return fmt::format("{}.{}", type.name, second.name);
    }
    return {};
  }

  std::string second_types() const {
    DTypeSet legal = kNoTypes;
    for (const DTypeInfo& type : kDTypes)
      if (legal_types(row_, in_.type, type.type)) legal = static_cast<DTypeSet>(legal | set_of(type.type));
    return legal == kNoTypes ? "none with this first type" : type_list(legal);
  }

  void operand(std::size_t index) {
    const Slot& slot = format_.slots[index];
    const Operand& value = in_.operands[index];
    const Part part{PartKind::operand, index};
    if (static_cast<unsigned>(value.kind) > static_cast<unsigned>(OperandKind::target) ||
        (slot.kinds & kind(value.kind)) == 0) {
      say(part, "operand-kind",
          fmt::format("operand '{}' of {} is {}; given is {}", slot.name, row_.mnemonic,
                      described(slot.kinds), described(kind(value.kind))));
      return;
    }
    if (!at_rest(value))
      say(part, "unused-field",
          fmt::format("operand '{}' sets a field that its kind does not use", slot.name));
    if (value.kind == OperandKind::fimm || value.kind == OperandKind::imm) immediate(index);
    if (value.kind == OperandKind::view)
      range(part, "the offset of a view", value.imm, {-kMostOffset, kMostOffset});
    if (value.kind == OperandKind::engine && value.reg == kAllEngines && row_.format != Format::Barrier)
      say(part, "operand-kind",
          fmt::format("operand '{}' of {} is one engine; '{}' is for barrier", slot.name, row_.mnemonic,
                      kAllEnginesName));
  }

  void immediate(std::size_t index) {
    const Slot& slot = format_.slots[index];
    const Operand& value = in_.operands[index];
    const Part part{PartKind::operand, index};
    if (slot.element == SlotType::none) {
      Range legal;
      if (row_.family == Family::Transfer) legal = {0, kMostOffset};
      if (row_.format == Format::SetFlag || row_.format == Format::WaitFlag) legal = {0, 255};
      if (row_.family == Family::Matrix) legal = {0, kMostMatrixSize};
      if (row_.format == Format::Release || row_.format == Format::Acquire) legal = {0, 65535};
      if (row_.format == Format::Region) legal = {0, static_cast<std::int64_t>(strings_) - 1};
      range(part, fmt::format("operand '{}' of {}", slot.name, row_.mnemonic), value.imm, legal);
      return;
    }
    const DTypeInfo& type = info(slot.element == SlotType::type2 ? in_.type2 : in_.type);
    if (type.floating != (value.kind == OperandKind::fimm)) {
      say(part, "operand-kind",
          fmt::format("operand '{}' of {} is {} of {}", slot.name, row_.mnemonic,
                      type.floating ? "a floating number" : "an integer", type.name));
      return;
    }
    const std::string what = fmt::format("operand '{}' of {}", slot.name, row_.mnemonic);
    if (type.floating)
      floating(part, what, std::bit_cast<double>(value.imm), type);
    else
      range(part, what + " (" + std::string(type.name) + ")", value.imm, integer_range(type));
  }

  void floating(Part part, const std::string& what, double value, const DTypeInfo& type) {
    if (std::isnan(value)) {
      if (std::bit_cast<std::uint64_t>(value) !=
          std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()))
        say(part, "unused-field", what + ": the only NaN is 0x7ff8000000000000");
    } else if (std::isinf(value)) {
      if (type.type == DType::f8e4m3)
        say(part, "value-range", fmt::format("{}: {} has no infinity", what, type.name));
    } else if (value > largest(type) || value < -largest(type)) {
      say(part, "value-range",
          fmt::format("{} is {}, beyond the largest {}, ±{}", what, value, type.name, largest(type)));
    }
  }

  void range(Part part, const std::string& what, std::int64_t value, const Range& legal) {
    if (value < legal.min || value > legal.max)
      say(part, "value-range",
          fmt::format("{} is {}; the range is {}…{}", what, value, legal.min, legal.max));
  }

  static bool at_rest(const Operand& value) {
    Operand expected{value.kind, kNoRegister, 0, kNoTensor, 0};
    switch (value.kind) {
      case OperandKind::lane:
        expected.imm = value.imm;
        [[fallthrough]];
      case OperandKind::vreg:
      case OperandKind::sreg:
      case OperandKind::engine:
        expected.reg = value.reg;
        break;
      case OperandKind::imm:
      case OperandKind::fimm:
      case OperandKind::target:
        expected.imm = value.imm;
        break;
      case OperandKind::view:
        expected = value;
        break;
      case OperandKind::none:
        break;
    }
    const bool tensor_elsewhere =
        value.kind == OperandKind::view && value.tensor != kNoTensor && value.space != kGmSpace;
    return value == expected && !tensor_elsewhere;
  }

  void modifiers() {
    for (std::size_t i = 0; i < kMaxMods; ++i) {
      if (i >= in_.mod_count) {
        if (in_.mods[i] != ModValue{})
          say({}, "unused-field", "a modifier beyond the last one is not at rest");
        continue;
      }
      if (i > 0 && in_.mods[i].mod <= in_.mods[i - 1].mod)
        say({PartKind::modifier, i}, "duplicate-modifier",
            "modifiers stand once each, in the order of the table");
      modifier(i);
    }
    if (findings_.empty() && in_.mod(Mod::layout) != nullptr) layout();
    if (in_.mod(Mod::scale) != nullptr && in_.mod(Mod::scale_at) != nullptr)
      say({}, "modifier-combination", "scale is one factor for all columns, scale_at one for each; not both");
  }

  void layout() {
    const LayoutInfo& layout = info(static_cast<Layout>(in_.mod(Mod::layout)->imm));
    const bool post = row_.format == Format::Post;
    if (!(post ? layout.post : layout.plain)) {
      std::string legal;
      for (const LayoutInfo& other : kLayouts)
        if (post ? other.post : other.plain)
          legal += fmt::format("{}{}", legal.empty() ? "" : ", ", other.name);
      say({}, "copy-layout",
          fmt::format("{} has no layout {}; it has {}", row_.mnemonic, layout.name, legal));
    }
    if (in_.mod(Mod::pad_to) != nullptr)
      say({}, "modifier-combination",
          fmt::format("pad_to is for rows that stay rows; layout={} fills whole fractals by itself",
                      layout.name));
    const Operand& bytes = in_.operands[2];
    if (layout.layout == Layout::transpose16 && bytes.kind == OperandKind::imm && bytes.imm != kFractalBytes)
      say({PartKind::operand, 2}, "value-range",
          fmt::format("bytes is {}; a row of layout={} is a fractal of {} bytes", bytes.imm, layout.name,
                      kFractalBytes));
  }

  void modifier(std::size_t index) {
    const ModValue& value = in_.mods[index];
    const Part part{PartKind::modifier, index};
    bool known = false;
    for (const Mod legal : format_.mods) known = known || legal == value.mod;
    if (!known) {
      const std::string which =
          value.mod < Mod::kCount ? std::string(info(value.mod).name) : "of unknown number";
      say(part, "unknown-modifier",
          fmt::format("{} has no modifier '{}'; the form is: {}", row_.mnemonic, which, signature(row_)));
      return;
    }
    const ModInfo& rule = info(value.mod);
    const bool is_register = value.value.kind == OperandKind::sreg;
    if ((!is_register && value.value.kind != OperandKind::imm) || (is_register && !rule.may_be_register)) {
      say(part, "operand-kind",
          fmt::format("modifier '{}' is {}", rule.name,
                      rule.may_be_register ? "an integer or a scalar register" : "no register"));
      return;
    }
    if (!at_rest(value.value))
      say(part, "unused-field",
          fmt::format("modifier '{}' sets a field that its kind does not use", rule.name));
    if (!is_register)
      range(part, fmt::format("modifier '{}'", rule.name), value.value.imm, {rule.min, rule.max});
  }

  const Instruction& in_;
  const InstructionInfo& row_;
  const FormatInfo& format_;
  std::size_t strings_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_shape(const Instruction& instruction, std::size_t strings) {
  return ShapeChecker(instruction, strings).run();
}

}  // namespace npulab::isa
