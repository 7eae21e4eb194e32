// SPDX-License-Identifier: Apache-2.0
// docs/isa.md is what the tables say, and its example assembles.
#include "isa/reference.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

// NPULAB_UPDATE=1 in the environment writes the page first.
TEST(Reference, DocumentIsTheGeneratorsOutput) {
  const std::string path = std::string(NPULAB_SOURCE_DIR) + "/docs/isa.md";
  const std::string expected = reference_markdown();
  if (std::getenv("NPULAB_UPDATE") != nullptr) std::ofstream(path) << expected;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == expected) << "docs/isa.md is out of date: run this test with NPULAB_UPDATE=1";
}

TEST(Reference, EveryInstructionHasItsSection) {
  const std::string text = reference_markdown();
  for (const InstructionInfo& row : instructions())
    EXPECT_NE(text.find("\n### " + std::string(row.mnemonic) + "\n"), std::string::npos) << row.mnemonic;
}

TEST(Reference, ExampleAssembles) {
  const std::string text = reference_markdown();
  const std::size_t begin = text.find("```\n") + 4;
  const Kernel kernel = test::assembled(text.substr(begin, text.find("```", begin) - begin));
  EXPECT_EQ(kernel.header.name, "axpy");
}

}  // namespace
}  // namespace npulab::isa
