// SPDX-License-Identifier: Apache-2.0
#include "isa/target.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npulab::isa {

namespace {

// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace

const MatrixShape* MatrixLimits::shape(DType first, DType second, std::int64_t tile) const {
  for (const MatrixShape& one : types)
    if (one.a == first && one.b == (second == DType::none ? first : second) &&
        (tile == 0 || one.code() == tile))
      return &one;
  return nullptr;
}

const MatrixShape* tile_of(const Instruction& in, const Target& target) {
  if (!target.matrix) return nullptr;
  const Operand* wanted = in.mod(Mod::shape);
  return target.matrix->shape(in.type, in.type2, wanted == nullptr ? 0 : wanted->imm);
}

const CopyPath* path_of(const Instruction& copy, const Target& target) {
  const Operand* engine = copy.mod(Mod::engine);
  for (const CopyPath& path : target.paths)
    if (path.from == copy.operands[1].space && path.to == copy.operands[0].space &&
        (engine == nullptr || engine->imm == path.engine))
      return &path;
  return nullptr;
}

unsigned slot_bytes(const Instruction& in, std::size_t slot, const Target& target) {
  const InstructionInfo& row = info(in.op);
  if (row.format != Format::Tile) return slot_bytes(row, slot, in.type, in.type2, target.operation_bits);
  const MatrixShape* shape = tile_of(in, target);
  if (shape == nullptr) return 0;
  if (slot == 0) return shape->m * shape->n * bits(accumulator(in.type)) / 8;
  return slot == 1 ? shape->m * shape->k * bits(shape->a) / 8 : shape->k * shape->n * bits(shape->b) / 8;
}

unsigned slot_registers(const Instruction& in, std::size_t slot, const Target& target) {
  const unsigned register_bytes = std::max(1U, target.register_bits / 8);
  return std::max(1U, (slot_bytes(in, slot, target) + register_bytes - 1) / register_bytes);
}

namespace {

std::string limits_of(const Target& t) {
  std::string text = t.core_type;
  for (const Space& space : t.spaces)
    text += fmt::format(",{} {} {} {}", space.name, space.bytes, space.alignment, space.cores);
  for (const std::string& engine : t.engines) text += "," + engine;
  for (const CopyPath& path : t.paths) {
    text += fmt::format(",{}>{}@{}", path.from, path.to, path.engine);
    if (path.layouts != 0) text += fmt::format("+{}", path.layouts);
    if (path.post) text += fmt::format("*{}", path.scale_space);
    if (path.multicast) text += "*";
  }
  for (const auto& [source, destination] : t.flag_pairs) text += fmt::format(",{}:{}", source, destination);
  text += fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{}", t.flag_ids, t.cores, t.scalar_registers,
                      t.loop_depth, static_cast<unsigned>(t.form), t.vector_registers, t.register_bits,
                      t.operation_bits, t.ub_block_bytes, t.ub_blocks, t.max_repeat, t.vector_space,
                      t.vector_types);
  if (t.matrix) {
    const MatrixLimits& matrix = *t.matrix;
    text += fmt::format(",{},{},{},{},{},{},{},{},{}", static_cast<unsigned>(matrix.kind), matrix.a, matrix.b,
                        matrix.c, matrix.bias, matrix.sparse_list, matrix.sparse_structured, matrix.rows,
                        matrix.columns);
    for (const MatrixShape& one : matrix.types)
      text += fmt::format(",{} {} {} {} {}", name(one.a), name(one.b), one.m, one.k, one.n);
  }
  return text + fmt::format(",{},{},{}", t.semaphores, t.semaphore_max, t.vector_unit);
}

}  // namespace

std::string fingerprint(std::span<const Target* const> targets) {
  std::string text;
  for (const Target* target : targets) text += limits_of(*target) + ";";
  return fmt::format("{} {:016x}", targets.empty() ? "" : targets.front()->machine, hash_of(text));
}

}  // namespace npulab::isa
