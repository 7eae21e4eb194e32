// SPDX-License-Identifier: Apache-2.0
// Matches the block directives of a text and finds the names that each body defines.
#include <fmt/format.h>

#include "isa/expander.hpp"

namespace npulab::isa {

namespace {

constexpr std::size_t kDeepestBlock = 64;

struct Open {
  std::size_t line;  // of the latest clause
  Directive opener;
  bool has_else = false;
};

std::optional<Directive> directive_at(const Line& line) {
  if (line.tokens.front().kind != TokenKind::identifier || line.tokens.front().text.front() != '.')
    return std::nullopt;
  if (line.tokens.size() > 1 && line.tokens[1].text == ":") return std::nullopt;
  return directive_named(lower_case(line.tokens.front().text));
}

Directive closer(Directive opener) {
  if (opener == Directive::for_) return Directive::endfor;
  return opener == Directive::macro ? Directive::endm : Directive::endif;
}

bool opens(Directive directive) {
  return directive == Directive::if_ || directive == Directive::for_ || directive == Directive::macro;
}

}  // namespace

void Expander::link(Text& text) {
  text.next.assign(text.lines.size(), 0);
  text.directives.resize(text.lines.size());
  std::vector<Open> open;
  const auto fail = [&](std::size_t line, const std::string& message) {
    throw Error(Category::input, "unmatched-block", message, Where{text.name, text.lines[line].number, 1});
  };
  for (std::size_t at = 0; at < text.lines.size(); ++at) {
    const auto directive = text.directives[at] = directive_at(text.lines[at]);
    if (!directive || info(*directive).stage != Stage::expansion || *directive == Directive::include) {
      for (auto it = open.rbegin(); it != open.rend(); ++it) {
        if (it->opener == Directive::if_) continue;
        declare_local(text, it->line, at);
        break;
      }
      continue;
    }
    if (opens(*directive)) {
      if (open.size() >= kDeepestBlock)
        fail(at, fmt::format("blocks stand more than {} within each other", kDeepestBlock));
      open.push_back({at, *directive});
      continue;
    }
    const std::string_view written = info(*directive).name;
    if (open.empty()) fail(at, fmt::format("{} closes nothing", written));
    Open& top = open.back();
    const bool clause = *directive == Directive::elif || *directive == Directive::else_;
    if (clause ? top.opener != Directive::if_ : *directive != closer(top.opener))
      fail(at,
           fmt::format("{} where {} must come first, which closes the {} of line {}", written,
                       info(closer(top.opener)).name, info(top.opener).name, text.lines[top.line].number));
    if (clause && top.has_else) fail(at, fmt::format("{} after .else", written));
    text.next[top.line] = at;
    if (clause) {
      top.line = at;
      top.has_else = *directive == Directive::else_;
    } else {
      open.pop_back();
    }
  }
  if (!open.empty())
    fail(open.back().line,
         fmt::format("{} has no {}", info(open.back().opener).name, info(closer(open.back().opener)).name));
}

void Expander::declare_local(Text& text, std::size_t owner, std::size_t line) const {
  const std::vector<Token>& tokens = text.lines[line].tokens;
  std::vector<std::string>& names = text.locals[owner];
  for (std::size_t i = 0;
       i + 1 < tokens.size() && tokens[i].kind == TokenKind::identifier && tokens[i + 1].text == ":"; i += 2)
    if (tokens[i].text.front() == '.') names.push_back(tokens[i].text);
  const auto directive = text.directives[line];
  const bool defines = directive == Directive::constant || directive == Directive::reg ||
                       directive == Directive::vreg || directive == Directive::buffer;
  if (defines && tokens.size() > 1 && tokens[1].kind == TokenKind::identifier)
    names.push_back(tokens[1].text);
  if (names.empty()) text.locals.erase(owner);
}

}  // namespace npulab::isa
