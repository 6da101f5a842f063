//===- ArgumentsTest.cpp - what a launch refuses --------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {
/// gather with one thing wrong at a time; a refused launch must leave the result alone.
class Arguments : public Launch {
protected:
  /// Launches with argument `index` replaced and gives what the launch says about that argument.
  std::string refusal(size_t index, const DLTensor *tensor) {
    GatherCase gather;
    std::vector<const DLTensor *> args = gather.args();
    args[index] = tensor;
    std::string text = launch("gather", args);
    EXPECT_EQ(gather.out.data, std::vector<float>(gather.out.data.size(), -1.0f)) << "nothing ran";
    std::string prefix = "function 'gather', argument " + std::to_string(index) + " '";
    EXPECT_EQ(text.substr(0, prefix.size()), prefix);
    return text.substr(std::min(prefix.size(), text.size()));
  }
};
} // namespace

TEST_F(Arguments, NumberIsChecked) {
  GatherCase gather;
  std::vector<const DLTensor *> args = gather.args();
  args.pop_back();
  EXPECT_EQ(launch("gather", args), "function 'gather' expects 5 arguments, got 4");
  EXPECT_EQ(refusal(2, nullptr), "cache.lens': expects a tensor, got null");
}

TEST_F(Arguments, A18_DTypeIsChecked) {
  Tensor<int64_t> lens({5});
  EXPECT_EQ(refusal(2, lens.dl()), "cache.lens': expects dtype i32, got i64");
  Tensor<uint16_t> values({7, 8});
  values.dtype = {kDLBfloat, 16, 1};
  EXPECT_EQ(refusal(0, values.dl()), "cache.values': expects dtype f32, got bf16");
  Tensor<float> lanes({7, 8});
  lanes.dtype.lanes = 4;
  EXPECT_EQ(refusal(0, lanes.dl()), "cache.values': expects dtype f32, got f32x4");
  Tensor<uint8_t> bytes({7, 8});
  bytes.dtype = {12, 8, 1};
  EXPECT_EQ(refusal(0, bytes.dl()), "cache.values': expects dtype f32, got float8_e5m2");
  lanes.dtype = {200, 32, 1};
  EXPECT_EQ(refusal(0, lanes.dl()), "cache.values': expects dtype f32, got code200:32");
}

TEST_F(Arguments, A18_DeviceIsChecked) {
  Tensor<int32_t> lens({5});
  lens.device = {kDLCUDA, 0};
  EXPECT_EQ(refusal(2, lens.dl()),
            "cache.lens': expects a tensor in host memory (device type 1), "
            "got device type 2; copy it to the host or compile for its device");
}

TEST_F(Arguments, RankIsChecked) {
  Tensor<int32_t> lens({5, 1});
  EXPECT_EQ(refusal(2, lens.dl()), "cache.lens': expects rank 1, got 2");
  DLTensor broken = *lens.dl();
  broken.ndim = -1;
  EXPECT_EQ(refusal(2, &broken), "cache.lens': expects rank 1, got -1");
  broken.ndim = 1;
  broken.shape = nullptr;
  EXPECT_EQ(refusal(2, &broken), "cache.lens': expects a shape, got a null pointer");
}

TEST_F(Arguments, ExtentsAreChecked) {
  Tensor<float> values({7, 9});
  EXPECT_EQ(refusal(0, values.dl()), "cache.values': expects extent 8 in dimension 1, got 9");
  Tensor<int32_t> lens({5});
  lens.shape = {-5};
  EXPECT_EQ(refusal(2, lens.dl()),
            "cache.lens': expects an extent of at least 0 in dimension 0, got -5");
}

TEST_F(Arguments, SymbolsAgree) {
  Tensor<int32_t> lens({4});
  EXPECT_EQ(refusal(2, lens.dl()), "cache.lens': expects extent 5 in dimension 0 (batch) as "
                                   "'cache.table' has batch = 5, got 4");
}

TEST_F(Arguments, BoundsHold) {
  GatherCase gather(kGatherBatch + 1);
  EXPECT_EQ(
      launch("gather", gather.args()),
      "function 'gather', argument 1 'cache.table': expects at most 64 for batch, the declared "
      "maximum, got 65 in dimension 0; launch in parts or compile with a larger maximum");
}

TEST_F(Arguments, SymbolPlusConstant) {
  Plan plan = testPlan();
  plan.functions[0].args[2].shape[0] = Extent::symbolic("batch", 1);
  std::string bytes = testArtifact(plan);
  pagefold_module *module = nullptr;
  ASSERT_EQ(message(pagefold_module_load(bytes.data(), bytes.size(), &module)), "");
  GatherCase gather;
  EXPECT_EQ(
      launch(function(module, "gather"), gather.args()),
      "function 'gather', argument 2 'cache.lens': expects extent 6 in dimension 0 (batch + 1) "
      "as 'cache.table' has batch = 5, got 5");
  Tensor<int32_t> none({0}), lens({6}, 0);
  std::vector<const DLTensor *> args = gather.args();
  args[2] = none.dl();
  EXPECT_EQ(launch(function(module, "gather"), args),
            "function 'gather', argument 2 'cache.lens': expects an extent of at least 1 in "
            "dimension 0 (batch + 1), got 0");
  args[2] = lens.dl();
  EXPECT_EQ(launch(function(module, "gather"), args), "");
  pagefold_module_free(module);
}

TEST_F(Arguments, A16_StridedViewsGiveTheSameAnswer) {
  GatherCase gather;
  Tensor<float> wide({7, 20}), out({5, 11}, -1.0f);
  for (size_t page = 0; page < 7; ++page)
    std::copy_n(gather.values.data.begin() + static_cast<long>(8 * page), 8,
                wide.data.begin() + static_cast<long>(20 * page + 3));
  wide.shape = {7, 8};
  wide.strides = {20, 1};
  wide.byteOffset = 3 * sizeof(float);
  out.shape = {5, 8};
  out.strides = {11, 1};
  std::vector<const DLTensor *> args = gather.args();
  args[0] = wide.dl();
  args[4] = out.dl();
  ASSERT_EQ(launch("gather", args), "");
  std::vector<float> expected = gather.expected();
  for (size_t i = 0; i < out.data.size(); ++i)
    EXPECT_EQ(out.data[i], i % 11 < 8 ? expected[i / 11 * 8 + i % 11] : -1.0f) << "element " << i;
}

TEST_F(Arguments, A16_NegativeStridesReadBackwards) {
  GatherCase gather, reversed;
  for (size_t page = 0; page < 7; ++page)
    std::copy_n(gather.values.data.begin() + static_cast<long>(8 * page), 8,
                reversed.values.data.begin() + static_cast<long>(8 * (6 - page)));
  reversed.values.strides = {-8, 1};
  reversed.values.byteOffset = 6 * 8 * sizeof(float);
  ASSERT_EQ(launch("gather", reversed.args()), "");
  EXPECT_EQ(reversed.out.data, gather.expected());
}

TEST_F(Arguments, A16_InnermostStrideIsOne) {
  Tensor<float> values({14, 8});
  values.shape = {7, 8};
  values.strides = {16, 2};
  EXPECT_EQ(refusal(0, values.dl()),
            "cache.values': expects an innermost stride of 1 element, got 2; make the tensor "
            "contiguous in its last dimension");
}

TEST_F(Arguments, StridesOfOneElementDoNotMatter) {
  GatherCase gather(1, 1, 1);
  gather.table.strides = {99, 77};
  gather.lens.strides = {-3};
  EXPECT_EQ(launch("gather", gather.args()), "");
  EXPECT_EQ(gather.out.data, gather.expected());
}

TEST_F(Arguments, ContiguousMeansDense) {
  Plan plan = testPlan();
  plan.functions[0].args[1].contiguous = true;
  std::string bytes = testArtifact(plan);
  pagefold_module *module = nullptr;
  ASSERT_EQ(message(pagefold_module_load(bytes.data(), bytes.size(), &module)), "");
  GatherCase gather;
  EXPECT_EQ(launch(function(module, "gather"), gather.args()), "");
  Tensor<int32_t> table({5, 6});
  table.shape = {5, 3};
  table.strides = {6, 1};
  std::vector<const DLTensor *> args = gather.args();
  args[1] = table.dl();
  EXPECT_EQ(launch(function(module, "gather"), args),
            "function 'gather', argument 1 'cache.table': expects a dense row-major tensor, got "
            "strides [6, 1] for shape [5, 3]; make it contiguous");
  pagefold_module_free(module);
}

TEST_F(Arguments, AddressesAreChecked) {
  Tensor<int32_t> lens({6});
  lens.shape = {5};
  lens.byteOffset = 2;
  EXPECT_EQ(refusal(2, lens.dl()), "cache.lens': expects an address that is a multiple of its "
                                   "element's 4 bytes, got one at 2 past it");
  DLTensor null = *lens.dl();
  null.data = nullptr;
  EXPECT_EQ(refusal(2, &null), "cache.lens': expects data, got a null pointer for shape [5]");
  lens.byteOffset = UINT64_MAX - 3;
  EXPECT_EQ(refusal(2, lens.dl()), "cache.lens': expects a byte offset inside the address space, "
                                   "got 18446744073709551612");
}

/// What kernels access several elements at a time.
TEST_F(Arguments, A16_AddressAndStridesAreMultiplesWhereThePlanSaysSo) {
  Plan plan = testPlan();
  plan.functions[0].args[0].align = 16;
  std::string bytes = testArtifact(plan);
  pagefold_module *module = nullptr;
  ASSERT_EQ(message(pagefold_module_load(bytes.data(), bytes.size(), &module)), "");
  alignas(16) float memory[8 * 20 + 4] = {};
  int64_t shape[] = {7, 8}, strides[] = {20, 1};
  DLTensor values = *Tensor<float>({7, 8}).dl();
  values.data = memory;
  values.shape = shape;
  values.strides = strides;
  GatherCase gather;
  std::vector<const DLTensor *> args = gather.args();
  args[0] = &values;
  auto said = [&] { return launch(function(module, "gather"), args); };
  EXPECT_EQ(said(), "");
  values.byte_offset = 16;
  EXPECT_EQ(said(), "");
  values.byte_offset = 12;
  EXPECT_EQ(
      said(),
      "function 'gather', argument 0 'cache.values': expects an address that is a multiple of 16 "
      "bytes, got one at 12 past it; copy the tensor to memory of its own");
  values.byte_offset = 0;
  strides[0] = 18;
  EXPECT_EQ(said(),
            "function 'gather', argument 0 'cache.values': expects strides that are multiples of 4 "
            "elements (16 bytes), got 18 in dimension 0; make the tensor contiguous");
  // A stride of one page is never used.
  GatherCase one(5, 1, 3);
  args = one.args();
  shape[0] = 1;
  args[0] = &values;
  EXPECT_EQ(said(), "");
  pagefold_module_free(module);
}

TEST_F(Arguments, A08_SpansThatDoNotFitTheAddressSpace) {
  Tensor<float> values({7, 8});
  values.shape = {int64_t(1) << 61, 8};
  EXPECT_EQ(refusal(0, values.dl()), "cache.values': expects elements that fit the address space, "
                                     "got shape [2305843009213693952, 8]");
  values.strides = {int64_t(1) << 40, 1};
  EXPECT_EQ(refusal(0, values.dl()),
            "cache.values': expects elements that fit the address space, got shape "
            "[2305843009213693952, 8] and strides [1099511627776, 1]");
  values.shape = {7, 8};
  values.strides = {-(int64_t(1) << 59), 1};
  EXPECT_EQ(refusal(0, values.dl()),
            "cache.values': expects elements that fit the address space, got shape [7, 8] and "
            "strides [-576460752303423488, 1]");
}

TEST_F(Arguments, NullDataOfNoElementsIsFine) {
  GatherCase gather(3, 7, 0);
  gather.lens.data = {0, 0, 0};
  DLTensor table = *gather.table.dl();
  table.data = nullptr;
  std::vector<const DLTensor *> args = gather.args();
  args[1] = &table;
  EXPECT_EQ(launch("gather", args), "");
  EXPECT_EQ(gather.out.data, gather.expected());
}

TEST_F(Arguments, ResultOverlapsNothing) {
  GatherCase gather;
  DLTensor out = *gather.values.dl();
  int64_t shape[] = {5, 8};
  out.shape = shape;
  out.byte_offset = 2 * 8 * sizeof(float);
  std::vector<float> before = gather.values.data;
  std::vector<const DLTensor *> args = gather.args();
  args[4] = &out;
  EXPECT_EQ(launch("gather", args),
            "function 'gather', argument 4 'out0': expects memory that no other argument uses, got "
            "an overlap with 'cache.values'; give the result memory of its own");
  EXPECT_EQ(gather.values.data, before);
}

TEST_F(Arguments, ResultHasAPlaceForEachElement) {
  Tensor<float> out({1, 8});
  out.shape = {5, 8};
  out.strides = {0, 1};
  EXPECT_EQ(refusal(4, out.dl()), "out0': expects a place of its own for every element that is "
                                  "written, got stride 0 in dimension 0");
}
