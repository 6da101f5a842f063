//===- HopperOps.td - operations of the hopper dialect -----*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_IR_HOPPEROPS
#define PAGEFOLD_DIALECT_HOPPER_IR_HOPPEROPS

include "pagefold/Dialect/Hopper/IR/HopperBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Kernel and roles
//===----------------------------------------------------------------------===//

def Hopper_KernelOp : Hopper_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "A kernel: the program of one CTA";
  let description = [{
    Allocations, then one `hopper.roles`, then `hopper.return`. The CTA has the threads of its roles and
    one multiprocessor to itself.

    ```mlir
    gpu.module @kernels {
      hopper.kernel @poll(%n: i32) {
        %k = hopper.alloc_ring readers 4 : !hopper.ring<2 x 128 x 128, bf16>
        hopper.roles {
          all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
            hopper.wait %k[%n] : !hopper.ring<2 x 128 x 128, bf16>
          }
        }
        hopper.return
      }
    }
    ```

    Constraints:
    * C1: parameters are tensor maps, pointers, i32, i64 or f32, there is no result, and there is a body.
    * C2: shared tiles, rings, barriers, notes and words fit the shared memory of a CTA (232448 bytes).
    * C3: the kernel has exactly one `hopper.roles`, and allocations and it stand in the kernel's own block.
    * C4: shared tiles, rings and words are used as their allocations give them, through no block argument.
    * C5: a ring of warps is used by ops that name the warp, any other ring by ops that name none.
    * C6: a ring of warps is of at most the warps that the roles have.
    * C7: a ring of warps that `hopper.arrive_gathered` fills has 32 writers, the lanes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Hopper_ReturnOp : Hopper_Op<"return", [Terminator, HasParent<"KernelOp">]> {
  let summary = "Ends a kernel";
  let assemblyFormat = "attr-dict";
}

def Hopper_RolesOp : Hopper_Op<"roles", [SingleBlockImplicitTerminator<"EndOp">, HasParent<"KernelOp">]> {
  let summary = "Splits the CTA's warpgroups into roles";
  let description = [{
    Warpgroups are given out in the order of the roles. All threads first see the rings' barriers
    initialised. Then each role sets its threads' registers and runs its region over (%warpgroup, %warp): the
    number of the warpgroup in the role and of the warp in the warpgroup, the same in all lanes of a warp.

    ```mlir
    gpu.module @kernels {
      hopper.kernel @meet() {
        hopper.roles {
          producer warpgroups 1 registers 24 (%wg: i32, %warp: i32) {
          }
          consumer warpgroups 2 registers 240 (%wg: i32, %warp: i32) {
            %barrier = arith.constant 1 : i32
            hopper.barrier_sync %barrier threads 256
          }
        }
        hopper.return
      }
    }
    ```

    Constraints:
    * C1: the roles have 1 to 8 warpgroups in all.
    * C2: registers is a multiple of 8 from 24 to 256.
    * C3: all roles' registers fit the pool that the launch allocates: each thread gets the multiple of 8 below 65536 /
      threads, and what a role gives back is all that another can take. Beyond it the kernel would wait forever.
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI64ArrayAttr:$warpgroups, DenseI64ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Threads of all roles.
    int64_t threads();
  }];
}

def Hopper_SingleThreadOp : Hopper_Op<"single_thread", [SingleBlockImplicitTerminator<"EndOp">]> {
  let summary = "One thread of each warpgroup runs the region, always the same one";
  let description = [{
    The predicate cannot be kept and used again: an election that is computed once and guards
    TMA instructions in a loop of the whole warp is dropped by ptxas 13.0.

    ```mlir
    hopper.single_thread {
      hopper.wait_stores read
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Hopper_EndOp : Hopper_Op<"end", [Pure, Terminator]> {
  let summary = "Ends a region without values";
  let assemblyFormat = "attr-dict";
}

def Hopper_LaneOp : Hopper_Op<"lane", [Pure]> {
  let summary = "The lane's number in its warp";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Hopper_ThreadOp : Hopper_Op<"thread", [Pure]> {
  let summary = "The thread's number in the CTA";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Hopper_CtaOp : Hopper_Op<"cta", [Pure]> {
  let summary = "The CTA's number in the grid";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Hopper_CtasOp : Hopper_Op<"ctas", [Pure]> {
  let summary = "The number of CTAs in the grid";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Hopper_TicketOp : Hopper_Op<"ticket"> {
  let summary = "Draws the next ticket from a counter in global memory";
  let description = [{
    Returns the counter and adds one; after `last` it starts at 0 again, so that a launch which draws
    `last` + 1 tickets leaves the counter as it was. With an index it is one of several counters.

    ```mlir
    %t = hopper.ticket %counter last %last : !hopper.pointer<i32>
    %u = hopper.ticket %counters[%i] last %last : !hopper.pointer<i32>
    ```

    Constraints:
    * C1: the counter is an i32.
  }];
  let arguments = (ins Hopper_PointerType:$counter, Optional<I32>:$index, I32:$last);
  let results = (outs I32:$result);
  let assemblyFormat = "$counter (`[` $index^ `]`)? `last` $last attr-dict `:` type($counter)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

def Hopper_AllocOp : Hopper_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Tiles in shared memory";
  let description = [{
    ```mlir
    %o = hopper.alloc : !hopper.shared<2 x 64 x 128, bf16>
    ```
  }];
  let results = (outs Hopper_SharedType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Hopper_AllocRingOp : Hopper_Op<"alloc_ring", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A ring, its barriers initialised";
  let description = [{
    A stage is full when `writers` arrivals (one, if not said) have been made and TMA has brought the bytes that they
    expect, and empty again when `readers` warps have released it. `hopper.expect` and `hopper.arrive` are one arrival,
    `hopper.arrive_gathered` is one for each warp, or, of a ring of warps, one for each lane. Nobody releases a ring of
    warps (`readers 0`): who has read it also fills it.

    ```mlir
    %k = hopper.alloc_ring readers 8 : !hopper.ring<2 x 128 x 128, bf16>
    %v = hopper.alloc_ring readers 8 writers 4 : !hopper.ring<2 x 128 x 128, bf16>
    ```

    Constraints:
    * C1: readers is from 1 to 32, or 0 for a ring of warps.
    * C2: writers is from 1 to 32.
  }];
  let arguments = (ins I64Attr:$readers, DefaultValuedAttr<I64Attr, "1">:$writers);
  let results = (outs Hopper_RingType:$result);
  let assemblyFormat = "`readers` $readers (`writers` $writers^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

class Hopper_RingOp<string mnemonic> : Hopper_Op<mnemonic> {
  let arguments = (ins Hopper_RingType:$ring, I32:$turn);
  let assemblyFormat = "$ring `[` $turn `]` attr-dict `:` type($ring)";
}

def Hopper_AcquireOp : Hopper_RingOp<"acquire"> {
  let summary = "Producer: waits until the turn's stage is empty";
  let description = "In the first round every stage is.";
}

/// A ring of warps is used by ops that say whose it is.
class Hopper_WarpRingOp<string mnemonic> : Hopper_Op<mnemonic> {
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, Optional<I32>:$warp);
  let assemblyFormat = "$ring `[` $turn `]` (`of` $warp^)? attr-dict `:` type($ring)";
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$turn), [{
    build($_builder, $_state, ring, turn, ::mlir::Value());
  }]>];
}

def Hopper_ExpectOp : Hopper_WarpRingOp<"expect"> {
  let summary = "Producer, one thread: the stage is full once one tile's bytes have arrived";
}

def Hopper_ArriveOp : Hopper_RingOp<"arrive"> {
  let summary = "Producer, one thread: the stage is full as it is, without a tile";
  let description = "What the consumers read is the note alone.";
}

def Hopper_WaitOp : Hopper_WarpRingOp<"wait"> {
  let summary = "Consumer: waits until the turn's stage is full";
  let description = [{
    ```mlir
    hopper.wait %k[%t] : !hopper.ring<2 x 128 x 128, bf16>
    hopper.wait %own[%t] of %warp : !hopper.ring<3 x 16 x 128, bf16 warps 8>
    ```
  }];
}

def Hopper_FillOp : Hopper_Op<"fill", [AttrSizedOperandSegments]> {
  let summary = "Producer, each calling thread: starts one TMA copy into the turn's stage";
  let description = [{
    The box goes to the tile from `row` on (from its first row, if none is given), `row` a multiple of 8. Where a panel
    is named, it goes to the rows of that panel alone: a box of 64 columns, whose tensor need not have a dimension of
    panels. `keep` tells the L2 whether other CTAs will read the same bytes soon.

    ```mlir
    hopper.fill %k[%t] from %map[%z, %row, %z, %head, %batch] keep : !hopper.ring<2 x 128 x 128, bf16>, !hopper.tensor_map<box[64, 128, 2, 1, 1], bf16>
    hopper.fill %v[%t] panel 1 row %r from %page[%c64, %slot, %head, %p] : !hopper.ring<2 x 128 x 96, bf16>, !hopper.tensor_map<box[64, 16, 1, 1], bf16>
    ```

    Constraints:
    * C1: as many coordinates as the box has extents.
    * C2: elements of map and ring agree.
    * C3: without `row`, the box has the bytes of the tile, or of the panel; with it, those of a multiple of 8 rows, at
      most all.
    * C4: with `row` and no panel, the rows of the tile lie together: its order is octets, or it has one panel.
    * C5: a panel is one of the tile's, whose order is panels.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, Optional<I32>:$warp, OptionalAttr<I64Attr>:$panel,
                       Optional<I32>:$row, Hopper_TensorMapType:$map, Variadic<I32>:$coordinates, UnitAttr:$keep);
  let assemblyFormat = [{
    $ring `[` $turn `]` (`of` $warp^)? (`panel` $panel^)? (`row` $row^)? `from` $map `[` $coordinates `]` (`keep` $keep^)?
    attr-dict `:` type($ring) `,` type($map)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$turn, "::mlir::IntegerAttr":$panel,
                                 "::mlir::Value":$row, "::mlir::Value":$map, "::mlir::ValueRange":$coordinates,
                                 "::mlir::UnitAttr":$keep), [{
    build($_builder, $_state, ring, turn, ::mlir::Value(), panel, row, map, coordinates, keep);
  }]>];
  let hasVerifier = 1;
}

def Hopper_ReleaseOp : Hopper_Op<"release"> {
  let summary = "Consumer warp: gives the turn's stage back";
  let description = [{
    One lane arrives. `after`, whose elements are not negative, holds it back until elements 16 and 18, one of each row, are known, by a dependence
    without meaning: ptxas keeps arrivals and waits in order, so that it cannot lift the next wait above the exponentials
    (761 against 748 TFLOP/s on 16k rows).

    ```mlir
    hopper.release %k[%t] after %p : !hopper.ring<2 x 128 x 128, bf16>, !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment after which a stage is released is of f32, with at least 38 columns.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, Optional<Hopper_FragmentType>:$after);
  let assemblyFormat = "$ring `[` $turn `]` (`after` $after^)? attr-dict `:` type($ring) (`,` type($after)^)?";
  let hasVerifier = 1;
}

def Hopper_WriteNoteOp : Hopper_Op<"write_note"> {
  let summary = "Producer, one thread: writes the stage's note";
  let description = [{
    Consumers see it once the stage is full.

    ```mlir
    hopper.write_note %q[%t], %a, %b, %c, %d : !hopper.ring<1 x 128 x 128, bf16 note 4>
    ```

    Constraints:
    * C1: as many words as the ring's note has.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, Variadic<I32>:$words);
  let assemblyFormat = "$ring `[` $turn `]` `,` $words attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Hopper_ReadNoteOp : Hopper_Op<"read_note"> {
  let summary = "Consumer: reads the stage's note";
  let description = [{
    ```mlir
    %n:4 = hopper.read_note %q[%t] : !hopper.ring<1 x 128 x 128, bf16 note 4> -> i32, i32, i32, i32
    ```

    Constraints:
    * C1: as many words as the ring's note has.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn);
  let results = (outs Variadic<I32>:$words);
  let assemblyFormat = "$ring `[` $turn `]` attr-dict `:` type($ring) `->` type($words)";
  let hasVerifier = 1;
}

def Hopper_StoreFragmentOp : Hopper_Op<"store_fragment"> {
  let summary = "Stores a fragment in a shared tile (stmatrix)";
  let description = [{
    ```mlir
    hopper.store_fragment %h, %o[%wg] : !hopper.fragment<64 x 128, bf16>, !hopper.shared<2 x 64 x 128, bf16>
    ```

    Constraints:
    * C1: the tile is 64 rows of the fragment's columns and elements.
    * C2: the fragment has 16-bit elements.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, Hopper_SharedType:$tiles, I32:$index);
  let assemblyFormat = "$fragment `,` $tiles `[` $index `]` attr-dict `:` type($fragment) `,` type($tiles)";
  let hasVerifier = 1;
}

def Hopper_ClearRowsOp : Hopper_Op<"clear_rows"> {
  let summary = "All threads of a warpgroup: zeros the last rows of the turn's tile, once it is full";
  let description = [{
    Rows from `from` on (from the first, if it is negative) become zeros, in all panels, and wgmma sees them; the
    named barrier keeps the warpgroup together. Where no row is left (`from` is at least the tile's rows) it
    costs one comparison and waits for nothing. `from` is the same in all threads; warpgroups that share a
    tile may all clear it, each with a barrier of its own.

    Why: rows past a request's length hold what other requests left there, perhaps NaN, and 0 x NaN is NaN.

    ```mlir
    hopper.clear_rows %v[%t] from %rows barrier %b : !hopper.ring<2 x 128 x 128, bf16>
    ```

    Constraints:
    * C1: a constant number of a barrier is from 1 to 15: 0 is the barrier of the whole CTA.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, I32:$row, I32:$barrier);
  let assemblyFormat = "$ring `[` $turn `]` `from` $row `barrier` $barrier attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Hopper_GatherOp : Hopper_Op<"gather"> {
  let summary = "Producer, each calling thread: copies 16 bytes into the turn's stage (cp.async)";
  let description = [{
    For rows that no tensor map describes. Of the row in global memory that starts at `pointer[offset]`, the 16 bytes of
    `unit` (8 elements, or 16 of 8 bits) go to the same columns of row `row`; zeros where not `condition`, and then nothing is
    read. The pointer's address is a multiple of 16 bytes, and so is the offset. What products read is written by someone: the units up to
    the next multiple of 16 columns too.

    ```mlir
    hopper.gather %k[%t] row %r unit %u from %p[%offset] if %c : !hopper.ring<2 x 128 x 96, bf16>, !hopper.pointer<bf16>, i64
    hopper.gather %own[%t] of %warp row %r unit %u from %p[%offset] if %c : !hopper.ring<3 x 16 x 128, bf16 warps 8>, !hopper.pointer<bf16>, i64
    ```

    Constraints:
    * C1: the pointer is to elements of the ring.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, Optional<I32>:$warp, I32:$row, I32:$unit,
                       Hopper_PointerType:$pointer, Hopper_Index:$offset, I1:$condition);
  let assemblyFormat = [{
    $ring `[` $turn `]` (`of` $warp^)? `row` $row `unit` $unit `from` $pointer `[` $offset `]` `if` $condition attr-dict
    `:` type($ring) `,` type($pointer) `` custom<IndexType>(type($offset))
  }];
  let hasVerifier = 1;
}

def Hopper_ArriveGatheredOp : Hopper_WarpRingOp<"arrive_gathered"> {
  let summary = "Producer warp: its part of the arrivals that fill the stage, once its lanes' gathers are there";
  let description = [{
    All 32 lanes call it. Of a ring of all, the warp waits for its gathers, and one lane arrives: the ring has as many writers as warps
    gather. Of a ring of warps nobody waits: each lane's arrival comes by itself behind its gathers, and the ring has 32 writers.

    ```mlir
    hopper.arrive_gathered %k[%t] : !hopper.ring<2 x 128 x 128, bf16>
    hopper.arrive_gathered %own[%t] of %warp : !hopper.ring<3 x 16 x 128, bf16 warps 8>
    ```
  }];
}

def Hopper_FenceSharedOp : Hopper_Op<"fence_shared"> {
  let summary = "Makes this thread's stores to shared memory visible to TMA and wgmma, where a condition holds";
  let description = [{
    With a condition it is predicated, no branch.

    ```mlir
    hopper.fence_shared
    hopper.fence_shared if %stored
    ```
  }];
  let arguments = (ins Optional<I1>:$condition);
  let assemblyFormat = "(`if` $condition^)? attr-dict";
}

def Hopper_StoreTileOp : Hopper_Op<"store_tile"> {
  let summary = "One thread: starts a TMA copy of a shared tile to global memory";
  let description = [{
    Rows and columns outside the tensor are not written. Where a panel is named, that panel alone is copied.
    `hopper.wait_stores` waits for it.

    ```mlir
    hopper.store_tile %o[%wg] to %map[%z, %row, %z, %head, %batch] : !hopper.shared<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 64, 2, 1, 1], bf16>
    ```

    Constraints:
    * C1: as many coordinates as the box has extents.
    * C2: elements of map and tile agree.
    * C3: the box has the bytes of the tile, or of the panel; the tile's order is panels.
    * C4: a panel is one of the tile's.
  }];
  let arguments = (ins Hopper_SharedType:$tiles, I32:$index, OptionalAttr<I64Attr>:$panel, Hopper_TensorMapType:$map,
                       Variadic<I32>:$coordinates);
  let assemblyFormat = [{
    $tiles `[` $index `]` (`panel` $panel^)? `to` $map `[` $coordinates `]` attr-dict `:` type($tiles) `,` type($map)
  }];
  let hasVerifier = 1;
}

def Hopper_WaitStoresOp : Hopper_Op<"wait_stores"> {
  let summary = "The storing thread: waits until its tiles have been read, or written";
  let description = [{
    `read`: the shared tiles may be overwritten. Without it the bytes are in global memory.

    ```mlir
    hopper.wait_stores read
    ```
  }];
  let arguments = (ins UnitAttr:$read);
  let assemblyFormat = "(`read` $read^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

class Hopper_NamedBarrierOp<string mnemonic> : Hopper_Op<mnemonic> {
  let arguments = (ins I32:$barrier, I64Attr:$threads);
  let assemblyFormat = "$barrier `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def Hopper_BarrierSyncOp : Hopper_NamedBarrierOp<"barrier_sync"> {
  let summary = "Waits until `threads` threads have come to the named barrier";
  let description = [{
    ```mlir
    hopper.barrier_sync %b threads 256
    ```

    Constraints:
    * C1: threads is a multiple of 32 from 32 to 1024.
    * C2: a constant number of a barrier is from 1 to 15: 0 is the barrier of the whole CTA.
  }];
}

def Hopper_BarrierArriveOp : Hopper_NamedBarrierOp<"barrier_arrive"> {
  let summary = "Comes to the named barrier without waiting";
  let description = [{
    ```mlir
    hopper.barrier_arrive %b threads 256
    ```

    Constraints: C1 and C2 of `hopper.barrier_sync`.
  }];
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

def Hopper_WarpReduceOp : Hopper_Op<"warp_reduce"> {
  let summary = "All lanes of a warp: the sum, maximum or minimum of their signed integers";
  let description = [{
    ```mlir
    %n = hopper.warp_reduce max %x
    ```
  }];
  let arguments = (ins Hopper_ReduceKind:$kind, I32:$value);
  let results = (outs I32:$result);
  let assemblyFormat = "$kind $value attr-dict";
}

def Hopper_WarpScanOp : Hopper_Op<"warp_scan"> {
  let summary = "All lanes of a warp: the sum of the values of this lane and those before it";
  let description = [{
    ```mlir
    %end = hopper.warp_scan %count
    ```
  }];
  let arguments = (ins I32:$value);
  let results = (outs I32:$result);
  let assemblyFormat = "$value attr-dict";
}

def Hopper_ShuffleOp : Hopper_Op<"shuffle"> {
  let summary = "All lanes of a warp: the value that lane `lane` mod 32 has";
  let description = [{
    ```mlir
    %first = hopper.shuffle %x from %c0
    ```
  }];
  let arguments = (ins I32:$value, I32:$lane);
  let results = (outs I32:$result);
  let assemblyFormat = "$value `from` $lane attr-dict";
}

def Hopper_BallotOp : Hopper_Op<"ballot"> {
  let summary = "All lanes of a warp: bit l is the condition of lane l";
  let description = [{
    ```mlir
    %bits = hopper.ballot %valid
    ```
  }];
  let arguments = (ins I1:$condition);
  let results = (outs I32:$result);
  let assemblyFormat = "$condition attr-dict";
}

def Hopper_SyncWarpOp : Hopper_Op<"sync_warp"> {
  let summary = "All lanes of a warp: waits for the others, whose stores are then visible";
  let assemblyFormat = "attr-dict";
}

include "pagefold/Dialect/Hopper/IR/BlockOps.td"
include "pagefold/Dialect/Hopper/IR/FragmentOps.td"
include "pagefold/Dialect/Hopper/IR/GlobalMemoryOps.td"

#endif // PAGEFOLD_DIALECT_HOPPER_IR_HOPPEROPS
