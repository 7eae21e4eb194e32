// SPDX-License-Identifier: Apache-2.0
// The entry for NumPy files: the first bytes choose type and shape of the tensor, the rest is the file.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include <stdexcept>

#include "isa/error.hpp"
#include "sim/cli/npy.hpp"
#include "sim/cli/npy_header.hpp"
#include "tests/fuzz/entries.hpp"

namespace npulab::test {

namespace {

// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> content) : file_(memfd_create("fuzz.npy", 0)) {
    if (file_ < 0 || write(file_, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      throw std::runtime_error("no file in memory");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};

isa::Tensor tensor_of(std::span<const std::uint8_t> choice) {
  isa::Tensor tensor;
  tensor.name = "x";
  tensor.type = isa::kDTypes[choice[0] % isa::kDTypes.size()].type;
  for (std::size_t i = 0; i < choice[1] % 4U; ++i) tensor.shape.push_back(choice[2 + i] % 9);
  if (tensor.shape.empty()) tensor.shape.push_back(choice[2]);
  tensor.pitch = tensor.shape.back();
  return tensor;
}

constexpr std::size_t kChoice = 5;

}  // namespace

void take_npy(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kChoice) return;
  const isa::Tensor tensor = tensor_of(bytes.first(kChoice));
  const MemoryFile file(bytes.subspan(kChoice));
  std::vector<std::byte> elements;
  try {
    elements = cli::read_npy(file.path(), tensor);
  } catch (const Error& error) {
    if (error.category() != Category::input) throw;
    return;
  }
  if (elements.size() != (tensor.elements() * isa::bits(tensor.type) + 7) / 8)
    throw std::logic_error("a .npy file gave another number of elements than the tensor has");
  const std::vector<std::byte> written = cli::to_npy(tensor, elements);
  const MemoryFile again({reinterpret_cast<const std::uint8_t*>(written.data()), written.size()});
  if (cli::read_npy(again.path(), tensor) != elements)
    throw std::logic_error("what to_npy writes is read as something else");
}

std::vector<Input> npy_seeds() {
  std::vector<Input> seeds;
  for (std::size_t type = 0; type < isa::kDTypes.size(); ++type) {
    for (const bool fortran : {false, true}) {
      Input seed{static_cast<std::uint8_t>(type), 2, 3, 4, 0};
      const isa::Tensor tensor = tensor_of(seed);
      const std::vector<std::byte> elements((tensor.elements() * isa::bits(tensor.type) + 7) / 8,
                                            std::byte{0x17});
      const std::vector<std::byte> file = cli::to_npy(tensor, elements);
      for (const std::byte byte : file) seed.push_back(std::to_integer<std::uint8_t>(byte));
      const std::string text(seed.begin(), seed.end());
      constexpr std::string_view kFalse = "False";
      if (const std::size_t at = text.find(kFalse); fortran && at != std::string::npos)
        std::copy_n("True ", kFalse.size(), seed.begin() + static_cast<std::ptrdiff_t>(at));
      seeds.push_back(seed);
    }
  }
  return seeds;
}

std::vector<std::string> npy_words() {
  return {"'descr': '<f4'", "'fortran_order': True", "'shape': (3, 4)", ">f2", "|V2", "(,)", "L,",
          "{'descr':"};
}

}  // namespace npulab::test
