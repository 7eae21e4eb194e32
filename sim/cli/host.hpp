// SPDX-License-Identifier: Apache-2.0
// What commands share: the data folders, the streams, and how values of options are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/assembler.hpp"
#include "sim/cli/command.hpp"
#include "sim/config/load.hpp"
#include "sim/data_folders.hpp"

namespace npulab::cli {

inline constexpr std::string_view kProgramName = "npulab";

class Host {
 public:
  explicit Host(std::vector<std::filesystem::path> data_candidates)
      : candidates_(std::move(data_candidates)) {}

  // Errors: those of find_data_folders.
  const DataFolders& data();

  // To standard output. Errors: input "cannot-write".
  void print(std::string_view text) const;
  // To standard error, "npulab: note: …".
  void note(std::string_view text) const;

 private:
  std::vector<std::filesystem::path> candidates_;
  std::optional<DataFolders> data_;
};

// Options that several commands have.
inline constexpr Option kMachine{"machine", '\0', "NAME|FILE", "the machine (default: ascend910_opsblas)"};
inline constexpr std::string_view kDefaultMachine = "ascend910_opsblas";
inline constexpr Option kSet{"set", '\0', "KEY=VALUE",
                             "overrides a key of the machine, such as gm.model=ideal; repeatable", true};
inline constexpr Option kParam{"param", 'D', "PARAM=VALUE", "sets a parameter of the kernel; repeatable",
                               true};
inline constexpr Option kJson{"json", '\0', "FILE|-",
                              "writes the result as JSON; '-' is standard output, in place of the text"};
inline constexpr std::string_view kStandardOutput = "-";

// "NAME=VALUE" at its first '='. Errors: input "bad-option" naming the option.
std::pair<std::string, std::string> split(const Option& option, const std::string& text);

// Errors: input "bad-option" unless `text` is a decimal integer in min…max.
std::uint64_t number(const Option& option, const std::string& text, std::uint64_t min, std::uint64_t max);

// -D values. Errors: input "bad-option": no integer, a parameter twice.
isa::ParamValues parameters(const Arguments& arguments);

// The machine of --machine and --set.
config::Machine machine_of(const Arguments& arguments, Host& host);
config::Machine load(const std::string& name_or_file, const std::vector<std::string>& settings, Host& host);

// Aligned columns, two blanks before and between them; the last is left as it is.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace npulab::cli
