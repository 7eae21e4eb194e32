// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "isa/error.hpp"

namespace npulab::cli {

namespace {

namespace fs = std::filesystem;

constexpr mode_t kReadWriteAll = 0666;
constexpr int kMostAttempts = 100;

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void refuse_open(const std::string& path, const std::string& reason) {
  throw Error(Category::input, "cannot-open", fmt::format("cannot open {}: {}", path, reason));
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

int write_all(int file, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int write_and_sync(int file, std::span<const std::byte> content) {
  if (const int failed = write_all(file, content); failed != 0) return failed;
  return ::fsync(file) == 0 ? 0 : errno;
}

File open_to_read(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse_open(path, "it is a directory");
  File file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) refuse_open(path, reason_of(errno));
  return file;
}

std::string read_file(const std::string& path, std::uint64_t most) {
  const File file = open_to_read(path);
  std::string text;
  constexpr std::size_t kPiece = 1 << 16;
  for (;;) {
    const std::size_t at = text.size();
    text.resize(at + kPiece);
    const std::size_t got = std::fread(text.data() + at, 1, kPiece, file.get());
    text.resize(at + got);
    if (std::ferror(file.get()) != 0) refuse_open(path, reason_of(errno));
    if (text.size() > most)
      throw Error(Category::input, "too-large", fmt::format("{} has more than {} bytes", path, most));
    if (got < kPiece) return text;
  }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_.empty()) throw Error(Category::input, "cannot-write", "an output file needs a name");
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) refuse("it is a directory");
  if (fs::exists(status)) {
    target_ = fs::canonical(path_, error).string();
    if (error) target_ = path_;  // a pipe of the shell has no name of its own
    if (::access(target_.c_str(), W_OK) != 0) refuse(reason_of(errno));
  } else if (fs::is_symlink(fs::symlink_status(path_, error))) {
    target_ = (folder_of(path_) / fs::read_symlink(path_, error)).string();
  }
  regular_ = !fs::exists(status) || fs::is_regular_file(status);
  if (!regular_) return;
  if (!fs::is_directory(folder_of(target_), error))
    refuse(fmt::format("the folder {} does not exist", folder_of(target_).string()));
  ::close(open_temporary());
  ::unlink(temporary_.c_str());
  temporary_.clear();
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      regular_(other.regular_),
      direct_(std::move(other.direct_)),
      temporary_(std::exchange(other.temporary_, {})) {}

void OutputFile::refuse(const std::string& reason) const {
  throw Error(Category::input, "cannot-write", fmt::format("cannot write {}: {}", path_, reason));
}

int OutputFile::open_temporary() {
  const fs::path target(target_);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const std::string name = fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt);
    const std::string path = (folder_of(target_) / name).string();
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadWriteAll);
    if (file >= 0) {
      temporary_ = path;
      return file;
    }
    if (errno != EEXIST) refuse(reason_of(errno));
  }
  refuse("no free name for a temporary file beside it");
}

void OutputFile::stage(std::span<const std::byte> content) {
  if (!regular_) {
    direct_.assign(content.begin(), content.end());
    return;
  }
  const int file = open_temporary();
  const struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0) ::fchmod(file, old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
  if (const int failed = write_and_sync(file, content); failed != 0) refuse(reason_of(failed));
}

void OutputFile::commit() {
  if (regular_) {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) refuse(reason_of(errno));
    temporary_.clear();
    return;
  }
  const int file = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) refuse(reason_of(errno));
  const struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  if (const int failed = write_all(file, direct_); failed != 0) refuse(reason_of(failed));
}

void check_distinct(const std::vector<const OutputFile*>& files) {
  std::error_code ignored;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const fs::path a = fs::weakly_canonical(files[i]->path(), ignored);
      if (a == fs::weakly_canonical(files[j]->path(), ignored) && !fs::is_character_file(a, ignored))
        throw Error(Category::input, "same-output",
                    fmt::format("two outputs go to one file: {} and {}", files[j]->path(), files[i]->path()));
    }
  }
}

}  // namespace npulab::cli
