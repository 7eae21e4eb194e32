// SPDX-License-Identifier: Apache-2.0
// Every key of every shipped machine, spoilt in every way: it loads, or the refusal says where and what.
#include <algorithm>
#include <functional>

#include "sim/config/keys.hpp"
#include "tests/config/support.hpp"

namespace npulab::config {
namespace {

// One key of an echo: its line, its path and what of the text belongs to it.
struct Line {
  std::size_t number = 0;  // from 0
  std::size_t after = 0;   // first line that does not belong to it
  std::size_t column = 0;  // of the key
  std::string key;
  std::string value;  // empty for sections
  std::string path;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  lines.pop_back();
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Reads the layout that to_yaml writes: two spaces a level, "- " before the first key of a list's section.
std::vector<Line> keys_of(const std::vector<std::string>& lines) {
  std::vector<Line> keys;
  std::vector<std::pair<std::size_t, std::string>> open;  // column and name of the sections around
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t start = lines[i].find_first_not_of(' ');
    const bool item = lines[i][start] == '-';
    const std::size_t column = start + (item ? 2 : 0);
    while (!open.empty() && open.back().first >= (item ? start : column)) {
      if (item && open.back().first == start) break;
      open.pop_back();
    }
    if (item) {
      const bool first = open.empty() || open.back().first != start;
      const std::string index = first ? "0" : std::to_string(std::stoul(open.back().second) + 1);
      if (!first) open.pop_back();
      open.emplace_back(start, index);
    }
    Line line;
    line.number = i;
    line.column = column;
    const std::size_t colon = lines[i].find(':');
    line.key = lines[i].substr(column, colon - column);
    line.value = colon + 2 < lines[i].size() ? lines[i].substr(colon + 2) : "";
    for (const auto& [at, name] : open) line.path += name + ".";
    line.path += line.key;
    line.after = i + 1;
    const auto belongs = [&](std::size_t at) { return lines[at].find_first_not_of(' ') > column; };
    while (line.value.empty() && line.after < lines.size() && belongs(line.after)) ++line.after;
    if (line.value.empty()) open.emplace_back(column, line.key);
    keys.push_back(line);
  }
  return keys;
}

// Key of the tables that a path of an echo names; nothing for a named section.
std::optional<KeyInfo> info_of(const std::string& path) {
  std::vector<KeyInfo> keys = machine_keys();
  std::optional<KeyInfo> found;
  bool name_next = false;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t dot = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, dot - at);
    at = dot + 1;
    if (name_next) {
      name_next = false;
      found.reset();
      continue;
    }
    found.reset();
    for (const KeyInfo& info : keys)
      if (info.key == part) found = info;
    if (!found) return std::nullopt;
    name_next = found->kind == KeyKind::named_sections || found->kind == KeyKind::section_list;
    keys = found->keys;
  }
  return found;
}

class Spoil : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    lines_ = lines_of(to_yaml(load_machine(GetParam(), with())));
    keys_ = keys_of(lines_);
    ASSERT_GT(keys_.size(), 100U);
  }

  // Spoils each key and hands the refusal (empty: it loaded) to `judge`.
  void each(const std::function<std::vector<std::string>(const Line&)>& spoil,
            const std::function<void(const Line&, const std::string&)>& judge) const {
    for (const Line& line : keys_) {
      const std::string message = refused(joined(spoil(line)));
      EXPECT_TRUE(message.empty() || message.rfind("m.yaml:", 0) == 0) << line.path << ": " << message;
      judge(line, message);
    }
  }

  std::vector<std::string> with_value(const Line& line, const std::string& value) const {
    std::vector<std::string> lines = lines_;
    lines[line.number] = lines_[line.number].substr(0, line.column) + line.key + ": " + value;
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(line.number);
    lines.erase(at + 1, at + static_cast<std::ptrdiff_t>(line.after - line.number));
    return lines;
  }

  static std::string place(const Line& line) { return "m.yaml:" + std::to_string(line.number + 1) + ":"; }

  static bool is_number(const Line& line) {
    const auto info = info_of(line.path);
    return info && (info->kind == KeyKind::integer || info->kind == KeyKind::number);
  }

  // Gives every number this value, several at once: each must be refused by line and path.
  void refuse_numbers(const std::string& value) const {
    constexpr std::size_t kAtOnce = 16;
    std::vector<Line> numbers;
    for (const Line& line : keys_)
      if (is_number(line)) numbers.push_back(line);
    for (std::size_t first = 0; first < numbers.size(); first += kAtOnce) {
      const std::size_t last = std::min(first + kAtOnce, numbers.size());
      std::vector<std::string> lines = lines_;
      for (std::size_t i = first; i < last; ++i) {
        const std::string& old = lines_[numbers[i].number];
        lines[numbers[i].number] = old.substr(0, old.find(':')) + ": " + value;
      }
      const std::string message = refused(joined(lines));
      for (std::size_t i = first; i < last; ++i) {
        EXPECT_TRUE(contains(message, place(numbers[i])))
            << numbers[i].path << " = " << value << ": " << message;
        EXPECT_TRUE(contains(message, " " + numbers[i].path + ": ")) << message;
      }
    }
  }

  std::vector<std::string> lines_;
  std::vector<Line> keys_;
};

TEST_P(Spoil, paths_are_read_right) {
  for (const Line& line : keys_) {
    if (line.value.empty() || line.value == "[]") continue;
    EXPECT_EQ(refused(joined(lines_), with({line.path + "=" + line.value})), "") << line.path;
  }
}

TEST_P(Spoil, removed) {
  each(
      [&](const Line& line) {
        std::vector<std::string> lines = lines_;
        const bool item = lines[line.number].find("- ") < line.column;
        const auto at = lines.begin() + static_cast<std::ptrdiff_t>(line.number);
        lines.erase(at, at + static_cast<std::ptrdiff_t>(line.after - line.number));
        if (item) lines[line.number][line.column - 2] = '-';
        return lines;
      },
      [](const Line& line, const std::string& message) {
        const auto info = info_of(line.path);
        if (!info || !info->required) return;
        EXPECT_TRUE(contains(message, line.path + ": missing key")) << message;
      });
}

TEST_P(Spoil, CF_01_misspelt) {
  const auto spelt = [](const std::string& key) {
    return key.size() > 3 ? key.substr(0, key.size() - 1) : key + "x";
  };
  each(
      [&](const Line& line) {
        std::vector<std::string> lines = lines_;
        lines[line.number].replace(line.column, line.key.size(), spelt(line.key));
        return lines;
      },
      [&](const Line& line, const std::string& message) {
        if (!info_of(line.path)) return;
        EXPECT_TRUE(contains(message, "unknown key '" + spelt(line.key) + "'; did you mean '")) << message;
        EXPECT_TRUE(contains(message, place(line))) << message;
      });
}

TEST_P(Spoil, CF_03_repeated) {
  each(
      [&](const Line& line) {
        std::vector<std::string> lines = lines_;
        std::vector<std::string> copy(lines.begin() + static_cast<std::ptrdiff_t>(line.number),
                                      lines.begin() + static_cast<std::ptrdiff_t>(line.after));
        copy[0] = std::string(line.column, ' ') + copy[0].substr(line.column);
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line.after), copy.begin(), copy.end());
        return lines;
      },
      [](const Line& line, const std::string& message) {
        EXPECT_TRUE(contains(message, "m.yaml:" + std::to_string(line.after + 1) + ":"))
            << line.path << message;
        EXPECT_TRUE(contains(message, line.path + ": key '" + line.key + "' stands twice, first in line " +
                                          std::to_string(line.number + 1)))
            << line.path << ": " << message;
      });
}

TEST_P(Spoil, CF_04_zero) {
  each([&](const Line& line) { return with_value(line, "0"); },
       [](const Line& line, const std::string& message) {
         const auto info = info_of(line.path);
         if (!is_number(line) || info->min <= 0) return;
         EXPECT_TRUE(contains(message, place(line))) << message;
         EXPECT_TRUE(contains(message, line.path + ": 0 is outside ")) << message;
       });
}

TEST_P(Spoil, BF_07_negative) {
  refuse_numbers("-1");
}
TEST_P(Spoil, CF_04_huge) {
  refuse_numbers("1e30");
}
TEST_P(Spoil, CF_04_many_digits) {
  refuse_numbers("100000000000000000000000000000000");
}
TEST_P(Spoil, CF_04_not_a_number) {
  refuse_numbers("nan");
}
TEST_P(Spoil, CF_04_yaml_nan) {
  refuse_numbers(".NaN");
}
TEST_P(Spoil, wrong_type_text) {
  refuse_numbers("seven");
}
TEST_P(Spoil, wrong_type_quoted) {
  refuse_numbers("\"7\"");
}
TEST_P(Spoil, wrong_type_nothing) {
  refuse_numbers("");
}

TEST_P(Spoil, wrong_type_section_or_list) {
  for (const char* const value : {"{a: 1}", "[[1]]"}) {
    each([&](const Line& line) { return with_value(line, value); },
         [&](const Line& line, const std::string& message) {
           EXPECT_TRUE(contains(message, place(line))) << line.path << " = " << value << ": " << message;
           EXPECT_TRUE(contains(message, line.path)) << message;
         });
  }
}

std::vector<std::string> shipped_machines() {
  std::vector<std::string> names;
  for (const MachineInfo& machine : list_machines({configs()})) names.push_back(machine.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Machines, Spoil, testing::ValuesIn(shipped_machines()),
                         [](const auto& machine) { return machine.param; });

}  // namespace
}  // namespace npulab::config
