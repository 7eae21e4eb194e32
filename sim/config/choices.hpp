// SPDX-License-Identifier: Apache-2.0
// The spelling of every choice that a machine file offers, in the order of its enum.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/config/machine.hpp"

namespace npulab::config {

template <class Enum>
inline constexpr std::array<std::string_view, 0> kChoices{};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<isa::OperandForm>{"registers", "ub"};
template <>
inline constexpr std::array<std::string_view, 3> kChoices<isa::MatrixKind>{"cube", "systolic", "mmul"};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<Dataflow>{"output_stationary", "weight_stationary"};
template <>
inline constexpr std::array<std::string_view, 4> kChoices<OperandLayout>{"nd", "zz", "zn", "nz"};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<ZeroSkip>{"none", "slices"};
template <>
inline constexpr std::array<std::string_view, 4> kChoices<Sparsity>{"none", "list", "structured", "any"};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<GmModel>{"ideal", "dram"};
template <>
inline constexpr std::array<std::string_view, 3> kChoices<Refresh>{"none", "per_bank", "all_bank"};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<PagePolicy>{"open", "closed"};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<AddressHash>{"none", "xor_fold"};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<Overflow>{"inf", "saturate"};
template <>
inline constexpr auto kChoices<isa::Layout> = isa::kLayoutNames;

template <class Enum>
constexpr std::string_view choice_name(Enum value) {
  return kChoices<Enum>[static_cast<std::size_t>(value)];
}

// All spellings of a choice; element types are one too.
template <class Enum>
std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  if constexpr (std::is_same_v<Enum, isa::DType>) {
    for (const isa::DTypeInfo& row : isa::kDTypes) names.emplace_back(row.name);
  } else {
    for (const std::string_view name : kChoices<Enum>) names.emplace_back(name);
  }
  return names;
}

}  // namespace npulab::config
