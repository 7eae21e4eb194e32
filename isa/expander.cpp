// SPDX-License-Identifier: Apache-2.0
#include "isa/expander.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "isa/expression.hpp"

namespace npulab::isa {

namespace {

// Bounds that no honest kernel meets, so that hostile text ends soon.
constexpr std::size_t kMostTextBytes = std::size_t{16} << 20;
constexpr std::uint64_t kMostSteps = 4'000'000;
constexpr unsigned kDeepest = 64;  // macro calls, blocks and includes within each other
constexpr unsigned kDeepestInclude = 16;
constexpr unsigned kMostIncludes = 1000;

bool is_label(std::span<const Token> tokens) {
  return tokens.size() > 1 && tokens[0].kind == TokenKind::identifier &&
         tokens[1].kind == TokenKind::symbol && tokens[1].text == ":";
}

}  // namespace

void Expander::run(const Source& source) {
  try {
    const Text& text = load(source, 0);
    run_lines(text, 0, text.lines.size(), nullptr);
  } catch (const Error& error) {
    report(error);
  }
}

void Expander::report(const Error& error) {
  problems_.add(error.where(), error.code(), error.message() + context_);
}

void Expander::count_step(const Cursor& cursor) {
  if (++steps_ > kMostSteps)
    limit(cursor.where(), fmt::format("the text expands to more than {} lines", kMostSteps));
}

const Expander::Text& Expander::load(const Source& source, std::uint32_t depth) {
  if (source.text.size() > kMostTextBytes)
    throw Error(Category::input, "expansion-limit",
                fmt::format("the text has {} bytes; the most is {}", source.text.size(), kMostTextBytes),
                Where{source.name});
  Text& text = texts_.emplace_back();
  text.name = source.name;
  text.depth = depth;
  int number = 0;
  std::vector<std::string> lines = split_lines(source.text);
  for (const std::string& line : lines) {
    ++number;
    try {
      text.lines.push_back(lex_line(line, text.name, number));
    } catch (const Error& error) {
      report(error);
      text.lines.push_back(Line{{Token{}}, number});
    }
  }
  text.file = file_index(source.name, std::move(lines));
  link(text);
  return text;
}

std::uint32_t Expander::file_index(const std::string& name, std::vector<std::string> lines) {
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (files_[i].name == name) return static_cast<std::uint32_t>(i);
  files_.push_back({name, std::move(lines)});
  return static_cast<std::uint32_t>(files_.size() - 1);
}

SourcePlace Expander::place(const Text& text, std::size_t at) const {
  const bool own = text.depth == 0 && calls_ == 0;
  return {text.file, static_cast<std::uint32_t>(text.lines[at].number),
          own ? 0 : static_cast<std::uint32_t>(main_line_)};
}

// Line that closes the block whose clause stands at this line; the line itself when none does.
std::size_t Expander::closing(const Text& text, std::size_t at) {
  while (text.next[at] != 0) at = text.next[at];
  return at;
}

void Expander::limit(const Where& where, const std::string& message) {
  problems_.add(where, "expansion-limit", message + context_);
  throw Stop{};
}

void Expander::run_lines(const Text& text, std::size_t begin, std::size_t end, const Scope* scope) {
  if (begin < end && ++depth_ > kDeepest)
    limit({text.name, text.lines[begin].number},
          fmt::format("blocks and macros stand more than {} within each other", kDeepest));
  for (std::size_t at = begin; at < end;) {
    const Line& line = text.lines[at];
    if (text.depth == 0 && calls_ == 0) main_line_ = line.number;
    std::size_t next = closing(text, at) + 1;
    try {
      next = run_line(text, at, scope);
    } catch (const Error& error) {
      report(error);
    } catch (const NeedsMachine& needed) {
      problems_.add(needed.where, "needs-machine",
                    fmt::format("'{}' depends on the machine; the header of a kernel must not{}", needed.name,
                                context_));
    } catch (const Consequence&) {
      // Reported where it came from.
    }
    at = next;
  }
  if (begin < end) --depth_;
}

std::size_t Expander::run_line(const Text& text, std::size_t at, const Scope* scope) {
  const Line& line = text.lines[at];
  if (line.tokens.front().kind == TokenKind::end) return at + 1;
  count_step(Cursor(line.tokens, text.name, line.number));
  if (const auto directive = text.directives[at]) {
    switch (*directive) {
      case Directive::if_:
        return run_if(text, at, scope);
      case Directive::for_:
        return run_for(text, at, scope);
      case Directive::macro:
        define_macro(text, at, scope);
        return text.next[at] + 1;
      case Directive::include:
        include(text, at);
        return at + 1;
      case Directive::elif:
      case Directive::else_:
        return closing(text, at) + 1;
      default:
        break;
    }
  }
  statement(text, at, scope);
  return at + 1;
}

void Expander::statement(const Text& text, std::size_t at, const Scope* scope) {
  const Line& line = text.lines[at];
  const std::vector<Token> tokens = resolved(text, at, scope);
  Cursor cursor(tokens, text.name, line.number);
  while (is_label(cursor.rest())) {
    const Token& name = cursor.next();
    cursor.next();
    handler_.label(name, cursor);
  }
  if (cursor.at_end()) return;
  const Token& first = cursor.peek();
  if (first.kind != TokenKind::identifier)
    cursor.fail("syntax",
                fmt::format("a line begins with a label, a directive or an instruction, not with {}",
                            described(first)));
  if (first.text.front() == '.') {
    const auto directive = directive_named(lower_case(first.text));
    if (!directive) {
      std::vector<std::string> names;
      for (const DirectiveInfo& row : kDirectives) names.emplace_back(row.name);
      cursor.fail("unknown-directive", fmt::format("unknown directive '{}'{}", spelled(first.text),
                                                   suggestion(spelled(first.text), names)));
    }
    if (info(*directive).stage == Stage::expansion)
      cursor.fail("syntax",
                  fmt::format("{} stands on a line of its own, without a label", info(*directive).name));
    handler_.directive(*directive, cursor);
  } else if (const auto macro = macros_.find(first.text); macro != macros_.end()) {
    call(macro->second, cursor);
  } else {
    handler_.instruction(cursor, place(text, at));
  }
}

std::int64_t Expander::constant(Cursor& cursor) {
  return evaluate(cursor, symbols_);
}

std::size_t Expander::run_if(const Text& text, std::size_t at, const Scope* scope) {
  const std::size_t end = closing(text, at);
  std::size_t clause = at;
  try {
    while (clause != end) {
      const auto directive = text.directives[clause];
      const std::vector<Token> tokens = resolved(text, clause, scope);
      Cursor cursor(tokens, text.name, text.lines[clause].number);
      cursor.next();
      const bool taken = directive == Directive::else_ || constant(cursor) != 0;
      cursor.expect_end(info(*directive).usage);
      if (taken) break;
      clause = text.next[clause];
    }
  } catch (const Error& error) {
    report(error);
    return end + 1;
  }
  if (clause != end) run_lines(text, clause + 1, text.next[clause], scope);
  return end + 1;
}

std::vector<Token>& Expander::Scope::operator[](std::string_view name) {
  for (Entry& entry : entries)
    if (entry.name == name) return entry.value;
  return entries.emplace_back(Entry{std::string(name), {}}).value;
}

const std::vector<Token>* Expander::lookup(const Scope* scope, std::string_view name) {
  for (; scope != nullptr; scope = scope->outer)
    for (const Entry& entry : scope->entries)
      if (entry.name == name) return &entry.value;
  return nullptr;
}

void Expander::make_local(Scope& scope, const std::vector<std::string>& names) {
  ++expansions_;
  for (const std::string& name : names) {
    Token token;
    token.kind = TokenKind::identifier;
    token.text = local_name(name, expansions_);
    scope[name] = {token};
  }
}

std::size_t Expander::run_for(const Text& text, std::size_t at, const Scope* scope) {
  const Line& line = text.lines[at];
  const std::size_t end = text.next[at];
  const std::string_view usage = info(Directive::for_).usage;
  const std::vector<Token> tokens = resolved(text, at, scope);
  Cursor cursor(tokens, text.name, line.number);
  cursor.next();
  const Token variable = cursor.identifier("the name of the loop variable", usage);
  if (!cursor.accept_word("in")) cursor.fail("syntax", fmt::format("expected 'in'; the form is: {}", usage));
  const std::int64_t low = constant(cursor);
  cursor.expect("..", usage);
  const std::int64_t high = constant(cursor);
  const int step_column = cursor.peek().column;
  const std::int64_t step = cursor.accept_word("step") ? constant(cursor) : 1;
  cursor.expect_end(usage);
  if (step == 0) cursor.fail("value-range", "a step of 0 never ends", step_column);
  const std::string& as_written = line.tokens[1].text;
  if (lookup(scope, as_written) != nullptr)
    cursor.fail("duplicate-name", fmt::format("'{}' is already a name here", as_written), variable.column);

  Scope body;
  body.outer = scope;
  make_local(body, {as_written});
  Token local = variable;
  local.text = body[as_written].front().text;
  Symbol symbol;
  symbol.kind = SymbolKind::loop_variable;
  symbols_.define(local, symbol, cursor);
  const auto locals = text.locals.find(at);
  for (std::int64_t value = low; step > 0 ? value < high : value > high;) {
    count_step(cursor);
    symbols_.set(local.text, value);
    if (locals != text.locals.end()) make_local(body, locals->second);
    run_lines(text, at + 1, end, &body);
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  symbols_.erase(local.text);
  return end + 1;
}

void Expander::include(const Text& text, std::size_t at) {
  const Line& line = text.lines[at];
  const std::string_view usage = info(Directive::include).usage;
  Cursor cursor(line.tokens, text.name, line.number);
  cursor.next();
  const int column = cursor.peek().column;
  const std::string name = cursor.string("a file", usage);
  cursor.expect_end(usage);
  if (!options_.include)
    cursor.fail("include", fmt::format("\"{}\": includes are not available here", name), column);
  if (text.depth + 1 > kDeepestInclude || ++includes_ > kMostIncludes)
    limit(cursor.where(column), fmt::format("\"{}\": includes go {} deep and number {} at most", name,
                                            kDeepestInclude, kMostIncludes));
  const std::size_t folder = text.name.find_last_of('/');
  const bool absolute = !name.empty() && name.front() == '/';
  const std::string path =
      absolute || folder == std::string::npos ? name : text.name.substr(0, folder + 1) + name;
  std::optional<Source> source;
  try {
    source = options_.include(path);
  } catch (const Error& error) {
    cursor.fail(error.code(), fmt::format("\"{}\": {}", name, error.message()), column);
  }
  const Text& included = load(*source, text.depth + 1);
  run_lines(included, 0, included.lines.size(), nullptr);
}

std::vector<Token> Expander::resolved(const Text& text, std::size_t at, const Scope* scope) const {
  const Line& line = text.lines[at];
  if (scope == nullptr) return line.tokens;
  std::vector<Token> result;
  result.reserve(line.tokens.size());
  for (const Token& token : line.tokens) {
    const std::vector<Token>* value =
        token.kind == TokenKind::identifier ? lookup(scope, token.text) : nullptr;
    if (value != nullptr) {
      for (Token part : *value) {
        part.column = token.column;
        result.push_back(std::move(part));
      }
    } else {
      result.push_back(token);
      Token& copy = result.back();
      if (token.kind == TokenKind::identifier && token.text.find('.', 1) != std::string::npos)
        copy.text = substituted(token.text, scope, false);
      if (token.kind == TokenKind::string && text.directives[at] == Directive::require)
        copy.text = substituted(token.text, scope, true);
    }
    if (result.size() > kMostTokens)
      throw Error(Category::input, "expansion-limit",
                  fmt::format("the line expands to more than {} words", kMostTokens),
                  Where{text.name, line.number, token.column});
  }
  return result;
}

// Puts arguments into a dotted name (vadd.T) or into the expressions, in braces, of a .require text.
std::string Expander::substituted(const std::string& text, const Scope* scope, bool in_braces) {
  std::string result;
  std::string word;
  const auto flush = [&] {
    const std::vector<Token>* value = word.empty() ? nullptr : lookup(scope, word);
    if (value == nullptr) {
      result += word;
    } else {
      for (std::size_t i = 0; i < value->size(); ++i) result += (i == 0 ? "" : " ") + (*value)[i].text;
    }
    word.clear();
  };
  bool inside = !in_braces;
  for (const char c : text) {
    const bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (letter && inside) {
      word += c;
      continue;
    }
    flush();
    if (in_braces && (c == '{' || c == '}')) inside = c == '{';
    result += c;
  }
  flush();
  return result;
}

}  // namespace npulab::isa
