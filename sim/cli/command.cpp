// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "isa/error.hpp"

namespace npulab::cli {

namespace {

namespace po = boost::program_options;

constexpr std::size_t kPageWidth = 100;

bool optional(std::string_view word) {
  return word.front() == '[';
}
bool repeats(std::string_view word) {
  return word.size() > 3 && word.substr(word.size() - 3) == "...";
}

std::vector<const Option*> all_options(const Command& command) {
  std::vector<const Option*> options = command.options;
  options.push_back(&kHelp);
  return options;
}

const Option& option_named(const std::vector<const Option*>& options, std::string_view name) {
  return **std::find_if(options.begin(), options.end(), [&](const Option* one) { return one->name == name; });
}

po::options_description description(const std::vector<const Option*>& options) {
  po::options_description made;
  for (const Option* option : options) {
    std::string name(option->name);
    if (option->letter != '\0') name += std::string(",") + option->letter;
    if (option->value.empty()) {
      made.add_options()(name.c_str(), "");
    } else if (option->implied.empty()) {
      made.add_options()(name.c_str(), po::value<std::string>());
    } else {
      made.add_options()(name.c_str(),
                         po::value<std::string>()->implicit_value(std::string(option->implied)));
    }
  }
  return made;
}

[[noreturn]] void refuse(const std::string& path, const char* code, const std::string& message) {
  throw Error(Category::input, code, fmt::format("{} ('{} --help' shows its use)", message, path));
}

[[noreturn]] void refuse_unknown(const std::string& path, const std::vector<const Option*>& options,
                                 const std::string& given) {
  std::vector<std::string> names;
  for (const Option* option : options) names.push_back("--" + std::string(option->name));
  refuse(path, "unknown-option",
         fmt::format("no option '{}'{}", given, suggestion(given.substr(0, given.find('=')), names)));
}

[[noreturn]] void refuse_syntax(const std::string& path, const std::vector<const Option*>& options,
                                const po::invalid_command_line_syntax& error) {
  std::string name = error.get_option_name();
  name.erase(0, name.find_first_not_of('-'));
  for (const Option* option : options) {
    if (name != option->name && name != std::string(1, option->letter)) continue;
    const bool takes = !option->value.empty();
    refuse(path, "bad-option",
           takes ? fmt::format("{} needs a value: {}", written(*option), option->value)
                 : fmt::format("{} takes no value", written(*option)));
  }
  refuse(path, "bad-option", error.what());
}

po::parsed_options taken_apart(const std::string& path, const std::vector<const Option*>& options,
                               const std::vector<std::string>& words) {
  const po::options_description known = description(options);
  try {
    // Abbreviations are refused: they would change their meaning with every new option.
    return po::command_line_parser(words)
        .options(known)
        .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
        .run();
  } catch (const po::unknown_option& error) {
    refuse_unknown(path, options, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    refuse_syntax(path, options, error);
  } catch (const po::error& error) {
    refuse(path, "bad-option", error.what());
  }
}

void check_words(const Command& command, const std::string& path, const Arguments& arguments) {
  const std::size_t given = arguments.words().size();
  for (std::size_t i = given; i < command.words.size(); ++i)
    if (!optional(command.words[i]))
      refuse(path, "missing-argument", fmt::format("{} is missing", command.words[i]));
  if (given > command.words.size() && (command.words.empty() || !repeats(command.words.back())))
    refuse(path, "unexpected-argument",
           fmt::format("unexpected argument '{}'", arguments.word(command.words.size())));
}

// Lines of at most kPageWidth, all but the first indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > indent && column + 1 + word.size() > kPageWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string rows(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t widest = 0;
  for (const auto& [name, text] : pairs) widest = std::max(widest, name.size());
  std::string out;
  for (const auto& [name, text] : pairs)
    out += fmt::format("  {:<{}}  {}\n", name, widest, wrapped(text, widest + 4));
  return out;
}

std::string option_row(const Option& option) {
  std::string text = option.letter == '\0' ? "    " : fmt::format("-{}, ", option.letter);
  text += "--" + std::string(option.name);
  if (option.value.empty()) return text;
  return text +
         (option.implied.empty() ? fmt::format(" {}", option.value) : fmt::format("[={}]", option.value));
}

std::string option_text(const Option& option) {
  return std::string(option.help) + (option.standard ? fmt::format(" (default {})", *option.standard) : "");
}

}  // namespace

std::string written(const Option& option) {
  return option.letter == '\0' ? "--" + std::string(option.name) : std::string("-") + option.letter;
}

std::string Arguments::value(const Option& option, std::string_view fallback) const {
  const auto found = values_.find(option.name);
  return found == values_.end() ? std::string(fallback) : found->second.back();
}

std::vector<std::string> Arguments::values(const Option& option) const {
  const auto found = values_.find(option.name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Arguments parse(const Command& command, const std::string& path, const std::vector<std::string>& words) {
  const std::vector<const Option*> options = all_options(command);
  Arguments arguments;
  for (const po::option& one : taken_apart(path, options, words).options) {
    if (one.position_key >= 0) {
      arguments.add_word(one.value.front());
      continue;
    }
    // The short form arrives as "-D".
    std::string_view name = one.string_key;
    const Option* by_letter = nullptr;
    for (const Option* option : options)
      if (option->letter != '\0' && name == std::string("-") + option->letter) by_letter = option;
    const Option& option = by_letter != nullptr ? *by_letter : option_named(options, name);
    const std::string value = one.value.empty() ? std::string(option.implied) : one.value.front();
    if (arguments.has(option) && !option.repeatable)
      refuse(path, "bad-option",
             option.value.empty() ? fmt::format("{} is given twice", written(option))
                                  : fmt::format("{} is given twice: '{}' and '{}'", written(option),
                                                arguments.value(option), value));
    arguments.add(option, value);
  }
  if (!arguments.has(kHelp)) check_words(command, path, arguments);
  return arguments;
}

std::string help_page(const Command& command, const std::string& path) {
  std::string usage = path;
  if (!command.commands.empty()) usage += " COMMAND";
  for (const std::string_view word : command.words) usage += " " + std::string(word);
  std::string page = fmt::format("usage: {} [OPTION...]\n\n{}\n", usage, command.help);
  if (!command.commands.empty()) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const Command& one : command.commands) pairs.emplace_back(one.name, one.summary);
    page += "\nCommands:\n" + rows(pairs);
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Option* option : all_options(command))
    pairs.emplace_back(option_row(*option), option_text(*option));
  page += "\nOptions:\n" + rows(pairs);
  for (const HelpTable& table : command.tables)
    page += fmt::format("\n{}:\n{}", table.title, rows(table.rows));
  if (!command.examples.empty()) page += fmt::format("\nExamples:\n{}\n", command.examples);
  return page;
}

}  // namespace npulab::cli
