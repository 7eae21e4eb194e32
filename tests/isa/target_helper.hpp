// SPDX-License-Identifier: Apache-2.0
// Hand-made machines and short cuts for the tests of the instruction set.
#pragma once

#include <string>
#include <vector>

#include "isa/assembler.hpp"
#include "isa/error.hpp"
#include "isa/table.hpp"
#include "isa/target.hpp"

namespace npulab::isa::test {

// 128 registers of 128 bits used in pairs; gm, 1 MiB of l1 and 64 KiB of ub.
inline Target register_machine() {
  Target target;
  target.machine = "regs";
  target.core_type = "core";
  target.spaces = {{"gm", std::uint64_t{1} << 36, 1}, {"ub", 65536, 32}, {"l1", 1 << 20, 64}};
  target.engines = {"scalar", "vector", "mte2", "mte3"};
  const auto layouts = static_cast<LayoutSet>(set_of(Layout::nd2nz) | set_of(Layout::nz2nd));
  target.paths = {{0, 1, 2, layouts, true, 2}, {1, 0, 3}, {0, 2, 2}};
  target.flag_pairs = {{2, 1}, {1, 2}, {1, 3}, {3, 1}};
  target.cores = 32;
  target.vector_types = kAllTypes;
  return target;
}

// The same with a matrix unit of this kind that multiplies every pair of types; its operands lie in ub.
inline Target matrix_machine(MatrixKind kind) {
  Target target = register_machine();
  target.machine = "matrix";
  MatrixLimits limits;
  limits.kind = kind;
  limits.a = limits.b = limits.c = limits.bias = 1;
  limits.sparse_list = limits.sparse_structured = true;
  for (const DTypeInfo& a : kDTypes)
    for (const DTypeInfo& b : kDTypes)
      if (contains(kMatrixTypes, a.type) && contains(kMatrixTypes, b.type) && a.floating == b.floating)
        limits.types.push_back({a.type, b.type, 8, 8, 8});
  target.matrix = limits;
  return target;
}

// 256-byte repeats on views of ub, 192 KiB.
inline Target view_machine() {
  Target target = register_machine();
  target.machine = "views";
  target.form = OperandForm::ub;
  target.vector_registers = 0;
  target.operation_bits = 2048;
  target.spaces[1].bytes = 196608;
  return target;
}

inline Kernel assembled(const std::string& text, const Target& target = register_machine(),
                        const ParamValues& overrides = {}) {
  return assemble({"k.npu", text}, target, overrides);
}

struct Refusal {
  std::string code;
  std::string text;  // what()
};

// The error of a text that must be refused; empty when it is not.
inline Refusal refusal(const std::string& text, const Target& target = register_machine(),
                       const ParamValues& overrides = {}) {
  try {
    assembled(text, target, overrides);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

inline bool same_programs(const Kernel& a, const Kernel& b) {
  if (a.programs.size() != b.programs.size()) return false;
  for (std::size_t i = 0; i < a.programs.size(); ++i)
    if (a.programs[i].core_type != b.programs[i].core_type ||
        a.programs[i].instructions != b.programs[i].instructions ||
        a.programs[i].strings != b.programs[i].strings)
      return false;
  return true;
}

}  // namespace npulab::isa::test
