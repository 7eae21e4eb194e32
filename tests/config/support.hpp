// SPDX-License-Identifier: Apache-2.0
// Helpers of the machine configuration tests: shipped machines, temporary files, refusals.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "isa/error.hpp"
#include "sim/config/describe.hpp"
#include "sim/config/load.hpp"

namespace npulab::config {

inline std::filesystem::path configs() {
  return std::filesystem::path(NPULAB_SOURCE_DIR) / "configs";
}

inline LoadOptions with(std::vector<std::string> set = {}) {
  return {std::move(set), {configs()}};
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What `make` throws, or nothing when it throws nothing.
template <class Make>
std::optional<Error> refusal(Make&& make) {
  try {
    make();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// The refusal of a text as machine file, as one string; empty when it loads.
inline std::string refused(const std::string& text, const LoadOptions& options = with()) {
  const auto error = refusal([&] { machine_from_text(text, "m.yaml", options); });
  return error ? error->what() : "";
}

inline std::string refused_setting(const std::string& machine, std::vector<std::string> set) {
  const auto error = refusal([&] { load_machine(machine, with(std::move(set))); });
  return error ? error->what() : "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A folder of its own for each test, removed at the end.
class Folder {
 public:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            (std::string("npulab_") + test->test_suite_name() + "_" + test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace npulab::config
