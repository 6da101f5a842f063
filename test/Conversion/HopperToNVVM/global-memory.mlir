// Loads, stores and reports: one op, its instructions; a condition is a predicate, never a branch.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @memory
  // CHECK-SAME: %[[INTS:[^ ]*]]: !llvm.ptr<1>, %[[HALVES:[^ ]*]]: !llvm.ptr<1>, %[[BYTES:[^ ]*]]: !llvm.ptr<1>, %[[FLOATS:[^ ]*]]: !llvm.ptr<1>, %[[WORD:[^ ]*]]: !llvm.ptr<1>, %[[N:[^ ]*]]: i32, %[[I:[^ ]*]]: i64)
  // CHECK-NOT: llvm.cond_br
  hopper.kernel @memory(%ints: !hopper.pointer<i32>, %halves: !hopper.pointer<bf16>, %bytes: !hopper.pointer<i8>,
                        %floats: !hopper.pointer<f32>, %word: !hopper.pointer<i64>, %n: i32, %i: i64) {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
        // CHECK: %[[INT_ADDRESS:.*]] = llvm.getelementptr %[[INTS]][%[[N]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
        // CHECK: %[[INT:.*]] = llvm.load %[[INT_ADDRESS]] : !llvm.ptr<1> -> i32
        %int = hopper.load %ints[%n] : !hopper.pointer<i32>
        // CHECK: %[[OK:.*]] = llvm.icmp "slt"
        %ok = arith.cmpi slt, %int, %n : i32
        // CHECK: %[[ADDRESS:.*]] = llvm.getelementptr %[[INTS]][%[[I]]] : (!llvm.ptr<1>, i64)
        // CHECK: %[[C:.*]] = llvm.zext %[[OK]] : i1 to i32
        // CHECK: %[[ID:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p ld.global.b32 $0, [$1]; }", "=r,l,r,0,~{memory}" %[[ADDRESS]], %[[C]], %[[INT]]
        %id = hopper.load %ints[%i] if %ok else %int : !hopper.pointer<i32>, i64
        // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global.b32 [$0], $1; }", "l,r,r,~{memory}" %[[ADDRESS]], %[[ID]], %[[C]]
        hopper.store %id, %ints[%i] if %ok : !hopper.pointer<i32>, i64
        // 16-bit floats travel as i16, bytes as i32.
        // CHECK: %[[HALF:.*]] = llvm.load %{{.*}} -> bf16
        %half = hopper.load %halves[%n] : !hopper.pointer<bf16>
        // CHECK: %[[BITS:.*]] = llvm.bitcast %[[HALF]] : bf16 to i16
        // CHECK: @p ld.global.b16 $0, [$1]; }", "=h,l,r,0,~{memory}" %{{.*}}, %[[C]], %[[BITS]]
        // CHECK: llvm.bitcast %{{.*}} : i16 to bf16
        %half1 = hopper.load %halves[%i] if %ok else %half : !hopper.pointer<bf16>, i64
        // CHECK: llvm.store %{{.*}}, %{{.*}} : bf16, !llvm.ptr<1>
        hopper.store %half1, %halves[%n] : !hopper.pointer<bf16>
        // CHECK: llvm.zext %{{.*}} : i8 to i32
        %byte = hopper.load %bytes[%n] : !hopper.pointer<i8>
        // CHECK: @p ld.global.u8 $0, [$1]; }", "=r,l,r,0,~{memory}"
        // CHECK: llvm.trunc %{{.*}} : i32 to i8
        %byte1 = hopper.load %bytes[%i] if %ok else %byte : !hopper.pointer<i8>, i64
        // CHECK: @p st.global.u8 [$0], $1; }", "l,r,r,~{memory}"
        hopper.store %byte1, %bytes[%n] if %ok : !hopper.pointer<i8>
        // CHECK: @p ld.global.b64 $0, [$1]; }", "=l,l,r,0,~{memory}"
        %long = hopper.load %word[%n] if %ok else %i : !hopper.pointer<i64>
        hopper.store %long, %word[%n] : !hopper.pointer<i64>
        %float = hopper.load %floats[%n] : !hopper.pointer<f32>
        // CHECK: @p ld.global.b32 $0, [$1]; }", "=f,l,r,0,~{memory}"
        %float1 = hopper.load %floats[%i] if %ok else %float : !hopper.pointer<f32>, i64
        // CHECK: @p st.global.b32 [$0], $1; }", "l,f,r,~{memory}"
        hopper.store %float1, %floats[%n] if %ok : !hopper.pointer<f32>
        // The claim is request + 1; the winner writes value, limit and last the reason.
        // CHECK: %[[NEXT:.*]] = llvm.add %[[ID]], %[[C1]]
        // CHECK: %[[CLAIM:.*]] = llvm.sext %[[NEXT]] : i32 to i64
        // CHECK: llvm.inline_asm has_side_effects
        // CHECK-SAME: mov.b64 old, 1; @p atom.relaxed.sys.global.cas.b64 old, [$0], 0, $1; setp.eq.and.b64 p, old, 0, p;
        // CHECK-SAME: @p st.relaxed.sys.global.b64 [$0+16], $2; @p st.relaxed.sys.global.b64 [$0+24], $3; @p st.release.sys.global.b64 [$0+8], 5; }"
        // CHECK-SAME: %[[WORD]], %[[CLAIM]], %{{.*}}, %{{.*}}, %[[C]]
        hopper.report %word, %id, %int, %n reason 5 if %ok : !hopper.pointer<i64>
      }
    }
    // CHECK: llvm.return
    hopper.return
  }
}
