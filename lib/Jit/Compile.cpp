//===- Compile.cpp - compiles, or takes what is kept ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Jit/Compile.h"
#include "ArtifactCache.h"
#include "mlir/IR/Diagnostics.h"
#include "pagefold/InitAll.h"
#include "pagefold/Pipeline/ParseGraph.h"
#include "pagefold/Pipeline/Pipeline.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::jit;
using runtime::ErrorCode;

namespace {

/// Every error, "line:column: message", notes indented.
class Diagnostics {
public:
  explicit Diagnostics(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          append(diagnostic, "");
          for (Diagnostic &note : diagnostic.getNotes())
            append(note, "  note: ");
          return success();
        }) {}
  std::string text;

private:
  void append(Diagnostic &diagnostic, StringRef indent) {
    llvm::raw_string_ostream os(text);
    os << (text.empty() ? "" : "\n") << indent;
    if (auto loc = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
      os << loc.getFilename().getValue() << ':' << loc.getLine() << ':' << loc.getColumn() << ": ";
    os << diagnostic;
  }
  ScopedDiagnosticHandler handler;
};

DialectRegistry registryOfPagefold() {
  DialectRegistry registry;
  registerPagefold(registry);
  return registry;
}

/// One graph on its way to an artifact.
class Compilation {
public:
  explicit Compilation(StringRef graph)
      : graph(graph), context(registryOfPagefold(), MLIRContext::Threading::DISABLED),
        diagnostics(context) {
    context.printOpOnDiagnostic(false); // a sentence and its place, not the op
  }

  runtime::Result<Compiled> run(const CompileOptions &options) {
    runtime::Result<ArtifactCache> cache = ArtifactCache::open(options);
    if (!cache)
      return tl::unexpected(cache.error());
    auto source = std::make_shared<llvm::SourceMgr>();
    source->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(graph, "graph"), SMLoc());
    module = parseGraph(source, &context);
    if (!module)
      return runtime::fail(ErrorCode::BadInput, diagnostics.text);
    if (cache->isOff())
      return build(options);
    const CompileKey key = compileKey(*module, graph, options);
    std::optional<Compiled> compiled = cache->find(key);
    if (!compiled) {
      runtime::Result<Compiled> built = build(options);
      if (!built)
        return built;
      cache->keep(key, *built);
      compiled = std::move(*built);
    }
    compiled->remarks += cache->remark();
    return std::move(*compiled);
  }

private:
  runtime::Result<Compiled> build(const CompileOptions &options) {
    remarks.collect(context);
    FailureOr<std::string> artifact = compileToArtifact(*module, options, remarks, graph);
    if (failed(artifact))
      return runtime::fail(ErrorCode::BadInput,
                           diagnostics.text.empty() ? "compilation failed" : diagnostics.text);
    return Compiled{std::move(*artifact), remarks.lines()};
  }

  StringRef graph;
  Remarks remarks; ///< outlives the context
  MLIRContext context;
  Diagnostics diagnostics;
  OwningOpRef<ModuleOp> module;
};

} // namespace

runtime::Result<Compiled> jit::compile(StringRef graph, const CompileOptions &options) {
  return Compilation(graph).run(options);
}
