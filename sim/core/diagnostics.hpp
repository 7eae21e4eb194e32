// SPDX-License-Identifier: Apache-2.0
// What the checks of a run found. A finding never stops the run unless going on would be meaningless.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/error.hpp"

namespace npulab::core {

enum class Severity : std::uint8_t { warning, error };  // an error makes the verdict bad

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;
  std::string message;
  Where where;
  std::uint32_t core = 0;
  std::uint64_t count = 1;  // how often the same finding came at this place
};

class Diagnostics {
 public:
  // The same code at the same place is one finding; at most kMostFindings are kept, the rest counted.
  void add(Severity severity, std::string code, std::string message, const Where& where, std::uint32_t core);

  // A finding of its own, whatever was found at this place; its number, for again().
  std::size_t add_distinct(Severity severity, std::string code, std::string message, const Where& where,
                           std::uint32_t core);
  // The finding of this number came once more.
  void again(std::size_t number);

  const std::vector<Diagnostic>& all() const { return all_; }
  std::uint64_t dropped() const { return dropped_; }
  bool has_errors() const { return errors_ > 0; }

 private:
  static constexpr std::size_t kMostFindings = 200;
  std::size_t keep(Diagnostic finding);

  std::vector<Diagnostic> all_;
  std::uint64_t dropped_ = 0;
  std::uint64_t errors_ = 0;
};

}  // namespace npulab::core
