// SPDX-License-Identifier: Apache-2.0
#include "isa/reference.hpp"

#include <fmt/format.h>

#include <array>

#include "isa/binary.hpp"
#include "isa/directives.hpp"
#include "isa/expression.hpp"
#include "isa/lexer.hpp"
#include "isa/symbols.hpp"
#include "isa/syntax.hpp"
#include "isa/table.hpp"

namespace npulab::isa {

namespace {

constexpr std::array<std::string_view, 4> kRoleNames{"named", "read", "written", "read and written"};
constexpr std::array<std::string_view, 5> kElementNames{"", " of TYPE", " of TYPE2", " of i32",
                                                        " of TYPE's accumulator"};
static_assert(kElementNames.size() == static_cast<std::size_t>(SlotType::accumulator) + 1);
static_assert(kRoleNames.size() == static_cast<std::size_t>(Role::read_write) + 1);

// Text in which Markdown must not see the end of a table cell or emphasis.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '*') result += '\\';
    result += c;
  }
  return result;
}

std::string intro() {
  return R"(<!-- Written from the instruction table (isa/reference.cpp); a test holds this page to it. -->
# Instruction set

A kernel is text, one statement a line. It has a header, which names it and its parameters and tensors, and one or more
programs. A comment begins with `;` or `//`. Mnemonics and directives may be written in either case; names are
case-sensitive.

```
.kernel axpy
.doc "y = x + y on one core."
.param N = 1024 in 1..8192 "elements"
.tensor x f32 [N] in
.tensor y f32 [N] inout
.require N * bytes(f32) % OPBYTES == 0, "N = {N} is no multiple of {OPBYTES / bytes(f32)}"
.buffer xs ub N * bytes(f32)
.buffer ys ub N * bytes(f32)
        copy xs[], x[], N * bytes(f32)
        copy ys[], y[], N * bytes(f32)
        set_flag mte2, vector, 0
        wait_flag mte2, vector, 0
        mov s0, 0
        loop N * bytes(f32) / OPBYTES
          vld.f32 v0, xs[s0]
          vld.f32 v2, ys[s0]
          vadd.f32 v0, v0, v2
          vst.f32 ys[s0], v0 {inc=OPBYTES}
        endloop
        set_flag vector, mte3, 0
        wait_flag vector, mte3, 0
        copy y[], ys[], N * bytes(f32)
        end
```

Names of memories (`ub`) and engines (`mte2`) are the machine's: `npulab machine show` lists them.

)";
}

std::string operand_chapter() {
  return R"(## Operands

| written | means |
|---|---|
| `v12`, `v{EXPRESSION}` | vector register; where an operation is wider than a register, the first of an aligned group |
| `v4[3]` | one lane of it, used for every lane |
| `s7`, `s{EXPRESSION}` | scalar register, 64 bits |
| `NAME`, `NAME{EXPRESSION}` | register named by `.reg` or `.vreg`, or the one that many further |
| expression | integer; where a floating type stands also `1.5e-3`, `inf`, `-inf`, `nan` |
| `ub[s1 + 64]` | view: a memory, buffer or tensor at a byte offset, the sum of at most one scalar register and constants; `[]` is offset 0 |
| engine | its name on the machine; `barrier` also takes `all` |
| label | defined by `label:` before an instruction or alone; used before or after |

Modifiers follow the operands: `{n=8, inc=s3, round=rtz}`. `loop` ends at the matching `endloop`; loops nest as deep as
the machine says, their bodies hold something that takes time (not `print`, `assert` and `region` alone) and no `end`, and
no jump enters or leaves them.

Vector operands are registers on machines whose vector unit has them, and views on the others. A register operand takes
as many registers as its elements need: the lanes of an instruction are the bits of an operation over the bits of the
narrower of its types, so the operand of the wider type takes more registers.

)";
}

std::string directive_chapter() {
  std::string text = "## Directives\n\n| form | meaning |\n|---|---|\n";
  for (const DirectiveInfo& row : kDirectives)
    text += fmt::format("| `{}` | {} |\n", cell(row.usage), row.meaning);
  return text + R"(
The header, which is `.kernel`, `.doc`, `.param`, `.tensor` and `.reference`, stands before the first buffer, label and
instruction, and does not depend on the machine. A macro is called like an instruction, `NAME ARGUMENT, …`; an argument
may also be part of a dotted name (`vadd.T`). In macros and loops, names from `.const`, `.reg`, `.vreg`, `.buffer` and
`.for` are local to the expansion, and so are labels that begin with a dot.

Several programs of a kernel run together, each on cores of its own (`.program core=TYPE cores=N`). Cores have one number
over the launch, programs in the order of the text (`first` and `count`, below); `core_id` and `core_count` count within the
program. `TYPE.BUFFER` is a buffer of other cores, on machines with a path to it: only copies reach it, they name the core
with `core=`, and `.buffer NAME TYPE.BUFFER BYTES` places it there as `.buffer` does in that core's own program.

)";
}

std::string expression_chapter() {
  std::string text = R"(## Expressions

64-bit signed integers; a result that does not fit is an error, as is division by zero. Numbers are decimal, `0x…` or
`0b…` (these two up to 64 bits, taken as two's complement), with `_` between digits; a leading zero is refused.
Operators by level, the tightest first; `+ - ~ !` before a value bind tighter still; those of a level go from left to
right:

| operator | level | meaning |
|---|---|---|
)";
  for (auto row = kBinaryOperators.rbegin(); row != kBinaryOperators.rend(); ++row)
    text += fmt::format("| `{}` | {} | {} |\n",
                        row->symbol[0] == '|' ? cell(row->symbol) : std::string(row->symbol),
                        kMultiplicative + 1 - row->precedence, row->meaning);
  text += fmt::format("| `c ? a : b` | {} | a if c is not 0, else b; only that one is computed |\n",
                      kMultiplicative + 1);
  text += "\n| function | value |\n|---|---|\n";
  for (const FunctionInfo& row : kFunctions) text += fmt::format("| `{}` | {} |\n", row.usage, row.meaning);
  text +=
      "\n| name | value |\n|---|---|\n| a parameter, constant, loop variable | its value |\n| a buffer | its "
      "address |\n";
  for (const PredefinedName& row : kPredefinedNames)
    text += fmt::format("| `{}` | {} |\n", row.name, row.meaning);
  return text + "\n";
}

std::string type_chapter() {
  std::string text = "## Element types\n\n| type | bits | kind |\n|---|---|---|\n";
  for (const DTypeInfo& row : kDTypes)
    text += row.floating ? fmt::format("| {} | {} | float, {} exponent bits, {} fraction bits |\n", row.name,
                                       row.bits, row.exponent_bits, row.mantissa_bits)
                         : fmt::format("| {} | {} | {} integer |\n", row.name, row.bits,
                                       row.is_signed ? "signed" : "unsigned");
  return text + "\n";
}

std::string legal_types_text(const InstructionInfo& row) {
  if (row.types == kNoTypes) return {};
  if (row.types2 == kNoTypes) return fmt::format("\nTypes: {}.\n", type_list(row.types));
  std::string text = "\nTypes (TYPE from TYPE2):";
  for (const DTypeInfo& first : kDTypes) {
    DTypeSet second = kNoTypes;
    for (const DTypeInfo& type : kDTypes)
      if (legal_types(row, first.type, type.type)) second = static_cast<DTypeSet>(second | set_of(type.type));
    if (second != kNoTypes)
      text += fmt::format("{} {} from {}", text.back() == ':' ? "" : ";", first.name, type_list(second));
  }
  return text + ".\n";
}

std::string instruction_text(const InstructionInfo& row) {
  std::string text = fmt::format("### {}\n\n`{}`\n\n{}.\n", row.mnemonic, signature(row), cell(row.meaning));
  text += legal_types_text(row);
  const FormatInfo& format = info(row.format);
  if (written_operands(row) > 0) text += "\n";
  for (std::size_t i = 0; i < written_operands(row); ++i) {
    const Slot& slot = format.slots[i];
    const std::string what = row.format == Format::Region ? "a string" : described(slot.kinds);
    text += fmt::format("- `{}`: {}{}; {}\n", slot.name, what,
                        kElementNames[static_cast<std::size_t>(slot.element)],
                        kRoleNames[static_cast<std::size_t>(slot.role)]);
  }
  return text + fmt::format("\nCode 0x{:03x}, port {}, cost class {}.\n\n", row.code,
                            lower_case(row.port_name), lower_case(row.cost_name));
}

std::string modifier_chapter() {
  std::string text = "## Modifiers\n\n| modifier | value | range | meaning |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < kModCount; ++i) {
    const ModInfo& row = info(static_cast<Mod>(i));
    const std::string_view word = noun(row.mod);
    const bool any = row.min == INT64_MIN && row.max == INT64_MAX;
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name,
                        !word.empty()         ? fmt::format("a {}", word)
                        : row.may_be_register ? "an integer or a scalar register"
                                              : "an integer",
                        !word.empty() ? ""
                        : any         ? "64 bits"
                                      : fmt::format("{}…{}", row.min, row.max),
                        row.meaning);
  }
  return text + "\n";
}

}  // namespace

std::string reference_markdown() {
  std::string text = intro() + operand_chapter() + directive_chapter() + expression_chapter() +
                     type_chapter() + modifier_chapter();
  for (auto i = static_cast<std::uint8_t>(Family::Vector); i <= static_cast<std::uint8_t>(Family::Debug);
       ++i) {
    const auto family = static_cast<Family>(i);
    text += fmt::format("## Instructions: {}\n\n", name(family));
    for (const InstructionInfo& row : instructions())
      if (row.family == family) text += instruction_text(row);
  }
  return text + "## Binary form\n\n" + binary_markdown();
}

}  // namespace npulab::isa
