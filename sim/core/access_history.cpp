// SPDX-License-Identifier: Apache-2.0
#include "sim/core/access_history.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace npulab::core {

// Cuts a stretch that goes over `at` in two there.
void AccessHistory::cut(Stretches::iterator stretch, std::uint64_t at) {
  if (stretch->first >= at || stretch->second.end <= at) return;
  Stretch right = stretch->second;
  stretch->second.end = at;
  stretches_.emplace_hint(std::next(stretch), at, std::move(right));
}

// The first stretch that begins at or behind `at`; one that goes over it is cut in two there.
AccessHistory::Stretches::iterator AccessHistory::cut(std::uint64_t at) {
  const auto behind = stretches_.lower_bound(at);
  if (behind == stretches_.begin() || (behind != stretches_.end() && behind->first == at)) return behind;
  const auto over = std::prev(behind);
  cut(over, at);
  const auto next = std::next(over);
  return next;
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
  readers.erase(std::remove_if(readers.begin(), readers.end(), std::cref(ordered)), readers.end());
  readers.push_back(access);
}

void AccessHistory::add(const Access& access, std::uint64_t first, std::uint64_t end, const Ordered& ordered,
                        const Found& found) {
  const auto look = [&](const Access& before, std::uint64_t from, std::uint64_t to) {
    if (before.stream != Access::kNobody && !ordered(before)) found(before, from, to);
  };
  auto i = cut(first);
  if (access.write) {
    while (i != stretches_.end() && i->first < end) {
      cut(i, end);
      look(i->second.writer, i->first, i->second.end);
      for (const Access& reader : i->second.readers) look(reader, i->first, i->second.end);
      i = stretches_.erase(i);
    }
    Stretch whole;
    whole.end = end;
    whole.writer = access;
    join_left(stretches_.emplace_hint(i, first, std::move(whole)));
    return;
  }
  for (std::uint64_t at = first; at < end;) {
    if (i == stretches_.end() || i->first > at) {  // nobody was here before
      Stretch untouched;
      untouched.end = i == stretches_.end() ? end : std::min(end, i->first);
      i = stretches_.emplace_hint(i, at, std::move(untouched));
    }
    cut(i, end);
    look(i->second.writer, i->first, i->second.end);
    read(i->second, access, ordered);
    at = i->second.end;
    join_left(i++);
  }
  if (i != stretches_.end() && i->first == end) join_left(i);
}

}  // namespace npulab::core
