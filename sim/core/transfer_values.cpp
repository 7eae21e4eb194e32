// SPDX-License-Identifier: Apache-2.0
// The bytes that a transfer moves.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/post.hpp"
#include "sim/core/transfer.hpp"

namespace npulab::core {

namespace {

// What both ways of moving share: the state, and the finding for bytes that nobody wrote.
struct Mover {
  const DecodedProgram& program;
  const Transfer& t;
  CoreState& state;
  const TransferEnds& ends;
  memory::SparseMemory& gm;
  bool src_clean = true;

  void report_unwritten(std::uint64_t offset) {
    const Address& address = program.ops[t.pc].addresses[1];
    if (address.tensor == isa::kNoTensor)
      report(state.target.spaces[t.from].name, offset);
    else
      report(program.kernel->header.tensors[address.tensor].name, offset - address.tensor_base);
  }
  void report(const std::string& name, std::uint64_t offset) {
    if (!src_clean || state.sanitize == Sanitize::off) return;
    src_clean = false;
    state.diagnostics.add(Severity::error, "uninitialised-read",
                          fmt::format("{} reads {} at byte {} on core {}, which nothing has written",
                                      isa::info(program.ops[t.pc].op).mnemonic, name, offset, state.id),
                          program.where(t.pc), state.id);
  }
};

// Rows as they are.
struct RowCopy : Mover {
  // Brings the next row of gm near: rows lie far apart, and the host's own prefetcher starts anew for each.
  void fetch_ahead(std::int64_t src) const {
    constexpr std::uint64_t kMost = 1024;
    constexpr std::uint64_t kLine = 64;
    if (t.from != isa::kGmSpace || t.bytes > kMost) return;
    const std::byte* next = gm.contiguous(static_cast<std::uint64_t>(src), t.bytes);
    if (next == nullptr) return;
    for (std::uint64_t line = 0; line < t.bytes; line += kLine) __builtin_prefetch(next + line);
  }

  void row(std::int64_t src, std::int64_t dst) {
    const auto from = static_cast<std::uint64_t>(src);
    const auto to = static_cast<std::uint64_t>(dst);
    if (t.from == isa::kGmSpace) {
      std::uint64_t unwritten = 0;
      if (!gm.written(from, t.bytes, &unwritten)) report_unwritten(unwritten);
      memory::LocalBuffer& buffer = *ends.to;
      gm.read(from, buffer.bytes(to, t.bytes), t.bytes);
      buffer.mark_written(to, t.bytes);
    } else {
      memory::LocalBuffer& source = *ends.from;
      if (!source.written(from, t.bytes)) report_unwritten(source.first_unwritten(from, t.bytes));
      if (t.to == isa::kGmSpace) {
        gm.write(to, source.bytes(from, t.bytes), t.bytes);
      } else {
        memory::LocalBuffer& buffer = *ends.to;
        std::memmove(buffer.bytes(to, t.bytes), source.bytes(from, t.bytes), t.bytes);
        buffer.mark_written(to, t.bytes);
      }
    }
    if (t.pad_to > t.bytes) pad(to);
  }

  void pad(std::uint64_t to) {
    const std::uint64_t zeros = t.pad_to - t.bytes;
    if (t.to == isa::kGmSpace) {
      const std::vector<std::byte> zero(zeros, std::byte{0});
      gm.write(to + t.bytes, zero.data(), zeros);
      return;
    }
    memory::LocalBuffer& buffer = *ends.to;
    std::memset(buffer.bytes(to + t.bytes, zeros), 0, zeros);
    buffer.mark_written(to + t.bytes, zeros);
  }
};

// A fractal of 16-bit elements with rows and columns exchanged, by 8 x 8 elements: three times the first half
// of the rows interleaved with the second. `from` and `to` are apart.
void transpose_fractal(const std::byte* from, std::byte* to) {
  using Lanes = std::uint16_t __attribute__((vector_size(16)));
  constexpr std::size_t kLanes = 8;
  constexpr auto kRow = static_cast<std::size_t>(isa::kFractalBytes / isa::kFractalRows);
  for (std::size_t block = 0; block < 4; ++block) {
    const std::size_t row = block / 2 * kLanes;
    const std::size_t column = block % 2 * kLanes;
    std::array<Lanes, kLanes> lanes;
    for (std::size_t i = 0; i < kLanes; ++i)
      std::memcpy(&lanes[i], from + (row + i) * kRow + column * 2, sizeof(Lanes));
    for (int stage = 0; stage < 3; ++stage) {
      const std::array<Lanes, kLanes> in = lanes;
      for (std::size_t i = 0; i < kLanes / 2; ++i) {
        const Lanes a = in[i], b = in[i + kLanes / 2];
        lanes[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        lanes[2 * i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
      }
    }
    for (std::size_t i = 0; i < kLanes; ++i)
      std::memcpy(to + (column + i) * kRow + row * 2, &lanes[i], sizeof(Lanes));
  }
}

// Copies `count` pieces, each so many bytes (modulo 2^64: they may go backwards) after the one before.
void copy_pieces(std::byte* to, std::uint64_t to_step, const std::byte* from, std::uint64_t from_step,
                 std::uint64_t piece, std::uint64_t count) {
  constexpr auto kUsual = static_cast<std::uint64_t>(isa::kPieceBytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::byte* const target = to + static_cast<std::ptrdiff_t>(i * to_step);
    const std::byte* const source = from + static_cast<std::ptrdiff_t>(i * from_step);
    if (piece == kUsual)
      std::memcpy(target, source, kUsual);
    else
      std::memcpy(target, source, piece);
  }
}

// Rows that change on the way: each is taken in one piece and scattered to where it belongs.
class LayoutCopy : Mover {
 public:
  LayoutCopy(const DecodedProgram& program_of, const Transfer& transfer, CoreState& state_of,
             const TransferEnds& ends_of, memory::SparseMemory& memory)
      : Mover{program_of, transfer, state_of, ends_of, memory},
        source_(transfer.source()),
        destination_(transfer.destination()),
        row_(source_.bytes),
        out_(transfer.dst_bytes) {
    if (t.post) post_.emplace(program.ops[t.pc], t, state.saturate);
  }

  void run() {
    const std::byte* const factors = scales();
    for (std::uint64_t plane = 0; plane < t.count2; ++plane) {
      if (destination_.piece != 0) clear(plane);
      const bool written = source_.piece != 0 && all_written(plane);
      for (std::uint64_t row = 0; row < t.count; ++row) {
        const std::byte* data =
            source_.piece == 0 ? whole_row(row, plane) : row_of_pieces(row, plane, written);
        if (t.layout == isa::Layout::transpose16) data = transposed(data);
        if (post_) {
          post_->apply(out_.data(), data, factors);
          if (state.sanitize == Sanitize::full)
            state.watch.look(program, t.pc, state, data, out_.data(), t.dst_bytes / t.dst_element);
          data = out_.data();
        }
        scatter(data, row, plane);
      }
    }
  }

 private:
  static std::uint64_t at(const Side& side, std::uint64_t row, std::uint64_t plane, std::uint64_t column) {
    const std::uint64_t of_row = side.piece == 0 ? static_cast<std::uint64_t>(side.pitch) : side.piece;
    return static_cast<std::uint64_t>(side.base) + row * of_row +
           column * static_cast<std::uint64_t>(side.pitch) + plane * static_cast<std::uint64_t>(side.pitch2);
  }

  // Fractals are whole: what no row fills is zero. Rows come after that, so that columns which lie closer
  // than whole fractals lose nothing but the filling.
  void clear(std::uint64_t plane) {
    memory::LocalBuffer& buffer = *ends.to;
    const std::uint64_t bytes = destination_.piece * destination_.count;
    const std::uint64_t data = destination_.piece * t.count;
    for (std::uint64_t column = 0; column < destination_.columns(); ++column) {
      const std::uint64_t to = at(destination_, 0, plane, column);
      std::byte* const place = buffer.bytes(to, bytes);
      if (bytes > data) std::memset(place + data, 0, bytes - data);
      buffer.mark_written(to, bytes);
    }
  }

  // The factors of all columns, null where there are none.
  const std::byte* scales() {
    const Side side = t.scales();
    if (side.bytes == 0) return nullptr;
    memory::LocalBuffer& buffer = state.buffer(side.space);
    const auto from = static_cast<std::uint64_t>(side.base);
    if (!buffer.written(from, side.bytes)) report(buffer.name(), buffer.first_unwritten(from, side.bytes));
    return buffer.bytes(from, side.bytes);
  }

  // Whether all rows of all columns were written, and what lies between them in the last one.
  bool all_written(std::uint64_t plane) const {
    std::uint64_t left = source_.bytes;
    for (std::uint64_t column = 0; column < source_.columns(); ++column, left -= source_.piece) {
      const std::uint64_t bytes = (source_.count - 1) * source_.piece + std::min(left, source_.piece);
      if (!ends.from->written(at(source_, 0, plane, column), bytes)) return false;
    }
    return true;
  }

  // In place where nothing that is written meanwhile can change it.
  const std::byte* whole_row(std::uint64_t row, std::uint64_t plane) {
    const std::uint64_t from = at(source_, row, plane, 0);
    const std::uint64_t bytes = source_.bytes;
    if (t.from == isa::kGmSpace) {
      std::uint64_t unwritten = 0;
      if (!gm.written(from, bytes, &unwritten)) report_unwritten(unwritten);
      const std::byte* const place = t.to == isa::kGmSpace ? nullptr : gm.contiguous(from, bytes);
      if (place != nullptr) return place;
      gm.read(from, row_.data(), bytes);
      return row_.data();
    }
    memory::LocalBuffer& buffer = *ends.from;
    if (!buffer.written(from, bytes)) report_unwritten(buffer.first_unwritten(from, bytes));
    if (ends.from != ends.to) return buffer.bytes(from, bytes);
    std::memcpy(row_.data(), buffer.bytes(from, bytes), bytes);
    return row_.data();
  }

  // Pieces lie in buffers.
  const std::byte* row_of_pieces(std::uint64_t row, std::uint64_t plane, bool written) {
    memory::LocalBuffer& buffer = *ends.from;
    const std::uint64_t piece = source_.piece;
    if (written) {  // then all of it is there
      const auto pitch = static_cast<std::uint64_t>(source_.pitch);
      const std::byte* const first = buffer.bytes(at(source_, row, plane, 0), piece);
      const std::uint64_t whole = source_.bytes / piece;
      copy_pieces(row_.data(), piece, first, pitch, piece, whole);
      if (whole * piece < source_.bytes)
        std::memcpy(row_.data() + whole * piece, first + static_cast<std::ptrdiff_t>(whole * pitch),
                    source_.bytes - whole * piece);
      return row_.data();
    }
    for (std::uint64_t done = 0, column = 0; done < source_.bytes; done += piece, ++column) {
      const std::uint64_t from = at(source_, row, plane, column);
      const std::uint64_t bytes = std::min(piece, source_.bytes - done);
      if (!buffer.written(from, bytes)) report_unwritten(buffer.first_unwritten(from, bytes));
      std::memcpy(row_.data() + done, buffer.bytes(from, bytes), bytes);
    }
    return row_.data();
  }

  const std::byte* transposed(const std::byte* data) {
    transpose_fractal(data, fractal_.data());
    return fractal_.data();
  }

  void scatter(const std::byte* data, std::uint64_t row, std::uint64_t plane) {
    const std::uint64_t size = t.dst_bytes;
    const std::uint64_t first = at(destination_, row, plane, 0);
    if (t.to == isa::kGmSpace) {
      gm.write(first, data, size);
      return;
    }
    memory::LocalBuffer& buffer = *ends.to;
    if (destination_.piece == 0) {
      std::memcpy(buffer.bytes(first, size), data, size);
      buffer.mark_written(first, size);
      return;
    }
    const std::uint64_t piece = destination_.piece;
    const std::uint64_t whole = size / piece;
    const auto pitch = static_cast<std::uint64_t>(destination_.pitch);
    std::byte* const place = buffer.bytes(first, piece);  // clear() has been at all of it
    copy_pieces(place, pitch, data, piece, piece, whole);
    const std::uint64_t rest = size - whole * piece;
    if (rest == 0) return;
    std::byte* const last = place + static_cast<std::ptrdiff_t>(whole * pitch);
    std::memcpy(last, data + whole * piece, rest);
    std::memset(last + rest, 0, piece - rest);
  }

  Side source_;
  Side destination_;
  std::vector<std::byte> row_;
  std::vector<std::byte> out_;
  std::array<std::byte, isa::kFractalBytes> fractal_;
  std::optional<PostOperations> post_;
};

}  // namespace

void apply_transfer(const DecodedProgram& program, const Transfer& t, CoreState& state,
                    const TransferEnds& ends, memory::SparseMemory& gm) {
  if (t.layout || t.post) {
    LayoutCopy(program, t, state, ends, gm).run();
    return;
  }
  RowCopy copy{{program, t, state, ends, gm}};
  for (std::uint64_t plane = 0; plane < t.count2; ++plane) {
    for (std::uint64_t row = 0; row < t.count; ++row) {
      const auto r = static_cast<std::int64_t>(row);
      const auto p = static_cast<std::int64_t>(plane);
      if (row + 1 < t.count) copy.fetch_ahead(t.src + (r + 1) * t.src_pitch + p * t.src_pitch2);
      copy.row(t.src + r * t.src_pitch + p * t.src_pitch2, t.dst + r * t.dst_pitch + p * t.dst_pitch2);
    }
  }
}

}  // namespace npulab::core
