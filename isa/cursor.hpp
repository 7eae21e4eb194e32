// SPDX-License-Identifier: Apache-2.0
// A reading position in the tokens of one line, and the collection of errors of one text.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "isa/error.hpp"
#include "isa/lexer.hpp"

namespace npulab::isa {

// Thrown, instead of an error, by what only fails because of something that has been reported already.
struct Consequence {};

class Cursor {
 public:
  // `tokens` ends with TokenKind::end; `tokens` and `file` outlive the cursor.
  Cursor(std::span<const Token> tokens, const std::string& file, int line)
      : tokens_(tokens), file_(&file), line_(line) {}

  const Token& peek(std::size_t ahead = 0) const {
    return position_ + ahead < tokens_.size() ? tokens_[position_ + ahead] : tokens_.back();
  }
  const Token& next() {
    const Token& token = peek();
    if (token.kind != TokenKind::end) ++position_;
    return token;
  }
  bool at_end() const { return peek().kind == TokenKind::end; }
  bool at(std::string_view symbol, std::size_t ahead = 0) const {  // symbols have one or two characters
    const Token& token = peek(ahead);
    return token.kind == TokenKind::symbol && token.text.size() == symbol.size() &&
           token.text[0] == symbol[0] && token.text.back() == symbol.back();
  }
  bool at_word(std::string_view word) const;
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  // `usage` is the form that the statement should have had.
  void expect(std::string_view symbol, std::string_view usage);
  const Token& identifier(std::string_view what, std::string_view usage);
  std::string string(std::string_view what, std::string_view usage);
  void expect_end(std::string_view usage) const;

  std::size_t position() const { return position_; }
  void rewind(std::size_t position) { position_ = position; }
  std::span<const Token> rest() const { return tokens_.subspan(position_); }

  Where where(int column) const { return {*file_, line_, column}; }
  Where where() const { return where(peek().column); }
  const std::string& file() const { return *file_; }
  int line() const { return line_; }
  [[noreturn]] void fail(const std::string& code, const std::string& message) const;
  [[noreturn]] void fail(const std::string& code, const std::string& message, int column) const;

 private:
  std::span<const Token> tokens_;
  const std::string* file_;
  int line_;
  std::size_t position_ = 0;
};

std::string described(const Token& token);  // for messages: "'x'", "the end of the line"

// Thrown when no further statement shall be read.
struct Stop {};

class Problems {
 public:
  // Keeps the first error of each place. Throws Stop when the most are reached.
  void add(Where where, std::string code, std::string message);
  bool empty() const { return items_.empty(); }
  void raise() const;  // throws one Error with all messages, or returns when there is none

 private:
  struct Item {
    Where where;
    std::string code;
    std::string message;
  };
  std::vector<Item> items_;
  std::set<std::tuple<std::string, int, int, std::string>> places_;
};

}  // namespace npulab::isa
