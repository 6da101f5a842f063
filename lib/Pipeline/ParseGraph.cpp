//===- ParseGraph.cpp - graphs from text or bytecode ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Pipeline/ParseGraph.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Names the entry arguments of functions as the source spells them.
static void nameArguments(const AsmParserState &state) {
  for (const AsmParserState::BlockDefinition &block : state.getBlockDefs()) {
    auto function = dyn_cast_or_null<FunctionOpInterface>(block.block->getParentOp());
    if (!function || !block.block->isEntryBlock())
      continue;
    for (auto [i, definition] : llvm::enumerate(block.arguments)) {
      const char *begin = definition.loc.Start.getPointer(), *end = definition.loc.End.getPointer();
      if (!begin || begin >= end || function.getArgAttr(i, pagefold::kNameAttr))
        continue;
      StringRef name = StringRef(begin, end - begin).ltrim('%');
      function.setArgAttr(i, pagefold::kNameAttr, StringAttr::get(function.getContext(), name));
    }
  }
}

OwningOpRef<ModuleOp> pagefold::parseGraph(const std::shared_ptr<llvm::SourceMgr> &source,
                                           MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = source->getMemoryBuffer(source->getMainFileID());
  ParserConfig config(context);
  if (isBytecode(buffer->getMemBufferRef()))
    return parseSourceFile<ModuleOp>(source, config);
  Block block;
  AsmParserState state;
  if (failed(parseAsmSourceFile(*source, &block, config, &state)))
    return nullptr;
  nameArguments(state);
  auto place = FileLineColLoc::get(context, buffer->getBufferIdentifier(), 0, 0);
  return mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(&block, context, place);
}
