// SPDX-License-Identifier: Apache-2.0
// The kernels for x86-64 hosts with AVX2, F16C and FMA; compiled with those flags, called only where they
// exist.
#define NPULAB_KERNEL_PATH avx2
#define NPULAB_VECTOR_BYTES 32
#include "sim/values/kernel/all.inc"
