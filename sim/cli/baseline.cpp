// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/baseline.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "isa/error.hpp"

namespace npulab::cli {

namespace {

using nlohmann::ordered_json;

constexpr char kSchema[] = "npulab-bench-1";
constexpr char kSchemaKey[] = "schema";
constexpr char kCasesKey[] = "cases";

template <class M>
struct Field {
  const char* key;
  M BenchResult::*member;
};
template <class M>
constexpr Field<M> field(const char* key, M BenchResult::*member) {
  return {key, member};
}

// What is kept and compared of a case.
constexpr auto fields() {
  using T = BenchResult;
  return std::tuple{field("cycles", &T::cycles),
                    field("time_us", &T::time_us),
                    field("instructions", &T::instructions),
                    field("gm_read_bytes", &T::gm_read_bytes),
                    field("gm_write_bytes", &T::gm_write_bytes),
                    field("lower_bound_us", &T::lower_bound_us),
                    field("machine", &T::machine),
                    field("limited_by", &T::limited_by)};
}

template <class Visitor>
void for_each_field(Visitor&& visit) {
  std::apply([&](const auto&... one) { (visit(one), ...); }, fields());
}

const BenchResult* find(const std::vector<BenchResult>& results, const std::string& name) {
  const auto found =
      std::find_if(results.begin(), results.end(), [&](const BenchResult& r) { return r.name == name; });
  return found == results.end() ? nullptr : &*found;
}

template <class M>
std::string difference(const M& before, const M& after) {
  std::string text = fmt::format("{} -> {}", before, after);
  if constexpr (std::is_arithmetic_v<M>) {
    if (before > 0)
      text += fmt::format(", x {:.6g}", static_cast<double>(after) / static_cast<double>(before));
  }
  return text;
}

}  // namespace

BenchResult result_of(const std::string& name, const report::Report& report) {
  BenchResult result;
  result.name = name;
  result.machine = report.machine;
  result.cycles = report.cycles;
  result.time_us = report.time_us;
  result.instructions = report.instructions;
  result.gm_read_bytes = report.memories.front().read_bytes;
  result.gm_write_bytes = report.memories.front().write_bytes;
  result.lower_bound_us = report.bound.lower_bound_us;
  result.limited_by = report.bound.limited_by;
  return result;
}

ordered_json to_json(const std::vector<BenchResult>& results) {
  ordered_json cases = ordered_json::object();
  for (const BenchResult& result : results) {
    ordered_json one = ordered_json::object();
    for_each_field([&](const auto& f) { one[f.key] = result.*f.member; });
    cases[result.name] = std::move(one);
  }
  return {{kSchemaKey, kSchema}, {kCasesKey, std::move(cases)}};
}

std::vector<BenchResult> from_json(const std::string& text, const std::string& path) {
  const auto refuse = [&](const std::string& reason) {
    throw Error(Category::input, "bad-baseline",
                fmt::format("{}: {}; --update writes it anew", path, reason));
  };
  std::vector<BenchResult> results;
  try {
    const ordered_json json = ordered_json::parse(text);
    if (json.at(kSchemaKey) != kSchema) refuse(fmt::format("its schema is not {}", kSchema));
    for (const auto& [name, one] : json.at(kCasesKey).items()) {
      BenchResult result;
      result.name = name;
      for_each_field([&, &from = one](const auto& f) { from.at(f.key).get_to(result.*f.member); });
      results.push_back(std::move(result));
    }
  } catch (const ordered_json::exception& error) {
    refuse(error.what());
  }
  return results;
}

std::vector<std::string> compare(const std::vector<BenchResult>& baseline,
                                 const std::vector<BenchResult>& now) {
  std::vector<std::string> lines;
  for (const BenchResult& after : now) {
    const BenchResult* before = find(baseline, after.name);
    if (before == nullptr) {
      lines.push_back(fmt::format("{}: not in the baseline ({} cycles)", after.name, after.cycles));
      continue;
    }
    for_each_field([&](const auto& f) {
      if (!(before->*f.member == after.*f.member))
        lines.push_back(
            fmt::format("{}: {} {}", after.name, f.key, difference(before->*f.member, after.*f.member)));
    });
  }
  for (const BenchResult& before : baseline)
    if (find(now, before.name) == nullptr)
      lines.push_back(
          fmt::format("{}: in the baseline ({} cycles), not in the suite", before.name, before.cycles));
  return lines;
}

}  // namespace npulab::cli
