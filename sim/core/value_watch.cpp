// SPDX-License-Identifier: Apache-2.0
#include "sim/core/value_watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "sim/core/core_state.hpp"
#include "sim/core/meaning.hpp"
#include "sim/values/convert.hpp"

namespace npulab::core {

namespace {

using isa::DType;
using isa::Format;
using isa::Op;

// The bits of an encoding that are all set in NaN and infinities, and in nothing else.
std::uint32_t exponent_of(DType type) {
  switch (type) {
    case DType::f32:
      return 0x7f800000U;
    case DType::f16:
      return 0x7c00U;
    case DType::bf16:
      return 0x7f80U;
    case DType::f8e5m2:
      return 0x7cU;
    case DType::f8e4m3:
      return 0x7fU;  // has no infinities
    default:
      return 0;
  }
}

template <class T>
T element_at(const std::byte* data, std::size_t i) {
  T value{};
  std::memcpy(&value, data + i * sizeof(T), sizeof value);
  return value;
}

template <class T>
bool any_with(T exponent, const std::byte* data, std::uint64_t count) {
  bool any = false;
  for (std::uint64_t i = 0; i < count; ++i)
    any |= static_cast<T>(element_at<T>(data, i) & exponent) == exponent;
  return any;
}

}  // namespace

bool any_not_finite(DType type, const std::byte* data, std::uint64_t count) {
  const std::uint32_t exponent = exponent_of(type);
  if (exponent == 0 || data == nullptr) return false;
  if (isa::bits(type) == 32) return any_with<std::uint32_t>(exponent, data, count);
  if (isa::bits(type) == 16)
    return any_with<std::uint16_t>(static_cast<std::uint16_t>(exponent), data, count);
  return any_with<std::uint8_t>(static_cast<std::uint8_t>(exponent), data, count);
}

namespace {

bool accumulates(const MicroOp& op) {
  return op.format == Format::Ternary || op.format == Format::WideTernary || op.format == Format::DotTernary;
}

DType source_type(const MicroOp& op) {
  return op.type2 == DType::none ? op.type : op.type2;
}

// Lanes of source a and b: the last source of a binary operation may be one element for all.
std::uint32_t lanes_of_b(const MicroOp& op, std::uint32_t lanes) {
  return op.broadcast != 0 ? 1 : lanes;
}

// Whether what goes in holds NaN or an infinity already.
bool comes_in(const MicroOp& op, const ValueWatch::Lanes& l) {
  const DType source = source_type(op);
  const bool binary =
      op.format != Format::Unary && op.format != Format::Convert && op.format != Format::Reduction;
  return any_not_finite(source, l.a, l.lanes) ||
         (binary && any_not_finite(source, l.b, lanes_of_b(op, l.lanes))) ||
         (accumulates(op) && any_not_finite(op.type, l.old, l.lanes));
}

std::string sources_text(const MicroOp& op, const ValueWatch::Lanes& l, std::uint32_t lane) {
  const DType source = source_type(op);
  if (op.format == Format::Reduction) return "the lanes of a";
  std::string text = fmt::format("a = {:g}", values::to_double(source, l.a, lane));
  if (op.format == Format::Unary || op.format == Format::Convert) return text;
  text += fmt::format(", b = {:g}", values::to_double(source, l.b, op.broadcast != 0 ? 0 : lane));
  if (accumulates(op)) text += fmt::format(", dst = {:g}", values::to_double(op.type, l.old, lane));
  return text;
}

// The sum that an operation adds to, and what is added is something: nothing where it is no such addition.
// Sums are the old dst of a multiplication that adds, or the source of vadd that is dst.
struct NarrowSum {
  const std::byte* sum = nullptr;
  const std::byte* added = nullptr;   // null: the product of a and b
  std::uint32_t added_lane_step = 1;  // 0: one element for all lanes
};

NarrowSum narrow_sum(const MicroOp& op, const CoreState& state, const ValueWatch::Lanes& l) {
  if (op.type != DType::f16 && op.type != DType::bf16) return {};
  if (accumulates(op)) return {l.old};
  if (op.op != Op::Vadd) return {};
  const bool views = state.target.form == isa::OperandForm::ub;
  const auto same_view = [&](std::size_t slot) {
    const Address& a = op.addresses[0];
    const Address& b = op.addresses[slot];
    return a.space == b.space && state.offset(a) == state.offset(b);
  };
  if (views ? same_view(1) : op.dst == op.a) return {l.a, l.b, op.broadcast != 0 ? 0U : 1U};
  if (op.broadcast == 0 && (views ? same_view(2) : op.dst == op.b)) return {l.b, l.a};
  return {};
}

bool is_zero(DType type, const std::byte* data, std::uint32_t lane) {
  return values::to_double(type, data, lane) == 0;
}

bool adds_something(const MicroOp& op, const ValueWatch::Lanes& l, const NarrowSum& sum, std::uint32_t lane) {
  if (sum.added != nullptr) return !is_zero(op.type, sum.added, lane * sum.added_lane_step);
  const DType source = source_type(op);
  return !is_zero(source, l.a, lane) && !is_zero(source, l.b, op.broadcast != 0 ? 0 : lane);
}

// The first element of a float matrix that is NaN or infinite.
std::optional<std::pair<std::uint64_t, std::uint64_t>> not_finite_at(const values::MatrixView& view) {
  if (!isa::info(view.form.type).floating) return std::nullopt;
  for (std::uint64_t i = 0; i < view.form.rows; ++i)
    for (std::uint64_t j = 0; j < view.form.columns; ++j)
      if (!std::isfinite(values::decode_float(view.form.type, values::element(view, i, j))))
        return std::pair(i, j);
  return std::nullopt;
}

}  // namespace

bool ValueWatch::watches(const MicroOp& op) {
  switch (isa::info(op.op).cost) {
    case isa::CostClass::Add:
    case isa::CostClass::Multiply:
    case isa::CostClass::Divide:
    case isa::CostClass::Fma:
    case isa::CostClass::Transcendental:
    case isa::CostClass::Convert:
    case isa::CostClass::Reduce:
      return true;
    default:
      return false;
  }
}

ValueWatch::Counts& ValueWatch::counts(const DecodedProgram& program, std::uint32_t pc) {
  if (counts_.empty()) counts_.resize(program.ops.size());
  return counts_[pc];
}

void ValueWatch::reset() {
  counts_.clear();
  produced_.clear();
}

bool ValueWatch::told(std::uint32_t pc) const {
  return std::any_of(produced_.begin(), produced_.end(), [pc](const Produced& one) { return one.pc == pc; });
}

void ValueWatch::find_not_finite(std::uint32_t pc, const MicroOp& op, const CoreState& state,
                                 const Lanes& l) {
  const std::uint32_t results = op.format == Format::Reduction ? 1 : l.lanes;
  if (!any_not_finite(op.type, l.dst, results) || told(pc) || comes_in(op, l)) return;
  for (std::uint32_t i = 0; i < results; ++i) {
    const double value = values::to_double(op.type, l.dst, i);
    if (std::isfinite(value) || (op.format != Format::Reduction && !mask_allows(op, state, i))) continue;
    const bool nan = std::isnan(value);
    produced_.push_back({pc, nan,
                         fmt::format("{}.{} on core {} makes {} out of numbers, in lane {}: {}",
                                     isa::info(op.op).mnemonic, isa::info(op.type).name, state.id,
                                     nan ? "NaN" : "an infinity", i, sources_text(op, l, i))});
    return;
  }
}

void ValueWatch::look(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
                      const Lanes& l) {
  find_not_finite(pc, op, state, l);
  if (const NarrowSum sum = narrow_sum(op, state, l); sum.sum != nullptr) {
    Counts& count = counts(program, pc);
    for (std::uint32_t i = 0; i < l.lanes; ++i) {
      if (!mask_allows(op, state, i) || !adds_something(op, l, sum, i)) continue;
      ++count.additions;
      count.lost += element_at<std::uint16_t>(l.dst, i) == element_at<std::uint16_t>(sum.sum, i) ? 1U : 0U;
    }
  }
  if (op.type != DType::i32 || (op.format != Format::DotTernary && op.format != Format::WideTernary)) return;
  // What was added is small beside 2^31, so it is the difference, modulo 2^32.
  for (std::uint32_t i = 0; i < l.lanes; ++i) {
    const auto sum = element_at<std::int32_t>(l.dst, i);
    const auto before = element_at<std::int32_t>(l.old, i);
    const auto added =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) - static_cast<std::uint32_t>(before));
    if ((added > 0 && sum < before) || (added < 0 && sum > before)) ++counts(program, pc).wrapped;
  }
}

// A source that is dst itself is looked at as it was.
void ValueWatch::run(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
                     std::byte* dst, const std::byte* a, const std::byte* b, const std::byte* c,
                     std::uint32_t lanes) {
  const std::size_t results = op.format == Format::Reduction ? 1 : lanes;
  const std::size_t bytes = (results * isa::bits(op.type) + 7) / 8;
  if (old_.size() < bytes) old_.resize(bytes);
  std::memcpy(old_.data(), dst, bytes);
  op.lane(dst, a, b, c, lanes);
  const auto before = [&](const std::byte* source) { return source == dst ? old_.data() : source; };
  look(program, pc, op, state, {dst, old_.data(), before(a), before(b), lanes});
}

bool ValueWatch::begins_finite(const values::MatrixMultiply& product) {
  return !not_finite_at(product.a) && !not_finite_at(product.b) &&
         (!product.accumulate || !not_finite_at({product.c.data, product.c.form}));
}

void ValueWatch::look(const DecodedProgram& program, std::uint32_t pc, CoreState& state, bool finite_before,
                      const values::MatrixMultiply& done, const values::MatrixCounts& result) {
  if (result.out_of_range > 0) counts(program, pc).wrapped += result.out_of_range;
  if (!finite_before || told(pc)) return;
  const values::MatrixView c{done.c.data, done.c.form};
  const auto at = not_finite_at(c);
  if (!at) return;
  const bool nan = std::isnan(values::decode_float(c.form.type, values::element(c, at->first, at->second)));
  produced_.push_back({pc, nan,
                       fmt::format("{} on core {} makes {} out of numbers, in C[{}, {}]",
                                   isa::info(program.ops[pc].op).mnemonic, state.id,
                                   nan ? "NaN" : "an infinity", at->first, at->second)});
}

void ValueWatch::look(const DecodedProgram& program, std::uint32_t pc, const CoreState& state,
                      const std::byte* in, const std::byte* out, std::uint64_t count) {
  const MicroOp& op = program.ops[pc];
  if (!any_not_finite(op.type, out, count) || told(pc) || any_not_finite(op.type2, in, count)) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = values::to_double(op.type, out, i);
    if (std::isfinite(value)) continue;
    produced_.push_back(
        {pc, std::isnan(value),
         fmt::format("{} on core {} makes {} out of numbers, in column {}: {:g} before it",
                     isa::info(op.op).mnemonic, state.id, std::isnan(value) ? "NaN" : "an infinity", i,
                     values::to_double(op.type2, in, i))});
    return;
  }
}

// A sum of many small numbers loses a few of them in any order; one that has stopped growing loses most.
void ValueWatch::finish(const DecodedProgram& program, CoreState& state, const std::string& output) const {
  for (const Produced& one : produced_)
    if (!output.empty())
      state.diagnostics.add(Severity::warning, one.nan ? "nan-produced" : "infinity-produced",
                            fmt::format("{}; output {} holds NaN or infinities", one.message, output),
                            program.where(one.pc), state.id);
  constexpr std::uint64_t kFewest = 64;
  constexpr std::uint64_t kShare = 4;
  for (std::uint32_t pc = 0; pc < counts_.size(); ++pc) {
    const Counts& count = counts_[pc];
    const isa::InstructionInfo& row = isa::info(program.ops[pc].op);
    if (count.lost >= kFewest && count.lost > count.additions / kShare)
      state.diagnostics.add(
          Severity::warning, "additions-lost",
          fmt::format("{} of {} additions of {}.{} on core {} left the sum as it was: it is too large for {} "
                      "to take up what is added; add in f32, or in shorter sums",
                      count.lost, count.additions, row.mnemonic, isa::info(program.ops[pc].type).name,
                      state.id, isa::info(program.ops[pc].type).name),
          program.where(pc), state.id);
    if (count.wrapped > 0)
      state.diagnostics.add(
          Severity::warning, "sum-wrapped",
          fmt::format("{} sums of {} on core {} left i32 and wrapped", count.wrapped, row.mnemonic, state.id),
          program.where(pc), state.id);
  }
}

void apply_lanes(const DecodedProgram& program, std::uint32_t pc, const MicroOp& op, CoreState& state,
                 std::byte* dst, const std::byte* a, const std::byte* b, const std::byte* c,
                 std::uint32_t lanes) {
  if (state.sanitize != Sanitize::full || !ValueWatch::watches(op)) {
    op.lane(dst, a, b, c, lanes);
    return;
  }
  state.watch.run(program, pc, op, state, dst, a, b, c, lanes);
}

}  // namespace npulab::core
