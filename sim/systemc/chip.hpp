// SPDX-License-Identifier: Apache-2.0
// All cores of a launch on one time axis, and what they share: the barrier of all cores, progress, messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/systemc/core_unit.hpp"
#include "sim/systemc/dma_engine.hpp"
#include "sim/systemc/front_end.hpp"
#include "sim/systemc/matrix_engine.hpp"
#include "sim/systemc/vector_engine.hpp"

namespace npulab::systemc {

// What the host wants to hear while a run goes on. Empty functions are not called.
struct Listener {
  std::function<void(std::uint64_t cycle, std::uint64_t stored_bytes)>
      poll;  // now and then; may throw to stop the run
  std::function<void(const std::string& line)> print;
};

struct RegionMark {
  std::string name;
  std::uint32_t core = 0;
  std::uint64_t cycle = 0;  // since the start of the run
};

class Chip {
 public:
  // `construction`: the order in which cores are built, a permutation of 0…cores-1; results do not depend on
  // it.
  Chip(Session& session, const Shared& shared, std::uint32_t cores, Listener listener,
       const std::vector<std::uint32_t>& construction);

  // Runs the program once on every core, from the next free cycle on. Errors: stall "stall" with where every
  // engine stands; whatever the engines throw.
  void run(Session& session);
  // Of the last run.
  std::uint64_t start_cycle() const { return start_; }
  std::uint64_t cycles() const { return end_ - start_; }
  std::vector<std::unique_ptr<CoreUnit>>& cores() { return cores_; }
  const std::vector<RegionMark>& regions() const { return regions_; }

  // Services to the cores.
  void arrive(std::uint64_t cycle);
  void core_done() { ++done_; }
  void stored(std::uint64_t bytes) { stored_ += bytes; }
  void poll(std::uint64_t cycle);
  void print(const std::string& line);
  void region(const std::string& name, std::uint32_t core, std::uint64_t cycle);

 private:
  [[noreturn]] void report_stall() const;

  const Shared& shared_;
  Listener listener_;
  std::vector<std::unique_ptr<DmaPort>> ports_;
  std::vector<std::unique_ptr<CoreUnit>> cores_;
  std::vector<RegionMark> regions_;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t barrier_cycle_ = 0;
  std::uint32_t arrived_ = 0;
  std::uint32_t done_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t printed_ = 0;
};

}  // namespace npulab::systemc
