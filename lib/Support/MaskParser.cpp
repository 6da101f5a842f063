//===- MaskParser.cpp - the text of a mask --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive descent parser that pulls tokens from a string or from MLIR's own lexer. It has to
// find the end of a bare mask by grammar: `>` is a comparison after an expression and the closing
// bracket after a condition. Names that `where` declares are used before they are declared, so they
// are provisional symbols until the end, and are then put in the order of their declarations.
//
//===----------------------------------------------------------------------===//

#include "MaskConditions.h"
#include "MaskTokens.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <deque>

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

using TokenSource = function_ref<Token()>;
/// Reports a fault at a place of the source.
using ErrorFn = function_ref<void(const char *at, const Twine &message)>;

class Parser {
public:
  Parser(TokenSource source, MLIRContext *context, StringRef closing, ErrorFn emitError)
      : source(source), context(context), closing(closing), emitError(emitError),
        terms(context, /*numRowVars=*/0) {}

  /// Parses a mask and its closing token (the end of the text, or `>`).
  FailureOr<MaskSets> parse();

private:
  // Declarations.
  LogicalResult parseWhere();
  LogicalResult parseDeclaration();
  AffineExpr use(const Token &name);
  LogicalResult resolveNames(Conditions &conditions);

  // Conditions.
  FailureOr<Conditions> parseOr();
  FailureOr<Conditions> parseAnd();
  FailureOr<Conditions> parseCondition();
  FailureOr<Conditions> parseComparison();
  FailureOr<Conditions> parseSpelling(const SpellingRule &rule);
  FailureOr<AffineExpr> parseSize(const MaskSizeSpec &spec, StringRef spelling);
  bool atConditionGroup();

  // Expressions.
  FailureOr<AffineExpr> parseSum();
  FailureOr<AffineExpr> parseProduct();
  FailureOr<AffineExpr> parseFactor();
  FailureOr<AffineExpr> parseName();
  FailureOr<AffineExpr> applyOperator(const Token &op, AffineExpr lhs, AffineExpr rhs);
  FailureOr<int64_t> parseNumber();

  // Tokens.
  const Token &peek(size_t ahead = 0);
  Token take();
  bool takeIf(StringRef spelling);
  bool atEnd() {
    return closing.empty() ? peek().kind == Token::End && peek().text.empty() : peek().is(closing);
  }
  LogicalResult expect(StringRef spelling);
  LogicalResult error(const Token &at, const Twine &message) {
    emitError(at.text.data(), message);
    return failure();
  }
  static std::string describe(const Token &token) {
    return token.text.empty() ? "the end of the mask" : "'" + token.text.str() + "'";
  }

  TokenSource source;
  std::deque<Token> ahead;
  MLIRContext *context;
  StringRef closing;
  ErrorFn emitError;
  MaskSets mask;
  MaskTerms terms;
  SmallVector<Token> used; ///< names in order of first use: the provisional symbols
};

} // namespace

const Token &Parser::peek(size_t distance) {
  while (ahead.size() <= distance)
    ahead.push_back(source());
  return ahead[distance];
}

Token Parser::take() {
  Token token = peek();
  ahead.pop_front();
  return token;
}

bool Parser::takeIf(StringRef spelling) {
  bool found = peek().is(spelling);
  if (found)
    take();
  return found;
}

LogicalResult Parser::expect(StringRef spelling) {
  if (takeIf(spelling))
    return success();
  return error(peek(), "mask expects '" + spelling + "', got " + describe(peek()));
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

FailureOr<MaskSets> Parser::parse() {
  if (atEnd())
    return error(peek(), "mask expects a condition or a spelling, got an empty text");
  FailureOr<Conditions> conditions = parseOr();
  if (failed(conditions) || (takeIf("where") && failed(parseWhere())))
    return failure();
  if (!atEnd())
    return error(peek(), "mask expects 'and', 'or', 'where' or its end, got " + describe(peek()));
  if (failed(resolveNames(*conditions)))
    return failure();
  setConditions(mask, *conditions, context);
  return std::move(mask);
}

LogicalResult Parser::parseWhere() {
  do {
    if (failed(parseDeclaration()))
      return failure();
  } while (takeIf(","));
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

/// The provisional symbol of a name that is not predefined.
AffineExpr Parser::use(const Token &name) {
  auto known = llvm::find_if(used, [&](const Token &token) { return token.text == name.text; });
  unsigned index = known - used.begin();
  if (known == used.end())
    used.push_back(name);
  return getAffineSymbolExpr(MaskSpace::firstSymbol + index, context);
}

/// Replaces provisional symbols by what `where` declared.
LogicalResult Parser::resolveNames(Conditions &conditions) {
  MaskTerms declared(context, mask.rowVars.size());
  SmallVector<AffineExpr> dims{declared.q, declared.k}, symbols{declared.qLen, declared.kvLen};
  for (const Token &name : used) {
    unsigned symbol = llvm::find(mask.symbols, name.text) - mask.symbols.begin();
    unsigned rowVar = llvm::find(mask.rowVars, name.text) - mask.rowVars.begin();
    if (symbol < mask.symbols.size())
      symbols.push_back(getAffineSymbolExpr(MaskSpace::firstSymbol + symbol, context));
    else if (rowVar < mask.rowVars.size())
      symbols.push_back(getAffineDimExpr(MaskSpace::firstRowVar + rowVar, context));
    else
      return error(name, "mask does not know the name '" + name.text +
                             "'; expects q, k, q_len, kv_len or a symbol declared by a trailing "
                             "'where " +
                             name.text + "'");
  }
  for (Conjunction &conjunction : conditions)
    for (Constraint &constraint : conjunction)
      constraint.expr = constraint.expr.replaceDimsAndSymbols(dims, symbols);
  return success();
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
bool Parser::atConditionGroup() {
  unsigned depth = 0;
  for (size_t i = 0; peek(i).kind != Token::End; ++i) {
    const Token &token = peek(i);
    if (token.is("("))
      ++depth;
    else if (token.is(")") && --depth == 0)
      return false;
    else if (token.is("and") || token.is("or") || token.isComparison() || findSpelling(token.text))
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
  if (!op.isComparison())
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
    return error(start, what + " that does not depend on q or k");
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
  return parseName();
}

static std::string spellingNames() {
  auto nameOf = [](const MaskSpelling &spelling) { return spelling.name; };
  return llvm::join(llvm::map_range(maskSpellings(), nameOf), ", ");
}

FailureOr<AffineExpr> Parser::parseName() {
  Token name = take();
  if (name.kind != Token::Word || llvm::is_contained(kWords, name.text))
    return error(name, "mask expects a name or a number, got " + describe(name));
  if (findSpelling(name.text))
    return error(name, "mask expects a number or a symbol, got the spelling '" + name.text + "'");
  const std::pair<StringRef, AffineExpr> predefined[] = {
      {"q", terms.q}, {"k", terms.k}, {"q_len", terms.qLen}, {"kv_len", terms.kvLen}};
  for (auto [spelling, expr] : predefined)
    if (name.text == spelling)
      return expr;
  if (peek().is("("))
    return error(name, "mask does not know the spelling '" + name.text + "'; expects one of " +
                           spellingNames());
  return use(name);
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

/// Adds what the grammar cannot see: coefficients that grew beyond 32 bits.
static FailureOr<MaskSets> parseChecked(TokenSource source, MLIRContext *context, StringRef closing,
                                        const char *start, ErrorFn emitError) {
  FailureOr<MaskSets> mask = Parser(source, context, closing, emitError).parse();
  if (failed(mask))
    return failure();
  auto fits = [](IntegerSet set) { return llvm::all_of(set.getConstraints(), fitsThirtyTwoBits); };
  if (llvm::all_of(mask->sets, fits))
    return mask;
  emitError(start, "mask expects coefficients and constants that fit 32 bits once multiplied out");
  return failure();
}

FailureOr<MaskSets> pagefold::parseMaskSets(StringRef text, MLIRContext *context,
                                            function_ref<void(size_t, const Twine &)> emitError) {
  StringRef rest = text;
  return parseChecked(
      [&] { return lexToken(rest); }, context, /*closing=*/"", text.data(),
      [&](const char *at, const Twine &message) { emitError(at - text.data(), message); });
}

FailureOr<MaskSets> pagefold::parseMaskSets(AsmParser &parser) {
  if (failed(parser.parseLess()))
    return failure();
  const char *start = parser.getCurrentLocation().getPointer();
  std::string text;
  if (failed(parser.parseOptionalString(&text)))
    return parseChecked([&] { return pullToken(parser); }, parser.getContext(), ">", start,
                        [&](const char *at, const Twine &message) {
                          parser.emitError(llvm::SMLoc::getFromPointer(at), message);
                        });
  // Without escapes in it the text stands in the source as it is, one character after the quote.
  FailureOr<MaskSets> mask =
      parseMaskSets(text, parser.getContext(), [&](size_t offset, const Twine &message) {
        parser.emitError(llvm::SMLoc::getFromPointer(start + 1 + offset), message);
      });
  if (failed(mask) || failed(parser.parseGreater()))
    return failure();
  return mask;
}
