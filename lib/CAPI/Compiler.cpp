//===- Compiler.cpp - the compiler's C ABI --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold-c/Compiler.h"
#include "mlir/IR/Diagnostics.h"
#include "pagefold/InitAll.h"
#include "pagefold/Pipeline/ParseGraph.h"
#include "pagefold/Pipeline/Pipeline.h"
#include "pagefold/Pipeline/Remarks.h"
#include "pagefold/runtime/CApi.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <cstring>

using namespace mlir;
using namespace pagefold;
using runtime::ErrorCode;

namespace {

/// Every diagnostic, "line:column: message", notes indented.
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

runtime::Result<std::string> compile(StringRef mlir, StringRef json, std::string *remarks) {
  std::string error;
  FailureOr<CompileOptions> options = parseCompileOptions(json, error);
  if (failed(options))
    return runtime::fail(ErrorCode::InvalidArgument, error);
  std::string ignored;
  llvm::raw_string_ostream remarkLines(remarks ? *remarks : ignored);
  DialectRegistry registry;
  registerPagefold(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  if (remarks)
    streamRemarks(context, remarkLines);
  context.printOpOnDiagnostic(false); // a sentence and its place, not the op
  Diagnostics diagnostics(context);
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(mlir, "graph"), SMLoc());
  OwningOpRef<ModuleOp> module = parseGraph(source, &context);
  if (!module)
    return runtime::fail(ErrorCode::BadInput, diagnostics.text);
  FailureOr<std::string> bytes = compileToArtifact(*module, *options, mlir);
  if (failed(bytes))
    return runtime::fail(ErrorCode::BadInput,
                         diagnostics.text.empty() ? "compilation failed" : diagnostics.text);
  return std::move(*bytes);
}

/// A copy for the caller, who frees it with free().
void *copyOut(StringRef bytes, bool terminate) {
  char *copy = static_cast<char *>(malloc(bytes.size() + terminate));
  if (!copy)
    return nullptr;
  memcpy(copy, bytes.data(), bytes.size());
  if (terminate)
    copy[bytes.size()] = 0;
  return copy;
}

} // namespace

pagefold_error *pagefold_compile(const char *mlir, size_t length, const char *options, void **bytes,
                                 size_t *size, char **remarks) {
  if (!mlir || !bytes || !size)
    return runtime::toC(runtime::fail(ErrorCode::InvalidArgument,
                                      "pagefold_compile expects mlir, bytes and size, got null"));
  std::string text;
  runtime::Result<std::string> artifact =
      compile(StringRef(mlir, length), options ? options : "", remarks ? &text : nullptr);
  if (!artifact)
    return runtime::toC(runtime::Status(tl::unexpected(artifact.error())));
  *size = artifact->size();
  *bytes = copyOut(*artifact, /*terminate=*/false);
  if (remarks)
    *remarks = static_cast<char *>(copyOut(text, /*terminate=*/true));
  if (!*bytes || (remarks && !*remarks))
    return runtime::toC(runtime::fail(ErrorCode::OutOfCapacity, "no memory for the artifact"));
  return nullptr;
}

void pagefold_bytes_free(void *bytes) { free(bytes); }
