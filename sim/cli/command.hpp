// SPDX-License-Identifier: Apache-2.0
// Commands and options as data: the parser, the help pages and the messages are made of these tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace npulab::cli {

class Host;

struct Option {
  std::string_view name;        // the long form, without dashes
  char letter = '\0';           // the short form, or none
  std::string_view value = {};  // what stands for its value in the help; empty: it takes none
  std::string_view help = {};
  bool repeatable = false;
  std::string_view implied = {};               // the value when '=VALUE' is left out; empty: it may not be
  std::optional<std::uint64_t> standard = {};  // the number that holds without the option; the help says it
};

std::string written(const Option& option);  // "--machine", or "-D" where there is a short form

// A command line that was taken apart.
class Arguments {
 public:
  bool has(const Option& option) const { return values_.count(option.name) > 0; }
  std::string value(const Option& option, std::string_view fallback = {}) const;
  std::vector<std::string> values(const Option& option) const;
  const std::string& word(std::size_t index) const { return words_.at(index); }
  const std::vector<std::string>& words() const { return words_; }

  void add(const Option& option, std::string value) { values_[option.name].push_back(std::move(value)); }
  void add_word(std::string word) { words_.push_back(std::move(word)); }

 private:
  std::map<std::string_view, std::vector<std::string>> values_;
  std::vector<std::string> words_;
};

struct HelpTable {
  std::string_view title;
  std::vector<std::pair<std::string, std::string>> rows;  // a word and what it means
};

struct Command {
  std::string_view name;
  std::string_view summary;             // one line
  std::vector<std::string_view> words;  // positional arguments; "[WORD]" may be left out, "WORD..." repeats
  std::string_view help;                // what it does
  std::string_view examples;            // command lines, with what they show
  std::vector<const Option*> options;
  int (*run)(const Arguments& arguments, Host& host) = nullptr;  // returns the exit status
  std::vector<Command> commands;                                 // a group has these instead of run
  std::vector<HelpTable> tables = {};                            // below the options
};

// Takes the words after the command's name apart. Errors: input "unknown-option", "bad-option",
// "missing-argument", "unexpected-argument".
Arguments parse(const Command& command, const std::string& path, const std::vector<std::string>& words);

// The help page; `path` is how the command is called ("npulab machine show").
std::string help_page(const Command& command, const std::string& path);

inline constexpr Option kHelp{"help", 'h', "", "this page"};

}  // namespace npulab::cli
