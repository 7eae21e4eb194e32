// SPDX-License-Identifier: Apache-2.0
// A kernel: header (parameters, tensors, reference) and its programs, one per core type it is launched on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/dtype.hpp"
#include "isa/error.hpp"
#include "isa/instruction.hpp"

namespace npulab::isa {

struct Parameter {
  std::string name;
  std::int64_t value = 0;  // after -D overrides
  std::int64_t default_value = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::string doc;
};

enum class Direction : std::uint8_t { in, out, inout };
std::string_view name(Direction direction);
std::optional<Direction> direction_named(std::string_view text);

struct Tensor {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;  // row-major, evaluated with the parameters
  Direction direction = Direction::in;
  std::int64_t pitch = 0;  // elements between rows of the last dimension; >= the last dimension
  std::string doc;
  // By dimension, when assembled from text: the parameter that alone gives its size, else empty.
  std::vector<std::string> shape_parameters;

  // Both throw Error(input, value-range) when the result does not fit 63 bits.
  std::uint64_t elements() const;  // product of the shape
  std::uint64_t bytes() const;     // as laid out in gm: every row takes the pitch, the last one too
};

// The operation that the kernel must equal: `.reference gemv A=A, x=x, y=y, accumulate=f16`.
struct Reference {
  std::string operation;
  std::map<std::string, std::string> arguments;
};

inline constexpr std::size_t kMostTensors = kNoTensor;  // Operand::tensor is an index below kNoTensor

// Throws Error(input): dimensions number 1 to 8 and are not negative, the pitch is at least the last one,
// rows begin at whole bytes, the size fits 63 bits.
void check_layout(const Tensor& tensor);

bool is_kernel_name(std::string_view name);  // letters, digits, _ - and . in parts with / between

struct KernelHeader {
  std::string name;  // "gemv/register_blocked"
  std::string doc;
  std::vector<Parameter> params;
  std::vector<Tensor> tensors;  // in gm in this order
  Reference reference;          // operation empty when the kernel names none
};

// Where the text of an instruction stands; of a macro or an included file, the line in it.
struct SourcePlace {
  std::uint32_t file = 0;   // index in Kernel::files
  std::uint32_t line = 0;   // 0: unknown
  std::uint32_t outer = 0;  // line of the kernel's own file that called the macro or included the file, or 0
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

struct SourceFile {
  std::string name;
  std::vector<std::string> lines;  // empty when only the name is known, as from a binary
};

struct Program {
  std::string core_type;    // empty: the machine's first core type
  std::uint32_t cores = 0;  // that run it; 0: all of the type that the programs before it leave
  std::vector<Instruction> instructions;
  std::vector<SourcePlace> places;  // of the instructions; behind its end: unknown
  std::map<std::string, std::uint32_t> labels;
  std::vector<std::string> strings;  // names of regions: Operand imm indexes this
};

struct Kernel {
  KernelHeader header;
  std::vector<Program> programs;
  std::string built_for;          // fingerprint of the target that it was assembled for, or empty
  std::string source_name;        // what it was read from, for messages
  std::vector<SourceFile> files;  // of the text: the kernel's own, then those it includes

  // FNV-1a over the binary form of the programs: core types, instructions and strings, without places and
  // labels.
  std::uint64_t hash() const;
  // Place of an instruction for messages; the source alone when the line is unknown.
  Where where(const Program& program, std::size_t instruction) const;
  // Name of a file as seen from the folder of the kernel's own: the same wherever the kernel lies.
  std::string short_name(std::size_t file) const;
};

SourcePlace place_of(const Program& program, std::size_t instruction);
// "line 12" of a known line, or "file:12" when it stands in another file than `here`.
std::string line_text(const SourcePlace& place, std::span<const SourceFile> files, std::string_view here);

}  // namespace npulab::isa
