// SPDX-License-Identifier: Apache-2.0
// A copy with its numbers filled in: what it moves (values) and in which pieces (requests). No time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "sim/core/core_state.hpp"
#include "sim/core/micro_op.hpp"
#include "sim/memory/sparse_memory.hpp"

namespace npulab::core {

__extension__ using Wide = __int128;

// One side of a transfer: where its bytes lie in their memory.
struct Side {
  std::uint8_t space = 0;
  std::int64_t base = 0;    // byte offset of the first row
  std::uint64_t bytes = 0;  // of a row
  std::uint64_t count = 0;  // rows of a plane
  std::uint64_t count2 = 0;
  std::int64_t pitch = 0;  // from one row to the next; with pieces, from one piece of a row to the next
  std::int64_t pitch2 = 0;
  std::uint64_t piece = 0;  // 0: rows lie whole; else rows lie in pieces of so many bytes, row r at r * piece

  std::uint64_t columns() const { return piece == 0 ? 1 : (bytes + piece - 1) / piece; }
  // The byte behind the last one, and the first one, over everything; not for an empty side.
  Wide first() const;
  Wide end() const;
};

struct Transfer {
  std::uint32_t pc = 0;
  std::uint8_t from = 0;  // spaces
  std::uint8_t to = 0;
  std::int64_t src = 0;  // byte offsets in them
  std::int64_t dst = 0;
  std::uint64_t bytes = 0;      // of a row of src
  std::uint64_t dst_bytes = 0;  // of a row of dst, without filling
  std::uint64_t count = 1;
  std::uint64_t count2 = 1;
  std::int64_t src_pitch = 0, dst_pitch = 0, src_pitch2 = 0, dst_pitch2 = 0;
  std::uint64_t pad_to = 0;
  // Of the end that lies in other cores, numbers among the cores of its type.
  std::int64_t core = 0;
  std::int64_t cores = 1;
  std::int64_t core_step = 1;
  std::optional<isa::Layout> layout;
  std::uint8_t src_piece = 0, dst_piece = 0;      // of fractals, else 0
  std::uint8_t src_element = 1, dst_element = 1;  // bytes; 1 where nothing is converted

  // Post-operations.
  bool post = false;
  std::uint8_t scale_space = 0;  // factors for each column at scale_at; gm: none
  std::int64_t scale_at = 0;
  std::optional<std::uint32_t> scale;  // bits of an f32

  Side source() const;
  Side destination() const;  // with all that is filled
  Side scales() const;
  std::uint64_t read_bytes() const { return bytes * count * count2; }
  std::uint64_t written_bytes() const;

  // The side whose rows the requests are, as whole rows: gm's; between buffers the source's, or the
  // destination's where only that holds whole rows, or columns of fractals. Padding is zeros that the engine
  // writes, which gm sees and a buffer gets for nothing.
  Side counted() const;
  std::uint64_t total() const;
  // What so many bytes of that side are on the path, which carries the wider of the two elements.
  std::uint64_t on_path(std::uint64_t counted_bytes) const {
    return src_element == dst_element ? counted_bytes : widened(counted_bytes);
  }
  std::int64_t core_at(std::int64_t i) const { return core + i * core_step; }

 private:
  bool counts_destination() const;
  std::uint64_t widened(std::uint64_t counted_bytes) const;
};

// Calls `row` with place and length of every row of bytes, those that follow each other taken together.
void for_each_row(const Side& side, const std::function<void(std::uint64_t first, std::uint64_t bytes)>& row);

// A tensor in gm, for the bounds of accesses that belong to it.
struct GmTensor {
  std::string name;
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};

// The local buffers at the two ends of a copy; null where gm is.
struct TransferEnds {
  memory::LocalBuffer* from = nullptr;
  memory::LocalBuffer* to = nullptr;
};

// Reads the numbers of a copy. Errors: verdict "negative-size", "out-of-bounds", "misaligned" with the place.
Transfer resolve_transfer(const DecodedProgram& program, std::uint32_t pc, const CoreState& state,
                          std::span<const GmTensor> tensors, std::uint64_t gm_bytes, unsigned gm_alignment);

// The memory that two copies both touch, at least one of them writing, or nothing: then their order decides
// what they leave behind. Copies of very many interleaved rows are taken as apart.
std::optional<std::uint8_t> conflict(const Transfer& one, const Transfer& other);

// Whether two copies that end in buffers of other cores have one of these cores in common.
bool share_a_core(const Transfer& one, const Transfer& other);

// Moves the bytes and pads; a read of bytes that nobody wrote is a finding of the core `state` that copies.
void apply_transfer(const DecodedProgram& program, const Transfer& transfer, CoreState& state,
                    const TransferEnds& ends, memory::SparseMemory& gm);

// The pieces of a transfer in order: each row of the counted side cut at multiples of `request_bytes` of its
// address.
class Pieces {
 public:
  Pieces() = default;
  Pieces(const Transfer& transfer, std::uint32_t request_bytes);

  bool empty() const { return planes_ == 0; }
  // The next piece; not when empty().
  struct Piece {
    std::uint64_t address;
    std::uint32_t bytes;
  };
  Piece next() {
    const std::uint64_t address = row_ + position_;
    const std::uint64_t past = power_ ? address & (request_bytes_ - 1) : address % request_bytes_;
    const std::uint64_t bytes = std::min(request_bytes_ - past, row_bytes_ - position_);
    position_ += bytes;
    if (position_ == row_bytes_) end_row();
    return {address, static_cast<std::uint32_t>(bytes)};
  }

 private:
  void end_row();

  std::uint64_t request_bytes_ = 1;
  bool power_ = true;  // of two
  std::uint64_t row_bytes_ = 0;
  std::uint64_t count_ = 0;     // rows of a plane
  std::uint64_t planes_ = 0;    // left, this one included
  std::uint64_t rows_ = 0;      // left of the plane, this one included
  std::uint64_t plane_ = 0;     // address of the plane; sums wrap as addresses do
  std::uint64_t row_ = 0;       // and of the row
  std::uint64_t position_ = 0;  // in the row
  std::uint64_t pitch_ = 0;
  std::uint64_t pitch2_ = 0;
};

}  // namespace npulab::core
