// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/launch.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <span>
#include <system_error>

#include "isa/binary.hpp"
#include "isa/error.hpp"
#include "kernels/library.hpp"
#include "sim/cli/files.hpp"

namespace npulab::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytesOfBinary = std::uint64_t{64} << 20;

}  // namespace

bool is_binary(const std::string& path) {
  if (fs::path(path).extension() == kBinaryEnding) return true;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const File file = open_to_read(path);
  std::string magic(isa::kBinaryMagic.size(), '\0');
  magic.resize(std::fread(magic.data(), 1, magic.size(), file.get()));
  return magic == isa::kBinaryMagic;
}

isa::Kernel load_binary(const std::string& path) {
  const std::string bytes = read_file(path, kMostBytesOfBinary);
  return isa::decode(std::as_bytes(std::span(bytes.data(), bytes.size())), path);
}

isa::Kernel load_kernel(const std::string& name_or_file, const config::Machine& machine,
                        const isa::ParamValues& params, Host& host) {
  if (!is_binary(name_or_file))
    return kernels::assemble_kernel(name_or_file, {host.data().kernels}, machine, params);
  if (!params.empty())
    throw Error(Category::input, "fixed-parameters",
                fmt::format("-{} {}: {} is a binary, whose parameters were fixed when it was assembled",
                            kParam.letter, params.begin()->first, name_or_file));
  return load_binary(name_or_file);
}

}  // namespace npulab::cli
