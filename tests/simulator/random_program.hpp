// SPDX-License-Identifier: Apache-2.0
// Random programs that end, each with its meaning in program order as a function: what a run must leave
// behind.
#pragma once

#include <fmt/format.h>

#include <functional>

#include "lane_reference.hpp"
#include "sim/config/machine.hpp"

namespace npulab::test {

// A core as a plain interpreter sees it.
struct PlainCore {
  std::array<std::int64_t, 32> s{};
  Bytes v;  // vector registers, one operation wide each
  Bytes ub;
  const Bytes* a = nullptr;
  Bytes* y = nullptr;
};

struct RandomProgram {
  std::string text;
  std::function<void(PlainCore&)> meaning;
  bool sound = true;          // every dependence has its flag and every address is good: values are known
  bool values_steer = false;  // timing-only is refused
};

// One core's part of the tensors: A is read everywhere, y from core * kPart on.
inline constexpr std::int64_t kPart = 2048;
inline constexpr std::int64_t kData = 1024;  // bytes of ub that programs work on
inline constexpr int kCores = 2;

class ProgramWriter {
 public:
  ProgramWriter(const config::CoreTypeConfig& core, std::uint64_t seed)
      : random_(seed),
        ub_form_(core.vector.operands == isa::OperandForm::ub),
        queued_(core.vector.queue_depth > 0),
        depth_(core.scalar.loop_depth),
        width_(ub_form_ ? 256 : core.vector.operation_bits / 8),
        broken_(random_() % 5 == 0) {}

  RandomProgram write() {
    text_ = fmt::format(".kernel test/random\n.tensor A u8 [{}] in\n.tensor y u8 [{}] inout\n", kPart,
                        kPart * kCores);
    std::vector<Effect> effects{prologue()};
    for (int i = 0; i < 3; ++i) {
      effects.push_back(statements(0));
      if (pick(4) == 0) text_ += "sync_cores\n";
    }
    effects.push_back(copy_out(0, 0, kData));
    text_ += "end\n";
    return {text_, in_order(std::move(effects)), sound_, values_steer_};
  }

  unsigned width() const { return width_; }

 private:
  using Effect = std::function<void(PlainCore&)>;

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[pick(all.size())];
  }
  static Effect in_order(std::vector<Effect> effects) {
    return [effects = std::move(effects)](PlainCore& core) {
      for (const Effect& effect : effects) effect(core);
    };
  }
  unsigned data() { return 2 + static_cast<unsigned>(pick(8)); }  // s2…s9
  unsigned vector() { return static_cast<unsigned>(pick(kVectors)); }

  Effect prologue();
  Effect statements(unsigned depth);
  Effect statement(unsigned depth);
  Effect scalar();
  Effect loop(unsigned depth);
  Effect branch(unsigned depth);
  Effect address(std::int64_t room, std::int64_t step);  // into s10: some offset with `room` bytes behind it
  Effect vector_op();
  Effect view_op();
  Effect vector_memory();
  Effect scalar_memory();
  Effect copy_in();
  Effect copy_out(std::int64_t from, std::int64_t to, std::int64_t bytes);
  // A line that a broken program may lack.
  void flag(const std::string& line) {
    if (broken_ && pick(12) == 0) {
      sound_ = false;
      return;
    }
    text_ += line;
  }

  static constexpr unsigned kVectors = 12;
  std::mt19937_64 random_;
  const bool ub_form_, queued_;
  const unsigned depth_;
  const unsigned width_;
  const bool broken_;
  std::string text_;
  bool sound_ = true;
  bool values_steer_ = false;
  int labels_ = 0;
  unsigned loops_ = 0;
};

inline ProgramWriter::Effect ProgramWriter::prologue() {
  text_ += fmt::format("core_id s0\nmul s1, s0, {}\n", kPart);
  std::vector<Effect> effects;
  for (unsigned reg = 2; reg < 12; ++reg) {
    const auto value = static_cast<std::int64_t>(pick(2) == 0 ? pick(100) : random_());
    text_ += fmt::format("mov s{}, {:#x}\n", reg, static_cast<std::uint64_t>(value));
    effects.emplace_back([reg, value](PlainCore& core) { core.s[reg] = value; });
  }
  text_ += fmt::format("copy ub[0], A[0], {}\nbarrier all\n", kData);
  effects.emplace_back([](PlainCore& core) { std::copy_n(core.a->begin(), kData, core.ub.begin()); });
  for (unsigned reg = 0; reg < kVectors && !ub_form_; ++reg) {
    text_ += fmt::format("vld.u8 v{}, ub[{}]\n", reg, reg * width_);
    effects.emplace_back(
        [reg, w = width_](PlainCore& core) { std::copy_n(&core.ub[reg * w], w, &core.v[reg * w]); });
  }
  return in_order(std::move(effects));
}

inline ProgramWriter::Effect ProgramWriter::statements(unsigned depth) {
  std::vector<Effect> effects;
  for (std::uint64_t i = 1 + pick(depth == 0 ? 8 : 5); i > 0; --i) effects.push_back(statement(depth));
  return in_order(std::move(effects));
}

inline ProgramWriter::Effect ProgramWriter::statement(unsigned depth) {
  switch (pick(12)) {
    case 0:
      return depth < 3 && loops_ < depth_ ? loop(depth) : scalar();
    case 1:
      return depth < 4 ? branch(depth) : scalar();
    case 2:
      return copy_in();
    case 3:
      return copy_out(static_cast<std::int64_t>(pick(8) * 32), static_cast<std::int64_t>(1024 + pick(512)),
                      1 + static_cast<std::int64_t>(pick(256)));
    case 4:
      return scalar_memory();
    case 5:
    case 6:
      return ub_form_ ? view_op() : vector_memory();
    case 7:
    case 8:
    case 9:
      return ub_form_ ? view_op() : vector_op();
    default:
      return scalar();
  }
}

inline ProgramWriter::Effect ProgramWriter::scalar() {
  using Function = std::uint64_t (*)(std::uint64_t, std::uint64_t);
  static const std::vector<std::pair<const char*, Function>> kRows{
      {"add", [](std::uint64_t a, std::uint64_t b) { return a + b; }},
      {"sub", [](std::uint64_t a, std::uint64_t b) { return a - b; }},
      {"mul", [](std::uint64_t a, std::uint64_t b) { return a * b; }},
      {"xor", [](std::uint64_t a, std::uint64_t b) { return a ^ b; }},
      {"min",
       [](std::uint64_t a, std::uint64_t b) {
         return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? a : b;
       }},
      {"shr", [](std::uint64_t a, std::uint64_t b) { return b < 64 ? a >> b : 0; }}};
  const auto& [mnemonic, function] = one_of(kRows);
  const unsigned dst = data();
  const unsigned a = data();
  const unsigned b = data();
  const bool number = pick(2) == 0;
  const std::int64_t value = static_cast<std::int64_t>(pick(200)) - 100;
  text_ += fmt::format("{} s{}, s{}, {}\n", mnemonic, dst, a,
                       number ? fmt::format("{}", value) : fmt::format("s{}", b));
  return [function = function, dst, a, b, number, value](PlainCore& core) {
    const std::int64_t second = number ? value : core.s[b];
    core.s[dst] = static_cast<std::int64_t>(
        function(static_cast<std::uint64_t>(core.s[a]), static_cast<std::uint64_t>(second)));
  };
}

inline ProgramWriter::Effect ProgramWriter::loop(unsigned depth) {
  ++loops_;
  const unsigned count = data();
  text_ += fmt::format("and s11, s{}, 3\nloop s11\n", count);
  Effect body = statements(depth + 1);
  text_ += "nop\nendloop\n";
  --loops_;
  return [count, body](PlainCore& core) {
    core.s[11] = core.s[count] & 3;
    for (std::int64_t turn = core.s[11]; turn > 0; --turn) body(core);
  };
}

inline ProgramWriter::Effect ProgramWriter::branch(unsigned depth) {
  const unsigned a = data();
  const unsigned b = data();
  const int label = labels_++;
  const bool less = pick(2) == 0;
  text_ += fmt::format("{} s{}, s{}, skip{}\n", less ? "blt" : "bne", a, b, label);
  Effect body = statements(depth + 1);
  text_ += fmt::format("skip{}:\nnop\n", label);
  return [a, b, less, body](PlainCore& core) {
    const bool taken = less ? core.s[a] < core.s[b] : core.s[a] != core.s[b];
    if (!taken) body(core);
  };
}

inline ProgramWriter::Effect ProgramWriter::address(std::int64_t room, std::int64_t step) {
  const unsigned from = data();
  const auto most = static_cast<std::uint64_t>((kData - room) / step);
  std::uint64_t mask = 1;
  while (mask * 2 - 1 <= most) mask *= 2;
  --mask;
  if (broken_ && pick(20) == 0) {
    sound_ = false;
    text_ += fmt::format("mov s10, s{}\n", from);  // anywhere
    return [](PlainCore&) {};
  }
  text_ += fmt::format("and s10, s{}, {}\nmul s10, s10, {}\n", from, mask, step);
  return [from, mask, step](PlainCore& core) {
    core.s[10] = (core.s[from] & static_cast<std::int64_t>(mask)) * step;
  };
}

inline ProgramWriter::Effect ProgramWriter::vector_op() {
  static const std::vector<Op> kOps{Op::Vadd,   Op::Vsub, Op::Vmul,  Op::Vmin, Op::Vfma,
                                    Op::Vcmplt, Op::Vsel, Op::Vrsum, Op::Vabs};
  static const std::vector<DType> kTypes{DType::f16, DType::f32, DType::i16, DType::u8};
  const Op op = one_of(kOps);
  const DType type = one_of(kTypes);
  const isa::InstructionInfo& row = isa::info(op);
  const std::size_t slots = isa::info(row.format).slots.size();
  const auto lanes = width_ * 8 / isa::bits(type);
  std::array<unsigned, 4> reg{vector(), vector(), vector(), vector()};
  LaneCall call{op, type};
  call.active = lanes;
  std::string mods;
  if (pick(4) == 0) {
    call.active = static_cast<std::int64_t>(pick(lanes + 1));
    mods = fmt::format(" {{n={}}}", call.active);
  } else if (pick(4) == 0) {
    call.mask = random_();
    mods = fmt::format(" {{mask={:#x}}}", *call.mask);
  }
  text_ += fmt::format("{}.{} v{}", row.mnemonic, isa::name(type), reg[0]);
  for (std::size_t slot = 1; slot < slots; ++slot) text_ += fmt::format(", v{}", reg[slot]);
  text_ += mods + "\n";
  return [call, reg, lanes, w = width_](PlainCore& core) {
    std::array<Lanes, 4> values;
    for (std::size_t slot = 0; slot < 4; ++slot)
      for (unsigned i = 0; i < lanes; ++i)
        values[slot].push_back(get_lane(call.type, core.v, reg[slot] * w, i));
    const Lanes result = computed(call, values[0], values[1], values[2], values[3]);
    for (unsigned i = 0; i < lanes; ++i) put_lane(call.type, core.v, reg[0] * w, i, result[i]);
  };
}

inline ProgramWriter::Effect ProgramWriter::view_op() {
  static const std::vector<Op> kOps{Op::Vadd, Op::Vsub, Op::Vmul, Op::Vmin, Op::Vfma, Op::Vcmplt, Op::Vabs};
  static const std::vector<DType> kTypes{DType::f16, DType::f32, DType::i16};
  const Op op = one_of(kOps);
  LaneCall call{op, one_of(kTypes)};
  const auto lanes = static_cast<unsigned>(width_ * 8 / isa::bits(call.type));
  const auto repeats = static_cast<unsigned>(pick(3));
  call.active = pick(3) == 0 ? static_cast<std::int64_t>(pick(lanes)) : std::int64_t{lanes};
  const bool binary = isa::info(isa::info(op).format).slots.size() == 3;
  std::array<std::size_t, 3> at{};
  for (std::size_t& offset : at) offset = pick(17) * 32;  // two repeats fit behind it
  text_ += fmt::format("{}.{} ub[{}], ub[{}]{} {{n={}, repeat={}}}\n", isa::info(op).mnemonic,
                       isa::name(call.type), at[0], at[1], binary ? fmt::format(", ub[{}]", at[2]) : "",
                       call.active, repeats);
  return [call, at, lanes, repeats](PlainCore& core) {
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      std::array<Lanes, 3> values;
      for (std::size_t slot = 0; slot < 3; ++slot)
        for (unsigned i = 0; i < lanes; ++i)
          values[slot].push_back(get_lane(call.type, core.ub, at[slot] + repeat * 256, i));
      const Lanes result = computed(call, values[0], values[1], values[2], {});
      for (unsigned i = 0; i < lanes; ++i) put_lane(call.type, core.ub, at[0] + repeat * 256, i, result[i]);
    }
  };
}

inline ProgramWriter::Effect ProgramWriter::vector_memory() {
  const bool load = pick(2) == 0;
  const unsigned reg = vector();
  const unsigned stride = pick(3) == 0 ? 3 : 1;
  Effect where = address(stride * (width_ - 1) + 1, 1);
  const std::string mods = stride == 1 ? "" : fmt::format(" {{stride={}}}", stride);
  text_ += load ? fmt::format("vld.u8 v{}, ub[s10]{}\n", reg, mods)
                : fmt::format("vst.u8 ub[s10], v{}{}\n", reg, mods);
  return [load, reg, stride, where, w = width_](PlainCore& core) {
    where(core);
    for (unsigned i = 0; i < w; ++i) {
      std::byte& in_ub = core.ub[static_cast<std::size_t>(core.s[10]) + i * stride];
      std::byte& in_register = core.v[reg * w + i];
      (load ? in_register : in_ub) = load ? in_ub : in_register;
    }
  };
}

inline ProgramWriter::Effect ProgramWriter::scalar_memory() {
  Effect where = address(4, ub_form_ ? 32 : 1);
  const unsigned reg = data();
  const bool load = pick(2) == 0;
  if (queued_) text_ += "barrier all\n";  // the vector unit may still be at it
  text_ += load ? fmt::format("lds.i32 s{}, ub[s10]\n", reg) : fmt::format("sts.i32 ub[s10], s{}\n", reg);
  values_steer_ = values_steer_ || load;
  return [where, reg, load](PlainCore& core) {
    where(core);
    auto value = static_cast<std::int32_t>(core.s[reg]);
    std::byte* at = &core.ub[static_cast<std::size_t>(core.s[10])];
    if (!load) {
      std::memcpy(at, &value, sizeof value);
      return;
    }
    std::memcpy(&value, at, sizeof value);
    core.s[reg] = value;
  };
}

inline ProgramWriter::Effect ProgramWriter::copy_in() {
  const auto bytes = static_cast<std::int64_t>(pick(120));
  const auto count = 1 + static_cast<std::int64_t>(pick(3));
  const auto from = static_cast<std::int64_t>(pick(1000));
  const auto to = static_cast<std::int64_t>(pick(8) * 32);
  const auto pitch = static_cast<std::int64_t>(pick(3) * 160);
  const auto id = pick(2);
  flag(fmt::format("set_flag vector, mte2, {}\n", id));
  flag(fmt::format("wait_flag vector, mte2, {}\n", id));
  text_ += fmt::format("copy ub[{}], A[{}], {} {{count={}, src_pitch={}, dst_pitch=128}}\n", to, from, bytes,
                       count, pitch);
  flag(fmt::format("set_flag mte2, vector, {}\n", id));
  Effect meanwhile = pick(2) == 0 ? scalar() : [](PlainCore&) {};
  flag(fmt::format("wait_flag mte2, vector, {}\n", id));
  return [=](PlainCore& core) {
    for (std::int64_t row = 0; row < count; ++row)
      std::copy_n(core.a->begin() + from + row * pitch, bytes, core.ub.begin() + to + row * 128);
    meanwhile(core);
  };
}

inline ProgramWriter::Effect ProgramWriter::copy_out(std::int64_t from, std::int64_t to, std::int64_t bytes) {
  flag("set_flag vector, mte3, 0\n");
  flag("wait_flag vector, mte3, 0\n");
  text_ += fmt::format("copy y[s1 + {}], ub[{}], {}\n", to, from, bytes);
  flag("set_flag mte3, vector, 0\n");
  flag("wait_flag mte3, vector, 0\n");
  return
      [=](PlainCore& core) { std::copy_n(core.ub.begin() + from, bytes, core.y->begin() + core.s[1] + to); };
}

}  // namespace npulab::test
