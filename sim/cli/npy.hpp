// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, versions 1, 2 and 3, read and written for the element types of tensors.
//
// Types are not converted, as rounding would go unseen: a file has the tensor's type. Where NumPy has no such
// type,
//   bf16, f8e4m3, f8e5m2   are their bits as unsigned integers (<u2, |u1); what ml_dtypes stores (V2, V1, f1)
//   is
//                          read too
//   i4                     is one element per byte, as |i1 from -8 to 7; ml_dtypes' V1 is read too
// Big-endian files and Fortran order are converted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "isa/program.hpp"

namespace npulab::cli {

// The elements as Simulation::set_input takes them. Errors, all of category input and naming the file:
// "cannot-open", "not-npy" (magic, version, header), "wrong-dtype", "wrong-shape", "truncated",
// "trailing-bytes", "out-of-range" (i4).
std::vector<std::byte> read_npy(const std::string& path, const isa::Tensor& tensor);

// Version 1, C order, little-endian.
std::vector<std::byte> to_npy(const isa::Tensor& tensor, std::span<const std::byte> elements);

// What a reader of such a file must know; empty where the type is NumPy's own.
std::string npy_note(isa::DType type);

}  // namespace npulab::cli
