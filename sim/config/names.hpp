// SPDX-License-Identifier: Apache-2.0
// Names with a fixed meaning inside a machine, and the form of the names that a file chooses.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "isa/dtype.hpp"

namespace npulab::config {

inline constexpr char kGmName[] = "gm";
inline constexpr char kScalarEngine[] = "scalar";
inline constexpr char kVectorEngine[] = "vector";
inline constexpr char kMatrixEngine[] = "matrix";
inline constexpr char kEveryEngine[] = "all";

// [a-z][a-z0-9_]*, at most 32 characters.
bool is_identifier(std::string_view name);
// v0, s12: the assembler would take it for a register.
bool is_register_name(std::string_view name);
// Types of a key of MatrixConfig::types: "f16" is both, "i8_i4" is A and B, and so is "i8_i4_2". none where
// it is not such a name.
std::pair<isa::DType, isa::DType> matrix_types(std::string_view key);
// "TYPE.BUFFER" at its only '.'; both parts empty when there is not exactly one.
std::pair<std::string, std::string> split_remote(const std::string& text);
// "source>destination" at its only '>'; both parts empty when there is not exactly one.
std::pair<std::string, std::string> split_pair(const std::string& text);

}  // namespace npulab::config
