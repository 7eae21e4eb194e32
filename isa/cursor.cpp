// SPDX-License-Identifier: Apache-2.0
#include "isa/cursor.hpp"

#include <fmt/format.h>

#include <utility>

namespace npulab::isa {

bool Cursor::at_word(std::string_view word) const {
  return peek().kind == TokenKind::identifier && peek().text == word;
}

bool Cursor::accept(std::string_view symbol) {
  if (!at(symbol)) return false;
  next();
  return true;
}

bool Cursor::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  next();
  return true;
}

void Cursor::expect(std::string_view symbol, std::string_view usage) {
  if (!accept(symbol))
    fail("syntax",
         fmt::format("expected '{}' instead of {}; the form is: {}", symbol, described(peek()), usage));
}

const Token& Cursor::identifier(std::string_view what, std::string_view usage) {
  if (peek().kind != TokenKind::identifier)
    fail("syntax", fmt::format("expected {} instead of {}; the form is: {}", what, described(peek()), usage));
  return next();
}

std::string Cursor::string(std::string_view what, std::string_view usage) {
  if (peek().kind != TokenKind::string)
    fail("syntax", fmt::format("expected {} in double quotes instead of {}; the form is: {}", what,
                               described(peek()), usage));
  return next().text;
}

void Cursor::expect_end(std::string_view usage) const {
  if (!at_end())
    fail("syntax", fmt::format("{} is too much here; the form is: {}", described(peek()), usage));
}

void Cursor::fail(const std::string& code, const std::string& message) const {
  fail(code, message, peek().column);
}

void Cursor::fail(const std::string& code, const std::string& message, int column) const {
  throw Error(Category::input, code, message, where(column));
}

std::string described(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the line";
  if (token.kind == TokenKind::string) return fmt::format("the string \"{}\"", token.text);
  return fmt::format("'{}'", spelled(token.text));
}

void Problems::add(Where where, std::string code, std::string message) {
  constexpr std::size_t kMostProblems = 20;
  if (!places_.insert({where.file, where.line, where.column, where.from}).second) return;
  items_.push_back({std::move(where), std::move(code), std::move(message)});
  if (items_.size() >= kMostProblems) throw Stop{};
}

void Problems::raise() const {
  if (items_.empty()) return;
  std::string message = items_.front().message;
  for (std::size_t i = 1; i < items_.size(); ++i)
    message += fmt::format("\n{}: {}", to_string(items_[i].where), items_[i].message);
  throw Error(Category::input, items_.front().code, message, items_.front().where);
}

}  // namespace npulab::isa
