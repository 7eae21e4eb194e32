// SPDX-License-Identifier: Apache-2.0
#include "isa/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isa/cursor.hpp"
#include "isa/expression.hpp"

namespace npulab::isa {

namespace {

constexpr std::array<std::string_view, 7> kSymbolKinds{
    "parameter", "constant", "loop variable", "buffer", "tensor", "scalar register", "vector register"};

void sort_unique(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

bool is_definable_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'))
      return false;
  const auto is_predefined = [&](const PredefinedName& row) { return row.name == name; };
  const auto is_function = [&](const FunctionInfo& row) { return row.reserved && row.name == name; };
  return std::none_of(kPredefinedNames.begin(), kPredefinedNames.end(), is_predefined) &&
         std::none_of(kFunctions.begin(), kFunctions.end(), is_function) && !register_named(name) &&
         name != "v" && name != "s" && name != "inf" && name != "nan";
}

std::string_view name(SymbolKind kind) {
  return kSymbolKinds[static_cast<std::size_t>(kind)];
}

void Symbols::check_free(const Token& token, const Cursor& cursor) const {
  const std::string_view as_written = spelled(token.text);
  if (as_written.find('.') != std::string_view::npos)
    cursor.fail("syntax", fmt::format("'{}' is not a name: letters, digits and _ only", as_written),
                token.column);
  if (!is_definable_name(as_written))
    cursor.fail("reserved-name",
                fmt::format("'{}' has a meaning of its own and cannot be defined", as_written), token.column);
  const Symbol* earlier = find(token.text);
  if (earlier == nullptr) earlier = find(as_written);
  if (earlier != nullptr)
    cursor.fail("duplicate-name",
                fmt::format("'{}' is already a {}, defined at {}", as_written, name(earlier->kind),
                            to_string(earlier->where)),
                token.column);
}

void Symbols::define(const Token& token, const Symbol& symbol, const Cursor& cursor) {
  check_free(token, cursor);
  Symbol placed = symbol;
  placed.where = cursor.where(token.column);
  names_.emplace(token.text, placed);
}

void Symbols::erase_kind(SymbolKind kind) {
  for (auto it = names_.begin(); it != names_.end();)
    it = it->second.kind == kind ? names_.erase(it) : std::next(it);
}

const Symbol* Symbols::find(std::string_view name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? nullptr : &it->second;
}

std::int64_t Symbols::number(const Token& token, const Cursor& cursor) const {
  const std::string_view as_written = spelled(token.text);
  if (const Symbol* symbol = find(token.text)) {
    if (symbol->state == SymbolState::broken) throw Consequence{};
    if (symbol->state == SymbolState::needs_machine)
      throw NeedsMachine{cursor.where(token.column), std::string(as_written)};
    if (symbol->kind == SymbolKind::tensor)
      cursor.fail(
          "not-a-number",
          fmt::format("the address of tensor '{0}' is only known at launch; use a view, {0}[…]", as_written),
          token.column);
    if (symbol->kind == SymbolKind::scalar_alias || symbol->kind == SymbolKind::vector_alias)
      cursor.fail("not-a-number", fmt::format("'{}' is a {}, not a constant", as_written, name(symbol->kind)),
                  token.column);
    return symbol->value;
  }
  for (const PredefinedName& row : kPredefinedNames) {
    if (row.name != token.text) continue;
    if (target_ == nullptr) throw NeedsMachine{cursor.where(token.column), std::string(as_written)};
    return row.value(*target_);
  }
  if (register_named(token.text))
    cursor.fail("not-a-number", fmt::format("'{}' is a register, not a constant", as_written), token.column);
  cursor.fail("undefined-name",
              fmt::format("undefined name '{}'{}", as_written, suggestion(as_written, names())),
              token.column);
}

std::vector<std::string> Symbols::names() const {
  std::vector<std::string> result;
  for (const auto& [key, symbol] : names_) result.emplace_back(spelled(key));
  sort_unique(result);
  for (const PredefinedName& row : kPredefinedNames) result.emplace_back(row.name);
  for (const FunctionInfo& row : kFunctions) result.emplace_back(row.name);
  return result;
}

std::vector<std::string> Symbols::names_of(SymbolKind kind) const {
  std::vector<std::string> result;
  for (const auto& [key, symbol] : names_)
    if (symbol.kind == kind) result.emplace_back(spelled(key));
  sort_unique(result);
  return result;
}

const LaunchCount* LaunchTable::find(const std::string& core_type) const {
  asked = true;
  for (const LaunchCount& one : counts)
    if (one.core_type == core_type) return &one;
  return nullptr;
}

std::vector<std::string> LaunchTable::names() const {
  std::vector<std::string> result;
  for (const LaunchCount& one : counts) result.push_back(one.core_type);
  return result;
}

std::optional<std::uint8_t> space_named(const Target& target, std::string_view name) {
  for (std::size_t i = 0; i < target.spaces.size(); ++i)
    if (target.spaces[i].name == name) return static_cast<std::uint8_t>(i);
  return std::nullopt;
}

std::vector<std::string> space_names(const Target& target) {
  std::vector<std::string> result;
  for (const Space& space : target.spaces) result.push_back(space.name);
  return result;
}

std::optional<RegisterName> register_named(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'v' && text[0] != 's')) return std::nullopt;
  constexpr std::int64_t kMost = 1'000'000'000;
  std::int64_t number = 0;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = std::min(kMost, number * 10 + (c - '0'));
  }
  if (text.size() > 2 && text[1] == '0') return std::nullopt;
  return RegisterName{text[0] == 's' ? RegisterFile::scalar : RegisterFile::vector, number};
}

}  // namespace npulab::isa
