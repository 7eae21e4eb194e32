// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/case.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "isa/binary.hpp"
#include "isa/error.hpp"
#include "kernels/library.hpp"
#include "sim/cli/check.hpp"
#include "sim/cli/host.hpp"
#include "sim/cli/launch.hpp"
#include "sim/cli/npy.hpp"
#include "sim/config/describe.hpp"

namespace npulab::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view kSchema = "npulab-case-1";
constexpr char kCaseFile[] = "case.json";
constexpr char kMachineFile[] = "machine.yaml";
constexpr char kReplayFile[] = "replay";
constexpr char kKernelFolder[] = "kernel";
constexpr int kIndent = 1;
constexpr std::uint64_t kMostBytesOfCase = std::uint64_t{16} << 20;

constexpr std::array<std::string_view, 3> kFromNames{"nothing", "reference", "run"};  // by ExpectedFrom

// Tensors of one kind: the key in case.json and the folder.
constexpr char kInputs[] = "inputs";
constexpr char kOutputs[] = "outputs";
constexpr char kExpected[] = "expected";

constexpr char kReplay[] =
    "#!/bin/sh\n"
    "# Repeats this run and compares: 'npulab run --case DIR', with the npulab on the PATH or in $NPULAB.\n"
    "exec \"${NPULAB:-npulab}\" run --case \"$(dirname \"$0\")\" \"$@\"\n";

const isa::Tensor& tensor_of(const isa::KernelHeader& header, const std::string& name) {
  return *std::find_if(header.tensors.begin(), header.tensors.end(),
                       [&](const isa::Tensor& one) { return one.name == name; });
}

// --- the kernel ----------------------------------------------------------------------------------

// The text files of a kernel by path below the case, as they lay to each other. Empty when the text is not
// known, as of a binary.
struct KernelText {
  std::map<std::string, std::string> files;
  std::string main;
};

KernelText text_of(const isa::Kernel& kernel) {
  KernelText text;
  std::vector<fs::path> paths;
  if (kernel.files.empty() || kernel.files.front().lines.empty()) return {};
  for (const isa::SourceFile& file : kernel.files)
    paths.push_back(fs::absolute(file.name).lexically_normal());
  fs::path common = paths.front().parent_path();
  const auto below = [&](const fs::path& path) { return *path.lexically_relative(common).begin() != ".."; };
  while (!std::all_of(paths.begin(), paths.end(), below)) common = common.parent_path();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string name = (kKernelFolder / paths[i].lexically_relative(common)).generic_string();
    std::string& content = text.files[name];
    content.clear();
    for (const std::string& line : kernel.files[i].lines) content += line + "\n";
    if (i == 0) text.main = name;
  }
  return text;
}

isa::ParamValues params_of(const isa::KernelHeader& header) {
  isa::ParamValues params;
  for (const isa::Parameter& one : header.params) params.emplace(one.name, one.value);
  return params;
}

// Whether the text alone, without the files around the kernel, is the same kernel.
bool stands_alone(const KernelText& text, const CaseToSave& saved) {
  if (text.files.empty()) return false;
  isa::AssembleOptions options;
  options.include = [&](const std::string& name) -> isa::Source {
    const auto file = text.files.find(fs::path(name).lexically_normal().generic_string());
    if (file == text.files.end()) throw Error(Category::input, "cannot-open", name);
    return {name, file->second};
  };
  try {
    const isa::Kernel again = kernels::assemble_kernel({text.main, text.files.at(text.main)}, saved.machine,
                                                       params_of(saved.kernel.header), std::move(options));
    return again.hash() == saved.kernel.hash() && again.header.name == saved.kernel.header.name;
  } catch (const Error&) {
    return false;  // an include by an absolute path
  }
}

// The text with what it includes, and the binary form where that text says it alone. Returns the file to run.
std::string add_kernel(OutputFolder& folder, const CaseToSave& saved) {
  const KernelText text = text_of(saved.kernel);
  for (const auto& [name, content] : text.files) folder.add(name, content);
  if (stands_alone(text, saved)) return text.main;
  const std::string binary = fmt::format("{}{}", kKernelFolder, kBinaryEnding);
  folder.add(binary, isa::encode(saved.kernel));
  return binary;
}

// --- tensors -------------------------------------------------------------------------------------

ordered_json add_tensors(OutputFolder& folder, const char* kind, const isa::KernelHeader& header,
                         const TensorBytes& tensors) {
  ordered_json files = ordered_json::object();
  for (const auto& [name, elements] : tensors) {
    const std::string file = fmt::format("{}/{}.npy", kind, name);
    folder.add(file, to_npy(tensor_of(header, name), elements));
    files[name] = file;
  }
  return files;
}

struct Expected {
  ExpectedFrom from = ExpectedFrom::nothing;
  TensorBytes tensors;
  std::string note;
};

Expected expected_of(const CaseToSave& saved) {
  Expected expected;
  if (saved.inputs.elements.empty() && saved.outputs == nullptr) {
    expected.note = "the run computed no values";
    return expected;
  }
  const isa::KernelHeader& header = saved.kernel.header;
  try {
    check_reference(header);
    expected.tensors = kernels::expected_bytes(header, saved.machine,
                                               {saved.inputs.elements.begin(), saved.inputs.elements.end()});
    expected.from = ExpectedFrom::reference;
    expected.note = "values of the reference operation, rounded to the type; 'run --case' applies its bounds";
    return expected;
  } catch (const Error& error) {
    if (error.category() != Category::input) throw;
    expected.note = error.message();
  }
  if (saved.outputs == nullptr) {
    expected.note += "; the run has not reached its end, so that there are no outputs either";
    return expected;
  }
  expected.from = ExpectedFrom::run;
  expected.tensors = *saved.outputs;
  expected.note += "; these are the outputs of this run";
  return expected;
}

// --- reading -------------------------------------------------------------------------------------

// Errors: those of the parser, for a value that is no object.
const ordered_json& object_at(const ordered_json& json, const char* key) {
  const ordered_json& value = json.at(key);
  value.get_ref<const ordered_json::object_t&>();
  return value;
}

std::map<std::string, std::string> files_of(const ordered_json& json, const char* key,
                                            const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : object_at(json, key).items())
    files.emplace(name, (folder / file.get<std::string>()).string());
  return files;
}

SavedCase from_json(const ordered_json& json, const fs::path& folder) {
  SavedCase saved;
  saved.kernel = (folder / json.at("kernel").get<std::string>()).string();
  saved.machine = (folder / json.at("machine").get<std::string>()).string();
  if (!is_binary(saved.kernel))
    for (const auto& [name, value] : object_at(json, "params").items())
      saved.params.emplace(name, value.get<std::int64_t>());
  for (const auto& [name, value] : object_at(json, "options").items())
    saved.options.emplace_back(name, value.get<std::string>());
  saved.inputs = files_of(json, kInputs, folder);
  saved.outputs = files_of(json, kOutputs, folder);
  saved.expected = files_of(json, kExpected, folder);
  const std::string from = json.at("expected_from").get<std::string>();
  const auto known = std::find(kFromNames.begin(), kFromNames.end(), from);
  if (known == kFromNames.end())
    throw Error(Category::input, "bad-case",
                fmt::format("{}: expected_from is '{}'", (folder / kCaseFile).string(), from));
  saved.from = static_cast<ExpectedFrom>(known - kFromNames.begin());
  const ordered_json& outcome = json.at("outcome");
  saved.outcome.status = outcome.at("status").get<int>();
  saved.outcome.code = outcome.at("code").get<std::string>();
  if (!outcome.at("cycles").is_null()) saved.outcome.cycles = outcome.at("cycles").get<std::uint64_t>();
  return saved;
}

std::string outcome_text(const Outcome& outcome) {
  return outcome.code.empty() ? fmt::format("status {}", outcome.status)
                              : fmt::format("status {} ({})", outcome.status, outcome.code);
}

}  // namespace

void add_case(OutputFolder& folder, const CaseToSave& saved) {
  const isa::KernelHeader& header = saved.kernel.header;
  ordered_json json = ordered_json::object();
  json["schema"] = kSchema;
  json["npulab_version"] = version();
  json["command"] = saved.command;
  json["kernel"] = add_kernel(folder, saved);
  json["machine"] = kMachineFile;
  folder.add(kMachineFile, config::to_yaml(saved.machine));
  json["params"] = ordered_json::object();
  for (const auto& [name, value] : params_of(header)) json["params"][name] = value;
  json["options"] = ordered_json::object();
  for (const Option* option : saved.options)
    if (saved.arguments.has(*option))
      json["options"][std::string(option->name)] = saved.arguments.value(*option);
  json[kInputs] = add_tensors(folder, kInputs, header, saved.inputs.elements);
  json[kOutputs] =
      add_tensors(folder, kOutputs, header, saved.outputs == nullptr ? TensorBytes{} : *saved.outputs);
  const Expected expected = expected_of(saved);
  json[kExpected] = add_tensors(folder, kExpected, header, expected.tensors);
  json["expected_from"] = kFromNames[static_cast<std::size_t>(expected.from)];
  json["expected_note"] = expected.note;
  const Outcome& outcome = saved.outcome;
  json["outcome"] = {{"status", outcome.status}, {"code", outcome.code}, {"message", outcome.message}};
  json["outcome"]["cycles"] = outcome.cycles ? ordered_json(*outcome.cycles) : ordered_json();
  folder.add(kCaseFile, json.dump(kIndent) + "\n");
  folder.add(kReplayFile, std::string_view(kReplay), true);
}

SavedCase read_case(const std::string& folder) {
  const std::string path = (fs::path(folder) / kCaseFile).string();
  const std::string text = read_file(path, kMostBytesOfCase);
  try {
    const ordered_json json = ordered_json::parse(text);
    if (json.at("schema") != kSchema)
      throw Error(Category::input, "bad-case",
                  fmt::format("{}: its schema is {}, and this npulab reads {}", path,
                              json.at("schema").dump(), kSchema));
    return from_json(json, folder);
  } catch (const ordered_json::exception& error) {
    throw Error(Category::input, "bad-case", fmt::format("{}: {}", path, error.what()));
  }
}

report::CheckResult check_saved(const SavedCase& saved, const Simulation& simulation) {
  const isa::KernelHeader& header = simulation.kernel().header;
  std::vector<kernels::ExpectedTensor> expected;
  for (const auto& [name, file] : saved.expected)
    expected.push_back(kernels::exactly(tensor_of(header, name), read_npy(file, tensor_of(header, name))));
  return check_outputs(simulation, expected, "the outputs of the saved run, bit for bit");
}

std::vector<std::string> changes(const SavedCase& saved, const Outcome& now, const Simulation& simulation) {
  std::vector<std::string> lines;
  const Outcome& then = saved.outcome;
  if (then.status == now.status && then.code == now.code)
    lines.push_back(fmt::format("the run ended as the saved one, with {}", outcome_text(now)));
  else
    lines.push_back(
        fmt::format("the saved run ended with {}, this one with {}", outcome_text(then), outcome_text(now)));
  if (then.cycles && now.cycles && *then.cycles != *now.cycles)
    lines.push_back(fmt::format("the saved run took {} cycles, this one {}", *then.cycles, *now.cycles));
  if (!now.cycles || saved.from == ExpectedFrom::run) return lines;
  for (const auto& [name, file] : saved.outputs) {
    const bool same = read_npy(file, tensor_of(simulation.kernel().header, name)) == simulation.output(name);
    lines.push_back(
        fmt::format("output {} {} that of the saved run", name, same ? "is bit for bit" : "differs from"));
  }
  return lines;
}

}  // namespace npulab::cli
