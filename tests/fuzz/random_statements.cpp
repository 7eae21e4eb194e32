// SPDX-License-Identifier: Apache-2.0
// Statements of random programs that touch memories: vector code, copies, products.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "isa/table.hpp"
#include "tests/fuzz/plain_matrix.hpp"
#include "tests/fuzz/random_program.hpp"

namespace npulab::test {

namespace {

using isa::Format;
using isa::Mod;
using isa::OperandForm;

std::string in_braces(const std::vector<std::string>& mods) {
  if (mods.empty()) return "\n";
  std::string text;
  for (const std::string& mod : mods) text += (text.empty() ? " {" : ", ") + mod;
  return text + "}\n";
}

bool takes(const isa::InstructionInfo& row, Mod mod) {
  const auto mods = isa::info(row.format).mods;
  return std::find(mods.begin(), mods.end(), mod) != mods.end();
}

struct TypedRow {
  Op op;
  DType type, type2;
};

// Every vector row with every legal pair of types of this machine, of those that its form has.
std::vector<TypedRow> vector_rows(const isa::Target& target) {
  std::vector<TypedRow> rows;
  for (const isa::InstructionInfo& row : isa::instructions()) {
    const bool registers_only = row.format == Format::Slide || row.format == Format::Extract;
    if (row.family != isa::Family::Vector || (registers_only && target.form == OperandForm::ub)) continue;
    for (const isa::DTypeInfo& type : isa::kDTypes)
      for (std::size_t second = 0; second <= isa::kDTypes.size(); ++second) {
        const DType type2 = second == isa::kDTypes.size() ? DType::none : isa::kDTypes[second].type;
        const bool known = isa::contains(target.vector_types, type.type) &&
                           (type2 == DType::none || isa::contains(target.vector_types, type2));
        if (known && isa::legal_types(row, type.type, type2)) rows.push_back({row.op, type.type, type2});
      }
  }
  return rows;
}

}  // namespace

std::string ProgramWriter::scalar_operand(DType type, std::size_t lanes) {
  if (groups_ > 0 && choices_.one_in(3))
    return fmt::format("v{}[{}]", vector_register(1), choices_.pick(lanes));
  if (choices_.one_in(2)) return fmt::format("s{}", data());
  if (!isa::info(type).floating)
    return fmt::format("{}",
                       isa::info(type).is_signed ? choices_.between(-100, 100) : choices_.between(0, 200));
  static const std::vector<std::string> kNumbers{"1.5", "-2",  "0.1",  "inf", "-inf",
                                                 "nan", "240", "-0.0", "3e-7"};
  return choices_.one_of(kNumbers);
}

void ProgramWriter::vector() {
  const std::vector<TypedRow> rows = vector_rows(target_);
  TypedRow what = choices_.one_of(rows);
  const unsigned width = target_.operation_bits / 8;
  const auto groups_of = [&](std::size_t slot) {
    const unsigned bytes =
        isa::slot_bytes(isa::info(what.op), slot, what.type, what.type2, target_.operation_bits);
    return std::max(1U, bytes / width);
  };
  const bool ub = target_.form == OperandForm::ub;
  const isa::InstructionInfo* row = &isa::info(what.op);
  while (!ub) {  // operands that fit the registers in use
    const std::size_t slots = isa::info(row->format).slots.size();
    unsigned most = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) most = std::max(most, groups_of(slot));
    if (most <= groups_) break;
    what = rows.front();
    row = &isa::info(what.op);
  }
  const std::span<const isa::Slot> slots = isa::info(row->format).slots;
  const unsigned lanes = isa::lanes(*row, what.type, what.type2, target_.operation_bits);
  const unsigned repeats = ub ? static_cast<unsigned>(choices_.pick(3)) : 1;
  std::vector<std::string> mods;
  const auto number_mod = [&](Mod mod, std::int64_t value) {
    mods.push_back(fmt::format("{}={}", isa::info(mod).name, given(value)));
  };
  std::vector<Access> accesses;
  std::string operands;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const DType type = slots[slot].element == isa::SlotType::type2 ? what.type2 : what.type;
    const bool may_be_scalar =
        slot + 1 == slots.size() && slot > 0 && (slots[slot].kinds & isa::kind(isa::OperandKind::sreg)) != 0;
    operands += slot == 0 ? " " : ", ";
    if (slots[slot].element == isa::SlotType::none) {
      operands += slot == 0 ? fmt::format("s{}", data()) : given(choices_.between(-3, 9));
    } else if (row->format == Format::Extract) {
      operands += fmt::format("v{}[{}]", vector_register(1), choices_.pick(lanes));
    } else if (may_be_scalar && (row->format == Format::Duplicate || choices_.one_in(3))) {
      operands += scalar_operand(type, width * 8 / isa::bits(type));
    } else if (!ub) {
      operands += fmt::format("v{}", vector_register(groups_of(slot)));
    } else {
      operands += view_operand(*row, slot, repeats, mods, accesses);
    }
  }
  if (takes(*row, Mod::n) && choices_.one_in(4)) {
    if (choices_.one_in(4)) {
      mods.push_back(fmt::format("n=s{}", data()));
    } else {
      number_mod(Mod::n, choices_.between(0, lanes));
    }
  }
  if (takes(*row, Mod::mask) && choices_.one_in(5))
    mods.push_back(choices_.one_in(2) ? fmt::format("mask=s{}", data())
                                      : fmt::format("mask={:#x}", choices_.bits64()));
  if (takes(*row, Mod::round) && choices_.one_in(2))
    mods.push_back(fmt::format("round={}", isa::name(static_cast<isa::Round>(choices_.pick(5)))));
  if (ub && (repeats != 1 || choices_.one_in(2))) number_mod(Mod::repeat, repeats);
  result_.values_steer = result_.values_steer || what.op == Op::Vext;
  std::string text(row->mnemonic);
  for (const DType type : {what.type, what.type2})
    if (type != DType::none) text += fmt::format(".{}", isa::name(type));
  emit(FlagPlanner::kVector, accesses, text + operands + in_braces(mods));
}

std::string ProgramWriter::view_operand(const isa::InstructionInfo& row, std::size_t slot, unsigned repeats,
                                        std::vector<std::string>& mods, std::vector<Access>& accesses) {
  constexpr std::int64_t kBlock = 32;
  constexpr std::int64_t kBlocks = 8;
  const std::string_view name = isa::info(row.format).slots[slot].name;
  const bool single = slot == 0 && row.format == Format::Reduction;
  std::int64_t block = 1;
  std::int64_t between = single ? 1 : kBlocks;
  for (const auto& [mod_name, value, most] : {std::tuple{fmt::format("{}_block", name), &block, 3},
                                              {fmt::format("{}_repeat", name), &between, 9}}) {
    const auto mod = isa::mod_named(mod_name);
    if (!mod || !takes(row, *mod) || !choices_.one_in(4)) continue;
    *value = choices_.between(0, most);
    mods.push_back(fmt::format("{}={}", mod_name, given(*value)));
  }
  const std::int64_t more = std::max(0, static_cast<int>(repeats) - 1);
  const std::int64_t extent =
      single ? more * between * 4 + 4 : more * between * kBlock + (kBlocks - 1) * block * kBlock + kBlock;
  const View where = view(target_.vector_space, extent, slot == 0);
  accesses.push_back(where.reach);
  return where.text;
}

void ProgramWriter::vector_memory() {
  static const std::vector<Op> kOps{Op::Vld, Op::Vst, Op::Vld, Op::Vst, Op::Vgather};
  static const std::vector<DType> kTypes = [] {
    std::vector<DType> types;
    for (const isa::DTypeInfo& type : isa::kDTypes)
      if (type.bits >= 8) types.push_back(type.type);
    return types;
  }();
  const Op op = choices_.one_of(kOps);
  DType type = choices_.one_of(kTypes);
  if (!isa::contains(target_.vector_types, type)) type = DType::u8;
  const unsigned width = target_.operation_bits / 8;
  const std::int64_t size = isa::bits(type) / 8;
  const std::int64_t lanes = width / size;
  std::vector<std::string> mods;
  if (choices_.one_in(4))
    mods.push_back(choices_.one_in(4) ? fmt::format("n=s{}", data())
                                      : fmt::format("n={}", given(choices_.between(0, lanes))));
  std::int64_t stride = size;
  if (op == Op::Vgather) {
    const auto groups = static_cast<unsigned>(4 / size);
    if (groups > groups_) return scalar();
    const unsigned index = vector_register(groups);
    const unsigned per_group = target_.operation_bits / target_.register_bits;
    constexpr std::int64_t kReach = 255;
    for (unsigned group = 0; group < groups; ++group)
      line(fmt::format("vand.i32 v{0}, v{0}, {1}\n", index + group * per_group, kReach));
    const View where = view(target_.vector_space, kReach + size, false);
    result_.values_steer = true;
    emit(FlagPlanner::kVector, {where.reach},
         fmt::format("vgather.{} v{}, {}, v{}{}", isa::name(type), vector_register(1), where.text, index,
                     in_braces(mods)));
    return;
  }
  if (choices_.one_in(3)) {
    stride = choices_.between(-9, 9);
    mods.push_back(fmt::format("stride={}", given(stride)));
  }
  const std::int64_t reach = (lanes - 1) * stride;
  const View where = view(target_.vector_space, std::max<std::int64_t>(reach, 0) + size, op == Op::Vst,
                          std::max<std::int64_t>(-reach, 0));
  if (where.by_register && choices_.one_in(2))
    mods.push_back(fmt::format("inc={}", given(choices_.between(-64, 64))));
  const std::string reg = fmt::format("v{}", vector_register(1));
  emit(FlagPlanner::kVector, {where.reach},
       fmt::format("{}.{} {}, {}{}", isa::info(op).mnemonic, isa::name(type),
                   op == Op::Vst ? where.text : reg, op == Op::Vst ? reg : where.text, in_braces(mods)));
}

void ProgramWriter::scalar_memory() {
  static const std::vector<DType> kTypes{DType::i32, DType::i16, DType::u8,
                                         DType::i8,  DType::f16, DType::f32};
  const DType type = choices_.one_of(kTypes);
  const bool load = choices_.one_in(2);
  const unsigned ub = target_.vector_space;
  const View where = view(ub, isa::bits(type) / 8, !load);
  result_.values_steer = result_.values_steer || load;
  const std::string value =
      choices_.one_in(4) ? fmt::format("{}", choices_.between(-20, 20)) : fmt::format("s{}", data());
  emit(FlagPlanner::kScalar, {where.reach},
       load ? fmt::format("lds.{} s{}, {}\n", isa::name(type), data(), where.text)
            : fmt::format("sts.{} {}, {}\n", isa::name(type), where.text, value));
}

void ProgramWriter::gemm(bool whole) {
  const isa::MatrixLimits& limits = *target_.matrix;
  const config::MatrixConfig& unit = core_.matrix;
  const isa::MatrixShape& types = limits.types[whole ? 0 : choices_.pick(limits.types.size())];
  const auto size = [&](std::int64_t most) { return choices_.one_in(9) ? 0 : choices_.between(1, most); };
  const std::int64_t m = whole ? 16 : size(16);
  const std::int64_t n = whole ? 16 : size(16);
  const std::int64_t k = whole ? 4 : size(17);
  const auto exchanged = [&](config::OperandLayout layout) {
    return !whole && layout == config::OperandLayout::nd && choices_.one_in(3);
  };
  PlainMatrix a{types.a, unit.a_layout, exchanged(unit.a_layout), false, m, k, 0};
  PlainMatrix b{types.b, unit.b_layout, exchanged(unit.b_layout), false, k, n, 0};
  PlainMatrix c{isa::accumulator(types.a), unit.c_layout, false, true, m, n, 0};
  std::vector<std::string> mods;
  if (a.exchanged) mods.emplace_back("transpose_a=1");
  if (b.exchanged) mods.emplace_back("transpose_b=1");
  const std::array<std::uint8_t, 3> spaces{limits.a, limits.b, limits.c};
  const std::array<std::pair<PlainMatrix*, const char*>, 3> all{
      {{&a, "a_pitch"}, {&b, "b_pitch"}, {&c, "c_pitch"}}};
  std::array<View, 3> views;
  for (std::size_t i = 0; i < all.size(); ++i) {
    PlainMatrix& matrix = *all[i].first;
    if (matrix.bytes() > regions_[spaces[i]].bytes) return scalar();
    if (!whole && choices_.one_in(4)) {
      PlainMatrix wider = matrix;
      wider.pitch = matrix.dense_line() + choices_.between(0, 3) * regions_[spaces[i]].alignment * 4;
      if (wider.pitch > 0 && wider.bytes() <= regions_[spaces[i]].bytes) {
        matrix = wider;
        mods.push_back(fmt::format("{}={}", all[i].second, given(wider.pitch)));
      }
    }
    views[i] = view(spaces[i], matrix.bytes(), i == 2);
  }
  std::vector<Access> accesses{views[0].reach, views[1].reach, views[2].reach};
  if (!whole && choices_.one_in(2)) {
    mods.emplace_back("accumulate=1");
  } else if (!whole && limits.bias != isa::kGmSpace && regions_[limits.bias].written &&
             n * 4 <= regions_[limits.bias].bytes && choices_.one_in(2)) {
    mods.push_back(fmt::format("bias={}", given(0)));
    accesses.push_back({limits.bias, 0, n * 4, false});
  }
  const std::string sizes = fmt::format("{}, {}, {}", given(m), given(n), given(k));
  if (whole) regions_[limits.c].written = true;
  emit(static_cast<unsigned>(target_.engines.size() - 1), accesses,
       fmt::format("{}.{}{} {}, {}, {}, {}{}", choices_.one_in(2) ? "gemm" : "mmad", isa::name(types.a),
                   types.a == types.b ? "" : fmt::format(".{}", isa::name(types.b)), sizes, views[0].text,
                   views[1].text, views[2].text, in_braces(mods)));
}

}  // namespace npulab::test
