//===- MaskTokens.cpp - the words of a mask's text ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskTokens.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pagefold;

Token pagefold::lexToken(StringRef &text) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  text = text.ltrim(" \t\r\n");
  Token token{Token::End, text.take_front(1)};
  if (!text.empty() && isWord(text[0]))
    token = {llvm::isDigit(text[0]) ? Token::Number : Token::Word, text.take_while(isWord)};
  else if (text.starts_with("<=") || text.starts_with(">=") || text.starts_with("=="))
    token = {Token::Punctuation, text.take_front(2)};
  else if (!text.empty() && StringRef("<>()+-*,").contains(text[0]))
    token = {Token::Punctuation, text.take_front(1)};
  if (token.kind != Token::End)
    text = text.drop_front(token.text.size());
  return token;
}

Token pagefold::pullToken(AsmParser &parser) {
  const char *at = parser.getCurrentLocation().getPointer();
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word)))
    return {Token::Word, word};
  auto orEqual = [&] {
    return Token{Token::Punctuation, StringRef(at, succeeded(parser.parseOptionalEqual()) ? 2 : 1)};
  };
  if (succeeded(parser.parseOptionalLess()) || succeeded(parser.parseOptionalGreater()) ||
      succeeded(parser.parseOptionalEqual()))
    return orEqual();
  if (succeeded(parser.parseOptionalLParen()) || succeeded(parser.parseOptionalRParen()) ||
      succeeded(parser.parseOptionalPlus()) || succeeded(parser.parseOptionalMinus()) ||
      succeeded(parser.parseOptionalStar()) || succeeded(parser.parseOptionalComma()))
    return {Token::Punctuation, StringRef(at, 1)};
  APInt value;
  if (OptionalParseResult number = parser.parseOptionalInteger(value); number.has_value()) {
    size_t digits = 0;
    while (llvm::isAlnum(at[digits]))
      ++digits;
    return {Token::Number, StringRef(at, digits)};
  }
  return {Token::End, StringRef(at, *at ? 1 : 0)};
}
