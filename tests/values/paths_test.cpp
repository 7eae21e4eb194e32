// SPDX-License-Identifier: Apache-2.0
// Every vector row with every legal type: each path gives the same bits, in place and broadcast included, and
// writes nothing beyond its lanes.
#include <gtest/gtest.h>

#include <algorithm>

#include "calls.hpp"
#include "isa/error.hpp"

namespace npulab::values::testing {
namespace {

constexpr std::size_t kGuard = 64;

struct Operands {
  Bytes dst, a, b, c;
  std::size_t dst_bytes;
};

Operands draw(const isa::InstructionInfo& row, DType type, DType type2, std::size_t lanes,
              std::mt19937_64& random) {
  const DType narrow = type2 == DType::none ? type : type2;
  const std::size_t factor = row.format == isa::Format::DotTernary ? 4 : 1;
  Operands o;
  o.dst_bytes = row.format == isa::Format::Reduction ? bytes_of(type, 1) : bytes_of(type, lanes);
  if (row.format == isa::Format::Extract) o.dst_bytes = 8;
  o.dst = random_elements(type, lanes, random);
  o.dst.resize(o.dst_bytes);
  o.dst.resize(o.dst_bytes + kGuard, std::byte{0x5a});
  o.a = random_elements(narrow, lanes * factor, random);
  o.b = random_elements(narrow, lanes * factor, random);
  o.c = random_elements(narrow, lanes, random);
  if (row.format == isa::Format::Slide)
    o.b = bytes_from<std::int64_t>({static_cast<std::int64_t>(random() % 9) - 4});
  if (row.op == Op::Vperm)
    for (std::byte& byte : o.b)
      if (random() % 2 != 0) byte = std::byte{0};
  return o;
}

bool has_scalar_form(isa::Format format) {
  return format == isa::Format::Binary || format == isa::Format::Ternary ||
         format == isa::Format::WideTernary || format == isa::Format::Select;
}

// The last source replaced by its first element in every lane.
void repeat_last_source(const isa::InstructionInfo& row, DType element, std::size_t lanes, Operands& o) {
  Bytes& last = row.format == isa::Format::Select ? o.c : o.b;
  const std::size_t size = isa::bits(element) / 8;
  for (std::size_t i = size; i < lanes * size; ++i) last[i] = last[i - size];
}

// Of one width and without i4, where an odd lane's neighbour would differ.
bool may_run_in_place(const isa::InstructionInfo& row, DType type) {
  return type != DType::i4 && row.op != Op::Vperm &&
         (row.format == isa::Format::Unary || row.format == isa::Format::Binary);
}

void check(const isa::InstructionInfo& row, DType type, DType type2, std::size_t lanes, bool saturate,
           std::mt19937_64& random) {
  Call call{row.op, type, type2, {Round::nearest_even, saturate, false}};
  Operands o = draw(row, type, type2, lanes, random);
  const Bytes expected = run(SimdPath::baseline, call, lanes, o.dst, o.a, o.b, o.c);
  for (std::size_t i = 0; i < kGuard; ++i)
    ASSERT_EQ(expected[o.dst_bytes + i], std::byte{0x5a})
        << label(SimdPath::baseline, call) << " wrote beyond";
  for (const SimdPath path : paths()) {
    ASSERT_EQ(run(path, call, lanes, o.dst, o.a, o.b, o.c), expected)
        << label(path, call) << " lanes " << lanes;
    if (!may_run_in_place(row, type)) continue;
    Bytes same = o.a;
    const LaneFunction function = lane_function_on(path, row.op, type, type2, call.modes);
    function(same.data(), same.data(), o.b.data(), o.c.data(), lanes);
    ASSERT_TRUE(std::equal(same.begin(), same.end(), expected.begin())) << label(path, call) << " in place";
  }
  if (!has_scalar_form(row.format)) return;
  repeat_last_source(row, type2 == DType::none ? type : type2, lanes, o);
  const Bytes repeated = run(SimdPath::baseline, call, lanes, o.dst, o.a, o.b, o.c);
  call.modes.broadcast = true;
  for (const SimdPath path : paths())
    ASSERT_EQ(run(path, call, lanes, o.dst, o.a, o.b, o.c), repeated)
        << label(path, call) << " lanes " << lanes;
}

TEST(Paths, every_row_and_type_gives_the_same_bits) {
  std::mt19937_64 random(1);
  std::size_t combinations = 0;
  std::vector<DType> types2{DType::none};
  for (const isa::DTypeInfo& info : isa::kDTypes) types2.push_back(info.type);
  for (const isa::InstructionInfo& row : isa::instructions()) {
    if (row.family != isa::Family::Vector) continue;
    for (const isa::DTypeInfo& type : isa::kDTypes)
      for (const DType type2 : types2) {
        if (!isa::legal_types(row, type.type, type2)) continue;
        ++combinations;
        for (const std::size_t lanes : {1U, 3U, 7U, 8U, 16U, 31U, 67U, 500U})
          for (const bool saturate : {false, true})
            ASSERT_NO_FATAL_FAILURE(check(row, type.type, type2, lanes, saturate, random));
      }
  }
  EXPECT_GT(combinations, 250U);
}

// Rows at odd distances, each as a call of its own leaves it.
void check_rows(const Call& call, std::size_t lanes, std::mt19937_64& random) {
  const isa::InstructionInfo& row = isa::info(call.op);
  constexpr std::size_t kRows = 5;
  const Operands one = draw(row, call.type, call.type2, lanes, random);
  const auto rows_of = [&](const Bytes& sample) {
    Bytes bytes(kRows * (sample.size() + 3));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
  };
  const Bytes before = rows_of(one.dst), a = rows_of(one.a), b = rows_of(one.b);
  const auto step = [](const Bytes& bytes) { return static_cast<std::ptrdiff_t>(bytes.size() / kRows); };
  for (const SimdPath path : paths()) {
    const RowsFunction rows = rows_function_on(path, call.op, call.type, call.type2, call.modes);
    ASSERT_NE(rows, nullptr) << label(path, call);
    const LaneFunction function = lane_function_on(path, call.op, call.type, call.type2, call.modes);
    Bytes expected = before, dst = before;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(kRows); ++i)
      function(expected.data() + i * step(before), a.data() + i * step(a), b.data(), nullptr, lanes);
    rows(dst.data(), a.data(), b.data(), nullptr, lanes, {kRows, step(before), step(a), 0, 0});
    ASSERT_EQ(dst, expected) << label(path, call) << " lanes " << lanes;
  }
}

TEST(Paths, rows_are_calls_one_after_the_other) {
  std::mt19937_64 random(2);
  for (const Call& call : {Call{Op::Vfmaw, DType::f32, DType::f16}, Call{Op::Vfmaw, DType::f32, DType::bf16},
                           Call{Op::Vfma, DType::f16}, Call{Op::Vfms, DType::f32}, Call{Op::Vfma, DType::i8},
                           Call{Op::Vdot, DType::i32, DType::i8}})
    for (const std::size_t lanes : {1U, 8U, 16U, 19U, 32U})
      ASSERT_NO_FATAL_FAILURE(check_rows(call, lanes, random));
}

TEST(Paths, no_lanes_is_no_work) {
  for (const SimdPath path : paths())
    for (const Op op : {Op::Vadd, Op::Vmov, Op::Vdup, Op::Vfma}) {
      const Bytes dst(8, std::byte{0x5a}), a(8);
      EXPECT_EQ(run(path, {op, DType::f16}, 0, dst, a, a, a), dst);
    }
}

TEST(Paths, choice_by_name) {
  EXPECT_EQ(choose_simd_path("baseline"), SimdPath::baseline);
  EXPECT_EQ(choose_simd_path("") == SimdPath::avx2, supported(SimdPath::avx2));
  EXPECT_FALSE(simd_path().empty());
  const auto code = [](std::string_view requested) -> std::string {
    try {
      choose_simd_path(requested);
    } catch (const Error& error) {
      return error.category() == Category::input ? error.code() : "wrong category";
    }
    return "accepted";
  };
  EXPECT_EQ(code("avx3"), "unknown-simd-path");
  EXPECT_EQ(code("avx2"), supported(SimdPath::avx2) ? "accepted" : "simd-path-unsupported");
}

}  // namespace
}  // namespace npulab::values::testing
