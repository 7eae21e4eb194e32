// SPDX-License-Identifier: Apache-2.0
// Systolic arrays register by register and cycle by cycle: the independent model that timing is held to.
// Small and slow.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

namespace npulab::tests {

using Matrix = std::vector<std::vector<std::int64_t>>;

struct ArrayProduct {
  Matrix a;  // m x k
  Matrix b;  // k x n
  std::uint64_t start = 0;
  bool accumulate = false;  // to `before`, which is shifted in unless the sums are held
  bool held = false;        // the sums of the product before are in the array
  bool hold = false;
  std::uint64_t enters = 0;  // when `before` begins to be shifted in
  Matrix before;
};

struct ArrayResult {
  Matrix c;
  std::uint64_t done = 0;  // the first cycle in which all of C is outside
};

struct Conflict : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Sums stay in their element; A moves right and B down, a step a cycle. A finished sum waits in a register of
// its element until the column's shift register takes all of them and moves them out of the bottom.
class OutputStationaryArray {
 public:
  OutputStationaryArray(std::size_t rows, std::size_t columns, std::uint64_t latency)
      : rows_(rows), columns_(columns), latency_(latency) {}

  // Errors: Conflict where two sums or two products would need one register.
  std::vector<ArrayResult> run(const std::vector<ArrayProduct>& products) {
    elements_.assign(rows_, std::vector<Element>(columns_));
    shift_.assign(columns_, {});
    results_.assign(products.size(), {});
    for (std::size_t q = 0; q < products.size(); ++q)
      results_[q].c.assign(products[q].a.size(), std::vector<std::int64_t>(products[q].b.front().size()));
    std::uint64_t idle = 0;
    for (std::uint64_t t = 0; idle < 4 * (rows_ + columns_ + latency_) + 64; ++t) {
      ++idle;
      if (feed(products, t)) idle = 0;
      for (auto& row : elements_)
        for (Element& e : row) finish(products, e, t);
      for (std::size_t j = 0; j < columns_; ++j)
        if (shift(products, j, t)) idle = 0;
    }
    return results_;
  }

 private:
  struct Term {
    std::uint64_t ready;
    std::size_t product;
    std::int64_t value;
    bool first, last;
    std::size_t i, j;
  };
  struct Element {
    std::deque<Term> pipeline;
    std::int64_t sum = 0;
    std::optional<std::pair<std::size_t, std::int64_t>> result;  // product, sum
  };
  struct Shift {
    std::uint64_t left = 0;  // cycles until it is empty
    std::vector<std::optional<std::int64_t>> places;
    std::size_t product = 0;
    std::uint64_t filled_until = 0;  // sums on their way in
  };

  bool feed(const std::vector<ArrayProduct>& products, std::uint64_t t) {
    bool any = false;
    for (std::size_t q = 0; q < products.size(); ++q) {
      const ArrayProduct& product = products[q];
      const std::size_t k = product.b.size();
      if (t <= product.start + k + rows_ + columns_) any = true;
      for (std::size_t i = 0; i < product.a.size(); ++i)
        for (std::size_t j = 0; j < product.b.front().size(); ++j) {
          if (t < product.start + i + j || t >= product.start + i + j + k) continue;
          const std::size_t p = static_cast<std::size_t>(t - product.start) - i - j;
          Element& e = elements_[i][j];
          if (!e.pipeline.empty() && e.pipeline.back().ready == t + latency_)
            throw Conflict("two operands in one element");
          e.pipeline.push_back(
              {t + latency_, q, product.a[i][p] * product.b[p][j], p == 0, p + 1 == k, i, j});
        }
    }
    return any;
  }

  void finish(const std::vector<ArrayProduct>& products, Element& e, std::uint64_t t) {
    if (e.pipeline.empty() || e.pipeline.front().ready != t) return;
    const Term term = e.pipeline.front();
    e.pipeline.pop_front();
    const ArrayProduct& product = products[term.product];
    if (term.first && !product.held) e.sum = product.accumulate ? product.before[term.i][term.j] : 0;
    e.sum += term.value;
    if (!term.last || product.hold) return;
    if (e.result) throw Conflict("a finished sum still waits here");
    e.result = {term.product, e.sum};
  }

  bool shift(const std::vector<ArrayProduct>& products, std::size_t j, std::uint64_t t) {
    Shift& s = shift_[j];
    for (const ArrayProduct& product : products) {
      if (!product.accumulate || product.held || j >= product.b.front().size() || t != product.enters + j)
        continue;
      if (s.left > 0 || s.filled_until > t) throw Conflict("sums come in while the shift register is taken");
      s.filled_until = t + rows_;
    }
    if (s.left == 0 && s.filled_until <= t) load(products, j);
    if (s.left == 0) return s.filled_until > t;
    if (const auto out = s.places.back()) {
      const std::size_t row = products[s.product].a.size() - 1 - taken_[j]++;
      results_[s.product].c[row][j] = *out;
    }
    s.places.pop_back();
    s.places.insert(s.places.begin(), std::nullopt);
    --s.left;
    results_[s.product].done = std::max(results_[s.product].done, t + 1);
    return true;
  }

  // All of the column's sums of one product, when they are complete.
  void load(const std::vector<ArrayProduct>& products, std::size_t j) {
    if (!elements_[0][j].result) return;
    const std::size_t q = elements_[0][j].result->first;
    const std::size_t m = products[q].a.size();
    for (std::size_t i = 0; i < m; ++i)
      if (!elements_[i][j].result || elements_[i][j].result->first != q) return;
    Shift& s = shift_[j];
    s.product = q;
    s.left = rows_;
    s.places.assign(rows_, std::nullopt);
    taken_[j] = 0;
    for (std::size_t i = 0; i < m; ++i) {
      s.places[i] = elements_[i][j].result->second;
      elements_[i][j].result.reset();
    }
  }

  std::size_t rows_, columns_;
  std::uint64_t latency_;
  std::vector<std::vector<Element>> elements_;
  std::vector<Shift> shift_;
  std::map<std::size_t, std::size_t> taken_;
  std::vector<ArrayResult> results_;
};

// B stays in the array; a row of A enters a row of the array each `latency` cycles later than the one above,
// sums move down and leave at the bottom.
class WeightStationaryArray {
 public:
  WeightStationaryArray(std::size_t rows, std::uint64_t latency) : rows_(rows), latency_(latency) {}

  // One product whose B fits the array and stands in it from `start` on.
  ArrayResult run(const ArrayProduct& product) const {
    const std::size_t m = product.a.size(), n = product.b.front().size(), k = product.b.size();
    struct Sum {
      std::uint64_t at;
      std::size_t row, i, j;
      std::int64_t value;
    };
    ArrayResult result;
    result.c.assign(m, std::vector<std::int64_t>(n));
    std::vector<Sum> moving;
    std::size_t left = m * n;
    for (std::uint64_t t = product.start; left > 0; ++t) {
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j)
          if (t == product.start + i + j)
            moving.push_back({t, 0, i, j, product.accumulate ? product.before[i][j] : 0});
      std::vector<Sum> next;
      for (Sum& sum : moving) {
        if (sum.at != t) {
          next.push_back(sum);
          continue;
        }
        if (sum.row == rows_) {
          result.c[sum.i][sum.j] = sum.value;
          result.done = t;
          --left;
          continue;
        }
        // The operand of A that stands in this element now: it entered its row latency * row cycles late.
        const std::uint64_t entered = t - sum.j;
        if (entered != product.start + sum.i + sum.row * latency_)
          throw Conflict("A and the sum do not meet");
        if (sum.row < k) sum.value += product.a[sum.i][sum.row] * product.b[sum.row][sum.j];
        next.push_back({t + latency_, sum.row + 1, sum.i, sum.j, sum.value});
      }
      moving = std::move(next);
    }
    return result;
  }

 private:
  std::size_t rows_;
  std::uint64_t latency_;
};

}  // namespace npulab::tests
