// SPDX-License-Identifier: Apache-2.0
#include "sim/core/post.hpp"

#include <cstring>

namespace npulab::core {

using isa::DType;
using isa::Mod;
using isa::Op;

PostOperations::PostOperations(const MicroOp& op, const Transfer& transfer, bool saturate)
    : count_(transfer.dst_bytes / transfer.dst_element), out_bytes_(transfer.dst_bytes) {
  room_.resize(count_ * sizeof(float));  // no type is wider
  values::LaneModes modes;
  modes.saturate = saturate;
  values::LaneModes one_for_all = modes;
  one_for_all.broadcast = true;
  DType type = op.type2;
  if (op.has(Mod::scale) || op.has(Mod::scale_at)) {
    if (type != DType::f32) {
      widen_ = values::lane_function(Op::Vcvt, DType::f32, type, {});  // exact but for i32: infinity stays
      type = DType::f32;
    }
    multiply_ = values::lane_function(Op::Vmul, type, DType::none, op.has(Mod::scale) ? one_for_all : modes);
    if (transfer.scale) std::memcpy(scale_.data(), &*transfer.scale, scale_.size());
  }
  if (op.has(Mod::relu) && op.mod(Mod::relu).value == 1)
    relu_ = values::lane_function(Op::Vmax, type, DType::none, one_for_all);
  if (type != op.type) {
    if (op.has(Mod::round)) modes.round = static_cast<isa::Round>(op.mod(Mod::round).value);
    convert_ = values::lane_function(Op::Vcvt, op.type, type, modes);
  }
}

void PostOperations::apply(std::byte* out, const std::byte* in, const std::byte* scales) {
  const std::byte* now = in;
  if (widen_ != nullptr) {
    widen_(room_.data(), now, nullptr, nullptr, count_);
    now = room_.data();
  }
  if (multiply_ != nullptr) {
    multiply_(room_.data(), now, scales != nullptr ? scales : scale_.data(), nullptr, count_);
    now = room_.data();
  }
  constexpr std::array<std::byte, 4> kZero{};
  if (relu_ != nullptr) {
    relu_(room_.data(), now, kZero.data(), nullptr, count_);
    now = room_.data();
  }
  if (convert_ != nullptr)
    convert_(out, now, nullptr, nullptr, count_);
  else
    std::memcpy(out, now, out_bytes_);
}

}  // namespace npulab::core
