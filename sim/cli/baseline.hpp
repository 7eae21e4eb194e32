// SPDX-License-Identifier: Apache-2.0
// Results of `bench`, their JSON form, and their exact comparison.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/report.hpp"

namespace npulab::cli {

struct BenchResult {
  std::string name;
  std::string machine;
  std::uint64_t cycles = 0;
  double time_us = 0;
  std::uint64_t instructions = 0;
  std::uint64_t gm_read_bytes = 0;
  std::uint64_t gm_write_bytes = 0;
  double lower_bound_us = 0;
  std::string limited_by;
};

BenchResult result_of(const std::string& name, const report::Report& report);

nlohmann::ordered_json to_json(const std::vector<BenchResult>& results);

// Errors: input "bad-baseline" naming `path`: no JSON, not this schema, a key missing or of the wrong type.
std::vector<BenchResult> from_json(const std::string& text, const std::string& path);

// A line for every figure that differs, with both numbers and the ratio, and for every case that only one
// side has. Empty: all is equal.
std::vector<std::string> compare(const std::vector<BenchResult>& baseline,
                                 const std::vector<BenchResult>& now);

}  // namespace npulab::cli
