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
  if (all_.size() == kMostFindings) {
    ++dropped_;
    return;
  }
  all_.push_back({severity, std::move(code), std::move(message), where, core, 1});
}

}  // namespace npulab::core
