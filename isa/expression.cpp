// SPDX-License-Identifier: Apache-2.0
#include "isa/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "isa/cursor.hpp"
#include "isa/dtype.hpp"
#include "isa/symbols.hpp"

namespace npulab::isa {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr int kDeepest = 100;

class Evaluator {
 public:
  Evaluator(Cursor& cursor, const Symbols& symbols) : cursor_(cursor), symbols_(symbols) {}

  std::int64_t conditional() {
    const Deeper deeper(*this);
    const std::int64_t condition = binary(0);
    if (!cursor_.accept("?")) return condition;
    const std::int64_t yes = condition != 0 ? conditional() : skipped(0);
    cursor_.expect(":", "CONDITION ? VALUE : VALUE");
    const std::int64_t no = condition != 0 ? skipped(0) : conditional();
    return condition != 0 ? yes : no;
  }

  // Operators of at least `precedence`, which associate to the left.
  std::int64_t binary(int precedence) {
    std::int64_t left = unary();
    while (const BinaryOperator* op = operator_at(precedence)) {
      const int column = cursor_.next().column;
      const bool decided = (op->operation == Operation::both && left == 0) ||
                           (op->operation == Operation::either && left != 0);
      const std::int64_t right = decided ? skipped(op->precedence + 1) : binary(op->precedence + 1);
      left = decided ? static_cast<std::int64_t>(op->operation == Operation::either)
                     : apply(*op, left, right, column);
    }
    return left;
  }

 private:
  struct Deeper {
    explicit Deeper(Evaluator& e) : evaluator(e) {
      if (++evaluator.depth_ > kDeepest)
        evaluator.cursor_.fail("syntax", fmt::format("the expression is nested more than {} deep", kDeepest));
    }
    ~Deeper() { --evaluator.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Evaluator& evaluator;
  };

  // Reads what does not count: nothing in it can fail by its value. Precedence 0 means a whole conditional.
  std::int64_t skipped(int precedence) {
    ++skipping_;
    if (precedence == 0)
      conditional();
    else
      binary(precedence);
    --skipping_;
    return 0;
  }

  const BinaryOperator* operator_at(int precedence) const {
    const std::int8_t index = cursor_.peek().operation;
    if (index < 0) return nullptr;
    const BinaryOperator& row = kBinaryOperators[static_cast<std::size_t>(index)];
    return row.precedence >= precedence ? &row : nullptr;
  }

  std::int64_t overflow(std::string_view symbol, std::int64_t a, std::int64_t b, int column) const {
    cursor_.fail("value-range", fmt::format("{} {} {} does not fit 64 bits", a, symbol, b), column);
  }

  std::int64_t apply(const BinaryOperator& op, std::int64_t a, std::int64_t b, int column) const {
    if (skipping_ > 0) return 0;
    switch (op.operation) {
      case Operation::either:
        return (a != 0 || b != 0) ? 1 : 0;
      case Operation::both:
        return (a != 0 && b != 0) ? 1 : 0;
      case Operation::bit_or:
        return a | b;
      case Operation::bit_xor:
        return a ^ b;
      case Operation::bit_and:
        return a & b;
      case Operation::equal:
        return a == b ? 1 : 0;
      case Operation::different:
        return a != b ? 1 : 0;
      case Operation::less:
        return a < b ? 1 : 0;
      case Operation::less_equal:
        return a <= b ? 1 : 0;
      case Operation::greater:
        return a > b ? 1 : 0;
      case Operation::greater_equal:
        return a >= b ? 1 : 0;
      default:
        return arithmetic(op, a, b, column);
    }
  }

  std::int64_t arithmetic(const BinaryOperator& op, std::int64_t a, std::int64_t b, int column) const {
    std::int64_t result = 0;
    bool overflows = false;
    switch (op.operation) {
      case Operation::add:
        overflows = __builtin_add_overflow(a, b, &result);
        break;
      case Operation::subtract:
        overflows = __builtin_sub_overflow(a, b, &result);
        break;
      case Operation::multiply:
        overflows = __builtin_mul_overflow(a, b, &result);
        break;
      case Operation::shift_left:
      case Operation::shift_right:
        return shift(op, a, b, column);
      default:
        return quotient(op, a, b, column);
    }
    return overflows ? overflow(op.symbol, a, b, column) : result;
  }

  std::int64_t quotient(const BinaryOperator& op, std::int64_t a, std::int64_t b, int column) const {
    const bool divides = op.operation == Operation::divide;
    if (b == 0)
      cursor_.fail("division-by-zero", fmt::format("{} {} 0: division by zero", a, op.symbol), column);
    if (a == kLeast && b == -1) return divides ? overflow(op.symbol, a, b, column) : 0;
    return divides ? a / b : a % b;
  }

  std::int64_t shift(const BinaryOperator& op, std::int64_t a, std::int64_t b, int column) const {
    if (b < 0 || b > 63)
      cursor_.fail("value-range", fmt::format("{} {} {}: a shift is by 0…63", a, op.symbol, b), column);
    if (op.operation == Operation::shift_right) return a >> b;
    const std::int64_t result = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
    return (result >> b) == a ? result : overflow(op.symbol, a, b, column);
  }

  std::int64_t unary() {
    const Deeper deeper(*this);
    const int column = cursor_.peek().column;
    if (cursor_.peek().kind != TokenKind::symbol) return primary();
    if (cursor_.accept("+")) return unary();
    if (cursor_.accept("~")) return ~unary();
    if (cursor_.accept("!")) return unary() == 0 ? 1 : 0;
    if (cursor_.accept("-")) {
      if (cursor_.peek().only_negative) {
        cursor_.next();
        return kLeast;
      }
      const std::int64_t value = unary();
      if (value == kLeast && skipping_ > 0) return 0;
      if (value == kLeast) return overflow("-", 0, value, column);
      return -value;
    }
    return primary();
  }

  std::int64_t primary() {
    const Token& token = cursor_.peek();
    if (token.only_negative)
      cursor_.fail("value-range",
                   fmt::format("'{}' does not fit 64 bits; the largest is {}", token.text, kMost));
    if (token.kind == TokenKind::integer) return cursor_.next().integer;
    if (token.kind == TokenKind::real)
      cursor_.fail("not-a-number",
                   fmt::format("{} is not an integer; expressions are 64-bit integers", token.text));
    if (cursor_.accept("(")) {
      const std::int64_t value = conditional();
      cursor_.expect(")", "(EXPRESSION)");
      return value;
    }
    if (token.kind != TokenKind::identifier)
      cursor_.fail("syntax", fmt::format("expected a number, a name or '(' instead of {}", described(token)));
    cursor_.next();
    if (cursor_.at("(")) return call(token);
    if (skipping_ > 0 && symbols_.find(token.text) != nullptr) return 0;
    return symbols_.number(token, cursor_);
  }

  std::int64_t call(const Token& name) {
    for (const FunctionInfo& row : kFunctions)
      if (row.name == name.text) return call(row, name);
    std::vector<std::string> names;
    for (const FunctionInfo& row : kFunctions) names.emplace_back(row.name);
    cursor_.fail(
        "undefined-name",
        fmt::format("unknown function '{}'{}", spelled(name.text), suggestion(spelled(name.text), names)),
        name.column);
  }

  std::int64_t call(const FunctionInfo& row, const Token& name) {
    cursor_.expect("(", row.usage);
    if (takes_name(row.function)) {
      const Token& argument = cursor_.identifier("a name", row.usage);
      const std::int64_t value = of_name(row, argument);
      cursor_.expect(")", row.usage);
      return value;
    }
    const std::int64_t a = conditional();
    std::int64_t b = 0;
    if (row.arguments == 2) {
      cursor_.expect(",", row.usage);
      b = conditional();
    }
    cursor_.expect(")", row.usage);
    return skipping_ > 0 ? 0 : compute(row, a, b, name.column);
  }

  static bool takes_name(Function function) {
    return function == Function::size || function == Function::has || function == Function::bytes ||
           function == Function::bits || function == Function::first || function == Function::count;
  }

  std::int64_t of_name(const FunctionInfo& row, const Token& name) const {
    if (row.function == Function::size) return space_size(name);
    if (row.function == Function::has) return machine_has(name);
    if (row.function == Function::first || row.function == Function::count) return launched(row, name);
    return type_size(row, name);
  }

  std::int64_t launched(const FunctionInfo& row, const Token& type) const {
    if (symbols_.target() == nullptr) throw NeedsMachine{cursor_.where(type.column), std::string(type.text)};
    const std::string name(spelled(type.text));
    const LaunchCount* const count = symbols_.launch().find(name);
    if (count == nullptr)
      cursor_.fail("unknown-core-type",
                   fmt::format("machine '{}' has no core type '{}'{}", symbols_.target()->machine, name,
                               suggestion(name, symbols_.launch().names())),
                   type.column);
    if (row.function == Function::count) return count->count;
    if (count->count == 0 && symbols_.launch().settled && skipping_ == 0)
      cursor_.fail("no-program", fmt::format("no program of this kernel runs on core type '{}'", name),
                   type.column);
    return count->first;
  }

  std::int64_t space_size(const Token& space) const {
    const Target* target = symbols_.target();
    if (target == nullptr) throw NeedsMachine{cursor_.where(space.column), std::string(space.text)};
    const auto index = space_named(*target, space.text);
    if (!index)
      cursor_.fail("unknown-space",
                   fmt::format("machine '{}' has no memory '{}'{}", target->machine, spelled(space.text),
                               suggestion(spelled(space.text), space_names(*target))),
                   space.column);
    return static_cast<std::int64_t>(target->spaces[*index].bytes);
  }

  std::int64_t machine_has(const Token& token) const {
    const Target* target = symbols_.target();
    if (target == nullptr) throw NeedsMachine{cursor_.where(token.column), std::string(token.text)};
    const auto& engines = target->engines;
    return space_named(*target, token.text) ||
                   std::find(engines.begin(), engines.end(), token.text) != engines.end()
               ? 1
               : 0;
  }

  std::int64_t type_size(const FunctionInfo& row, const Token& type) const {
    const auto dtype = dtype_named(type.text);
    if (!dtype) {
      std::vector<std::string> names;
      for (const DTypeInfo& known : kDTypes) names.emplace_back(known.name);
      cursor_.fail(
          "unknown-type",
          fmt::format("unknown element type '{}'{}", spelled(type.text), suggestion(type.text, names)),
          type.column);
    }
    const std::int64_t width = bits(*dtype);
    if (row.function == Function::bits) return width;
    if (width % 8 != 0)
      cursor_.fail(
          "value-range",
          fmt::format("{0} elements have {1} bits and fill no whole byte; use bits({0})", type.text, width),
          type.column);
    return width / 8;
  }

  std::int64_t compute(const FunctionInfo& row, std::int64_t a, std::int64_t b, int column) const {
    const auto refuse = [&](const char* why) {
      const std::string given =
          row.arguments == 2 ? fmt::format("{}({}, {})", row.name, a, b) : fmt::format("{}({})", row.name, a);
      cursor_.fail("value-range", fmt::format("{}: {}", given, why), column);
    };
    switch (row.function) {
      case Function::min:
        return a < b ? a : b;
      case Function::max:
        return a > b ? a : b;
      case Function::abs:
        if (a == kLeast) refuse("does not fit 64 bits");
        return a < 0 ? -a : a;
      case Function::ceildiv:
      case Function::align: {
        if (a < 0 || b <= 0) refuse("needs a >= 0 and b > 0");
        const std::int64_t quotient = a / b + (a % b != 0 ? 1 : 0);
        if (row.function == Function::ceildiv) return quotient;
        if (quotient > kMost / b) refuse("does not fit 64 bits");
        return quotient * b;
      }
      case Function::log2ceil: {
        if (a <= 0) refuse("needs a > 0");
        std::int64_t k = 0;
        while (k < 63 && ((a - 1) >> k) != 0) ++k;
        return k;
      }
      case Function::size:
      case Function::has:
      case Function::bytes:
      case Function::bits:
      case Function::first:
      case Function::count:
        break;
    }
    return 0;
  }

  Cursor& cursor_;
  const Symbols& symbols_;
  int depth_ = 0;
  int skipping_ = 0;
};

}  // namespace

std::int64_t evaluate(Cursor& cursor, const Symbols& symbols) {
  return Evaluator(cursor, symbols).conditional();
}

std::int64_t evaluate_term(Cursor& cursor, const Symbols& symbols) {
  return Evaluator(cursor, symbols).binary(kMultiplicative);
}

}  // namespace npulab::isa
