// SPDX-License-Identifier: Apache-2.0
// Cycles of matrix units against arrays that are simulated register by register, and against closed formulas.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/cost/matrix.hpp"
#include "systolic_array.hpp"

namespace npulab {
namespace {

using config::Dataflow;
using cost::MatrixTimer;
using cost::MatrixTimes;
using cost::MatrixWork;
using tests::ArrayProduct;
using tests::Matrix;

config::MatrixConfig array(unsigned rows, unsigned columns, unsigned latency, Dataflow dataflow) {
  config::MatrixConfig config;
  config.kind = isa::MatrixKind::systolic;
  config.rows = rows;
  config.columns = columns;
  config.latency_cycles = latency;
  config.dataflow = dataflow;
  return config;
}

const config::MatrixTypeConfig kOneStep{};

MatrixWork work(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  MatrixWork result;
  result.m = m;
  result.n = n;
  result.k = k;
  result.step = &kOneStep;
  result.a_row_bits = k * 16;
  result.b_column_bits = k * 16;
  return result;
}

// Position-coded, so that no two elements are alike.
Matrix coded(std::size_t rows, std::size_t columns, std::int64_t seed) {
  Matrix matrix(rows, std::vector<std::int64_t>(columns));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      matrix[i][j] = seed + static_cast<std::int64_t>(i) * 31 - static_cast<std::int64_t>(j) * 7;
  return matrix;
}

Matrix product_of(const ArrayProduct& product) {
  Matrix c = product.accumulate
                 ? product.before
                 : Matrix(product.a.size(), std::vector<std::int64_t>(product.b.front().size()));
  for (std::size_t i = 0; i < product.a.size(); ++i)
    for (std::size_t j = 0; j < product.b.front().size(); ++j)
      for (std::size_t p = 0; p < product.b.size(); ++p) c[i][j] += product.a[i][p] * product.b[p][j];
  return c;
}

ArrayProduct coded_product(std::size_t m, std::size_t n, std::size_t k, std::int64_t seed) {
  ArrayProduct product;
  product.a = coded(m, k, seed);
  product.b = coded(k, n, seed + 3);
  return product;
}

TEST(Systolic, one_tile_of_every_shape_takes_the_cycles_of_the_register_level_array) {
  for (const unsigned latency : {1U, 2U, 4U})
    for (const std::size_t m : {1U, 2U, 3U, 4U})
      for (const std::size_t n : {1U, 3U, 5U})
        for (const std::size_t k : {1U, 2U, 4U, 9U}) {
          ArrayProduct product = coded_product(m, n, k, 5);
          tests::OutputStationaryArray reference(4, 5, latency);
          const auto result = reference.run({product}).front();
          EXPECT_EQ(result.c, product_of(product));
          const auto config = array(4, 5, latency, Dataflow::output_stationary);
          MatrixTimer timer(config);
          timer.reset(0);
          EXPECT_EQ(timer.run(work(m, n, k), 0).done, result.done)
              << m << " " << n << " " << k << " " << latency;
        }
}

TEST(Systolic, TM_09_full_arrays_follow_the_published_formulas) {
  for (const unsigned size : {1U, 2U, 4U, 64U})
    for (const std::uint64_t k : {1U, 4U, 32U, 768U}) {
      const auto os = array(size, size, 1, Dataflow::output_stationary);
      MatrixTimer timer(os);
      timer.reset(0);
      EXPECT_EQ(timer.run(work(size, size, k), 0).done, 2 * size + size + k - 2);
      const auto ws = array(size, size, 1, Dataflow::weight_stationary);
      MatrixTimer weights(ws);
      weights.reset(0);
      EXPECT_EQ(weights.run(work(k, size, size), 0).done, 2 * size + size + k - 2);
    }
}

// Products one after the other; the timer's starts are legal, and none of them could be earlier.
TEST(Systolic, sequences_start_as_early_as_registers_allow) {
  struct Step {
    std::size_t m, n, k;
    bool accumulate, hold;
  };
  const std::vector<std::vector<Step>> sequences{
      {{4, 5, 3, false, false}, {4, 5, 3, false, false}, {4, 5, 3, false, false}},
      {{4, 5, 9, false, false}, {4, 5, 9, false, false}, {2, 3, 9, false, false}},
      {{4, 5, 2, false, false}, {1, 1, 1, false, false}, {4, 5, 6, false, false}, {3, 5, 1, false, false}},
      {{4, 5, 3, false, true}, {4, 5, 2, true, true}, {4, 5, 4, true, false}, {4, 5, 7, false, false}},
      {{4, 5, 3, false, false}, {4, 5, 3, true, false}, {4, 5, 3, true, false}},
  };
  for (const auto& sequence : sequences) {
    for (const unsigned latency : {1U, 3U}) {
      const auto config = array(4, 5, latency, Dataflow::output_stationary);
      MatrixTimer timer(config);
      timer.reset(0);
      std::vector<ArrayProduct> products;
      std::vector<std::uint64_t> done;
      bool held = false;
      std::uint64_t dispatched = 0;
      for (const Step& step : sequence) {
        ArrayProduct product =
            coded_product(step.m, step.n, step.k, static_cast<std::int64_t>(products.size()));
        product.accumulate = step.accumulate;
        product.held = held;
        product.hold = step.hold;
        if (step.accumulate) product.before = product_of(products.back());
        MatrixWork one = work(step.m, step.n, step.k);
        one.accumulate = step.accumulate;
        one.hold = step.hold;
        // What adds to sums outside of the array waits for them, as a kernel's flags would.
        if (step.accumulate && !held) dispatched = done.back();
        const MatrixTimes times = timer.run(one, dispatched);
        product.start = times.start;
        product.enters = times.start - std::min<std::uint64_t>(times.start, config.rows);
        done.push_back(times.done);
        products.push_back(std::move(product));
        held = step.hold;
      }
      tests::OutputStationaryArray reference(4, 5, latency);
      const auto results = reference.run(products);
      for (std::size_t q = 0; q < products.size(); ++q) {
        if (products[q].hold) continue;
        EXPECT_EQ(results[q].done, done[q]);
        EXPECT_EQ(results[q].c, product_of(products[q]));
      }
      for (std::size_t q = 1; q < products.size(); ++q) {
        if (products[q].start == products[q - 1].start + products[q - 1].b.size()) continue;  // at once
        std::vector<ArrayProduct> earlier(products.begin(),
                                          products.begin() + static_cast<std::ptrdiff_t>(q) + 1);
        --earlier.back().start;
        if (earlier.back().accumulate && !earlier.back().held) continue;  // waits for its sums
        EXPECT_THROW(reference.run(earlier), tests::Conflict) << "product " << q;
      }
    }
  }
}

TEST(Systolic, weight_stationary_takes_the_cycles_of_the_register_level_array) {
  for (const unsigned latency : {1U, 3U})
    for (const std::size_t m : {1U, 2U, 9U})
      for (const std::size_t n : {1U, 5U})
        for (const std::size_t k : {1U, 3U, 4U}) {
          const auto config = array(4, 5, latency, Dataflow::weight_stationary);
          MatrixTimer timer(config);
          timer.reset(0);
          const MatrixTimes times = timer.run(work(m, n, k), 0);
          EXPECT_EQ(times.start, k);  // its B is in place
          ArrayProduct product = coded_product(m, n, k, 2);
          product.start = times.start;
          const auto result = tests::WeightStationaryArray(4, latency).run(product);
          EXPECT_EQ(result.done, times.done);
          EXPECT_EQ(result.c, product_of(product));
        }
}

TEST(Systolic, weights_of_the_next_tile_come_in_beside_the_rows_of_this_one) {
  const auto config = array(4, 4, 1, Dataflow::weight_stationary);
  MatrixTimer timer(config);
  timer.reset(0);
  // Two tiles along n, 10 rows: 4 cycles to load, then 10 + 10 rows without a gap.
  EXPECT_EQ(timer.run(work(10, 8, 4), 0).done, 4U + 10 + 10 - 1 + 3 + 4);
  // With fewer rows than a tile has, loading sets the pace.
  timer.reset(0);
  EXPECT_EQ(timer.run(work(2, 8, 4), 0).done, 4U + 1 + 4 + 2 - 1 + 3 + 4);
}

TEST(Systolic, tiles_of_a_large_product_follow_one_another_and_only_the_last_one_drains) {
  const auto config = array(4, 4, 1, Dataflow::output_stationary);
  MatrixTimer timer(config);
  timer.reset(0);
  const MatrixTimes times = timer.run(work(8, 12, 20), 0);
  EXPECT_EQ(times.busy, 6U * 20);
  EXPECT_EQ(times.done, 6U * 20 + 3 + 3 + 4);
}

TEST(Systolic, ports_bound_the_feed) {
  auto config = array(4, 4, 1, Dataflow::output_stationary);
  config.a_bytes_per_cycle = 4;  // two rows of f16 a cycle: half of what the array takes
  MatrixTimer timer(config);
  timer.reset(0);
  EXPECT_EQ(timer.run(work(4, 4, 10), 0).busy, 20U);
}

TEST(Cube, instructions_take_startup_and_one_step_a_block) {
  config::MatrixConfig config;
  config.startup_cycles = 3;
  config.latency_cycles = 24;
  config.accumulate_cycles = 10;
  const config::MatrixTypeConfig block{16, 16, 16, 1};
  MatrixTimer timer(config);
  timer.reset(0);
  MatrixWork one = work(32, 208, 16);
  one.step = &block;
  const MatrixTimes times = timer.run(one, 0);
  EXPECT_EQ(times.free, 3U + 2 * 13);
  EXPECT_EQ(times.done, 3U + 26 - 1 + 24);
  // Adding to few sums waits until they are there; to many it does not.
  MatrixWork again = work(16, 16, 16);
  again.step = &block;
  again.accumulate = again.same_sums = true;
  timer.reset(0);
  MatrixWork first = again;
  first.accumulate = false;
  const std::uint64_t free = timer.run(first, 0).free;
  EXPECT_EQ(timer.run(again, 0).start, free + 6);  // 10 behind its one step, less 3 of startup and the step
  timer.reset(0);
  first.m = again.m = 256;
  const std::uint64_t all = timer.run(first, 0).free;
  EXPECT_EQ(timer.run(again, 0).start, all);
}

}  // namespace
}  // namespace npulab
