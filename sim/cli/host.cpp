// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/host.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <system_error>

#include "isa/error.hpp"

namespace npulab::cli {

namespace {

template <class T>
bool parse_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc{} && result.ptr == end && !text.empty();
}

}  // namespace

const DataFolders& Host::data() {
  if (!data_) data_ = find_data_folders(candidates_);
  return *data_;
}

void Host::print(std::string_view text) const {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(Category::input, "cannot-write",
                fmt::format("cannot write to standard output: {}", std::generic_category().message(errno)));
}

void Host::note(std::string_view text) const {
  fmt::print(stderr, "{}: note: {}\n", kProgramName, text);
}

std::pair<std::string, std::string> split(const Option& option, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    throw Error(Category::input, "bad-option",
                fmt::format("{} {}: write {}", written(option), text, option.value));
  return {text.substr(0, at), text.substr(at + 1)};
}

std::uint64_t number(const Option& option, const std::string& text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t value = 0;
  if (!parse_whole(text, value) || value < min || value > max)
    throw Error(Category::input, "bad-option",
                fmt::format("{} {}: expects an integer from {} to {}", written(option), text, min, max));
  return value;
}

isa::ParamValues parameters(const Arguments& arguments) {
  isa::ParamValues values;
  for (const std::string& text : arguments.values(kParam)) {
    const auto [name, value] = split(kParam, text);
    std::int64_t parsed = 0;
    if (!parse_whole(value, parsed))
      throw Error(Category::input, "bad-option",
                  fmt::format("{} {}: '{}' is no decimal integer of 64 bits", written(kParam), text, value));
    if (!values.emplace(name, parsed).second)
      throw Error(Category::input, "bad-option",
                  fmt::format("{} {}: parameter {} is given twice, first as {}", written(kParam), text, name,
                              values.at(name)));
  }
  return values;
}

config::Machine load(const std::string& name_or_file, const std::vector<std::string>& settings, Host& host) {
  config::LoadOptions options;
  options.set = settings;
  options.search = {host.data().machines};
  return config::load_machine(name_or_file, options);
}

config::Machine machine_of(const Arguments& arguments, Host& host) {
  return load(arguments.value(kMachine, kDefaultMachine), arguments.values(kSet), host);
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& cells : rows) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const auto& cells : rows) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += "  " + cells[i] + (i + 1 < cells.size() ? std::string(widths[i] - cells[i].size(), ' ') : "");
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace npulab::cli
