// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: a Python dictionary with three keys.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace npulab::cli {

struct NpyHeader {
  std::string descr;  // NumPy's type string
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Reads from the start of a file up to its first element. Errors: input "not-npy", "truncated" naming `path`.
NpyHeader read_npy_header(std::FILE* file, const std::string& path);

// Tolerant of spacing, order of keys and both quotes; keys are exactly descr, fortran_order and shape.
// Errors: input "not-npy" naming `path`.
NpyHeader parse_npy_header(std::string_view text, const std::string& path);

// A file of version 1 up to its first element, aligned to 64 bytes as NumPy writes it.
std::string npy_preamble(const NpyHeader& header);

std::string shape_text(const std::vector<std::uint64_t>& shape);  // "(2, 3)", "(5,)", "()"

}  // namespace npulab::cli
