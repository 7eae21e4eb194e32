// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "isa/binary.hpp"
#include "isa/check.hpp"
#include "isa/error.hpp"
#include "isa/lexer.hpp"
#include "isa/symbols.hpp"
#include "isa/table.hpp"

namespace npulab::isa {

namespace {

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::size_t offset() const { return offset_; }
  std::size_t left() const { return bytes_.size() - offset_; }

  [[noreturn]] void fail(const std::string& code, const std::string& message) const {
    fail(code, message, offset_);
  }
  [[noreturn]] void fail(const std::string& code, const std::string& message, std::size_t offset) const {
    throw Error(Category::input, code, fmt::format("byte {}: {}", offset, message), Where{name_});
  }

  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::int64_t i64() { return static_cast<std::int64_t>(number(8)); }

  // A count of items that take at least `least` bytes each.
  std::size_t count(std::size_t least, const char* what) {
    const std::size_t at = offset_;
    const std::size_t value = u32();
    if (value > left() / least)
      fail("truncated", fmt::format("{} {} cannot fit in the {} bytes left", value, what, left()), at);
    return value;
  }

  std::string string() {
    const std::size_t size = count(1, "bytes of a string");
    std::string text;
    text.reserve(size);
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(bytes_[offset_ + i]);
    offset_ += size;
    return text;
  }

  // A string that is a name: what the lexer takes for one identifier, or empty where that is allowed.
  std::string word(const char* what, bool may_be_empty = false) {
    const std::size_t at = offset_;
    std::string text = string();
    if (text.empty() && may_be_empty) return text;
    if (!is_identifier(text))
      fail("bad-name", fmt::format("'{}' is not the name of {}", printable(text), what), at);
    return text;
  }

  // A string that names a parameter or a tensor.
  std::string definable(const char* what) {
    const std::size_t at = offset_;
    std::string result = string();
    if (!is_definable_name(result))
      fail("bad-name", fmt::format("'{}' is not the name of {}", printable(result), what), at);
    return result;
  }

  // A string that messages and documents show: no control characters but tabs and line breaks.
  std::string text() {
    const std::size_t at = offset_;
    std::string result = string();
    for (const char c : result)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
        fail("bad-text", "a text holds control characters", at);
    return result;
  }

  static std::string printable(const std::string& text) {
    constexpr std::size_t kMost = 40;
    std::string result;
    for (const char c : text.substr(0, kMost)) result += c >= 0x20 && c < 0x7f ? c : '?';
    return result;
  }

 private:
  std::uint64_t number(std::size_t size) {
    if (left() < size)
      fail("truncated", fmt::format("the file ends; {} more bytes are needed", size - left()));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= static_cast<std::uint64_t>(bytes_[offset_ + i]) << (8 * i);
    offset_ += size;
    return value;
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::size_t offset_ = 0;
};

DType read_type(Reader& in) {
  const std::size_t at = in.offset();
  const std::uint8_t value = in.u8();
  if (value > static_cast<std::uint8_t>(DType::none))
    in.fail("bad-field", fmt::format("{} is no element type", value), at);
  return static_cast<DType>(value);
}

Operand read_operand(Reader& in) {
  Operand operand;
  const std::size_t at = in.offset();
  const std::uint8_t kind = in.u8();
  if (kind == 0 || kind > static_cast<std::uint8_t>(OperandKind::target))
    in.fail("bad-field", fmt::format("{} is no kind of operand", kind), at);
  operand.kind = static_cast<OperandKind>(kind);
  operand.reg = in.u8();
  operand.space = in.u8();
  operand.tensor = in.u8();
  operand.imm = in.i64();
  return operand;
}

Instruction read_instruction(Reader& in, std::size_t strings) {
  const std::size_t at = in.offset();
  Instruction instruction;
  const std::uint16_t code = in.u16();
  const auto op = op_coded(code);
  if (!op) in.fail("bad-field", fmt::format("0x{:03x} is no instruction", code), at);
  instruction.op = *op;
  instruction.type = read_type(in);
  instruction.type2 = read_type(in);
  instruction.operand_count = in.u8();
  instruction.mod_count = in.u8();
  if (instruction.operand_count > kMaxOperands || instruction.mod_count > kMaxMods)
    in.fail("bad-field",
            fmt::format("{} operands and {} modifiers; the most are {} and {}", instruction.operand_count,
                        instruction.mod_count, kMaxOperands, kMaxMods),
            at);
  for (std::size_t i = 0; i < instruction.operand_count; ++i) instruction.operands[i] = read_operand(in);
  for (std::size_t i = 0; i < instruction.mod_count; ++i) {
    const std::size_t where = in.offset();
    const std::uint8_t mod = in.u8();
    if (mod >= kModCount) in.fail("bad-field", fmt::format("{} is no modifier", mod), where);
    instruction.mods[i].mod = static_cast<Mod>(mod);
    instruction.mods[i].value = read_operand(in);
  }
  const std::vector<Finding> findings = check_shape(instruction, strings);
  if (!findings.empty()) in.fail(findings.front().code, findings.front().message, at);
  return instruction;
}

Parameter read_parameter(Reader& in) {
  Parameter parameter;
  const std::size_t at = in.offset();
  parameter.name = in.definable("a parameter");
  parameter.value = in.i64();
  parameter.default_value = in.i64();
  parameter.min = in.i64();
  parameter.max = in.i64();
  parameter.doc = in.text();
  for (const std::int64_t value : {parameter.value, parameter.default_value})
    if (value < parameter.min || value > parameter.max)
      in.fail("parameter-range",
              fmt::format("parameter {} = {} is not in {}..{}", parameter.name, value, parameter.min,
                          parameter.max),
              at);
  return parameter;
}

Tensor read_tensor(Reader& in) {
  Tensor tensor;
  const std::size_t at = in.offset();
  tensor.name = in.definable("a tensor");
  tensor.type = read_type(in);
  const std::uint8_t direction = in.u8();
  if (tensor.type == DType::none || direction > static_cast<std::uint8_t>(Direction::inout))
    in.fail("bad-field", fmt::format("tensor {} has no such type or direction", tensor.name), at);
  tensor.direction = static_cast<Direction>(direction);
  const std::size_t dimensions = in.count(8, "dimensions");
  for (std::size_t i = 0; i < dimensions; ++i) tensor.shape.push_back(in.i64());
  tensor.pitch = in.i64();
  tensor.doc = in.text();
  try {
    check_layout(tensor);
  } catch (const Error& error) {
    in.fail(error.code(), error.message(), at);
  }
  return tensor;
}

bool is_reference_value(const std::string& value) {
  const bool negative = !value.empty() && value[0] == '-';
  bool digits = value.size() > (negative ? 1U : 0U);
  for (const char c : value.substr(negative ? 1 : 0)) digits = digits && c >= '0' && c <= '9';
  return digits || is_identifier(value);
}

KernelHeader read_header(Reader& in) {
  KernelHeader header;
  const std::size_t at = in.offset();
  header.name = in.text();
  if (!is_kernel_name(header.name))
    in.fail("bad-name", fmt::format("'{}' is not the name of a kernel", Reader::printable(header.name)), at);
  header.doc = in.text();
  constexpr std::size_t kLeastParameter = 4 + 4 * 8 + 4;
  constexpr std::size_t kLeastTensor = 4 + 2 + 4 + 8 + 4;
  const std::size_t params = in.count(kLeastParameter, "parameters");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < params; ++i) header.params.push_back(read_parameter(in));
  const std::size_t tensors = in.count(kLeastTensor, "tensors");
  if (tensors > kMostTensors)
    in.fail("bad-field", fmt::format("{} tensors; the most is {}", tensors, kMostTensors));
  for (std::size_t i = 0; i < tensors; ++i) header.tensors.push_back(read_tensor(in));
  std::map<std::string, bool> seen;
  for (const Parameter& parameter : header.params)
    if (!seen.emplace(parameter.name, true).second)
      in.fail("duplicate-name", fmt::format("'{}' stands twice", parameter.name));
  for (const Tensor& tensor : header.tensors)
    if (!seen.emplace(tensor.name, true).second)
      in.fail("duplicate-name", fmt::format("'{}' stands twice", tensor.name));
  header.reference.operation = in.word("an operation", true);
  const std::size_t arguments = in.count(8, "arguments");
  for (std::size_t i = 0; i < arguments; ++i) {
    std::string key = in.word("an argument");
    if (!header.reference.arguments.empty() && header.reference.arguments.rbegin()->first >= key)
      in.fail("bad-field", "the arguments of the reference are not in ascending order");
    const std::size_t value_at = in.offset();
    std::string value = in.text();
    if (!is_reference_value(value)) in.fail("bad-name", "the value is no name and no integer", value_at);
    header.reference.arguments.emplace(std::move(key), std::move(value));
  }
  if (header.reference.operation.empty() && arguments > 0) in.fail("bad-field", "arguments of no reference");
  return header;
}

SourcePlace read_place(Reader& in, std::size_t files) {
  const std::size_t at = in.offset();
  SourcePlace place;
  place.file = in.u32();
  place.line = in.u32();
  place.outer = in.u32();
  if (place.line == 0 && place != SourcePlace{}) in.fail("bad-field", "a place without a line", at);
  if (place.line != 0 && place.file >= files)
    in.fail("bad-field", fmt::format("a line of file {} of {}", place.file, files), at);
  return place;
}

Program read_program(Reader& in, std::size_t files) {
  Program program;
  program.core_type = in.word("a core type", true);
  program.cores = in.u32();
  const std::size_t strings = in.count(4, "strings");
  for (std::size_t i = 0; i < strings; ++i) program.strings.push_back(in.text());
  constexpr std::size_t kLeastInstruction = 2 + 1 + 1 + 1 + 1 + 12;  // with its place
  const std::size_t size = in.count(kLeastInstruction, "instructions");
  program.instructions.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = in.offset();
    program.instructions.push_back(read_instruction(in, strings));
    for (const Operand& operand : program.instructions.back().operands)
      if (operand.kind == OperandKind::target &&
          (operand.imm < 0 || operand.imm >= static_cast<std::int64_t>(size)))
        in.fail("jump-range", fmt::format("goes to instruction {} of {}", operand.imm, size), at);
  }
  for (std::size_t i = 0; i < size; ++i) program.places.push_back(read_place(in, files));
  const std::size_t labels = in.count(8, "labels");
  for (std::size_t i = 0; i < labels; ++i) {
    std::string name = in.word("a label");
    const std::size_t at = in.offset();
    const std::uint32_t index = in.u32();
    if (index > size)
      in.fail("bad-field", fmt::format("label {} stands at instruction {} of {}", name, index, size), at);
    if (!program.labels.empty() && program.labels.rbegin()->first >= name)
      in.fail("bad-field", "the labels are not in ascending order", at);
    program.labels.emplace(std::move(name), index);
  }
  return program;
}

}  // namespace

Kernel decode(std::span<const std::byte> bytes, const std::string& name) {
  Reader in(bytes, name);
  for (const char c : kBinaryMagic)
    if (in.left() == 0 || in.u8() != static_cast<std::uint8_t>(c))
      in.fail("not-a-kernel", fmt::format("the file does not begin with '{}'", kBinaryMagic), 0);
  const std::uint16_t version = in.u16();
  if (version != kBinaryVersion)
    in.fail("unknown-version",
            fmt::format("version {}; this program reads version {}: assemble the kernel anew", version,
                        kBinaryVersion),
            4);
  if (in.u16() != 0)
    in.fail("unused-field", fmt::format("bits that version {} does not use are set", version), 6);
  Kernel kernel;
  kernel.source_name = name;
  kernel.header = read_header(in);
  kernel.built_for = in.text();
  const std::size_t files = in.count(4, "files");
  for (std::size_t i = 0; i < files; ++i) kernel.files.push_back({in.text(), {}});
  constexpr std::size_t kLeastProgram = 4 + 4 + 4 + 4 + 4;
  const std::size_t programs = in.count(kLeastProgram, "programs");
  if (programs == 0) in.fail("bad-field", "the kernel has no program");
  for (std::size_t i = 0; i < programs; ++i) kernel.programs.push_back(read_program(in, files));
  if (in.left() != 0) in.fail("trailing-bytes", fmt::format("{} bytes stand behind the kernel", in.left()));
  return kernel;
}

}  // namespace npulab::isa
