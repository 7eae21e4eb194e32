// SPDX-License-Identifier: Apache-2.0
// What is said of a run in which nothing can go on: for every engine where it stands, what it waits for and
// who should have signalled, and the circle of waits where there is one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/systemc/chip.hpp"

namespace npulab::systemc {

class StallReport {
 public:
  explicit StallReport(Chip& chip);

  // A line for each engine that is not done, with two blanks before it.
  std::string standings() const;
  // "they wait for one another" with a line for each wait; empty when there is no circle.
  std::string circle() const;
  // Where the first core that is not done stands.
  Where first() const;

 private:
  // An engine of a core; the front end and what runs in step with it is engine 0.
  struct Node {
    CoreUnit* core;
    std::uint8_t engine;
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Edge {
    Node to;
    std::string why;  // "which mte2 sets at k.npu:7, behind its own wait"
  };

  const Process& process(const Node& node) const;
  std::optional<Standing> standing(const Node& node) const;
  std::vector<const QueueEntry*> pending(const Node& node) const;
  std::string name(const Node& node) const;
  std::string place(const Node& node, std::uint32_t pc) const;
  std::string line(const Node& node, const Standing& standing) const;
  // "waits for flag mte2>vector id 0", without who should have signalled.
  std::string wish(const Node& node, const Standing& standing) const;
  std::string flag_signallers(const Node& node, const Standing& standing) const;
  std::string semaphore_signallers(const Standing& standing) const;
  // The engines that the node waits for.
  std::vector<Edge> edges(const Node& node) const;
  void flag_edge(const Node& node, const Standing& standing, std::vector<Edge>& edges) const;
  void semaphore_edges(const Standing& standing, std::vector<Edge>& edges) const;
  void core_edges(std::vector<Edge>& edges) const;
  // Whether the stream of a core can come to such an instruction from where it stands.
  bool comes_to(const Node& front, const std::function<bool(const core::MicroOp&)>& wanted) const;

  Chip& chip_;
  std::vector<Node> nodes_;  // that are not done, by core and engine
};

}  // namespace npulab::systemc
