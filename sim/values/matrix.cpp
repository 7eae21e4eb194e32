// SPDX-License-Identifier: Apache-2.0
// Products of matrices: operands are packed into words, tiles of C computed by the kernels of the path.
#include "sim/values/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "isa/error.hpp"
#include "sim/values/kernels.hpp"
#include "sim/values/matrix_kernels.hpp"
#include "sim/values/matrix_operands.hpp"

namespace npulab::values {

using isa::DType;

namespace {

using Word = std::uint32_t;

constexpr isa::DTypeSet kExactProducts =
    isa::set_of(DType::f16) | isa::set_of(DType::f8e4m3) | isa::set_of(DType::f8e5m2);

constexpr std::size_t kDepth = 256;     // steps of a float chain between visits of C: panels stay in L1
constexpr std::size_t kRowPadding = 8;  // words; keeps rows of A off one cache set

bool is_operand(const MatrixForm& form) {
  return baseline::matrix_kernels().widen(form.type, form.bfp16) != nullptr;
}
bool has_exact_products(const MatrixForm& form) {
  return !form.bfp16 && isa::contains(kExactProducts, form.type);
}

// A tile of C as the kernels see it: rows of kTileColumns words. In place where C is laid out so, else a
// copy.
class Tile {
 public:
  Tile(const MatrixTarget& c, const MatrixSteps& at, const MatrixKernels& kernels)
      : c_(c),
        at_(at),
        kernels_(kernels),
        bytes_(isa::bits(c.form.type) / 8),
        even_rows_(at.rows.per_block == at.rows.block * at.rows.per_element) {}

  // The tiles to come stand in these columns.
  void take_columns(std::size_t column, std::size_t columns) {
    column_ = column, columns_ = columns;
    column_bits_ = at_.columns.at(column);
    one_run_ = bytes_ == 4 && at_.columns.per_element == 32 && columns == kTileColumns &&
               at_.columns.place(column).element + columns <= at_.columns.block;
  }
  void open(std::size_t row, std::size_t rows, bool read) {
    row_ = row, rows_ = rows;
    in_place_ = one_run_ && (even_rows_ || at_.rows.place(row).element + rows <= at_.rows.block);
    const std::uint64_t row_bits = even_rows_ ? row * at_.rows.per_element : at_.rows.at(row);
    data_ = in_place_ ? c_.data + (row_bits + column_bits_) / 8 : reinterpret_cast<std::byte*>(words_.data());
    if (!in_place_ && read) fetch();
  }
  std::byte* data() { return data_; }
  std::size_t step() const { return in_place_ ? at_.rows.per_element / 8 : kTileColumns * 4; }

  // All rows of the tile, kTileColumns words each.
  void save(Word* words) {
    for (std::size_t r = 0; r < rows_; ++r)
      std::memcpy(words + r * kTileColumns, data() + r * step(), kTileColumns * sizeof(Word));
  }
  void restore(const Word* words) {
    for (std::size_t r = 0; r < rows_; ++r)
      std::memcpy(data() + r * step(), words + r * kTileColumns, kTileColumns * sizeof(Word));
  }

  void close() {
    if (in_place_) return;
    for (std::size_t r = 0; r < rows_; ++r) {
      std::byte* row = reinterpret_cast<std::byte*>(words_.data()) + r * kTileColumns * 4;
      std::array<std::byte, kTileColumns * 2> halves{};
      if (bytes_ == 2) {
        std::array<float, kTileColumns> values{};
        std::memcpy(values.data(), row, sizeof values);
        kernels_.narrow_half(values.data(), kTileColumns, halves.data());
        row = halves.data();
      }
      each_run(r, [&](std::byte* place, std::size_t column, std::size_t count) {
        std::memcpy(place, row + column * bytes_, count * bytes_);
      });
    }
  }

 private:
  // Calls f(place in C, column in the tile, elements) for the parts of a row that stand together.
  template <class F>
  void each_run(std::size_t r, F f) {
    const MatrixAxis& axis = at_.columns;
    const bool together = axis.per_element == bytes_ * 8;
    for (std::size_t j = 0, count = 0; j < columns_; j += count) {
      const std::size_t block_left = axis.block - axis.place(column_ + j).element;
      count = together ? std::min<std::size_t>(columns_ - j, block_left) : 1;
      f(c_.data + (at_.rows.at(row_ + r) + axis.at(column_ + j)) / 8, j, count);
    }
  }
  void fetch() {
    words_.fill(0);
    for (std::size_t r = 0; r < rows_; ++r) {
      std::array<std::byte, kTileColumns * 4> row{};
      each_run(r, [&](const std::byte* place, std::size_t column, std::size_t count) {
        std::memcpy(row.data() + column * bytes_, place, count * bytes_);
      });
      auto* const dst = reinterpret_cast<std::byte*>(words_.data() + r * kTileColumns);
      if (bytes_ == 2)
        kernels_.widen(DType::f16, false)(row.data(), 0, 1, kTileColumns, dst);
      else
        std::memcpy(dst, row.data(), row.size());
    }
  }

  MatrixTarget c_;
  MatrixSteps at_;
  const MatrixKernels& kernels_;
  std::size_t bytes_;
  bool even_rows_;  // all rows lie equally far apart
  std::size_t row_ = 0, column_ = 0, rows_ = 0, columns_ = 0;
  std::uint64_t column_bits_ = 0;
  bool one_run_ = false;  // a row of the tile lies in one piece
  bool in_place_ = false;
  std::byte* data_ = nullptr;
  std::array<Word, kTileRows * kTileColumns> words_{};
};

// Largest magnitude of an operand's elements: that of the type, or for i16 that of the values.
std::uint64_t largest_of(DType type, const Word* words, std::size_t count, const MatrixKernels& kernels) {
  if (type == DType::i16) return kernels.largest(words, count);
  const unsigned bits = isa::bits(type);
  return isa::info(type).is_signed ? std::uint64_t{1} << (bits - 1) : (std::uint64_t{1} << bits) - 1;
}

class Product {
 public:
  Product(const MatrixKernels& kernels, const MatrixMultiply& what, MatrixScratch& scratch)
      : kernels_(kernels),
        what_(what),
        scratch_(scratch),
        a_(what.a, kernels),
        b_(what.b, kernels),
        m_(what.a.form.rows),
        n_(what.b.form.columns),
        k_(what.a.form.columns),
        depth_(a_.words(k_)),
        pitch_(depth_ + kRowPadding),
        tile_(what.c, steps(what.c.form), kernels) {}

  MatrixCounts run() {
    MatrixCounts counts;
    pack_a(a_, m_, k_, pitch_, kernels_, scratch_);
    const bool floats = is_float_operand(what_.a.form);
    if (!floats) largest_a_ = largest_of(what_.a.form.type, scratch_.a.data(), m_ * pitch_, kernels_);
    if (what_.count_zeros) count_zeros_of_a(counts);
    for (std::size_t column = 0; column < n_; column += kTileColumns) {
      const std::size_t columns = std::min(kTileColumns, n_ - column);
      pack_panel(b_, k_, column, columns, kernels_, scratch_);
      if (what_.count_zeros) count_zeros_of_panel(columns, counts);
      tile_.take_columns(column, columns);
      floats ? float_columns() : integer_columns(counts);
    }
    return counts;
  }

 private:
  // Rows in tiles of nearly equal height, as a tile of few rows costs as much time as one of many.
  template <class F>
  void each_tile(F f) const {
    const std::size_t tiles = (m_ + kTileRows - 1) / kTileRows;
    const std::size_t least = m_ / tiles, more = m_ % tiles;
    for (std::size_t i = 0, row = 0; i < tiles; ++i) {
      const std::size_t rows = least + (i < more ? 1 : 0);
      f(row, rows);
      row += rows;
    }
  }

  FloatChain chain() const {
    if (what_.c.form.type == DType::f16) return FloatChain::half;
    return has_exact_products(what_.a.form) && has_exact_products(what_.b.form) ? FloatChain::exact_products
                                                                                : FloatChain::fused;
  }

  void float_columns() {
    for (std::size_t p = 0; p < depth_; p += kDepth)
      each_tile([&](std::size_t row, std::size_t rows) {
        const bool from_c = what_.accumulate || p > 0;
        tile_.open(row, rows, from_c);
        float_tile(row, rows, p, from_c);
        tile_.close();
      });
  }

  // A chain that ends finite never was infinite: saturation needs its own run only after one that is not.
  void float_tile(std::size_t row, std::size_t rows, std::size_t p, bool from_c) {
    const auto& functions = kernels_.float_tiles[static_cast<std::size_t>(chain())];
    const auto run = [&](bool saturate) {
      return functions[saturate ? 1 : 0][rows - 1](
          scratch_.a.data() + row * pitch_ + p, pitch_, scratch_.b.data() + p * kTileColumns,
          std::min(kDepth, depth_ - p), tile_.data(), tile_.step(), from_c);
    };
    std::array<Word, kTileRows * kTileColumns> old;
    if (what_.saturate && from_c) tile_.save(old.data());
    if (!run(false) || !what_.saturate) return;
    if (from_c) tile_.restore(old.data());
    run(true);
  }

  void integer_columns(MatrixCounts& counts) {
    const std::uint64_t largest_b =
        largest_of(what_.b.form.type, scratch_.b.data(), depth_ * kTileColumns, kernels_);
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
    const bool sums_fit = largest_a_ * largest_b <= most / k_;
    each_tile([&](std::size_t row, std::size_t rows) {
      tile_.open(row, rows, what_.accumulate);
      const Word* const a = scratch_.a.data() + row * pitch_;
      if (sums_fit) {
        std::array<std::int32_t, kTileRows * kTileColumns> sums;
        kernels_.integer_tiles[rows - 1](a, pitch_, scratch_.b.data(), depth_, sums.data());
        counts.out_of_range += kernels_.add_sums(tile_.data(), tile_.step(), sums.data(), rows,
                                                 what_.accumulate, what_.saturate);
      } else {
        std::array<std::int64_t, kTileRows * kTileColumns> sums;
        kernels_.wide_integer_tiles[rows - 1](a, pitch_, scratch_.b.data(), depth_, sums.data());
        for (std::size_t i = 0; i < rows * kTileColumns; ++i)
          counts.out_of_range += add_wide(sums[i], tile_.data() + i / kTileColumns * tile_.step() +
                                                       i % kTileColumns * sizeof(std::int32_t));
      }
      tile_.close();
    });
  }

  // 1 where the total left the range.
  std::uint64_t add_wide(std::int64_t sum, std::byte* place) const {
    std::int32_t old = 0;
    if (what_.accumulate) std::memcpy(&old, place, sizeof old);
    const std::int64_t total = sum + old;
    const std::int64_t near = std::clamp<std::int64_t>(total, std::numeric_limits<std::int32_t>::min(),
                                                       std::numeric_limits<std::int32_t>::max());
    const auto stored = static_cast<std::int32_t>(what_.saturate ? near : total);
    std::memcpy(place, &stored, sizeof stored);
    return near == total ? 0 : 1;
  }

  // Elements of a word that are zero (floats of either sign), of those that belong to step p of the chain.
  bool is_zero(Word word, std::size_t p) const {
    if (!a_.integers()) return (word << 1) == 0;
    return ((p % 2 == 0 ? word : word >> 16) & 0xffff) == 0;
  }
  std::size_t word_of(std::size_t p) const { return a_.integers() ? p / 2 : p; }

  void count_zeros_of_a(MatrixCounts& counts) {
    zeros_.assign(k_, 0);
    for (std::size_t i = 0; i < m_; ++i)
      for (std::size_t p = 0; p < k_; ++p)
        if (is_zero(scratch_.a[i * pitch_ + word_of(p)], p)) ++zeros_[p];
    for (const std::uint64_t zeros : zeros_) counts.zeros_a += zeros;
  }
  void count_zeros_of_panel(std::size_t columns, MatrixCounts& counts) const {
    for (std::size_t p = 0; p < k_; ++p) {
      std::uint64_t zeros = 0;
      for (std::size_t j = 0; j < columns; ++j)
        if (is_zero(scratch_.b[word_of(p) * kTileColumns + j], p)) ++zeros;
      counts.zeros_b += zeros;
      counts.zero_products += m_ * columns - (m_ - zeros_[p]) * (columns - zeros);
    }
  }

  const MatrixKernels& kernels_;
  const MatrixMultiply& what_;
  MatrixScratch& scratch_;
  Operand a_, b_;
  std::size_t m_, n_, k_;
  std::size_t depth_;  // words along k
  std::size_t pitch_;  // of packed rows of A
  Tile tile_;
  std::uint64_t largest_a_ = 0;
  std::vector<std::uint64_t> zeros_;  // of A, by p
};

// C to +0; integers too.
void clear(const MatrixTarget& c) {
  for (std::uint64_t i = 0; i < c.form.rows; ++i)
    for (std::uint64_t j = 0; j < c.form.columns; ++j) set_element(c, i, j, 0);
}

// Rows and columns exchanged, which changes no chain: a tile is wide, so few columns are better as rows.
MatrixMultiply exchanged(const MatrixMultiply& what) {
  MatrixMultiply result = what;
  result.a = transposed(what.b);
  result.b = transposed(what.a);
  result.c = transposed(what.c);
  return result;
}

bool better_exchanged(std::uint64_t m, std::uint64_t n) {
  const auto padded = [](std::uint64_t count) { return (count + kTileColumns - 1) / kTileColumns; };
  return n * padded(m) < m * padded(n);
}

std::string_view shown(const MatrixForm& form) {
  return form.bfp16 ? "bfp16" : isa::name(form.type);
}

void check_product(const MatrixMultiply& what) {
  const MatrixForm &a = what.a.form, &b = what.b.form, &c = what.c.form;
  if (!legal_matrix_types(a, b, c))
    throw Error(Category::internal, "matrix-types",
                fmt::format("{} · {} into {} has no meaning", shown(a), shown(b), shown(c)));
  const auto along = [](const MatrixForm& form) { return info(form.layout.order).elements_by_rows; };
  if ((a.bfp16 && !along(a)) || (b.bfp16 && along(b)))
    throw Error(Category::internal, "matrix-types", "blocks of bfp16 run along k: rows of A, columns of B");
  if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns)
    throw Error(Category::internal, "matrix-shapes",
                fmt::format("{} x {} · {} x {} into {} x {}", a.rows, a.columns, b.rows, b.columns, c.rows,
                            c.columns));
}

}  // namespace

bool legal_matrix_types(const MatrixForm& a, const MatrixForm& b, const MatrixForm& c) {
  if (c.bfp16 || !is_operand(a) || !is_operand(b)) return false;
  switch (c.type) {
    case DType::f32:
      return is_float_operand(a) && is_float_operand(b);
    case DType::f16:
      return has_exact_products(a) && has_exact_products(b);
    case DType::i32:
      return !is_float_operand(a) && !is_float_operand(b);
    default:
      return false;
  }
}

const MatrixKernels& matrix_kernels_on([[maybe_unused]] SimdPath path) {
#if defined(NPULAB_HAS_AVX2_KERNELS)
  if (path == SimdPath::avx2) return avx2::matrix_kernels();
#endif
  return baseline::matrix_kernels();
}

MatrixCounts mma_on(SimdPath path, const MatrixMultiply& what, MatrixScratch& scratch) {
  check_product(what);
  if (what.c.form.rows == 0 || what.c.form.columns == 0) return {};
  if (what.a.form.columns == 0) {
    if (!what.accumulate) clear(what.c);
    return {};
  }
  const bool exchange = better_exchanged(what.c.form.rows, what.c.form.columns);
  const MatrixMultiply used = exchange ? exchanged(what) : what;
  MatrixCounts counts = Product(matrix_kernels_on(path), used, scratch).run();
  if (exchange) std::swap(counts.zeros_a, counts.zeros_b);
  return counts;
}

MatrixCounts mma(const MatrixMultiply& what, MatrixScratch& scratch) {
  return mma_on(simd_path_in_use(), what, scratch);
}

}  // namespace npulab::values
