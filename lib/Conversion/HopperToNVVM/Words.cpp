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

/// Writes the loop that loads all packets until no word is missing, and then empties their places.
/// Words are the outputs $0, $1, ...; the address and the number of packets follow them.
static std::string collectText(int64_t packets, int64_t vectors, int64_t stride) {
  int64_t words = packets * vectors * kVector;
  std::string address = "$" + std::to_string(words), count = "$" + std::to_string(words + 1);
  std::string loads, tests, stores;
  for (int64_t packet = 0; packet < packets; ++packet) {
    std::string wanted = "w" + std::to_string(packet);
    tests += "setp.gt.s32 " + wanted + ", " + count + ", " + std::to_string(packet) + "; ";
    for (int64_t vector = 0; vector < vectors; ++vector) {
      int64_t first = (packet * vectors + vector) * kVector;
      std::string place = "[" + address + "+" +
                          std::to_string(kWordBytes * (packet * stride + vector * kVector)) + "]";
      auto word = [&](int64_t i) { return "$" + std::to_string(first + i); };
      loads += "@" + wanted + " ld.relaxed.gpu.global.v4.b32 {" + word(0) + ", " + word(1) + ", " +
               word(2) + ", " + word(3) + "}, " + place + "; ";
      stores += "@" + wanted + " st.relaxed.gpu.global.v4.b32 " + place + ", {z, z, z, z}; ";
    }
  }
  // Words that are not asked for are all ones: they stand for 0, and do not look missing.
  std::string ones, missing = "mov.pred m, 0; ";
  for (int64_t i = 0; i < words; ++i) {
    ones += "mov.b32 $" + std::to_string(i) + ", 0xffffffff; ";
    missing += "setp.eq.or.b32 m, $" + std::to_string(i) + ", 0, m; ";
  }
  std::string registers = "{ .reg .pred m; .reg .b32 z; mov.b32 z, 0; ";
  for (int64_t packet = 0; packet < packets; ++packet)
    registers += ".reg .pred w" + std::to_string(packet) + "; ";
  return registers + ones + tests + "POLL: " + loads + missing + "@m bra POLL; " + stores +
         "bar.warp.sync 0xffffffff; }";
}

static SmallVector<Value> lowerCollect(CollectOp op, CollectOp::Adaptor adaptor, Emitter &emitter) {
  OpBuilder &builder = emitter.builder;
  int64_t packets = op.getPackets(), words = op.getValues().size() * kVector;
  std::string constraints;
  for (int64_t i = 0; i < words; ++i)
    constraints += "=&r,";
  auto type = LLVM::LLVMStructType::getLiteral(op.getContext(),
                                               SmallVector<Type>(words, builder.getI32Type()));
  Value loaded = emitter.assembly(
      type, collectText(packets, op.getValues().size() / packets, op.getStride()),
      constraints + "l,r,~{memory}",
      {packetAddress(emitter, adaptor.getStates(), adaptor.getOffset()), adaptor.getCount()});
  SmallVector<Value> elements, vectors;
  for (Value word : emitter.unpack(loaded)) {
    Value bits = emitter.bitXor(word, emitter.i32(-1));
    elements.push_back(LLVM::BitcastOp::create(builder, emitter.loc, builder.getF32Type(), bits));
    if (elements.size() == kVector) {
      vectors.push_back(emitter.vector(elements));
      elements.clear();
    }
  }
  return vectors;
}

void pagefold::hopper::addWordLowerings(const LoweringContext &context) {
  addLowering(context, lowerAllocWords);
  addLowering(context, lowerLoadWords);
  addLowering(context, lowerStoreWords);
  addLowering(context, lowerHandOver);
  addLowering(context, lowerCollect);
}
