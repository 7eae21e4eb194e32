// SPDX-License-Identifier: Apache-2.0
// Functions of a double that references need, without libm: the same bits on every host. Relative error below
// 2^-45.
#pragma once

namespace npulab::kernels {

double exp_of(double x);
double log_of(double x);  // NaN below 0, -inf at 0
double tanh_of(double x);
double erf_of(double x);

}  // namespace npulab::kernels
