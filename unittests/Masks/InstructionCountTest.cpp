//===- InstructionCountTest.cpp - the table of instruction counts in docs/masks.md ===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table is generated here and compared with the document, so it cannot rot. A count that
// changes fails the test, which prints the table to paste.
//
//===----------------------------------------------------------------------===//

#include "EmittedVisits.h"
#include "NamedMasks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

static std::string tableRow(const NamedMask &named) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  MaskSets mask = parseOrFail(named.text, &context);
  TileBounds bounds = deriveTileBounds(mask);
  Type type = IntegerType::get(&context, 32);
  VisitProgram program(type, bounds, /*tileSize=*/64);

  EmittedFunction function(&context, type, bounds, 64, 2 + mask.rowVars.size());
  MaskPoint point{function.extra[0], function.extra[1], {}};
  point.rows.append(function.extra.begin() + 2, function.extra.end());
  ArithProgram predicate(
      function.finish(emitVisible(function.builder, function.loc, mask, point, function.visits)));

  std::string kinds;
  for (VisitKind kind : visitKinds(bounds))
    kinds += (kinds.empty() ? "" : ", ") + stringify(kind).str();
  return llvm::formatv("| `{0}` | {1} | {2} | {3} | {4} | {5} |", named.text, kinds,
                       stringify(bounds.worstMethod()), program.numVisitOps(),
                       llvm::is_contained(visitKinds(bounds), VisitKind::Test)
                           ? std::to_string(program.numTestOps())
                           : "-",
                       predicate.size())
      .str();
}

TEST(InstructionCountTest, DocumentIsUpToDate) {
  auto document = llvm::MemoryBuffer::getFile(PAGEFOLD_SOURCE_DIR "/docs/masks.md");
  ASSERT_TRUE(bool(document)) << "docs/masks.md expects to be readable";
  std::string table;
  bool upToDate = true;
  for (const auto *masks : {&spelledMasks(), &namedMasks()})
    for (const NamedMask &named : *masks) {
      std::string row = tableRow(named) + "\n";
      table += row;
      upToDate &= (*document)->getBuffer().contains(row);
    }
  EXPECT_TRUE(upToDate) << "docs/masks.md expects this table:\n" << table;
}
