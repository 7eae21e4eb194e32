// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/tensor_data.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>

#include "isa/error.hpp"
#include "sim/cli/host.hpp"
#include "sim/cli/npy.hpp"
#include "sim/values/generate.hpp"

namespace npulab::cli {

namespace {

constexpr std::string_view kNpyEnding = ".npy";

std::uint64_t dense_bytes(const isa::Tensor& tensor) {
  return (tensor.elements() * isa::bits(tensor.type) + 7) / 8;
}

// The tensor that an option names. `wrong`: the direction that the option is not for.
const isa::Tensor& tensor_named(const Option& option, const std::string& text, const std::string& name,
                                const isa::KernelHeader& header, isa::Direction wrong) {
  std::vector<std::string> names;
  for (const isa::Tensor& tensor : header.tensors) {
    if (tensor.direction != wrong) names.push_back(tensor.name);
    if (tensor.name != name) continue;
    if (tensor.direction == wrong)
      throw Error(Category::input, wrong == isa::Direction::out ? "not-an-input" : "not-an-output",
                  fmt::format("{} {}: kernel {} only {} tensor {}", written(option), text, header.name,
                              wrong == isa::Direction::out ? "writes" : "reads", name));
    return tensor;
  }
  throw Error(Category::input, "unknown-tensor",
              fmt::format("{} {}: kernel {} has no tensor '{}'{}", written(option), text, header.name, name,
                          suggestion(name, names)));
}

std::map<std::string, std::string> by_tensor(const Option& option, const std::vector<std::string>& given,
                                             const isa::KernelHeader& header, isa::Direction wrong) {
  std::map<std::string, std::string> values;
  for (const std::string& text : given) {
    const auto [name, value] = split(option, text);
    tensor_named(option, text, name, header, wrong);
    const auto [known, added] = values.emplace(name, value);
    if (!added)
      throw Error(Category::input, "bad-option",
                  fmt::format("{} {}: tensor {} is given twice, first as {}", written(option), text, name,
                              known->second));
  }
  return values;
}

// FNV-1a over the elements, so that a report says which data a file held.
std::uint64_t fingerprint(const std::vector<std::byte>& elements) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte one : elements) hash = (hash ^ std::to_integer<std::uint64_t>(one)) * 0x100000001b3U;
  return hash;
}

std::vector<std::byte> made(const isa::Tensor& tensor, const std::string& data) {
  std::vector<std::byte> elements(dense_bytes(tensor));
  try {
    values::fill(tensor.type, elements.data(), tensor.elements(), data);
  } catch (const Error& error) {
    const bool unknown = error.code() == "unknown-data";
    throw Error(error.category(), error.code(),
                fmt::format("--{} {}={}: {}{}", kIn.name, tensor.name, data, error.message(),
                            unknown ? fmt::format(" (a file ends in {})", kNpyEnding) : ""));
  }
  return elements;
}

// What an allocation of this size fails with is said with the size.
std::vector<std::byte> elements_of(const isa::Tensor& tensor, const std::string& data) {
  try {
    return is_npy_file(data) ? read_npy(data, tensor) : made(tensor, data);
  } catch (const std::bad_alloc&) {
    throw Error(
        Category::input, "not-enough-memory",
        fmt::format("the {} bytes of tensor {} do not fit into the host memory that npulab may use; a run "
                    "with --timing-only needs none of them",
                    dense_bytes(tensor), tensor.name));
  }
}

}  // namespace

bool is_npy_file(const std::string& data) {
  return data.size() >= kNpyEnding.size() &&
         data.compare(data.size() - kNpyEnding.size(), kNpyEnding.size(), kNpyEnding) == 0;
}

HelpTable data_table() {
  HelpTable table{"DATA of an input", {}};
  table.rows.emplace_back(fmt::format("FILE{}", kNpyEnding), "a NumPy file of the tensor's type and shape");
  for (const values::DataKind& kind : values::data_kinds()) table.rows.emplace_back(kind.usage, kind.meaning);
  return table;
}

std::vector<std::pair<std::string, std::string>> input_data(const std::vector<std::string>& given,
                                                            const isa::KernelHeader& header) {
  const std::map<std::string, std::string> named = by_tensor(kIn, given, header, isa::Direction::out);
  std::vector<std::pair<std::string, std::string>> data;
  for (std::size_t i = 0; i < header.tensors.size(); ++i) {
    const isa::Tensor& tensor = header.tensors[i];
    if (tensor.direction == isa::Direction::out) continue;
    const auto found = named.find(tensor.name);
    data.emplace_back(tensor.name, found != named.end() ? found->second : fmt::format("random:{}", i + 1));
  }
  return data;
}

Inputs make_inputs(const std::vector<std::pair<std::string, std::string>>& data,
                   const isa::KernelHeader& header) {
  Inputs inputs;
  for (const auto& [name, what] : data) {
    const auto tensor =
        std::find_if(header.tensors.begin(), header.tensors.end(),
                     [&, &wanted = name](const isa::Tensor& one) { return one.name == wanted; });
    std::vector<std::byte> elements = elements_of(*tensor, what);
    inputs.descriptions.emplace_back(
        name, is_npy_file(what) ? fmt::format("{} (fnv1a {:016x})", what, fingerprint(elements)) : what);
    inputs.elements.emplace(name, std::move(elements));
  }
  return inputs;
}

std::vector<std::pair<std::string, OutputFile>> output_files(const std::vector<std::string>& given,
                                                             const isa::KernelHeader& header) {
  std::vector<std::pair<std::string, OutputFile>> files;
  for (const auto& [name, path] : by_tensor(kOut, given, header, isa::Direction::in)) {
    if (!is_npy_file(path) && path.rfind("/dev/", 0) != 0)
      throw Error(Category::input, "bad-option",
                  fmt::format("--{} {}={}: tensors are written as NumPy files; the name must end in {}",
                              kOut.name, name, path, kNpyEnding));
    files.emplace_back(name, OutputFile(path));
  }
  return files;
}

void check_memory(const isa::KernelHeader& header) {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  const std::uint64_t have = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  std::uint64_t need = 0;
  std::string list;
  for (const isa::Tensor& tensor : header.tensors) {
    const std::uint64_t bytes = dense_bytes(tensor);
    if (__builtin_add_overflow(need, bytes, &need)) need = std::numeric_limits<std::uint64_t>::max();
    list += fmt::format("\n  {} {} bytes", tensor.name, bytes);
  }
  if (need > have)
    throw Error(
        Category::input, "not-enough-memory",
        fmt::format("the values of the tensors need {} bytes of host memory, and this computer has {}; a "
                    "run holds them all in it, with --timing-only none of them:{}",
                    need, have, list));
}

}  // namespace npulab::cli
