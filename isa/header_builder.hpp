// SPDX-License-Identifier: Apache-2.0
// Reads the directives of a kernel's header, and the constants and requirements that may stand anywhere.
#pragma once

#include <string>

#include "isa/assembler.hpp"
#include "isa/cursor.hpp"
#include "isa/directives.hpp"
#include "isa/program.hpp"
#include "isa/symbols.hpp"

namespace npulab::isa {

class HeaderBuilder {
 public:
  // `file` names the kernel that has no .kernel.
  HeaderBuilder(Symbols& symbols, const ParamValues& overrides, const std::string& file);

  // A directive of Stage::header or Stage::anywhere, at the cursor. Throws Error(input), Consequence,
  // NeedsMachine.
  void directive(Directive directive, Cursor& cursor);
  // Throws Error(input) for overrides that name no parameter; call it when the header has ended.
  void check_overrides(const Where& where) const;

  const KernelHeader& header() const { return header_; }

 private:
  void kernel(Cursor& cursor);
  void doc(Cursor& cursor);
  void param(Cursor& cursor);
  void constant(Cursor& cursor);
  void tensor(Cursor& cursor);
  void tensor_layout(Tensor& tensor, Cursor& cursor) const;
  std::string parameter_alone(const Cursor& cursor) const;
  void reference(Cursor& cursor);
  void require(Cursor& cursor) const;
  std::string filled(const std::string& text, const Cursor& cursor, int column) const;
  void define_broken(const Token& name, SymbolKind kind, const Cursor& cursor);

  Symbols& symbols_;
  const ParamValues& overrides_;
  KernelHeader header_;
  bool named_ = false;
};

}  // namespace npulab::isa
