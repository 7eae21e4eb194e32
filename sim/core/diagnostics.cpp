// SPDX-License-Identifier: Apache-2.0
#include "sim/core/diagnostics.hpp"

#include <utility>

namespace npulab::core {

void Diagnostics::add(Severity severity, std::string code, std::string message, const Where& where,
                      std::uint32_t core) {
  if (severity == Severity::error) ++errors_;
  for (Diagnostic& known : all_) {
    // Without a line, as for outputs and binaries, the message tells places apart.
    const bool same_place = known.where.line == where.line && known.where.file == where.file &&
                            known.where.from == where.from && (where.line != 0 || known.message == message);
    if (known.code == code && same_place) {
      ++known.count;
      return;
    }
  }
  keep({severity, std::move(code), std::move(message), where, core, 1});
}

std::size_t Diagnostics::add_distinct(Severity severity, std::string code, std::string message,
                                      const Where& where, std::uint32_t core) {
  if (severity == Severity::error) ++errors_;
  return keep({severity, std::move(code), std::move(message), where, core, 1});
}

std::size_t Diagnostics::keep(Diagnostic finding) {
  if (all_.size() == kMostFindings) {
    ++dropped_;
    return kMostFindings;
  }
  all_.push_back(std::move(finding));
  return all_.size() - 1;
}

void Diagnostics::again(std::size_t number) {
  if (number < all_.size()) ++all_[number].count;
}

}  // namespace npulab::core
