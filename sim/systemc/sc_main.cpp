// SPDX-License-Identifier: Apache-2.0
// libsystemc exports a main that calls sc_main, so sc_main must exist at load time even where nobody calls
// it.

// Visible also from a Python module, which is built with hidden visibility.
extern "C" __attribute__((visibility("default"))) int sc_main(int, char**) {
  return 0;
}
