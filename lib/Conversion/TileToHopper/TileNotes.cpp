//===- TileNotes.cpp - what travels with a query tile ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileNotes.h"

using namespace mlir;
using namespace pagefold::hopper;

Values pagefold::hopper::endOfNotes(HopperBuilder &b) { return Values(TileNote::Words, b.i32(-1)); }

void pagefold::hopper::handNote(HopperBuilder &b, Value ring, Value turn, ValueRange note) {
  WriteNoteOp::create(b, ring, turn, note);
  ArriveOp::create(b, ring, turn);
}

Values pagefold::hopper::forEachNote(HopperBuilder &b, Value ring,
                                     llvm::function_ref<Value(Value, Value, ValueRange)> body) {
  Value zero = b.i32(0);
  return b.whileLoopWithHead(
      {zero, zero},
      [&](ValueRange turns) {
        WaitOp::create(b, ring, turns[1]);
        SmallVector<Type> types(TileNote::Words, b.getI32Type());
        auto note = ReadNoteOp::create(b, types, ring, turns[1]);
        Values words(note.getResults());
        return std::pair(b.atLeast(words[TileNote::FirstRow], zero), words);
      },
      [&](ValueRange now) {
        Value next = body(now[0], now[1], now.drop_front(2));
        return Values{next, b.add(now[1], 1)};
      });
}
