//===- AttnSyntax.cpp - assembly of attn.attention and attn.append --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both ops read
//
//   name principal-operands clause* attr-dict `:` principal-types [`->` result-types]
//
// Clauses begin with a keyword, come in any order and are printed in one. The types of the
// principal operands (the tensors, the cache, rows) stand at the end; what a clause introduces
// carries its type inside the clause's parentheses.
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace pagefold::attn;

namespace {

/// The operands of one segment of an op.
struct Segment {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
};

//===----------------------------------------------------------------------===//
// Parsing pieces
//===----------------------------------------------------------------------===//

/// `(` operand `)`: its type comes later.
ParseResult parseUntyped(OpAsmParser &parser, Segment &segment) {
  return failure(parser.parseLParen() || parser.parseOperand(segment.operands.emplace_back()) ||
                 parser.parseRParen());
}

/// operand `:` type
ParseResult parseTyped(OpAsmParser &parser, Segment &segment) {
  return failure(parser.parseOperand(segment.operands.emplace_back()) ||
                 parser.parseColonType(segment.types.emplace_back()));
}

/// `(` (operand `:` type)* `)`
ParseResult parseTypedList(OpAsmParser &parser, Segment &segment) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        [&] { return parseTyped(parser, segment); });
}

/// `(` operand `:` type (`,` operand `:` type)* `)`, one for each of `segments`.
ParseResult parseTypedEach(OpAsmParser &parser, ArrayRef<Segment *> segments) {
  if (parser.parseLParen())
    return failure();
  for (auto [i, segment] : llvm::enumerate(segments))
    if ((i && parser.parseComma()) || parseTyped(parser, *segment))
      return failure();
  return parser.parseRParen();
}

/// `(` %fixed... (`,` %inner = %outer : type)* `)` region. A null fixed type is written after its
/// name.
ParseResult parseRegionClause(OpAsmParser &parser, ArrayRef<Type> fixedTypes, Segment &captures,
                              Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  auto parseArgument = [&]() -> ParseResult {
    size_t index = arguments.size();
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (index < fixedTypes.size()) {
      argument.type = fixedTypes[index];
      return parser.parseArgument(argument, /*allowType=*/!argument.type);
    }
    if (parser.parseArgument(argument) || parser.parseEqual() || parseTyped(parser, captures))
      return failure();
    argument.type = captures.types.back();
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseArgument))
    return failure();
  if (arguments.size() < fixedTypes.size())
    return parser.emitError(loc) << "expects " << fixedTypes.size()
                                 << " arguments before captures, got " << arguments.size();
  return parser.parseRegion(region, arguments, /*enableNameShadowing=*/true);
}

/// Calls `parseClause` for each clause up to the attribute dictionary or the colon. `parseClause`
/// returns nullopt for a keyword that it does not know.
ParseResult parseClauses(OpAsmParser &parser, ArrayRef<StringRef> known,
                         function_ref<ParseResult(StringRef)> parseClause,
                         ArrayRef<StringRef> required) {
  llvm::SmallSet<StringRef, 8> seen;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  while (succeeded(parser.parseOptionalKeyword(&keyword))) {
    if (!llvm::is_contained(known, keyword))
      return parser.emitError(loc) << "expects a clause out of " << llvm::join(known, ", ")
                                   << ", got '" << keyword << "'";
    if (!seen.insert(keyword).second)
      return parser.emitError(loc) << "expects clause '" << keyword << "' once, got it again";
    if (parseClause(keyword))
      return failure();
    loc = parser.getCurrentLocation();
  }
  for (StringRef name : required)
    if (!seen.contains(name))
      return parser.emitError(loc) << "expects a clause '" << name << "'";
  return success();
}

/// `:` types, one for each operand of `principals` in order.
ParseResult parsePrincipalTypes(OpAsmParser &parser, ArrayRef<Segment *> principals) {
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseColonTypeList(types))
    return failure();
  SmallVector<Segment *> given;
  llvm::copy_if(principals, std::back_inserter(given),
                [](Segment *s) { return !s->operands.empty(); });
  if (types.size() != given.size())
    return parser.emitError(loc) << "expects " << given.size() << " operand types, got "
                                 << types.size();
  for (auto [segment, type] : llvm::zip(given, types))
    segment->types.push_back(type);
  return success();
}

ParseResult resolveSegments(OpAsmParser &parser, ArrayRef<Segment> segments, OperationState &result,
                            MutableArrayRef<int32_t> sizes) {
  SMLoc loc = parser.getCurrentLocation();
  for (auto [segment, size] : llvm::zip_equal(segments, sizes)) {
    size = segment.operands.size();
    if (parser.resolveOperands(segment.operands, segment.types, loc, result.operands))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Printing pieces
//===----------------------------------------------------------------------===//

void printTyped(OpAsmPrinter &printer, ValueRange values) {
  llvm::interleaveComma(values, printer, [&](Value v) { printer << v << " : " << v.getType(); });
}

/// ` name(%v : type, ...)`, nothing where there are no values.
void printTypedClause(OpAsmPrinter &printer, StringRef name, ValueRange values) {
  if (values.empty())
    return;
  printer << ' ' << name << '(';
  printTyped(printer, values);
  printer << ')';
}

/// ` name(%fixed..., %inner = %outer : type) {...}`, nothing where the region is empty.
void printRegionClause(OpAsmPrinter &printer, StringRef name, Region &region, ValueRange captures,
                       bool typedFirst) {
  if (region.empty())
    return;
  printer << ' ' << name << '(';
  Block::BlockArgListType arguments = region.getArguments();
  size_t numFixed = arguments.size() - std::min<size_t>(captures.size(), arguments.size());
  llvm::interleaveComma(arguments.take_front(numFixed), printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument, /*argAttrs=*/{}, /*omitType=*/!typedFirst);
  });
  for (auto [inner, outer] : llvm::zip(arguments.drop_front(numFixed), captures))
    printer << ", " << inner << " = " << outer << " : " << outer.getType();
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

void nameArguments(Region &region, ArrayRef<StringRef> names, OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

} // namespace

//===----------------------------------------------------------------------===//
// attn.append
//===----------------------------------------------------------------------===//

ParseResult AppendOp::parse(OpAsmParser &parser, OperationState &result) {
  enum { Key, Value, Cache, Rows, KeyCaptures, ValueCaptures, NumSegments };
  Segment segments[NumSegments];
  Region *keyPrologue = result.addRegion(), *valuePrologue = result.addRegion();
  auto parseClause = [&](StringRef keyword) -> ParseResult {
    if (keyword == "rows")
      return parseUntyped(parser, segments[Rows]);
    bool isKey = keyword == "key";
    return parseRegionClause(parser, {Type()}, segments[isKey ? KeyCaptures : ValueCaptures],
                             isKey ? *keyPrologue : *valuePrologue);
  };
  if (parser.parseOperand(segments[Key].operands.emplace_back()) || parser.parseComma() ||
      parser.parseOperand(segments[Value].operands.emplace_back()) || parser.parseKeyword("to") ||
      parser.parseOperand(segments[Cache].operands.emplace_back()) ||
      parseClauses(parser, {"rows", "key", "value"}, parseClause, {"rows"}) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parsePrincipalTypes(parser,
                          {&segments[Key], &segments[Value], &segments[Cache], &segments[Rows]}) ||
      resolveSegments(parser, segments, result,
                      result.getOrAddProperties<Properties>().operandSegmentSizes))
    return failure();
  result.addTypes(segments[Cache].types);
  return success();
}

void AppendOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getKey() << ", " << getValue() << " to " << getCache() << " rows(" << getRows()
          << ')';
  printRegionClause(printer, "key", getKeyPrologue(), getKeyCaptures(), /*typedFirst=*/true);
  printRegionClause(printer, "value", getValuePrologue(), getValueCaptures(), /*typedFirst=*/true);
  printer.printOptionalAttrDict((*this)->getAttrs(), {getOperandSegmentSizesAttrName()});
  printer << " : ";
  llvm::interleaveComma(ValueRange{getKey(), getValue(), getCache(), getRows()}.getTypes(),
                        printer);
}

void AppendOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, {"x"}, setName);
}

//===----------------------------------------------------------------------===//
// attn.attention
//===----------------------------------------------------------------------===//

namespace {

constexpr StringRef kClauses[] = {"rows",  "kv_rows", "scale", "mask",  "symbols", "row_values",
                                  "sinks", "bitmap",  "query", "score", "epilogue"};

/// The text of one attn.attention while it is read.
struct AttentionParser {
  enum {
    Query,
    Cache,
    Key,
    Value,
    Rows,
    KVRows,
    Symbols,
    RowValues,
    Sinks,
    Bitmap,
    BitmapStarts,
    QueryCaptures,
    ScoreCaptures,
    EpilogueCaptures,
    NumSegments
  };

  AttentionParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result),
        properties(result.getOrAddProperties<AttentionOp::Properties>()),
        queryPrologue(result.addRegion()), score(result.addRegion()), epilogue(result.addRegion()) {
  }

  /// query `,` (cache | key `,` value)
  ParseResult parsePrincipals() {
    OpAsmParser::UnresolvedOperand first;
    if (parser.parseOperand(segments[Query].operands.emplace_back()) || parser.parseComma() ||
        parser.parseOperand(first))
      return failure();
    bool dense = succeeded(parser.parseOptionalComma());
    segments[dense ? Key : Cache].operands.push_back(first);
    return dense ? parser.parseOperand(segments[Value].operands.emplace_back()) : success();
  }

  ParseResult parseScale() {
    FloatAttr scale;
    if (parser.parseAttribute(scale, parser.getBuilder().getF64Type()))
      return failure();
    properties.scale = scale;
    return success();
  }

  ParseResult parseMask() {
    auto mask = dyn_cast_or_null<MaskAttr>(MaskAttr::parse(parser, Type()));
    properties.mask = mask;
    return success(mask != nullptr);
  }

  ParseResult parseClause(StringRef keyword) {
    Type f32 = parser.getBuilder().getF32Type(), i32 = parser.getBuilder().getI32Type();
    if (keyword == "rows" || keyword == "kv_rows")
      return parseUntyped(parser, segments[keyword == "rows" ? Rows : KVRows]);
    if (keyword == "scale")
      return parseScale();
    if (keyword == "mask")
      return parseMask();
    if (keyword == "symbols")
      return parseTypedList(parser, segments[Symbols]);
    if (keyword == "row_values")
      return parseTypedList(parser, segments[RowValues]);
    if (keyword == "sinks")
      return parseTypedEach(parser, {&segments[Sinks]});
    if (keyword == "bitmap")
      return parseTypedEach(parser, {&segments[Bitmap], &segments[BitmapStarts]});
    if (keyword == "query")
      return parseRegionClause(parser, {Type()}, segments[QueryCaptures], *queryPrologue);
    if (keyword == "score")
      return parseRegionClause(parser, {f32, i32, i32, i32, i32}, segments[ScoreCaptures], *score);
    return parseRegionClause(parser, {f32, i32, i32, i32}, segments[EpilogueCaptures], *epilogue);
  }

  ParseResult parse() {
    auto clause = [&](StringRef keyword) { return parseClause(keyword); };
    if (parsePrincipals() || parseClauses(parser, kClauses, clause, {"rows", "scale"}) ||
        parser.parseOptionalAttrDict(result.attributes) ||
        parsePrincipalTypes(parser, {&segments[Query], &segments[Cache], &segments[Key],
                                     &segments[Value], &segments[Rows], &segments[KVRows]}) ||
        parser.parseArrow() || parser.parseTypeList(result.types) ||
        resolveSegments(parser, segments, result, properties.operandSegmentSizes))
      return failure();
    if (!properties.mask)
      properties.mask = MaskAttr::getNone(parser.getContext());
    return success();
  }

  OpAsmParser &parser;
  OperationState &result;
  AttentionOp::Properties &properties;
  Region *queryPrologue, *score, *epilogue;
  Segment segments[NumSegments];
};

} // namespace

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  return AttentionParser(parser, result).parse();
}

void AttentionOp::print(OpAsmPrinter &printer) {
  SmallVector<Value> principals{getQuery()};
  for (Value value : std::initializer_list<Value>{getCache(), getKey(), getValue()})
    if (value)
      principals.push_back(value);
  printer << ' ';
  printer.printOperands(principals);
  printer << " rows(" << getRows() << ')';
  principals.push_back(getRows());
  if (Value kvRows = getKvRows()) {
    printer << " kv_rows(" << kvRows << ')';
    principals.push_back(kvRows);
  }
  printer << " scale ";
  printer.printAttributeWithoutType(getScaleAttr());
  if (getMask() != MaskAttr::getNone(getContext())) {
    printer << " mask ";
    getMask().printBare(printer);
  }
  printTypedClause(printer, "symbols", getSymbols());
  printTypedClause(printer, "row_values", getRowValues());
  printTypedClause(printer, "sinks", getSinks() ? ValueRange(getSinks()) : ValueRange());
  if (getBitmap())
    printTypedClause(printer, "bitmap", ValueRange{getBitmap(), getBitmapStarts()});
  printRegionClause(printer, "query", getQueryPrologue(), getQueryCaptures(), /*typedFirst=*/true);
  printRegionClause(printer, "score", getScore(), getScoreCaptures(), /*typedFirst=*/false);
  printRegionClause(printer, "epilogue", getEpilogue(), getEpilogueCaptures(),
                    /*typedFirst=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(), {getOperandSegmentSizesAttrName(),
                                                      getScaleAttrName(), getMaskAttrName()});
  printer << " : ";
  llvm::interleaveComma(TypeRange(ValueRange(principals)), printer);
  printer << " -> ";
  llvm::interleaveComma((*this)->getResultTypes(), printer);
}

void AttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "out");
  if (getLse())
    setName(getLse(), "lse");
}

void AttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (&region == &getQueryPrologue())
    nameArguments(region, {"x"}, setName);
  else if (&region == &getScore())
    nameArguments(region, {"s", "q", "k", "h", "b"}, setName);
  else
    nameArguments(region, {"o", "q", "h", "d"}, setName);
}
