// SPDX-License-Identifier: Apache-2.0
// npulab kernel: the library of kernels.
#include <fmt/core.h>

#include <algorithm>

#include "kernels/library.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/host.hpp"

namespace npulab::cli {

namespace {

using Cells = std::vector<std::vector<std::string>>;

constexpr Option kSource{"source", '\0', "", "prints its text in place of the description"};

std::string first_sentence(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::string shape_text(const isa::Tensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return "[" + text + "]";
}

std::string pitch_text(const isa::Tensor& tensor) {
  const bool dense = tensor.shape.empty() || tensor.pitch == tensor.shape.back();
  return dense ? "" : fmt::format("pitch {}", tensor.pitch);
}

std::string reference_text(const isa::Reference& reference) {
  std::string text = reference.operation;
  for (const auto& [name, value] : reference.arguments) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string description(const kernels::KernelInfo& kernel) {
  const isa::KernelHeader& header = kernel.header;
  std::string text = fmt::format("{}\n  {}\n", kernel.name, kernel.path.string());
  if (!header.doc.empty()) {
    text += "\n";
    for (std::size_t at = 0; at < header.doc.size();) {
      const std::size_t end = std::min(header.doc.find('\n', at), header.doc.size());
      text += "  " + header.doc.substr(at, end - at) + "\n";
      at = end + 1;
    }
  }
  Cells params;
  for (const isa::Parameter& one : header.params)
    params.push_back(
        {fmt::format("{}={}", one.name, one.value), fmt::format("{}..{}", one.min, one.max), one.doc});
  if (!params.empty()) text += fmt::format("\nparameters, set with -{}\n", kParam.letter) + columns(params);
  Cells tensors;
  for (const isa::Tensor& one : header.tensors)
    tensors.push_back({one.name, std::string(isa::name(one.direction)), std::string(isa::name(one.type)),
                       shape_text(one), pitch_text(one), one.doc});
  if (!tensors.empty()) text += "\ntensors\n" + columns(tensors);
  const bool none = header.reference.operation.empty();
  return text + "\nreference\n  " +
         (none ? std::string("none: --check is not possible") : reference_text(header.reference)) + "\n";
}

int list(const Arguments&, Host& host) {
  Cells rows;
  for (const kernels::KernelInfo& kernel : kernels::list_kernels({host.data().kernels}))
    rows.push_back({kernel.name, first_sentence(kernel.header.doc)});
  host.print(columns(rows));
  return 0;
}

int show(const Arguments& arguments, Host& host) {
  const kernels::Folders folders{host.data().kernels};
  host.print(arguments.has(kSource)
                 ? kernels::kernel_source(arguments.word(0), folders).text
                 : description(kernels::find_kernel(arguments.word(0), folders, parameters(arguments))));
  return 0;
}

}  // namespace

Command kernel_command() {
  Command list_command;
  list_command.name = "list";
  list_command.summary = "kernels that are known by name";
  list_command.help = "Lists the kernels of the library with what they do.";
  list_command.examples = "  npulab kernel list";
  list_command.run = &list;

  Command show_command;
  show_command.name = "show";
  show_command.summary = "parameters, tensors and reference of a kernel";
  show_command.words = {"NAME|FILE"};
  show_command.help =
      "Shows what a kernel is for, its parameters with their ranges, its tensors with the shapes that "
      "follow, and the\n"
      "operation that --check compares it with.";
  show_command.examples =
      "  npulab kernel show gemv/register_blocked -D M=100 -D K=200\n"
      "  npulab kernel show gemv/register_blocked --source";
  show_command.options = {&kParam, &kSource};
  show_command.run = &show;

  Command command;
  command.name = "kernel";
  command.summary = "the kernel library: list, show";
  command.help =
      "Kernels are text in npulab's instruction set (docs/isa.md). Those of the library are known by name; a "
      "name that\n"
      "ends in .npu is a file.";
  command.examples = "  npulab kernel list\n  npulab kernel show gemv/register_blocked";
  command.commands = {std::move(list_command), std::move(show_command)};
  return command;
}

}  // namespace npulab::cli
