//===- MaskSyntaxTest.cpp - the text of a mask ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Enumeration.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ExtensibleDialect.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

namespace {

class MaskSyntaxTest : public testing::Test {
protected:
  std::string print(const std::string &text) { return maskText(parseOrFail(text, &context)); }

  /// Where and how parsing fails, as `text` with a caret below: short enough to compare.
  std::string error(const std::string &text) {
    std::string report = "no error";
    auto parsed = parseMaskSets(text, &context, [&](size_t offset, const llvm::Twine &message) {
      EXPECT_EQ(report, "no error") << "one fault expects one report";
      report = std::to_string(offset) + ": " + message.str();
    });
    EXPECT_TRUE(failed(parsed));
    return report;
  }

  MLIRContext context;
};

TEST_F(MaskSyntaxTest, PrintsSetsWithKAlone) {
  EXPECT_EQ(print("none"), "k >= 0");
  EXPECT_EQ(print("causal"), "k <= q + kv_len - q_len");
  EXPECT_EQ(print("causal and window(4096)"),
            "k <= q + kv_len - q_len and k >= q + kv_len - q_len - 4095");
  EXPECT_EQ(print("k > q + kv_len - q_len - w where w >= 1"),
            "k >= q + kv_len - q_len - w + 1 where w >= 1");
  EXPECT_EQ(print("prefix(16) or causal"), "k <= 15 or k <= q + kv_len - q_len");
  EXPECT_EQ(print("sink_window(s, 8) where s"),
            "k <= s - 1 and k <= q + kv_len - q_len or "
            "k <= q + kv_len - q_len and k >= q + kv_len - q_len - 7 where s");
  EXPECT_EQ(print("chunked(128)"), "k <= q + kv_len - q_len and "
                                   "k floordiv 128 == (q + kv_len - q_len) floordiv 128");
  EXPECT_EQ(print("2 * q >= k * 3"), "3 * k <= 2 * q");
  EXPECT_EQ(print("(q - k) mod 4 == 0"), "(q - k) mod 4 == 0");
  EXPECT_EQ(print("k >= s where t >= -3, s per_row"), "k >= s where t >= -3, s per_row");
}

TEST_F(MaskSyntaxTest, Simplifies) {
  EXPECT_EQ(print("4 * k <= 4 * q + 3"), "k <= q");
  EXPECT_EQ(print("k <= q and q >= k"), "k <= q");
  EXPECT_EQ(print("causal or causal"), print("causal"));
  EXPECT_EQ(print("k <= q and 1 > 0"), "k <= q");
  EXPECT_EQ(print("k <= q or 1 > 2"), "k <= q");
  EXPECT_EQ(print("1 > 2"), "0 >= 1");
  EXPECT_EQ(print("k ceildiv 4 <= q"), print("(k + 3) floordiv 4 <= q"));
}

TEST_F(MaskSyntaxTest, GroupsConditionsAndExpressions) {
  EXPECT_EQ(print("(causal or prefix(3)) and k >= 1"),
            "k <= q + kv_len - q_len and k >= 1 or k <= 2 and k >= 1");
  EXPECT_EQ(print("(k floordiv 64) mod 3 == 0"), "(k floordiv 64) mod 3 == 0");
  EXPECT_EQ(print("((k + 1) <= (q))"), "k <= q - 1");
  EXPECT_EQ(print("-(k) >= -q"), "k <= q");
}

TEST_F(MaskSyntaxTest, RoundTrips) {
  std::mt19937 random(4);
  std::vector<std::string> texts;
  for (const auto *masks : {&spelledMasks(), &namedMasks()})
    for (const NamedMask &mask : *masks)
      texts.push_back(mask.text);
  for (int i = 0; i < 500; ++i)
    texts.push_back(randomMaskText(random));
  for (const std::string &text : texts) {
    MaskSets mask = parseOrFail(text, &context);
    std::string printed = maskText(mask);
    MaskSets again = parseOrFail(printed, &context);
    EXPECT_EQ(mask, again) << text << "\n" << printed << "\n" << maskText(again);
    EXPECT_EQ(printed, maskText(again));
    EXPECT_EQ(hash_value(mask), hash_value(again));
  }
}

TEST_F(MaskSyntaxTest, CanonicalFormKeepsTheMeaning) {
  std::mt19937 random(8);
  for (int i = 0; i < 100; ++i) {
    MaskSets mask = parseOrFail(randomMaskText(random), &context), again = mask;
    canonicalizeMaskSets(again);
    EXPECT_EQ(mask, again) << maskText(mask);
  }
}

TEST_F(MaskSyntaxTest, ReportsFaultsWhereTheyAre) {
  EXPECT_EQ(error(""), "0: mask expects a condition or a spelling, got an empty text");
  EXPECT_EQ(error("  "), "2: mask expects a condition or a spelling, got an empty text");
  EXPECT_EQ(error("k <= p"),
            "5: mask does not know the name 'p'; expects q, k, q_len, kv_len or a symbol declared "
            "by a trailing 'where p'");
  EXPECT_EQ(error("casual(3)"), "0: mask does not know the spelling 'casual'; expects one of none, "
                                "causal, window, prefix, sink_window, chunked");
  EXPECT_EQ(error("k <= q * k"), "7: mask expects a constant on one side of '*': a product of two "
                                 "values is not affine");
  EXPECT_EQ(error("k floordiv c == q where c >= 1"),
            "2: mask expects a constant after 'floordiv': division by a value is not affine");
  EXPECT_EQ(error("k mod 0 == 0"), "2: mask expects a divisor of at least 1 after 'mod', got 0");
  EXPECT_EQ(error("chunked(c) where c"),
            "8: chunked expects a chunk size that is a constant (division by a symbol is not "
            "affine), got 'c'");
  EXPECT_EQ(error("window(0)"), "7: window expects a window size of at least 1, got 0");
  EXPECT_EQ(error("prefix(q)"), "7: prefix expects a prefix size that does not depend on q or k");
  EXPECT_EQ(error("causal where k >= 1"),
            "13: mask symbol 'k' shadows a predefined name: rename it");
  EXPECT_EQ(error("causal where window"), "13: mask expects the name of a symbol, got 'window'");
  EXPECT_EQ(error("causal where w, w"), "16: mask symbol 'w' is declared twice");
  EXPECT_EQ(error("k <= q causal"),
            "7: mask expects 'and', 'or', 'where' or its end, got 'causal'");
  EXPECT_EQ(error("k"),
            "1: mask expects a comparison (<=, <, >=, > or ==), got the end of the mask");
  EXPECT_EQ(error("k <= 99999999999"), "5: mask expects a number below 2^31, got '99999999999'");
  EXPECT_EQ(error("k <= 2000000 * q * 2000000"),
            "0: mask expects coefficients and constants that fit 32 bits once multiplied out");
  EXPECT_EQ(error("k <= q && k >= 1"), "7: mask expects 'and', 'or', 'where' or its end, got '&'");
  EXPECT_EQ(error("(k <= q"), "7: mask expects ')', got the end of the mask");
}

TEST_F(MaskSyntaxTest, TooManyAlternatives) {
  std::string text = "(k <= 1 or k == 3)";
  for (int i = 0; i < 6; ++i)
    text += " and (k <= " + std::to_string(2 * i + 5) + " or q == " + std::to_string(i) + ")";
  EXPECT_NE(error(text).find("at most 64 alternatives"), std::string::npos);
}

TEST_F(MaskSyntaxTest, VerifierNamesTheBreach) {
  MaskSets mask = windowMask(&context, "w");
  auto breach = [&](const MaskSets &broken) {
    std::string report;
    ScopedDiagnosticHandler handler(&context,
                                    [&](Diagnostic &diagnostic) { report = diagnostic.str(); });
    auto emit = [&] { return emitError(UnknownLoc::get(&context)); };
    EXPECT_TRUE(failed(verifyMaskSets(emit, broken)));
    return report;
  };
  MaskSets broken = mask;
  broken.symbols = {"q_len"};
  EXPECT_EQ(breach(broken), "mask symbol expects a name that is not a word of the mask syntax, got "
                            "'q_len'");
  broken = mask;
  broken.symbols.push_back("w");
  broken.lowerBounds.push_back(1);
  EXPECT_EQ(breach(broken), "mask symbols expect distinct names, got 'w' twice");
  broken = mask;
  broken.lowerBounds.clear();
  EXPECT_EQ(breach(broken), "mask expects one lower bound for each of its 1 symbols, got 0");
  broken = mask;
  broken.sets.clear();
  EXPECT_EQ(breach(broken), "mask expects at least one set");
  broken = mask;
  broken.rowVars = {"start"};
  EXPECT_EQ(breach(broken), "mask set expects 3 dims and 3 symbols, got 2 and 3");
}

//===----------------------------------------------------------------------===//
// Inside MLIR's own parser
//===----------------------------------------------------------------------===//

/// An op whose assembly is a mask: `masktest.op <mask> some_keyword`.
class AsmParserTest : public MaskSyntaxTest {
protected:
  AsmParserTest() {
    context.getOrLoadDynamicDialect("masktest", [](DynamicDialect *dialect) {
      auto verify = [](Operation *) { return success(); };
      auto parse = [](OpAsmParser &parser, OperationState &state) -> ParseResult {
        FailureOr<MaskSets> mask = parseMaskSets(parser);
        if (failed(mask))
          return failure();
        state.addAttribute("mask", parser.getBuilder().getStringAttr(maskText(*mask)));
        return parser.parseKeyword("afterwards");
      };
      auto print = [](Operation *, OpAsmPrinter &, StringRef) {};
      dialect->registerDynamicOp(
          DynamicOpDefinition::get("op", dialect, verify, verify, parse, print));
    });
  }

  /// The mask of the op, or "column: message".
  std::string parseOp(const std::string &mask) {
    std::string report;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      auto location = cast<FileLineColLoc>(diagnostic.getLocation());
      report = std::to_string(location.getColumn()) + ": " + diagnostic.str();
    });
    auto module =
        parseSourceString<ModuleOp>("masktest.op " + mask + " afterwards", ParserConfig(&context));
    if (!module)
      return report;
    return cast<StringAttr>(module->getBody()->front().getAttr("mask")).str();
  }
};

TEST_F(AsmParserTest, TakesQuotedAndBareMasks) {
  for (const char *text : {"k <= q + kv_len - q_len and k > q + kv_len - q_len - w where w >= 1",
                           "causal", "causal and window(8)", "(causal or prefix(16)) and k >= 1",
                           "k mod 4 == 0 and k < q -1", "k >= s where s per_row"}) {
    EXPECT_EQ(parseOp("<" + std::string(text) + ">"), print(text));
    EXPECT_EQ(parseOp("<\"" + std::string(text) + "\">"), print(text));
  }
}

TEST_F(AsmParserTest, ReportsColumns) {
  const std::string op = "custom op 'masktest.op' mask ";
  const std::string unknown = "does not know the name 'p'; expects q, k, q_len, kv_len or a symbol "
                              "declared by a trailing 'where p'";
  EXPECT_EQ(parseOp("<k <= p>"), "19: " + op + unknown);
  EXPECT_EQ(parseOp("<\"k <= p\">"), "20: " + op + unknown);
  EXPECT_EQ(parseOp("<>"), "14: " + op + "expects a condition or a spelling, got an empty text");
  EXPECT_EQ(parseOp("<k <= 99999999999>"),
            "19: " + op + "expects a number below 2^31, got '99999999999'");
  EXPECT_EQ(parseOp("<(causal"), "22: " + op + "expects ')', got 'afterwards'");
}

} // namespace
