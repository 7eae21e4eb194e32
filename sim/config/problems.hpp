// SPDX-License-Identifier: Apache-2.0
// What is wrong with a machine file, collected so that one message lists all of it.
#pragma once

#include <string>
#include <vector>

#include "isa/error.hpp"

namespace npulab::config {

struct Problem {
  std::string code;     // kebab-case kind, as in Error
  std::string path;     // key path, "core_types.core.count"
  std::string message;  // value, rule, nearest right spelling
  Where where;          // file, line, column; or file = "--set key=value"
};

class Problems {
 public:
  void add(Problem problem) { list_.push_back(std::move(problem)); }
  bool empty() const { return list_.empty(); }
  const std::vector<Problem>& list() const { return list_; }
  // Throws one input error with the code and place of the first problem and a line for each of the first 20.
  void throw_if_any() const;

 private:
  std::vector<Problem> list_;
};

}  // namespace npulab::config
