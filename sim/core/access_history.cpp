// SPDX-License-Identifier: Apache-2.0
#include "sim/core/access_history.hpp"

#include <algorithm>
#include <iterator>

namespace npulab::core {

// The first stretch that begins at or behind `at`; one that goes over it is cut in two there.
AccessHistory::Stretches::iterator AccessHistory::cut(std::uint64_t at) {
  const auto behind = stretches_.lower_bound(at);
  if (behind == stretches_.begin() || (behind != stretches_.end() && behind->first == at)) return behind;
  Stretch& over = std::prev(behind)->second;
  if (over.end <= at) return behind;
  Stretch right = over;
  over.end = at;
  return stretches_.emplace_hint(behind, at, std::move(right));
}

void AccessHistory::join_left(Stretches::iterator stretch) {
  if (stretch == stretches_.end() || stretch == stretches_.begin()) return;
  const auto left = std::prev(stretch);
  if (left->second.end != stretch->first || !left->second.same_history(stretch->second)) return;
  left->second.end = stretch->second.end;
  stretches_.erase(stretch);
}

// Readers that the new one comes after need not be remembered: who comes after it comes after them.
void AccessHistory::read(Stretch& stretch, const Access& access, const Ordered& ordered) {
  auto& readers = stretch.readers;
  readers.erase(std::remove_if(readers.begin(), readers.end(), ordered), readers.end());
  readers.push_back(access);
}

void AccessHistory::add(const Access& access, std::uint64_t first, std::uint64_t end, const Ordered& ordered,
                        const Found& found) {
  const auto look = [&](const Access& before, std::uint64_t from, std::uint64_t to) {
    if (before.stream != Access::kNobody && !ordered(before)) found(before, from, to);
  };
  const auto begin = cut(first);
  const auto behind = cut(end);
  if (access.write) {
    for (auto i = begin; i != behind; ++i) {
      look(i->second.writer, i->first, i->second.end);
      for (const Access& reader : i->second.readers) look(reader, i->first, i->second.end);
    }
    stretches_.erase(begin, behind);
    Stretch whole;
    whole.end = end;
    whole.writer = access;
    join_left(stretches_.emplace(first, std::move(whole)).first);
    return;
  }
  std::uint64_t at = first;
  for (auto i = begin; at < end;) {
    if (i == behind || i->first > at) {  // nobody was here before
      Stretch untouched;
      untouched.end = i == behind ? end : i->first;
      i = stretches_.emplace_hint(i, at, std::move(untouched));
    }
    look(i->second.writer, i->first, i->second.end);
    read(i->second, access, ordered);
    at = i->second.end;
    const auto here = i++;
    join_left(here);
  }
  join_left(behind);
}

}  // namespace npulab::core
