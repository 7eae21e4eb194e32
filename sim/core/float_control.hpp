// SPDX-License-Identifier: Apache-2.0
// Exact float behaviour for a stretch of code, whatever the host process has set: a library built with
// fast-math in the same process may have switched on flush-to-zero.
#pragma once

#include <cfenv>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace npulab::core {

class FloatControl {
 public:
  FloatControl() : round_(std::fegetround()) {
    std::fesetround(FE_TONEAREST);
#if defined(__SSE__)
    control_ = _mm_getcsr();
    _mm_setcsr(kDefault);
#endif
  }
  ~FloatControl() {
#if defined(__SSE__)
    _mm_setcsr(control_);
#endif
    std::fesetround(round_);
  }
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;

 private:
  int round_;
#if defined(__SSE__)
  static constexpr unsigned kDefault = 0x1f80;  // nearest, all exceptions masked, no flush to zero
  unsigned control_ = 0;
#endif
};

}  // namespace npulab::core
