// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "isa/layout.hpp"
#include "isa/table.hpp"
#include "tests/fuzz/plain_matrix.hpp"

namespace npulab::test {

namespace {

using isa::OperandForm;
using isa::Target;

constexpr std::int64_t kData = 1 << 18;  // bytes of A and of y

// Writes what one core type does in a probe.
class Body {
 public:
  // `far`: bytes of each tensor.
  Body(const config::Machine& machine, const Target& target, std::int64_t far)
      : core_(machine.core_types.at(target.core_type)), target_(target), far_(far) {}

  std::string limits() {
    add("mov s{}, 1\n", target_.scalar_registers - 1);
    for (unsigned i = 0; i < target_.loop_depth; ++i) add("loop 1\nnop\n");
    for (unsigned i = 0; i < target_.loop_depth; ++i) add("endloop\n");
    flags();
    semaphores();
    ends_of_buffers();
    if (target_.vector_unit) vector_limits();
    return std::move(text_);
  }

  // Each class of instructions alone: how long the last one takes, and how soon the next one starts.
  std::string classes() {
    add("mov s2, 3\nmov s3, 5\n");
    for (const char* op : {"add", "mul", "div"}) add("{0} s2, s2, s3\n{0} s2, s2, s3\nbarrier all\n", op);
    if (const auto space = scalar_space()) {
      const std::string& ub = target_.spaces[*space].name;
      add("sts.i32 {0}[0], s3\nbarrier all\nlds.i32 s4, {0}[0]\nadd s4, s4, 1\nsts.i32 {0}[64], s4\nlds.i32 "
          "s4, {0}[64]\nbarrier all\n",
          ub);
    }
    if (target_.vector_unit) {
      for (unsigned i = 0; i < isa::kVectorCostClasses; ++i) vector_class(static_cast<isa::CostClass>(i));
      issue_slots();
    }
    add("beq s2, s2, next\nnop\nnext: nop\nloop 3\nnop\nendloop\nloop s3\nadd s2, s2, 1\nendloop\n");
    return std::move(text_);
  }

  std::string copies() {
    for (const isa::CopyPath& path : target_.paths) copies_on(path);
    return std::move(text_);
  }

  // Short rows from all over gm and back, on every engine that can, for longer than a refresh takes to come.
  std::string scattered(std::int64_t turns, bool whole_rows) {
    std::string in, out;
    for (const isa::CopyPath& path : target_.paths) {
      const isa::Space& from = target_.spaces[path.from];
      const isa::Space& to = target_.spaces[path.to];
      if (path.from == isa::kGmSpace && !to.remote()) {
        in += fmt::format(
            "copy {0}[0], A[s3], 64 {{count=4, src_pitch=8192}}\ncopy {0}[0], A[s3], 8 {{count=4, "
            "src_pitch=264, dst_pitch=0}}\n",
            to.name);
        if (whole_rows)
          in += fmt::format("copy {}[0], A[s3], {}\n", to.name, std::min<std::int64_t>(bytes(path.to), 8192));
      }
      if (path.to == isa::kGmSpace && !from.remote() && fits(path.from)) {
        out += fmt::format("copy y[s3], {}[0], 64 {{count=2, dst_pitch=4096}}\n", from.name);
        if (whole_rows)
          out += fmt::format("copy y[s3], {}[0], {}\n", from.name,
                             std::min<std::int64_t>(bytes(path.from), 4096));
      }
    }
    if (in.empty() && out.empty()) return {};
    add("core_id s1\nadd s2, s1, 1\nloop {}\nmul s2, s2, 0x5851f42d4c957f2d\nadd s2, s2, 0x14057b7ef767814f\n"
        "shr s3, s2, 30\nand s3, s3, {}\n{}{}endloop\nbarrier all\n",
        turns, (far_ / 2 - 1) & ~63, in, out);
    return std::move(text_);
  }

  std::string products() {
    if (!target_.matrix || target_.matrix->kind == isa::MatrixKind::mmul) return {};
    for (const isa::MatrixShape& types : target_.matrix->types) {
      const bool array = target_.matrix->kind == isa::MatrixKind::systolic;
      const std::int64_t m = array ? core_.matrix.rows : types.m;
      const std::int64_t n = array ? core_.matrix.columns : types.n;
      product(types, 2 * m + 1, 3, 2 * types.k + 1);
      product(types, 3, 2 * n + 1, 5 * types.k);
      product(types, m, n, 16 * types.k);
    }
    return std::move(text_);
  }

  std::string waits() {
    for (const auto& [source, destination] : target_.flag_pairs)
      add("set_flag {0}, {1}, 0\nwait_flag {0}, {1}, 0\n", target_.engines[source],
          target_.engines[destination]);
    add("sync_cores\nnop\n");
    return std::move(text_);
  }

 private:
  template <class... T>
  void add(fmt::format_string<T...> form, T&&... values) {
    text_ += fmt::format(form, std::forward<T>(values)...);
  }
  std::int64_t bytes(unsigned space) const { return static_cast<std::int64_t>(target_.spaces[space].bytes); }
  std::int64_t alignment(unsigned space) const {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(1, target_.spaces[space].alignment));
  }
  // A buffer for scalar loads and stores.
  std::optional<unsigned> scalar_space() const {
    if (target_.vector_unit) return target_.vector_space;
    for (unsigned space = 1; space < target_.spaces.size(); ++space)
      if (!target_.spaces[space].remote()) return space;
    return std::nullopt;
  }
  bool fits(unsigned space) const { return bytes(space) >= 256; }

  void flags() {
    if (target_.flag_pairs.empty()) return;
    const auto [source, destination] = target_.flag_pairs.back();
    const std::string flag = fmt::format("{}, {}, {}\n", target_.engines[source],
                                         target_.engines[destination], target_.flag_ids - 1);
    for (unsigned i = 0; i <= core_.sync.flag_max; ++i) add("set_flag {}", flag);
    add("barrier all\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\n");
    for (unsigned i = 0; i <= core_.sync.flag_max; ++i) add("wait_flag {}", flag);
  }

  void semaphores() {
    if (target_.semaphores == 0) return;
    add("core_id s4\nadd s4, s4, first({})\nrelease scalar, s4, {} {{by={}}}\nbarrier "
        "all\nnop\nnop\nnop\nnop\nacquire scalar, {} {{by={}}}\n",
        target_.core_type, target_.semaphores - 1, target_.semaphore_max, target_.semaphores - 1,
        target_.semaphore_max);
  }

  // The last bytes of every buffer that a copy reaches, and one whose address only just fits the alignment.
  void ends_of_buffers() {
    for (const isa::CopyPath& path : target_.paths) {
      if (target_.spaces[path.from].remote() || target_.spaces[path.to].remote()) continue;
      for (const unsigned space : {path.from, path.to}) {
        if (space == isa::kGmSpace) continue;
        const unsigned other = space == path.from ? path.to : path.from;
        const std::int64_t last = (bytes(space) - 1) / alignment(space) * alignment(space);
        const std::string there = fmt::format("{}[{}]", target_.spaces[space].name, last);
        const std::string here = other == isa::kGmSpace ? space == path.from ? "y[0]" : "A[0]"
                                                        : target_.spaces[other].name + "[0]";
        add("copy {}, {}, {}\n", space == path.to ? there : here, space == path.to ? here : there,
            bytes(space) - last);
      }
      const auto odd = [&](unsigned space, const char* tensor) {
        if (space == isa::kGmSpace) return fmt::format("{}[1]", tensor);
        return fmt::format("{}[{}]", target_.spaces[space].name, alignment(space));
      };
      add("copy {}, {}, 1\n", odd(path.to, "y"), odd(path.from, "A"));
    }
    add("barrier all\n");
  }

  void vector_limits() {
    const std::string& ub = target_.spaces[target_.vector_space].name;
    if (target_.form == OperandForm::ub) {
      add("vadd.f32 {0}[0], {0}[0], {0}[0] {{repeat={1}, dst_repeat=0, a_repeat=0, b_repeat=0}}\n", ub,
          target_.max_repeat);
      return;
    }
    const unsigned group = target_.operation_bits / target_.register_bits;
    add("vld.u8 v{}, {}[0]\n", (target_.vector_registers / group - 1) * group, ub);
  }

  void vector_class(isa::CostClass cost) {
    for (const isa::InstructionInfo& row : isa::instructions()) {
      if (row.cost != cost || (row.family != isa::Family::Vector && row.family != isa::Family::VectorMemory))
        continue;
      const std::string& ub = target_.spaces[target_.vector_space].name;
      const bool registers = target_.form == OperandForm::registers;
      if (!registers && (row.family == isa::Family::VectorMemory || row.format == isa::Format::Slide))
        continue;
      const auto operand = [&](unsigned number) {
        const unsigned group = registers ? target_.operation_bits / target_.register_bits : 0;
        return registers ? fmt::format("v{}", number * group) : fmt::format("{}[{}]", ub, number * 512);
      };
      std::string text;
      for (unsigned i = 0; i < 4; ++i) {  // two that wait for one another, two that do not
        const unsigned to = i < 2 ? 0 : 2 * i;
        switch (row.format) {
          case isa::Format::VectorLoad:
            text +=
                fmt::format("vld.f32 {}, {}[0]\nvmov.f32 {}, {}\n", operand(to), ub, operand(2), operand(to));
            break;
          case isa::Format::VectorStore:
            text += fmt::format("vst.f32 {}[{}], {}\n", ub, 512 * i, operand(0));
            break;
          case isa::Format::Slide:
            text += fmt::format("vslide.f32 {}, {}, 1\n", operand(to), operand(0));
            break;
          case isa::Format::Convert:
            text += fmt::format("vcvt.i32.f32 {}, {}\n", operand(to), operand(0));
            break;
          case isa::Format::Unary:
          case isa::Format::Reduction:
            text += fmt::format("{}.f32 {}, {}\n", row.mnemonic, operand(to), operand(0));
            break;
          default:
            text += fmt::format("{}.f32 {}, {}, {}\n", row.mnemonic, operand(to), operand(0), operand(0));
        }
      }
      add("{}barrier all\n", text);
      return;
    }
  }

  // Independent instructions of one port in a row, and of all ports together.
  void issue_slots() {
    if (target_.form == OperandForm::ub) {
      const std::string& ub = target_.spaces[target_.vector_space].name;
      for (unsigned i = 0; i < core_.vector.queue_depth + 4; ++i)
        add("vadd.f32 {0}[{1}], {0}[8192], {0}[8192] {{repeat=4}}\n", ub, 32 * i);
      add("vadd.f32 {0}[0], {0}[8192], {0}[8192] {{a_block=8}}\n", ub);
      add("barrier all\n");
      return;
    }
    const std::string& ub = target_.spaces[target_.vector_space].name;
    const unsigned group = target_.operation_bits / target_.register_bits;
    const auto wide = target_.operation_bits / 8;
    for (unsigned i = 0; i < 8; ++i) add("vld.u8 v{}, {}[{}]\n", i * group, ub, i * wide);
    add("barrier all\n");
    for (unsigned i = 0; i < 8; ++i) add("vst.u8 {}[{}], v{}\n", ub, i * wide, i * group);
    add("barrier all\n");
    for (unsigned i = 0; i < 8; ++i) add("vmov.u8 v{}, v{}\n", i * group, 8 * group);
    add("barrier all\n");
    for (unsigned i = 0; i < 8; ++i) add("mov s{}, 1\n", 4 + i);
    add("barrier all\nmov s2, 0\nloop 12\n");
    add("vld.u8 v0, {0}[0]\nvmov.u8 v{1}, v{2}\nvst.u8 {0}[512], v{3}\nadd s2, s2, 1\nvmov.u8 v{4}, "
        "v{2}\nmov s4, 1\nendloop\n",
        ub, group, 2 * group, 3 * group, 4 * group);
    // Conflicts: every element in the same bank, and in the same word.
    const config::BufferConfig& banks = core_.buffers.at(core_.vector.buffer);
    for (const unsigned stride : {banks.bank_bytes * banks.banks, banks.bank_bytes, banks.bank_bytes + 1})
      for (unsigned n = 2; n <= std::min(wide, 8U); n += 3)
        add("vld.u8 v0, {}[0] {{stride={}, n={}}}\n", ub, stride, n);
    add("barrier all\n");
  }

  void copies_on(const isa::CopyPath& path) {
    const isa::Space& from = target_.spaces[path.from];
    const isa::Space& to = target_.spaces[path.to];
    const std::string other_core = from.remote() || to.remote() ? ", core=0" : "";
    const auto name = [&](const isa::Space& space, bool source) {
      return &space == &target_.spaces[isa::kGmSpace] ? std::string(source ? "A" : "y") : space.name;
    };
    const auto room = [&](std::uint8_t space) { return space == isa::kGmSpace ? kData : bytes(space); };
    const std::int64_t most = std::min({room(path.from), room(path.to), std::int64_t{32768}});
    const config::DmaEngineConfig& engine = core_.dma.at(target_.engines[path.engine]);
    const auto copy = [&](std::int64_t size, const std::string& mods) {
      add("copy {}[0], {}[0], {}{}\n", name(to, false), name(from, true), size,
          mods.empty() && other_core.empty()
              ? ""
              : fmt::format(" {{{}{}}}", mods.empty() ? "count=1" : mods, other_core));
    };
    copy(most, "");
    copy(std::min<std::int64_t>(most, 37), "");
    for (unsigned i = 0; i < engine.queue_depth + 6; ++i) copy(std::min<std::int64_t>(most, 96), "");
    const std::int64_t step = std::max({std::int64_t{8}, alignment(path.from), alignment(path.to)});
    copy(4, fmt::format("count=8, src_pitch={0}, dst_pitch={0}", step));
    if (path.from == isa::kGmSpace || path.to == isa::kGmSpace)
      copy(8, fmt::format("count=300, {}=64, {}={}", path.from == isa::kGmSpace ? "src_pitch" : "dst_pitch",
                          path.from == isa::kGmSpace ? "dst_pitch" : "src_pitch", 0));
    if ((path.layouts & isa::set_of(isa::Layout::nd2nz)) != 0) copy(64, "count=16, layout=nd2nz");
    if ((path.layouts & isa::set_of(isa::Layout::transpose16)) != 0) copy(512, "layout=transpose16");
    if (path.post && (path.layouts & isa::set_of(isa::Layout::nz2nd)) != 0)
      add("fixpipe.f16.f32 {}[0], {}[0], 16 {{count=16, layout=nz2nd}}\n", name(to, false), from.name);
    add("barrier all\n");
  }

  void product(const isa::MatrixShape& types, std::int64_t m, std::int64_t n, std::int64_t k) {
    const isa::MatrixLimits& limits = *target_.matrix;
    const PlainMatrix a{types.a, core_.matrix.a_layout, false, false, m, k, 0};
    const PlainMatrix b{types.b, core_.matrix.b_layout, false, false, k, n, 0};
    const PlainMatrix c{isa::accumulator(types.a), core_.matrix.c_layout, false, true, m, n, 0};
    const auto place = [&](std::int64_t at, unsigned space) {
      return (at + alignment(space) - 1) / alignment(space) * alignment(space);
    };
    const std::int64_t b_at = limits.b == limits.a ? place(a.bytes(), limits.b) : 0;
    const std::int64_t c_at = limits.c == limits.a ? place(b_at + b.bytes(), limits.c) : 0;
    if (a.bytes() > bytes(limits.a) || b_at + b.bytes() > bytes(limits.b) ||
        c_at + c.bytes() > bytes(limits.c))
      return;
    const std::string operands =
        fmt::format("{}[0], {}[{}], {}[{}]", target_.spaces[limits.a].name, target_.spaces[limits.b].name,
                    b_at, target_.spaces[limits.c].name, c_at);
    for (unsigned i = 0; i < core_.matrix.queue_depth + 4; ++i)
      add("gemm.{}{} {}, {}, {}, {}{}\n", isa::name(types.a),
          types.a == types.b ? "" : fmt::format(".{}", isa::name(types.b)), m, n, k, operands,
          i % 2 == 0 ? "" : " {accumulate=1}");
    add("barrier all\n");
  }

  const config::CoreTypeConfig& core_;
  const Target& target_;
  const std::int64_t far_;
  std::string text_;
};

// Without values, tensors may be large: rows of many banks.
std::int64_t far_bytes(const config::Machine& machine) {
  std::int64_t bytes = std::int64_t{1} << 26;
  while (bytes > static_cast<std::int64_t>(machine.gm.bytes / 4)) bytes /= 2;
  return bytes;
}

// One program for each core type, all cores or as many as the launch has.
template <class Write>
Probe probe(const config::Machine& machine, const std::string& name, std::uint32_t cores, Write&& write) {
  Probe result;
  result.name = name;
  result.timing_only = name != "classes" && name != "limits";
  const std::int64_t far = result.timing_only ? far_bytes(machine) : kData;
  result.text =
      fmt::format(".kernel probe/{}\n.tensor A u8 [{}] in\n.tensor y u8 [{}] inout\n", name, far, far);
  for (const auto& [type, core] : machine.core_types) {
    const Target target = config::make_target(machine, type);
    Body body(machine, target, far);
    result.text += fmt::format(".program core={}\n{}end\n", type, write(body));
  }
  const bool one_type = machine.core_types.size() == 1;
  result.cores = one_type ? std::min(cores, machine.core_types.begin()->second.count) : 0;
  return result;
}

}  // namespace

std::vector<Probe> probes(const config::Machine& machine) {
  const unsigned all_cores = machine.core_types.begin()->second.count;
  std::vector<Probe> all;
  all.push_back(probe(machine, "classes", 1, [](Body& body) { return body.classes(); }));
  all.push_back(probe(machine, "limits", 1, [](Body& body) { return body.limits(); }));
  all.push_back(probe(machine, "waits", all_cores, [](Body& body) { return body.waits(); }));
  all.push_back(probe(machine, "copies", 1, [](Body& body) { return body.copies(); }));
  all.push_back(probe(machine, "products", 1, [](Body& body) { return body.products(); }));
  all.push_back(probe(machine, "scattered", 2, [](Body& body) { return body.scattered(60, false); }));
  Probe whole;
  whole.name = "whole_gm";
  whole.text =
      fmt::format(".kernel probe/whole_gm\n.tensor A u8 [{}] in\nend\n", machine.gm.bytes / 4096 * 4096);
  whole.timing_only = true;
  all.push_back(whole);
  const std::int64_t turns = all_cores > 8 ? 40 : 100;
  all.push_back(probe(machine, "crowd", all_cores, [&](Body& body) { return body.scattered(turns, true); }));
  return all;
}

}  // namespace npulab::test
