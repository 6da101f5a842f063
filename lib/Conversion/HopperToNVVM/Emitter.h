//===- Emitter.h - writes instructions for one hopper op --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared addresses are 32-bit integers here: descriptors, mbarriers and matrix loads all take them,
// and 64-bit arithmetic would put carry chains between the instructions.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_HOPPERTONVVM_EMITTER_H
#define PAGEFOLD_LIB_CONVERSION_HOPPERTONVVM_EMITTER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "pagefold/Dialect/Hopper/IR/SharedMemoryMap.h"
#include "pagefold/Target/Hopper/Chip.h"
#include <array>

namespace pagefold::hopper {

/// The dynamic shared memory of every kernel of a module.
inline constexpr llvm::StringLiteral kSharedSymbol = "pagefold_shared";

// Functions of the special function unit.
inline constexpr llvm::StringLiteral kExp2 = "llvm.nvvm.ex2.approx.ftz.f32",
                                     kLog2 = "llvm.nvvm.lg2.approx.ftz.f",
                                     kReciprocal = "llvm.nvvm.rcp.approx.ftz.f";

/// The swizzle permutes units of so many bytes.
inline constexpr int64_t kUnitBytes = 16;
inline constexpr int64_t kUnitsPerPanel = kHopper.swizzleBytes / kUnitBytes;

/// Where the allocations of all kernels of a module lie.
using SharedPlaces = llvm::DenseMap<mlir::Operation *, SharedPlace>;

/// What was inserted as element `index` of a struct or a vector; null where that is not seen.
mlir::Value insertedAt(mlir::Value aggregate, int64_t index);
/// Takes elements from where they were inserted, and erases what is then dead. Fragments are
/// structs of up to 128 elements: half of a kernel's operations would be their packing, through all
/// of LLVM's passes.
void foldAggregates(mlir::LLVM::LLVMFuncOp function);

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, const SharedPlaces &places)
      : builder(builder), loc(loc), places(places) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  // Integers.
  mlir::Value i32(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value bitAnd(mlir::Value a, int64_t b);
  mlir::Value bitXor(mlir::Value a, mlir::Value b);
  mlir::Value shiftLeft(mlir::Value a, int64_t b);
  mlir::Value shiftRight(mlir::Value a, int64_t b);
  /// A condition as 0 or 1: inline assembly has no predicates as operands.
  mlir::Value extend(mlir::Value condition);
  /// To i64; an i64 stays.
  mlir::Value signExtend(mlir::Value a);

  // f32, in the arithmetic that fast hardware has: contractions allowed.
  mlir::Value f32(double value);
  mlir::Value addF(mlir::Value a, mlir::Value b);
  mlir::Value mulF(mlir::Value a, mlir::Value b);
  mlir::Value maxF(mlir::Value a, mlir::Value b);
  mlir::Value minF(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value combine(ReduceKind kind, mlir::Value a, mlir::Value b);
  /// An intrinsic of one type: that of its operands.
  mlir::Value intrinsic(llvm::StringRef name, mlir::ValueRange operands);

  // Values of several registers: structs and two-element vectors. What was packed before is taken
  // from there.
  llvm::SmallVector<mlir::Value> unpack(mlir::Value aggregate);
  mlir::Value pack(mlir::ValueRange values, mlir::Type structType);
  mlir::Value element(mlir::Value vector, int64_t index);
  mlir::Value vector(mlir::ValueRange elements);
  mlir::Value pair(mlir::Value first, mlir::Value second);
  /// What a lane holds for its upper and its lower row.
  std::array<mlir::Value, 2> rows(mlir::Value vector);

  /// Two f32 rounded to 16-bit elements in one register, `low` in its lower half.
  mlir::Value roundPair(mlir::Type element, mlir::Value low, mlir::Value high);

  /// Inline assembly with side effects. `results` is null for none.
  mlir::Value assembly(mlir::Type results, llvm::StringRef text, llvm::StringRef constraints,
                       mlir::ValueRange operands);
  /// The same values behind an empty asm: nothing that uses them moves above this point.
  llvm::SmallVector<mlir::Value> tie(mlir::ValueRange values);

  // A warp.
  /// What the lane has whose number differs in the bit `distance`.
  mlir::Value shuffleXor(mlir::Value value, int64_t distance);
  void syncWarp();

  // Where this thread is. Reads of the special registers are pure: LLVM keeps one.
  mlir::Value thread();
  mlir::Value lane();
  /// Number of the warp in its warpgroup; not known to be the same in all lanes.
  mlir::Value warp();

  // Global memory.
  mlir::Value elementAddress(mlir::Value pointer, mlir::Type element, mlir::Value index);

  // Shared memory: addresses.
  mlir::Value sharedAddress(int64_t offset);
  mlir::Value sharedPointer(mlir::Value address);
  const SharedPlace &placeOf(mlir::Value allocation) {
    return places.at(allocation.getDefiningOp());
  }
  /// Tile `index` of an allocation of tiles.
  mlir::Value tileAddress(mlir::TypedValue<SharedType> tiles, mlir::Value index);
  /// `warp`: of the ring of that warp; null for a ring of all.
  mlir::Value tileAddress(mlir::TypedValue<RingType> ring, mlir::Value turn, mlir::Value warp = {});
  /// Unit `unit` of row `row` of the tile at `tile`.
  mlir::Value unitAddress(RingType type, mlir::Value tile, mlir::Value row, mlir::Value unit);
  mlir::Value fullBarrier(mlir::TypedValue<RingType> ring, mlir::Value turn, mlir::Value warp = {});
  mlir::Value emptyBarrier(mlir::TypedValue<RingType> ring, mlir::Value turn);
  mlir::Value noteAddress(mlir::TypedValue<RingType> ring, mlir::Value turn);
  /// The parity that the barrier's phase has once the turn is complete: 0 in the first round.
  mlir::Value phase(RingType ring, mlir::Value turn);

private:
  mlir::Value stage(RingType ring, mlir::Value turn, mlir::Value warp = {});

  const SharedPlaces &places;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_HOPPERTONVVM_EMITTER_H
