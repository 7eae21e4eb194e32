// SPDX-License-Identifier: Apache-2.0
// Reading a kernel's header without a machine, parameters and their overrides, programs for several core
// types.
#include <gtest/gtest.h>

#include "isa/check.hpp"
#include "tests/isa/target_helper.hpp"

namespace npulab::isa {
namespace {

using test::refusal;

std::string header_refusal(const std::string& text, const ParamValues& overrides = {}) {
  try {
    read_header({"k.npu", text}, overrides);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Header, IsReadWithoutAMachineAndWithoutTheBody) {
  const KernelHeader header = read_header({"lib/gemv_x.npu", R"(
.doc "what"
.param M = 4 in 1..8
.const WIDE = OPBYTES / 2
.const ROWS = M * 2
.require WIDE > 3, "checked on a machine only"
.if M > 4
.tensor big f32 [ROWS] in
.else
.tensor A f32 [ROWS, 3] in
.endif
.buffer x nosuchspace WIDE
this is not read
)"},
                                          {{"M", 3}});
  EXPECT_EQ(header.name, "gemv_x");
  EXPECT_EQ(header.params.at(0).value, 3);
  EXPECT_EQ(header.params.at(0).default_value, 4);
  EXPECT_EQ(header.tensors.at(0).shape, (std::vector<std::int64_t>{6, 3}));
}

TEST(Header, MustNotDependOnTheMachine) {
  EXPECT_EQ(header_refusal(".const W = VREGS + 1\n.tensor A f32 [W] in\nend\n"),
            "k.npu:2:16: 'W' depends on the machine; the header of a kernel must not");
  EXPECT_EQ(header_refusal(".param A = CORES\nend\n"),
            "k.npu:1:12: 'CORES' depends on the machine; the header of a kernel must not");
  EXPECT_EQ(header_refusal(".if size(ub) > 3\n.endif\nend\n"),
            "k.npu:1:10: 'ub' depends on the machine; the header of a kernel must not");
}

TEST(Header, OverridesAreChecked) {
  const std::string text = ".param ROWS = 4 in 1..8\n.param K = ROWS + 1\n.tensor A f32 [K] in\nend\n";
  EXPECT_EQ(test::assembled(text, test::register_machine(), {{"ROWS", 7}}).header.tensors.at(0).shape.at(0),
            8);
  EXPECT_EQ(refusal(text, test::register_machine(), {{"ROWS", 9}}).text,
            "k.npu:1:8: parameter ROWS = 9 is not in 1..8");
  EXPECT_EQ(refusal(text, test::register_machine(), {{"ROW", 2}}).text,
            "k.npu: kernel 'k' has no parameter 'ROW'; did you mean 'ROWS'?");
  EXPECT_EQ(header_refusal(text, {{"Z", 2}}), "k.npu: kernel 'k' has no parameter 'Z'; did you mean 'K'?");
  EXPECT_EQ(header_refusal("end\n", {{"Z", 2}}), "k.npu: kernel 'k' has no parameter 'Z'; it has none");
}

TEST(Header, TensorsOfDimensionZeroAndOne) {
  const Kernel kernel = test::assembled(
      ".tensor A f16 [0, 5] in\n.tensor b i4 [3] out\n.tensor c f32 [1, 1] inout pitch=8\ncopy ub[], A[], "
      "0\nend\n");
  EXPECT_EQ(kernel.header.tensors[0].elements(), 0U);
  EXPECT_EQ(kernel.header.tensors[0].bytes(), 0U);
  EXPECT_EQ(kernel.header.tensors[1].bytes(), 2U);
  EXPECT_EQ(kernel.header.tensors[2].elements(), 1U);
  EXPECT_EQ(kernel.header.tensors[2].bytes(), 32U);
}

TEST(Header, MnemonicsInAnyCaseNamesAsWritten) {
  const Kernel kernel =
      test::assembled(".PARAM M0 = 3\n.Reg Mx = s3\nMOV Mx, M0 ; comment\r\n// comment\n\tEND\n");
  EXPECT_EQ(kernel.programs[0].instructions.size(), 2U);
  EXPECT_EQ(kernel.programs[0].instructions[0].operands[1].imm, 3);
}

TEST(Programs, EachIsCheckedAgainstItsCoreType) {
  Target cube = test::register_machine();
  cube.core_type = "aic";
  Target vector = test::view_machine();
  vector.core_type = "aiv";
  AssembleOptions options;
  options.other_core_types = {vector};
  const Source source{"k.npu", R"(
.program core=aic
.buffer a ub 32
  vadd.f32 v0, v2, v4
  jmp next
next: end
.program core=aiv
.buffer a ub 64
  vadd.f32 a[], ub[256], 1 {n=8}
next: end
)"};
  const Kernel kernel = assemble(source, cube, {}, options);
  ASSERT_EQ(kernel.programs.size(), 2U);
  EXPECT_EQ(kernel.programs[0].core_type, "aic");
  EXPECT_EQ(kernel.programs[1].instructions[0].operands[0].kind, OperandKind::view);
  EXPECT_EQ(kernel.programs[1].labels.at("next"), 1U);
  check(kernel, cube, options.other_core_types);
  EXPECT_THROW(check(kernel, cube), Error);
  EXPECT_THROW(assemble(source, cube), Error);
}

}  // namespace
}  // namespace npulab::isa
