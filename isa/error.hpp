// SPDX-License-Identifier: Apache-2.0
// The one exception type. Every refusal says what is wrong, where, the value, the rule and what to do.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace npulab {

// Category decides the exit status of the program and the exception class in Python.
enum class Category {
  input,    // the input was refused: exit status 2
  verdict,  // the run ended and its verdict is bad: exit status 1
  stall,    // the simulated program can never go on: exit status 3
  internal  // npulab broke one of its own rules: exit status 4
};

int exit_status(Category category);

// Where something stands in a text: line and column count from 1, 0 means unknown.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  std::string from = {};  // the place that brought this text in (a macro call, an include), or empty
};

// "file:line:column (from …)", without the parts that are unknown.
std::string to_string(const Where& where);

class Error : public std::runtime_error {
 public:
  // `code` is a stable kebab-case name of the kind of error ("unknown-key"); `message` is for people.
  Error(Category category, std::string code, std::string message, Where where = {});

  Category category() const { return category_; }
  const std::string& code() const { return code_; }
  const std::string& message() const { return message_; }  // without the place
  const Where& where() const { return where_; }

 private:
  Category category_;
  std::string code_;
  std::string message_;
  Where where_;
};

// The candidate nearest to `word` (Damerau-Levenshtein distance at most a third of its length, at least 1),
// or empty when none is near. Ties go to the first candidate.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'x'?" or, when nothing is near, "; known: a, b, c" (at most 12 names).
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace npulab
