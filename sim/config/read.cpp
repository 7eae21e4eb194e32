// SPDX-License-Identifier: Apache-2.0
#include "sim/config/read.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/config/choices.hpp"
#include "sim/config/walk.hpp"

namespace npulab::config {

namespace {

struct Limits {
  std::string_view unit;
  double min;
  double max;
};

constexpr std::size_t kLongestText = 500;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// An integer part as JSON has it: a sign or none, no leading zeros. Returns where it ends, 0 when there is
// none.
std::size_t integer_part(std::string_view text) {
  const std::size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t end = skip_digits(text, start);
  if (end == start || (text[start] == '0' && end - start > 1)) return 0;
  return end;
}

bool is_integer(std::string_view text) {
  return !text.empty() && integer_part(text) == text.size();
}

bool is_number(std::string_view text) {
  std::size_t at = integer_part(text);
  if (at == 0) return false;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  template <Section S>
  void section(const Node& node, S& out, const std::string& path) {
    if (node.kind != NodeKind::map) {
      add("wrong-type", path, fmt::format("expects a section of keys, got {}", describe(node)), node);
      return;
    }
    const std::vector<std::string> known = keys_in<S>();
    for (const Node& item : node.items) {
      if (std::find(known.begin(), known.end(), item.key) == known.end())
        add("unknown-key", join_path(path, item.key),
            fmt::format("unknown key '{}'{}", item.key, suggestion(item.key, known)), item);
    }
    for_each_field<S>([&](const auto& field) {
      const std::string at = join_path(path, field.key);
      if (const Node* found = node.find(field.key))
        value(*found, out.*field.member, {field.unit, field.min, field.max}, at);
      else if (field.required)
        add("missing-key", at,
            fmt::format("missing key '{}': {}{}", field.key, field.doc, unit_note(field.unit)), node);
    });
  }

 private:
  static std::string unit_note(std::string_view unit) {
    return unit.empty() ? "" : fmt::format(" [{}]", unit);
  }

  void add(const char* code, const std::string& path, std::string message, const Node& node) {
    problems_.add({code, path, std::move(message), node.place()});
  }
  void add_value(const char* code, const std::string& path, std::string message, const Node& node) {
    problems_.add({code, path, std::move(message), node.kind == NodeKind::null ? node.place() : node.where});
  }

  // False, with a problem, unless the node is a scalar.
  bool expect(const Node& node, const std::string& what, const std::string& path, bool number) {
    if (node.kind == NodeKind::scalar && !(number && node.quoted)) return true;
    add_value("wrong-type", path, fmt::format("expects {}, got {}", what, describe(node)), node);
    return false;
  }

  bool in_range(double number, const Node& node, const Limits& limits, const std::string& path) {
    if (number >= limits.min && number <= limits.max) return true;
    out_of_range(node, limits, path);
    return false;
  }
  void out_of_range(const Node& node, const Limits& limits, const std::string& path) {
    add_value("out-of-range", path,
              fmt::format("{} is outside {}", node.text, range_text(limits.min, limits.max, limits.unit)),
              node);
  }

  template <Integer T>
  void value(const Node& node, T& out, const Limits& limits, const std::string& path) {
    const std::string what = fmt::format("an integer of {}", range_text(limits.min, limits.max, limits.unit));
    if (!expect(node, what, path, true)) return;
    if (!is_integer(node.text)) {
      add_value("wrong-type", path,
                fmt::format("expects {} in plain decimal digits, got {}", what, describe(node)), node);
      return;
    }
    std::uint64_t number = 0;
    const bool negative = node.text[0] == '-';
    const char* first = node.text.data() + (negative ? 1 : 0);
    const auto parsed = std::from_chars(first, node.text.data() + node.text.size(), number);
    if (parsed.ec != std::errc{} || (negative && number != 0)) {
      out_of_range(node, limits, path);
    } else if (in_range(static_cast<double>(number), node, limits, path)) {
      out = static_cast<T>(number);
    }
  }

  void value(const Node& node, double& out, const Limits& limits, const std::string& path) {
    const std::string what = fmt::format("a number of {}", range_text(limits.min, limits.max, limits.unit));
    if (!expect(node, what, path, true)) return;
    if (!is_number(node.text)) {
      add_value("wrong-type", path,
                fmt::format("expects {} written like 12, 0.5 or 1e3, got {}", what, describe(node)), node);
      return;
    }
    double number = 0;
    const auto parsed = std::from_chars(node.text.data(), node.text.data() + node.text.size(), number);
    if (parsed.ec != std::errc{})
      out_of_range(node, limits, path);
    else if (in_range(number, node, limits, path))
      out = number + 0.0;  // -0 becomes 0
  }

  void value(const Node& node, std::string& out, const Limits&, const std::string& path) {
    if (!expect(node, "text", path, false)) return;
    std::string_view text = node.text;
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);  // of a YAML block
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (text.size() > kLongestText)
      add_value("out-of-range", path,
                fmt::format("has {} bytes, at most {} are legal", text.size(), kLongestText), node);
    else if (std::any_of(text.begin(), text.end(), is_control))
      add_value("wrong-type", path, "expects one line of text, without control characters", node);
    else
      out = text;
  }

  template <Choice T>
  void value(const Node& node, T& out, const Limits&, const std::string& path) {
    const std::vector<std::string> names = choice_names<T>();
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    if (!expect(node, "one of " + all, path, false)) return;
    const auto found = std::find(names.begin(), names.end(), node.text);
    if (found == names.end())
      add_value("unknown-choice", path,
                fmt::format("'{}' is none of {}{}", node.text, all, near_note(node.text, names)), node);
    else
      out = static_cast<T>(found - names.begin());
  }
  static std::string near_note(const std::string& word, const std::vector<std::string>& names) {
    return nearest(word, names).empty() ? "" : suggestion(word, names);
  }

  void value(const Node& node, bool& out, const Limits&, const std::string& path) {
    if (!expect(node, "true or false", path, false)) return;
    if (node.quoted || (node.text != "true" && node.text != "false"))
      add_value("wrong-type", path, fmt::format("expects true or false, got {}", describe(node)), node);
    else
      out = node.text == "true";
  }

  template <Section T>
  void value(const Node& node, T& out, const Limits&, const std::string& path) {
    if constexpr (MayBeAbsent<T>) {
      out.present = !(node.kind == NodeKind::null && node.removes);
      if (!out.present) return;
    }
    section(node, out, path);
  }

  template <List T>
  void value(const Node& node, T& out, const Limits& limits, const std::string& path) {
    if (node.kind != NodeKind::list) {
      add_value("wrong-type", path, fmt::format("expects a list, got {}", describe(node)), node);
      return;
    }
    T items(node.items.size());
    for (std::size_t i = 0; i < items.size(); ++i)
      value(node.items[i], items[i], limits, join_path(path, std::to_string(i)));
    out = std::move(items);
  }

  template <Named T>
  void value(const Node& node, T& out, const Limits&, const std::string& path) {
    if (node.kind != NodeKind::map) {
      add("wrong-type", path, fmt::format("expects sections by name, got {}", describe(node)), node);
      return;
    }
    for (const Node& item : node.items) {
      if (item.kind == NodeKind::null && item.removes) continue;
      const std::string at = join_path(path, item.key);
      if (item.kind == NodeKind::null)
        add("empty-section", at,
            "has no keys; a null removes an inherited section, and none of this name is inherited", item);
      else
        section(item, out[item.key], at);
    }
  }

  Problems& problems_;
};

}  // namespace

std::string number_text(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value >= -kExact && value <= kExact && value == static_cast<double>(static_cast<std::int64_t>(value)))
    return std::to_string(static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

std::string range_text(double min, double max, std::string_view unit) {
  const std::string tail = unit.empty() ? "" : " " + std::string(unit);
  if (max == kNoLimit) return fmt::format("at least {}{}", number_text(min), tail);
  return fmt::format("{}..{}{}", number_text(min), number_text(max), tail);
}

Machine read_machine(const Node& root, Problems& problems) {
  Machine machine;
  Reader(problems).section(root, machine, "");
  return machine;
}

}  // namespace npulab::config
