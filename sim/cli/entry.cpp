// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/entry.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <exception>
#include <new>

#include "isa/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/external.hpp"
#include "sim/cli/host.hpp"
#include "sim/cli/terminal.hpp"
#include "sim/simulation.hpp"

namespace npulab::cli {

namespace {

constexpr Option kVersion{"version", '\0', "", "the version"};

std::string_view title(Category category) {
  switch (category) {
    case Category::input:
      return "error";
    case Category::verdict:
      return "failed";
    case Category::stall:
      return "stalled";
    case Category::internal:
      return "internal error";
  }
  return "error";
}

constexpr std::string_view kOurFault =
    "This is a fault of npulab, not of your input. Please report it, with the command line and these "
    "lines.\n";

// For text that ends up on a line of its own.
void say(std::string_view kind, std::string_view code, std::string_view message) {
  fmt::print(stderr, "{}: {}[{}]: {}\n", kProgramName, kind, code, message);
}

int execute(const Command& command, const std::string& path, const std::vector<std::string>& words,
            Host& host) {
  const Arguments arguments = parse(command, path, words);
  if (arguments.has(kHelp)) {
    host.print(help_page(command, path));
    return 0;
  }
  return command.run(arguments, host);
}

const Command* find(const Command& group, const std::string& name) {
  for (const Command& one : group.commands)
    if (one.name == name) return &one;
  return nullptr;
}

// The options of a group, when no command is named.
int without_command(const Command& group, const std::string& path, const std::vector<std::string>& words,
                    bool top, const Host& host) {
  Command bare = group;
  if (top) bare.options.push_back(&kVersion);
  const Arguments arguments = parse(bare, path, words);
  if (top && arguments.has(kVersion)) {
    host.print(fmt::format("{} {}\n", kProgramName, version()));
    return 0;
  }
  if (arguments.has(kHelp)) {
    host.print(help_page(bare, path) + (top ? external_help() : ""));
    return 0;
  }
  fmt::print(stderr, "{}", help_page(bare, path));
  return exit_status(Category::input);
}

[[noreturn]] void refuse_command(const Command& group, const std::string& path, const std::string& name,
                                 bool top) {
  std::vector<std::string> names;
  for (const Command& one : group.commands) names.emplace_back(one.name);
  if (top)
    for (const std::string& one : external_commands()) names.push_back(one);
  throw Error(Category::input, "unknown-command",
              fmt::format("'{}' has no command '{}'{}{}", path, name,
                          top ? fmt::format(", and no program {}-{} is on the PATH", kProgramName, name) : "",
                          suggestion(name, names)));
}

int dispatch(const Command& group, const std::string& path, std::vector<std::string> words, bool top,
             Host& host) {
  if (words.empty() || words.front().empty() || words.front().front() == '-')
    return without_command(group, path, words, top, host);
  const std::string name = words.front();
  words.erase(words.begin());
  const Command* command = find(group, name);
  if (command == nullptr) {
    if (top) run_external(name, words);
    refuse_command(group, path, name, top);
  }
  const std::string below = path + " " + name;
  if (!command->commands.empty()) return dispatch(*command, below, words, false, host);
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails with a reason
  return execute(*command, below, words, host);
}

}  // namespace

int run_program(const std::vector<std::string>& words,
                const std::vector<std::filesystem::path>& data_candidates) {
  Host host(data_candidates);
  try {
    return dispatch(program(), std::string(kProgramName), words, true, host);
  } catch (const Interrupted&) {
    fmt::print(stderr, "{}: interrupted; the run was not finished and nothing was written\n", kProgramName);
    return kInterruptedStatus;
  } catch (const Error& error) {
    say(title(error.category()), error.code(), error.what());
    if (error.category() == Category::internal) fmt::print(stderr, "{}", kOurFault);
    return exit_status(error.category());
  } catch (const std::bad_alloc&) {
    say(title(Category::input), "not-enough-memory",
        "this computer has not enough memory for what was asked");
    return exit_status(Category::input);
  } catch (const std::exception& error) {
    say(title(Category::internal), "exception", error.what());
    fmt::print(stderr, "{}", kOurFault);
    return exit_status(Category::internal);
  }
}

}  // namespace npulab::cli
