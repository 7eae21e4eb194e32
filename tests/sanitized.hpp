// SPDX-License-Identifier: Apache-2.0
// Whether the tests are built with AddressSanitizer: an order slower, so the longest ones do less there.
#pragma once

namespace npulab::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace npulab::test
