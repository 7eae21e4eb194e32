// SPDX-License-Identifier: Apache-2.0
#include "isa/binary.hpp"

#include <fmt/format.h>

#include <utility>

#include "isa/table.hpp"

namespace npulab::isa {

namespace {

class Writer {
 public:
  void u8(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u16(std::uint16_t value) { number(value, 2); }
  void u32(std::size_t value) { number(value, 4); }
  void i64(std::int64_t value) { number(static_cast<std::uint64_t>(value), 8); }
  void string(const std::string& text) {
    u32(text.size());
    for (const char c : text) u8(static_cast<std::uint8_t>(c));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) u8(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  std::vector<std::byte> bytes_;
};

void write(Writer& out, const Operand& operand) {
  out.u8(static_cast<std::uint8_t>(operand.kind));
  out.u8(operand.reg);
  out.u8(operand.space);
  out.u8(operand.tensor);
  out.i64(operand.imm);
}

void write(Writer& out, const Instruction& instruction) {
  out.u16(info(instruction.op).code);
  out.u8(static_cast<std::uint8_t>(instruction.type));
  out.u8(static_cast<std::uint8_t>(instruction.type2));
  out.u8(instruction.operand_count);
  out.u8(instruction.mod_count);
  for (std::size_t i = 0; i < instruction.operand_count; ++i) write(out, instruction.operands[i]);
  for (std::size_t i = 0; i < instruction.mod_count; ++i) {
    out.u8(static_cast<std::uint8_t>(instruction.mods[i].mod));
    write(out, instruction.mods[i].value);
  }
}

// The names that binaries of one kernel share, wherever it lies. Control characters are not text.
void write_files(Writer& out, const Kernel& kernel) {
  out.u32(kernel.files.size());
  for (std::size_t i = 0; i < kernel.files.size(); ++i) {
    std::string name = kernel.short_name(i);
    for (char& c : name)
      if (static_cast<unsigned char>(c) < 0x20) c = '?';
    out.string(name);
  }
}

void write_places(Writer& out, const Kernel& kernel, const Program& program) {
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    SourcePlace place = place_of(program, i);
    if (place.line == 0 || place.file >= kernel.files.size()) place = {};
    out.u32(place.file);
    out.u32(place.line);
    out.u32(place.outer);
  }
}

void write_code(Writer& out, const Program& program) {
  out.string(program.core_type);
  out.u32(program.cores);
  out.u32(program.strings.size());
  for (const std::string& text : program.strings) out.string(text);
  out.u32(program.instructions.size());
  for (const Instruction& instruction : program.instructions) write(out, instruction);
}

void write(Writer& out, const KernelHeader& header) {
  out.string(header.name);
  out.string(header.doc);
  out.u32(header.params.size());
  for (const Parameter& parameter : header.params) {
    out.string(parameter.name);
    out.i64(parameter.value);
    out.i64(parameter.default_value);
    out.i64(parameter.min);
    out.i64(parameter.max);
    out.string(parameter.doc);
  }
  out.u32(header.tensors.size());
  for (const Tensor& tensor : header.tensors) {
    out.string(tensor.name);
    out.u8(static_cast<std::uint8_t>(tensor.type));
    out.u8(static_cast<std::uint8_t>(tensor.direction));
    out.u32(tensor.shape.size());
    for (const std::int64_t size : tensor.shape) out.i64(size);
    out.i64(tensor.pitch);
    out.string(tensor.doc);
  }
  out.string(header.reference.operation);
  out.u32(header.reference.arguments.size());
  for (const auto& [key, value] : header.reference.arguments) {
    out.string(key);
    out.string(value);
  }
}

}  // namespace

std::vector<std::byte> encode(const Kernel& kernel) {
  Writer out;
  for (const char c : kBinaryMagic) out.u8(static_cast<std::uint8_t>(c));
  out.u16(kBinaryVersion);
  out.u16(0);
  write(out, kernel.header);
  out.string(kernel.built_for);
  write_files(out, kernel);
  out.u32(kernel.programs.size());
  for (const Program& program : kernel.programs) {
    write_code(out, program);
    write_places(out, kernel, program);
    out.u32(program.labels.size());
    for (const auto& [name, index] : program.labels) {
      out.string(name);
      out.u32(index);
    }
  }
  return out.take();
}

std::vector<std::byte> encode_for_hash(const Program& program) {
  Writer out;
  write_code(out, program);
  return out.take();
}

std::uint64_t Kernel::hash() const {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = kOffset;
  for (const Program& program : programs)
    for (const std::byte byte : encode_for_hash(program))
      hash = (hash ^ static_cast<std::uint8_t>(byte)) * kPrime;
  return hash;
}

std::string binary_markdown() {
  return fmt::format(
      R"(Little-endian. `string` is a u32 count of bytes and the bytes; `list` is a u32 count and the items.

| part | fields in order |
|---|---|
| kernel | `NPUK`, u16 version ({}), u16 zero, header, string fingerprint of the core types it was assembled for (or empty), list of files (strings), list of programs, nothing behind |
| header | string name, string purpose, list of parameters, list of tensors, string operation of the reference, list of its (string name, string value) in ascending order of name |
| parameter | string name, i64 value, i64 default, i64 least, i64 most, string text |
| tensor | string name, u8 element type, u8 direction (0 in, 1 out, 2 inout), list of i64 dimensions, i64 pitch, string text |
| program | string core type, u32 cores (0: all that earlier programs leave), list of strings (names of regions), list of instructions, a place for each instruction, list of labels (string name, u32 instruction) in ascending order of name |
| place | u32 file (in the list of files), u32 line, u32 line of the first file that called the macro or included the file (or 0); all 0: unknown |
| instruction | u16 code, u8 type, u8 type2, u8 operands, u8 modifiers, the operands, the modifiers |
| operand | u8 kind, u8 register, u8 memory, u8 tensor, i64 immediate; 12 bytes |
| modifier | u8 number, operand; ascending numbers |

Fields that an operand of its kind does not use hold 255 (register, tensor) or 0 (memory, immediate). Floating
immediates are the bits of a 64-bit float; the only NaN is 0x7ff8000000000000. The first file is the kernel's own; the
others are named as seen from its folder. A reader refuses anything else, other versions too, with the offset of the
byte.
)",
      kBinaryVersion);
}

}  // namespace npulab::isa
