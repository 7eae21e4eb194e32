// SPDX-License-Identifier: Apache-2.0
// The JSON form: keys that others rely on, null for the unknown, one table for keys and definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/model/report_support.hpp"

namespace npulab::report {
namespace {

using nlohmann::ordered_json;
using test::sound_report;

const ordered_json& at(const ordered_json& json, const std::string& path) {
  return json.at(ordered_json::json_pointer(path));
}

TEST(ReportJson, HasTheKeysThatOthersRelyOn) {
  const ordered_json json = to_json(sound_report());
  EXPECT_EQ(at(json, "/schema"), kSchema);
  EXPECT_EQ(at(json, "/npulab_version"), "0.0.0");
  EXPECT_EQ(at(json, "/kernel"), "gemv/example");
  EXPECT_EQ(at(json, "/machine"), "tiny");
  EXPECT_EQ(at(json, "/params/K"), 4096);
  EXPECT_EQ(at(json, "/cycles"), 2'000'000);
  EXPECT_EQ(at(json, "/time_us"), 2000.0);
  EXPECT_EQ(at(json, "/instructions"), 1234);
  EXPECT_EQ(at(json, "/flops"), 50'000'000);
  EXPECT_EQ(at(json, "/bound/lower_bound_us"), 1000.0);
  EXPECT_EQ(at(json, "/bound/limited_by"), "gm bandwidth");
  EXPECT_EQ(at(json, "/memory/gm/read_bytes"), 99'000'000);
  EXPECT_EQ(at(json, "/memory/gm/write_bytes"), 1'000'000);
  EXPECT_EQ(at(json, "/memory/gm/bandwidth_gbps"), 50.0);
  EXPECT_EQ(at(json, "/memory/gm/peak_gbps"), 100.0);
  EXPECT_EQ(at(json, "/memory/gm/utilization"), 0.5);
  EXPECT_EQ(at(json, "/engines/vector/busy_cycles"), 3'000'000);
  EXPECT_EQ(at(json, "/engines/vector/idle_cycles"), 500'000);
  EXPECT_EQ(at(json, "/engines/vector/stall_cycles/flag"), 500'000);
  EXPECT_EQ(at(json, "/engines/vector/stall_cycles").size(), kStallCount);
  EXPECT_EQ(at(json, "/engines/vector/utilization"), 0.75);
  EXPECT_EQ(at(json, "/check/passed"), false);
  EXPECT_EQ(at(json, "/check/max_ulp"), 3.5);
  EXPECT_EQ(at(json, "/check/max_ulp_bound"), 7.5);
  EXPECT_EQ(at(json, "/check/closest/where"), "y[3]");
  EXPECT_EQ(at(json, "/check/closest/error"), 0.25);
  EXPECT_EQ(at(json, "/check/closest/bound"), 0.2);
  EXPECT_EQ(at(json, "/hot_spots/0/file"), "parts.inc");
  EXPECT_EQ(at(json, "/hot_spots/0/line"), 12);
  EXPECT_EQ(at(json, "/check/max_abs_error"), 0.25);
  EXPECT_EQ(at(json, "/check/max_relative_error"), 0.125);
  EXPECT_EQ(at(json, "/check/effective_bits"), 9.25);
  EXPECT_EQ(at(json, "/check/mismatches"), 2);
  EXPECT_EQ(at(json, "/check/outputs/y/unwritten_bytes"), 4);
  EXPECT_EQ(at(json, "/check/worst/0/tensor"), "y");
  EXPECT_EQ(at(json, "/check/worst/0/index"), (std::vector<int>{3, 5}));
  EXPECT_EQ(at(json, "/check/worst/0/got"), 1.0);
  EXPECT_EQ(at(json, "/check/worst/0/expected"), 2.0);
  EXPECT_EQ(at(json, "/check/worst/0/ulp"), 512.0);
  EXPECT_EQ(at(json, "/check/worst/0/relative"), 0.5);
  EXPECT_TRUE(at(json, "/check/worst/0/got_bits").is_null());
  EXPECT_EQ(at(json, "/check/worst/1/got_bits"), "0x3c00");
  EXPECT_EQ(at(json, "/diagnostics/0/severity"), "warning");
  EXPECT_EQ(at(json, "/diagnostics/0/code"), "never-written");
  EXPECT_EQ(at(json, "/diagnostics/0/message"), "y was not written");
  EXPECT_EQ(at(json, "/diagnostics/0/where"), "kernel.npu:7");
}

TEST(ReportJson, UnknownFiguresAreNullAndNever0) {
  Report report = sound_report();
  report.check = {};
  const ordered_json json = to_json(report);
  EXPECT_TRUE(at(json, "/memory/ub/peak_gbps").is_null());
  EXPECT_TRUE(at(json, "/memory/ub/utilization").is_null());
  EXPECT_TRUE(at(json, "/memory/ub/bus_occupancy").is_null());
  EXPECT_EQ(at(json, "/check/requested"), false);
  EXPECT_TRUE(at(json, "/check/passed").is_null());
  EXPECT_TRUE(at(json, "/check/mismatches").is_null());
  EXPECT_TRUE(at(json, "/check/closest").is_null());
  report.check = sound_report().check;
  report.check.max_ulp_bound = report.check.closest.bound = std::numeric_limits<double>::infinity();
  const ordered_json unbounded = to_json(report);
  EXPECT_TRUE(at(unbounded, "/check/max_ulp_bound").is_null());
  EXPECT_TRUE(at(unbounded, "/check/closest/bound").is_null());
}

TEST(ReportJson, WhatAWrongElementHoldsMayBeNoNumber) {
  Report report = sound_report();
  WrongElement& wrong = report.check.worst[0];
  wrong.got.value = std::numeric_limits<double>::quiet_NaN();
  wrong.expected.value = -std::numeric_limits<double>::infinity();
  wrong.bound = std::numeric_limits<double>::infinity();
  wrong.ulp = wrong.relative = std::nullopt;
  const ordered_json json = to_json(report).at("check").at("worst").at(0);
  EXPECT_EQ(json.at("got"), "nan");
  EXPECT_EQ(json.at("expected"), "-inf");
  for (const char* key : {"bound", "ulp", "relative"}) EXPECT_TRUE(json.at(key).is_null()) << key;
  EXPECT_EQ(ordered_json::parse(json.dump()), json);
}

TEST(ReportJson, SY_13_a_run_without_an_end_has_no_figures) {
  Report report = sound_report();
  report.ended = false;
  const ordered_json json = to_json(report);
  EXPECT_EQ(json.at("ended"), false);
  for (const char* key : {"cores", "cycles", "time_us", "dispatch_us", "instructions", "flops", "gflops",
                          "intensity", "bound", "memory", "engines", "hot_spots", "regions", "check"})
    EXPECT_TRUE(json.at(key).is_null()) << key;
  EXPECT_EQ(at(json, "/kernel"), "gemv/example");
  EXPECT_EQ(at(json, "/diagnostics/0/code"), "never-written");
  EXPECT_TRUE(at(json, "/host/seconds").is_null());
}

TEST(ReportJson, HostSectionIsLastAndCanBeLeftOut) {
  const ordered_json with = to_json(sound_report());
  EXPECT_EQ(std::prev(with.end()).key(), "host");
  EXPECT_EQ(at(with, "/host/seconds"), 0.5);
  ordered_json without = to_json(sound_report(), false);
  EXPECT_FALSE(without.contains("host"));
  without["host"] = with.at("host");
  EXPECT_EQ(without, with);
}

TEST(ReportJson, NumbersAreReadBackExactly) {
  Report report = sound_report();
  report.intensity = 0.1 + 0.2;
  report.flops = std::numeric_limits<std::uint64_t>::max();
  report.dispatch_us = std::nextafter(1.0, 2.0);
  const auto json = ordered_json::parse(to_json(report).dump());
  EXPECT_EQ(json.at("intensity").get<double>(), 0.1 + 0.2);
  EXPECT_EQ(json.at("flops").get<std::uint64_t>(), report.flops);
  EXPECT_EQ(json.at("dispatch_us").get<double>(), report.dispatch_us);
}

TEST(ReportJson, FiguresThatAreNotFiniteAreAnInternalErrorThatNamesThem) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Report report = sound_report();
    report.memories[1].bandwidth_gbps = bad;
    try {
      to_json(report);
      FAIL() << "accepted " << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::internal);
      EXPECT_NE(error.message().find("memory.ub.bandwidth_gbps"), std::string::npos) << error.message();
    }
  }
}

// The key of the table that a leaf belongs to: names and list indices become NAME and [].
bool fits(std::string_view pattern, const std::vector<std::string>& path) {
  std::size_t at = 0;
  for (std::size_t begin = 0; begin <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('.', begin), pattern.size());
    std::string part(pattern.substr(begin, end - begin));
    begin = end + 1;
    const bool list = part.size() > 2 && part.substr(part.size() - 2) == "[]";
    if (list) part.resize(part.size() - 2);
    if (at == path.size() || (part != "NAME" && part != path[at])) return false;
    ++at;
    if (list && (at == path.size() || path[at++] != "[]")) return false;
  }
  return at == path.size();
}

void leaves(const ordered_json& json, std::vector<std::string>& path,
            std::set<std::vector<std::string>>& out) {
  const bool opaque = path.size() == 1 && path.front() == "resolved_machine";
  if (json.is_structured() && !opaque) {
    for (auto item = json.begin(); item != json.end(); ++item) {
      path.push_back(json.is_array() ? "[]" : item.key());
      leaves(*item, path, out);
      path.pop_back();
    }
  } else {
    out.insert(path);
  }
}

TEST(ReportFigures, AreTheLeavesOfAReportAndNoMore) {
  std::set<std::vector<std::string>> found;
  std::vector<std::string> path;
  leaves(to_json(sound_report()), path, found);
  std::set<std::string_view> used;
  for (const std::vector<std::string>& leaf : found) {
    std::string name;
    for (const std::string& part : leaf) name += part + " ";
    int matches = 0;
    for (const Figure& figure : figures()) {
      if (!fits(figure.key, leaf)) continue;
      ++matches;
      used.insert(figure.key);
    }
    EXPECT_EQ(matches, 1) << name;
  }
  for (const Figure& figure : figures()) {
    EXPECT_TRUE(used.contains(figure.key)) << figure.key << " is in no report";
    EXPECT_FALSE(figure.definition.empty()) << figure.key;
  }
}

}  // namespace
}  // namespace npulab::report
