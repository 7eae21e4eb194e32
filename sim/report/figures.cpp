// SPDX-License-Identifier: Apache-2.0
// The table of figures and the reference page, made of the rows.
#include <fmt/core.h>

#include "sim/report/counters.hpp"
#include "sim/report/rows.hpp"

namespace npulab::report {

namespace {

struct NamedFigure {
  std::string key;
  std::string_view unit;
  std::string_view definition;
};
using List = std::vector<NamedFigure>;

template <class M>
struct ElementOf {
  using Type = void;
};
template <class E>
struct ElementOf<std::vector<E>> {
  using Type = E;
};

// What stands behind the key of a figure that is no single value.
template <class M>
constexpr std::string_view suffix() {
  if constexpr (std::is_same_v<M, std::vector<std::uint64_t>>) {
    return "[]";
  } else if constexpr (std::is_same_v<M, std::string> || std::is_arithmetic_v<M> ||
                       std::is_same_v<M, AnyNumber> || std::is_same_v<M, std::optional<double>> ||
                       std::is_same_v<M, nlohmann::ordered_json>) {
    return "";
  } else {
    return ".NAME";
  }
}

template <class Tuple>
void add_rows(List& list, const Tuple& rows, const std::string& prefix) {
  for_each_row(rows, [&]<class S, class M>(const Row<S, M>& one) {
    const std::string key = prefix + std::string(one.key);
    using Element = typename ElementOf<M>::Type;
    if constexpr (HasRows<M>) {
      add_rows(list, Rows<M>::list(), key + ".");
    } else if constexpr (HasRows<Element>) {
      add_rows(list, Rows<Element>::list(), key + (Named<Element> ? ".NAME." : "[]."));
    } else {
      list.push_back({key + std::string(suffix<M>()), one.unit, one.definition});
    }
  });
}

List all_figures() {
  List list{{std::string(kSchemaKey), "", kSchemaDefinition}};
  add_rows(list, Rows<Report>::list(), "");
  add_rows(list, host_rows(), std::string(kHostKey) + ".");
  return list;
}

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

constexpr char kIntroduction[] =
    R"(<!-- Written by reference_markdown() out of the tables in sim/report; a test compares. -->

# Reports

`npulab run` prints a page for people; `--json FILE` writes the same as data. Both show what one run found, and every
figure is defined here.

- The JSON form carries `schema`; keys are never renamed or redefined within one schema, only added.
- Integers are exact. Other numbers are doubles with as many digits as they need to be read back exactly. Never NaN and
  never infinite: such a figure ends the run as an internal error.
- `null` says that a figure is not known; it is never replaced by 0.
- Two runs of one command give the same report byte for byte, except for the section `host`, which comparisons leave out.
- Before a report is given out it is checked: busy + idle + stalls = cycles x instances for every engine, shares lie in
  0..1, and the time is not below the lower bound. A violation is an internal error (exit status 4).

In the keys, `NAME` stands for a name (of a memory, engine, parameter, cause …) and `[]` for each element of a list.

## Figures

| key | unit | definition |
|---|---|---|
)";

}  // namespace

const std::vector<Figure>& figures() {
  static const List list = all_figures();
  static const std::vector<Figure> views = [] {
    std::vector<Figure> made;
    for (const NamedFigure& one : list) made.push_back({one.key, one.unit, one.definition});
    return made;
  }();
  return views;
}

std::string reference_markdown(std::span<const Figure> gm_counters) {
  std::string text = kIntroduction;
  for (const Figure& figure : figures())
    text += fmt::format("| `{}` | {} | {} |\n", figure.key, figure.unit, cell(figure.definition));
  text += "\n## Causes of stalls\n\n| cause | definition |\n|---|---|\n";
  for (const StallInfo& cause : kStalls)
    text += fmt::format("| `{}` | {} |\n", cause.name, cell(cause.definition));
  text += "\n## Counters of engines\n\n| counter | unit | definition |\n|---|---|---|\n";
  for (const CounterInfo& counter : kEngineCounters)
    text += fmt::format("| `{}` | {} | {} |\n", counter.name, counter.unit, cell(counter.definition));
  text +=
      "\n## Counters of gm\n\nSums over its channels.\n\n| counter | unit | definition |\n|---|---|---|\n";
  for (const Figure& counter : gm_counters)
    text += fmt::format("| `{}` | {} | {} |\n", counter.key, counter.unit, cell(counter.definition));
  return text;
}

}  // namespace npulab::report
