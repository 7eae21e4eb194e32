// SPDX-License-Identifier: Apache-2.0
#include "isa/header_builder.hpp"

#include <fmt/format.h>

#include <limits>

#include "isa/expression.hpp"

namespace npulab::isa {

namespace {

std::string stem(const std::string& file) {
  const std::size_t folder = file.find_last_of('/');
  const std::string base = folder == std::string::npos ? file : file.substr(folder + 1);
  const std::string name = base.substr(0, base.find_last_of('.'));
  return is_kernel_name(name) ? name : "kernel";
}

std::string type_names() {
  std::string text;
  for (const DTypeInfo& row : kDTypes) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

DType element_type(Cursor& cursor, std::string_view usage) {
  const Token& token = cursor.identifier("an element type", usage);
  const auto type = dtype_named(token.text);
  if (!type)
    cursor.fail("unknown-type",
                fmt::format("unknown element type '{}'; known: {}", spelled(token.text), type_names()),
                token.column);
  return *type;
}

}  // namespace

HeaderBuilder::HeaderBuilder(Symbols& symbols, const ParamValues& overrides, const std::string& file)
    : symbols_(symbols), overrides_(overrides) {
  header_.name = stem(file);
}

void HeaderBuilder::directive(Directive directive, Cursor& cursor) {
  cursor.next();
  switch (directive) {
    case Directive::kernel:
      kernel(cursor);
      break;
    case Directive::doc:
      doc(cursor);
      break;
    case Directive::param:
      param(cursor);
      break;
    case Directive::constant:
      constant(cursor);
      break;
    case Directive::tensor:
      tensor(cursor);
      break;
    case Directive::reference:
      reference(cursor);
      break;
    case Directive::require:
      require(cursor);
      break;
    default:
      break;
  }
  cursor.expect_end(info(directive).usage);
}

void HeaderBuilder::check_overrides(const Where& where) const {
  std::vector<std::string> names;
  for (const Parameter& parameter : header_.params) names.push_back(parameter.name);
  for (const auto& [name, value] : overrides_) {
    const Symbol* symbol = symbols_.find(name);
    if (symbol != nullptr && symbol->kind == SymbolKind::parameter) continue;
    throw Error(Category::input, "unknown-parameter",
                fmt::format("kernel '{}' has no parameter '{}'{}", header_.name, name,
                            names.empty() ? "; it has none" : suggestion(name, names)),
                where);
  }
}

void HeaderBuilder::kernel(Cursor& cursor) {
  if (named_) cursor.fail("duplicate-name", "a second .kernel; one text is one kernel", 1);
  std::string name;
  const int column = cursor.peek().column;
  while (!cursor.at_end() && cursor.peek().kind != TokenKind::string) name += cursor.next().text;
  if (!is_kernel_name(name))
    cursor.fail(
        "syntax",
        fmt::format("'{}' is not a kernel name: letters, digits, _ - and . in parts with / between", name),
        column);
  header_.name = name;
  named_ = true;
}

void HeaderBuilder::doc(Cursor& cursor) {
  const std::string text = cursor.string("a text", info(Directive::doc).usage);
  header_.doc += (header_.doc.empty() ? "" : "\n") + text;
}

void HeaderBuilder::define_broken(const Token& name, SymbolKind kind, const Cursor& cursor) {
  Symbol symbol;
  symbol.kind = kind;
  symbol.state = SymbolState::broken;
  if (symbols_.find(name.text) == nullptr) symbols_.define(name, symbol, cursor);
}

void HeaderBuilder::param(Cursor& cursor) {
  const std::string_view usage = info(Directive::param).usage;
  const Token& name = cursor.identifier("the name of the parameter", usage);
  symbols_.check_free(name, cursor);
  try {
    Parameter parameter;
    parameter.name = name.text;
    parameter.min = std::numeric_limits<std::int64_t>::min();
    parameter.max = std::numeric_limits<std::int64_t>::max();
    cursor.expect("=", usage);
    parameter.default_value = evaluate(cursor, symbols_);
    if (cursor.accept_word("in")) {
      const int column = cursor.peek().column;
      parameter.min = evaluate(cursor, symbols_);
      cursor.expect("..", usage);
      parameter.max = evaluate(cursor, symbols_);
      if (parameter.min > parameter.max)
        cursor.fail("parameter-range", fmt::format("the range {}..{} is empty", parameter.min, parameter.max),
                    column);
    }
    if (!cursor.at_end()) parameter.doc = cursor.string("a text", usage);
    const auto given = overrides_.find(parameter.name);
    parameter.value = given == overrides_.end() ? parameter.default_value : given->second;
    if (parameter.value < parameter.min || parameter.value > parameter.max)
      cursor.fail("parameter-range",
                  fmt::format("{} {} = {} is not in {}..{}",
                              given == overrides_.end() ? "the default of parameter" : "parameter",
                              parameter.name, parameter.value, parameter.min, parameter.max),
                  name.column);
    Symbol symbol;
    symbol.kind = SymbolKind::parameter;
    symbol.value = parameter.value;
    symbols_.define(name, symbol, cursor);
    header_.params.push_back(std::move(parameter));
  } catch (const Error&) {
    define_broken(name, SymbolKind::parameter, cursor);
    throw;
  } catch (const Consequence&) {
    define_broken(name, SymbolKind::parameter, cursor);
    throw;
  }
}

void HeaderBuilder::constant(Cursor& cursor) {
  const std::string_view usage = info(Directive::constant).usage;
  const Token& name = cursor.identifier("a name", usage);
  symbols_.check_free(name, cursor);
  Symbol symbol;
  symbol.kind = SymbolKind::constant;
  try {
    cursor.expect("=", usage);
    symbol.value = evaluate(cursor, symbols_);
  } catch (const NeedsMachine&) {
    symbol.state = SymbolState::needs_machine;
    while (!cursor.at_end()) cursor.next();
  } catch (const Error&) {
    define_broken(name, SymbolKind::constant, cursor);
    throw;
  } catch (const Consequence&) {
    define_broken(name, SymbolKind::constant, cursor);
    throw;
  }
  symbols_.define(name, symbol, cursor);
}

void HeaderBuilder::tensor(Cursor& cursor) {
  const std::string_view usage = info(Directive::tensor).usage;
  const Token& name = cursor.identifier("the name of the tensor", usage);
  symbols_.check_free(name, cursor);
  if (symbols_.target() != nullptr && space_named(*symbols_.target(), name.text))
    cursor.fail("duplicate-name",
                fmt::format("'{}' is a memory of machine '{}'; name the tensor otherwise", name.text,
                            symbols_.target()->machine),
                name.column);
  try {
    Tensor tensor;
    tensor.name = name.text;
    tensor.type = element_type(cursor, usage);
    tensor_layout(tensor, cursor);
    if (header_.tensors.size() >= kMostTensors)
      cursor.fail("value-range", fmt::format("a kernel has at most {} tensors", kMostTensors), name.column);
    Symbol symbol;
    symbol.kind = SymbolKind::tensor;
    symbol.value = static_cast<std::int64_t>(header_.tensors.size());
    symbols_.define(name, symbol, cursor);
    header_.tensors.push_back(std::move(tensor));
  } catch (const Error&) {
    define_broken(name, SymbolKind::tensor, cursor);
    throw;
  } catch (const Consequence&) {
    define_broken(name, SymbolKind::tensor, cursor);
    throw;
  }
}

// The parameter that is the whole of the dimension at the cursor, or empty.
std::string HeaderBuilder::parameter_alone(const Cursor& cursor) const {
  if (!cursor.at(",", 1) && !cursor.at("]", 1)) return {};
  const Symbol* symbol = symbols_.find(cursor.peek().text);
  return symbol != nullptr && symbol->kind == SymbolKind::parameter ? cursor.peek().text : std::string();
}

void HeaderBuilder::tensor_layout(Tensor& tensor, Cursor& cursor) const {
  const std::string_view usage = info(Directive::tensor).usage;
  cursor.expect("[", usage);
  int column = cursor.peek().column;
  do {
    tensor.shape_parameters.push_back(parameter_alone(cursor));
    tensor.shape.push_back(evaluate(cursor, symbols_));
  } while (cursor.accept(","));
  cursor.expect("]", usage);
  const Token& direction = cursor.identifier("in, out or inout", usage);
  const auto known = direction_named(direction.text);
  if (!known)
    cursor.fail("syntax",
                fmt::format("'{}' is not a direction; known: in, out, inout", spelled(direction.text)),
                direction.column);
  tensor.direction = *known;
  tensor.pitch = tensor.shape.back();
  if (cursor.at_word("pitch")) {
    column = cursor.next().column;
    cursor.expect("=", usage);
    tensor.pitch = evaluate(cursor, symbols_);
  }
  if (!cursor.at_end()) tensor.doc = cursor.string("a text", usage);
  try {
    check_layout(tensor);
  } catch (const Error& error) {
    cursor.fail(error.code(), error.message(), column);
  }
}

void HeaderBuilder::reference(Cursor& cursor) {
  const std::string_view usage = info(Directive::reference).usage;
  if (!header_.reference.operation.empty()) cursor.fail("duplicate-name", "a second .reference", 1);
  header_.reference.operation = cursor.identifier("an operation", usage).text;
  while (!cursor.at_end()) {
    if (!header_.reference.arguments.empty()) cursor.expect(",", usage);
    const Token& key = cursor.identifier("the name of an argument", usage);
    cursor.expect("=", usage);
    std::string value;
    if (cursor.accept("(")) {
      value = fmt::format("{}", evaluate(cursor, symbols_));
      cursor.expect(")", usage);
    } else {
      value = cursor.identifier("a name, a type or an expression in parentheses", usage).text;
    }
    if (!header_.reference.arguments.emplace(key.text, value).second)
      cursor.fail("duplicate-name", fmt::format("argument '{}' stands twice", spelled(key.text)), key.column);
  }
}

void HeaderBuilder::require(Cursor& cursor) const {
  const std::string_view usage = info(Directive::require).usage;
  const int column = cursor.peek().column;
  try {
    const bool holds = evaluate(cursor, symbols_) != 0;
    cursor.expect(",", usage);
    const int text_column = cursor.peek().column;
    const std::string text = cursor.string("a text", usage);
    if (!holds) cursor.fail("requirement", filled(text, cursor, text_column), column);
  } catch (const NeedsMachine&) {
    while (!cursor.at_end()) cursor.next();  // it is checked when the machine is known
  }
}

std::string HeaderBuilder::filled(const std::string& text, const Cursor& cursor, int column) const {
  std::string result;
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t open = text.find('{', position);
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    result += text.substr(position, open - position);
    if (close == std::string::npos) return open == std::string::npos ? result : result + text.substr(open);
    try {
      const Line line = lex_line(text.substr(open + 1, close - open - 1), cursor.file(), cursor.line(), true);
      Cursor inner(line.tokens, cursor.file(), cursor.line());
      result += fmt::format("{}", evaluate(inner, symbols_));
      inner.expect_end("{EXPRESSION}");
    } catch (const Error& error) {
      cursor.fail(error.code(), error.message(), column);
    }
    position = close + 1;
  }
  return result;
}

}  // namespace npulab::isa
