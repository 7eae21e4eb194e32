// SPDX-License-Identifier: Apache-2.0
// Text of a kernel as lines of tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/error.hpp"

namespace npulab::isa {

enum class TokenKind : std::uint8_t { identifier, integer, real, string, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;            // as written; the contents for strings, escapes resolved
  std::int64_t integer = 0;    // TokenKind::integer
  double real = 0;             // TokenKind::real
  bool only_negative = false;  // the integer is 2^63 in decimal, which only a '-' before it makes fit
  int column = 0;              // from 1
  std::int8_t operation = -1;  // index in kBinaryOperators of a symbol that is one
};

struct Line {
  std::vector<Token> tokens;  // the last one is TokenKind::end
  int number = 0;             // from 1
};

// One line without its line break. Comments (; and //) are dropped. Identifiers may hold dots and, before the
// first letter, one dot. Throws Error(input) placed at the token: characters and numbers that the text form
// does not have. `local_names` admits names that carry the suffix of local_name.
Line lex_line(std::string_view text, const std::string& file, int number, bool local_names = false);

// Names that belong to one expansion of a macro or loop body carry a suffix that no source can spell.
std::string local_name(std::string_view name, std::uint64_t expansion);
std::string_view spelled(std::string_view name);  // without that suffix
bool is_identifier(std::string_view text);        // the whole text is one identifier that a source can spell
std::string lower_case(std::string_view text);

std::vector<std::string> split_lines(std::string_view text);  // at \n, \r\n; a byte order mark is dropped

}  // namespace npulab::isa
