// SPDX-License-Identifier: Apache-2.0
// From the counters of a chip to the figures of a report.
#pragma once

#include "sim/dram/gm_model.hpp"
#include "sim/report/report.hpp"
#include "sim/systemc/chip.hpp"

namespace npulab::systemc {

// Fills cycles, time, instructions, flops, memories, engines, bound, hot spots, regions and diagnostics of
// `report`. `model` null: a foreign memory, of which only the requested bytes are known.
void collect(Chip& chip, dram::GmModel* model, report::Report& report);

}  // namespace npulab::systemc
