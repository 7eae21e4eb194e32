// SPDX-License-Identifier: Apache-2.0
// First half of the assembler: includes, macros, loops and conditions, down to plain statements.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/assembler.hpp"
#include "isa/cursor.hpp"
#include "isa/directives.hpp"
#include "isa/symbols.hpp"

namespace npulab::isa {

// Receives the plain statements in order. May throw Error(input), Consequence, NeedsMachine
// and Stop.
class StatementHandler {
 public:
  virtual ~StatementHandler() = default;
  virtual void label(const Token& name, const Cursor& cursor) = 0;
  virtual void directive(Directive directive, Cursor& cursor) = 0;
  virtual void instruction(Cursor& cursor, const SourcePlace& place) = 0;
  virtual void macro_defined(const std::string& name) = 0;
  // Context that messages about the statements to come shall end with, like the macro call they come from.
  virtual void context(const std::string& text) = 0;
};

class Expander {
 public:
  // Files that are read are put behind `files`, each name once.
  Expander(Symbols& symbols, Problems& problems, const AssembleOptions& options,
           std::vector<SourceFile>& files, StatementHandler& handler)
      : symbols_(symbols), problems_(problems), options_(options), files_(files), handler_(handler) {}

  // Reads the whole text; errors go to `problems`. Stop passes through.
  void run(const Source& source);

 private:
  static constexpr std::size_t kMostTokens = 1024;  // of one line after its arguments were put in

  struct Text {
    std::string name;
    std::vector<Line> lines;
    std::vector<std::optional<Directive>> directives;  // that the lines begin with
    std::vector<std::size_t> next;  // .if, .elif, .else, .for, .macro: line of what closes it
    std::map<std::size_t, std::vector<std::string>>
        locals;               // names that the body of a .for or .macro defines
    std::uint32_t depth = 0;  // of includes
    std::uint32_t file = 0;   // index in files_
  };
  struct MacroArgument {
    std::string name;
    std::vector<Token> standard;
    bool optional = false;
  };
  struct Macro {
    const Text* text = nullptr;
    std::size_t line = 0;
    std::vector<MacroArgument> arguments;
  };
  // What identifiers stand for in a body; the scopes around it in the text follow in `outer`.
  struct Entry {
    std::string name;
    std::vector<Token> value;
  };
  struct Scope {
    const Scope* outer = nullptr;
    std::deque<Entry> entries;  // few, so searched in order
    std::vector<Token>& operator[](std::string_view name);
  };

  const Text& load(const Source& source, std::uint32_t depth);
  std::uint32_t file_index(const std::string& name, std::vector<std::string> lines);
  SourcePlace place(const Text& text, std::size_t at) const;
  void link(Text& text);
  void declare_local(Text& text, std::size_t owner, std::size_t line) const;

  static std::size_t closing(const Text& text, std::size_t at);
  void run_lines(const Text& text, std::size_t begin, std::size_t end, const Scope* scope);
  std::size_t run_line(const Text& text, std::size_t at, const Scope* scope);  // the line to go on with
  void statement(const Text& text, std::size_t at, const Scope* scope);
  std::size_t run_if(const Text& text, std::size_t at, const Scope* scope);
  std::size_t run_for(const Text& text, std::size_t at, const Scope* scope);
  void define_macro(const Text& text, std::size_t at, const Scope* scope);
  void include(const Text& text, std::size_t at);
  void call(const Macro& macro, Cursor& cursor);
  Scope bind(const Macro& macro, Cursor& cursor);

  static const std::vector<Token>* lookup(const Scope* scope, std::string_view name);
  static std::string substituted(const std::string& text, const Scope* scope, bool in_braces);
  std::vector<Token> resolved(const Text& text, std::size_t at, const Scope* scope) const;
  void report(const Error& error);
  [[noreturn]] void limit(const Where& where, const std::string& message);
  void count_step(const Cursor& cursor);
  void make_local(Scope& scope, const std::vector<std::string>& names);
  std::int64_t constant(Cursor& cursor);

  Symbols& symbols_;
  Problems& problems_;
  const AssembleOptions& options_;
  std::vector<SourceFile>& files_;
  StatementHandler& handler_;
  std::deque<Text> texts_;
  std::map<std::string, Macro, std::less<>> macros_;
  std::string context_;
  std::uint64_t expansions_ = 0;
  std::uint64_t steps_ = 0;
  unsigned includes_ = 0;
  unsigned depth_ = 0;
  unsigned calls_ = 0;  // of macros within each other
  int main_line_ = 0;   // of the first source, outside of macros, that is being read
};

}  // namespace npulab::isa
