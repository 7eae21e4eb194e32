// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "isa/check.hpp"
#include "isa/syntax.hpp"
#include "isa/view_extent.hpp"

namespace npulab::isa {

namespace {

bool is_vector(Family family) {
  return family == Family::Vector || family == Family::VectorMemory || family == Family::Tile;
}

class MachineChecker {
 public:
  MachineChecker(const Instruction& instruction, const KernelHeader& header, const Target& target,
                 const BufferOrigins& origins)
      : in_(instruction),
        row_(info(instruction.op)),
        format_(info(row_.format)),
        header_(header),
        target_(target),
        origins_(origins) {}

  std::vector<Finding> run() {
    if (is_vector(row_.family) && !target_.vector_unit) {
      say({}, "no-vector-unit",
          fmt::format("{}: core type '{}' of {} has no vector unit", mnemonic(in_), target_.core_type,
                      machine()));
      return std::move(findings_);
    }
    if (row_.cost == CostClass::Matrix)
      matrix_unit();
    else if (is_vector(row_.family))
      types();
    for (std::size_t i = 0; i < in_.operand_count; ++i) operand(i);
    for (std::size_t i = 0; i < in_.mod_count; ++i) modifier(i);
    if (findings_.empty() && row_.family == Family::Transfer) copy();
    if (findings_.empty() && (row_.format == Format::SetFlag || row_.format == Format::WaitFlag)) flag();
    if (findings_.empty() && row_.format == Format::Acquire) acquire();
    return std::move(findings_);
  }

 private:
  void say(Part part, std::string code, std::string message) {
    findings_.push_back({0, part, std::move(code), std::move(message)});
  }
  std::string machine() const { return fmt::format("machine '{}'", target_.machine); }

  void types() {
    for (const DType type : {in_.type, in_.type2}) {
      if (type == DType::none || contains(target_.vector_types, type)) continue;
      say({PartKind::type, 0}, "illegal-type",
          fmt::format("{}: the vector unit of {} does not know {}; it knows {}", mnemonic(in_), machine(),
                      name(type), target_.vector_types == 0 ? "no type" : type_list(target_.vector_types)));
      return;
    }
  }

  void matrix_unit() {
    const bool tile = row_.format == Format::Tile;
    if (!target_.matrix || (target_.matrix->kind == MatrixKind::mmul) != tile) {
      say({}, "no-matrix-unit",
          fmt::format("{}: {} has no {}", row_.mnemonic, machine(),
                      tile ? "matrix unit that works on registers (kind mmul)"
                           : "matrix unit with buffers of its own (kind cube or systolic)"));
      return;
    }
    matrix_types();
    if (row_.format == Format::SparseProduct) sparse_form();
    if (!tile) matrix_operands();
  }

  void matrix_types() {
    const Operand* const wanted = in_.mod(Mod::shape);
    const bool known = target_.matrix->shape(in_.type, in_.type2) != nullptr;
    if (known && (wanted == nullptr || tile_of(in_, target_) != nullptr)) return;
    std::string legal;
    for (const MatrixShape& one : target_.matrix->types) {
      const bool same = one.a == in_.type && one.b == (in_.type2 == DType::none ? in_.type : in_.type2);
      if (known && !same) continue;
      std::string text(name(one.a));
      if (one.a != one.b) text += fmt::format(".{}", name(one.b));
      if (known) text = tile_name(one.code());
      if (fmt::format(", {},", legal).find(fmt::format(", {},", text)) == std::string::npos)
        legal += fmt::format("{}{}", legal.empty() ? "" : ", ", text);
    }
    if (known)
      say({}, "tile-shape",
          fmt::format("{}: the matrix unit of {} has no tile {} of these types; it has {}", mnemonic(in_),
                      machine(), tile_name(wanted->imm), legal));
    else
      say({PartKind::type, 0}, "illegal-type",
          fmt::format("{}: the matrix unit of {} does not know these types; it knows {}", mnemonic(in_),
                      machine(), legal));
  }

  void sparse_form() {
    const MatrixLimits& matrix = *target_.matrix;
    const Operand* structured = in_.mod(Mod::structured);
    if (structured != nullptr && structured->kind == OperandKind::sreg) return;
    const bool wanted = structured != nullptr && structured->imm != 0;
    if (wanted ? matrix.sparse_structured : matrix.sparse_list) return;
    say({}, "sparse-form",
        fmt::format("sparse_gemm: the matrix unit of {} does not take {}", machine(),
                    wanted ? "two of four (structured=1)" : "lists of values and places (structured=0)"));
  }

  // A, B and C (and what goes with A) lie in the memories that the unit reaches.
  void matrix_operands() {
    const MatrixLimits& matrix = *target_.matrix;
    for (std::size_t i = 0; i < in_.operand_count; ++i) {
      if (in_.operands[i].kind != OperandKind::view) continue;
      const std::string_view slot = format_.slots[i].name;
      const std::uint8_t wanted = slot == "b" ? matrix.b : slot == "c" ? matrix.c : matrix.a;
      if (in_.operands[i].space != wanted)
        say({PartKind::operand, i}, "matrix-space",
            fmt::format("operand '{}' of {} is in '{}'; the matrix unit of {} has it in '{}'", slot,
                        row_.mnemonic, space_name(target_, in_.operands[i].space), machine(),
                        space_name(target_, wanted)));
    }
    if (in_.mod(Mod::bias) != nullptr && matrix.bias == kGmSpace)
      say({}, "no-bias", fmt::format("modifier 'bias': the matrix unit of {} has no bias buffer", machine()));
  }

  void operand(std::size_t index) {
    const Operand& value = in_.operands[index];
    const Part part{PartKind::operand, index};
    if (is_vector(row_.family) && !form_fits(index)) return;
    switch (value.kind) {
      case OperandKind::vreg:
      case OperandKind::lane:
        vector_register(index);
        break;
      case OperandKind::sreg:
        scalar_register(part, value.reg);
        break;
      case OperandKind::view:
        view(index);
        break;
      case OperandKind::engine:
        if (value.reg != kAllEngines && value.reg >= target_.engines.size())
          say(part, "unknown-engine",
              fmt::format("engine {}: {} has {}", value.reg, machine(), target_.engines.size()));
        else if (value.reg == kVectorEngineIndex && !target_.vector_unit)
          say(part, "no-vector-unit",
              fmt::format("core type '{}' of {} has no vector unit", target_.core_type, machine()));
        break;
      default:
        break;
    }
  }

  bool form_fits(std::size_t index) {
    const Slot& slot = format_.slots[index];
    const KindSet legal = accepted(slot, target_.form);
    const Part part{PartKind::operand, index};
    if (legal == 0) {
      say(part, "operand-form",
          fmt::format("{} works on vector registers, and {} has none: its vector unit works on views",
                      row_.mnemonic, machine()));
      return false;
    }
    if ((legal & kind(in_.operands[index].kind)) != 0) return true;
    if (target_.form == OperandForm::ub)
      say(part, "operand-form",
          fmt::format("operand '{}' of {}: {} has no vector registers; its vector unit works on views",
                      slot.name, row_.mnemonic, machine()));
    else
      say(part, "operand-form",
          fmt::format("operand '{}' of {}: the vector unit of {} works on its {} registers, v0…v{}; load the "
                      "view with vld",
                      slot.name, row_.mnemonic, machine(), target_.vector_registers,
                      target_.vector_registers - 1));
    return false;
  }

  void scalar_register(Part part, std::uint8_t number) {
    if (number >= target_.scalar_registers)
      say(part, "register-range", no_such_register(RegisterFile::scalar, number, target_));
  }

  void vector_register(std::size_t index) {
    const Operand& value = in_.operands[index];
    const Slot& slot = format_.slots[index];
    const Part part{PartKind::operand, index};
    if (value.reg >= target_.vector_registers) {
      say(part, "register-range", no_such_register(RegisterFile::vector, value.reg, target_));
      return;
    }
    const unsigned aligned = std::max(1U, target_.operation_bits / std::max(1U, target_.register_bits));
    const unsigned bytes = slot_bytes(in_, index, target_);
    const unsigned count = slot_registers(in_, index, target_);
    if (value.reg % aligned != 0) {
      const unsigned below = value.reg / aligned * aligned;
      say(part, "register-alignment",
          fmt::format("v{}: a {}-bit operation on {} takes {} registers of {} bits and names {}: v{} or v{}",
                      value.reg, target_.operation_bits, machine(), aligned, target_.register_bits,
                      aligned == 2 ? "an even one" : fmt::format("a multiple of {}", aligned), below,
                      below + aligned));
    } else if (value.reg + count > target_.vector_registers) {
      say(part, "register-range",
          fmt::format("v{0}: operand '{1}' of {2} takes {3} registers, v{0}…v{4}; {5} has v0…v{6}", value.reg,
                      slot.name, mnemonic(in_), count, value.reg + count - 1, machine(),
                      target_.vector_registers - 1));
    } else if (value.kind == OperandKind::lane) {
      const DType type = slot.element == SlotType::type2 ? in_.type2 : in_.type;
      const std::int64_t last = static_cast<std::int64_t>(bytes * 8 / bits(type)) - 1;
      if (value.imm < 0 || value.imm > last)
        say(part, "value-range",
            fmt::format("v{}[{}]: the lanes of {} here are 0…{}", value.reg, value.imm, name(type), last));
    }
  }

  void view(std::size_t index) {
    const Operand& value = in_.operands[index];
    const Part part{PartKind::operand, index};
    if (value.space >= target_.spaces.size()) {
      say(part, "unknown-space",
          fmt::format("memory {}: {} has {} memories", value.space, machine(), target_.spaces.size()));
      return;
    }
    if (value.space == kGmSpace && row_.family == Family::Scalar) {
      say(part, "local-space",
          fmt::format(
              "operand '{}' of {} is in '{}'; the scalar unit reaches local buffers only, copy it there",
              format_.slots[index].name, row_.mnemonic, space_name(target_, value.space)));
      return;
    }
    if (target_.spaces[value.space].remote() && row_.family != Family::Transfer) {
      say(part, "remote-space",
          fmt::format("'{}' lies in other cores, where only copy reaches", space_name(target_, value.space)));
      return;
    }
    if (is_vector(row_.family) && value.space != target_.vector_space) {
      say(part, "vector-space",
          fmt::format("operand '{}' of {} is in '{}'; the vector unit of {} reaches '{}' only",
                      format_.slots[index].name, row_.mnemonic, space_name(target_, value.space), machine(),
                      space_name(target_, target_.vector_space)));
      return;
    }
    if (value.reg != kNoRegister) scalar_register(part, value.reg);
    if (value.tensor != kNoTensor && value.tensor >= header_.tensors.size())
      say(part, "unknown-tensor",
          fmt::format("tensor {}: the kernel has {}", value.tensor, header_.tensors.size()));
    else if (value.reg == kNoRegister && value.tensor != kNoTensor)
      tensor_view(part, value);
    else if (value.reg == kNoRegister)
      fixed_view(index);
  }

  void tensor_view(Part part, const Operand& value) {
    const Tensor& tensor = header_.tensors[value.tensor];
    const std::uint64_t bytes = tensor.bytes();
    const bool outside =
        value.imm < 0 || static_cast<std::uint64_t>(value.imm) >= std::max<std::uint64_t>(1, bytes);
    if (outside)
      say(part, "address-range",
          fmt::format("{}[{}]: tensor '{}' has {} bytes, offsets 0…{}", tensor.name, value.imm, tensor.name,
                      bytes, bytes == 0 ? 0 : bytes - 1));
  }

  void fixed_view(std::size_t index) {
    const Operand& value = in_.operands[index];
    const Space& space = target_.spaces[value.space];
    const BufferOrigin* buffer = origins_[index];
    const std::int64_t size = buffer != nullptr ? buffer->bytes : static_cast<std::int64_t>(space.bytes);
    const std::int64_t offset = value.imm - (buffer != nullptr ? buffer->address : 0);
    const std::string whole = buffer != nullptr
                                  ? fmt::format("buffer '{}', {} bytes", buffer->name, size)
                                  : fmt::format("'{}' of {}, {} bytes", space.name, machine(), size);
    const std::string written = fmt::format("{}[{}]", buffer != nullptr ? buffer->name : space.name, offset);
    const Part part{PartKind::operand, index};
    const Extent extent = view_extent(in_, index, target_).value_or(Extent{0, 0});
    if (offset < 0 || offset > size || (extent.low < extent.high && offset + extent.low < 0) ||
        offset + extent.high > size) {
      const std::int64_t first = offset + extent.low;
      const std::int64_t last = offset + std::max(extent.high, extent.low + 1) - 1;
      say(part, "address-range",
          fmt::format("{}: byte{} {}{} not within {}", written, first == last ? "" : "s", first,
                      first == last ? " is" : fmt::format("…{} are", last), whole));
      return;
    }
    const auto alignment = static_cast<std::int64_t>(std::max<std::uint64_t>(1, space.alignment));
    if (value.imm % alignment == 0) return;
    const std::string address =
        buffer != nullptr ? fmt::format("buffer '{}' lies at {}, so offset {} is address {} of '{}'",
                                        buffer->name, buffer->address, offset, value.imm, space.name)
                          : fmt::format("address {} of '{}'", value.imm, space.name);
    say(part, "address-alignment",
        fmt::format("{}: {}; it must be a multiple of {}", written, address, alignment));
  }

  void modifier(std::size_t index) {
    const ModValue& value = in_.mods[index];
    const Part part{PartKind::modifier, index};
    const ModInfo& rule = info(value.mod);
    if (value.value.kind == OperandKind::sreg) scalar_register(part, value.value.reg);
    if (value.mod == Mod::engine && value.value.imm >= static_cast<std::int64_t>(target_.engines.size()))
      say(part, "unknown-engine",
          fmt::format("engine {}: {} has {}", value.value.imm, machine(), target_.engines.size()));
    const bool of_views = value.mod >= Mod::repeat && value.mod <= Mod::b_repeat;
    if (of_views && target_.form == OperandForm::registers)
      say(part, "operand-form",
          fmt::format("modifier '{}' belongs to views; the vector unit of {} works on registers", rule.name,
                      machine()));
    const bool number = value.value.kind == OperandKind::imm;
    if (value.mod == Mod::repeat && number && value.value.imm > target_.max_repeat)
      say(part, "value-range",
          fmt::format("repeat is {}; {} repeats 0…{} times", value.value.imm, machine(), target_.max_repeat));
    if (value.mod == Mod::n && number && target_.form == OperandForm::registers)
      active_lanes(part, value.value.imm);
    if (of_views && target_.form == OperandForm::ub) of_a_view(part, value.mod);
    if (value.mod == Mod::inc) increment(part);
    if (value.mod == Mod::pad_to && number && in_.operands[2].kind == OperandKind::imm &&
        value.value.imm < in_.operands[2].imm)
      say(part, "value-range",
          fmt::format("pad_to is {}, below the {} bytes of a row", value.value.imm, in_.operands[2].imm));
  }

  // a_block, b_repeat and so on are about an operand, which must be a view then.
  void of_a_view(Part part, Mod mod) {
    const std::string_view name = info(mod).name;
    for (std::size_t i = 0; i < in_.operand_count; ++i) {
      const std::string_view slot = format_.slots[i].name;
      if (name.substr(0, name.find('_')) == slot && in_.operands[i].kind != OperandKind::view)
        say(part, "operand-kind",
            fmt::format("modifier '{}' is about operand '{}', which is no view here", name, slot));
    }
  }

  void active_lanes(Part part, std::int64_t n) {
    const unsigned count = lanes(row_, in_.type, in_.type2, target_.operation_bits);
    if (n > static_cast<std::int64_t>(count))
      say(part, "value-range",
          fmt::format("n is {}; {} has {} lanes on {}", n, mnemonic(in_), count, machine()));
  }

  void increment(Part part) {
    for (std::size_t i = 0; i < in_.operand_count; ++i)
      if (in_.operands[i].kind == OperandKind::view && in_.operands[i].reg == kNoRegister)
        say(part, "operand-kind", "inc adds to the base register of the view, and this view has none");
  }

  void copy() {
    const std::uint8_t to = in_.operands[0].space;
    const std::uint8_t from = in_.operands[1].space;
    std::string all;
    std::string engines;
    std::size_t count = 0;
    for (const CopyPath& path : target_.paths) {
      const std::string engine = engine_name(target_, path.engine);
      all += fmt::format("{}{} → {} ({})", all.empty() ? "" : ", ", space_name(target_, path.from),
                         space_name(target_, path.to), engine);
      if (path.from != from || path.to != to) continue;
      engines += fmt::format("{}{}", count++ == 0 ? "" : ", ", engine);
    }
    const Operand* const named_engine = in_.mod(Mod::engine);
    if (const CopyPath* path = path_of(in_, target_)) {
      if (count > 1 && named_engine == nullptr)
        say({}, "several-engines",
            fmt::format("path {} → {} of {} is one of {}: say which copies, as in {{engine={}}}",
                        space_name(target_, from), space_name(target_, to), machine(), engines,
                        engine_name(target_, path->engine)));
      layout(*path);
      post(*path);
      other_cores(*path);
    } else if (count > 0) {
      say({}, "copy-path",
          fmt::format("{} of {} has no path {} → {}; {} has", engine_name(target_, index_of(*named_engine)),
                      machine(), space_name(target_, from), space_name(target_, to), engines));
    } else {
      say({}, "copy-path",
          fmt::format("{} has no path {} → {}; it has {}", machine(), space_name(target_, from),
                      space_name(target_, to), all.empty() ? "none" : all));
    }
  }

  static std::uint8_t index_of(const Operand& engine) { return static_cast<std::uint8_t>(engine.imm); }

  std::string named(const CopyPath& path) const {
    return fmt::format("the path {} → {} ({}) of {}", space_name(target_, path.from),
                       space_name(target_, path.to), engine_name(target_, path.engine), machine());
  }

  void layout(const CopyPath& path) {
    const Operand* given = in_.mod(Mod::layout);
    if (given == nullptr || (path.layouts & set_of(static_cast<Layout>(given->imm))) != 0) return;
    std::string legal;
    for (const LayoutInfo& row : kLayouts)
      if ((path.layouts & set_of(row.layout)) != 0)
        legal += fmt::format("{}{}", legal.empty() ? "" : ", ", row.name);
    say({}, "copy-layout",
        fmt::format("{} has no layout {}; it has {}", named(path), info(static_cast<Layout>(given->imm)).name,
                    legal.empty() ? "none" : legal));
  }

  void post(const CopyPath& path) {
    if (row_.format != Format::Post) return;
    if (!path.post)
      say({}, "copy-post", fmt::format("{} has no post-operations", named(path)));
    else if (in_.mod(Mod::scale_at) != nullptr && path.scale_space == kGmSpace)
      say({}, "copy-post", fmt::format("{} has no buffer of factors for scale_at", named(path)));
  }

  // What the modifiers say about the cores at the far end of a copy.
  void other_cores(const CopyPath& path) {
    const Space* far = nullptr;
    for (const std::uint8_t end : {path.from, path.to})
      if (target_.spaces[end].remote()) far = &target_.spaces[end];
    const Operand* const core = in_.mod(Mod::core);
    const Operand* const cores = in_.mod(Mod::cores);
    const Operand* const step = in_.mod(Mod::core_step);
    if (far == nullptr) {
      for (const Mod mod : {Mod::core, Mod::cores, Mod::core_step})
        if (in_.mod(mod) != nullptr)
          say({}, "no-other-core",
              fmt::format("modifier '{}' is about buffers of other cores, and {} → {} stays in this one",
                          info(mod).name, space_name(target_, path.from), space_name(target_, path.to)));
      return;
    }
    if (core == nullptr) {
      say({}, "no-core",
          fmt::format("'{}' lies in {} cores of type '{}': say which one, as in {{core=0}}", far->name,
                      far->cores, far->core_type));
      return;
    }
    const bool one = cores == nullptr || (cores->kind == OperandKind::imm && cores->imm == 1);
    if (!one && !path.multicast)
      say({}, "no-multicast",
          fmt::format("path {} → {} of {} reaches one core at a time; cores above 1 need a path with "
                      "'multicast: true'",
                      space_name(target_, path.from), space_name(target_, path.to), machine()));
    const auto known = [](const Operand* value) {
      return value == nullptr || value->kind == OperandKind::imm;
    };
    if (!known(core) || !known(cores) || !known(step)) return;
    const std::int64_t stride = step == nullptr ? 1 : step->imm;
    const std::int64_t last = core->imm + ((cores == nullptr ? 1 : cores->imm) - 1) * stride;
    if (!one && stride == 0)
      say({}, "core-range", "core_step 0 names one core several times");
    else if (std::min(core->imm, last) < 0 ||
             std::max(core->imm, last) >= static_cast<std::int64_t>(far->cores))
      say({}, "core-range",
          fmt::format("core {}: {} has {} cores of type '{}', 0…{}",
                      core->imm >= static_cast<std::int64_t>(far->cores) ? core->imm : last, machine(),
                      far->cores, far->core_type, far->cores - 1));
  }

  void acquire() {
    const Operand& id = in_.operands[1];
    const Operand* const by = in_.mod(Mod::by);
    if (target_.semaphores == 0)
      say({}, "semaphore-id",
          fmt::format("core type '{}' of {} has no semaphores", target_.core_type, machine()));
    else if (id.kind == OperandKind::imm && id.imm >= static_cast<std::int64_t>(target_.semaphores))
      say({PartKind::operand, 1}, "semaphore-id",
          fmt::format("semaphore {}: core type '{}' of {} has 0…{}", id.imm, target_.core_type, machine(),
                      target_.semaphores - 1));
    else if (by != nullptr && by->kind == OperandKind::imm &&
             by->imm > static_cast<std::int64_t>(target_.semaphore_max))
      say({}, "semaphore-range",
          fmt::format("waits for a count of {}; a semaphore of {} counts to {}", by->imm, machine(),
                      target_.semaphore_max));
  }

  void flag() {
    const std::uint8_t source = in_.operands[0].reg;
    const std::uint8_t destination = in_.operands[1].reg;
    std::string legal;
    bool known = false;
    for (const auto& [from, to] : target_.flag_pairs) {
      known = known || (from == source && to == destination);
      legal += fmt::format("{}{} → {}", legal.empty() ? "" : ", ", engine_name(target_, from),
                           engine_name(target_, to));
    }
    if (!known)
      say({PartKind::operand, 0}, "flag-pair",
          fmt::format("{} has no flags {} → {}; it has {}", machine(), engine_name(target_, source),
                      engine_name(target_, destination), legal.empty() ? "none" : legal));
    const Operand& id = in_.operands[2];
    if (id.kind == OperandKind::imm && id.imm >= static_cast<std::int64_t>(target_.flag_ids))
      say({PartKind::operand, 2}, "flag-id",
          fmt::format("flag id {}: {} has {} ids for each pair of engines, 0…{}", id.imm, machine(),
                      target_.flag_ids, target_.flag_ids - 1));
  }

  const Instruction& in_;
  const InstructionInfo& row_;
  const FormatInfo& format_;
  const KernelHeader& header_;
  const Target& target_;
  const BufferOrigins& origins_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_machine(const Instruction& instruction, const KernelHeader& header,
                                   const Target& target, const BufferOrigins& origins) {
  return MachineChecker(instruction, header, target, origins).run();
}

std::string no_such_register(RegisterFile file, std::int64_t number, const Target& target) {
  const bool vector = file == RegisterFile::vector;
  const char letter = vector ? 'v' : 's';
  const char* what = vector ? "vector" : "scalar";
  const unsigned count = vector ? target.vector_registers : target.scalar_registers;
  const bool none = count == 0 || (vector && target.form == OperandForm::ub);
  if (none)
    return fmt::format("{}{}: machine '{}' has no {} registers", letter, number, target.machine, what);
  return fmt::format("{0}{1}: machine '{2}' has {3} {4} registers, {0}0…{0}{5}", letter, number,
                     target.machine, count, what, count - 1);
}

}  // namespace npulab::isa
