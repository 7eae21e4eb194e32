// SPDX-License-Identifier: Apache-2.0
// Kernels by name and file, refusals, headers.
#include <fstream>

#include "tests/kernels/support.hpp"

namespace npulab::kernels::test {
namespace {

class Library : public testing::Test {
 protected:
  Library() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("npulab_library_") + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "mine");
  }
  ~Library() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

constexpr char kEmpty[] = ".kernel mine/empty\n.param N = 3 in 1..9\n.tensor y f32 [N] out\n end\n";

TEST_F(Library, ListsEveryShippedKernel) {
  const std::vector<KernelInfo> kernels = list_kernels(folders());
  ASSERT_GE(kernels.size(), 10U);
  for (const KernelInfo& kernel : kernels) {
    EXPECT_EQ(kernel.name, kernel.header.name) << kernel.path;
    EXPECT_FALSE(kernel.header.doc.empty()) << kernel.name;
    EXPECT_FALSE(kernel.header.reference.operation.empty()) << kernel.name;
    for (const isa::Parameter& parameter : kernel.header.params)
      EXPECT_FALSE(parameter.doc.empty()) << kernel.name;
    for (const isa::Tensor& one : kernel.header.tensors) EXPECT_FALSE(one.doc.empty()) << kernel.name;
  }
}

TEST_F(Library, EveryShippedReferenceIsKnown) {
  for (const KernelInfo& kernel : list_kernels(folders())) {
    bool known = false;
    for (const ReferenceOperation& row : reference_operations())
      known |= row.name == kernel.header.reference.operation;
    EXPECT_TRUE(known) << kernel.name;
  }
}

TEST_F(Library, FindsByNameWithParameters) {
  const KernelInfo kernel = find_kernel("gemv/pipelined", folders(), {{"M", 5}, {"K", 7}});
  EXPECT_EQ(kernel.name, "gemv/pipelined");
  EXPECT_EQ(tensor(kernel.header, "A").shape, (std::vector<std::int64_t>{5, 7}));
}

TEST_F(Library, FindsByFile) {
  EXPECT_EQ(find_kernel((source_folder("kernels") / "gemv/naive.npu").string(), folders()).name,
            "gemv/naive");
  EXPECT_EQ(find_kernel(write("mine/empty.npu", kEmpty), folders()).name, "empty");
}

TEST_F(Library, TheFirstFolderCounts) {
  write("mine/empty.npu", kEmpty);
  std::filesystem::create_directories(folder_ / "gemv");
  write("gemv/naive.npu", ".kernel gemv/naive\n.doc \"another\"\n end\n");
  Folders both = folders();
  both.insert(both.begin(), folder_);
  EXPECT_EQ(find_kernel("mine/empty", both).name, "mine/empty");
  EXPECT_EQ(find_kernel("gemv/naive", both).header.doc, "another");
}

TEST_F(Library, UnknownNameHasTheNearest) {
  const auto error = refusal([] { find_kernel("gemv/pipelned", folders()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->category(), Category::input);
  EXPECT_EQ(error->code(), "unknown-kernel");
  EXPECT_NE(error->message().find("did you mean 'gemv/pipelined'"), std::string::npos) << error->message();
}

TEST_F(Library, CF_08_missing_files_and_directories_are_refused) {
  std::filesystem::create_directories(folder_ / "folder.npu");
  for (const std::string& name : {(folder_ / "missing.npu").string(), (folder_ / "folder.npu").string(),
                                  folder_.string(), source_folder("kernels").string()}) {
    const auto error = refusal([&] { kernel_source(name, folders()); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code(), "cannot-open") << name;
    EXPECT_NE(error->message().find(name), std::string::npos) << error->message();
  }
}

TEST_F(Library, IncludesAreRelativeToTheirFile) {
  write("mine/part.inc", " nop\n");
  const std::string file =
      write("mine/whole.npu",
            std::string(kEmpty).replace(std::string(kEmpty).find(" end"), 0, ".include \"part.inc\"\n"));
  EXPECT_EQ(assemble_kernel(file, folders(), machine("tiny")).programs.at(0).instructions.size(), 2U);
}

TEST_F(Library, MissingIncludeIsRefusedWhereItStands) {
  const std::string file = write("mine/lost.npu", ".include \"nowhere.inc\"\n end\n");
  const auto error = refusal([&] { assemble_kernel(file, folders(), machine("tiny")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "cannot-open");
  EXPECT_EQ(error->where().line, 1);
}

TEST_F(Library, UnknownParameterHasTheNearest) {
  const auto error = refusal([] {
    assemble_kernel("gemv/pipelined", folders(), machine("tiny"), {{"bm", 4}});
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "unknown-parameter");
}

}  // namespace
}  // namespace npulab::kernels::test
