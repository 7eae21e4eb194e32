// SPDX-License-Identifier: Apache-2.0
// Every vector row of the instruction table x every legal type x every modifier of its UB form, run on
// tiny_ub and compared with lane_reference.hpp: the whole buffer, byte for byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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

constexpr std::size_t kRegion = 2048;  // of one operand of one variant
constexpr std::size_t kBlock = 32;
constexpr std::size_t kBlocks = 8;

struct Variant {
  std::map<Mod, std::int64_t> mods{};
  std::set<Mod> in_registers{};
  std::string b{};                        // the last source, when it is no view
  std::optional<std::uint64_t> b_bits{};  // what it is for every lane
  bool in_place = false;                  // dst is the first source
};

class UbForm {
 public:
  UbForm(const config::Machine& machine, const isa::InstructionInfo& row, DType type, DType type2,
         std::set<std::pair<Op, Mod>>& effective)
      : machine_(machine),
        row_(row),
        slots_(isa::info(row.format).slots),
        type_(type),
        type2_(type2),
        whole_(static_cast<unsigned>(kBlock * kBlocks * 8) / widest()),
        random_(static_cast<std::uint64_t>(row.code) * 999 + static_cast<std::uint64_t>(type) * 16 +
                static_cast<std::uint64_t>(type2)),
        effective_(effective) {}

  void run() {
    const std::vector<Variant> all = variants();
    image_.resize(all.size() * slots_.size() * kRegion);
    for (std::size_t v = 0; v < all.size(); ++v)
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) fill(slot, base(v, slot));
    const Bytes before = image_;
    for (std::size_t v = 0; v < all.size(); ++v) add(all[v], v);
    const std::string body = fmt::format(
        ".kernel test/cover\n.tensor image u8 [{0}] in\n.tensor result u8 [{0}] out\n"
        "copy ub[0], image[], {0}\nset_flag mte2, vector, 0\nwait_flag mte2, vector, 0\n{1}"
        "set_flag vector, mte3, 0\nwait_flag vector, mte3, 0\ncopy result[], ub[0], {0}\nend\n",
        image_.size(), text_);
    test::Run run;
    ASSERT_NO_THROW(run = test::run(machine_, body, test::one_core(), {{"image", before}})) << body;
    EXPECT_TRUE(run.report.diagnostics.empty()) << run.report.diagnostics.front().message << "\n" << body;
    const Bytes& result = run.outputs.at("result");
    for (std::size_t i = 0; i < image_.size(); ++i)
      ASSERT_EQ(result[i], image_[i]) << lines_[i / kRegion / slots_.size()] << ": byte " << i;
  }

 private:
  unsigned widest() const {
    if (type2_ == DType::none || row_.format == Format::DotTernary) return isa::bits(type_);
    return std::max(isa::bits(type_), isa::bits(type2_));
  }
  DType element(std::size_t slot) const {
    return slots_[slot].element == isa::SlotType::type2 ? type2_ : type_;
  }
  std::size_t base(std::size_t variant, std::size_t slot) const {
    return (variant * slots_.size() + slot) * kRegion;
  }
  bool reduction() const { return row_.format == Format::Reduction; }

  std::vector<Variant> variants();
  void fill(std::size_t slot, std::size_t at);
  void add(const Variant& variant, std::size_t number);
  // Where lane `lane` of an operand lies in a repeat.
  std::size_t place(const Variant& variant, std::size_t slot, std::size_t at, std::size_t repeat,
                    std::size_t lane) const;
  void apply(Bytes& image, const Variant& variant, std::size_t number) const;

  const config::Machine& machine_;
  const isa::InstructionInfo& row_;
  const std::span<const isa::Slot> slots_;
  const DType type_, type2_;
  const unsigned whole_;
  std::mt19937_64 random_;
  std::set<std::pair<Op, Mod>>& effective_;
  Bytes image_;
  std::string text_;
  std::vector<std::string> lines_;
};

std::vector<Variant> UbForm::variants() {
  Variant base;
  const bool value = row_.format == Format::Duplicate;
  if (value) {
    base.b = isa::info(type_).floating ? "1.5" : "3";
    base.b_bits = isa::info(type_).floating ? values::encode_float(type_, 1.5) : 3;
  }
  std::vector<Variant> all{base};
  const auto given = [&](std::map<Mod, std::int64_t> mods, std::set<Mod> in_registers = {}) {
    Variant v = base;
    const auto legal = isa::info(row_.format).mods;
    std::erase_if(
        mods, [&](const auto& m) { return std::find(legal.begin(), legal.end(), m.first) == legal.end(); });
    v.mods = std::move(mods);
    v.in_registers = std::move(in_registers);
    all.push_back(v);
  };
  const auto mask = static_cast<std::int64_t>(random_() & ~std::uint64_t{2});
  given({{Mod::repeat, 2}});
  given({{Mod::repeat, 0}});
  given(
      {{Mod::repeat, 3}, {Mod::dst_block, 2}, {Mod::dst_repeat, 3}, {Mod::a_repeat, 1}, {Mod::b_repeat, 2}});
  given({{Mod::repeat, 2}, {Mod::a_block, 0}, {Mod::b_block, 3}, {Mod::dst_repeat, 9}, {Mod::a_repeat, 20}});
  given({{Mod::repeat, 2}, {Mod::a_block, 2}, {Mod::b_block, 0}, {Mod::a_repeat, 0}, {Mod::b_repeat, 0}},
        {Mod::repeat, Mod::a_block, Mod::b_repeat, Mod::dst_repeat});
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{whole_} - 1, std::int64_t{5}})
    given({{Mod::n, n}, {Mod::repeat, 2}});
  for (const std::int64_t n : {std::int64_t{-7}, std::int64_t{1} << 50, std::int64_t{whole_} / 2})
    given({{Mod::n, n}}, {Mod::n});
  given({{Mod::mask, mask}});
  given({{Mod::mask, 0}, {Mod::repeat, 2}});
  given({{Mod::mask, mask}, {Mod::dst_block, 0}});  // lanes that take no part leave those of earlier blocks
  given({{Mod::n, 5}, {Mod::dst_block, 0}});
  given({{Mod::mask, mask}, {Mod::n, 33}, {Mod::repeat, 2}, {Mod::dst_repeat, 10}}, {Mod::mask});
  for (std::int64_t round = 0; round < 5; ++round) given({{Mod::round, round}});
  if (!value) {
    all.push_back(base);
    all.back().in_place = true;
  }
  if ((slots_.back().kinds & isa::kind(isa::OperandKind::sreg)) == 0) return all;
  Variant scalar;
  Bytes bits(8);
  test::fill_random(element(slots_.size() - 1), bits, 0, 1, random_);
  std::memcpy(&scalar.b_bits.emplace(), bits.data(), 8);
  scalar.b = "s1";
  all.push_back(scalar);
  scalar.mods = {{Mod::repeat, 2}, {Mod::n, 3}};
  all.push_back(scalar);
  return all;
}

void UbForm::fill(std::size_t slot, std::size_t at) {
  const DType type = element(slot) == DType::none ? DType::u8 : element(slot);
  const std::size_t count = kRegion * 8 / isa::bits(type);
  test::fill_random(type, image_, at, count, random_);
  for (std::size_t i = 0; row_.op == Op::Vperm && slot == 2 && i < count; ++i)
    test::put_lane(type, image_, at, i, random_() % (2 * whole_));
}

std::size_t UbForm::place(const Variant& variant, std::size_t slot, std::size_t at, std::size_t repeat,
                          std::size_t lane) const {
  const auto mod = [&](Mod which, std::int64_t otherwise) {
    const auto found = variant.mods.find(which);
    return static_cast<std::size_t>(found == variant.mods.end() ? otherwise : found->second);
  };
  const std::string_view name = slots_[slot].name;
  if (slot == 0 && reduction()) return at + repeat * mod(Mod::dst_repeat, 1) * (isa::bits(type_) / 8);
  const Mod block_mod = name == "dst" ? Mod::dst_block
                        : name == "a" ? Mod::a_block
                        : name == "b" ? Mod::b_block
                                      : Mod::kCount;
  const Mod repeat_mod = name == "dst" ? Mod::dst_repeat
                         : name == "a" ? Mod::a_repeat
                         : name == "b" ? Mod::b_repeat
                                       : Mod::kCount;
  const std::size_t byte = lane * isa::bits(element(slot)) / 8;
  return at + (repeat * mod(repeat_mod, kBlocks) + byte / kBlock * mod(block_mod, 1)) * kBlock +
         byte % kBlock;
}

void UbForm::apply(Bytes& image, const Variant& variant, std::size_t number) const {
  const auto found = [&](Mod mod) { return variant.mods.find(mod); };
  LaneCall call{row_.op, type_, type2_};
  call.saturate = machine_.numerics.overflow == config::Overflow::saturate;
  call.active = found(Mod::n) == variant.mods.end() ? whole_ : found(Mod::n)->second;
  if (found(Mod::mask) != variant.mods.end())
    call.mask = static_cast<std::uint64_t>(found(Mod::mask)->second);
  if (found(Mod::round) != variant.mods.end())
    call.round = static_cast<isa::Round>(found(Mod::round)->second);
  const std::int64_t repeats = found(Mod::repeat) == variant.mods.end() ? 1 : found(Mod::repeat)->second;
  for (std::size_t repeat = 0; repeat < static_cast<std::size_t>(repeats); ++repeat) {
    std::array<Lanes, 4> lanes;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      const DType type = element(slot);
      const std::size_t at = base(number, slot == 0 && variant.in_place ? 1 : slot);
      lanes[slot].resize(
          slot == 0 && reduction() ? 1 : (row_.format == Format::DotTernary && slot > 0 ? 4 : 1) * whole_);
      for (std::size_t i = 0; i < lanes[slot].size(); ++i) {
        const unsigned shift = 64 - isa::bits(type);
        if (slot + 1 == slots_.size() && variant.b_bits) {
          lanes[slot][i] = *variant.b_bits << shift >> shift;
          continue;
        }
        // A nibble's lane within its byte: get_lane counts from the byte.
        lanes[slot][i] =
            test::get_lane(type, image, place(variant, slot, at, repeat, i), type == DType::i4 ? i % 2 : 0);
      }
    }
    const Lanes result = test::computed(call, lanes[0], lanes[1], lanes[2], lanes[3]);
    const std::size_t at = base(number, variant.in_place ? 1 : 0);
    for (std::size_t i = 0; i < result.size(); ++i)
      if (reduction() || call.takes_part(i))
        test::put_lane(type_, image, place(variant, 0, at, repeat, i), type_ == DType::i4 ? i % 2 : 0,
                       result[i]);
  }
}

void UbForm::add(const Variant& variant, std::size_t number) {
  std::string line(row_.mnemonic);
  for (const DType type : {type_, type2_})
    if (type != DType::none) line += fmt::format(".{}", isa::name(type));
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const bool last = slot + 1 == slots_.size() && !variant.b.empty();
    line += slot == 0 ? " " : ", ";
    line += last ? variant.b : fmt::format("ub[{}]", base(number, slot == 0 && variant.in_place ? 1 : slot));
  }
  std::string mods;
  unsigned scalar = 2;
  if (variant.b == "s1") text_ += fmt::format("mov s1, {}\n", static_cast<std::int64_t>(*variant.b_bits));
  for (const auto& [mod, value] : variant.mods) {
    std::string given =
        mod == Mod::round ? std::string(isa::name(static_cast<isa::Round>(value))) : fmt::format("{}", value);
    if (variant.in_registers.contains(mod)) {
      text_ += fmt::format("mov s{}, {}\n", scalar, given);
      given = fmt::format("s{}", scalar++);
    }
    mods += fmt::format("{}{}={}", mods.empty() ? "" : ", ", isa::info(mod).name, given);
  }
  if (!mods.empty()) line += fmt::format(" {{{}}}", mods);
  text_ += line + "\n";
  lines_.push_back(line);

  Bytes result = image_;
  apply(result, variant, number);
  for (const auto& [mod, value] : variant.mods) {
    Variant without = variant;
    without.mods.erase(mod);
    Bytes other = image_;
    apply(other, without, number);
    if (other != result) effective_.insert({row_.op, mod});
  }
  image_ = std::move(result);
}

TEST(Coverage, IS_08_every_vector_row_in_the_buffer) {
  config::Machine machine = test::machine("tiny_ub");
  config::CoreTypeConfig& core = machine.core_types.begin()->second;
  core.vector.types.clear();
  for (const isa::DTypeInfo& type : isa::kDTypes) core.vector.types.push_back(type.type);
  core.buffers.at("ub").bytes = 1 << 18;
  std::set<std::pair<Op, Mod>> effective;
  for (const isa::InstructionInfo& row : isa::instructions()) {
    if (row.family != isa::Family::Vector || row.format == Format::Slide || row.format == Format::Extract)
      continue;
    for (const isa::DTypeInfo& type : isa::kDTypes) {
      for (std::size_t second = 0; second <= isa::kDTypes.size(); ++second) {
        const DType type2 = second == isa::kDTypes.size() ? DType::none : isa::kDTypes[second].type;
        if (!isa::legal_types(row, type.type, type2)) continue;
        UbForm(machine, row, type.type, type2, effective).run();
        if (HasFatalFailure()) return;
      }
    }
  }
  // IS-06: every modifier that a row takes changes some result.
  for (const isa::InstructionInfo& row : isa::instructions()) {
    if (row.family != isa::Family::Vector) continue;
    for (const Mod mod : isa::info(row.format).mods)
      EXPECT_TRUE(effective.contains({row.op, mod})) << row.mnemonic << " {" << isa::info(mod).name << "}";
  }
}

}  // namespace
}  // namespace npulab
