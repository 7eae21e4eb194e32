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
      gm.read(from, buffer.data() + to, t.bytes);
      buffer.mark_written(to, t.bytes);
    } else {
      memory::LocalBuffer& source = *ends.from;
      if (!source.written(from, t.bytes)) report_unwritten(source.first_unwritten(from, t.bytes));
      if (t.to == isa::kGmSpace) {
        gm.write(to, source.data() + from, t.bytes);
      } else {
        memory::LocalBuffer& buffer = *ends.to;
        std::memmove(buffer.data() + to, source.data() + from, t.bytes);
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
    std::memset(buffer.data() + to + t.bytes, 0, zeros);
    buffer.mark_written(to + t.bytes, zeros);
  }
};

// Rows that change on the way: each is gathered into one piece and scattered to where it belongs.
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
      for (std::uint64_t row = 0; row < t.count; ++row) {
        gather(row, plane);
        if (t.layout == isa::Layout::transpose16) transpose();
        if (post_) post_->apply(out_.data(), row_.data(), factors);
        scatter(post_ ? out_ : row_, row, plane);
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
      std::memset(buffer.data() + to + data, 0, bytes - data);
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
    return buffer.data() + from;
  }

  void gather(std::uint64_t row, std::uint64_t plane) {
    const std::uint64_t step = source_.piece == 0 ? source_.bytes : source_.piece;
    for (std::uint64_t done = 0, column = 0; done < source_.bytes; done += step, ++column) {
      const std::uint64_t from = at(source_, row, plane, column);
      const std::uint64_t bytes = std::min(step, source_.bytes - done);
      if (t.from == isa::kGmSpace) {
        std::uint64_t unwritten = 0;
        if (!gm.written(from, bytes, &unwritten)) report_unwritten(unwritten);
        gm.read(from, row_.data() + done, bytes);
      } else {
        memory::LocalBuffer& buffer = *ends.from;
        if (!buffer.written(from, bytes)) report_unwritten(buffer.first_unwritten(from, bytes));
        std::memcpy(row_.data() + done, buffer.data() + from, bytes);
      }
    }
  }

  void transpose() {
    constexpr auto kSide = static_cast<std::size_t>(isa::kFractalRows);
    std::array<std::uint16_t, kSide * kSide> in;
    std::memcpy(in.data(), row_.data(), sizeof in);
    std::array<std::uint16_t, kSide * kSide> out;
    for (std::size_t r = 0; r < kSide; ++r)
      for (std::size_t c = 0; c < kSide; ++c) out[c * kSide + r] = in[r * kSide + c];
    std::memcpy(row_.data(), out.data(), sizeof out);
  }

  void scatter(const std::vector<std::byte>& data, std::uint64_t row, std::uint64_t plane) {
    if (t.to == isa::kGmSpace) {
      gm.write(at(destination_, row, plane, 0), data.data(), data.size());
      return;
    }
    memory::LocalBuffer& buffer = *ends.to;
    if (destination_.piece == 0) {
      const std::uint64_t to = at(destination_, row, plane, 0);
      std::memcpy(buffer.data() + to, data.data(), data.size());
      buffer.mark_written(to, data.size());
      return;
    }
    for (std::uint64_t done = 0, column = 0; done < data.size(); done += destination_.piece, ++column) {
      const std::uint64_t bytes = std::min(destination_.piece, data.size() - done);
      std::byte* to = buffer.data() + at(destination_, row, plane, column);
      std::memcpy(to, data.data() + done, bytes);
      std::memset(to + bytes, 0, destination_.piece - bytes);
    }
  }

  Side source_;
  Side destination_;
  std::vector<std::byte> row_;
  std::vector<std::byte> out_;
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
