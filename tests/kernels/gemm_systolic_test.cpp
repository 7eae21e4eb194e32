// SPDX-License-Identifier: Apache-2.0
// Products on systolic arrays: every size, cores, padding, streaming, zero-skip, packed operands, efficiency.
#include <cmath>
#include <limits>

#include "sim/values/convert.hpp"
#include "sim/values/matrix_sparse.hpp"
#include "tests/kernels/tensors.hpp"

namespace npulab::kernels::test {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

isa::ParamValues sizes(const Shape& shape, isa::ParamValues more = {}) {
  more["M"] = shape.m;
  more["N"] = shape.n;
  more["K"] = shape.k;
  return more;
}

Outcome run_on(const std::string& machine_name, const std::string& kernel, const Shape& shape,
               isa::ParamValues more = {}, std::uint32_t cores = 99) {
  return run_all({.kernel = "gemm/" + kernel,
                  .machine = machine_name,
                  .params = sizes(shape, std::move(more)),
                  .cores = cores,
                  .padding = std::nullopt},
                 true);
}

TEST(GemmSystolic, SH_03_SH_09_every_small_size_on_every_array) {
  for (const char* on : {"tiny", "edge"})
    for (const char* kernel : {"systolic", "systolic_f16", "systolic_f32", "systolic_i8"})
      for (const Shape& shape :
           {Shape{1, 1, 1}, Shape{1, 16, 1}, Shape{5, 9, 3}, Shape{17, 4, 133}, Shape{4, 29, 40}})
        for (const std::int64_t trans_b : {0, 1}) run_on(on, kernel, shape, {{"trans_b", trans_b}});
  for (const char* kernel : {"systolic", "systolic_i8"})
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{64, 64, 32}, Shape{65, 70, 33}, Shape{129, 63, 100}})
      run_on("xdna_64x64", kernel, shape);
}

TEST(GemmSystolic, SH_08_dimensions_of_nothing) {
  for (const char* on : {"tiny", "edge", "xdna_64x64"})
    for (const Shape& shape : {Shape{0, 5, 7}, Shape{5, 0, 7}, Shape{5, 7, 0}, Shape{0, 0, 7}, Shape{0, 5, 0},
                               Shape{5, 0, 0}, Shape{0, 0, 0}})
      run_on(on, "systolic", shape);
}

TEST(GemmSystolic, SH_01_k_around_the_pieces_of_the_array) {
  for (std::int64_t k = 1; k <= 260; k += k % 32 >= 30 || k % 32 <= 1 ? 1 : 7)
    run_on("tiny", "systolic", {5, 6, k});
}

TEST(GemmSystolic, SY_18_arrays_of_any_size_end) {
  const config::Machine& plain = machine("tiny");
  for (const auto& [rows, columns] : {std::pair{1U, 1U}, std::pair{3U, 5U}, std::pair{2U, 16U}}) {
    config::Machine other = plain;
    auto& matrix = other.core_types.begin()->second.matrix;
    matrix.rows = rows;
    matrix.columns = columns;
    const isa::Kernel kernel =
        assemble_kernel("gemm/systolic_f32", folders(), other, {{"M", 7}, {"N", 18}, {"K", 20}});
    Simulation simulation(other, kernel, {});
    Bytes a(7 * 20 * 4), b(20 * 18 * 4);
    values::fill(isa::DType::f32, a.data(), 140, "random:1");
    values::fill(isa::DType::f32, b.data(), 360, "random:2");
    simulation.set_input("A", a);
    simulation.set_input("B", b);
    EXPECT_TRUE(simulation.run().diagnostics.empty());
    const Bytes c = simulation.output("C");
    EXPECT_TRUE(check(kernel.header, other, {{"A", a}, {"B", b}}, {{"C", {c, 0}}}).passed);
  }
}

TEST(GemmSystolic, same_bits_on_any_number_of_cores_and_however_k_is_cut) {
  const Shape shape{37, 23, 90};
  const Bytes expected = run_on("tiny", "systolic_f32", shape, {}, 1)["C"];
  EXPECT_EQ(run_on("tiny", "systolic_f32", shape, {}, 2)["C"], expected);
  EXPECT_EQ(run_on("tiny", "systolic_f32", shape, {{"tile_k", 4}})["C"], expected);
  EXPECT_EQ(run_on("tiny", "systolic_f32", shape, {{"streamed", 1}})["C"], expected);
  for (const std::uint32_t cores : {1U, 2U, 3U})
    EXPECT_EQ(run_on("edge", "systolic_f32", shape, {}, cores)["C"], expected) << cores;
}

TEST(GemmSystolic, NU_03_bf16_keeps_sums_in_f32_in_each_dataflow) {
  const Shape shape{9, 11, 300};
  const Bytes expected = run_on("tiny", "systolic", shape)["C"];
  EXPECT_EQ(run_on("edge", "systolic", shape)["C"], expected);
  EXPECT_EQ(run_on("xdna_64x64", "systolic", shape)["C"], expected);
}

TEST(GemmSystolic, SH_04_DM_03_what_lies_between_rows_takes_no_part) {
  for (const char* on : {"tiny", "edge", "xdna_64x64"}) {
    Launch launch{.kernel = "gemm/systolic",
                  .machine = on,
                  .params = sizes({10, 13, 70}, {{"lda", 75}, {"ldb", 19}, {"ldc", 16}}),
                  .cores = 99,
                  .padding = std::byte{0xff}};  // NaN
    const Outcome nan = run_all(launch, true);
    launch.padding = std::byte{0xc2};
    EXPECT_EQ(nan["C"], run_all(launch)["C"]) << on;
  }
}

TEST(GemmSystolic, panels_that_do_not_fit_l1_go_by_in_chunks) {
  for (const Shape& shape : {Shape{5, 6, 3000}, Shape{23, 5, 500}, Shape{9, 40, 200}})
    for (const std::int64_t trans_b : {0, 1}) run_on("tiny", "systolic", shape, {{"trans_b", trans_b}});
}

TEST(GemmSystolic, NU_11_integers_are_exact) {
  Launch launch{
      .kernel = "gemm/systolic_i8", .machine = "xdna_64x64", .params = sizes({3, 5, 1000}), .padding = {}};
  launch.data = {{"A", "const:-128"}, {"B", "const:-128"}};
  const Outcome result = run_all(launch);
  std::int32_t sum = 0;
  std::memcpy(&sum, result["C"].data(), sizeof sum);
  EXPECT_EQ(sum, 16384 * 1000);
}

TEST(GemmSystolic, a_machine_without_an_array_is_refused) {
  EXPECT_NE(
      refused({.kernel = "gemm/systolic_f16", .machine = "ascend910_opsblas", .params = {}, .padding = {}})
          .find("no systolic array"),
      std::string::npos);
}

std::uint64_t cycles_of(const Shape& shape, const config::Machine& on) {
  SimulationOptions options;
  options.timing_only = true;
  const isa::Kernel kernel = assemble_kernel("gemm/systolic", folders(), on, sizes(shape));
  return Simulation(on, kernel, options).run().cycles;
}
std::uint64_t cycles_of(const Shape& shape) {
  return cycles_of(shape, machine("xdna_64x64"));
}

// Steps of an array of 64 x 64 over all of the time.
double use(const Shape& shape, std::uint64_t cycles) {
  return static_cast<double>(shape.m * shape.n * shape.k) / 4096.0 / static_cast<double>(cycles);
}

TEST(GemmSystolic, products_of_a_tile_stream_and_tiles_follow_one_another) {
  // One more panel of 64 rows is 12 tiles of 768 steps each; a tile alone would expose fill and drain as
  // well.
  const std::uint64_t more = cycles_of({1088, 768, 768}) - cycles_of({1024, 768, 768});
  EXPECT_LE(more, 12U * 832U);  // the article's machine moves 832 lines for each tile
  EXPECT_GE(more, 12U * 768U);
  const Shape model{50304, 256, 768};
  EXPECT_GT(use(model, cycles_of(model)), 0.92);
}

// Rows that are no multiple of 64 cost a panel more, whatever is in it.
TEST(GemmSystolic, rows_beyond_a_multiple_of_the_array_cost_a_whole_panel) {
  const std::uint64_t whole = cycles_of({256, 768, 768});
  const std::uint64_t next = cycles_of({320, 768, 768});
  for (const std::int64_t rows : {257, 300, 319}) {
    const std::uint64_t cycles = cycles_of({rows, 768, 768});
    EXPECT_GT(cycles, whole) << rows;
    EXPECT_LE(cycles, next + next / 50) << rows;
  }
}

TEST(GemmSystolic, zeros_are_skipped_by_slices) {
  config::Machine skips = machine("xdna_64x64");
  skips.core_types.begin()->second.matrix.zero_skip = config::ZeroSkip::slices;
  const Shape shape{64, 256, 512};
  Bytes a(64 * 512 * 2), b(512 * 256 * 2);
  values::fill(isa::DType::bf16, a.data(), 64 * 512, "random:1");
  values::fill(isa::DType::bf16, b.data(), 512 * 256, "random:2");
  for (std::size_t row = 0; row < 64; ++row)  // three of four columns of A
    for (std::size_t k = 0; k < 512; ++k)
      if (k % 4 != 0) std::memset(a.data() + (row * 512 + k) * 2, 0, 2);
  const auto run_with = [&](const config::Machine& on, Bytes& c) {
    const isa::Kernel kernel = assemble_kernel("gemm/systolic", folders(), on, sizes(shape));
    Simulation simulation(on, kernel, {});
    simulation.set_input("A", a);
    simulation.set_input("B", b);
    const report::Report report = simulation.run();
    c = simulation.output("C");
    return report;
  };
  Bytes dense, skipped;
  const report::Report all = run_with(machine("xdna_64x64"), dense), fewer = run_with(skips, skipped);
  EXPECT_EQ(dense, skipped);
  const auto busy = [](const report::Report& report) {
    for (const report::Engine& engine : report.engines)
      if (engine.name == "matrix") return engine.busy_cycles;
    return std::uint64_t{0};
  };
  EXPECT_EQ(busy(all), 4U * 512U);
  EXPECT_EQ(busy(fewer), 4U * 128U);
}

struct PackedCase {
  Bytes dense, values, places;
};

// Two of every four, in group-wise slots (width of them) or as two of four.
PackedCase packed_operand(std::uint64_t rows, std::uint64_t columns, std::uint64_t group,
                          std::uint64_t width) {
  PackedCase result;
  const std::uint64_t padded = (columns + group - 1) / group * group;
  result.dense.resize(rows * columns * 2);
  values::fill(isa::DType::bf16, result.dense.data(), rows * columns, "random:5");
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t k = 0; k < columns; ++k)
      if ((k + i) % 4 >= 2) std::memset(result.dense.data() + (i * columns + k) * 2, 0, 2);
  if (width == 0) {
    auto packed = values::pack_2_4({result.dense.data(), {isa::DType::bf16, false, rows, columns, {}}});
    result.values = std::move(packed.values);
    result.places = std::move(packed.places);
    return result;
  }
  Bytes whole(rows * padded * 2);
  for (std::uint64_t i = 0; i < rows; ++i)
    std::copy_n(result.dense.data() + i * columns * 2, columns * 2, whole.data() + i * padded * 2);
  auto packed = values::pack_sparse(
      {whole.data(), {isa::DType::bf16, false, rows * padded / group, group, {}}}, isa::DType::i32, width);
  result.values = std::move(packed.values);
  result.places = std::move(packed.indices);
  return result;
}

TEST(GemmSystolic, packed_operands_give_the_bits_of_the_dense_product) {
  struct Case {
    const char* on;
    Shape shape;
    std::int64_t group;
  };
  for (const Case& one : {Case{"xdna_64x64", {64, 64, 64}, 32}, Case{"xdna_64x64", {70, 65, 100}, 32},
                          Case{"xdna_64x64", {3, 130, 31}, 16}, Case{"tiny", {9, 7, 50}, 16},
                          Case{"xdna_64x64", {70, 65, 96}, 32}, Case{"tiny", {9, 7, 48}, 16}})
    for (const std::int64_t structured : {0, 1})
      for (const std::int64_t trans_b : {0, 1}) {
        const auto [m, n, k] = one.shape;
        if (structured != 0 && k % one.group != 0) continue;  // refused
        const std::int64_t width = structured ? 0 : one.group / 2;
        if (width * 6 * 64 > 4096 && std::string(one.on) == "xdna_64x64" && one.group == 32) continue;
        const PackedCase a =
            packed_operand(static_cast<std::uint64_t>(m), static_cast<std::uint64_t>(k),
                           static_cast<std::uint64_t>(one.group), static_cast<std::uint64_t>(width));
        Launch launch{
            .kernel = "gemm/systolic_sparse",
            .machine = one.on,
            .params =
                sizes(one.shape, {{"structured", structured}, {"group", one.group}, {"trans_b", trans_b}}),
            .cores = 99,
            .padding = {}};
        if (!structured) launch.params["width"] = width;
        launch.inputs = {{"values", a.values}, {"places", a.places}};
        launch.data = {{"B", "random:9"}};
        const Outcome sparse = run_all(launch, structured == 1);
        Launch dense{.kernel = "gemm/systolic",
                     .machine = one.on,
                     .params = sizes(one.shape, {{"trans_b", trans_b}}),
                     .cores = 99,
                     .padding = {}};
        dense.inputs = {{"A", a.dense}};
        dense.data = launch.data;
        EXPECT_EQ(sparse["C"], run_all(dense)["C"]);
      }
}

// 64 of the 50304 rows of the largest product of a GPT-2 step: rows do not depend on one another.
TEST(GemmSystolic, mean_error_of_bf16_operands_is_that_of_their_rounding) {
  const Shape shape{64, 256, 768};
  std::vector<float> a(64 * 768), b(768 * 256);
  values::fill(isa::DType::f32, reinterpret_cast<std::byte*>(a.data()), a.size(), "random:1");
  values::fill(isa::DType::f32, reinterpret_cast<std::byte*>(b.data()), b.size(), "random:2");
  const auto rounded = [](const std::vector<float>& from) {
    Bytes to(from.size() * 2);
    for (std::size_t i = 0; i < from.size(); ++i)
      values::from_double(isa::DType::bf16, static_cast<double>(from[i]), to.data() + 2 * i,
                          isa::Round::nearest_even, false);
    return to;
  };
  Launch launch{.kernel = "gemm/systolic", .machine = "xdna_64x64", .params = sizes(shape), .padding = {}};
  launch.inputs = {{"A", rounded(a)}, {"B", rounded(b)}};
  const Outcome result = run_all(launch);
  std::vector<float> c(64 * 256);
  std::memcpy(c.data(), result["C"].data(), result["C"].size());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 256; ++j) {
      double exact = 0;
      for (std::size_t k = 0; k < 768; ++k)
        exact += static_cast<double>(a[i * 768 + k]) * static_cast<double>(b[k * 256 + j]);
      error += std::fabs(static_cast<double>(c[i * 256 + j]) - exact);
      size += std::fabs(exact);
    }
  EXPECT_LT(error / size, 0x1p-8);
  EXPECT_GT(error / size, 0x1p-12);
}

}  // namespace
}  // namespace npulab::kernels::test
