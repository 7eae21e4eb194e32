// SPDX-License-Identifier: Apache-2.0
#include "isa/body_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isa/expression.hpp"
#include "isa/syntax.hpp"

namespace npulab::isa {

namespace {

constexpr std::size_t kMostInstructions = 1'000'000;

}  // namespace

std::string label_name(std::string_view text) {
  const std::string_view base = spelled(text);
  return base.size() == text.size() ? std::string(text)
                                    : fmt::format("{}.{}", base, text.substr(base.size() + 1));
}

void BodyBuilder::directive(Directive directive, Cursor& cursor) {
  cursor.next();
  if (directive == Directive::program)
    program(cursor);
  else if (directive == Directive::buffer)
    buffer(cursor);
  else
    alias(cursor, directive);
  cursor.expect_end(info(directive).usage);
}

void BodyBuilder::program(Cursor& cursor) {
  const std::string_view usage = info(Directive::program).usage;
  const Where where = cursor.where(1);
  std::string core_type;
  if (cursor.accept_word("core")) {
    cursor.expect("=", usage);
    const int column = cursor.peek().column;
    core_type = cursor.identifier("a core type", usage).text;
    try {
      target_for(core_type, first_, options_.other_core_types);
    } catch (const Error& error) {
      cursor.fail(error.code(), error.message(), column);
    }
  }
  const Target& target = target_for(core_type, first_, options_.other_core_types);
  const std::uint32_t cores = core_count(cursor, target);
  if (explicit_program_ || !writer_.empty()) finish_program(where);
  explicit_program_ = true;
  target_ = &target;
  symbols_.set_target(target_);
  writer_ = ProgramWriter(core_type, cores);
  add_part(core_type, cores, where);
}

// What `cores=` says, 0 where it is not given.
std::uint32_t BodyBuilder::core_count(Cursor& cursor, const Target& target) {
  if (!cursor.accept_word("cores")) return 0;
  cursor.expect("=", info(Directive::program).usage);
  const int column = cursor.peek().column;
  const std::int64_t cores = evaluate(cursor, symbols_);
  if (cores < 1 || cores > static_cast<std::int64_t>(target.cores))
    cursor.fail("too-many-cores",
                fmt::format("cores={}: machine '{}' has 1…{} of type '{}'", cores, target.machine,
                            target.cores, target.core_type),
                column);
  return static_cast<std::uint32_t>(cores);
}

void BodyBuilder::add_part(const std::string& core_type, std::uint32_t cores, const Where& where) {
  wishes_.push_back({core_type, cores});
  try {
    parts_ = launch_parts(wishes_, first_, options_.other_core_types);
  } catch (const Error& error) {
    wishes_.pop_back();
    problems_.add(where, error.code(), error.message());
  }
}

void BodyBuilder::buffer(Cursor& cursor) {
  const std::string_view usage = info(Directive::buffer).usage;
  const Token& name = cursor.identifier("the name of the buffer", usage);
  symbols_.check_free(name, cursor);
  Symbol symbol;
  symbol.kind = SymbolKind::buffer;
  symbol.state = SymbolState::broken;
  try {
    if (space_named(*target_, name.text))
      cursor.fail("duplicate-name",
                  fmt::format("'{}' is a memory of machine '{}'; name the buffer otherwise", name.text,
                              target_->machine),
                  name.column);
    const Token& space_name = cursor.identifier("a memory", usage);
    const auto space = space_named(*target_, space_name.text);
    if (!space || *space == kGmSpace) {
      std::vector<std::string> local = space_names(*target_);
      if (!local.empty()) local.erase(local.begin());
      cursor.fail("unknown-space",
                  fmt::format("machine '{}' has no local memory '{}'{}", target_->machine,
                              spelled(space_name.text), suggestion(spelled(space_name.text), local)),
                  space_name.column);
    }
    int column = cursor.peek().column;
    const std::int64_t bytes = evaluate(cursor, symbols_);
    constexpr std::int64_t kMost = std::int64_t{1} << 48;
    if (bytes < 0 || bytes > kMost)
      cursor.fail(
          "value-range",
          fmt::format("buffer '{}' has {} bytes; the range is 0…{}", spelled(name.text), bytes, kMost),
          column);
    std::int64_t alignment =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(target_->spaces[*space].alignment));
    if (cursor.accept_word("align")) {
      cursor.expect("=", usage);
      column = cursor.peek().column;
      const std::int64_t asked = evaluate(cursor, symbols_);
      if (asked <= 0 || asked > (std::int64_t{1} << 30) || (asked & (asked - 1)) != 0)
        cursor.fail("value-range", fmt::format("align is {}; it is a power of two up to 2^30", asked),
                    column);
      alignment = std::max(alignment, asked);
    }
    if (allocations_.size() < target_->spaces.size()) allocations_.resize(target_->spaces.size());
    std::vector<Allocation>& earlier = allocations_[*space];
    const std::int64_t used = earlier.empty() ? 0 : earlier.back().address + earlier.back().bytes;
    symbol.value = (used + alignment - 1) / alignment * alignment;
    symbol.bytes = bytes;
    symbol.space = *space;
    const bool fits = symbol.value + bytes <= static_cast<std::int64_t>(target_->spaces[*space].bytes);
    if (fits) symbol.state = SymbolState::known;
    earlier.push_back({std::string(spelled(name.text)), symbol.value, bytes, cursor.where(name.column)});
  } catch (...) {
    symbols_.define(name, symbol, cursor);
    throw;
  }
  symbols_.define(name, symbol, cursor);
}

void BodyBuilder::check_capacity() {
  for (std::size_t space = 0; space < allocations_.size(); ++space) {
    const std::vector<Allocation>& all = allocations_[space];
    const auto have = static_cast<std::int64_t>(target_->spaces[space].bytes);
    if (all.empty() || all.back().address + all.back().bytes <= have) continue;
    std::string list;
    const Allocation* first = nullptr;
    for (const Allocation& one : all) {
      if (first == nullptr && one.address + one.bytes > have) first = &one;
      list +=
          fmt::format("{}{} at {} ({} bytes)", list.empty() ? "" : ", ", one.name, one.address, one.bytes);
    }
    problems_.add(
        first->where, "space-full",
        fmt::format("the buffers in '{}' need {} bytes, machine '{}' has {}: {}", target_->spaces[space].name,
                    all.back().address + all.back().bytes, target_->machine, have, list));
  }
}

void BodyBuilder::alias(Cursor& cursor, Directive directive) {
  const std::string_view usage = info(directive).usage;
  const RegisterFile file = directive == Directive::reg ? RegisterFile::scalar : RegisterFile::vector;
  const Token& name = cursor.identifier("a name", usage);
  symbols_.check_free(name, cursor);
  Symbol symbol;
  symbol.kind = file == RegisterFile::scalar ? SymbolKind::scalar_alias : SymbolKind::vector_alias;
  symbol.state = SymbolState::broken;
  try {
    cursor.expect("=", usage);
    const int column = cursor.peek().column;
    const auto found = OperandParser(cursor, symbols_, *target_).register_name();
    if (!found || found->file != file)
      cursor.fail("syntax", fmt::format("expected a register; the form is: {}", usage), column);
    const unsigned count =
        file == RegisterFile::scalar ? target_->scalar_registers : target_->vector_registers;
    if (found->number < 0 || found->number >= static_cast<std::int64_t>(count))
      cursor.fail("register-range", no_such_register(file, found->number, *target_), column);
    symbol.value = found->number;
    symbol.state = SymbolState::known;
  } catch (...) {
    symbols_.define(name, symbol, cursor);
    throw;
  }
  symbols_.define(name, symbol, cursor);
}

void BodyBuilder::label(const Token& name, const Cursor& cursor) {
  if (writer_.define_label(label_name(name.text))) return;
  const bool local = name.text.front() == '.';
  const std::uint32_t at = writer_.program().labels.at(label_name(name.text));
  const SourcePlace place = place_of(writer_.program(), at);
  cursor.fail("duplicate-label",
              fmt::format("label '{}' is already defined{}{}", spelled(name.text),
                          place.line != 0 ? fmt::format(", at the instruction of {}",
                                                        line_text(place, files_, cursor.file()))
                                          : "",
                          local ? "" : "; a label in a macro or .for is local when it begins with a dot"),
              name.column);
}

void BodyBuilder::count_instruction(const Cursor& cursor) {
  if (++instructions_ <= kMostInstructions) return;
  problems_.add(cursor.where(), "expansion-limit",
                fmt::format("the kernel has more than {} instructions{}", kMostInstructions, context_));
  throw Stop{};
}

void BodyBuilder::instruction(Cursor& cursor, const SourcePlace& place) {
  const Token& word = cursor.peek();
  if (lower_case(word.text) == kEndLoop) {
    end_loop(cursor);
    return;
  }
  count_instruction(cursor);
  cursor.next();
  const Where mnemonic = cursor.where(word.column);
  try {
    Instruction typed;
    const InstructionInfo& row = opcode(word, typed, cursor);
    Parsed parsed = parse(cursor, row, typed);
    emit(parsed, mnemonic, place);
  } catch (...) {  // its place is kept, so that labels and loops around it stay right
    const std::size_t at = writer_.append({}, place);
    places_.push_back({place, mnemonic.column, {}});
    if (lower_case(word.text) == info(Op::Loop).mnemonic) {
      writer_.open_loop(at);
      loop_places_.push_back(mnemonic);
    }
    throw;
  }
}

}  // namespace npulab::isa
