// SPDX-License-Identifier: Apache-2.0
#include "sim/config/problems.hpp"

#include <fmt/core.h>

namespace npulab::config {

namespace {

constexpr std::size_t kMostProblems = 20;

std::string line_of(const Problem& problem) {
  return problem.path.empty() ? problem.message : problem.path + ": " + problem.message;
}

}  // namespace

void Problems::throw_if_any() const {
  if (list_.empty()) return;
  std::string message = line_of(list_.front());
  for (std::size_t i = 1; i < list_.size() && i < kMostProblems; ++i)
    message += fmt::format("\n{}: {}", to_string(list_[i].where), line_of(list_[i]));
  if (list_.size() > kMostProblems) message += fmt::format("\nand {} more", list_.size() - kMostProblems);
  throw Error(Category::input, list_.front().code, message, list_.front().where);
}

}  // namespace npulab::config
