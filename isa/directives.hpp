// SPDX-License-Identifier: Apache-2.0
// The table of directives: names, forms and meanings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace npulab::isa {

enum class Directive : std::uint8_t {
  kernel,
  doc,
  param,
  constant,
  tensor,
  reference,
  require,
  program,
  buffer,
  reg,
  vreg,
  macro,
  endm,
  for_,
  endfor,
  if_,
  elif,
  else_,
  endif,
  include
};

// Who reads it: the header of a kernel, the body of a program, or the expansion before both.
enum class Stage : std::uint8_t { header, anywhere, body, expansion };

struct DirectiveInfo {
  Directive directive;
  std::string_view name;
  Stage stage;
  std::string_view usage;
  std::string_view meaning;
};

inline constexpr std::array<DirectiveInfo, 20> kDirectives{{
    {Directive::kernel, ".kernel", Stage::header, ".kernel NAME",
     "names the kernel, like `gemv/pipelined`; the default is the name of the file"},
    {Directive::doc, ".doc", Stage::header, ".doc \"text\"",
     "says what the kernel is for; several are lines of one text"},
    {Directive::param, ".param", Stage::header, ".param NAME = DEFAULT [in MIN..MAX] [\"text\"]",
     "a parameter, which the user may set within its range; all three are expressions of earlier names"},
    {Directive::constant, ".const", Stage::anywhere, ".const NAME = EXPRESSION", "a name for a value"},
    {Directive::tensor, ".tensor", Stage::header,
     ".tensor NAME TYPE [DIM, …] in|out|inout [pitch=EXPRESSION] [\"text\"]",
     "a tensor in gm, row-major; `pitch` counts the elements from one row of the last dimension to the next"},
    {Directive::reference, ".reference", Stage::header, ".reference OPERATION [NAME=VALUE, …]",
     "the operation whose result the kernel must give; a value is a name, a type or an expression in "
     "parentheses"},
    {Directive::require, ".require", Stage::anywhere, ".require EXPRESSION, \"text\"",
     "refuses the kernel with this text unless the expression holds; `{EXPRESSION}` in the text becomes its "
     "value"},
    {Directive::program, ".program", Stage::body, ".program [core=TYPE] [cores=N]",
     "begins another program, for N cores of this type (default: all that the programs before it leave); "
     "without it a kernel has one program"},
    {Directive::buffer, ".buffer", Stage::body, ".buffer NAME SPACE BYTES [align=N]",
     "reserves bytes of a local memory, in the order of the text; NAME is a base of views and, in "
     "expressions, the address"},
    {Directive::reg, ".reg", Stage::body, ".reg NAME = sN", "another name for a scalar register"},
    {Directive::vreg, ".vreg", Stage::body, ".vreg NAME = vN",
     "another name for a vector register; `NAME{i}` is the register i further"},
    {Directive::macro, ".macro", Stage::expansion, ".macro NAME [ARGUMENT [=DEFAULT], …]",
     "begins a macro; its arguments are put in as tokens; labels that begin with a dot and names that it "
     "defines are "
     "local to each expansion"},
    {Directive::endm, ".endm", Stage::expansion, ".endm", "ends it"},
    {Directive::for_, ".for", Stage::expansion, ".for NAME in LOW..HIGH [step STEP]",
     "writes its body once for each NAME = LOW, LOW + STEP, … below HIGH (above HIGH when STEP is negative); "
     "local names as in macros"},
    {Directive::endfor, ".endfor", Stage::expansion, ".endfor", "ends it"},
    {Directive::if_, ".if", Stage::expansion, ".if EXPRESSION",
     "keeps what follows if the expression is not 0"},
    {Directive::elif, ".elif", Stage::expansion, ".elif EXPRESSION", "otherwise, if this one is not 0"},
    {Directive::else_, ".else", Stage::expansion, ".else", "otherwise"},
    {Directive::endif, ".endif", Stage::expansion, ".endif", "ends it"},
    {Directive::include, ".include", Stage::expansion, ".include \"file\"",
     "puts in another file, named relative to this one"},
}};

constexpr const DirectiveInfo& info(Directive directive) {
  return kDirectives[static_cast<std::size_t>(directive)];
}

constexpr std::optional<Directive> directive_named(std::string_view text) {
  for (const DirectiveInfo& row : kDirectives)
    if (row.name == text) return row.directive;
  return std::nullopt;
}

constexpr bool directives_in_order() {
  for (std::size_t i = 0; i < kDirectives.size(); ++i)
    if (static_cast<std::size_t>(kDirectives[i].directive) != i) return false;
  return true;
}
static_assert(directives_in_order(), "rows of kDirectives stand in the order of Directive");

}  // namespace npulab::isa
