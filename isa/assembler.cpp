// SPDX-License-Identifier: Apache-2.0
#include "isa/assembler.hpp"

#include <fmt/format.h>

#include "isa/body_builder.hpp"
#include "isa/expander.hpp"
#include "isa/header_builder.hpp"

namespace npulab::isa {

namespace {

// Gives header directives to the header until the body begins, and the rest to the body.
class Assembly final : public StatementHandler {
 public:
  // `kernel`: the source that is assembled; what it includes stands elsewhere.
  Assembly(HeaderBuilder& header, BodyBuilder* body, Problems& problems, std::string kernel)
      : header_(header), body_(body), problems_(problems), kernel_(std::move(kernel)) {}

  void label(const Token& name, const Cursor& cursor) override {
    begin_body();
    body_->label(name, cursor);
  }

  void directive(Directive directive, Cursor& cursor) override {
    const DirectiveInfo& row = info(directive);
    if (row.stage == Stage::body) {
      begin_body();
      body_->directive(directive, cursor);
      return;
    }
    if (row.stage == Stage::header && in_body_)
      cursor.fail(
          "late-header",
          fmt::format("{} stands in the header, before the first buffer, label and instruction", row.name));
    header_.directive(directive, cursor);
  }

  void instruction(Cursor& cursor, const SourcePlace& place) override {
    begin_body();
    body_->instruction(cursor, place);
  }

  void macro_defined(const std::string& name) override {
    if (body_ != nullptr) body_->macro_defined(name);
  }

  void context(const std::string& text) override {
    if (body_ != nullptr) body_->context(text);
  }

  void end_header() {
    if (in_body_) return;
    in_body_ = true;
    try {
      header_.check_overrides({kernel_, 0, 0});
    } catch (const Error& error) {
      problems_.add(error.where(), error.code(), error.message());
    }
  }

 private:
  void begin_body() {
    end_header();
    if (body_ == nullptr) throw Stop{};
  }

  HeaderBuilder& header_;
  BodyBuilder* body_;  // nullptr: the header alone is read
  Problems& problems_;
  const std::string kernel_;
  bool in_body_ = false;
};

}  // namespace

Kernel assemble(const Source& source, const Target& target, const ParamValues& overrides,
                const AssembleOptions& options) {
  Symbols symbols(&target);
  Problems problems;
  HeaderBuilder header(symbols, overrides, source.name);
  Kernel kernel;
  BodyBuilder body(symbols, problems, header.header(), target, options, kernel.files);
  Assembly assembly(header, &body, problems, source.name);
  kernel.source_name = source.name;
  kernel.built_for = fingerprint(target);
  try {
    Expander(symbols, problems, options, kernel.files, assembly).run(source);
    assembly.end_header();
    const std::size_t lines = kernel.files.empty() ? 0 : kernel.files.front().lines.size();
    kernel.programs = body.finish({source.name, static_cast<int>(lines)});
  } catch (const Stop&) {
    // The most errors are collected, or going on makes no sense.
  }
  problems.raise();
  kernel.header = header.header();
  return kernel;
}

KernelHeader read_header(const Source& source, const ParamValues& overrides, const AssembleOptions& options) {
  Symbols symbols(nullptr);
  Problems problems;
  HeaderBuilder header(symbols, overrides, source.name);
  Assembly assembly(header, nullptr, problems, source.name);
  std::vector<SourceFile> files;
  try {
    Expander(symbols, problems, options, files, assembly).run(source);
    assembly.end_header();
  } catch (const Stop&) {
    // The body begins, or the most errors are collected.
  }
  problems.raise();
  return header.header();
}

}  // namespace npulab::isa
