// SPDX-License-Identifier: Apache-2.0
// Copies of random programs: rows and planes with pitches of every sign, filling, fractals, three streams at
// once.
#include <fmt/format.h>

#include <algorithm>

#include "isa/table.hpp"
#include "tests/fuzz/random_program.hpp"

namespace npulab::test {

namespace {

// One side of a copy: where its rows lie, seen from the first one.
struct Side {
  std::int64_t pitch = 0, pitch2 = 0;
  std::int64_t low = 0, high = 0;  // bytes before and behind the first row's start

  void measure(std::int64_t row, std::int64_t count, std::int64_t count2) {
    const std::int64_t rows = pitch * std::max<std::int64_t>(count - 1, 0);
    const std::int64_t planes = pitch2 * std::max<std::int64_t>(count2 - 1, 0);
    low = -std::min<std::int64_t>(rows, 0) - std::min<std::int64_t>(planes, 0);
    high = std::max<std::int64_t>(rows, 0) + std::max<std::int64_t>(planes, 0) + row;
  }
};

}  // namespace

void ProgramWriter::transfer() {
  std::vector<const isa::CopyPath*> paths;
  for (const isa::CopyPath& path : target_.paths)
    if (path.from == isa::kGmSpace || regions_[path.from].written) paths.push_back(&path);
  const isa::CopyPath& path = *choices_.one_of(paths);
  if ((path.layouts & isa::set_of(isa::Layout::nd2nz)) != 0 && choices_.one_in(3)) return fractals(path);
  const std::int64_t bytes = choices_.between(0, 150);
  const std::int64_t count = choices_.one_in(3) ? choices_.between(0, 4) : 1;
  const std::int64_t count2 = choices_.one_in(6) ? choices_.between(0, 3) : 1;
  const std::int64_t pad_to = choices_.one_in(5) ? bytes + choices_.between(0, 9) : 0;
  const auto side = [&](std::uint8_t space, std::int64_t row) {
    Side result;
    const std::int64_t unit = space == isa::kGmSpace ? 1 : regions_[space].alignment;
    const std::int64_t room = space == isa::kGmSpace ? kPart / 2 : regions_[space].bytes;
    for (std::int64_t most = 170; most >= 0; most -= 34) {
      result.pitch = count > 1 ? choices_.between(-most / unit, most / unit) * unit : 0;
      result.pitch2 = count2 > 1 ? choices_.between(-most / unit, most / unit) * unit : 0;
      result.measure(row, count, count2);
      if (result.low + result.high + unit <= room) break;
    }
    return result;
  };
  const Side from = side(path.from, bytes);
  const Side to = side(path.to, std::max(bytes, pad_to));
  if (path.to != isa::kGmSpace && to.low + to.high > regions_[path.to].bytes) return scalar();
  if (path.from != isa::kGmSpace && from.low + from.high > regions_[path.from].bytes) return scalar();
  const auto place = [&](std::uint8_t space, const Side& at, bool write) {
    if (space != isa::kGmSpace) return view(space, at.high, write, at.low);
    return tensor_view(write || choices_.one_in(4), at.high, write, at.low);
  };
  const View src = place(path.from, from, false);
  const View dst = place(path.to, to, true);
  std::string mods =
      fmt::format("count={}, count2={}, src_pitch={}, dst_pitch={}, src_pitch2={}, dst_pitch2={}",
                  given(count), count2, from.pitch, to.pitch, from.pitch2, to.pitch2);
  if (pad_to > 0) mods += fmt::format(", pad_to={}", pad_to);
  const bool plain = count == 1 && count2 == 1 && pad_to == 0;
  emit(path.engine, {src.reach, dst.reach},
       fmt::format("copy {}, {}, {}{}\n", dst.text, src.text, bytes, plain ? "" : " {" + mods + "}"));
}

// Rows that become columns of fractals.
void ProgramWriter::fractals(const isa::CopyPath& path) {
  const std::int64_t columns = choices_.between(1, 2);
  const std::int64_t bytes = columns * isa::kPieceBytes - choices_.between(0, 5);
  const std::int64_t count = choices_.between(1, isa::kFractalRows);
  const std::int64_t extent = columns * isa::kFractalBytes;
  const std::int64_t pitch = choices_.between(0, 60);
  if (extent > regions_[path.to].bytes) return scalar();
  const std::int64_t reach = (count - 1) * pitch + bytes;
  if (path.from != isa::kGmSpace && reach > regions_[path.from].bytes) return scalar();
  const View src =
      path.from == isa::kGmSpace ? tensor_view(false, reach, false, 0) : view(path.from, reach, false);
  const View dst = view(path.to, extent, true);
  emit(path.engine, {src.reach, dst.reach},
       fmt::format("copy {}, {}, {} {{count={}, src_pitch={}, layout=nd2nz}}\n", dst.text, src.text, bytes,
                   given(count), pitch));
}

// Reads what the next core wrote in the last phase.
void ProgramWriter::neighbour() {
  for (const isa::CopyPath& path : target_.paths) {
    if (path.from != isa::kGmSpace) continue;
    const std::int64_t bytes = choices_.between(1, 120);
    const std::int64_t half = (phase_ + 1) % 2 * (kPart / 2);
    const std::int64_t at = half + choices_.between(0, kPart / 2 - bytes);
    const View dst = view(path.to, bytes, true);
    line(fmt::format("add s27, s0, 1\ncore_count s28\nrem s27, s27, s28\nmul s27, s27, {}\n", kPart));
    emit(path.engine, {dst.reach, {Access::kFirstTensor + 2, at, at + bytes, false}},
         fmt::format("copy {}, y[s27 + {}], {}\n", dst.text, at, bytes));
    return;
  }
}

// Copies in, vector code and copies out of several turns at once, on two halves of the buffer.
void ProgramWriter::pipeline() {
  const unsigned ub = target_.vector_space;
  const isa::CopyPath* in = nullptr;
  const isa::CopyPath* out = nullptr;
  for (const isa::CopyPath& path : target_.paths) {
    if (path.from == isa::kGmSpace && path.to == ub) in = &path;
    if (path.from == ub && path.to == isa::kGmSpace) out = &path;
  }
  if (in == nullptr || out == nullptr || in->engine == out->engine || target_.flag_ids < 2) return scalar();
  const bool views = target_.form == isa::OperandForm::ub;
  const std::string& name = target_.spaces[ub].name;
  const std::int64_t width = views ? 32 : target_.operation_bits / 8;
  const std::int64_t most = 256 / width;
  const std::int64_t bytes = width * choices_.between(1, std::min<std::int64_t>(most, 6));
  const std::int64_t turns = choices_.between(0, kPart / 2 / 256);
  constexpr std::int64_t kSlot = 256, kResults = 512;
  const std::string& engine_in = target_.engines[in->engine];
  const std::string& engine_out = target_.engines[out->engine];
  everything_over();
  for (int id = 0; id < 2; ++id) {
    flag(fmt::format("set_flag vector, {}, {}\n", engine_in, id));
    flag(fmt::format("set_flag {}, vector, {}\n", engine_out, id));
  }
  line(fmt::format(
      "mov s12, 0\nloop {}\nand s13, s12, 1\nmul s14, s13, {}\nmul s15, s12, {}\nadd s16, s15, s1\n", turns,
      kSlot, bytes));
  flag(fmt::format("wait_flag vector, {}, s13\n", engine_in));
  line(fmt::format("copy {}[s14], A[s15 + {}], {}\n", name, choices_.between(0, 1000), bytes));
  flag(fmt::format("set_flag {}, vector, s13\n", engine_in));
  flag(fmt::format("wait_flag {}, vector, s13\n", engine_in));
  flag(fmt::format("wait_flag {}, vector, s13\n", engine_out));
  if (views) {
    line(fmt::format("vadd.u8 {0}[s14 + {1}], {0}[s14], {0}[s14] {{n={2}}}\n", name, kResults, bytes));
  } else {
    const unsigned reg = vector_register(1);
    for (std::int64_t at = 0; at < bytes; at += width)
      line(fmt::format("vld.u8 v{0}, {1}[s14 + {2}]\nvadd.u8 v{0}, v{0}, v{0}\nvst.u8 {1}[s14 + {3}], v{0}\n",
                       reg, name, at, kResults + at));
  }
  flag(fmt::format("set_flag vector, {}, s13\n", engine_in));
  flag(fmt::format("set_flag vector, {}, s13\n", engine_out));
  flag(fmt::format("wait_flag vector, {}, s13\n", engine_out));
  line(fmt::format("copy y[s16 + {}], {}[s14 + {}], {}\n", phase_ % 2 * (kPart / 2), name, kResults, bytes));
  flag(fmt::format("set_flag {}, vector, s13\n", engine_out));
  line("add s12, s12, 1\nendloop\n");
  for (int id = 0; id < 2; ++id) {
    flag(fmt::format("wait_flag vector, {}, {}\n", engine_in, id));
    flag(fmt::format("wait_flag {}, vector, {}\n", engine_out, id));
  }
  everything_over();
}

}  // namespace npulab::test
