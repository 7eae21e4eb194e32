// SPDX-License-Identifier: Apache-2.0
#include "isa/assembler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

// Expressions may depend on the cores of programs that come later in the text: a text that asks for them is
// read again with what the first reading found, until both agree.
class Reading {
 public:
  Reading(const Source& source, const Target& target, const ParamValues& overrides,
          const AssembleOptions& options)
      : source_(source), target_(target), overrides_(overrides), options_(options) {
    table_.counts.push_back({target.core_type, 0, target.cores});
    for (const Target& other : options.other_core_types)
      table_.counts.push_back({other.core_type, 0, other.cores});
  }

  Kernel run() {
    constexpr int kMostReadings = 5;
    for (int i = 0; i < kMostReadings; ++i) {
      Problems problems;
      Kernel kernel = read(problems);
      if (agreed_) {
        problems.raise();
        return kernel;
      }
    }
    throw Error(Category::input, "unsettled-cores",
                "the cores that the programs ask for depend on themselves", {source_.name, 0, 0});
  }

 private:
  Kernel read(Problems& problems) {
    Symbols symbols(&target_);
    symbols.set_launch(table_);
    HeaderBuilder header(symbols, overrides_, source_.name);
    Kernel kernel;
    BodyBuilder body(symbols, problems, header.header(), target_, options_, kernel.files);
    Assembly assembly(header, &body, problems, source_.name);
    kernel.source_name = source_.name;
    try {
      Expander(symbols, problems, options_, kernel.files, assembly).run(source_);
      assembly.end_header();
      const std::size_t lines = kernel.files.empty() ? 0 : kernel.files.front().lines.size();
      kernel.programs = body.finish({source_.name, static_cast<int>(lines)});
    } catch (const Stop&) {
      // The most errors are collected, or going on makes no sense.
    }
    settle(symbols.launch().asked, body, kernel);
    kernel.built_for = fingerprint_for(kernel, target_, options_.other_core_types);
    kernel.header = header.header();
    return kernel;
  }

  // Compares what the programs ask for with what this reading went by.
  void settle(bool asked, const BodyBuilder& body, Kernel& kernel) {
    if (!asked) {
      agreed_ = true;
      return;
    }
    LaunchTable found = table_;
    for (LaunchCount& one : found.counts) one.first = one.count = 0;
    for (const LaunchCount& launched : launch_counts(body.parts()))
      for (LaunchCount& one : found.counts)
        if (one.core_type == launched.core_type) one = launched;
    found.settled = true;
    agreed_ = table_.settled && found.counts == table_.counts;
    table_ = std::move(found);
    for (std::size_t i = 0; i < std::min(kernel.programs.size(), body.parts().size()); ++i)
      kernel.programs[i].cores = body.parts()[i].cores;
  }

  const Source& source_;
  const Target& target_;
  const ParamValues& overrides_;
  const AssembleOptions& options_;
  LaunchTable table_;
  bool agreed_ = false;
};

}  // namespace

Kernel assemble(const Source& source, const Target& target, const ParamValues& overrides,
                const AssembleOptions& options) {
  return Reading(source, target, overrides, options).run();
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
