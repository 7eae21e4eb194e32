// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/npy_header.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <optional>

#include "isa/error.hpp"

namespace npulab::cli {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLongestHeader = 1 << 16;
constexpr std::size_t kMostDimensions = 32;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw Error(Category::input, "not-npy", fmt::format("{}: {}", path, reason));
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        once(descr_.has_value(), key);
        descr_ = descr();
      } else if (key == "fortran_order") {
        once(fortran_.has_value(), key);
        fortran_ = boolean();
      } else if (key == "shape") {
        once(shape_.has_value(), key);
        shape_ = shape();
      } else {
        bad(fmt::format("unknown key '{}'", key));
      }
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (at_ != text_.size()) bad("something follows the dictionary");
    if (!descr_ || !fortran_ || !shape_)
      bad(fmt::format("key '{}' is missing", !descr_ ? "descr" : !fortran_ ? "fortran_order" : "shape"));
    return {*descr_, *fortran_, *shape_};
  }

 private:
  [[noreturn]] void bad(const std::string& reason) const {
    refuse(path_, fmt::format("the header of the .npy file is broken at character {}: {}", at_, reason));
  }
  void once(bool known, const std::string& key) const {
    if (known) bad(fmt::format("key '{}' comes twice", key));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) bad(fmt::format("'{}' is missing", c));
  }
  std::string string() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) bad("a text in quotes is missing");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    if (value.find('\\') != std::string::npos) bad("escapes are not expected here");
    at_ = end + 1;
    return value;
  }
  std::string descr() {
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      bad("a structured dtype is no tensor; save one field");
    return string();
  }
  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] :
         {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    bad("True or False is missing");
  }
  std::vector<std::uint64_t> shape() {
    std::vector<std::uint64_t> sizes;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::uint64_t size = 0;
      const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (result.ec != std::errc{}) bad("a size is missing");
      at_ = static_cast<std::size_t>(result.ptr - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
      if (sizes.size() == kMostDimensions) bad(fmt::format("more than {} dimensions", kMostDimensions));
      sizes.push_back(size);
      if (take(',')) continue;
      expect(')');
      break;
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

// Exactly `count` bytes. Errors: input "truncated".
std::string take(std::FILE* file, std::size_t count, const std::string& path) {
  std::string bytes(count, '\0');
  bytes.resize(std::fread(bytes.data(), 1, count, file));
  if (bytes.size() < count)
    throw Error(Category::input, "truncated", fmt::format("{}: the file ends within its header", path));
  return bytes;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& path) {
  return Parser(text, path).parse();
}

NpyHeader read_npy_header(std::FILE* file, const std::string& path) {
  std::string magic(kMagic.size(), '\0');
  magic.resize(std::fread(magic.data(), 1, magic.size(), file));
  if (magic != kMagic)
    refuse(path, magic.empty() ? "the file is empty; a .npy file was expected"
                               : "this is no .npy file: it does not begin with \\x93NUMPY");
  const std::string version = take(file, 2, path);
  const auto major = static_cast<unsigned char>(version[0]);
  if (major < 1 || major > 3 || version[1] != 0)
    refuse(path, fmt::format("version {}.{} of the .npy format; known: 1.0, 2.0, 3.0", major,
                             static_cast<unsigned char>(version[1])));
  const std::string field = take(file, major == 1 ? 2 : 4, path);
  std::size_t length = 0;
  for (std::size_t i = field.size(); i-- > 0;) length = length << 8U | static_cast<unsigned char>(field[i]);
  if (length > kLongestHeader)
    refuse(path, fmt::format("a header of {} bytes; at most {} make sense", length, kLongestHeader));
  return parse_npy_header(take(file, length, path), path);
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return fmt::format("({}{})", text, shape.size() == 1 ? "," : "");
}

std::string npy_preamble(const NpyHeader& header) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", header.descr,
                                 header.fortran_order ? "True" : "False", shape_text(header.shape));
  constexpr std::size_t kFixed = 10;  // magic, version, length
  const std::size_t total = (kFixed + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.append(total - kFixed - text.size() - 1, ' ');
  text += '\n';
  std::string preamble(kMagic);
  preamble += {'\1', '\0', static_cast<char>(text.size() & 0xffU), static_cast<char>(text.size() >> 8U)};
  return preamble + text;
}

}  // namespace npulab::cli
