// SPDX-License-Identifier: Apache-2.0
// Macros: their definition, the binding of arguments, the expansion of a call.
#include <fmt/format.h>

#include <algorithm>

#include "isa/expander.hpp"
#include "isa/table.hpp"

namespace npulab::isa {

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
  const std::span<const Token> tokens = cursor.rest().first(cursor.rest().size() - 1);  // without the end
  std::vector<std::span<const Token>> given;
  std::size_t begin = 0;
  int open = 0;
  for (std::size_t i = 0; i <= tokens.size() && !tokens.empty(); ++i) {
    const bool mark = i < tokens.size() && tokens[i].kind == TokenKind::symbol && tokens[i].text.size() == 1;
    const char symbol = mark ? tokens[i].text[0] : ' ';
    if (symbol == '(' || symbol == '[' || symbol == '{') ++open;
    if (symbol == ')' || symbol == ']' || symbol == '}') --open;
    if (i < tokens.size() && !(open == 0 && symbol == ',')) continue;
    given.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  }
  const auto form = [&] {
    std::string text(name.text);
    for (const MacroArgument& argument : macro.arguments)
      text += (&argument == macro.arguments.data() ? " " : ", ") + argument.name +
              (argument.optional ? "=…" : "");
    return text;
  };
  if (given.size() > macro.arguments.size())
    cursor.fail("operand-count",
                fmt::format("macro '{}' takes {} arguments, {} given; the form is: {}", name.text,
                            macro.arguments.size(), given.size(), form()),
                name.column);
  Scope scope;
  for (std::size_t i = 0; i < macro.arguments.size(); ++i) {
    const MacroArgument& argument = macro.arguments[i];
    const bool present = i < given.size() && !given[i].empty();
    if (!present && !argument.optional)
      cursor.fail("operand-count",
                  fmt::format("macro '{}': argument '{}' is missing; the form is: {}", name.text,
                              argument.name, form()),
                  name.column);
    std::vector<Token>& value = scope[argument.name];
    if (present) {
      value.assign(given[i].begin(), given[i].end());
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
  context_ = fmt::format(" (in macro '{}', called at {}:{})", name.text, cursor.file(), cursor.line());
  handler_.context(context_);
  ++calls_;
  run_lines(*macro.text, macro.line + 1, macro.text->next[macro.line], &scope);
  --calls_;
  context_ = outer_context;
  handler_.context(context_);
}

}  // namespace npulab::isa
