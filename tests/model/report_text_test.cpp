// SPDX-License-Identifier: Apache-2.0
// The page for people, the reference page, and what self_check refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "sim/dram/gm_figures.hpp"
#include "sim/report/counters.hpp"
#include "tests/model/report_support.hpp"

namespace npulab::report {
namespace {

using test::sound_report;
using testing::HasSubstr;
using testing::Not;

TEST(ReportText, SaysWhatAKernelEngineerLooksFor) {
  const std::string text = to_text(sound_report());
  EXPECT_THAT(text, HasSubstr("gemv/example on tiny, 2 cores"));
  EXPECT_THAT(text, HasSubstr("K=4096  M=64"));
  EXPECT_THAT(text, HasSubstr("2,000.0 us   2,000,000 cycles"));
  EXPECT_THAT(text, HasSubstr("1,000.0 us by gm bandwidth: 50.0 % of the time"));
  EXPECT_THAT(text, HasSubstr("vector stalled by dependency (40 % of the time)"));
  EXPECT_THAT(text, HasSubstr("99,000,000"));
  EXPECT_THAT(text, HasSubstr("[##########..........] 50.0 %"));
  EXPECT_THAT(text, HasSubstr("bus occupied 62.5 %, bursts 77"));
  EXPECT_THAT(text, HasSubstr("flag 12.5 %"));
  EXPECT_THAT(text, HasSubstr("parts.inc:12  wait_flag mte2, vector, 0"));
  EXPECT_THAT(text, HasSubstr("closest to its bound y[3]: off by 0.25 of 0.2 allowed"));
  EXPECT_THAT(text,
              HasSubstr("3.5 ULP (7.5 allowed there), 0.25 absolute, 0.125 relative; 9.2 effective bits\n"));
  EXPECT_THAT(text, HasSubstr("FAILED: 2 of 64 elements out of bounds"));
  EXPECT_THAT(text, HasSubstr("y[3, 5]: got 1, expected 2, off by 1 = 512 ULP = 0.5 of it, bound 0.25\n"));
  EXPECT_THAT(text, HasSubstr("y[3, 5]: got the bits 0x3c00 (1), expected 0x4000 (2)\n"));
  EXPECT_THAT(text, HasSubstr("y: 4 bytes were never written\n"));
  EXPECT_THAT(text, HasSubstr("warning[never-written] kernel.npu:7: y was not written (3 times)"));
}

TEST(ReportText, LeavesOutWhatIsZeroOrWasNotAsked) {
  Report report = sound_report();
  report.check = {};
  report.diagnostics.clear();
  report.hot_spots.clear();
  report.regions.clear();
  const std::string text = to_text(report);
  EXPECT_THAT(text, Not(HasSubstr("refreshes")));
  EXPECT_THAT(text, Not(HasSubstr("barrier")));
  for (const char* title : {"check", "findings", "hot spots", "regions"})
    EXPECT_THAT(text, Not(HasSubstr(std::string("\n") + title))) << title;
}

TEST(ReportText, SeveralOutputsHaveALineEach) {
  Report report = sound_report();
  CheckedOutput other{"z", 8, 0, 0, 0, 0, 0, std::nullopt};
  report.check.outputs.push_back(other);
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("  y: 2 of 64 elements out of bounds; at most 3.5 ULP, 0.25 absolute, 0.125 "
                              "relative; 9.2 effective bits\n"));
  EXPECT_THAT(text, HasSubstr("  z: 0 of 8 elements out of bounds; at most 0 ULP, 0 absolute, 0 relative\n"));
}

TEST(ReportText, AWrongElementThatIsNoNumber) {
  WrongElement element;
  element.tensor = "y";
  element.index = {7};
  element.got.value = std::numeric_limits<double>::quiet_NaN();
  element.expected.value = -std::numeric_limits<double>::infinity();
  element.may_overflow = true;
  EXPECT_EQ(to_text(element),
            "y[7]: got nan, expected -inf, off by more than any number, bound 0 or an overflow");
}

TEST(ReportText, AnExactResultDiffersNowhere) {
  Report report = sound_report();
  report.check = {};
  report.check.requested = report.check.passed = true;
  report.check.elements = 64;
  EXPECT_THAT(to_text(report), HasSubstr("passed: 64 elements; no finite element is off\n"));
}

TEST(ReportText, ColourOnlyWhenAsked) {
  EXPECT_THAT(to_text(sound_report()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_text(sound_report(), true), HasSubstr("\x1b["));
}

// A run of no cycles divides by nothing.
TEST(ReportText, SH_08_no_cycles) {
  Report report;
  report.engines = {Engine{}};
  report.engines[0].name = "scalar";
  report.engines[0].instances = 1;
  self_check(report);
  const std::string text = to_text(report);
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

struct Fault {
  const char* code;
  std::function<void(Report&)> put;
};

TEST(SelfCheck, AcceptsASoundReport) {
  EXPECT_NO_THROW(self_check(sound_report()));
}

TEST(SelfCheck, TM_01_TM_03_refuses_contradictions) {
  const std::vector<Fault> faults{
      {"cycles-do-not-add-up", [](Report& r) { r.engines[0].idle_cycles += 1; }},
      {"cycles-do-not-add-up", [](Report& r) { r.engines[1].cycles[Stall::port] = std::uint64_t(0) - 1; }},
      {"share-out-of-range", [](Report& r) { r.engines[0].utilization = 1.01; }},
      {"share-out-of-range", [](Report& r) { r.memories[0].utilization = -0.1; }},
      {"share-out-of-range", [](Report& r) { r.memories[0].bus_occupancy = 1.5; }},
      {"quotient-is-wrong", [](Report& r) { r.memories[0].bandwidth_gbps = 51; }},
      {"quotient-is-wrong", [](Report& r) { r.memories[0].utilization = 0.6; }},
      {"quotient-is-wrong", [](Report& r) { r.engines[0].utilization = 0.5; }},
      {"faster-than-possible", [](Report& r) { r.bound.lower_bound_us = 2000.1; }},
      {"time-is-wrong",
       [](Report& r) {
         r.cycles = 0;
         r.engines.clear();
       }},
      {"verdict-is-wrong", [](Report& r) { r.check.passed = true; }},
      {"figure-not-finite", [](Report& r) { r.gflops = std::numeric_limits<double>::infinity(); }},
  };
  for (const Fault& fault : faults) {
    Report report = sound_report();
    fault.put(report);
    try {
      self_check(report);
      ADD_FAILURE() << "accepted: " << fault.code;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::internal);
      EXPECT_EQ(error.code(), fault.code) << error.message();
    }
  }
}

TEST(Reference, ReportPageIsTheGeneratorsOutput) {
  const std::string path = std::string(NPULAB_SOURCE_DIR) + "/docs/report.md";
  const std::string expected = reference_markdown(dram::gm_figures());
  if (std::getenv("NPULAB_UPDATE") != nullptr) std::ofstream(path) << expected;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_TRUE(text.str() == expected) << "docs/report.md is out of date; ./dev docs writes it anew";
}

TEST(Reference, ReportPageDefinesEveryFigureCauseAndCounter) {
  const std::string page = reference_markdown(dram::gm_figures());
  const auto defined = [&](std::string_view key) {
    EXPECT_THAT(page, HasSubstr("\n| `" + std::string(key) + "` |")) << key;
  };
  for (const Figure& figure : figures()) defined(figure.key);
  for (const StallInfo& cause : kStalls) defined(cause.name);
  for (const CounterInfo& counter : kEngineCounters) defined(counter.name);
  for (const Figure& counter : dram::gm_figures()) defined(counter.key);
}

}  // namespace
}  // namespace npulab::report
