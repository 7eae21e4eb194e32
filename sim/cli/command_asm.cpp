// SPDX-License-Identifier: Apache-2.0
// npulab asm and disasm: a kernel as text to its binary form and back.
#include <fmt/core.h>

#include <optional>

#include "isa/binary.hpp"
#include "isa/disassembler.hpp"
#include "isa/error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/files.hpp"
#include "sim/cli/host.hpp"
#include "sim/cli/launch.hpp"

namespace npulab::cli {

namespace {

constexpr Option kOutput{"output", 'o', "FILE", "the file to write"};

std::optional<OutputFile> output_of(const Arguments& arguments) {
  std::optional<OutputFile> file;
  if (arguments.has(kOutput)) file.emplace(arguments.value(kOutput));
  return file;
}

int assemble(const Arguments& arguments, Host& host) {
  std::optional<OutputFile> file = output_of(arguments);
  const config::Machine machine = machine_of(arguments, host);
  const isa::Kernel kernel = load_kernel(arguments.word(0), machine, parameters(arguments), host);
  const std::vector<std::byte> bytes = isa::encode(kernel);
  if (file) {
    file->stage(bytes);
    file->commit();
  }
  std::size_t instructions = 0;
  for (const isa::Program& program : kernel.programs) instructions += program.instructions.size();
  host.print(fmt::format("{}: {} instructions for {}, hash {:016x}{}\n", kernel.header.name, instructions,
                         machine.name, kernel.hash(),
                         file ? fmt::format(", {} bytes in {}", bytes.size(), file->path()) : std::string()));
  return 0;
}

int disassemble(const Arguments& arguments, Host& host) {
  std::optional<OutputFile> file = output_of(arguments);
  const config::Machine machine = machine_of(arguments, host);
  if (!is_binary(arguments.word(0)))
    throw Error(Category::input, "not-binary",
                fmt::format("{}: no binary kernel; {} asm writes one", arguments.word(0), kProgramName));
  const isa::Kernel kernel = load_binary(arguments.word(0));
  const isa::Target target = config::make_target(machine);
  const std::string text = isa::disassemble(kernel, target, config::other_targets(machine, target));
  if (!file) {
    host.print(text);
    return 0;
  }
  file->stage(text);
  file->commit();
  return 0;
}

}  // namespace

Command asm_command() {
  Command command;
  command.name = "asm";
  command.summary = "assembles a kernel, checks it, writes its binary form";
  command.words = {"KERNEL|FILE"};
  command.help =
      "Assembles a kernel for a machine and checks every instruction against it. Without -o nothing is "
      "written: a\n"
      "check. docs/isa.md describes the text and the binary form.";
  command.examples =
      "  npulab asm mine.npu --machine tiny                   is it right for this machine?\n"
      "  npulab asm mine.npu --machine tiny -D N=256 -o mine.npub\n"
      "  npulab run mine.npub --machine tiny";
  command.options = {&kMachine, &kSet, &kParam, &kOutput};
  command.run = &assemble;
  return command;
}

Command disasm_command() {
  Command command;
  command.name = "disasm";
  command.summary = "prints a binary kernel as text";
  command.words = {"FILE"};
  command.help =
      "Prints a binary kernel as text that assembles to the same instructions. Memories and engines take "
      "their names\n"
      "from the machine.";
  command.examples = "  npulab disasm mine.npub --machine tiny";
  command.options = {&kMachine, &kSet, &kOutput};
  command.run = &disassemble;
  return command;
}

}  // namespace npulab::cli
