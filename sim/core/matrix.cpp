// SPDX-License-Identifier: Apache-2.0
#include "sim/core/matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sim/config/names.hpp"
#include "sim/core/meaning_frame.hpp"
#include "sim/values/matrix_sparse.hpp"

namespace npulab::core {

namespace {

using isa::Mod;
using values::MatrixForm;
using values::MatrixOrder;

constexpr std::int64_t kMostSize = 65535;

const config::MatrixTypeConfig& step_of(const config::MatrixConfig& matrix, isa::DType a, isa::DType b) {
  for (const auto& [key, type] : matrix.types)
    if (config::matrix_types(key) == std::pair(a, b)) return type;
  throw Error(Category::internal, "no-matrix-type", "a product passed the check without its types");
}

values::MatrixLayout layout_of(config::OperandLayout layout, isa::DType type, bool sums, bool transposed) {
  switch (layout) {
    case config::OperandLayout::nd:
      return {transposed ? MatrixOrder::nd_transposed : MatrixOrder::nd, 0, 0, 0};
    case config::OperandLayout::zz:
      return values::fractals(MatrixOrder::zz, type);
    case config::OperandLayout::zn:
      return values::fractals(MatrixOrder::zn, type);
    case config::OperandLayout::nz:
      return sums ? values::accumulator_fractals() : values::fractals(MatrixOrder::nz, type);
  }
  return {};
}

// A packed A as the rows that it stands for.
MatrixForm dense_a(isa::DType type, const MatrixProduct& product) {
  return {type, false, product.m, product.k, {}};
}

class Resolver {
 public:
  Resolver(const DecodedProgram& program, std::uint32_t pc, CoreState& state,
           const config::MatrixConfig& matrix)
      : program_(program), pc_(pc), op_(program.ops[pc]), state_(state), matrix_(matrix) {}

  MatrixProduct run() {
    MatrixProduct product;
    product.pc = pc_;
    product.m = size("m", op_.scalars[0]);
    product.n = size("n", op_.scalars[1]);
    product.k = size("k", op_.scalars[2]);
    product.sparse = op_.format == isa::Format::SparseProduct;
    product.structured = flag(Mod::structured);
    product.accumulate = flag(Mod::accumulate);
    product.hold = flag(Mod::hold);
    const isa::DType b_type = op_.type2 == isa::DType::none ? op_.type : op_.type2;
    const std::size_t b_slot = product.sparse ? 5 : 4;
    if (product.sparse)
      packed(product);
    else
      product.a = operand("a", 3,
                          {op_.type, false, product.m, product.k,
                           layout_of(matrix_.a_layout, op_.type, false, flag(Mod::transpose_a))},
                          Mod::a_pitch);
    product.b = operand("b", b_slot,
                        {b_type, false, product.k, product.n,
                         layout_of(matrix_.b_layout, b_type, false, flag(Mod::transpose_b))},
                        Mod::b_pitch);
    const isa::DType sums = isa::accumulator(op_.type);
    product.c = operand("c", b_slot + 1,
                        {sums, false, product.m, product.n, layout_of(matrix_.c_layout, sums, true, false)},
                        Mod::c_pitch);
    if (op_.has(Mod::bias)) product.bias = bias(product, sums);
    if (product.hold) check_hold(product);
    return product;
  }

 private:
  [[noreturn]] void refuse(const char* code, const std::string& message) const {
    throw Error(Category::verdict, code,
                fmt::format("{} on core {}: {}", isa::info(op_.op).mnemonic, state_.id, message),
                program_.where(pc_));
  }

  std::uint64_t size(const char* name, Number number) const {
    const std::int64_t value = state_.scalar(number);
    if (value < 0 || value > kMostSize)
      refuse("bad-size", fmt::format("{} = {}: sizes lie in 0…{}", name, value, kMostSize));
    return static_cast<std::uint64_t>(value);
  }

  bool flag(Mod mod) const {
    if (!op_.has(mod)) return false;
    const std::int64_t value = state_.scalar(op_.mod(mod));
    if (value != 0 && value != 1)
      refuse("value-range", fmt::format("{} = {}: it is 0 or 1", isa::info(mod).name, value));
    return value == 1;
  }

  MatrixOperand operand(const char* name, std::size_t slot, MatrixForm form, Mod pitch) const {
    if (op_.has(pitch)) {
      const std::int64_t value = state_.scalar(op_.mod(pitch));
      if (value < 0 || value > isa::info(pitch).max)
        refuse("value-range", fmt::format("{} = {} bytes: it lies in 0…{}", isa::info(pitch).name, value,
                                          isa::info(pitch).max));
      form.layout.pitch = static_cast<std::uint64_t>(value);
    }
    return place(name, op_.addresses[slot].space, state_.offset(op_.addresses[slot]), form);
  }

  MatrixOperand place(const char* name, std::uint8_t space, std::int64_t offset,
                      const MatrixForm& form) const {
    try {
      values::check(form);
    } catch (const Error& error) {
      refuse("bad-size",
             fmt::format("operand {} of {} x {}: {}", name, form.rows, form.columns, error.what()));
    }
    MatrixOperand result{space, 0, values::matrix_bytes(form), form};
    if (result.bytes == 0) return result;
    local_address(program_, pc_, state_, space, offset, result.bytes, false);
    result.offset = static_cast<std::uint64_t>(offset);
    return result;
  }

  // A as what is there of it, and the places: both are read whole.
  void packed(MatrixProduct& product) const {
    const std::uint8_t space = op_.addresses[3].space;
    const MatrixForm dense = dense_a(op_.type, product);
    const std::int64_t index = state_.offset(op_.addresses[4]);
    if (product.structured) {
      product.a = place("a", space, state_.offset(op_.addresses[3]), values::two_of_four_values(dense));
      const std::uint64_t places = product.m == 0 ? 0 : values::two_of_four_place_bytes(dense) / product.m;
      product.index = place("index", space, index, {isa::DType::u8, false, product.m, places, {}});
      return;
    }
    product.width = op_.has(Mod::width) ? size("width", op_.mod(Mod::width)) : product.k;
    product.a =
        place("a", space, state_.offset(op_.addresses[3]), values::sparse_row_values(dense, product.width));
    product.index = place("index", space, index, {isa::DType::i32, false, product.m, product.width, {}});
  }

  MatrixOperand bias(const MatrixProduct& product, isa::DType sums) const {
    const std::int64_t offset = state_.scalar(op_.mod(Mod::bias));
    if (product.accumulate)
      refuse("value-range", "bias is what sums start from; it does not go with accumulate=1");
    return place("bias", state_.target.matrix->bias, offset, {sums, false, 1, product.n, {}});
  }

  void check_hold(const MatrixProduct& product) const {
    if (matrix_.kind != isa::MatrixKind::systolic || matrix_.dataflow != config::Dataflow::output_stationary)
      refuse("hold", "hold=1 is for arrays that keep the sums (systolic, output_stationary)");
    if (product.m > matrix_.rows || product.n > matrix_.columns)
      refuse("hold", fmt::format("hold=1 of {} x {} sums: the array holds {} x {}", product.m, product.n,
                                 matrix_.rows, matrix_.columns));
  }

  const DecodedProgram& program_;
  const std::uint32_t pc_;
  const MicroOp& op_;
  CoreState& state_;
  const config::MatrixConfig& matrix_;
};

}  // namespace

namespace {

// The machine's overflow mode is about floats: sums of integers wrap.
bool saturates(const CoreState& state, isa::DType sums) {
  return state.saturate && isa::info(sums).floating;
}

bool is_zero(isa::DType type, std::uint32_t bits) {
  const std::uint32_t sign = isa::info(type).floating ? std::uint32_t{1} << (isa::bits(type) - 1) : 0;
  return (bits & ~sign) == 0;
}

values::MatrixView view_of(const MatrixOperand& operand, CoreState& state) {
  return {operand.bytes == 0 ? nullptr : state.buffer(operand.space).bytes(operand.offset, operand.bytes),
          operand.form};
}

// For each tile of `size` rows: which columns hold anything but zeros.
std::vector<std::vector<bool>> filled_columns(const values::MatrixView& view, std::uint64_t size) {
  std::vector<std::vector<bool>> tiles;
  for (std::uint64_t row = 0; row < view.form.rows; ++row) {
    if (row % size == 0) tiles.emplace_back(view.form.columns, false);
    for (std::uint64_t column = 0; column < view.form.columns; ++column)
      if (!is_zero(view.form.type, values::element(view, row, column))) tiles.back()[column] = true;
  }
  return tiles;
}

// Steps of `depth` columns along k of which A's tile and B's tile both hold something.
std::vector<std::uint64_t> filled_steps(const MatrixProduct& product, const config::MatrixConfig& matrix,
                                        std::uint64_t depth, CoreState& state) {
  const auto a = filled_columns(view_of(product.a, state), matrix.rows);
  const auto b = filled_columns(values::transposed(view_of(product.b, state)), matrix.columns);
  std::vector<std::uint64_t> steps;
  for (const std::vector<bool>& rows : a) {
    for (const std::vector<bool>& columns : b) {
      std::uint64_t filled = 0;
      for (std::uint64_t p = 0; p < product.k; p += depth) {
        bool any = false;
        for (std::uint64_t q = p; q < std::min(p + depth, product.k); ++q)
          any = any || (rows[q] && columns[q]);
        filled += any ? 1 : 0;
      }
      steps.push_back(filled);
    }
  }
  return steps;
}

// Steps of rows of slots: those of the fullest row of each tile.
std::vector<std::uint64_t> slot_steps(const MatrixProduct& product, const config::MatrixConfig& matrix,
                                      std::uint64_t depth, CoreState& state) {
  const values::MatrixView index = view_of(product.index, state);
  const std::uint64_t tiles = (product.n + matrix.columns - 1) / matrix.columns;
  std::vector<std::uint64_t> steps;
  for (std::uint64_t row = 0; row < product.m; row += matrix.rows) {
    std::uint64_t most = 0;
    for (std::uint64_t i = row; i < std::min<std::uint64_t>(row + matrix.rows, product.m); ++i) {
      std::uint64_t used = 0;
      while (used < product.width && static_cast<std::int32_t>(values::element(index, i, used)) >= 0) ++used;
      most = std::max(most, used);
    }
    steps.insert(steps.end(), tiles, (most + depth - 1) / depth);
  }
  return steps;
}

// Calls visit(offset, bytes) for runs of the operand's elements; padding between them is left out.
template <class Visit>
void for_each_run(const MatrixOperand& operand, Visit&& visit) {
  if (operand.bytes == 0) return;
  if (operand.bytes * 8 == operand.form.rows * operand.form.columns * isa::bits(operand.form.type)) {
    visit(operand.offset, operand.bytes);
    return;
  }
  const values::MatrixSteps steps = values::steps(operand.form);
  const unsigned bits = isa::bits(operand.form.type);
  const bool by_rows = values::info(operand.form.layout.order).elements_by_rows;
  const std::uint64_t lines = by_rows ? operand.form.rows : operand.form.columns;
  const std::uint64_t length = by_rows ? operand.form.columns : operand.form.rows;
  const values::MatrixAxis& across = by_rows ? steps.rows : steps.columns;
  const values::MatrixAxis& along = by_rows ? steps.columns : steps.rows;
  const bool blocks = values::info(operand.form.layout.order).blocks;
  const std::uint64_t piece = blocks ? along.block : length;
  std::uint64_t first = 0, end = 0;  // bytes: a run that may go on
  for (std::uint64_t begin = 0; begin < length; begin += piece) {
    for (std::uint64_t line = 0; line < lines; ++line) {
      const std::uint64_t bit = across.at(line) + along.at(begin);
      const std::uint64_t from = operand.offset + bit / 8;
      const std::uint64_t to = operand.offset + (bit + std::min(piece, length - begin) * bits + 7) / 8;
      if (from != end) {
        if (end > first) visit(first, end - first);
        first = from;
      }
      end = to;
    }
  }
  if (end > first) visit(first, end - first);
}

void check_operand(const MatrixOperand& operand, const DecodedProgram& program, std::uint32_t pc,
                   CoreState& state) {
  if (operand.bytes == 0 || state.sanitize == Sanitize::off) return;
  if (state.sanitize == Sanitize::fast && state.buffer(operand.space).written(operand.offset, operand.bytes))
    return;
  for_each_run(operand, [&](std::uint64_t offset, std::uint64_t bytes) {
    check_written(program, pc, state, operand.space, static_cast<std::int64_t>(offset), bytes);
  });
}

// The sums of every row begin from the bias.
void spread_bias(const MatrixProduct& product, CoreState& state, const values::MatrixTarget& sums) {
  const values::MatrixView bias = view_of(*product.bias, state);
  for (std::uint64_t i = 0; i < product.m; ++i)
    for (std::uint64_t j = 0; j < product.n; ++j)
      values::set_element(sums, i, j, values::element(bias, 0, j));
}

// Where the sums of a product grow: in the array when they come from it or stay there, else in C.
values::MatrixTarget sums_of(const MatrixProduct& product, CoreState& state, bool held) {
  std::byte* c = state.buffer(product.c.space).bytes(product.c.offset, product.c.bytes);
  if (!product.hold && !held) return {c, product.c.form};
  state.array_sums.resize(product.c.bytes);
  if (product.accumulate && !held) std::copy_n(c, product.c.bytes, state.array_sums.begin());
  return {state.array_sums.data(), product.c.form};
}

// C has its sums, unless they stay in the array.
void give_sums(const MatrixProduct& product, CoreState& state, const values::MatrixTarget& sums) {
  if (product.hold) return;
  memory::LocalBuffer& buffer = state.buffer(product.c.space);
  const bool here = sums.data == buffer.bytes(product.c.offset, product.c.bytes);
  for_each_run(product.c, [&](std::uint64_t offset, std::uint64_t bytes) {
    if (!here) std::copy_n(sums.data + (offset - product.c.offset), bytes, buffer.bytes(offset, bytes));
    mark_written(product.pc, state, product.c.space, static_cast<std::int64_t>(offset), bytes);
  });
}

// A packed A as rows, in `room`.
values::MatrixView unpacked(const MatrixProduct& product, CoreState& state, std::vector<std::byte>& room) {
  const MatrixForm form = dense_a(product.a.form.type, product);
  room.assign(values::matrix_bytes(form), std::byte{0});
  const values::MatrixTarget dense{room.data(), form};
  const values::MatrixView packed = view_of(product.a, state);
  const values::MatrixView index = view_of(product.index, state);
  if (product.structured)
    values::unpack_2_4(packed.data, index.data, dense);
  else
    values::unpack_sparse(packed.data, index.data, isa::DType::i32, product.width, dense);
  return dense;
}

}  // namespace

bool same_sums(const MatrixProduct& one, const MatrixProduct& other) {
  return one.c.offset == other.c.offset && one.m == other.m && one.n == other.n &&
         one.c.form.layout.pitch == other.c.form.layout.pitch;
}

cost::MatrixWork work_of(const MatrixProduct& product, const config::MatrixConfig& matrix, CoreState& state) {
  cost::MatrixWork work;
  work.m = product.m;
  work.n = product.n;
  work.k = product.structured ? product.a.form.columns : product.k;
  work.step = &step_of(matrix, product.a.form.type, product.b.form.type);
  work.a_row_bits = product.a.form.columns * isa::bits(product.a.form.type) +
                    product.index.form.columns * isa::bits(product.index.form.type);
  work.b_column_bits = product.k * isa::bits(product.b.form.type);
  work.c_bits = isa::bits(product.c.form.type);
  work.accumulate = product.accumulate;
  work.hold = product.hold;
  if (product.sparse && !product.structured) {
    work.steps = slot_steps(product, matrix, work.step->k, state);
  } else if (!product.sparse && matrix.zero_skip == config::ZeroSkip::slices) {
    work.steps = filled_steps(product, matrix, work.step->k, state);
    work.skips_reads = true;
  }
  return work;
}

std::uint64_t execute_product(const MatrixProduct& product, const DecodedProgram& program, CoreState& state,
                              bool held) {
  if (product.c.bytes == 0) return 0;
  check_operand(product.a, program, product.pc, state);
  check_operand(product.index, program, product.pc, state);
  check_operand(product.b, program, product.pc, state);
  if (product.accumulate && !held) check_operand(product.c, program, product.pc, state);
  values::MatrixMultiply multiply;
  multiply.c = sums_of(product, state, held);
  if (product.bias) {
    check_operand(*product.bias, program, product.pc, state);
    spread_bias(product, state, multiply.c);
  }
  std::vector<std::byte> room;
  try {
    multiply.a = product.sparse ? unpacked(product, state, room) : view_of(product.a, state);
  } catch (const Error& error) {
    throw Error(Category::verdict, error.code(),
                fmt::format("{} on core {}: {}", isa::info(program.ops[product.pc].op).mnemonic, state.id,
                            error.what()),
                program.where(product.pc));
  }
  multiply.b = view_of(product.b, state);
  multiply.accumulate = product.accumulate || product.bias.has_value();
  multiply.saturate = saturates(state, multiply.c.form.type);
  const bool watched = state.sanitize == Sanitize::full;
  const bool finite = watched && ValueWatch::begins_finite(multiply);
  const values::MatrixCounts counts = values::mma(multiply, state.matrix_scratch);
  if (watched) state.watch.look(program, product.pc, state, finite, multiply, counts);
  give_sums(product, state, multiply.c);
  return counts.out_of_range;
}

// Tiles in vector registers.
template <>
void meaning<isa::Op::Mmul>(Frame f) {
  const MicroOp& op = f.op;
  CoreState& state = f.state;
  const isa::MatrixShape& shape =
      *state.target.matrix->shape(op.type, op.type2, op.mod(isa::Mod::shape).value);
  values::MatrixMultiply multiply;
  multiply.a = {state.vectors.data() + op.a, {shape.a, false, shape.m, shape.k, {}}};
  multiply.b = {state.vectors.data() + op.b, {shape.b, false, shape.k, shape.n, {}}};
  multiply.c = {state.vectors.data() + op.dst, {isa::accumulator(op.type), false, shape.m, shape.n, {}}};
  multiply.accumulate = true;
  multiply.saturate = saturates(state, multiply.c.form.type);
  values::mma(multiply, state.matrix_scratch);
}

MatrixProduct resolve_product(const DecodedProgram& program, std::uint32_t pc, CoreState& state,
                              const config::MatrixConfig& matrix) {
  return Resolver(program, pc, state, matrix).run();
}

}  // namespace npulab::core
