// SPDX-License-Identifier: Apache-2.0
// Copies and matrix products of the plain interpreter.
#include <fmt/format.h>

#include <algorithm>

#include "isa/layout.hpp"
#include "tests/fuzz/plain_interpreter.hpp"
#include "tests/fuzz/plain_matrix.hpp"

namespace npulab::test {

using isa::Mod;

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool to_fractals(const isa::Instruction& in) {
  const isa::Operand* layout = in.mod(Mod::layout);
  return layout != nullptr && static_cast<isa::Layout>(layout->imm) == isa::Layout::nd2nz;
}

bool transposes(const isa::Instruction& in) {
  const isa::Operand* layout = in.mod(Mod::layout);
  return layout != nullptr && static_cast<isa::Layout>(layout->imm) == isa::Layout::transpose16;
}

// A fractal of 16 x 16 elements of two bytes, rows and columns exchanged.
Bytes transposed(const Bytes& fractal) {
  Bytes result(fractal.size());
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 16; ++column)
      for (std::size_t byte = 0; byte < 2; ++byte)
        result[(column * 16 + row) * 2 + byte] = fractal[(row * 16 + column) * 2 + byte];
  return result;
}

}  // namespace

void PlainInterpreter::copy(const isa::Instruction& in) {
  if (in.op != Op::Copy) fault("no meaning for this transfer");
  const std::int64_t bytes = number(in.operands[2]);
  const std::int64_t count = mod(in, Mod::count, 1);
  const std::int64_t count2 = mod(in, Mod::count2, 1);
  if (bytes < 0 || count < 0 || count2 < 0) fault("a negative size");
  const std::int64_t pad_to = mod(in, Mod::pad_to, 0);
  const std::int64_t src_pitch = mod(in, Mod::src_pitch, bytes);
  const std::int64_t src_pitch2 = mod(in, Mod::src_pitch2, count * src_pitch);
  const Place from = place(in.operands[1]);
  const std::int64_t columns = (bytes + isa::kPieceBytes - 1) / isa::kPieceBytes;
  const std::int64_t whole = rounded_up(count, isa::kFractalRows);
  const bool fractals = to_fractals(in);
  const std::int64_t dst_pitch =
      mod(in, Mod::dst_pitch, fractals ? whole * isa::kPieceBytes : std::max(bytes, pad_to));
  const std::int64_t dst_pitch2 = mod(in, Mod::dst_pitch2, (fractals ? columns : count) * dst_pitch);
  const Place to = place(in.operands[0]);
  if (bytes == 0 && pad_to == 0) return;
  for (std::int64_t plane = 0; plane < count2; ++plane) {
    // Fractals are whole: what no row fills is zero.
    for (std::int64_t column = 0; fractals && count > 0 && column < columns; ++column)
      for (std::int64_t row = count; row < whole; ++row)
        std::fill_n(
            bytes_at(to, plane * dst_pitch2 + column * dst_pitch + row * isa::kPieceBytes, isa::kPieceBytes),
            isa::kPieceBytes, std::byte{0});
    for (std::int64_t row = 0; row < count; ++row) {
      const std::byte* first = bytes_at(from, row * src_pitch + plane * src_pitch2, bytes);
      Bytes data(first, first + bytes);
      if (transposes(in)) data = transposed(data);
      data.resize(static_cast<std::size_t>(fractals ? columns * isa::kPieceBytes : std::max(bytes, pad_to)));
      const auto piece = fractals ? isa::kPieceBytes : static_cast<std::int64_t>(data.size());
      for (std::int64_t done = 0; done < static_cast<std::int64_t>(data.size()); done += piece) {
        const std::int64_t delta = fractals ? done / piece * dst_pitch + row * piece : row * dst_pitch;
        std::copy_n(data.data() + done, piece, bytes_at(to, plane * dst_pitch2 + delta, piece));
      }
    }
  }
}

void PlainInterpreter::product(const isa::Instruction& in) {
  if (isa::info(in.op).format != isa::Format::MatrixProduct || mod(in, Mod::hold, 0) != 0)
    fault("no meaning for this product");
  const config::MatrixConfig& unit = config_.matrix;
  const std::int64_t m = number(in.operands[0]);
  const std::int64_t n = number(in.operands[1]);
  const std::int64_t k = number(in.operands[2]);
  const DType b_type = in.type2 == DType::none ? in.type : in.type2;
  const DType sums = isa::accumulator(in.type);
  const PlainMatrix a{in.type, unit.a_layout,           mod(in, Mod::transpose_a, 0) != 0, false, m,
                      k,       mod(in, Mod::a_pitch, 0)};
  const PlainMatrix b{b_type, unit.b_layout,           mod(in, Mod::transpose_b, 0) != 0, false, k,
                      n,      mod(in, Mod::b_pitch, 0)};
  const PlainMatrix c{sums, unit.c_layout, false, true, m, n, mod(in, Mod::c_pitch, 0)};
  const auto memory = [&](std::size_t slot, const PlainMatrix& matrix) {
    const Place start = place(in.operands[slot]);
    bytes_at(start, 0, matrix.bytes());
    return std::pair<Bytes*, std::int64_t>{&core_->spaces[start.space], start.offset};
  };
  const auto [a_memory, a_start] = memory(3, a);
  const auto [b_memory, b_start] = memory(4, b);
  const auto [c_memory, c_start] = memory(5, c);
  LaneCall step{isa::bits(in.type) == isa::bits(sums) ? Op::Vfma : Op::Vfmaw, sums, in.type};
  step.saturate = saturate_;
  const isa::Operand* bias = in.mod(Mod::bias);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t sum = 0;
      if (mod(in, Mod::accumulate, 0) != 0) sum = c.get(*c_memory, c_start, i, j);
      if (bias != nullptr)
        sum = PlainMatrix{sums, config::OperandLayout::nd, false, true, 1, n, 0}.get(
            core_->spaces[target_.matrix->bias], number(*bias), 0, j);
      for (std::int64_t p = 0; p < k; ++p)
        sum = lane_of(step, sum, a.get(*a_memory, a_start, i, p), b.get(*b_memory, b_start, p, j)) &
              0xffffffffU;
      c.put(*c_memory, c_start, i, j, sum);
    }
  }
}

}  // namespace npulab::test
