// SPDX-License-Identifier: Apache-2.0
#include "isa/error.hpp"

#include <algorithm>
#include <utility>

namespace npulab {

int exit_status(Category category) {
  switch (category) {
    case Category::input:
      return 2;
    case Category::verdict:
      return 1;
    case Category::stall:
      return 3;
    case Category::internal:
      return 4;
  }
  return 4;
}

std::string to_string(const Where& where) {
  std::string text = where.file;
  if (where.line > 0) text += ":" + std::to_string(where.line);
  if (where.line > 0 && where.column > 0) text += ":" + std::to_string(where.column);
  if (!where.from.empty()) text += " (from " + where.from + ")";
  return text;
}

namespace {

std::string placed(const std::string& message, const Where& where) {
  const std::string place = to_string(where);
  return place.empty() ? message : place + ": " + message;
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

constexpr std::size_t kLongestCompared = 64;

}  // namespace

Error::Error(Category category, std::string code, std::string message, Where where)
    : std::runtime_error(placed(message, where)),
      category_(category),
      code_(std::move(code)),
      message_(std::move(message)),
      where_(std::move(where)) {}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongestCompared) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string near = nearest(word, candidates);
  if (!near.empty()) return "; did you mean '" + near + "'?";
  if (candidates.empty()) return {};
  std::string text = "; known: ";
  constexpr std::size_t kMostNames = 12;
  for (std::size_t i = 0; i < candidates.size() && i < kMostNames; ++i)
    text += (i == 0 ? "" : ", ") + candidates[i];
  if (candidates.size() > kMostNames) text += ", …";
  return text;
}

}  // namespace npulab
