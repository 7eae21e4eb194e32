// SPDX-License-Identifier: Apache-2.0
// A run as a folder that holds all that it depends on, and what came of it: --save-case and --case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/output_folder.hpp"
#include "sim/cli/tensor_data.hpp"
#include "sim/report/report.hpp"
#include "sim/simulation.hpp"

namespace npulab::cli {

inline constexpr Option kSaveCase{
    "save-case", '\0', "DIR",
    "writes all that the run depends on, and what came of it, to a new folder, also when the run fails"};
inline constexpr Option kCase{"case", '\0', "DIR",
                              "repeats a saved run, in place of KERNEL and its options, and compares"};

// How a run ended.
struct Outcome {
  int status = 0;
  std::string code;     // of the error or of the first finding that is one; empty: none
  std::string message;  // likewise
  std::optional<std::uint64_t> cycles;
};

using TensorBytes = std::map<std::string, std::vector<std::byte>>;

struct CaseToSave {
  const isa::Kernel& kernel;
  const config::Machine& machine;
  const Arguments& arguments;
  // Those of the arguments that a case keeps; the rest of what a run depends on stands in files.
  std::vector<const Option*> options;
  std::string command;  // that ran
  const Inputs& inputs;
  const TensorBytes* outputs = nullptr;  // null: the run has none
  Outcome outcome;
};

// Puts every file of the case into the folder. Errors: those of OutputFolder.
void add_case(OutputFolder& folder, const CaseToSave& saved);

enum class ExpectedFrom : std::uint8_t { nothing, reference, run };

struct SavedCase {
  std::string kernel;  // files, as paths
  std::string machine;
  isa::ParamValues params;
  std::vector<std::pair<std::string, std::string>> options;  // name and value
  std::map<std::string, std::string> inputs;                 // tensor and file
  std::map<std::string, std::string> outputs;
  std::map<std::string, std::string> expected;
  ExpectedFrom from = ExpectedFrom::nothing;
  Outcome outcome;
};

// Errors: input "cannot-open", "bad-case" (what is wrong with case.json).
SavedCase read_case(const std::string& folder);

// The outputs against those of the saved run, bit for bit. Errors: those of read_npy.
report::CheckResult check_saved(const SavedCase& saved, const Simulation& simulation);

// What became of the saved run, a line each, for people.
std::vector<std::string> changes(const SavedCase& saved, const Outcome& now, const Simulation& simulation);

}  // namespace npulab::cli
