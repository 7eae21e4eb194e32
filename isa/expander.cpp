// SPDX-License-Identifier: Apache-2.0
#include "isa/expander.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "isa/expression.hpp"
#include "isa/table.hpp"

namespace npulab::isa {

namespace {

// Bounds that no honest kernel meets, so that hostile text ends soon.
constexpr std::size_t kMostTextBytes = std::size_t{16} << 20;
constexpr std::uint64_t kMostSteps = 4'000'000;
constexpr std::size_t kMostTokens = 1024;  // of one line after its arguments were put in
constexpr unsigned kDeepest = 64;          // macro calls, blocks and includes within each other
constexpr unsigned kDeepestInclude = 16;
constexpr unsigned kMostIncludes = 1000;

std::optional<Directive> directive_at(const Line& line) {
  if (line.tokens.front().kind != TokenKind::identifier) return std::nullopt;
  if (line.tokens.size() > 1 && line.tokens[1].text == ":") return std::nullopt;
  return directive_named(lower_case(line.tokens.front().text));
}

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
  for (const std::string& line : split_lines(source.text)) {
    ++number;
    try {
      text.lines.push_back(lex_line(line, text.name, number));
    } catch (const Error& error) {
      report(error);
      text.lines.push_back(Line{{Token{}}, number});
    }
  }
  link(text);
  return text;
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
    if (text.depth == 0) main_line_ = line.number;
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
  if (const auto directive = directive_at(line)) {
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
  const std::vector<Token> tokens = resolved(text, line, scope);
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
    handler_.instruction(cursor, main_line_);
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
      const auto directive = directive_at(text.lines[clause]);
      const std::vector<Token> tokens = resolved(text, text.lines[clause], scope);
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

const std::vector<Token>* Expander::lookup(const Scope* scope, std::string_view name) {
  for (; scope != nullptr; scope = scope->outer)
    if (const auto it = scope->names.find(name); it != scope->names.end()) return &it->second;
  return nullptr;
}

void Expander::make_local(Scope& scope, const std::vector<std::string>& names) {
  ++expansions_;
  for (const std::string& name : names) {
    Token token;
    token.kind = TokenKind::identifier;
    token.text = local_name(name, expansions_);
    scope.names[name] = {token};
  }
}

std::size_t Expander::run_for(const Text& text, std::size_t at, const Scope* scope) {
  const Line& line = text.lines[at];
  const std::size_t end = text.next[at];
  const std::string_view usage = info(Directive::for_).usage;
  const std::vector<Token> tokens = resolved(text, line, scope);
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
  local.text = body.names[as_written].front().text;
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

void Expander::define_macro(const Text& text, std::size_t at, const Scope* scope) {
  const Line& line = text.lines[at];
  const std::string_view usage = info(Directive::macro).usage;
  Cursor cursor(line.tokens, text.name, line.number);
  cursor.next();
  if (scope != nullptr) cursor.fail("syntax", "a macro is defined outside of .for and other macros", 1);
  const Token& name = cursor.identifier("the name of the macro", usage);
  if (op_named(lower_case(name.text)) || name.text.find('.') != std::string::npos)
    cursor.fail("reserved-name",
                fmt::format("'{}' cannot name a macro: it is an instruction or holds a dot", name.text),
                name.column);
  Macro macro{&text, at, {}};
  while (!cursor.at_end()) {
    if (!macro.arguments.empty()) cursor.expect(",", usage);
    MacroArgument argument;
    argument.name = cursor.identifier("the name of an argument", usage).text;
    const auto same = [&](const MacroArgument& other) { return other.name == argument.name; };
    if (std::any_of(macro.arguments.begin(), macro.arguments.end(), same))
      cursor.fail("duplicate-name", fmt::format("argument '{}' stands twice", argument.name));
    argument.optional = cursor.accept("=");
    while (argument.optional && !cursor.at_end() && !cursor.at(","))
      argument.standard.push_back(cursor.next());
    macro.arguments.push_back(std::move(argument));
  }
  handler_.macro_defined(name.text);
  if (!macros_.emplace(name.text, std::move(macro)).second)
    cursor.fail("duplicate-name", fmt::format("macro '{}' is already defined", name.text), name.column);
}

Expander::Scope Expander::bind(const Macro& macro, Cursor& cursor) {
  const Token& name = cursor.next();
  std::vector<std::vector<Token>> given;
  int open = 0;
  if (!cursor.at_end()) given.emplace_back();
  while (!cursor.at_end()) {
    if (cursor.at("(") || cursor.at("[") || cursor.at("{")) ++open;
    if (cursor.at(")") || cursor.at("]") || cursor.at("}")) --open;
    if (open == 0 && cursor.accept(","))
      given.emplace_back();
    else
      given.back().push_back(cursor.next());
  }
  std::string form(name.text);
  for (const MacroArgument& argument : macro.arguments)
    form +=
        (&argument == macro.arguments.data() ? " " : ", ") + argument.name + (argument.optional ? "=…" : "");
  if (given.size() > macro.arguments.size())
    cursor.fail("operand-count",
                fmt::format("macro '{}' takes {} arguments, {} given; the form is: {}", name.text,
                            macro.arguments.size(), given.size(), form),
                name.column);
  Scope scope;
  for (std::size_t i = 0; i < macro.arguments.size(); ++i) {
    const MacroArgument& argument = macro.arguments[i];
    const bool present = i < given.size() && !given[i].empty();
    if (!present && !argument.optional)
      cursor.fail("operand-count",
                  fmt::format("macro '{}': argument '{}' is missing; the form is: {}", name.text,
                              argument.name, form),
                  name.column);
    std::vector<Token>& value = scope.names[argument.name];
    if (present) {
      value = given[i];
      continue;
    }
    for (const Token& token : argument.standard) {  // may name earlier arguments
      const std::vector<Token>* earlier =
          token.kind == TokenKind::identifier ? lookup(&scope, token.text) : nullptr;
      if (earlier == nullptr || earlier == &value)
        value.push_back(token);
      else
        value.insert(value.end(), earlier->begin(), earlier->end());
      if (value.size() > kMostTokens)
        limit(cursor.where(name.column),
              fmt::format("argument '{}' has more than {} words", argument.name, kMostTokens));
    }
  }
  return scope;
}

void Expander::call(const Macro& macro, Cursor& cursor) {
  const Token& name = cursor.peek();
  Scope scope = bind(macro, cursor);
  if (const auto locals = macro.text->locals.find(macro.line); locals != macro.text->locals.end())
    make_local(scope, locals->second);
  const std::string outer_context = context_;
  const int outer_line = main_line_;
  context_ = fmt::format(" (in macro '{}', called at {}:{})", name.text, cursor.file(), cursor.line());
  handler_.context(context_);
  run_lines(*macro.text, macro.line + 1, macro.text->next[macro.line], &scope);
  context_ = outer_context;
  main_line_ = outer_line;
  handler_.context(context_);
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

std::vector<Token> Expander::resolved(const Text& text, const Line& line, const Scope* scope) const {
  if (scope == nullptr) return line.tokens;
  std::vector<Token> result;
  const auto directive = directive_at(line);
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
      if (token.kind == TokenKind::string && directive == Directive::require)
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
