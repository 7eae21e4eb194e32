// SPDX-License-Identifier: Apache-2.0
// Reading of operands by the kernels of the path.
#include "sim/values/matrix_operands.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace npulab::values {

using isa::DType;

namespace {

using Word = std::uint32_t;

Word* grown(std::vector<Word>& buffer, std::size_t words) {
  if (buffer.size() < words) buffer.resize(words);
  return buffer.data();
}

}  // namespace

bool is_float_operand(const MatrixForm& form) {
  return form.type != DType::none && isa::info(form.type).floating;
}

Operand::Operand(const MatrixView& view, const MatrixKernels& kernels)
    : view_(view),
      by_rows_(info(view.form.layout.order).elements_by_rows),
      along_(by_rows_ ? steps(view.form).columns : steps(view.form).rows),
      across_(by_rows_ ? steps(view.form).rows : steps(view.form).columns),
      widen_(kernels.widen(view.form.type, view.form.bfp16)),
      bytes_(is_float_operand(view.form) ? 4 : 2) {}

void Operand::line(std::size_t number, std::size_t first, std::size_t count, Word* dst) const {
  auto* out = reinterpret_cast<std::byte*>(dst);
  const std::byte* const row = view_.data + across_.at(number) / 8;
  if (bytes_ == 2 && count % 2 != 0) std::memset(out + count * 2, 0, 2);
  const auto run = [&](std::size_t runs, std::size_t length) {
    widen_(row + along_.at(first) / 8, along_.per_block / 8, runs, length, out);
    out += runs * length * bytes_;
    first += runs * length;
    count -= runs * length;
  };
  const std::size_t into = along_.place(first).element;
  if (into != 0 && count > 0) run(1, std::min<std::size_t>(count, along_.block - into));
  if (count >= along_.block) run(along_.place(count).block, along_.block);
  if (count > 0) run(1, count);
}

void Operand::panel(std::size_t lines, std::size_t first, Word* dst) const {
  auto* out = reinterpret_cast<std::byte*>(dst);
  for (std::size_t number = 0; number < lines; number += across_.block) {
    const std::size_t runs = std::min<std::size_t>(lines - number, across_.block);
    widen_(view_.data + (across_.at(number) + along_.at(first)) / 8, across_.per_element / 8, runs,
           kTileColumns, out);
    out += runs * kTileColumns * bytes_;
  }
}

void pack_a(const Operand& a, std::size_t m, std::size_t k, std::size_t pitch, const MatrixKernels& kernels,
            MatrixScratch& scratch) {
  Word* const dst = grown(scratch.a, m * pitch);
  if (a.by_rows()) {
    for (std::size_t i = 0; i < m; ++i) a.line(i, 0, k, dst + i * pitch);
    return;
  }
  const std::size_t depth = a.words(k), words = a.words(m);
  Word* lines = grown(scratch.lines, (k + 1) * words);
  for (std::size_t p = 0; p < k; ++p) a.line(p, 0, m, lines + p * words);
  std::size_t line_words = words;
  if (a.integers()) {
    std::fill_n(lines + k * words, words, 0);  // the partner of an odd last line
    Word* const pairs = grown(scratch.pairs, depth * m);
    kernels.interleave(lines, words, depth, m, pairs, m);
    lines = pairs;
    line_words = m;
  }
  kernels.transpose(lines, line_words, depth, m, dst, pitch);
}

void pack_panel(const Operand& b, std::size_t k, std::size_t first, std::size_t count,
                const MatrixKernels& kernels, MatrixScratch& scratch) {
  const std::size_t depth = b.words(k);
  Word* const dst = grown(scratch.b, depth * kTileColumns);
  if (!b.by_rows()) {
    Word* const lines = grown(scratch.lines, kTileColumns * depth);
    for (std::size_t j = 0; j < count; ++j) b.line(first + j, 0, k, lines + j * depth);
    std::fill_n(lines + count * depth, (kTileColumns - count) * depth, 0);
    kernels.transpose(lines, depth, kTileColumns, depth, dst, kTileColumns);
    return;
  }
  const std::size_t words = b.words(kTileColumns);
  Word* const lines = b.integers() ? grown(scratch.lines, (k + 1) * words) : dst;
  if (count == kTileColumns && b.in_one_block(first)) {
    b.panel(k, first, lines);
  } else {
    std::fill_n(lines, k * words, 0);
    for (std::size_t p = 0; p < k; ++p) b.line(p, first, count, lines + p * words);
  }
  if (!b.integers()) return;
  std::fill_n(lines + k * words, words, 0);
  kernels.interleave(lines, words, depth, kTileColumns, dst, kTileColumns);
}

}  // namespace npulab::values
