// SPDX-License-Identifier: Apache-2.0
#include "isa/operand_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "isa/expression.hpp"
#include "isa/syntax.hpp"
#include "isa/tile.hpp"

namespace npulab::isa {

namespace {

constexpr std::string_view kViewForm = "NAME[REGISTER + OFFSET], the offset in bytes";
constexpr std::string_view kModifierForm = "{NAME=VALUE, …}";

// M0, N0, K0: the last three scalar registers of a core with a matrix unit, counted from the end.
std::optional<std::int64_t> matrix_size_register(std::string_view name) {
  if (name == "M0") return 3;
  if (name == "N0") return 2;
  if (name == "K0") return 1;
  return std::nullopt;
}

Operand make(OperandKind kind, std::int64_t imm) {
  Operand operand;
  operand.kind = kind;
  operand.imm = imm;
  return operand;
}

}  // namespace

ParsedOperand OperandParser::operand(const InstructionInfo& row, std::size_t index, DType type) {
  const Slot& slot = info(row.format).slots[index];
  ParsedOperand parsed;
  parsed.column = cursor_.peek().column;
  if (cursor_.at_end() || cursor_.at(","))
    cursor_.fail("operand-count",
                 fmt::format("operand '{}' is missing; the form is: {}", slot.name, signature(row)));
  if (slot.kinds == kind(OperandKind::engine)) {
    parsed.operand = engine();
  } else if (slot.kinds == kind(OperandKind::target)) {
    parsed.label = cursor_.identifier("a label", signature(row)).text;
    parsed.operand = make(OperandKind::target, 0);
  } else if (row.format == Format::Region) {
    parsed.text = cursor_.string("a name", signature(row));
    parsed.operand = make(OperandKind::imm, 0);
  } else {
    const bool bare_view = row.family == Family::Matrix && slot.kinds == kind(OperandKind::view);
    parsed.operand = bare_view && !cursor_.at("[", 1)
                         ? view(parsed, false)
                         : general(parsed, type, (slot.kinds & kind(OperandKind::fimm)) != 0);
  }
  return parsed;
}

Operand OperandParser::engine() {
  const Token& token = cursor_.identifier("the name of an engine", "ENGINE");
  Operand operand = make(OperandKind::engine, 0);
  if (token.text == kAllEnginesName) return operand;
  for (std::size_t i = 0; i < target_.engines.size(); ++i) {
    if (target_.engines[i] != token.text) continue;
    operand.reg = static_cast<std::uint8_t>(i);
    return operand;
  }
  cursor_.fail("unknown-engine",
               fmt::format("machine '{}' has no engine '{}'{}", target_.machine, spelled(token.text),
                           suggestion(spelled(token.text), target_.engines)),
               token.column);
}

Operand OperandParser::general(ParsedOperand& parsed, DType type, bool takes_float) {
  if (auto reg = register_operand()) return *reg;
  const Token& token = cursor_.peek();
  if (token.kind == TokenKind::identifier && cursor_.at("[", 1)) return view(parsed, true);
  if (token.kind == TokenKind::string) cursor_.fail("operand-kind", "a string is no operand here");
  if (token.kind == TokenKind::identifier) {
    const Symbol* symbol = symbols_.find(token.text);
    const bool memory =
        (symbol != nullptr && symbol->kind == SymbolKind::tensor) || space_named(target_, token.text);
    if (memory)
      cursor_.fail("operand-kind",
                   fmt::format("'{0}' alone is no operand; a view of it is {0}[…]", spelled(token.text)));
  }
  return immediate(type, takes_float);
}

std::optional<double> OperandParser::real() {
  const std::size_t start = cursor_.position();
  const bool negative = cursor_.accept("-");
  if (!negative) cursor_.accept("+");
  std::optional<double> value;
  if (cursor_.peek().kind == TokenKind::real) value = cursor_.peek().real;
  if (cursor_.at_word("inf")) value = std::numeric_limits<double>::infinity();
  if (cursor_.at_word("nan")) value = std::numeric_limits<double>::quiet_NaN();
  if (!value) {
    cursor_.rewind(start);
    return std::nullopt;
  }
  const bool is_nan = cursor_.at_word("nan");
  cursor_.next();
  return negative && !is_nan ? -*value : *value;
}

Operand OperandParser::immediate(DType type, bool takes_float) {
  const int column = cursor_.peek().column;
  const bool floating = takes_float && type != DType::none && info(type).floating;
  if (const auto value = real()) {
    if (!floating)
      cursor_.fail(
          "operand-kind",
          fmt::format("a floating number where {} stands", takes_float && type != DType::none
                                                               ? fmt::format("an integer of {}", name(type))
                                                               : "an integer"),
          column);
    return make(OperandKind::fimm, std::bit_cast<std::int64_t>(*value));
  }
  const std::int64_t value = evaluate(cursor_, symbols_);
  if (!floating) return make(OperandKind::imm, value);
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (value > kExact || value < -kExact)
    cursor_.fail("value-range",
                 fmt::format("{} is beyond ±2^53, where integers become floating numbers exactly", value),
                 column);
  return make(OperandKind::fimm, std::bit_cast<std::int64_t>(static_cast<double>(value)));
}

// Whether the '{' at this distance begins modifiers and not the number of a register.
bool OperandParser::modifier_list_follows(std::size_t ahead) const {
  return cursor_.peek(ahead + 1).kind == TokenKind::identifier && cursor_.at("=", ahead + 2);
}

std::optional<RegisterName> OperandParser::register_name() {
  const Token& token = cursor_.peek();
  if (token.kind != TokenKind::identifier) return std::nullopt;
  std::optional<RegisterName> result = register_named(token.text);
  const Symbol* symbol = symbols_.find(token.text);
  const bool alias = symbol != nullptr &&
                     (symbol->kind == SymbolKind::scalar_alias || symbol->kind == SymbolKind::vector_alias);
  const bool indexed = cursor_.at("{", 1) && !modifier_list_follows(1);
  const auto size = symbol == nullptr && target_.matrix ? matrix_size_register(token.text) : std::nullopt;
  if (size) {
    result = RegisterName{RegisterFile::scalar, static_cast<std::int64_t>(target_.scalar_registers) - *size};
    cursor_.next();
    return result;
  }
  if (alias) {
    if (symbol->state == SymbolState::broken) throw Consequence{};
    result =
        RegisterName{symbol->kind == SymbolKind::scalar_alias ? RegisterFile::scalar : RegisterFile::vector,
                     symbol->value};
  } else if (indexed && (token.text == "v" || token.text == "s")) {
    result = RegisterName{token.text == "s" ? RegisterFile::scalar : RegisterFile::vector, 0};
  } else {
    if (result) cursor_.next();
    return result;
  }
  cursor_.next();
  if (!indexed) return result;
  cursor_.next();
  const int column = cursor_.peek().column;
  const std::int64_t index = evaluate(cursor_, symbols_);
  cursor_.expect("}", "v{EXPRESSION}");
  if (__builtin_add_overflow(result->number, index, &result->number))
    cursor_.fail("register-range", "no such register", column);
  return result;
}

Operand OperandParser::numbered(RegisterFile file, std::int64_t number, int column) const {
  if (number < 0 || number >= kNoRegister)
    cursor_.fail("register-range", no_such_register(file, number, target_), column);
  Operand operand = make(file == RegisterFile::scalar ? OperandKind::sreg : OperandKind::vreg, 0);
  operand.reg = static_cast<std::uint8_t>(number);
  return operand;
}

std::optional<Operand> OperandParser::register_operand() {
  const int column = cursor_.peek().column;
  const auto found = register_name();
  if (!found) return std::nullopt;
  Operand operand = numbered(found->file, found->number, column);
  if (found->file == RegisterFile::vector && cursor_.accept("[")) {
    operand.kind = OperandKind::lane;
    operand.imm = evaluate(cursor_, symbols_);
    cursor_.expect("]", "vN[LANE]");
  }
  return operand;
}

Operand OperandParser::view(ParsedOperand& parsed, bool bracketed) {
  const Token& base = cursor_.identifier("the name of a buffer", kViewForm);
  Operand view = make(OperandKind::view, 0);
  std::int64_t address = 0;
  const Symbol* symbol = symbols_.find(base.text);
  const bool usable =
      symbol != nullptr && (symbol->kind == SymbolKind::buffer || symbol->kind == SymbolKind::tensor);
  if (usable && symbol->state == SymbolState::broken) throw Consequence{};
  if (usable && symbol->kind == SymbolKind::tensor) {
    view.space = kGmSpace;
    view.tensor = static_cast<std::uint8_t>(symbol->value);
  } else if (usable) {
    view.space = symbol->space;
    address = symbol->value;
    parsed.buffer = BufferOrigin{std::string(spelled(base.text)), symbol->value, symbol->bytes};
  } else if (const auto space = space_named(target_, base.text)) {
    view.space = *space;
  } else {
    std::vector<std::string> known = space_names(target_);
    for (const SymbolKind kind : {SymbolKind::buffer, SymbolKind::tensor})
      for (const std::string& name : symbols_.names_of(kind)) known.push_back(name);
    cursor_.fail("unknown-space",
                 fmt::format("'{}' is no tensor, no buffer and no memory of machine '{}'{}",
                             spelled(base.text), target_.machine, suggestion(spelled(base.text), known)),
                 base.column);
  }
  if (bracketed) cursor_.expect("[", kViewForm);
  if (!bracketed || cursor_.accept("]")) {
    view.imm = address;
    return view;
  }
  view_sum(view, address);
  cursor_.expect("]", kViewForm);
  return view;
}

// Whether a scalar register stands, outside of parentheses, before the closing bracket.
bool OperandParser::holds_register() const {
  int open = 0;
  for (std::size_t i = 0; cursor_.peek(i).kind != TokenKind::end; ++i) {
    if (cursor_.at("(", i) || cursor_.at("[", i) || cursor_.at("{", i)) ++open;
    if (cursor_.at(")", i) || cursor_.at("}", i)) --open;
    if (cursor_.at("]", i) && open-- == 0) return false;
    const Token& token = cursor_.peek(i);
    if (open > 0 || token.kind != TokenKind::identifier) continue;
    const Symbol* symbol = symbols_.find(token.text);
    if (register_named(token.text) || (symbol != nullptr && symbol->kind == SymbolKind::scalar_alias))
      return true;
    if (symbol != nullptr && symbol->kind == SymbolKind::vector_alias) return true;
    if ((token.text == "s" || token.text == "v") && cursor_.at("{", i + 1)) return true;
  }
  return false;
}

void OperandParser::view_sum(Operand& view, std::int64_t base) {
  const auto add = [&](std::int64_t term, bool negative, int column) {
    const bool overflow = negative ? __builtin_sub_overflow(view.imm, term, &view.imm)
                                   : __builtin_add_overflow(view.imm, term, &view.imm);
    if (overflow) cursor_.fail("value-range", "the offset does not fit 64 bits", column);
  };
  view.imm = base;
  if (!holds_register()) {
    const int column = cursor_.peek().column;
    add(evaluate(cursor_, symbols_), false, column);
    return;
  }
  bool negative = cursor_.accept("-");
  do {
    const int column = cursor_.peek().column;
    if (const auto reg = register_name()) {
      if (reg->file == RegisterFile::vector)
        cursor_.fail("operand-kind", "the base of a view is a scalar register", column);
      if (negative || view.reg != kNoRegister)
        cursor_.fail("operand-kind", "a view adds at most one scalar register", column);
      view.reg = numbered(reg->file, reg->number, column).reg;
    } else {
      add(evaluate_term(cursor_, symbols_), negative, column);
    }
    negative = cursor_.at("-");
  } while (cursor_.accept("+") || cursor_.accept("-"));
}

std::vector<ParsedModifier> OperandParser::modifiers(const InstructionInfo& row) {
  std::vector<ParsedModifier> result;
  if (!cursor_.accept("{")) return result;
  if (cursor_.accept("}")) return result;
  do {
    const Token& word = cursor_.identifier("a modifier", kModifierForm);
    const auto mod = mod_named(word.text);
    const std::span<const Mod> legal = info(row.format).mods;
    if (!mod || std::find(legal.begin(), legal.end(), *mod) == legal.end()) {
      std::vector<std::string> names;
      for (const Mod known : legal) names.emplace_back(info(known).name);
      cursor_.fail("unknown-modifier",
                   fmt::format("{} has no modifier '{}'{}", row.mnemonic, spelled(word.text),
                               names.empty() ? "; it has none" : suggestion(spelled(word.text), names)),
                   word.column);
    }
    const auto same = [&](const ParsedModifier& other) { return other.value.mod == *mod; };
    if (std::any_of(result.begin(), result.end(), same))
      cursor_.fail("duplicate-modifier", fmt::format("modifier '{}' stands twice", word.text), word.column);
    cursor_.expect("=", kModifierForm);
    ParsedModifier parsed{{*mod, {}}, word.column};
    if (const Enumeration* names = enumeration(*mod)) {
      const Token& choice = cursor_.identifier(fmt::format("a {}", names->noun), kModifierForm);
      const auto found = std::find(names->names.begin(), names->names.end(), choice.text);
      if (found == names->names.end())
        cursor_.fail(std::string(names->error),
                     fmt::format("'{}' is no {}; {}", spelled(choice.text), names->noun, info(*mod).meaning),
                     choice.column);
      parsed.value.value = make(OperandKind::imm, found - names->names.begin());
    } else if (info(*mod).kind == ModKind::tile) {
      const Token& tile = cursor_.identifier("a tile, as m4k8n4", kModifierForm);
      const auto code = tile_named(tile.text);
      if (!code)
        cursor_.fail("unknown-tile",
                     fmt::format("'{}' is no tile; write m, k and n (1…{}) as in m4k8n4", spelled(tile.text),
                                 kMostTileSize),
                     tile.column);
      parsed.value.value = make(OperandKind::imm, *code);
    } else if (info(*mod).kind == ModKind::engine) {
      parsed.value.value = make(OperandKind::imm, engine().reg);
    } else if (auto reg = register_operand()) {
      parsed.value.value = *reg;
    } else {
      parsed.value.value = make(OperandKind::imm, evaluate(cursor_, symbols_));
    }
    result.push_back(parsed);
  } while (cursor_.accept(","));
  cursor_.expect("}", kModifierForm);
  if (result.size() > kMaxMods)
    cursor_.fail("syntax",
                 fmt::format("{} modifiers; one instruction holds at most {}", result.size(), kMaxMods),
                 result.back().column);
  const auto earlier = [](const ParsedModifier& a, const ParsedModifier& b) {
    return a.value.mod < b.value.mod;
  };
  std::sort(result.begin(), result.end(), earlier);
  return result;
}

}  // namespace npulab::isa
