// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/cost.hpp"

#include <algorithm>
#include <array>

namespace npulab::cost {

namespace {

using config::ScalarCosts;
using config::VectorCosts;

// One row per class of isa::CostClass, in its order; static_assert below.
struct Row {
  isa::CostClass cost_class;
  unsigned VectorCosts::*vector;
  unsigned ScalarCosts::*scalar;
};

constexpr std::array kRows{
    Row{isa::CostClass::Load, &VectorCosts::load, nullptr},
    Row{isa::CostClass::Store, &VectorCosts::store, nullptr},
    Row{isa::CostClass::Simple, &VectorCosts::simple, nullptr},
    Row{isa::CostClass::Add, &VectorCosts::add, nullptr},
    Row{isa::CostClass::Multiply, &VectorCosts::multiply, nullptr},
    Row{isa::CostClass::Fma, &VectorCosts::fma, nullptr},
    Row{isa::CostClass::Divide, &VectorCosts::divide, nullptr},
    Row{isa::CostClass::Transcendental, &VectorCosts::transcendental, nullptr},
    Row{isa::CostClass::Convert, &VectorCosts::convert, nullptr},
    Row{isa::CostClass::Reduce, &VectorCosts::reduce, nullptr},
    Row{isa::CostClass::Permute, &VectorCosts::permute, nullptr},
    Row{isa::CostClass::Matrix, nullptr, nullptr},
    Row{isa::CostClass::ScalarOp, nullptr, &ScalarCosts::op},
    Row{isa::CostClass::ScalarMultiply, nullptr, &ScalarCosts::multiply},
    Row{isa::CostClass::ScalarDivide, nullptr, &ScalarCosts::divide},
    Row{isa::CostClass::ScalarLoad, nullptr, &ScalarCosts::load},
    Row{isa::CostClass::ScalarStore, nullptr, &ScalarCosts::store},
    Row{isa::CostClass::Branch, nullptr, &ScalarCosts::branch},
    Row{isa::CostClass::LoopStart, nullptr, &ScalarCosts::loop},
    Row{isa::CostClass::Transfer, nullptr, nullptr},
    Row{isa::CostClass::Sync, nullptr, nullptr},
    Row{isa::CostClass::Free, nullptr, nullptr},
};

constexpr bool rows_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].cost_class) != i) return false;
  return kRows.size() == static_cast<std::size_t>(isa::CostClass::Free) + 1;
}
static_assert(rows_in_order(), "every cost class needs its row, in the order of isa::CostClass");

}  // namespace

Cost cost(isa::CostClass cost_class, const config::CoreTypeConfig& core) {
  const Row& row = kRows[static_cast<std::size_t>(cost_class)];
  if (row.vector != nullptr) return {core.vector.latency.*row.vector, core.vector.interval.*row.vector};
  if (row.scalar != nullptr) return {core.scalar.latency.*row.scalar, 1};
  return {1, 1};
}

std::uint64_t ub_cycles(std::uint32_t interval, std::uint64_t repeats, std::uint64_t bank_cycles_sum) {
  return std::max(interval * repeats, bank_cycles_sum);
}

}  // namespace npulab::cost
