// SPDX-License-Identifier: Apache-2.0
// npulab machine: the machines that are known, and what a machine file says.
#include <fmt/core.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/host.hpp"
#include "sim/config/describe.hpp"

namespace npulab::cli {

namespace {

constexpr int kIndent = 2;  // of JSON
constexpr Option kAsJson{"json", '\0', "", "prints JSON in place of YAML"};

int list(const Arguments&, Host& host) {
  std::vector<std::vector<std::string>> rows;
  for (const config::MachineInfo& machine : config::list_machines({host.data().machines}))
    rows.push_back({machine.name, machine.doc});
  host.print(columns(rows));
  return 0;
}

int show(const Arguments& arguments, Host& host) {
  const config::Machine machine = load(arguments.word(0), arguments.values(kSet), host);
  host.print(arguments.has(kAsJson) ? config::to_json(machine).dump(kIndent) + "\n"
                                    : config::summary(machine));
  return 0;
}

int check(const Arguments& arguments, Host& host) {
  for (const std::string& name : arguments.words()) {
    const config::Machine machine = load(name, arguments.values(kSet), host);
    host.print(fmt::format("{}: good ({})\n", name, machine.name));
  }
  return 0;
}

int diff(const Arguments& arguments, Host& host) {
  const config::Machine first = load(arguments.word(0), {}, host);
  const config::Machine second = load(arguments.word(1), {}, host);
  const std::vector<std::string> lines = config::diff(first, second);
  for (const std::string& line : lines) host.print(line + "\n");
  return lines.empty() ? 0 : 1;
}

int schema(const Arguments&, Host& host) {
  host.print(config::json_schema().dump(kIndent) + "\n");
  return 0;
}

Command subcommand(std::string_view name, std::string_view summary, std::vector<std::string_view> words,
                   std::string_view help, std::string_view examples, std::vector<const Option*> options,
                   int (*run)(const Arguments&, Host&)) {
  return {name, summary, std::move(words), help, examples, std::move(options), run, {}};
}

}  // namespace

Command machine_command() {
  Command command;
  command.name = "machine";
  command.summary = "machines: list, show, check, diff, schema";
  command.help =
      "A machine is a YAML file; docs/machines.md describes its keys. Shipped machines are known by name; a "
      "name with\n"
      "a slash or the ending .yaml, .yml or .json is a file.";
  command.examples =
      "  npulab machine list\n"
      "  npulab machine show ascend910_opsblas > mine.yaml      every key with its value, to start from\n"
      "  npulab machine check mine.yaml";
  command.commands = {
      subcommand("list", "machines that are known by name", {},
                 "Lists the shipped machines with what they model.", "  npulab machine list", {}, &list),
      subcommand("show", "every key with its value, and the peaks that follow", {"NAME|FILE"},
                 "Prints the machine as a machine file: every key with its value, defaults and inherited "
                 "ones included,\n"
                 "after the derived peaks as comments.",
                 "  npulab machine show tiny\n"
                 "  npulab machine show tiny --set gm.model=ideal --json",
                 {&kSet, &kAsJson}, &show),
      subcommand("check", "says whether machine files are good", {"NAME|FILE..."},
                 "Loads machine files with every check. All that is wrong with a file is said at once, with "
                 "line, key and\n"
                 "rule; the exit status is then 2.",
                 "  npulab machine check mine.yaml other.yaml", {&kSet}, &check),
      subcommand("diff", "the keys in which two machines differ", {"A", "B"},
                 "One line per key that differs, 'path: value in A -> value in B'. The exit status is 0 when "
                 "the machines\n"
                 "are equal and 1 when they differ.",
                 "  npulab machine diff tiny mine.yaml", {}, &diff),
      subcommand("schema", "the JSON schema of machine files, for editors", {},
                 "Prints the JSON schema (draft 2020-12) of machine files.",
                 "  npulab machine schema > machine.schema.json", {}, &schema),
  };
  return command;
}

}  // namespace npulab::cli
