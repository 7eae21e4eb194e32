// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/output_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "isa/error.hpp"
#include "sim/cli/files.hpp"

namespace npulab::cli {

namespace {

namespace fs = std::filesystem;

constexpr mode_t kAllOfFolder = 0777;
constexpr mode_t kAllOfProgram = 0777;
constexpr mode_t kReadWriteAll = 0666;
constexpr int kMostAttempts = 100;

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

// What was written into a folder is on the disk before its name is.
void sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace

OutputFolder::OutputFolder(std::string path) : path_(std::move(path)) {
  if (path_.empty()) throw Error(Category::input, "cannot-write", "an output folder needs a name");
  std::error_code error;
  fs::path target = fs::weakly_canonical(path_, error);
  if (error) refuse(error.message());
  if (!target.has_filename()) target = target.parent_path();  // "case/"
  target_ = target.string();
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) refuse("it exists and is no folder");
    const bool empty = fs::is_empty(target, error);
    if (error) refuse(error.message());
    if (!empty) refuse("the folder exists and is not empty");
  }
  if (!fs::is_directory(target.parent_path(), error))
    refuse(fmt::format("the folder {} does not exist", target.parent_path().string()));
  ::rmdir(make_temporary().c_str());
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void OutputFolder::refuse(const std::string& reason) const {
  throw Error(Category::input, "cannot-write", fmt::format("cannot write {}: {}", path_, reason));
}

std::string OutputFolder::make_temporary() const {
  const fs::path target(target_);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const fs::path path =
        target.parent_path() / fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt);
    if (::mkdir(path.c_str(), kAllOfFolder) == 0) return path.string();
    if (errno != EEXIST) refuse(reason_of(errno));
  }
  refuse("no free name for a temporary folder beside it");
}

void OutputFolder::add(const std::string& name, std::span<const std::byte> content, bool executable) {
  if (temporary_.empty()) temporary_ = make_temporary();
  const fs::path path = fs::path(temporary_) / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) refuse(error.message());
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                          executable ? kAllOfProgram : kReadWriteAll);
  if (file < 0) refuse(reason_of(errno));
  const int failed = write_and_sync(file, content);
  ::close(file);
  if (failed != 0) refuse(reason_of(failed));
}

void OutputFolder::commit() {
  if (temporary_.empty()) temporary_ = make_temporary();
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(temporary_, ignored), end; !ignored && at != end;
       at.increment(ignored))
    if (at->is_directory(ignored)) sync_folder(at->path());
  sync_folder(temporary_);
  // Takes the place of an empty folder, too.
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) refuse(reason_of(errno));
  temporary_.clear();
  sync_folder(fs::path(target_).parent_path());
}

}  // namespace npulab::cli
