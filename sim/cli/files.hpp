// SPDX-License-Identifier: Apache-2.0
// Files read whole, and files written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace npulab::cli {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Errors: input "cannot-open" with the path and the reason, also for directories.
File open_to_read(const std::string& path);
// Errors: those of open_to_read; input "too-large" when there is more than `most` bytes.
std::string read_file(const std::string& path, std::uint64_t most);

// All of it to an open file, onto the disk. 0, or the errno of what failed.
int write_and_sync(int file, std::span<const std::byte> content);

// A file to be written later. It is proven at once that this can be done; its content goes to a temporary
// file in the same folder, which takes the place of the target in one step. Devices and pipes are written
// directly. Unless commit() came to its end, the target is as it was and no temporary file is left.
class OutputFile {
 public:
  // Errors: input "cannot-write" with the path and the reason.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  const std::string& path() const { return path_; }
  // Errors: input "cannot-write": the disk is full, …
  void stage(std::span<const std::byte> content);
  void stage(std::string_view content) { stage(std::as_bytes(std::span(content.data(), content.size()))); }
  void commit();

 private:
  [[noreturn]] void refuse(const std::string& reason) const;
  int open_temporary();

  std::string path_;
  std::string target_;  // behind symbolic links
  bool regular_ = true;
  std::vector<std::byte> direct_;  // content for what is no regular file
  std::string temporary_;          // empty: there is none
};

// Refuses two outputs with one target. Errors: input "same-output".
void check_distinct(const std::vector<const OutputFile*>& files);

}  // namespace npulab::cli
