// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/npy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isa/error.hpp"
#include "sim/cli/files.hpp"
#include "sim/cli/npy_header.hpp"

namespace npulab::cli {

namespace {

using isa::DType;

// How a type that NumPy lacks is written, and what else is read as it. Kinds and sizes are NumPy's: "u2".
struct Stand {
  DType type;
  std::string_view written;
  std::array<std::string_view, 2> read;
  std::string_view note;
};
constexpr std::array<Stand, 4> kStands{{
    {DType::bf16, "<u2", {"V2", ""}, "its bits as uint16; .view(ml_dtypes.bfloat16) makes them numbers"},
    {DType::f8e4m3,
     "|u1",
     {"V1", ""},
     "its bits as uint8; .view(ml_dtypes.float8_e4m3fn) makes them numbers"},
    {DType::f8e5m2,
     "|u1",
     {"V1", "f1"},
     "its bits as uint8; .view(ml_dtypes.float8_e5m2) makes them numbers"},
    {DType::i4, "|i1", {"V1", ""}, "one element per byte, as int8"},
}};

const Stand* stand_of(DType type) {
  const auto found =
      std::find_if(kStands.begin(), kStands.end(), [&](const Stand& one) { return one.type == type; });
  return found == kStands.end() ? nullptr : &*found;
}

std::string_view written_as(DType type) {
  const Stand* stand = stand_of(type);
  return stand == nullptr ? isa::info(type).numpy : stand->written;
}

// Bytes of one element in the file.
std::size_t element_bytes(DType type) {
  return std::max<std::size_t>(1, isa::bits(type) / 8);
}

struct KnownType {
  std::string_view kind_and_size;
  std::string_view name;
};
constexpr std::array<KnownType, 15> kNumpyNames{{{"f2", "float16"},
                                                 {"f4", "float32"},
                                                 {"f8", "float64"},
                                                 {"i1", "int8"},
                                                 {"i2", "int16"},
                                                 {"i4", "int32"},
                                                 {"i8", "int64"},
                                                 {"u1", "uint8"},
                                                 {"u2", "uint16"},
                                                 {"u4", "uint32"},
                                                 {"u8", "uint64"},
                                                 {"b1", "bool"},
                                                 {"c8", "complex64"},
                                                 {"c16", "complex128"},
                                                 {"O", "object"}}};

std::string numpy_name(std::string_view descr) {
  for (const KnownType& known : kNumpyNames)
    if (descr.substr(std::min<std::size_t>(1, descr.size())) == known.kind_and_size)
      return std::string(known.name);
  return "a type of its own";
}

[[noreturn]] void refuse_type(const std::string& path, const isa::Tensor& tensor, const std::string& descr) {
  const std::string_view wanted = written_as(tensor.type);
  throw Error(
      Category::input, "wrong-dtype",
      fmt::format(
          "{}: tensor {} is {}, the file holds '{}' ({}); expected '{}' ({}). Types are not converted on "
          "reading, as rounding would go unseen: save it with .astype(numpy.{}){}",
          path, tensor.name, isa::name(tensor.type), descr, numpy_name(descr), wanted, numpy_name(wanted),
          numpy_name(wanted),
          stand_of(tensor.type) == nullptr
              ? ""
              : fmt::format(" or, for {}, .view of it", isa::name(tensor.type))));
}

// Whether the file's bytes must be swapped. Errors: input "wrong-dtype".
bool check_type(const std::string& path, const isa::Tensor& tensor, const std::string& descr) {
  const std::string_view kind = std::string_view(descr).substr(std::min<std::size_t>(1, descr.size()));
  bool known = kind == written_as(tensor.type).substr(1);
  if (const Stand* stand = stand_of(tensor.type))
    known = known ||
            (!kind.empty() && std::find(stand->read.begin(), stand->read.end(), kind) != stand->read.end());
  const char order = descr.empty() ? '\0' : descr.front();
  if (descr.empty() || !known || std::string_view("<>|=").find(order) == std::string_view::npos)
    refuse_type(path, tensor, descr);
  return order == '>' && element_bytes(tensor.type) > 1;
}

void check_shape(const std::string& path, const isa::Tensor& tensor,
                 const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> wanted;
  for (const std::int64_t size : tensor.shape) wanted.push_back(static_cast<std::uint64_t>(size));
  if (shape == wanted) return;
  throw Error(Category::input, "wrong-shape",
              fmt::format("{}: tensor {} has shape {}, the file {}", path, tensor.name, shape_text(wanted),
                          shape_text(shape)));
}

// Exactly `count` bytes and then the end. Errors: input "truncated", "trailing-bytes".
std::vector<std::byte> read_data(std::FILE* file, std::size_t count, const std::string& path) {
  std::vector<std::byte> data(count);
  const std::size_t got = count == 0 ? 0 : std::fread(data.data(), 1, count, file);
  if (got < count)
    throw Error(Category::input, "truncated",
                fmt::format("{}: the file ends after {} of {} bytes of elements", path, got, count));
  if (std::fgetc(file) != EOF)
    throw Error(Category::input, "trailing-bytes",
                fmt::format("{}: something follows the {} bytes of elements", path, count));
  return data;
}

// From the first index running fastest to the last one running fastest.
std::vector<std::byte> to_c_order(const std::vector<std::byte>& data, const std::vector<std::uint64_t>& shape,
                                  std::size_t bytes) {
  std::vector<std::byte> out(data.size());
  std::vector<std::uint64_t> strides(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  std::vector<std::uint64_t> index(shape.size());
  std::uint64_t from = 0;
  for (std::size_t to = 0; to < data.size(); to += bytes) {
    std::copy_n(data.data() + from * bytes, bytes, out.data() + to);
    for (std::size_t i = shape.size(); i-- > 0;) {
      from += strides[i];
      if (++index[i] < shape[i]) break;
      from -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
  return out;
}

constexpr int kLeastI4 = -8, kMostI4 = 7;

std::vector<std::byte> pack_i4(const std::vector<std::byte>& data, const std::string& path, bool low_bits) {
  std::vector<std::byte> packed((data.size() + 1) / 2);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const int value = static_cast<std::int8_t>(data[i]);
    if (value < kLeastI4 || value > (low_bits ? 15 : kMostI4))
      throw Error(Category::input, "out-of-range",
                  fmt::format("{}: element {} is {}, i4 holds {}..{}", path, i, value, kLeastI4, kMostI4));
    const std::byte nibble = data[i] & std::byte{0xf};
    packed[i / 2] |= i % 2 == 0 ? nibble : nibble << 4;
  }
  return packed;
}

std::vector<std::byte> unpack_i4(std::span<const std::byte> packed, std::uint64_t elements) {
  std::vector<std::byte> data(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const unsigned nibble = std::to_integer<unsigned>(packed[i / 2] >> (i % 2 == 0 ? 0 : 4)) & 0xfU;
    data[i] = static_cast<std::byte>(nibble >= 8 ? nibble | 0xf0U : nibble);
  }
  return data;
}

}  // namespace

std::vector<std::byte> read_npy(const std::string& path, const isa::Tensor& tensor) {
  const File file = open_to_read(path);
  const NpyHeader header = read_npy_header(file.get(), path);
  const bool swapped = check_type(path, tensor, header.descr);
  check_shape(path, tensor, header.shape);
  const std::size_t bytes = element_bytes(tensor.type);
  std::vector<std::byte> data = read_data(file.get(), tensor.elements() * bytes, path);
  if (swapped)
    for (std::size_t i = 0; i < data.size(); i += bytes)
      std::reverse(data.data() + i, data.data() + i + bytes);
  if (header.fortran_order && header.shape.size() > 1) data = to_c_order(data, header.shape, bytes);
  if (tensor.type == DType::i4) data = pack_i4(data, path, header.descr.substr(1) == "V1");
  return data;
}

std::vector<std::byte> to_npy(const isa::Tensor& tensor, std::span<const std::byte> elements) {
  NpyHeader header;
  header.descr = written_as(tensor.type);
  for (const std::int64_t size : tensor.shape) header.shape.push_back(static_cast<std::uint64_t>(size));
  const std::string preamble = npy_preamble(header);
  const auto begin = std::as_bytes(std::span(preamble.data(), preamble.size()));
  std::vector<std::byte> file(begin.begin(), begin.end());
  if (tensor.type == DType::i4) {
    const std::vector<std::byte> data = unpack_i4(elements, tensor.elements());
    file.insert(file.end(), data.begin(), data.end());
  } else {
    file.insert(file.end(), elements.begin(), elements.end());
  }
  return file;
}

std::string npy_note(DType type) {
  const Stand* stand = stand_of(type);
  return stand == nullptr ? std::string() : std::string(stand->note);
}

}  // namespace npulab::cli
