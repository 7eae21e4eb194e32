// SPDX-License-Identifier: Apache-2.0
// One row per figure of a report: key in JSON, member, unit, definition. The JSON form, the table of figures,
// the reference page and the check for finite figures are walks over these rows.
#pragma once

#include <cmath>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "sim/report/report.hpp"

namespace npulab::report {

template <class S, class M>
struct Row {
  std::string_view key;
  M S::*member;
  std::string_view unit;        // "" where the figure has none
  std::string_view definition;  // "" where the rows of its parts say it
  bool (*stated)(const S&);     // whether the figure is known (null in JSON when not); nullptr: it always is
};

template <class S, class M>
constexpr Row<S, M> row(std::string_view key, M S::*member, std::string_view unit,
                        std::string_view definition) {
  return {key, member, unit, definition, nullptr};
}

template <class S, class M>
constexpr Row<S, M> row_if(bool (*stated)(const S&), std::string_view key, M S::*member,
                           std::string_view unit, std::string_view definition) {
  return {key, member, unit, definition, stated};
}

template <class S, class M>
constexpr Row<S, M> parts(std::string_view key, M S::*member) {
  return {key, member, "", "", nullptr};
}

template <class S, class M>
constexpr Row<S, M> parts_if(bool (*stated)(const S&), std::string_view key, M S::*member) {
  return {key, member, "", "", stated};
}

template <class S>
struct Rows;  // list(): the tuple of rows of S

template <>
struct Rows<Bound> {
  static constexpr auto list() {
    using T = Bound;
    return std::tuple{
        row("lower_bound_us", &T::lower_bound_us, "us",
            "no machine with these widths does this work faster: the longest that one resource is at work at "
            "its full width"),
        row("limited_by", &T::limited_by, "", "the resource that sets lower_bound_us"),
        row("bounded_by", &T::bounded_by, "",
            "what held the run up: that resource where it was at work most of the time, else the longest "
            "wait of "
            "the core that ended last")};
  }
};

template <>
struct Rows<Memory> {
  static bool has_peak(const Memory& memory) { return memory.peak_gbps > 0; }
  static bool has_occupancy(const Memory& memory) { return memory.bus_occupancy >= 0; }
  static constexpr auto list() {
    using T = Memory;
    return std::tuple{
        row("read_bytes", &T::read_bytes, "bytes", "bytes that reads asked for"),
        row("write_bytes", &T::write_bytes, "bytes", "bytes that writes asked for"),
        row("accesses", &T::accesses, "accesses",
            "requests to gm; of a local buffer, the loads and stores of the vector and scalar unit"),
        row("bandwidth_gbps", &T::bandwidth_gbps, "GB/s",
            "(read_bytes + write_bytes) / time_us; 1 GB = 10^9 bytes"),
        row_if(has_peak, "peak_gbps", &T::peak_gbps, "GB/s",
               "bandwidth of the machine's data bus; null where the machine states none"),
        row_if(has_peak, "utilization", &T::utilization, "0..1",
               "bandwidth_gbps / peak_gbps; null without a peak"),
        row_if(
            has_occupancy, "bus_occupancy", &T::bus_occupancy, "0..1",
            "share of the time in which data was on the bus, over all channels: whole bursts, so more than "
            "utilization where requests use part of them; null where the memory does not say"),
        row("counters", &T::counters, "", "counter NAME of the memory's model; see below")};
  }
};

template <>
struct Rows<Engine> {
  static constexpr auto list() {
    using T = Engine;
    return std::tuple{
        row("instances", &T::instances, "", "engines of this name in the launch: one per core of the type"),
        row("cycles", &T::run_cycles, "cycles", "the whole run in the clock of its core type"),
        row("busy_cycles", &T::busy_cycles, "cycles", "cycles in which it worked, over all instances"),
        row("idle_cycles", &T::idle_cycles, "cycles",
            "cycles in which it had nothing to do, over all instances"),
        row("stall_cycles", &T::cycles, "cycles",
            "cycles in which cause NAME kept it from going on, over all instances; busy + idle + stalls = "
            "cycles "
            "x instances"),
        row("utilization", &T::utilization, "0..1", "busy_cycles / (cycles x instances)"),
        row("counters", &T::counters, "", "counter NAME of the engine; see below")};
  }
};

template <>
struct Rows<HotSpot> {
  static constexpr auto list() {
    using T = HotSpot;
    return std::tuple{
        row("core_type", &T::core_type, "", "core type of the program"),
        row("file", &T::file, "",
            "file that holds the line, as seen from the folder of the kernel's own; empty when it is not "
            "known"),
        row("line", &T::line, "",
            "line of the text of these instructions: of a macro or an included file the line in it; 0 when "
            "it is not known"),
        row("text", &T::text, "", "that line; empty when the source is not known"),
        row("starts", &T::starts, "instructions", "instructions of this line that started, over all cores"),
        row("wait_cycles", &T::wait_cycles, "cycles",
            "cycles that the instruction stream waited before them, over all cores")};
  }
};

template <>
struct Rows<Region> {
  static constexpr auto list() {
    using T = Region;
    return std::tuple{
        row("name", &T::name, "", "name that the kernel's region instruction gives"),
        row("first_cycle", &T::first_cycle, "cycles", "cycle of the earliest mark of this name on any core"),
        row("cycles", &T::cycles, "cycles",
            "cycles from such a mark to the core's next mark or its end, summed over cores")};
  }
};

template <>
struct Rows<ClosestElement> {
  static bool bounded(const ClosestElement& element) { return std::isfinite(element.bound); }
  static constexpr auto list() {
    using T = ClosestElement;
    return std::tuple{
        row("where", &T::where, "",
            "the element whose error is the largest part of what is allowed there; empty when none differs"),
        row("error", &T::error, "", "its absolute difference from the reference"),
        row_if(bounded, "bound", &T::bound, "",
               "the most that is allowed there; null when that is beyond any number")};
  }
};

template <>
struct Rows<WrongElement> {
  static bool bounded(const WrongElement& element) { return std::isfinite(element.bound); }
  static bool by_bits(const WrongElement& element) { return !element.got_bits.empty(); }
  static constexpr auto list() {
    using T = WrongElement;
    return std::tuple{
        row("tensor", &T::tensor, "", "the output that holds an element out of its bound, the worst first"),
        row("index", &T::index, "", "where it stands: a number for each dimension"),
        row("got", &T::got, "", "what the run gave; the texts nan, inf and -inf for what is no number"),
        row("expected", &T::expected, "", "what the reference gives, likewise"),
        row_if(bounded, "bound", &T::bound, "",
               "the most that they may differ by; null when that is beyond any number"),
        row("may_overflow", &T::may_overflow, "",
            "whether an infinity or NaN would be right as well, as a sum on the way may overflow"),
        row("ulp", &T::ulp, "ULP",
            "their distance in units in the last place of the output's type at the expected value; null "
            "unless both are finite"),
        row("relative", &T::relative, "",
            "their distance over the expected value; null where that is 0 or one of the two is not finite"),
        row_if(by_bits, "got_bits", &T::got_bits, "",
               "the bits in hexadecimal where the reference only moves data; null elsewhere"),
        row_if(by_bits, "expected_bits", &T::expected_bits, "", "likewise")};
  }
};

template <>
struct Rows<CheckedOutput> {
  static constexpr auto list() {
    using T = CheckedOutput;
    return std::tuple{
        row("elements", &T::elements, "elements", "elements of output NAME"),
        row("mismatches", &T::mismatches, "elements", "those outside their bound"),
        row("unwritten_bytes", &T::unwritten_bytes, "bytes",
            "bytes of the output that the kernel never wrote: the check fails"),
        row("max_ulp", &T::max_ulp, "ULP", "as check.max_ulp, of this output"),
        row("max_abs_error", &T::max_abs_error, "", "largest absolute difference in it"),
        row("max_relative_error", &T::max_relative_error, "", "largest relative difference in it"),
        row("effective_bits", &T::effective_bits, "bits",
            "-log2(norm of got - expected / norm of expected), Euclidean norms over the elements that are "
            "finite in both; not below 0, and 0 where an element is NaN or infinite and must not be; null "
            "when no element is off")};
  }
};

template <>
struct Rows<CheckResult> {
  static bool requested(const CheckResult& check) { return check.requested; }
  static bool bounded(const CheckResult& check) {
    return check.requested && std::isfinite(check.max_ulp_bound);
  }
  static constexpr auto list() {
    using T = CheckResult;
    return std::tuple{
        row("requested", &T::requested, "", "whether the outputs were compared; if not, the rest is null"),
        row_if(requested, "passed", &T::passed, "", "whether every element lies within its bound"),
        row_if(requested, "reference", &T::reference, "",
               "the operation that the outputs were compared with"),
        row_if(requested, "max_ulp", &T::max_ulp, "ULP",
               "largest distance from the reference, in units in the last place of the output's type"),
        row_if(bounded, "max_ulp_bound", &T::max_ulp_bound, "ULP",
               "the most that is allowed at the element of max_ulp; null when that is beyond any number"),
        row_if(requested, "max_abs_error", &T::max_abs_error, "", "largest absolute difference"),
        row_if(requested, "max_relative_error", &T::max_relative_error, "",
               "largest relative difference, where the expected value is not 0"),
        row_if(requested, "effective_bits", &T::effective_bits, "bits",
               "the fewest effective bits of an output"),
        row_if(requested, "mismatches", &T::mismatches, "elements", "elements outside their bound"),
        row_if(requested, "elements", &T::elements, "elements", "elements compared"),
        row_if(requested, "closest", &T::closest, "", ""),
        row_if(requested, "outputs", &T::outputs, "", ""),
        row_if(requested, "worst", &T::worst, "", "")};
  }
};

template <>
struct Rows<Diagnostic> {
  static constexpr auto list() {
    using T = Diagnostic;
    return std::tuple{row("severity", &T::severity, "", "error (the verdict is bad) or warning"),
                      row("code", &T::code, "", "kind of finding"),
                      row("message", &T::message, "", "what was found, for people"),
                      row("where", &T::where, "",
                          "file:line of the instruction; what a macro or an included file holds, with the "
                          "line that brought it in"),
                      row("count", &T::count, "", "how often the same was found there")};
  }
};

template <>
struct Rows<Report> {
  static bool ended(const Report& report) { return report.ended; }
  static constexpr auto list() {
    using T = Report;
    return std::tuple{
        row("npulab_version", &T::npulab_version, "", "the npulab that made the report"),
        row("kernel", &T::kernel, "", "name that the kernel gives itself"),
        row("kernel_hash", &T::kernel_hash, "",
            "FNV-1a, 64 bits in hexadecimal, over the binary form of its programs"),
        row("machine", &T::machine, "", "name that the machine gives itself"),
        row("params", &T::params, "", "value of the kernel's parameter NAME"),
        row("options", &T::options, "", "what else the run depended on, such as the data of an input"),
        row("overflow_mode", &T::overflow_mode, "",
            "what float results beyond the range become: inf, or saturate for the largest finite value"),
        row("ended", &T::ended, "",
            "whether the run reached its end; if not, its figures are null and diagnostics says why"),
        row_if(ended, "cores", &T::cores, "", "cores of the launch"),
        row_if(ended, "cycles", &T::cycles, "cycles",
               "from the start of the kernel until its last core ended, in the clock of the first program's "
               "cores"),
        row_if(ended, "time_us", &T::time_us, "us", "the same as time"),
        row_if(ended, "dispatch_us", &T::dispatch_us, "us",
               "host to device, before time_us begins and not part of it"),
        row_if(ended, "instructions", &T::instructions, "instructions",
               "instructions started, over all cores"),
        row_if(ended, "flops", &T::flops, "operations",
               "arithmetic of vector lanes, floats and integers, masked lanes left out; a multiply-add is 2"),
        row_if(ended, "gflops", &T::gflops, "GFLOP/s", "flops / time_us"),
        row_if(ended, "intensity", &T::intensity, "flop/byte", "flops / bytes read from and written to gm"),
        parts_if(ended, "bound", &T::bound),
        parts_if(ended, "memory", &T::memories),
        parts_if(ended, "engines", &T::engines),
        parts_if(ended, "hot_spots", &T::hot_spots),
        parts_if(ended, "regions", &T::regions),
        parts_if(ended, "check", &T::check),
        parts("diagnostics", &T::diagnostics),
        row("resolved_machine", &T::resolved_machine, "",
            "every key of the machine with its value, as docs/machines.md describes them")};
  }
};

inline constexpr std::string_view kSchemaKey = "schema";
inline constexpr std::string_view kSchemaDefinition = "name and version of this form";
inline constexpr std::string_view kHostKey = "host";

// The section that differs from run to run.
constexpr auto host_rows() {
  return std::tuple{
      row_if(&Rows<Report>::ended, "seconds", &Report::host_seconds, "s",
             "wall-clock time of the simulation"),
      row("simd_path", &Report::simd_path, "", "code path of vector values; no value depends on it")};
}

template <class S>
concept HasRows = requires {
  Rows<S>::list();
};

// Collections whose elements stand under their own names, not in a list.
template <class S>
concept Named = std::is_same_v<S, Memory> || std::is_same_v<S, Engine> || std::is_same_v<S, CheckedOutput>;

template <class Tuple, class Visitor>
constexpr void for_each_row(const Tuple& rows, Visitor&& visit) {
  std::apply([&](const auto&... one) { (visit(one), ...); }, rows);
}

}  // namespace npulab::report
