// SPDX-License-Identifier: Apache-2.0
// Every vector row of the instruction table x every legal type x every modifier of its register form, run on
// machines of several widths and compared bit for bit with lane_reference.hpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lane_reference.hpp"
#include "run_helper.hpp"

namespace npulab {
namespace {

using isa::DType;
using isa::Format;
using isa::Mod;
using isa::Op;
using test::Bytes;
using test::LaneCall;
using test::Lanes;

constexpr unsigned kWideGroups = 8;  // the widest operand: i32 beside i4
constexpr unsigned kSlots = 4;       // dst and three sources

config::Machine wide_machine(const std::string& name, unsigned register_bits, unsigned operation_bits,
                             bool saturate) {
  config::Machine m = test::machine(name);
  config::CoreTypeConfig& core = m.core_types.begin()->second;
  core.vector.register_bits = register_bits;
  core.vector.operation_bits = operation_bits;
  core.vector.registers = kWideGroups * kSlots * (operation_bits / register_bits);
  core.vector.types.clear();
  for (const isa::DTypeInfo& type : isa::kDTypes) core.vector.types.push_back(type.type);
  core.buffers.at("ub").bytes = 1 << 20;
  if (saturate) m.numerics.overflow = config::Overflow::saturate;
  return m;
}

// One way of writing an instruction: where its operands lie and what it is given beside them.
struct Variant {
  std::array<unsigned, kSlots> group{0, 8, 16, 24};        // first register group of each slot
  std::string b{};                                         // the last source, when it is no register
  std::optional<std::uint64_t> b_bits{};                   // what that is for every lane …
  std::optional<std::pair<std::size_t, unsigned>> lane{};  // … or which (slot, lane) it is
  std::string mods{};
  std::string set_up{};  // scalar registers
  std::optional<std::int64_t> n{};
  std::optional<std::uint64_t> mask{};
  isa::Round round = isa::Round::nearest_even;
  std::vector<Mod> given{};
};

class RegisterForm {
 public:
  RegisterForm(const config::Machine& machine, const isa::InstructionInfo& row, DType type, DType type2,
               std::set<std::pair<Op, Mod>>& effective)
      : machine_(machine),
        vector_(machine.core_types.begin()->second.vector),
        row_(row),
        slots_(isa::info(row.format).slots),
        type_(type),
        type2_(type2),
        lanes_(isa::lanes(row, type, type2, vector_.operation_bits)),
        random_(static_cast<std::uint64_t>(row.code) * 1000 + static_cast<std::uint64_t>(type) * 16 +
                static_cast<std::uint64_t>(type2)),
        effective_(effective) {}

  void run() {
    for (const Variant& variant : variants()) add(variant);
    const std::string body = fmt::format(
        ".kernel test/cover\n.tensor image u8 [{}] in\n.tensor result u8 [{}] out\n"
        "copy ub[0], image[], {}\nset_flag mte2, vector, 0\nwait_flag mte2, vector, 0\n{}"
        "set_flag vector, mte3, 0\nwait_flag vector, mte3, 0\ncopy result[], ub[{}], {}\nend\n",
        image_.size(), expected_.size(), image_.size(), text_, kResults, expected_.size());
    test::Run run;
    ASSERT_NO_THROW(run = test::run(machine_, body, test::one_core(), {{"image", image_}})) << body;
    EXPECT_TRUE(run.report.diagnostics.empty()) << run.report.diagnostics.front().message << "\n" << body;
    const Bytes& result = run.outputs.at("result");
    std::size_t at = 0;
    for (const auto& [what, bytes] : pieces_) {
      for (std::size_t i = 0; i < bytes; ++i)
        ASSERT_EQ(result[at + i], expected_[at + i])
            << what << " on " << machine_.name << ", byte " << i << " of dst";
      at += bytes;
    }
  }

 private:
  static constexpr unsigned kResults = 1 << 19;

  DType element(std::size_t slot) const {
    return slots_[slot].element == isa::SlotType::type2 ? type2_ : type_;
  }
  unsigned bytes_of(std::size_t slot) const {
    return isa::slot_bytes(row_, slot, type_, type2_, vector_.operation_bits);
  }
  unsigned group_bytes() const { return vector_.operation_bits / 8; }
  unsigned first_register(unsigned group) const {
    return group * (vector_.operation_bits / vector_.register_bits);
  }
  bool last_may_be_scalar() const { return (slots_.back().kinds & isa::kind(isa::OperandKind::sreg)) != 0; }
  bool takes(Mod mod) const {
    const auto mods = isa::info(row_.format).mods;
    return std::find(mods.begin(), mods.end(), mod) != mods.end();
  }

  std::vector<Variant> variants();
  void add_broadcasts(std::vector<Variant>& all);
  void add(const Variant& variant);
  void load(std::size_t slot, unsigned group);
  Lanes read(std::size_t slot, unsigned group) const;
  Lanes last_source(const Variant& variant, std::size_t slot, std::size_t lanes) const;
  Lanes results(const Variant& variant, std::optional<Mod> without) const;

  const config::Machine& machine_;
  const config::VectorConfig& vector_;
  const isa::InstructionInfo& row_;
  const std::span<const isa::Slot> slots_;
  const DType type_, type2_;
  const unsigned lanes_;
  std::mt19937_64 random_;
  std::set<std::pair<Op, Mod>>& effective_;
  Bytes registers_ = Bytes(std::size_t{kWideGroups} * kSlots * group_bytes());
  Bytes image_, expected_;
  std::vector<std::pair<std::string, std::size_t>> pieces_;
  std::string text_;
};

void RegisterForm::add_broadcasts(std::vector<Variant>& all) {
  const std::size_t last = slots_.size() - 1;
  const DType type = element(last);
  if (!last_may_be_scalar()) return;
  const unsigned lane_count = bytes_of(last) * 8 / isa::bits(type);
  for (const unsigned lane : {0U, lane_count - 1}) {
    Variant v;
    v.b = fmt::format("v{}[{}]", first_register(v.group[last]), lane);
    v.lane = {last, lane};
    if (row_.format == Format::Duplicate) v.lane = {last, lane};
    all.push_back(v);
  }
  Variant scalar;
  Bytes bits(8);
  test::fill_random(type, bits, 0, 1, random_);
  std::memcpy(&scalar.b_bits.emplace(), bits.data(), 8);
  scalar.set_up =
      fmt::format("mov s1, {}\n", static_cast<std::int64_t>(*scalar.b_bits | 0xabcd'0000'0000'0000U));
  scalar.b = "s1";
  all.push_back(scalar);
  if (takes(Mod::mask)) {
    scalar.mods = "mask=0x6ffffffffffffff6";
    scalar.mask = 0x6ffffffffffffff6U;
    scalar.given = {Mod::mask};
    all.push_back(scalar);
  }
  Variant constant;
  const bool floating = isa::info(type).floating;
  constant.b = floating ? "1.5" : "3";
  constant.b_bits = floating ? values::encode_float(type, 1.5) : 3;
  all.push_back(constant);
}

std::vector<Variant> RegisterForm::variants() {
  std::vector<Variant> all;
  const bool plain_last = row_.format != Format::Duplicate;
  if (plain_last) all.emplace_back();
  add_broadcasts(all);
  const Variant base = all.front();
  if (plain_last) {  // dst over a source, or part of one over the other
    for (std::size_t slot = 1; slot < slots_.size(); ++slot) {
      if ((slots_[slot].kinds & isa::kind(isa::OperandKind::vreg)) == 0) continue;
      const unsigned wide = std::max(bytes_of(0), bytes_of(slot)) / group_bytes();
      for (unsigned part = 0; part < wide; ++part) {
        Variant v;
        const std::size_t narrow = bytes_of(slot) < bytes_of(0) ? slot : 0;
        v.group[slot] = v.group[0];
        v.group[narrow] += part;
        all.push_back(v);
      }
    }
  }
  const auto with = [&](std::string mods, std::string set_up, std::optional<std::int64_t> n,
                        std::optional<std::uint64_t> mask, std::vector<Mod> given) {
    Variant v = base;
    v.mods = std::move(mods);
    v.set_up += set_up;
    v.n = n;
    v.mask = mask;
    v.given = std::move(given);
    all.push_back(v);
  };
  if (takes(Mod::n)) {
    for (const std::int64_t n :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{lanes_ - 1}, std::int64_t{lanes_}})
      with(fmt::format("n={}", n), "", n, {}, {Mod::n});
    for (const std::int64_t n : {std::int64_t{-5}, std::int64_t{lanes_ / 2}, std::int64_t{1} << 40})
      with("n=s2", fmt::format("mov s2, {}\n", n), n, {}, {Mod::n});
  }
  if (takes(Mod::mask)) {
    for (const std::uint64_t mask :
         {std::uint64_t{0}, std::uint64_t{1}, random_() | 2U, random_() & ~std::uint64_t{1}})
      with(fmt::format("mask={}", static_cast<std::int64_t>(mask)), "", {}, mask, {Mod::mask});
    const std::uint64_t mask = random_();
    with("mask=s3", fmt::format("mov s3, {}\n", static_cast<std::int64_t>(mask)), {}, mask, {Mod::mask});
    with(fmt::format("n={}, mask=0x5555555555555556", lanes_ - 1), "", lanes_ - 1, 0x5555555555555556U,
         {Mod::n, Mod::mask});
  }
  if (takes(Mod::round)) {
    for (unsigned r = 0; r < 5; ++r) {
      with(fmt::format("round={}", isa::name(static_cast<isa::Round>(r))), "", {}, {}, {Mod::round});
      all.back().round = static_cast<isa::Round>(r);
    }
  }
  return all;
}

// New random elements for a slot, in the image and, by vld of raw bytes, in its registers.
void RegisterForm::load(std::size_t slot, unsigned group) {
  const std::size_t at = image_.size();
  image_.resize(at + bytes_of(slot));
  const std::size_t count = bytes_of(slot) * 8 / isa::bits(element(slot));
  if (row_.op == Op::Vperm && slot == 2) {
    for (std::size_t i = 0; i < count; ++i)
      test::put_lane(element(slot), image_, at, i, random_() % (2 * lanes_));
  } else {
    test::fill_random(element(slot), image_, at, count, random_);
  }
  for (unsigned i = 0; i < bytes_of(slot) / group_bytes(); ++i)
    text_ += fmt::format("vld.u8 v{}, ub[{}]\n", first_register(group + i), at + i * group_bytes());
  std::copy(image_.begin() + static_cast<std::ptrdiff_t>(at), image_.end(),
            registers_.begin() + static_cast<std::ptrdiff_t>(std::size_t{group} * group_bytes()));
}

Lanes RegisterForm::read(std::size_t slot, unsigned group) const {
  Lanes lanes(bytes_of(slot) * 8 / isa::bits(element(slot)));
  for (std::size_t i = 0; i < lanes.size(); ++i)
    lanes[i] = test::get_lane(element(slot), registers_, std::size_t{group} * group_bytes(), i);
  return lanes;
}

Lanes RegisterForm::last_source(const Variant& variant, std::size_t slot, std::size_t lanes) const {
  const unsigned shift = 64 - isa::bits(element(slot));
  if (variant.b_bits) return Lanes(lanes, *variant.b_bits << shift >> shift);
  const Lanes all = read(slot, variant.group[slot]);
  return variant.lane ? Lanes(lanes, all[variant.lane->second]) : all;
}

// `without`: as if that modifier had not been given.
Lanes RegisterForm::results(const Variant& variant, std::optional<Mod> without) const {
  LaneCall call{row_.op, type_, type2_};
  call.saturate = machine_.numerics.overflow == config::Overflow::saturate;
  call.active = variant.n && without != Mod::n ? *variant.n : std::int64_t{lanes_};
  if (without != Mod::mask) call.mask = variant.mask;
  if (without != Mod::round) call.round = variant.round;
  std::array<Lanes, kSlots> lanes;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    lanes[slot] = slot + 1 == slots_.size() ? last_source(variant, slot, slot == 0 ? 0 : lanes_)
                                            : read(slot, variant.group[slot]);
  return test::computed(call, read(0, variant.group[0]), lanes[1], lanes[2], lanes[3]);
}

void RegisterForm::add(const Variant& variant) {
  text_ += variant.set_up;
  for (std::size_t slot = slots_.size(); slot-- > 0;)
    if (slots_[slot].element != isa::SlotType::none &&
        (slot == 0 || !variant.b_bits || slot + 1 < slots_.size()))
      load(slot, variant.group[slot]);
  std::string line(row_.mnemonic);
  for (const DType type : {type_, type2_})
    if (type != DType::none) line += fmt::format(".{}", isa::name(type));
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const bool last = slot + 1 == slots_.size() && !variant.b.empty();
    line += fmt::format("{} {}", slot == 0 ? "" : ",",
                        last ? variant.b : fmt::format("v{}", first_register(variant.group[slot])));
  }
  if (!variant.mods.empty()) line += fmt::format(" {{{}}}", variant.mods);
  text_ += line + "\n";

  const Lanes lanes = results(variant, {});
  for (const Mod mod : variant.given)
    if (lanes != results(variant, mod)) effective_.insert({row_.op, mod});
  const std::size_t at = std::size_t{variant.group[0]} * group_bytes();
  for (std::size_t i = 0; i < lanes.size(); ++i) test::put_lane(type_, registers_, at, i, lanes[i]);
  const std::size_t bytes = bytes_of(0);
  for (unsigned i = 0; i < bytes / group_bytes(); ++i)
    text_ += fmt::format("vst.u8 ub[{}], v{}\n", kResults + expected_.size() + i * group_bytes(),
                         first_register(variant.group[0] + i));
  expected_.insert(expected_.end(), registers_.begin() + static_cast<std::ptrdiff_t>(at),
                   registers_.begin() + static_cast<std::ptrdiff_t>(at + bytes));
  pieces_.emplace_back(variant.set_up + line, bytes);
}

std::set<std::pair<Op, Mod>> cover(const config::Machine& machine) {
  std::set<std::pair<Op, Mod>> effective;
  for (const isa::InstructionInfo& row : isa::instructions()) {
    if (row.family != isa::Family::Vector || row.format == Format::Slide || row.format == Format::Extract)
      continue;
    for (const isa::DTypeInfo& type : isa::kDTypes) {
      for (std::size_t second = 0; second <= isa::kDTypes.size(); ++second) {
        const DType type2 = second == isa::kDTypes.size() ? DType::none : isa::kDTypes[second].type;
        if (!isa::legal_types(row, type.type, type2)) continue;
        RegisterForm(machine, row, type.type, type2, effective).run();
        if (testing::Test::HasFatalFailure()) return effective;
      }
    }
  }
  return effective;
}

TEST(Coverage, IS_08_every_vector_row_in_registers) {
  // 64-bit registers, one an operation; and every modifier changes some result of every row that has it
  // (IS-06).
  const std::set<std::pair<Op, Mod>> effective = cover(wide_machine("tiny", 64, 64, false));
  for (const isa::InstructionInfo& row : isa::instructions()) {
    if (row.family != isa::Family::Vector) continue;
    for (const Mod mod : isa::info(row.format).mods) {
      if (mod != Mod::n && mod != Mod::mask && mod != Mod::round) continue;
      EXPECT_TRUE(effective.contains({row.op, mod})) << row.mnemonic << " {" << isa::info(mod).name << "}";
    }
  }
}

TEST(Coverage, IS_08_every_vector_row_in_pairs_of_registers) {
  cover(wide_machine("tiny", 128, 256, true));
}

TEST(Coverage, IS_08_every_vector_row_at_an_odd_width) {
  cover(wide_machine("edge", 160, 160, false));
}

}  // namespace
}  // namespace npulab
