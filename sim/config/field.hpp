// SPDX-License-Identifier: Apache-2.0
// One Field per key of a machine file: key, member, unit, legal range, sentence. Loader, validation,
// defaults, units, JSON schema, reference page, echo and Python attributes are all derived from the tables
// made of these.
#pragma once

#include <limits>
#include <string_view>

namespace npulab::config {

template <class Struct, class Member>
struct Field {
  std::string_view key;
  Member Struct::*member;
  std::string_view unit;  // "" where the value has none
  double min;             // numbers only; both ends are legal
  double max;
  std::string_view doc;
  bool required;  // true: no default, the machine file (or what it extends) must say it
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A number with its range.
template <class S, class M>
constexpr Field<S, M> number(std::string_view key, M S::*member, std::string_view unit, double min,
                             double max, std::string_view doc) {
  return {key, member, unit, min, max, doc, false};
}

// Text, a choice, a list, a section, or a map of named sections.
template <class S, class M>
constexpr Field<S, M> value(std::string_view key, M S::*member, std::string_view doc) {
  return {key, member, "", 0, 0, doc, false};
}

// A section that a machine may leave out: then the device has no such part, and the members are at rest.
template <class Part>
struct Optional : Part {
  Optional() = default;
  bool present = false;
};

template <class S, class M>
constexpr Field<S, M> required(Field<S, M> field) {
  field.required = true;
  return field;
}

}  // namespace npulab::config
