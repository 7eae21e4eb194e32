// SPDX-License-Identifier: Apache-2.0
// The spelling of every choice that a machine file offers, in the order of its enum.
#pragma once

#include <array>
#include <string_view>

#include "sim/config/machine.hpp"

namespace npulab::config {

template <class Enum>
inline constexpr std::array<std::string_view, 0> kChoices{};
template <>
inline constexpr std::array<std::string_view, 2> kChoices<isa::OperandForm>{"registers", "ub"};
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

template <class Enum>
constexpr std::string_view choice_name(Enum value) {
  return kChoices<Enum>[static_cast<std::size_t>(value)];
}

}  // namespace npulab::config
