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

class Hopper_Op<string mnemonic, list<Trait> traits = []> : Op<Hopper_Dialect, mnemonic, traits>;

/// What a lane holds for its two rows of a fragment.
class Hopper_RowsOf<Type element, string name, string builder>
    : Type<VectorOfLengthAndType<[2], [element]>.predicate, name, "::mlir::VectorType">,
      BuildableType<"::mlir::VectorType::get({2}, $_builder." # builder # ")">;
def Hopper_Rows : Hopper_RowsOf<F32, "vector<2xf32>", "getF32Type()">;
def Hopper_RowNumbers : Hopper_RowsOf<I32, "vector<2xi32>", "getI32Type()">;
def Hopper_RowConditions : Hopper_RowsOf<I1, "vector<2xi1>", "getI1Type()">;
def Hopper_Tiles : AnyTypeOf<[Hopper_SharedType, Hopper_RingType]>;

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
    * C1: parameters are tensor maps, pointers, i32 or f32, there is no result, and there is a body.
    * C2: shared tiles, rings, barriers and notes fit the shared memory of a CTA (232448 bytes).
    * C3: the kernel has exactly one `hopper.roles`, and allocations and it stand in the kernel's own block.
    * C4: shared tiles and rings are used as their allocations give them, through no block argument.
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
    `last` + 1 tickets leaves the counter as it was.

    ```mlir
    %t = hopper.ticket %counter last %last : !hopper.pointer<i32>
    ```

    Constraints:
    * C1: the counter is an i32.
  }];
  let arguments = (ins Hopper_PointerType:$counter, I32:$last);
  let results = (outs I32:$result);
  let assemblyFormat = "$counter `last` $last attr-dict `:` type($counter)";
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
    A stage is full when TMA has brought the expected bytes, and empty again when `readers` warps have released it.

    ```mlir
    %k = hopper.alloc_ring readers 8 : !hopper.ring<2 x 128 x 128, bf16>
    ```

    Constraints:
    * C1: readers is from 1 to 32.
  }];
  let arguments = (ins I64Attr:$readers);
  let results = (outs Hopper_RingType:$result);
  let assemblyFormat = "`readers` $readers attr-dict `:` type($result)";
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

def Hopper_ExpectOp : Hopper_RingOp<"expect"> {
  let summary = "Producer, one thread: the stage is full once one tile's bytes have arrived";
}

def Hopper_ArriveOp : Hopper_RingOp<"arrive"> {
  let summary = "Producer, one thread: the stage is full as it is, without a tile";
  let description = "What the consumers read is the note alone.";
}

def Hopper_WaitOp : Hopper_RingOp<"wait"> {
  let summary = "Consumer: waits until the turn's stage is full";
}

def Hopper_FillOp : Hopper_Op<"fill", [AttrSizedOperandSegments]> {
  let summary = "Producer, each calling thread: starts one TMA copy into the turn's stage";
  let description = [{
    The box goes to the tile from `row` on (from its first row, if none is given). `keep` tells the L2
    whether other CTAs will read the same bytes soon.

    ```mlir
    hopper.fill %k[%t] from %map[%z, %row, %z, %head, %batch] keep : !hopper.ring<2 x 128 x 128, bf16>, !hopper.tensor_map<box[64, 128, 2, 1, 1], bf16>
    ```

    Constraints:
    * C1: as many coordinates as the box has extents.
    * C2: elements of map and ring agree.
    * C3: without `row`, the box has the bytes of the tile; with it, the ring's order is octets, and the box has the bytes
      of a multiple of 8 rows, at most the tile.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, Optional<I32>:$row, Hopper_TensorMapType:$map,
                       Variadic<I32>:$coordinates, UnitAttr:$keep);
  let assemblyFormat = [{
    $ring `[` $turn `]` (`row` $row^)? `from` $map `[` $coordinates `]` (`keep` $keep^)? attr-dict `:` type($ring) `,` type($map)
  }];
  let hasVerifier = 1;
}

def Hopper_ReleaseOp : Hopper_Op<"release"> {
  let summary = "Consumer warp: gives the turn's stage back";
  let description = [{
    One lane arrives. `after`, whose elements are not negative, holds it back until element 16 is known, by a dependence
    without meaning: ptxas keeps arrivals and waits in order, so that it cannot lift the next wait above the exponentials
    (761 against 748 TFLOP/s on 16k rows).

    ```mlir
    hopper.release %k[%t] after %p : !hopper.ring<2 x 128 x 128, bf16>, !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment after which a stage is released is of f32, with at least 34 columns.
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

def Hopper_FenceSharedOp : Hopper_Op<"fence_shared"> {
  let summary = "Makes this thread's stores to shared memory visible to TMA and wgmma";
  let assemblyFormat = "attr-dict";
}

def Hopper_StoreTileOp : Hopper_Op<"store_tile"> {
  let summary = "One thread: starts a TMA copy of a shared tile to global memory";
  let description = [{
    Rows outside the tensor are not written. `hopper.wait_stores` waits for it.

    ```mlir
    hopper.store_tile %o[%wg] to %map[%z, %row, %z, %head, %batch] : !hopper.shared<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 64, 2, 1, 1], bf16>
    ```

    Constraints:
    * C1: as many coordinates as the box has extents.
    * C2: elements of map and tile agree.
    * C3: the box has the bytes of the tile, whose order is panels.
  }];
  let arguments = (ins Hopper_SharedType:$tiles, I32:$index, Hopper_TensorMapType:$map, Variadic<I32>:$coordinates);
  let assemblyFormat = [{
    $tiles `[` $index `]` `to` $map `[` $coordinates `]` attr-dict `:` type($tiles) `,` type($map)
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
// Fragments: matrix products
//===----------------------------------------------------------------------===//

def Hopper_ZeroOp : Hopper_Op<"zero", [Pure]> {
  let summary = "A fragment of zeros";
  let description = [{
    ```mlir
    %o = hopper.zero : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_LoadFragmentOp : Hopper_Op<"load_fragment"> {
  let summary = "Loads a left operand from a shared tile (ldmatrix)";
  let description = [{
    Rows `row` to `row` + 63 of the tile; `row` is a multiple of 64.

    ```mlir
    %q = hopper.load_fragment %ring[%t] row %r : !hopper.ring<1 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, bf16>
    ```

    Constraints:
    * C1: the fragment has the tile's columns and elements, and the tile at least 64 rows, a multiple of 64.
    * C2: the tile's order is panels.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, I32:$row);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$ring `[` $turn `]` `row` $row attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_ContractOp : Hopper_Op<"contract"> {
  let summary = "Starts a product of a fragment and a shared tile (wgmma, left operand in registers)";
  let description = [{
    A fence, one wgmma for every 16 of the depth, and the end of a group. `transposed`: a * bT, b holds a row for each
    column of the result. The result, and the operands, are in flight until `hopper.wait_contracts`: nothing else may
    touch them, not even to scale them (ptxas would serialise: C7514).

    ```mlir
    %s = hopper.contract %q, %k[%t] transposed : !hopper.fragment<64 x 128, bf16>, !hopper.ring<2 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
    %a = hopper.contract %p, %v[%t] into %o : !hopper.fragment<64 x 128, bf16>, !hopper.ring<2 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the depth agrees: the left operand's columns are the columns (transposed) or rows of the right one.
    * C2: the result has the rows (transposed) or columns of the right operand as its columns; an accumulator has its type.
    * C3: the result is of f32, and elements of left and right agree.
  }];
  let arguments = (ins Hopper_FragmentType:$lhs, Hopper_RingType:$rhs, I32:$turn, UnitAttr:$transposed,
                       Optional<Hopper_FragmentType>:$acc);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `[` $turn `]` (`transposed` $transposed^)? (`into` $acc^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` custom<Accumulator>(ref($acc), type($acc), type($result))
  }];
  let hasVerifier = 1;
}

def Hopper_ContractSharedOp : Hopper_Op<"contract_shared"> {
  let summary = "Starts a product of two shared tiles (wgmma, both operands in shared memory)";
  let description = [{
    As `hopper.contract`; the left operand is rows `row` to `row` + 63 of a tile, `row` a multiple of 64 and the same in
    all lanes. It costs shared-memory reads that `hopper.load_fragment` saves.

    ```mlir
    %s = hopper.contract_shared %q[%u] row %r, %k[%t] transposed : !hopper.ring<1 x 128 x 128, bf16>, !hopper.ring<2 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the depth agrees: the left operand's columns are the columns (transposed) or rows of the right one.
    * C2: the result has the rows (transposed) or columns of the right operand as its columns; an accumulator has its type.
    * C3: the result is of f32, and elements of left and right agree.
    * C4: the left tile has at least 64 rows, a multiple of 64.
  }];
  let arguments = (ins Hopper_RingType:$lhs, I32:$lhsTurn, I32:$row, Hopper_RingType:$rhs, I32:$turn,
                       UnitAttr:$transposed, Optional<Hopper_FragmentType>:$acc);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = [{
    $lhs `[` $lhsTurn `]` `row` $row `,` $rhs `[` $turn `]` (`transposed` $transposed^)? (`into` $acc^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` custom<Accumulator>(ref($acc), type($acc), type($result))
  }];
  let hasVerifier = 1;
}

def Hopper_WaitContractsOp : Hopper_Op<"wait_contracts", [AllTypesMatch<["fragment", "result"]>]> {
  let summary = "Waits until at most `pending` later products are in flight";
  let description = [{
    `fragment` is the result of the newest product that has then ended; the op's result is its value, and the only
    one to use: nothing else orders arithmetic on registers against the wait.

    ```mlir
    %s1 = hopper.wait_contracts %s pending 1 : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: pending is from 0 to 7.
    * C2: the fragment is of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, I64Attr:$pending);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment `pending` $pending attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fragments: element by element, row by row
//===----------------------------------------------------------------------===//

def Hopper_ReduceKind : I32EnumAttr<"ReduceKind", "how values are combined", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Sum", 1, "sum">]> {
  let cppNamespace = "::pagefold::hopper";
}

def Hopper_RowReduceOp : Hopper_Op<"row_reduce", [Pure]> {
  let summary = "Reduces what a lane holds of each of its two rows";
  let description = [{
    ```mlir
    %m = hopper.row_reduce max %s : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let arguments = (ins Hopper_ReduceKind:$kind, Hopper_FragmentType:$fragment);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$kind $fragment attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_QuadReduceOp : Hopper_Op<"quad_reduce"> {
  let summary = "Reduces over the four lanes that share their rows";
  let description = [{
    ```mlir
    %m = hopper.quad_reduce max %part
    ```
  }];
  let arguments = (ins Hopper_ReduceKind:$kind, Hopper_Rows:$rows);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$kind $rows attr-dict";
}

def Hopper_Exp2Op : Hopper_Op<"exp2", [Pure, AllTypesMatch<["fragment", "result"]>]> {
  let summary = "2^(scale * x + offset of the row), approximately";
  let description = [{
    One multiply-add and one ex2.approx (2 ulp, denormals to zero) for each element.

    ```mlir
    %p = hopper.exp2 %s scale %c offset %minus_max : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, F32:$scale, Hopper_Rows:$offset);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment `scale` $scale `offset` $offset attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_MaskOp : Hopper_Op<"mask", [Pure, AllTypesMatch<["fragment", "result"]>]> {
  let summary = "Keeps the columns below each row's limit; the others become -inf";
  let description = [{
    ```mlir
    %m = hopper.mask %s below %limits : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, Hopper_RowNumbers:$limits);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment `below` $limits attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_ScaleRowsOp : Hopper_Op<"scale_rows", [Pure, AllTypesMatch<["fragment", "result"]>]> {
  let summary = "Multiplies each row by its factor";
  let description = [{
    ```mlir
    %r = hopper.scale_rows %o by %alpha : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, Hopper_Rows:$factors);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment `by` $factors attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_ConvertOp : Hopper_Op<"convert", [Pure]> {
  let summary = "Rounds an accumulator to 16 bits: a left operand";
  let description = [{
    The lanes of both layouts agree, so that no value moves between lanes.

    ```mlir
    %h = hopper.convert %p : !hopper.fragment<64 x 128, f32> -> !hopper.fragment<64 x 128, bf16>
    ```

    Constraints:
    * C1: from f32 to bf16 or f16, with the same columns.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_RowNumbersOp : Hopper_Op<"row_numbers", [Pure]> {
  let summary = "The numbers, from 0 to 63, of the lane's two rows of a fragment";
  let results = (outs Hopper_RowNumbers:$result);
  let assemblyFormat = "attr-dict";
}

def Hopper_ApproxKind : I32EnumAttr<"ApproxKind", "an approximate function of the special function unit", [
    I32EnumAttrCase<"Exp2", 0, "ex2">, I32EnumAttrCase<"Log2", 1, "lg2">, I32EnumAttrCase<"Reciprocal", 2, "rcp">]> {
  let cppNamespace = "::pagefold::hopper";
}

def Hopper_ApproxOp : Hopper_Op<"approx", [Pure]> {
  let summary = "2^x, log2 x or 1 / x of the special function unit, denormals to zero";
  let description = [{
    ```mlir
    %y = hopper.approx lg2 %x
    ```
  }];
  let arguments = (ins Hopper_ApproxKind:$kind, Hopper_Rows:$rows);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$kind $rows attr-dict";
}

def Hopper_OpaqueOp : Hopper_Op<"opaque"> {
  let summary = "The same value, of which the optimiser knows nothing";
  let description = [{
    An exact 1.0 that stands for "not grown" must stay one: LLVM would fold the rescale across the loop's back edge, and a
    factor of 1 +- 1e-7 fires the vote in every step.

    ```mlir
    %y = hopper.opaque %alpha
    ```
  }];
  let arguments = (ins Hopper_Rows:$rows);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$rows attr-dict";
}

def Hopper_AnyOp : Hopper_Op<"any"> {
  let summary = "Whether a condition holds for any row of any lane of the warp";
  let description = [{
    ```mlir
    %b = hopper.any %grew
    ```
  }];
  let arguments = (ins Hopper_RowConditions:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict";
}

def Hopper_StoreRowsOp : Hopper_Op<"store_rows"> {
  let summary = "Stores one value for each row of a fragment, where the row is below a limit";
  let description = [{
    `pointer[start + row]` for the rows of which `row` is below `limit`; one of the four lanes that share them stores.

    ```mlir
    hopper.store_rows %lse, %p[%start] rows %rows below %limit : !hopper.pointer<f32>
    ```

    Constraints:
    * C1: the pointer is to f32.
  }];
  let arguments = (ins Hopper_Rows:$values, Hopper_PointerType:$pointer, I32:$start, Hopper_RowNumbers:$rows, I32:$limit);
  let assemblyFormat = "$values `,` $pointer `[` $start `]` `rows` $rows `below` $limit attr-dict `:` type($pointer)";
  let hasVerifier = 1;
}

#endif // PAGEFOLD_DIALECT_HOPPER_IR_HOPPEROPS
