// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>

#include "sim/report/rows.hpp"

namespace npulab::report {

namespace {

using nlohmann::ordered_json;
using Counters = std::vector<std::pair<std::string, std::uint64_t>>;
using Texts = std::vector<std::pair<std::string, std::string>>;

// JSON knows neither NaN nor infinity, and no figure is either.
ordered_json value_of(double value, const std::string& key) {
  if (!std::isfinite(value))
    throw Error(Category::internal, "figure-not-finite", fmt::format("figure {} is {}", key, value));
  return value;
}

template <class Pairs>
ordered_json object_of(const Pairs& pairs) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : pairs) object[name] = value;
  return object;
}

template <class S, class Tuple>
void add_rows(ordered_json& object, const S& section, const Tuple& rows, const std::string& prefix);

template <HasRows S>
ordered_json value_of(const S& section, const std::string& key) {
  ordered_json object = ordered_json::object();
  add_rows(object, section, Rows<S>::list(), key + ".");
  return object;
}

template <HasRows S>
ordered_json value_of(const std::vector<S>& sections, const std::string& key) {
  ordered_json all = Named<S> ? ordered_json::object() : ordered_json::array();
  for (const S& section : sections) {
    if constexpr (Named<S>) {
      all[section.name] = value_of(section, key + "." + section.name);
    } else {
      all.push_back(value_of(section, key + "[]"));
    }
  }
  return all;
}

ordered_json value_of(const EngineCycles& cycles, const std::string&) {
  ordered_json object = ordered_json::object();
  for (const StallInfo& cause : kStalls)
    object[std::string(cause.name)] = cycles.stall[static_cast<std::size_t>(cause.stall)];
  return object;
}

ordered_json value_of(const Counters& counters, const std::string&) {
  return object_of(counters);
}
ordered_json value_of(const Texts& texts, const std::string&) {
  return object_of(texts);
}
ordered_json value_of(const std::map<std::string, std::int64_t>& map, const std::string&) {
  return object_of(map);
}
ordered_json value_of(const std::vector<std::uint64_t>& numbers, const std::string&) {
  return numbers;
}
ordered_json value_of(const AnyNumber& number, const std::string&) {
  if (std::isfinite(number.value)) return number.value;
  return std::isnan(number.value) ? "nan" : number.value > 0 ? "inf" : "-inf";
}
ordered_json value_of(const std::optional<double>& value, const std::string& key) {
  return value ? value_of(*value, key) : ordered_json();
}
ordered_json value_of(const std::string& text, const std::string&) {
  return text;
}
ordered_json value_of(const ordered_json& json, const std::string&) {
  return json;
}
ordered_json value_of(std::uint64_t value, const std::string&) {
  return value;
}
ordered_json value_of(std::uint32_t value, const std::string&) {
  return value;
}
ordered_json value_of(bool value, const std::string&) {
  return value;
}

template <class S, class Tuple>
void add_rows(ordered_json& object, const S& section, const Tuple& rows, const std::string& prefix) {
  for_each_row(rows, [&](const auto& one) {
    const std::string key(one.key);
    const bool known = one.stated == nullptr || one.stated(section);
    object[key] = known ? value_of(section.*one.member, prefix + key) : ordered_json();
  });
}

}  // namespace

ordered_json to_json(const Report& report, bool with_host) {
  ordered_json object = ordered_json::object();
  object[std::string(kSchemaKey)] = std::string(kSchema);
  add_rows(object, report, Rows<Report>::list(), "");
  if (with_host) {
    ordered_json host = ordered_json::object();
    add_rows(host, report, host_rows(), std::string(kHostKey) + ".");
    object[std::string(kHostKey)] = host;
  }
  return object;
}

}  // namespace npulab::report
