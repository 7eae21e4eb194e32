// SPDX-License-Identifier: Apache-2.0
// A folder that is written whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace npulab::cli {

// A folder to be written later. It is proven at once that this can be done; its files go to a temporary
// folder beside it, which takes its name in one step. Unless commit() came to its end, nothing is left.
class OutputFolder {
 public:
  // Errors: input "cannot-write" with the path and the reason: it exists and is not an empty folder, the
  // folder around it does not exist or takes no files.
  explicit OutputFolder(std::string path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return path_; }
  // A file below the folder, with the folders on the way; `name` has no ".." parts. Errors: input
  // "cannot-write".
  void add(const std::string& name, std::span<const std::byte> content, bool executable = false);
  void add(const std::string& name, std::string_view content, bool executable = false) {
    add(name, std::as_bytes(std::span(content.data(), content.size())), executable);
  }
  // Errors: input "cannot-write", also when something else has taken the name meanwhile.
  void commit();

 private:
  [[noreturn]] void refuse(const std::string& reason) const;
  std::string make_temporary() const;

  std::string path_;
  std::string target_;     // absolute, behind symbolic links
  std::string temporary_;  // empty: there is none
};

}  // namespace npulab::cli
