// SPDX-License-Identifier: Apache-2.0
// The counters of device memory as rows for the reference page of reports.
#pragma once

#include <vector>

#include "sim/report/report.hpp"

namespace npulab::dram {

std::vector<report::Figure> gm_figures();

}  // namespace npulab::dram
