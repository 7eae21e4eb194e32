// SPDX-License-Identifier: Apache-2.0
// The report as a page for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/rows.hpp"

namespace npulab::report {

namespace {

constexpr double kPercent = 100;
constexpr std::size_t kBarCells = 20;
constexpr std::size_t kPageWidth = 110;

std::string thousands(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// `decimals` digits after the point, separators before it.
std::string thousands(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string whole = text.substr(0, point);
  for (std::size_t at = whole.size(); at > 3; at -= 3) whole.insert(at - 3, ",");
  return (value < 0 ? "-" : "") + whole + text.substr(point);
}

std::string time_text(double us) {
  return thousands(us, us < 10 ? 4 : us < 1000 ? 2 : 1) + " us";
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", kPercent * share);
}

std::string bar(double share) {
  const double cells = std::clamp(share, 0.0, 1.0) * static_cast<double>(kBarCells);
  const auto full = static_cast<std::size_t>(std::lround(cells));
  return "[" + std::string(full, '#') + std::string(kBarCells - full, '.') + "]";
}

std::string bits_text(const std::optional<double>& bits) {
  return bits ? fmt::format("; {:.1f} effective bits", *bits) : "";
}

double ratio(double of, double by) {
  return by > 0 ? of / by : 0;
}

// Columns as wide as their widest cell; `left` tells which begin at the left edge.
class Table {
 public:
  Table(std::vector<std::string> heads, std::vector<bool> left) : left_(std::move(left)) {
    add(std::move(heads));
  }
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  std::string text() const {
    std::vector<std::size_t> widths(left_.size());
    for (const auto& cells : rows_)
      for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
    std::string out;
    for (const auto& cells : rows_) {
      std::string line = " ";
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string gap(widths[i] - cells[i].size(), ' ');
        line += " " + (left_[i] ? cells[i] + gap : gap + cells[i]) + " ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

class Page {
 public:
  Page(const Report& report, bool colour) : report_(report), colour_(colour) {}

  std::string text() {
    headline();
    figures();
    memories();
    engines();
    hot_spots();
    regions();
    check();
    findings();
    host();
    return std::move(text_);
  }

 private:
  enum class Style { bold, dim, good, bad, warn };

  std::string styled(Style style, const std::string& text) const {
    if (!colour_) return text;
    static constexpr const char* kCodes[] = {"1", "2", "1;32", "1;31", "33"};
    return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(style)], text);
  }
  void section(const std::string& title, const std::string& note) {
    text_ += "\n" + styled(Style::bold, title);
    if (!note.empty()) text_ += styled(Style::dim, "  " + note);
    text_ += "\n";
  }

  void headline();
  void figures();
  void memories();
  static std::string counters(const Memory& memory);
  void engines();
  void hot_spots();
  void regions();
  void check();
  void checked(const CheckedOutput& output, bool figures);
  void findings();
  void host();

  const Report& report_;
  bool colour_;
  std::string text_;
};

void Page::headline() {
  text_ += styled(Style::bold, fmt::format("{} on {}, {} core{}", report_.kernel, report_.machine,
                                           report_.cores, report_.cores == 1 ? "" : "s"));
  text_ += "\n";
  std::string params;
  for (const auto& [name, value] : report_.params) params += fmt::format("  {}={}", name, value);
  if (!params.empty()) text_ += params + "\n";
  // The command says all of them.
  const bool command = !report_.options.empty() && report_.options.front().first == kCommandOption;
  const std::size_t shown = command ? 1 : report_.options.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, value] = report_.options[i];
    text_ += styled(Style::dim, fmt::format("  {}{}", command ? "" : name + ": ", value)) + "\n";
  }
  if (report_.overflow_mode != "inf")
    text_ += fmt::format("  float results beyond the range: {}\n", report_.overflow_mode);
}

void Page::figures() {
  const auto line = [&](const char* name, const std::string& value) {
    text_ += fmt::format("  {:<12}{}\n", name, value);
  };
  text_ += "\n";
  line("time",
       styled(Style::bold, time_text(report_.time_us)) + "   " + thousands(report_.cycles) + " cycles");
  if (report_.dispatch_us > 0) line("dispatch", time_text(report_.dispatch_us) + ", not part of the time");
  line("work", fmt::format("{} instructions   {} flop   {} GFLOP/s   {:.3g} flop/byte",
                           thousands(report_.instructions), thousands(report_.flops),
                           thousands(report_.gflops, 1), report_.intensity));
  line("at least",
       fmt::format("{} by {}: {} of the time", time_text(report_.bound.lower_bound_us),
                   report_.bound.limited_by, percent(ratio(report_.bound.lower_bound_us, report_.time_us))));
  line("bound by", styled(Style::bold, report_.bound.bounded_by));
}

// Some counters say again what a figure of every memory says.
bool has_column(std::string_view counter) {
  bool found = false;
  for_each_row(Rows<Memory>::list(), [&](const auto& one) { found = found || one.key == counter; });
  return found;
}

// Its counters that are not 0, at most kPageWidth wide.
std::string Page::counters(const Memory& memory) {
  std::vector<std::string> items;
  if (memory.bus_occupancy >= 0)
    items.push_back(fmt::format("bus occupied {}", percent(memory.bus_occupancy)));
  for (const auto& [name, value] : memory.counters)
    if (value > 0 && !has_column(name)) items.push_back(fmt::format("{} {}", name, thousands(value)));
  if (items.empty()) return {};
  std::string text;
  std::string line = fmt::format("  {}:", memory.name);
  const std::string indent(line.size(), ' ');
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = " " + items[i] + (i + 1 < items.size() ? "," : "");
    if (line.size() + item.size() > kPageWidth) {
      text += line + "\n";
      line = indent;
    }
    line += item;
  }
  return text + line + "\n";
}

void Page::memories() {
  section("memory", "bytes as requested; bandwidth over the whole time");
  Table table({"", "read bytes", "write bytes", "accesses", "GB/s", "peak GB/s", "utilisation"},
              {true, false, false, false, false, false, true});
  std::string details;
  for (const Memory& memory : report_.memories) {
    const bool peak = memory.peak_gbps > 0;
    table.add({memory.name, thousands(memory.read_bytes), thousands(memory.write_bytes),
               thousands(memory.accesses), thousands(memory.bandwidth_gbps, 1),
               peak ? thousands(memory.peak_gbps, 1) : "-",
               peak ? bar(memory.utilization) + " " + percent(memory.utilization) : ""});
    details += counters(memory);
  }
  text_ += table.text() + styled(Style::dim, details);
}

void Page::engines() {
  const auto own_clock = [&](const Engine& engine) { return engine.run_cycles != report_.cycles; };
  const bool clocks = std::any_of(report_.engines.begin(), report_.engines.end(), own_clock);
  section("engines", clocks ? "shares of the time, cycles in the clock of each core type"
                            : fmt::format("shares of {} cycles", thousands(report_.cycles)));
  Table table({"", "instances", "busy", "idle", "stalled", "busy cycles", "", "stalled by"},
              {true, false, false, false, false, false, true, true});
  for (const Engine& engine : report_.engines) {
    const double all = static_cast<double>(engine.run_cycles) * static_cast<double>(engine.instances);
    std::uint64_t stalled = 0;
    std::vector<std::size_t> causes;
    for (std::size_t i = 0; i < kStallCount; ++i) {
      stalled += engine.cycles.stall[i];
      if (engine.cycles.stall[i] > 0) causes.push_back(i);
    }
    std::stable_sort(causes.begin(), causes.end(), [&](std::size_t a, std::size_t b) {
      return engine.cycles.stall[a] > engine.cycles.stall[b];
    });
    std::string by;
    for (const std::size_t i : causes)
      by += fmt::format("{}{} {}", by.empty() ? "" : ", ", kStalls[i].name,
                        percent(ratio(static_cast<double>(engine.cycles.stall[i]), all)));
    table.add({engine.name, thousands(engine.instances), percent(engine.utilization),
               percent(ratio(static_cast<double>(engine.idle_cycles), all)),
               percent(ratio(static_cast<double>(stalled), all)), thousands(engine.busy_cycles),
               bar(engine.utilization), by});
  }
  text_ += table.text();
}

void Page::hot_spots() {
  if (report_.hot_spots.empty()) return;
  section("hot spots", "cycles that the stream waited before instructions of a line, over all cores");
  const auto elsewhere = [&](const HotSpot& spot) {
    return spot.core_type != report_.hot_spots.front().core_type;
  };
  const bool types = std::any_of(report_.hot_spots.begin(), report_.hot_spots.end(), elsewhere);
  Table table({"waited", "starts", "place", "source"}, {false, false, true, true});
  for (const HotSpot& spot : report_.hot_spots) {
    const std::size_t begin = std::min(spot.text.find_first_not_of(" \t"), spot.text.size());
    const std::string place = spot.line > 0 ? fmt::format("{}:{}", spot.file, spot.line) : "-";
    table.add({thousands(spot.wait_cycles), thousands(spot.starts),
               types ? spot.core_type + " " + place : place, spot.text.substr(begin)});
  }
  text_ += table.text();
}

void Page::regions() {
  if (report_.regions.empty()) return;
  section("regions", "cycles from a mark to the core's next, over all cores");
  Table table({"", "cycles", "first at cycle"}, {true, false, false});
  for (const Region& region : report_.regions)
    table.add({region.name, thousands(region.cycles), thousands(region.first_cycle)});
  text_ += table.text();
}

void Page::check() {
  const CheckResult& result = report_.check;
  if (!result.requested) return;
  section("check", result.reference);
  if (result.passed) {
    text_ += "  " + styled(Style::good, "passed") + fmt::format(": {} elements", thousands(result.elements));
  } else {
    text_ += "  " + styled(Style::bad, "FAILED") +
             fmt::format(": {} of {} elements out of bounds", thousands(result.mismatches),
                         thousands(result.elements));
  }
  const ClosestElement& closest = result.closest;
  if (closest.where.empty()) {
    text_ += result.passed ? "; no finite element is off\n" : "\n";
  } else {
    text_ += fmt::format("; closest to its bound {}: off by {:.4g} of {:.4g} allowed\n", closest.where,
                         closest.error, closest.bound);
    text_ += fmt::format(
        "  largest differences {:.4g} ULP ({:.4g} allowed there), {:.4g} absolute, {:.4g} "
        "relative{}\n",
        result.max_ulp, result.max_ulp_bound, result.max_abs_error, result.max_relative_error,
        bits_text(result.effective_bits));
  }
  for (const CheckedOutput& output : result.outputs) checked(output, result.outputs.size() > 1);
  for (const WrongElement& element : result.worst) text_ += "  " + to_text(element) + "\n";
}

void Page::checked(const CheckedOutput& output, bool figures) {
  if (figures)
    text_ += fmt::format(
        "  {}: {} of {} elements out of bounds; at most {:.4g} ULP, {:.4g} absolute, {:.4g} "
        "relative{}\n",
        output.name, thousands(output.mismatches), thousands(output.elements), output.max_ulp,
        output.max_abs_error, output.max_relative_error, bits_text(output.effective_bits));
  if (output.unwritten_bytes > 0)
    text_ +=
        fmt::format("  {}: {} bytes were never written\n", output.name, thousands(output.unwritten_bytes));
}

void Page::findings() {
  if (report_.diagnostics.empty()) return;
  section("findings", "");
  for (const Diagnostic& one : report_.diagnostics) {
    const std::string head = fmt::format("{}[{}]", one.severity, one.code);
    text_ += "  " + styled(one.severity == "error" ? Style::bad : Style::warn, head);
    if (!one.where.empty()) text_ += " " + one.where + ":";
    text_ += " " + one.message;
    if (one.count > 1) text_ += fmt::format(" ({} times)", thousands(one.count));
    text_ += "\n";
  }
}

void Page::host() {
  text_ += "\n" +
           styled(Style::dim, fmt::format("npulab {}; simulated in {:.3f} s ({} values)",
                                          report_.npulab_version, report_.host_seconds, report_.simd_path)) +
           "\n";
}

}  // namespace

std::string to_text(const Report& report, bool colour) {
  return Page(report, colour).text();
}

std::string to_text(const WrongElement& element) {
  const std::string place =
      fmt::format("{}[{}]: ", element.tensor, fmt::join(element.index.begin(), element.index.end(), ", "));
  if (!element.got_bits.empty())
    return place + fmt::format("got the bits {} ({}), expected {} ({})", element.got_bits, element.got.value,
                               element.expected_bits, element.expected.value);
  std::string text = place + fmt::format("got {}, expected {}, ", element.got.value, element.expected.value);
  if (element.ulp)
    text += fmt::format("off by {:.6g} = {:.4g} ULP", std::abs(element.got.value - element.expected.value),
                        *element.ulp);
  else
    text += "off by more than any number";
  if (element.relative) text += fmt::format(" = {:.3g} of it", *element.relative);
  return text + fmt::format(", bound {:.6g}{}", element.bound, element.may_overflow ? " or an overflow" : "");
}

}  // namespace npulab::report
