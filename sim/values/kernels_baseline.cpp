// SPDX-License-Identifier: Apache-2.0
// The kernels for any host: 16-byte vectors, no fused multiply-add.
#define NPULAB_KERNEL_PATH baseline
#define NPULAB_VECTOR_BYTES 16
#include "sim/values/kernel/all.inc"
