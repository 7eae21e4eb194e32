// SPDX-License-Identifier: Apache-2.0
// Constant expressions: 64-bit signed integers with checked overflow.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace npulab::isa {

class Cursor;
class Symbols;

enum class Function : std::uint8_t {
  min,
  max,
  abs,
  ceildiv,
  align,
  log2ceil,
  size,
  has,
  bytes,
  bits,
  first,
  count
};

struct FunctionInfo {
  Function function;
  std::string_view name;
  std::size_t arguments;
  std::string_view usage;
  std::string_view meaning;
  bool reserved = true;  // its name is no name for anything else
};
inline constexpr std::array<FunctionInfo, 12> kFunctions{{
    {Function::min, "min", 2, "min(a, b)", "the smaller"},
    {Function::max, "max", 2, "max(a, b)", "the larger"},
    {Function::abs, "abs", 1, "abs(a)", "the magnitude"},
    {Function::ceildiv, "ceildiv", 2, "ceildiv(a, b)", "a / b rounded up; a >= 0, b > 0"},
    {Function::align, "align", 2, "align(a, b)", "a rounded up to a multiple of b; a >= 0, b > 0"},
    {Function::log2ceil, "log2ceil", 1, "log2ceil(a)", "the smallest k with 2^k >= a; a > 0"},
    {Function::size, "size", 1, "size(SPACE)", "bytes of a memory of the machine"},
    {Function::has, "has", 1, "has(NAME)", "1 if the machine has a memory or an engine of that name, else 0"},
    {Function::bytes, "bytes", 1, "bytes(TYPE)",
     "bytes of an element; refused for types that fill no whole byte"},
    {Function::bits, "bits", 1, "bits(TYPE)", "bits of an element"},
    {Function::first, "first", 1, "first(CORE_TYPE)",
     "number in the launch of that type's first core: programs take their cores one after the other", false},
    {Function::count, "count", 1, "count(CORE_TYPE)",
     "cores of that type in the launch, over its programs; 0 without one", false},
}};

enum class Operation : std::uint8_t {
  either,
  both,
  bit_or,
  bit_xor,
  bit_and,
  equal,
  different,
  less,
  less_equal,
  greater,
  greater_equal,
  shift_left,
  shift_right,
  add,
  subtract,
  multiply,
  divide,
  remainder
};

struct BinaryOperator {
  Operation operation;
  std::string_view symbol;
  int precedence;  // higher binds tighter
  std::string_view meaning;
};
inline constexpr std::array<BinaryOperator, 18> kBinaryOperators{{
    {Operation::either, "||", 1, "1 if either is not 0"},
    {Operation::both, "&&", 2, "1 if both are not 0"},
    {Operation::bit_or, "|", 3, "bitwise or"},
    {Operation::bit_xor, "^", 4, "bitwise exclusive or"},
    {Operation::bit_and, "&", 5, "bitwise and"},
    {Operation::equal, "==", 6, "1 if equal, else 0"},
    {Operation::different, "!=", 6, "1 if different, else 0"},
    {Operation::less, "<", 7, "1 if less, else 0"},
    {Operation::less_equal, "<=", 7, "1 if less or equal, else 0"},
    {Operation::greater, ">", 7, "1 if greater, else 0"},
    {Operation::greater_equal, ">=", 7, "1 if greater or equal, else 0"},
    {Operation::shift_left, "<<", 8, "shift left by 0…63"},
    {Operation::shift_right, ">>", 8, "shift right by 0…63, keeping the sign"},
    {Operation::add, "+", 9, "sum"},
    {Operation::subtract, "-", 9, "difference"},
    {Operation::multiply, "*", 10, "product"},
    {Operation::divide, "/", 10, "quotient, towards zero"},
    {Operation::remainder, "%", 10, "remainder of /, with the sign of the dividend"},
}};
inline constexpr int kMultiplicative = 10;

// Value of the expression that begins at the cursor, which stops behind it. Throws Error(input) placed at the
// token in question, Consequence, or NeedsMachine (isa/symbols.hpp).
std::int64_t evaluate(Cursor& cursor, const Symbols& symbols);
// The same for one term of a sum: operators that bind tighter than + and - only.
std::int64_t evaluate_term(Cursor& cursor, const Symbols& symbols);

}  // namespace npulab::isa
