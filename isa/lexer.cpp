// SPDX-License-Identifier: Apache-2.0
#include "isa/lexer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "isa/expression.hpp"

namespace npulab::isa {

namespace {

constexpr char kLocalMark = '@';

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == kLocalMark;
}

// Longest first, so that the first match is the longest one.
constexpr std::array<std::string_view, 31> kSymbols{
    "<<", ">>", "&&", "||", "==", "!=", "<=", ">=", "..", "+", "-", "*", "/", "%", "&", "|",
    "^",  "~",  "!",  "<",  ">",  "?",  ":",  "(",  ")",  "[", "]", "{", "}", ",", "="};

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file, int number, bool local_names)
      : text_(text), file_(file), number_(number), local_names_(local_names) {}

  Line run() {
    Line line;
    line.number = number_;
    while (skip_blank()) line.tokens.push_back(token());
    Token last;
    last.column = static_cast<int>(text_.size()) + 1;
    line.tokens.push_back(last);
    return line;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& code, const std::string& message) const {
    throw Error(Category::input, code, message, Where{file_, number_, static_cast<int>(at) + 1});
  }
  char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  bool skip_blank() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
    if (position_ >= text_.size() || text_[position_] == ';') return false;
    return !(text_[position_] == '/' && at(position_ + 1) == '/');
  }

  Token token() {
    Token result;
    result.column = static_cast<int>(position_) + 1;
    const char c = text_[position_];
    if (is_digit(c)) {
      number(result);
    } else if (is_letter(c) || (c == '.' && is_letter(at(position_ + 1)))) {
      identifier(result);
    } else if (c == '"') {
      string(result);
    } else {
      symbol(result);
    }
    return result;
  }

  void identifier(Token& token) {
    const std::size_t begin = position_++;
    while (is_word(at(position_)) || (at(position_) == '.' && is_word(at(position_ + 1)))) ++position_;
    token.kind = TokenKind::identifier;
    token.text = text_.substr(begin, position_ - begin);
    const std::size_t mark = token.text.find(kLocalMark);
    if (mark != std::string::npos && !local_names_) fail(begin + mark, "syntax", "unexpected character '@'");
  }

  void symbol(Token& token) {
    for (const std::string_view known : kSymbols) {
      if (text_.substr(position_, known.size()) != known) continue;
      token.kind = TokenKind::symbol;
      token.text = known;
      for (std::size_t i = 0; i < kBinaryOperators.size(); ++i)
        if (kBinaryOperators[i].symbol == known) token.operation = static_cast<std::int8_t>(i);
      position_ += known.size();
      return;
    }
    const auto byte = static_cast<unsigned char>(text_[position_]);
    if (byte > 0x20 && byte < 0x7f)
      fail(position_, "syntax", fmt::format("unexpected character '{}'", text_[position_]));
    fail(position_, "syntax",
         fmt::format("unexpected byte 0x{:02x}: outside strings and comments the text is plain ASCII", byte));
  }

  void string(Token& token) {
    const std::size_t begin = position_++;
    token.kind = TokenKind::string;
    while (position_ < text_.size() && text_[position_] != '"') {
      char c = text_[position_++];
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t')
        fail(position_ - 1, "syntax", "a string holds no control characters; write \\n or \\t");
      if (c == '\\') {
        const char escaped = at(position_++);
        if (escaped == 'n')
          c = '\n';
        else if (escaped == 't')
          c = '\t';
        else if (escaped == '"' || escaped == '\\')
          c = escaped;
        else
          fail(position_ - 2, "syntax", "unknown escape in a string; known: \\\" \\\\ \\n \\t");
      }
      token.text += c;
    }
    if (position_ >= text_.size()) fail(begin, "syntax", "the string has no closing '\"' on its line");
    ++position_;
  }

  void number(Token& token) {
    const std::size_t begin = position_;
    const char second = at(position_ + 1);
    const bool hex = text_[position_] == '0' && (second == 'x' || second == 'X');
    const bool binary = text_[position_] == '0' && (second == 'b' || second == 'B');
    const std::string digits = hex || binary ? prefixed_digits() : decimal_digits(token);
    token.text = text_.substr(begin, position_ - begin);
    if (is_word(at(position_))) {
      while (is_word(at(position_))) ++position_;
      fail(begin, "syntax", fmt::format("'{}' is not a number", text_.substr(begin, position_ - begin)));
    }
    if (token.kind == TokenKind::real) {
      real(token, digits, begin);
      return;
    }
    token.kind = TokenKind::integer;
    integer(token, digits, hex ? 16 : binary ? 2 : 10, begin);
  }

  std::string prefixed_digits() {
    position_ += 2;
    std::string digits;
    while (is_word(at(position_))) {
      if (text_[position_] != '_') digits += text_[position_];
      ++position_;
    }
    return digits;
  }

  void take_digits(std::string& digits) {
    while (is_digit(at(position_)) || (at(position_) == '_' && is_digit(at(position_ + 1)))) {
      if (text_[position_] != '_') digits += text_[position_];
      ++position_;
    }
  }

  std::string decimal_digits(Token& token) {
    std::string digits;
    take_digits(digits);
    if (at(position_) == '.' && is_digit(at(position_ + 1))) {
      token.kind = TokenKind::real;
      digits += text_[position_++];
      take_digits(digits);
    }
    if (at(position_) == 'e' || at(position_) == 'E') {
      const std::size_t sign = at(position_ + 1) == '-' || at(position_ + 1) == '+' ? 1 : 0;
      if (is_digit(at(position_ + 1 + sign))) {
        token.kind = TokenKind::real;
        digits += 'e';
        if (at(position_ + 1) == '-') digits += '-';
        position_ += 1 + sign;
        take_digits(digits);
      }
    }
    return digits;
  }

  void real(Token& token, const std::string& digits, std::size_t begin) const {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.real);
    if (error == std::errc::result_out_of_range)
      fail(begin, "value-range", fmt::format("'{}' does not fit a 64-bit float", token.text));
    if (error != std::errc{} || end != digits.data() + digits.size())
      fail(begin, "syntax", fmt::format("'{}' is not a number", token.text));
  }

  void integer(Token& token, const std::string& digits, int base, std::size_t begin) const {
    if (base == 10 && digits.size() > 1 && digits[0] == '0')
      fail(begin, "syntax",
           fmt::format("'{}' begins with a zero, which other languages read as octal; write {} or 0x…",
                       token.text,
                       digits.find_first_not_of('0') == std::string::npos
                           ? "0"
                           : digits.substr(digits.find_first_not_of('0'))));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || (error != std::errc{} && error != std::errc::result_out_of_range) ||
        end != digits.data() + digits.size())
      fail(begin, "syntax", fmt::format("'{}' is not a number", token.text));
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (error == std::errc::result_out_of_range || (base == 10 && value > kMost + 1))
      fail(begin, "value-range",
           fmt::format("'{}' does not fit 64 bits; the largest is {}", token.text,
                       base == 10   ? fmt::format("{}", kMost)
                       : base == 16 ? "0x" + std::string(16, 'f')
                                    : "64 ones"));
    token.integer = static_cast<std::int64_t>(value);
    token.only_negative = base == 10 && value > kMost;
  }

  std::string_view text_;
  const std::string& file_;
  int number_;
  bool local_names_;
  std::size_t position_ = 0;
};

}  // namespace

Line lex_line(std::string_view text, const std::string& file, int number, bool local_names) {
  return Lexer(text, file, number, local_names).run();
}

std::string local_name(std::string_view name, std::uint64_t expansion) {
  return fmt::format("{}{}{}", name, kLocalMark, expansion);
}

std::string_view spelled(std::string_view name) {
  return name.substr(0, name.find(kLocalMark));
}

bool is_identifier(std::string_view text) {
  const std::size_t first = !text.empty() && text[0] == '.' ? 1 : 0;
  if (text.size() <= first || !is_letter(text[first]) || text.back() == '.') return false;
  for (std::size_t i = first; i < text.size(); ++i) {
    const bool dot = text[i] == '.' && text[i - 1] != '.';
    if (!dot && (!is_word(text[i]) || text[i] == kLocalMark)) return false;
  }
  return true;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::vector<std::string> split_lines(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.emplace_back(line);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

}  // namespace npulab::isa
