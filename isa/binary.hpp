// SPDX-License-Identifier: Apache-2.0
// The binary form of a kernel: little-endian, byte by byte as docs/isa.md describes, every field validated on
// reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.hpp"

namespace npulab::isa {

inline constexpr std::string_view kBinaryMagic = "NPUK";
inline constexpr std::uint16_t kBinaryVersion = 2;

std::vector<std::byte> encode(const Kernel& kernel);             // all but the text of the source
std::vector<std::byte> encode_for_hash(const Program& program);  // core type, strings and instructions

// `name` stands in messages and becomes the kernel's source name. Throws Error(input) with the byte offset.
// The result is well-formed; whether it fits a machine, check() says.
Kernel decode(std::span<const std::byte> bytes, const std::string& name);

std::string binary_markdown();  // the layout, for docs/isa.md

}  // namespace npulab::isa
