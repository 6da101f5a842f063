//===- MaskParser.cpp - the text of a mask --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive descent parser over tokens. The text is cut into tokens first, so that the names
// declared by the trailing `where` are known when the conditions are read.
//
//===----------------------------------------------------------------------===//

#include "MaskConditions.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

/// More disjuncts than this, and a mask is better given as a bitmap.
static constexpr size_t kMaxDisjuncts = 64;

static constexpr StringRef kPredefined[] = {"q", "k", "q_len", "kv_len"};
static constexpr StringRef kWords[] = {"and",      "or",      "where", "per_row",
                                       "floordiv", "ceildiv", "mod"};

bool pagefold::isMaskName(StringRef name) {
  if (name.empty() || !(llvm::isAlpha(name[0]) || name[0] == '_'))
    return false;
  return llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
         !llvm::is_contained(kPredefined, name) && !llvm::is_contained(kWords, name) &&
         !findSpelling(name);
}

namespace {

using ErrorFn = function_ref<void(size_t, const Twine &)>;

struct Token {
  enum Kind { Word, Number, Punctuation, End } kind;
  StringRef text;
  size_t offset;
  bool is(StringRef spelling) const {
    return (kind == Word || kind == Punctuation) && text == spelling;
  }
};

/// Cuts `text` into tokens, the last one End. Fails on a character no token starts with.
FailureOr<std::vector<Token>> tokenize(StringRef text, ErrorFn emitError) {
  std::vector<Token> tokens;
  size_t pos = 0;
  while (true) {
    pos = std::min(text.find_first_not_of(" \t\r\n", pos), text.size());
    StringRef rest = text.drop_front(pos);
    Token token{Token::End, rest.take_front(0), pos};
    if (rest.empty()) {
      tokens.push_back(token);
      return tokens;
    }
    auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    if (llvm::isDigit(rest[0]))
      token = {Token::Number, rest.take_while(isWord), pos};
    else if (isWord(rest[0]))
      token = {Token::Word, rest.take_while(isWord), pos};
    else if (rest.starts_with("<=") || rest.starts_with(">=") || rest.starts_with("=="))
      token = {Token::Punctuation, rest.take_front(2), pos};
    else if (StringRef("<>()+-*,").contains(rest[0]))
      token = {Token::Punctuation, rest.take_front(1), pos};
    else
      return emitError(pos, "mask expects a name, a number or an operator, got '" +
                                rest.take_front(1) + "'"),
             failure();
    tokens.push_back(token);
    pos += token.text.size();
  }
}

class Parser {
public:
  Parser(std::vector<Token> tokens, MLIRContext *context, ErrorFn emitError)
      : tokens(std::move(tokens)), context(context), emitError(emitError), terms(context, 0) {}

  FailureOr<MaskSets> parse();

private:
  // Declarations.
  LogicalResult parseWhere();
  LogicalResult parseDeclaration();
  void bindNames();

  // Conditions.
  FailureOr<Conditions> parseOr();
  FailureOr<Conditions> parseAnd();
  FailureOr<Conditions> parseCondition();
  FailureOr<Conditions> parseComparison();
  FailureOr<Conditions> parseSpelling(const SpellingRule &rule);
  FailureOr<AffineExpr> parseSize(const MaskSizeSpec &spec, StringRef spelling);
  bool atConditionGroup() const;

  // Expressions.
  FailureOr<AffineExpr> parseSum();
  FailureOr<AffineExpr> parseProduct();
  FailureOr<AffineExpr> parseFactor();
  FailureOr<AffineExpr> applyOperator(const Token &op, AffineExpr lhs, AffineExpr rhs);
  FailureOr<int64_t> parseNumber();

  // Tokens.
  const Token &peek() const { return tokens[next]; }
  const Token &take() { return tokens[peek().kind == Token::End ? next : next++]; }
  bool takeIf(StringRef spelling) { return peek().is(spelling) && (++next, true); }
  LogicalResult expect(StringRef spelling);
  LogicalResult error(const Token &at, const Twine &message) {
    emitError(at.offset, message);
    return failure();
  }
  static std::string describe(const Token &token) {
    return token.kind == Token::End ? "the end of the mask" : "'" + token.text.str() + "'";
  }

  std::vector<Token> tokens;
  size_t next = 0;
  MLIRContext *context;
  ErrorFn emitError;
  MaskSets mask;
  MaskTerms terms;
  llvm::StringMap<AffineExpr> names;
};

} // namespace

LogicalResult Parser::expect(StringRef spelling) {
  if (takeIf(spelling))
    return success();
  return error(peek(), "mask expects '" + spelling + "', got " + describe(peek()));
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

FailureOr<MaskSets> Parser::parse() {
  if (peek().kind == Token::End)
    return error(peek(), "mask expects a condition or a spelling, got an empty text");
  auto where = llvm::find_if(tokens, [](const Token &token) { return token.is("where"); });
  if (where != tokens.end()) {
    next = where - tokens.begin() + 1;
    if (failed(parseWhere()))
      return failure();
  }
  bindNames();

  next = 0;
  FailureOr<Conditions> conditions = parseOr();
  if (failed(conditions))
    return failure();
  if (peek().kind != Token::End && !peek().is("where"))
    return error(peek(), "mask expects 'and', 'or', 'where' or its end, got " + describe(peek()));
  setConditions(mask, *conditions, context);
  return std::move(mask);
}

LogicalResult Parser::parseWhere() {
  do {
    if (failed(parseDeclaration()))
      return failure();
  } while (takeIf(","));
  if (peek().kind != Token::End)
    return error(peek(), "mask expects ',' or its end after a declaration, got " +
                             describe(peek()));
  return success();
}

LogicalResult Parser::parseDeclaration() {
  Token name = take();
  if (llvm::is_contained(kPredefined, name.text))
    return error(name, "mask symbol '" + name.text + "' shadows a predefined name: rename it");
  if (name.kind != Token::Word || !isMaskName(name.text))
    return error(name, "mask expects the name of a symbol, got " + describe(name));
  if (llvm::is_contained(mask.symbols, name.text) || llvm::is_contained(mask.rowVars, name.text))
    return error(name, "mask symbol '" + name.text + "' is declared twice");
  if (takeIf("per_row")) {
    mask.rowVars.push_back(name.text.str());
    return success();
  }
  mask.symbols.push_back(name.text.str());
  mask.lowerBounds.push_back(kNoLowerBound);
  if (!takeIf(">="))
    return success();
  bool negative = takeIf("-");
  FailureOr<int64_t> bound = parseNumber();
  if (failed(bound))
    return failure();
  mask.lowerBounds.back() = negative ? -*bound : *bound;
  return success();
}

void Parser::bindNames() {
  terms = MaskTerms(context, mask.rowVars.size());
  names = {{"q", terms.q}, {"k", terms.k}, {"q_len", terms.qLen}, {"kv_len", terms.kvLen}};
  for (auto [i, name] : llvm::enumerate(mask.rowVars))
    names[name] = getAffineDimExpr(MaskSpace::firstRowVar + i, context);
  for (auto [i, name] : llvm::enumerate(mask.symbols))
    names[name] = getAffineSymbolExpr(MaskSpace::firstSymbol + i, context);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

FailureOr<Conditions> Parser::parseOr() {
  FailureOr<Conditions> all = parseAnd();
  while (succeeded(all) && takeIf("or")) {
    FailureOr<Conditions> more = parseAnd();
    if (failed(more))
      return failure();
    all = disjoin(std::move(*all), *more);
  }
  return all;
}

FailureOr<Conditions> Parser::parseAnd() {
  FailureOr<Conditions> all = parseCondition();
  while (succeeded(all) && peek().is("and")) {
    Token conjunctionToken = take();
    FailureOr<Conditions> more = parseCondition();
    if (failed(more))
      return failure();
    if (all->size() * more->size() > kMaxDisjuncts)
      return error(conjunctionToken, "mask expects at most " + Twine(kMaxDisjuncts) +
                                         " alternatives once 'and' is multiplied out, got " +
                                         Twine(all->size() * more->size()) +
                                         ": pass a bitmap instead");
    all = conjoin(*all, *more);
  }
  return all;
}

/// Whether the `(` ahead groups conditions, and not an expression: whether something that only a
/// condition holds comes before its `)`.
bool Parser::atConditionGroup() const {
  unsigned depth = 0;
  for (size_t i = next; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    if (token.is("("))
      ++depth;
    else if (token.is(")") && --depth == 0)
      return false;
    else if (token.is("and") || token.is("or") || token.is("==") || token.text.starts_with("<") ||
             token.text.starts_with(">") || findSpelling(token.text))
      return true;
  }
  return false;
}

FailureOr<Conditions> Parser::parseCondition() {
  if (peek().is("(") && atConditionGroup()) {
    take();
    FailureOr<Conditions> group = parseOr();
    if (failed(group) || failed(expect(")")))
      return failure();
    return group;
  }
  if (const SpellingRule *rule = findSpelling(peek().text)) {
    take();
    return parseSpelling(*rule);
  }
  return parseComparison();
}

FailureOr<Conditions> Parser::parseComparison() {
  FailureOr<AffineExpr> lhs = parseSum();
  if (failed(lhs))
    return failure();
  Token op = take();
  bool known = op.is("<=") || op.is("<") || op.is(">=") || op.is(">") || op.is("==");
  if (!known)
    return error(op, "mask expects a comparison (<=, <, >=, > or ==), got " + describe(op));
  FailureOr<AffineExpr> rhs = parseSum();
  if (failed(rhs))
    return failure();
  if (op.is("=="))
    return Conditions{{{*lhs - *rhs, /*isEq=*/true}}};
  AffineExpr slack = op.text.starts_with("<") ? *rhs - *lhs : *lhs - *rhs;
  return Conditions{{{op.text.size() == 1 ? slack - 1 : slack}}};
}

FailureOr<Conditions> Parser::parseSpelling(const SpellingRule &rule) {
  SmallVector<AffineExpr> sizes;
  for (auto [i, spec] : llvm::enumerate(rule.sizes)) {
    if (failed(expect(i == 0 ? "(" : ",")))
      return failure();
    FailureOr<AffineExpr> size = parseSize(spec, rule.name);
    if (failed(size))
      return failure();
    sizes.push_back(*size);
  }
  if (!rule.sizes.empty() && failed(expect(")")))
    return failure();
  return rule.expand(terms, sizes);
}

FailureOr<AffineExpr> Parser::parseSize(const MaskSizeSpec &spec, StringRef spelling) {
  Token start = peek();
  FailureOr<AffineExpr> size = parseSum();
  if (failed(size))
    return failure();
  std::string what = (spelling + " expects a " + spec.name + " size").str();
  if (auto value = dyn_cast<AffineConstantExpr>(*size)) {
    if (value.getValue() < spec.atLeast)
      return error(start, what + " of at least " + Twine(spec.atLeast) + ", got " +
                              Twine(value.getValue()));
  } else if (spec.constantOnly) {
    return error(start, what + " that is a constant (division by a symbol is not affine), got " +
                            describe(start));
  } else if (!size->isSymbolicOrConstant()) {
    return error(start, what + " that does not depend on q, k or a per_row symbol");
  }
  return size;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

FailureOr<AffineExpr> Parser::parseSum() {
  FailureOr<AffineExpr> sum = parseProduct();
  while (succeeded(sum) && (peek().is("+") || peek().is("-"))) {
    bool minus = take().is("-");
    FailureOr<AffineExpr> term = parseProduct();
    if (failed(term))
      return failure();
    sum = minus ? *sum - *term : *sum + *term;
  }
  return sum;
}

FailureOr<AffineExpr> Parser::parseProduct() {
  auto atOperator = [&] {
    return peek().is("*") || peek().is("floordiv") || peek().is("ceildiv") || peek().is("mod");
  };
  FailureOr<AffineExpr> product = parseFactor();
  while (succeeded(product) && atOperator()) {
    Token op = take();
    FailureOr<AffineExpr> factor = parseFactor();
    if (failed(factor))
      return failure();
    product = applyOperator(op, *product, *factor);
  }
  return product;
}

FailureOr<AffineExpr> Parser::applyOperator(const Token &op, AffineExpr lhs, AffineExpr rhs) {
  auto rhsValue = dyn_cast<AffineConstantExpr>(rhs);
  if (op.is("*")) {
    if (!rhsValue && !isa<AffineConstantExpr>(lhs))
      return error(op, "mask expects a constant on one side of '*': a product of two values is not "
                       "affine");
    return lhs * rhs;
  }
  if (!rhsValue)
    return error(op, "mask expects a constant after '" + op.text +
                         "': division by a value is not affine");
  if (rhsValue.getValue() < 1)
    return error(op, "mask expects a divisor of at least 1 after '" + op.text + "', got " +
                         Twine(rhsValue.getValue()));
  if (op.is("floordiv"))
    return lhs.floorDiv(rhs);
  return op.is("ceildiv") ? lhs.ceilDiv(rhs) : lhs % rhs;
}

FailureOr<AffineExpr> Parser::parseFactor() {
  if (takeIf("-")) {
    FailureOr<AffineExpr> factor = parseFactor();
    return failed(factor) ? factor : FailureOr<AffineExpr>(-*factor);
  }
  if (takeIf("(")) {
    FailureOr<AffineExpr> inner = parseSum();
    if (failed(inner) || failed(expect(")")))
      return failure();
    return inner;
  }
  if (peek().kind == Token::Number) {
    FailureOr<int64_t> value = parseNumber();
    if (failed(value))
      return failure();
    return getAffineConstantExpr(*value, context);
  }
  Token name = take();
  if (name.kind != Token::Word || llvm::is_contained(kWords, name.text))
    return error(name, "mask expects a name or a number, got " + describe(name));
  auto known = names.find(name.text);
  if (known != names.end())
    return known->second;
  if (peek().is("("))
    return error(name, "mask does not know the spelling '" + name.text +
                           "'; expects none, causal, window, prefix, sink_window or chunked");
  return error(name, "mask does not know the name '" + name.text +
                         "'; expects q, k, q_len, kv_len or a symbol declared by a trailing 'where " +
                         name.text + "'");
}

FailureOr<int64_t> Parser::parseNumber() {
  Token token = take();
  int64_t value;
  if (token.kind != Token::Number || token.text.getAsInteger(10, value) || !llvm::isInt<32>(value))
    return error(token, "mask expects a number below 2^31, got " + describe(token));
  return value;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<MaskSets> pagefold::parseMaskSets(StringRef text, MLIRContext *context,
                                            ErrorFn emitError) {
  FailureOr<std::vector<Token>> tokens = tokenize(text, emitError);
  if (failed(tokens))
    return failure();
  FailureOr<MaskSets> mask = Parser(std::move(*tokens), context, emitError).parse();
  if (failed(mask))
    return failure();
  // What the grammar cannot see: coefficients that grew beyond 32 bits.
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) { return success(); });
  auto ignore = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  if (succeeded(verifyMaskSets(ignore, *mask)))
    return mask;
  emitError(0, "mask expects coefficients and constants that fit 32 bits once multiplied out");
  return failure();
}

FailureOr<MaskSets> pagefold::parseMaskSets(AsmParser &parser) {
  const char *quote = parser.getCurrentLocation().getPointer();
  std::string text;
  if (failed(parser.parseString(&text)))
    return failure();
  // Without escapes in it the text stands in the source as it is, one character after the quote.
  return parseMaskSets(text, parser.getContext(), [&](size_t offset, const Twine &message) {
    parser.emitError(llvm::SMLoc::getFromPointer(quote + 1 + offset), message);
  });
}
