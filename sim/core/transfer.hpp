// SPDX-License-Identifier: Apache-2.0
// A copy with its numbers filled in: what it moves (values) and in which pieces (requests). No time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/core/core_state.hpp"
#include "sim/core/micro_op.hpp"
#include "sim/memory/sparse_memory.hpp"

namespace npulab::core {

struct Transfer {
  std::uint32_t pc = 0;
  std::uint8_t from = 0;  // spaces
  std::uint8_t to = 0;
  std::int64_t src = 0;  // byte offsets in them
  std::int64_t dst = 0;
  std::uint64_t bytes = 0;  // of a row
  std::uint64_t count = 1;
  std::uint64_t count2 = 1;
  std::int64_t src_pitch = 0, dst_pitch = 0, src_pitch2 = 0, dst_pitch2 = 0;
  std::uint64_t pad_to = 0;

  // What goes over the path per row: padding is zeros that the engine writes, which gm sees and a buffer gets
  // for nothing.
  std::uint64_t row_bytes() const { return to == isa::kGmSpace && pad_to > bytes ? pad_to : bytes; }
  std::uint64_t total() const { return row_bytes() * count * count2; }
};

// A tensor in gm, for the bounds of accesses that belong to it.
struct GmTensor {
  std::string name;
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};

// Reads the numbers of a copy. Errors: verdict "negative-size", "out-of-bounds", "misaligned" with the place.
Transfer resolve_transfer(const DecodedProgram& program, std::uint32_t pc, const CoreState& state,
                          std::span<const GmTensor> tensors, std::uint64_t gm_bytes, unsigned gm_alignment);

// The memory that two copies both touch, at least one of them writing, or nothing: then their order decides
// what they leave behind. Copies of very many interleaved rows are taken as apart.
std::optional<std::uint8_t> conflict(const Transfer& one, const Transfer& other);

// Moves the bytes and pads; a read of bytes that nobody wrote is a finding.
void apply_transfer(const DecodedProgram& program, const Transfer& transfer, CoreState& state,
                    memory::SparseMemory& gm);

// The pieces of a transfer in order: each row cut at multiples of `request_bytes` of the gm address (of the
// source for transfers between buffers).
class Pieces {
 public:
  Pieces() = default;
  Pieces(const Transfer& transfer, std::uint32_t request_bytes);

  bool empty() const { return plane_ == transfer_.count2; }
  // The next piece; not when empty().
  struct Piece {
    std::uint64_t address;
    std::uint32_t bytes;
  };
  Piece next();

 private:
  Transfer transfer_;
  std::uint32_t request_bytes_ = 1;
  std::uint64_t plane_ = 0;
  std::uint64_t row_ = 0;
  std::uint64_t position_ = 0;
  std::int64_t base_ = 0;  // gm side, or source
  std::int64_t pitch_ = 0;
  std::int64_t pitch2_ = 0;
};

}  // namespace npulab::core
