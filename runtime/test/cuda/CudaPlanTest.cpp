//===- CudaPlanTest.cpp - the launch plan of a GPU's kernels --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;
using Kind = ParameterPlan::Kind;

namespace {
/// What verify() says about the plan after `change` has been made to its function.
std::string verdict(void (*change)(FunctionPlan &prefill)) {
  Plan plan = cudaPlan();
  change(plan.functions[0]);
  Status status = verify(plan);
  return status ? "" : status.error().message();
}

/// About its first kernel, without the beginning that all sentences have.
std::string kernelVerdict(void (*change)(CudaKernelPlan &kernel)) {
  Plan plan = cudaPlan();
  change(*plan.functions[0].kernels[0].cuda);
  Status status = verify(plan);
  if (status)
    return "";
  std::string beginning = "function 'prefill': kernel 'prefill_k0'",
              text = status.error().message();
  EXPECT_EQ(text.substr(0, beginning.size()), beginning);
  return text.substr(beginning.size());
}

CudaKernelPlan &cuda(FunctionPlan &function) { return *function.kernels[0].cuda; }
} // namespace

TEST(CudaPlan, ParseGivesWhatWasSerialized) {
  Plan plan = cudaPlan();
  ParameterPlan map = rowsMap(0);
  map.dims[3] = {8, {}, 256, {}};
  cuda(plan.functions[0]).params.push_back(map);
  map.dims[1].strideOf.reset();
  map.dims[1].stride = 2048;
  map.element = DType::F16;
  map.workspace = 256;
  cuda(plan.functions[0]).params.push_back(map);
  plan.functions[0].args[3].align = 16;
  CodeSection section{"cubin", std::string_view("\177ELF\0code", 9)};
  Result<std::string> bytes = serialize(plan, {&section, 1});
  ASSERT_TRUE(bytes) << bytes.error().message();
  Result<Artifact> artifact = parse(*bytes);
  ASSERT_TRUE(artifact) << artifact.error().message();
  EXPECT_EQ(artifact->plan, plan);
  ASSERT_EQ(artifact->code.size(), 1u);
  EXPECT_EQ(artifact->code[0], section);
}

TEST(CudaPlan, JsonIsAsDocumented) {
  Plan plan = cudaPlan();
  std::string json = describe(plan, plan.functions[0]);
  auto has = [&](const char *text) {
    EXPECT_NE(json.find(text), std::string::npos) << text << " in " << json;
  };
  has(R"("target":{"kind":"cuda","triple":"nvptx64-nvidia-cuda","cpu":"sm_90a","features":[]})");
  has(R"({"symbol":"prefill_k0","threads":384,"shared":196720,"ctas_per_sm":1,"params":[)");
  has(R"({"kind":"map","arg":0,"element":"bf16","box":[64,128,2,1],"dims":[{"extent":64},)"
      R"({"extent_of":0,"stride_of":0},{"extent":2,"stride":128},{"extent_of":1,"stride_of":1}]})");
  has(R"({"kind":"pointer","arg":1},{"kind":"extent","arg":1,"dim":0,"add":-1},)"
      R"({"kind":"stride","arg":0,"dim":0},{"kind":"scalar","arg":2},)"
      R"({"kind":"workspace","offset":128},{"kind":"error_word"},)"
      R"({"kind":"constant","bits":4294967294}]})");
  has(R"({"symbol":"prefill_k1","threads":256,"shared":0,"ctas":2,"params":[{"kind":"frame"}]})");
}

TEST(CudaPlan, RulesOfTheTarget) {
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.errorWord = 0; }),
            "function 'prefill': expects no error word in the workspace on target cuda, got offset "
            "0");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.scratchSize = 64; }),
            "function 'prefill': expects no scratch on target cuda, got 64 bytes");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.kernels[1].cuda.reset(); }),
            "function 'prefill': kernel 'prefill_k1' expects threads on target cuda, got workers");
  Plan plan = cudaPlan();
  for (const char *cpu : {"", "90a", "sm_", "sm_a", "sm_90b", "sm_9x", "sm_9", "sm_99999"}) {
    plan.target.cpu = cpu;
    Status status = verify(plan);
    ASSERT_FALSE(status) << cpu;
    EXPECT_EQ(status.error().message(),
              "target cuda expects a cpu such as 'sm_90a', got '" + plan.target.cpu + "'");
  }
  plan.target.kind = "host";
  plan.functions[0].errorWord = 0;
  EXPECT_EQ(verify(plan).error().message(),
            "function 'prefill': kernel 'prefill_k0' expects workers on this target, got threads");
  plan.functions[0].errorWord.reset();
  EXPECT_EQ(verify(plan).error().message(),
            "function 'prefill': expects the offset of an error word, got null");
}

TEST(CudaPlan, RulesOfAGrid) {
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.threads = 0; }),
            " expects 1 to 1024 threads, got 0");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.threads = 1025; }),
            " expects 1 to 1024 threads, got 1025");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.shared = -1; }),
            " expects 0 to 2^20 bytes of shared memory, got -1");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.ctas = 3; }),
            " expects either ctas or ctas_per_sm, got 3 and 1");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.ctasPerSm = 0; }),
            " expects either ctas or ctas_per_sm, got 0 and 0");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.ctasPerSm = 65; }),
            " expects up to 2^31 - 1 ctas or 64 ctas_per_sm, got 0 and 65");
}

TEST(CudaPlan, RulesOfAParameter) {
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[2].arg = 4; }),
            ", parameter 2: expects one of 4 arguments, got 4");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[2].arg = 2; }),
            ", parameter 2: expects a tensor as argument, got 'scale'");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[5].arg = 1; }),
            ", parameter 5: expects a scalar as argument, got 'rows'");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[3].dim = 1; }),
            ", parameter 3: expects a dimension of 'rows', which has 1, got 1");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[4].dim = -1; }),
            ", parameter 4: expects a dimension of 'q', which has 3, got -1");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[6].offset = 513; }),
            ", parameter 6: expects an offset in the workspace of 512 bytes, got 513");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[8].bits = -1; }),
            ", parameter 8: expects bits of 4 bytes, got -1");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[8].bits = int64_t(1) << 32; }),
            ", parameter 8: expects bits of 4 bytes, got 4294967296");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params.assign(18, parameter(Kind::Frame)); }),
            " expects at most 4096 bytes of parameters, got 4176");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params.assign(1024, constant(1)); }), "");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params.assign(1025, constant(1)); }),
            " expects at most 4096 bytes of parameters, got 4100");
}

TEST(CudaPlan, RulesOfAMap) {
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].element = DType::F16; }),
            ", parameter 0: expects the elements of 'q', bf16, got f16");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].element = DType::F32; }),
            ", parameter 0: expects bf16, f16 or f8e4m3 elements, got f32");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].workspace = 520; }),
            ", parameter 0: expects a place in the workspace of 512 bytes at a multiple of 16, got "
            "520");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].workspace = 256; }),
            ", parameter 0: expects a stride for a tensor in the workspace, got stride_of in "
            "dimension 1 of the map");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].dims.clear(); }),
            ", parameter 0: expects a map of 1 to 5 dimensions and a box of as many, got 0 and 4");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].box.pop_back(); }),
            ", parameter 0: expects a map of 1 to 5 dimensions and a box of as many, got 4 and 3");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].box[1] = 257; }),
            ", parameter 0: expects box extents from 1 to 256, got 257");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].dims[1].extent = 3; }),
            ", parameter 0: expects either extent or extent_of in dimension 1 of the map");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].dims[0].stride = 16; }),
            ", parameter 0: expects neither stride nor stride_of in dimension 0 of the map");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].dims[3].strideOf.reset(); }),
            ", parameter 0: expects either stride or stride_of in dimension 3 of the map");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].dims[0].extent = 0; }),
            ", parameter 0: expects an extent from 1 to 2^32 in dimension 0 of the map, got 0");
  EXPECT_EQ(
      kernelVerdict([](CudaKernelPlan &k) { k.params[0].dims[2].stride = 8; }),
      ", parameter 0: expects a stride that is a positive multiple of 16 bytes in dimension 2 "
      "of the map, got 8");
  EXPECT_EQ(kernelVerdict([](CudaKernelPlan &k) { k.params[0].dims[3].extentOf = 3; }),
            ", parameter 0: expects a dimension of 'q', which has 3, got 3");
}

TEST(CudaPlan, UnknownKindsAreNamed) {
  Plan plan = cudaPlan();
  std::string bytes = cudaArtifact(plan);
  size_t at = bytes.find("\"kind\":\"frame\"");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 14, "\"kind\":\"flame\"");
  uint64_t sum = checksum(std::string_view(bytes).substr(0, bytes.size() - 8));
  bytes.replace(bytes.size() - 8, 8, reinterpret_cast<const char *>(&sum), 8);
  Result<Artifact> artifact = parse(bytes);
  ASSERT_FALSE(artifact);
  EXPECT_EQ(
      artifact.error().message(),
      "cannot load the artifact: the plan's 'kind' expects map or pointer or extent or stride "
      "or scalar or workspace or error_word or frame or constant or page_map or page_step, got "
      "'flame'");
}
