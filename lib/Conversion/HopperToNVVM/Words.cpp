//===- Words.cpp - what warps and CTAs tell each other ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Words of shared memory
//===----------------------------------------------------------------------===//

static Value lowerAllocWords(AllocWordsOp op, AllocWordsOp::Adaptor, Emitter &emitter) {
  return emitter.sharedAddress(emitter.placeOf(op).tiles);
}

static constexpr int64_t kWordBytes = 4;

static Value wordPointer(Emitter &emitter, Value words, Value index) {
  return emitter.sharedPointer(emitter.add(emitter.sharedAddress(emitter.placeOf(words).tiles),
                                           emitter.mul(index, kWordBytes)));
}

/// Vectors are aligned to their size.
static unsigned alignmentOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return kWordBytes * (vector ? vector.getNumElements() : 1);
}

static Value lowerLoadWords(LoadWordsOp op, LoadWordsOp::Adaptor adaptor, Emitter &emitter) {
  Type type = op.getValue().getType();
  return LLVM::LoadOp::create(emitter.builder, emitter.loc, type,
                              wordPointer(emitter, op.getWords(), adaptor.getIndex()),
                              alignmentOf(type));
}

static void lowerStoreWords(StoreWordsOp op, StoreWordsOp::Adaptor adaptor, Emitter &emitter) {
  LLVM::StoreOp::create(emitter.builder, emitter.loc, adaptor.getValue(),
                        wordPointer(emitter, op.getWords(), adaptor.getIndex()),
                        alignmentOf(op.getValue().getType()));
}

//===----------------------------------------------------------------------===//
// Packets
//===----------------------------------------------------------------------===//

static constexpr int64_t kVector = 4;

/// The bits of an f32 inverted; never 0.
static Value invert(Emitter &emitter, Value value) {
  OpBuilder &builder = emitter.builder;
  Value bits = LLVM::BitcastOp::create(builder, emitter.loc, builder.getI32Type(), value);
  Value inverted = emitter.bitXor(bits, emitter.i32(-1));
  return LLVM::UMaxOp::create(builder, emitter.loc, inverted, emitter.i32(1));
}

static Value packetAddress(Emitter &emitter, Value states, Value offset) {
  return emitter.elementAddress(states, emitter.builder.getF32Type(), offset);
}

static void lowerHandOver(HandOverOp, HandOverOp::Adaptor adaptor, Emitter &emitter) {
  Value address = packetAddress(emitter, adaptor.getStates(), adaptor.getOffset());
  for (auto [i, vector] : llvm::enumerate(adaptor.getValues())) {
    SmallVector<Value> operands{address};
    for (int64_t element = 0; element < kVector; ++element)
      operands.push_back(invert(emitter, emitter.element(vector, element)));
    emitter.assembly({},
                     "st.relaxed.gpu.global.v4.b32 [$0+" +
                         std::to_string(kWordBytes * kVector * i) + "], {$1, $2, $3, $4};",
                     "l,r,r,r,r,~{memory}", operands);
  }
}

namespace {

/// Writes the loop that loads all packets until no word is missing, and then empties their places.
/// Outputs are the words and, with a limit of polls, the number of the packet that is missing, from
/// 1 on, or 0; operands the address and how many packets are waited for.
class CollectText {
public:
  CollectText(CollectOp op, int64_t limit)
      : packets(op.getPackets()), words(op.getValues().size() * kVector),
        packetWords(words / packets), stride(op.getStride()), limit(limit) {}

  std::string text();
  std::string constraints();

private:
  std::string output(int64_t i) { return "$" + std::to_string(i); }
  std::string address() { return output(words + (limit > 0)); }
  std::string count() { return output(words + (limit > 0) + 1); }
  static std::string wanted(int64_t packet) { return "w" + std::to_string(packet); }

  std::string registers();
  std::string access(StringRef operation);
  std::string isMissing(int64_t first, int64_t end);
  std::string giveUp();

  int64_t packets, words, packetWords, stride, limit;
};

} // namespace

/// Words that are not asked for are all ones: they stand for 0, and do not look missing.
std::string CollectText::registers() {
  std::string text = ".reg .pred m; .reg .b32 z; mov.b32 z, 0; ";
  for (int64_t i = 0; i < words; ++i)
    text += "mov.b32 " + output(i) + ", 0xffffffff; ";
  for (int64_t packet = 0; packet < packets; ++packet)
    text += ".reg .pred " + wanted(packet) + "; setp.gt.s32 " + wanted(packet) + ", " + count() +
            ", " + std::to_string(packet) + "; ";
  if (limit > 0)
    text += ".reg .pred q; .reg .b64 n; mov.b64 n, " + std::to_string(limit) + "; mov.b32 " +
            output(words) + ", 0; ";
  return text;
}

/// Of all words that are asked for: `ld` to the outputs, or `st` of zeros.
std::string CollectText::access(StringRef operation) {
  std::string text;
  for (int64_t word = 0; word < words; word += kVector) {
    int64_t packet = word / packetWords, inPacket = word % packetWords;
    std::string place =
        "[" + address() + "+" + std::to_string(kWordBytes * (packet * stride + inPacket)) + "]";
    std::string four = "{" + output(word) + ", " + output(word + 1) + ", " + output(word + 2) +
                       ", " + output(word + 3) + "}";
    text += "@" + wanted(packet) + " " + operation.str() + ".relaxed.gpu.global.v4.b32 " +
            (operation == "ld" ? four + ", " + place : place + ", {z, z, z, z}") + "; ";
  }
  return text;
}

/// m: whether one of these words is 0.
std::string CollectText::isMissing(int64_t first, int64_t end) {
  std::string text = "mov.pred m, 0; ";
  for (int64_t i = first; i < end; ++i)
    text += "setp.eq.or.b32 m, " + output(i) + ", 0, m; ";
  return text;
}

/// After the last poll: the first packet of which a word is missing.
std::string CollectText::giveUp() {
  std::string text = "@!m bra DONE; sub.s64 n, n, 1; setp.ne.s64 q, n, 0; @q bra POLL; ";
  for (int64_t packet = packets - 1; packet >= 0; --packet)
    text += isMissing(packet * packetWords, (packet + 1) * packetWords) + "@m mov.b32 " +
            output(words) + ", " + std::to_string(packet + 1) + "; ";
  return text + "DONE: ";
}

std::string CollectText::text() {
  return "{ " + registers() + "POLL: " + access("ld") + isMissing(0, words) +
         (limit > 0 ? giveUp() : "@m bra POLL; ") + access("st") + "bar.warp.sync 0xffffffff; }";
}

std::string CollectText::constraints() {
  std::string outputs;
  for (int64_t i = 0; i < words + (limit > 0); ++i)
    outputs += "=&r,";
  return outputs + "l,r,~{memory}";
}

/// The vectors of f32 whose inverted bits the words are.
static SmallVector<Value> vectorsOf(Emitter &emitter, ArrayRef<Value> words) {
  OpBuilder &builder = emitter.builder;
  SmallVector<Value> elements, vectors;
  for (Value word : words) {
    Value bits = emitter.bitXor(word, emitter.i32(-1));
    elements.push_back(LLVM::BitcastOp::create(builder, emitter.loc, builder.getF32Type(), bits));
    if (elements.size() == kVector) {
      vectors.push_back(emitter.vector(elements));
      elements.clear();
    }
  }
  return vectors;
}

static SmallVector<Value> lowerCollect(CollectOp op, CollectOp::Adaptor adaptor, Emitter &emitter) {
  int64_t limit = pollLimitOf(op);
  CollectText collect(op, limit);
  size_t words = op.getValues().size() * kVector;
  SmallVector<Type> types(words + (limit > 0), emitter.builder.getI32Type());
  auto type = LLVM::LLVMStructType::getLiteral(op.getContext(), types);
  SmallVector<Value> loaded = emitter.unpack(emitter.assembly(
      type, collect.text(), collect.constraints(),
      {packetAddress(emitter, adaptor.getStates(), adaptor.getOffset()), adaptor.getCount()}));
  if (limit > 0)
    giveUpIf(emitter, op, loaded.back(), loaded.back(), adaptor.getOffset());
  return vectorsOf(emitter, ArrayRef(loaded).take_front(words));
}

void pagefold::hopper::addWordLowerings(const LoweringContext &context) {
  addLowering(context, lowerAllocWords);
  addLowering(context, lowerLoadWords);
  addLowering(context, lowerStoreWords);
  addLowering(context, lowerHandOver);
  addLowering(context, lowerCollect);
}
