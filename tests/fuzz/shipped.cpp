// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/shipped.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/config/load.hpp"

namespace npulab::test {

namespace {

namespace fs = std::filesystem;

isa::Source read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {path.string(), std::string(std::istreambuf_iterator<char>(file), {})};
}

std::vector<fs::path> files(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> paths;
  for (const auto& one : fs::recursive_directory_iterator(folder))
    if (one.path().extension() == ending) paths.push_back(one.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Shipped read_all() {
  const fs::path root(NPULAB_SOURCE_DIR);
  Shipped all;
  for (const fs::path& path : files(root / "configs", ".yaml")) {
    ShippedMachine one;
    one.text = read(path).text;
    one.machine = config::load_machine(path.stem().string(), {{}, {root / "configs"}});
    one.target = config::make_target(one.machine);
    one.others = config::other_targets(one.machine, one.target);
    all.machines.push_back(std::move(one));
  }
  for (const fs::path& path : files(root / "kernels", ".npu")) all.kernels.push_back(read(path));
  for (const fs::path& path : files(root / "kernels", ".inc")) all.included.push_back(read(path));
  return all;
}

}  // namespace

const Shipped& shipped() {
  static const Shipped all = read_all();
  return all;
}

const ShippedMachine& machine_for(std::size_t size) {
  return shipped().machines[size % shipped().machines.size()];
}

isa::AssembleOptions closed_options(const ShippedMachine& machine) {
  isa::AssembleOptions options;
  options.other_core_types = machine.others;
  options.include = [](const std::string& name) {
    const fs::path wanted = fs::path(name).filename();
    for (const isa::Source& source : shipped().included)
      if (fs::path(source.name).filename() == wanted) return source;
    throw Error(Category::input, "cannot-open", "cannot open " + name);
  };
  return options;
}

}  // namespace npulab::test
