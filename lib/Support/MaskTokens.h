//===- MaskTokens.h - the words of a mask's text ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_SUPPORT_MASKTOKENS_H
#define PAGEFOLD_LIB_SUPPORT_MASKTOKENS_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class AsmParser;
} // namespace mlir

namespace pagefold {

struct Token {
  enum Kind { Word, Number, Punctuation, End } kind;
  llvm::StringRef
      text; ///< points into the source; of End the character that starts no token, if any
  bool is(llvm::StringRef spelling) const {
    return (kind == Word || kind == Punctuation) && text == spelling;
  }
  bool isComparison() const { return is("<=") || is("<") || is(">=") || is(">") || is("=="); }
};

/// Takes the first token off `text`. A character that starts none gives End, and stays.
Token lexToken(llvm::StringRef &text);

/// The next token of MLIR's lexer, which knows no `<=`: it is read as `<` and `=`.
Token pullToken(mlir::AsmParser &parser);

} // namespace pagefold

#endif // PAGEFOLD_LIB_SUPPORT_MASKTOKENS_H
