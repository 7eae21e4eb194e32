// SPDX-License-Identifier: Apache-2.0
// The names that expressions and operands may use: parameters, constants, buffers, tensors, register aliases.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/error.hpp"
#include "isa/launch.hpp"
#include "isa/target.hpp"

namespace npulab::isa {

class Cursor;
struct Token;

enum class SymbolKind : std::uint8_t {
  parameter,
  constant,
  loop_variable,
  buffer,
  tensor,
  scalar_alias,
  vector_alias
};
std::string_view name(SymbolKind kind);

enum class SymbolState : std::uint8_t {
  known,
  needs_machine,  // its value depends on the machine and none is given (reading a header)
  broken          // its definition was refused: what uses it is silent
};

struct Symbol {
  SymbolKind kind = SymbolKind::constant;
  SymbolState state = SymbolState::known;
  std::int64_t value = 0;  // number, address, register number, or index of the tensor
  std::int64_t bytes = 0;  // of a buffer
  std::uint8_t space = 0;  // of a buffer
  Where where;
};

// Thrown when an expression depends on the machine and no machine is given.
struct NeedsMachine {
  Where where;
  std::string name;
};

struct PredefinedName {
  std::string_view name;
  std::int64_t (*value)(const Target&);
  std::string_view meaning;
};
inline constexpr std::array<PredefinedName, 6> kPredefinedNames{{
    {"VREGS",
     [](const Target& t) {
       return t.form == OperandForm::ub ? std::int64_t{0} : static_cast<std::int64_t>(t.vector_registers);
     },
     "number of vector registers; 0 where vector operands are views"},
    {"OPBYTES", [](const Target& t) { return static_cast<std::int64_t>(t.operation_bits / 8); },
     "bytes that one vector instruction works on"},
    {"REGS_PER_OP",
     [](const Target& t) {
       return t.register_bits == 0 ? std::int64_t{1}
                                   : static_cast<std::int64_t>(t.operation_bits / t.register_bits);
     },
     "vector registers that one operand of OPBYTES takes"},
    {"CORES", [](const Target& t) { return static_cast<std::int64_t>(t.cores); },
     "number of cores of the machine"},
    {"ARRAY_ROWS",
     [](const Target& t) { return t.matrix ? static_cast<std::int64_t>(t.matrix->rows) : std::int64_t{0}; },
     "rows of the systolic array; 0 where there is none"},
    {"ARRAY_COLUMNS",
     [](const Target& t) {
       return t.matrix ? static_cast<std::int64_t>(t.matrix->columns) : std::int64_t{0};
     },
     "columns of it"},
}};

bool is_definable_name(std::string_view name);  // letters, digits and _, without a meaning of its own

// The cores of the launch by core type, for expressions: every type of the machine.
struct LaunchTable {
  std::vector<LaunchCount> counts;
  bool settled = false;  // false: what the programs ask for is not known yet; the counts stand in for it
  mutable bool asked = false;  // an expression depends on it

  const LaunchCount* find(const std::string& core_type) const;
  std::vector<std::string> names() const;
};

class Symbols {
 public:
  explicit Symbols(const Target* target) : target_(target) {}  // nullptr: no machine is known

  // Throws Error(input, duplicate-name | reserved-name), placed at the token.
  void define(const Token& name, const Symbol& symbol, const Cursor& cursor);
  void check_free(const Token& name, const Cursor& cursor) const;
  void set(const std::string& name, std::int64_t value) { names_.at(name).value = value; }
  void erase(const std::string& name) { names_.erase(name); }
  void erase_kind(SymbolKind kind);
  const Symbol* find(std::string_view name) const;

  // Number that a name stands for. Throws Error(input, undefined-name | not-a-number), Consequence or
  // NeedsMachine.
  std::int64_t number(const Token& name, const Cursor& cursor) const;

  const LaunchTable& launch() const { return launch_; }
  void set_launch(LaunchTable launch) { launch_ = std::move(launch); }

  const Target* target() const { return target_; }
  void set_target(const Target* target) { target_ = target; }
  std::vector<std::string> names() const;  // as spelled, for suggestions
  std::vector<std::string> names_of(SymbolKind kind) const;

 private:
  const Target* target_;
  LaunchTable launch_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, Symbol, Hash, std::equal_to<>>
      names_;  // never gone through where order shows
};

// Index of the space that is called so.
std::optional<std::uint8_t> space_named(const Target& target, std::string_view name);
std::vector<std::string> space_names(const Target& target);

enum class RegisterFile : std::uint8_t { scalar, vector };
struct RegisterName {
  RegisterFile file;
  std::int64_t number;  // saturated, so that any number of digits can be read
};
std::optional<RegisterName> register_named(std::string_view text);  // "v12", "s3"

}  // namespace npulab::isa
