// SPDX-License-Identifier: Apache-2.0
#include "isa/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isa/cursor.hpp"
#include "isa/launch.hpp"
#include "isa/syntax.hpp"

namespace npulab::isa {

namespace {

constexpr std::size_t kNoLoop = static_cast<std::size_t>(-1);

class FlowChecker {
 public:
  FlowChecker(const Program& program, const Target& target, std::span<const SourceFile> files)
      : program_(program), target_(target), files_(files), innermost_(program.instructions.size(), kNoLoop) {}

  std::vector<Finding> run() {
    const std::size_t size = program_.instructions.size();
    if (size == 0) {
      say(0, {}, "missing-end", "the program has no instruction; the shortest one is 'end'");
      return std::move(findings_);
    }
    loops();
    for (std::size_t at = 0; at < size; ++at) instruction(at);
    const Op last = program_.instructions.back().op;
    if (last != Op::End && last != Op::Jmp)
      say(size - 1, {}, "missing-end",
          "the program runs off its end after this instruction; write 'end' behind it");
    return std::move(findings_);
  }

 private:
  void say(std::size_t at, Part part, std::string code, std::string message) {
    findings_.push_back({at, part, std::move(code), std::move(message)});
  }
  // The line of an instruction for a message about another one.
  std::string line_of(std::size_t other, std::size_t at) const {
    const SourcePlace place = place_of(program_, other);
    if (place.line == 0) return fmt::format("instruction {}", other);
    const std::uint32_t here = place_of(program_, at).file;
    return line_text(place, files_, here < files_.size() ? files_[here].name : std::string_view());
  }
  std::size_t end_of(std::size_t loop) const {
    return static_cast<std::size_t>(program_.instructions[loop].operands[1].imm);
  }

  // Whether the body of a loop consists of print, assert and region alone.
  bool takes_no_time(std::size_t loop, std::int64_t end) const {
    const auto& all = program_.instructions;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(loop) + 1;
    const auto last = all.begin() + std::clamp<std::int64_t>(end, 0, static_cast<std::int64_t>(all.size()));
    return first < last && std::all_of(first, last, [](const Instruction& in) {
             return info(in.op).cost == CostClass::Free;
           });
  }

  void loops() {
    std::vector<std::size_t> open;
    for (std::size_t at = 0; at < program_.instructions.size(); ++at) {
      while (!open.empty() && end_of(open.back()) <= at) open.pop_back();
      if (!open.empty()) innermost_[at] = open.back();
      if (program_.instructions[at].op != Op::Loop) continue;
      const std::int64_t end = program_.instructions[at].operands[1].imm;
      const auto first = static_cast<std::int64_t>(at) + 1;
      const Part part{PartKind::operand, 1};
      if (end == first) {
        say(at, {}, "empty-loop", "the body of this loop is empty");
      } else if (takes_no_time(at, end)) {
        say(at, {}, "timeless-loop",
            "nothing in the body of this loop takes time, and its turns take none: put a nop or any other "
            "instruction into it");
      } else if (end < first || end >= static_cast<std::int64_t>(program_.instructions.size())) {
        say(at, part, "loop-end",
            fmt::format("the loop ends at instruction {}, which is not behind it in the program; "
                        "an instruction must follow {}",
                        end, kEndLoop));
      } else if (!open.empty() && end > static_cast<std::int64_t>(end_of(open.back()))) {
        say(at, part, "loop-end",
            fmt::format("the loop ends behind the loop of {} around it", line_of(open.back(), at)));
      } else {
        open.push_back(at);
        if (open.size() == target_.loop_depth + std::size_t{1})
          say(at, {}, "loop-depth",
              fmt::format("this is loop {} within each other; machine '{}' nests {}", open.size(),
                          target_.machine, target_.loop_depth));
      }
    }
  }

  void instruction(std::size_t at) {
    const Instruction& in = program_.instructions[at];
    if (in.op == Op::End && innermost_[at] != kNoLoop)
      say(at, {}, "end-in-loop", fmt::format("'end' stands in the loop of {}", line_of(innermost_[at], at)));
    if (in.op == Op::Loop) return;
    for (std::size_t i = 0; i < in.operand_count; ++i) {
      if (in.operands[i].kind != OperandKind::target) continue;
      const std::int64_t to = in.operands[i].imm;
      const Part part{PartKind::operand, i};
      const auto size = static_cast<std::int64_t>(program_.instructions.size());
      if (to == size)
        say(at, part, "jump-range", "jumps behind the last instruction; no instruction follows this label");
      else if (to < 0 || to > size)
        say(at, part, "jump-range",
            fmt::format("jumps to instruction {}; the program has 0…{}", to, size - 1));
      else
        jump(at, static_cast<std::size_t>(to), part);
    }
  }

  void jump(std::size_t at, std::size_t to, Part part) {
    const std::size_t from_loop = innermost_[at];
    const std::size_t to_loop = innermost_[to];
    if (from_loop == to_loop) return;
    const bool leaves = from_loop != kNoLoop && (to <= from_loop || to >= end_of(from_loop));
    if (leaves)
      say(at, part, "loop-jump",
          fmt::format("jumps to {}, out of the loop of {}; to go on with its next turn, jump to a nop "
                      "before {}",
                      line_of(to, at), line_of(from_loop, at), kEndLoop));
    else
      say(at, part, "loop-jump",
          fmt::format("jumps to {}, into the loop of {}", line_of(to, at), line_of(to_loop, at)));
  }

  const Program& program_;
  const Target& target_;
  std::span<const SourceFile> files_;
  std::vector<std::size_t> innermost_;  // loop around each instruction
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_flow(const Program& program, const Target& target,
                                std::span<const SourceFile> files) {
  return FlowChecker(program, target, files).run();
}

const Target& target_for(const std::string& core_type, const Target& target, std::span<const Target> others) {
  if (core_type.empty() || core_type == target.core_type) return target;
  std::vector<std::string> known{target.core_type};
  for (const Target& other : others) {
    if (other.core_type == core_type) return other;
    known.push_back(other.core_type);
  }
  throw Error(Category::input, "unknown-core-type",
              fmt::format("machine '{}' has no core type '{}'{}", target.machine, core_type,
                          suggestion(core_type, known)));
}

std::string fingerprint_for(const Kernel& kernel, const Target& target, std::span<const Target> others) {
  std::vector<const Target*> used;
  for (const Program& program : kernel.programs) {
    const Target* own = &target_for(program.core_type, target, others);
    if (std::find(used.begin(), used.end(), own) == used.end()) used.push_back(own);
  }
  return fingerprint(used);
}

void check(const Kernel& kernel, const Target& target, std::span<const Target> other_core_types) {
  if (!kernel.built_for.empty() && kernel.built_for != fingerprint_for(kernel, target, other_core_types))
    throw Error(Category::input, "other-machine",
                fmt::format("kernel {} was assembled for machine {}, not for {}: assemble it anew",
                            kernel.header.name, kernel.built_for.substr(0, kernel.built_for.rfind(' ')),
                            target.machine),
                {kernel.source_name, 0, 0});
  Problems problems;
  try {
    for (const Program& program : kernel.programs) {
      const Target& own = target_for(program.core_type, target, other_core_types);
      const auto report = [&](const std::vector<Finding>& findings, std::size_t offset) {
        for (const Finding& finding : findings) {
          const std::size_t at = finding.instruction + offset;
          Where where = kernel.where(program, at);
          std::string message = finding.message;
          if (where.line == 0) {
            where.column = static_cast<int>(at) + 1;
            message = fmt::format("instruction {}: {}", at, message);
          }
          problems.add(std::move(where), finding.code, std::move(message));
        }
      };
      bool sound = true;
      for (std::size_t at = 0; at < program.instructions.size(); ++at) {
        const std::vector<Finding> shape = check_shape(program.instructions[at], program.strings.size());
        report(shape, at);
        sound = sound && shape.empty();
        if (shape.empty()) report(check_machine(program.instructions[at], kernel.header, own), at);
      }
      if (sound) report(check_flow(program, own, kernel.files), 0);
    }
    if (kernel.programs.empty())
      problems.add({kernel.source_name}, "missing-end", "the kernel has no program");
  } catch (const Stop&) {
    // The most errors are collected.
  }
  problems.raise();
  launch_parts(kernel, target, other_core_types);
}

void check(const Kernel& kernel, const Target& target) {
  check(kernel, target, {});
}

}  // namespace npulab::isa
