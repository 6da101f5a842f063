// Full attention for each family of head dimensions, one text: RUN lines set the dimension of keys (DK) and values (DV), the keys of
// a tile (KV) and the elements (HALF), and keep the lines of the panels there are ([k1] [k2] [k3] [v1] [v2] [v3]), and of Q in registers or in shared
// memory. Up to 192 columns Q fits the registers; at 256 the output takes 128 of them, so that Q stays in shared memory and a tile has 64 keys.
// Where there is a ptxas, none of them spills or has its wgmma serialised.

// PTXAS: Compiling entry function 'prefill' for 'sm_90a'
// PTXAS: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// PTXAS: Used 168 registers

// RUN: sed -e 's/DK/64/g; s/DV/64/g; s/KV/128/g; s/HALF/f16/g; /\[[kv][123]\]/d; /\[shared\]/d; s/\[registers\]//' %s > %t-64.mlir
// RUN: pagefold-opt %t-64.mlir --pagefold-hopper-to-llvm | pagefold-translate --hopper-to-ptx -o %t-64.ptx
// RUN: FileCheck %s --check-prefix=D64 --input-file=%t-64.ptx
// RUN: %if ptxas %{ %ptxas -arch=sm_90a -v %t-64.ptx -o %t-64.cubin 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not=C75 --implicit-check-not=warning %}
// D64: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// D64: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16

// RUN: sed -e 's/DK/96/g; s/DV/96/g; s/KV/128/g; s/HALF/bf16/g; s/\[[kv]1\]//; /\[[kv][23]\]/d; /\[shared\]/d; s/\[registers\]//' %s > %t-96.mlir
// RUN: pagefold-opt %t-96.mlir --pagefold-hopper-to-llvm | pagefold-translate --hopper-to-ptx -o %t-96.ptx
// RUN: FileCheck %s --check-prefix=D96 --input-file=%t-96.ptx
// RUN: %if ptxas %{ %ptxas -arch=sm_90a -v %t-96.ptx -o %t-96.cubin 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not=C75 --implicit-check-not=warning %}
// D96: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// D96: wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16

// RUN: sed -e 's/DK/192/g; s/DV/128/g; s/KV/96/g; s/HALF/bf16/g; s/\[[kv]1\]//; s/\[k2\]//; /\[k3\]/d; /\[v[23]\]/d; /\[shared\]/d; s/\[registers\]//' %s > %t-192.mlir
// RUN: pagefold-opt %t-192.mlir --pagefold-hopper-to-llvm | pagefold-translate --hopper-to-ptx -o %t-192.ptx
// RUN: FileCheck %s --check-prefix=D192 --input-file=%t-192.ptx
// RUN: %if ptxas %{ %ptxas -arch=sm_90a -v %t-192.ptx -o %t-192.cubin 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not=C75 --implicit-check-not=warning %}
// D192: wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16
// D192: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16

// RUN: sed -e 's/DK/256/g; s/DV/256/g; s/KV/64/g; s/HALF/bf16/g; s/\[[kv][123]\]//; /\[registers\]/d; s/\[shared\]//' %s > %t-256.mlir
// RUN: pagefold-opt %t-256.mlir --pagefold-hopper-to-llvm | pagefold-translate --hopper-to-ptx -o %t-256.ptx
// RUN: FileCheck %s --check-prefix=D256 --input-file=%t-256.ptx
// RUN: %if ptxas %{ %ptxas -arch=sm_90a -v %t-256.ptx -o %t-256.cubin 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not=C75 --implicit-check-not=warning %}
// D256: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// D256: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16

!qmap = !hopper.tensor_map<box[64, 128, 1], HALF>
!kvmap = !hopper.tensor_map<box[64, KV, 1], HALF>
!qring = !hopper.ring<1 x 128 x DK, HALF>
!kring = !hopper.ring<2 x KV x DK, HALF>
!vring = !hopper.ring<2 x KV x DV, HALF>
!qf = !hopper.fragment<64 x DK, HALF>
!s = !hopper.fragment<64 x KV, f32>
!p = !hopper.fragment<64 x KV, HALF>
!acc = !hopper.fragment<64 x DV, f32>
!half = !hopper.fragment<64 x DV, HALF>

gpu.module @kernels {
  hopper.kernel @prefill(%qmap: !qmap, %kmap: !kvmap, %vmap: !kvmap, %out: !hopper.pointer<HALF>, %lse: !hopper.pointer<f32>,
                         %rows: i32, %kv_len: i32, %heads: i32, %tiles: i32, %row_stride: i64, %scale: f32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %c192 = arith.constant 192 : i32
    %dv = arith.constant DV : i32
    %kv = arith.constant KV : i32
    %kv_less_1 = arith.subi %kv, %c1 : i32
    %kv_up = arith.addi %kv_len, %kv_less_1 : i32
    %kv_all = arith.divui %kv_up, %kv : i32
    %kv_tiles = arith.maxsi %kv_all, %c1 : i32
    %newest = arith.subi %kv_tiles, %c1 : i32
    %newest_key = arith.muli %newest, %kv : i32
    %cta = hopper.cta
    %ctas = hopper.ctas
    %q = hopper.alloc_ring readers 8 : !qring
    %k = hopper.alloc_ring readers 8 : !kring
    %v = hopper.alloc_ring readers 8 : !vring
    hopper.roles {
      producer warpgroups 1 registers 24 (%wg: i32, %warp: i32) {
        hopper.single_thread {
          hopper.prefetch_map %kmap : !kvmap
          %end:3 = scf.while (%tile = %cta, %turn = %c0, %qturn = %c0) : (i32, i32, i32) -> (i32, i32, i32) {
            %more = arith.cmpi ult, %tile, %tiles : i32
            scf.condition(%more) %tile, %turn, %qturn : i32, i32, i32
          } do {
          ^bb0(%tile: i32, %turn: i32, %qturn: i32):
            %block = arith.divui %tile, %heads : i32
            %block_heads = arith.muli %block, %heads : i32
            %head = arith.subi %tile, %block_heads : i32
            %row = arith.muli %block, %c128 : i32
            hopper.acquire %q[%qturn] : !qring
            hopper.expect %q[%qturn] : !qring
            hopper.fill %q[%qturn] panel 0 from %qmap[%c0, %row, %head] : !qring, !qmap
            [k1] hopper.fill %q[%qturn] panel 1 from %qmap[%c64, %row, %head] : !qring, !qmap
            [k2] hopper.fill %q[%qturn] panel 2 from %qmap[%c128, %row, %head] : !qring, !qmap
            [k3] hopper.fill %q[%qturn] panel 3 from %qmap[%c192, %row, %head] : !qring, !qmap
            %w:2 = scf.while (%n = %newest, %t = %turn) : (i32, i32) -> (i32, i32) {
              %go = arith.cmpi sge, %n, %c0 : i32
              scf.condition(%go) %n, %t : i32, i32
            } do {
            ^bb0(%n: i32, %t: i32):
              %key = arith.muli %n, %kv : i32
              hopper.acquire %k[%t] : !kring
              hopper.expect %k[%t] : !kring
              hopper.fill %k[%t] panel 0 from %kmap[%c0, %key, %head] keep : !kring, !kvmap
              [k1] hopper.fill %k[%t] panel 1 from %kmap[%c64, %key, %head] keep : !kring, !kvmap
              [k2] hopper.fill %k[%t] panel 2 from %kmap[%c128, %key, %head] keep : !kring, !kvmap
              [k3] hopper.fill %k[%t] panel 3 from %kmap[%c192, %key, %head] keep : !kring, !kvmap
              hopper.acquire %v[%t] : !vring
              hopper.expect %v[%t] : !vring
              hopper.fill %v[%t] panel 0 from %vmap[%c0, %key, %head] keep : !vring, !kvmap
              [v1] hopper.fill %v[%t] panel 1 from %vmap[%c64, %key, %head] keep : !vring, !kvmap
              [v2] hopper.fill %v[%t] panel 2 from %vmap[%c128, %key, %head] keep : !vring, !kvmap
              [v3] hopper.fill %v[%t] panel 3 from %vmap[%c192, %key, %head] keep : !vring, !kvmap
              %n1 = arith.subi %n, %c1 : i32
              %t1 = arith.addi %t, %c1 : i32
              scf.yield %n1, %t1 : i32, i32
            }
            %next = arith.addi %tile, %ctas : i32
            %qturn1 = arith.addi %qturn, %c1 : i32
            scf.yield %next, %w#1, %qturn1 : i32, i32, i32
          }
        }
      }
      consumer warpgroups 2 registers 240 (%wg: i32, %warp: i32) {
        %zero = arith.constant dense<0.0> : vector<2xf32>
        %one = arith.constant dense<1.0> : vector<2xf32>
        %minus_inf = arith.constant dense<0xFF800000> : vector<2xf32>
        %tau = arith.constant dense<8.0> : vector<2xf32>
        %scales = vector.broadcast %scale : f32 to vector<2xf32>
        %is_first = arith.cmpi eq, %wg, %c0 : i32
        %mine = arith.addi %wg, %c1 : i32
        %wg2 = arith.addi %wg, %c2 : i32
        %other = arith.select %is_first, %wg2, %c1 : i32
        %clear_barrier = arith.addi %wg, %c4 : i32
        scf.if %is_first {
          hopper.barrier_arrive %c1 threads 256
        }
        %wg_row = arith.muli %wg, %c64 : i32
        %lane_rows = hopper.row_numbers
        %last_keys = arith.subi %kv_len, %newest_key : i32
        %limits = vector.broadcast %last_keys : i32 to vector<2xi32>
        %done:3 = scf.while (%tile = %cta, %turn = %c0, %qturn = %c0) : (i32, i32, i32) -> (i32, i32, i32) {
          %more = arith.cmpi ult, %tile, %tiles : i32
          scf.condition(%more) %tile, %turn, %qturn : i32, i32, i32
        } do {
        ^bb0(%tile: i32, %turn: i32, %qturn: i32):
          hopper.wait %q[%qturn] : !qring
          [registers] %qf = hopper.load_fragment %q[%qturn] row %wg_row : !qring -> !qf
          [registers] hopper.release %q[%qturn] : !qring

          // The newest KV tile: masked at the end of the keys, nothing to rescale.
          hopper.wait %k[%turn] : !kring
          [registers] %s0 = hopper.contract %qf, %k[%turn] transposed : !qf, !kring -> !s
          [shared] %s0 = hopper.contract_shared %q[%qturn] row %wg_row, %k[%turn] transposed : !qring, !kring -> !s
          %s1 = hopper.wait_contracts %s0 pending 0 : !s
          hopper.release %k[%turn] : !kring
          %s2 = hopper.mask %s1 below %limits : !s
          %m0 = hopper.row_reduce max %s2 : !s
          %m1 = hopper.quad_reduce max %m0
          %mx = arith.mulf %m1, %scales fastmath<contract> : vector<2xf32>
          %empty = arith.cmpf oeq, %m1, %minus_inf : vector<2xf32>
          %mz = arith.select %empty, %zero, %mx : vector<2xi1>, vector<2xf32>
          %mn = arith.negf %mz : vector<2xf32>
          %p0 = hopper.exp2 %s2 scale %scale offset %mn : !s
          %l0 = hopper.row_reduce sum %p0 : !s
          %ph0 = hopper.convert %p0 : !s -> !p
          %o0 = hopper.zero : !acc
          hopper.clear_rows %v[%turn] from %last_keys barrier %clear_barrier : !vring

          // The other KV tiles.
          %second = arith.subi %kv_tiles, %c2 : i32
          %b:7 = scf.while (%n = %second, %t = %turn, %oa = %o0, %ph = %ph0, %m = %m1, %l = %l0, %alpha = %one)
              : (i32, i32, !acc, !p, vector<2xf32>, vector<2xf32>, vector<2xf32>)
              -> (i32, i32, !acc, !p, vector<2xf32>, vector<2xf32>, vector<2xf32>) {
            %go = arith.cmpi sge, %n, %c0 : i32
            scf.condition(%go) %n, %t, %oa, %ph, %m, %l, %alpha
              : i32, i32, !acc, !p, vector<2xf32>, vector<2xf32>, vector<2xf32>
          } do {
          ^bb0(%n: i32, %t: i32, %oa: !acc, %ph: !p, %m: vector<2xf32>, %l: vector<2xf32>, %alpha: vector<2xf32>):
            %al = hopper.opaque %alpha
            %t1 = arith.addi %t, %c1 : i32
            hopper.wait %k[%t1] : !kring
            hopper.barrier_sync %mine threads 256
            [registers] %sa = hopper.contract %qf, %k[%t1] transposed : !qf, !kring -> !s
            [shared] %sa = hopper.contract_shared %q[%qturn] row %wg_row, %k[%t1] transposed : !qring, !kring -> !s
            hopper.wait %v[%t] : !vring
            %changed = arith.cmpf une, %al, %one : vector<2xf32>
            %any = hopper.any %changed
            %or = scf.if %any -> (!acc) {
              %scaled = hopper.scale_rows %oa by %al : !acc
              scf.yield %scaled : !acc
            } else {
              scf.yield %oa : !acc
            }
            %ob = hopper.contract %ph, %v[%t] into %or : !p, !vring -> !acc
            hopper.barrier_arrive %other threads 256
            %sc = hopper.wait_contracts %sa pending 1 : !s
            %r0 = hopper.row_reduce max %sc : !s
            %r1 = hopper.quad_reduce max %r0
            %r2 = arith.maxnumf %r1, %m : vector<2xf32>
            %d = arith.subf %r2, %m fastmath<contract> : vector<2xf32>
            %ds = arith.mulf %d, %scales fastmath<contract> : vector<2xf32>
            %grew = arith.cmpf ogt, %ds, %tau : vector<2xf32>
            %mnew = arith.select %grew, %r2, %m : vector<2xi1>, vector<2xf32>
            %x0 = arith.mulf %mnew, %scales fastmath<contract> : vector<2xf32>
            %x = arith.negf %x0 : vector<2xf32>
            %g0 = arith.mulf %m, %scales fastmath<contract> : vector<2xf32>
            %g1 = arith.addf %g0, %x fastmath<contract> : vector<2xf32>
            %g = hopper.approx ex2 %g1 : vector<2xf32>
            %alnew = arith.select %grew, %g, %one : vector<2xi1>, vector<2xf32>
            %p = hopper.exp2 %sc scale %scale offset %x : !s
            hopper.release %k[%t1] after %p : !kring, !s
            %sum = hopper.row_reduce sum %p : !s
            %lal = arith.mulf %l, %alnew fastmath<contract> : vector<2xf32>
            %lnew = arith.addf %lal, %sum fastmath<contract> : vector<2xf32>
            %oc = hopper.wait_contracts %ob pending 0 : !acc
            hopper.release %v[%t] : !vring
            %phnew = hopper.convert %p : !s -> !p
            %n1 = arith.subi %n, %c1 : i32
            scf.yield %n1, %t1, %oc, %phnew, %mnew, %lnew, %alnew
              : i32, i32, !acc, !p, vector<2xf32>, vector<2xf32>, vector<2xf32>
          }
          [shared] hopper.release %q[%qturn] : !qring

          // The last product, then the output.
          %al = hopper.opaque %b#6
          %changed = arith.cmpf une, %al, %one : vector<2xf32>
          %any = hopper.any %changed
          %or = scf.if %any -> (!acc) {
            %scaled = hopper.scale_rows %b#2 by %al : !acc
            scf.yield %scaled : !acc
          } else {
            scf.yield %b#2 : !acc
          }
          hopper.wait %v[%b#1] : !vring
          %of0 = hopper.contract %b#3, %v[%b#1] into %or : !p, !vring -> !acc
          %of1 = hopper.wait_contracts %of0 pending 0 : !acc
          hopper.release %v[%b#1] : !vring
          %lsum = hopper.quad_reduce sum %b#5
          %some = arith.cmpf ogt, %lsum, %zero : vector<2xf32>
          %rcp = hopper.approx rcp %lsum : vector<2xf32>
          %inverse = arith.select %some, %rcp, %zero : vector<2xi1>, vector<2xf32>
          %on = hopper.scale_rows %of1 by %inverse : !acc
          %oh = hopper.convert %on : !acc -> !half
          %block = arith.divui %tile, %heads : i32
          %block_heads = arith.muli %block, %heads : i32
          %head = arith.subi %tile, %block_heads : i32
          %block_row = arith.muli %block, %c128 : i32
          %row = arith.addi %block_row, %wg_row : i32
          %row_b = vector.broadcast %row : i32 to vector<2xi32>
          %own_rows = arith.addi %row_b, %lane_rows : vector<2xi32>
          %head_column = arith.muli %head, %dv : i32
          %offset = arith.extsi %head_column : i32 to i64
          hopper.store_matrix %oh, %out[%offset] stride %row_stride rows %own_rows below %rows : !half, !hopper.pointer<HALF>
          %log = hopper.approx lg2 %lsum : vector<2xf32>
          %ms = arith.mulf %b#4, %scales fastmath<contract> : vector<2xf32>
          %lse2 = arith.addf %ms, %log fastmath<contract> : vector<2xf32>
          %lser = arith.select %some, %lse2, %minus_inf : vector<2xi1>, vector<2xf32>
          %head_index = arith.extsi %head : i32 to i64
          %heads_index = arith.extsi %heads : i32 to i64
          hopper.store_rows %lser, %lse[%head_index] stride %heads_index rows %own_rows below %rows : !hopper.pointer<f32>, i64
          %turn1 = arith.addi %b#1, %c1 : i32
          %next = arith.addi %tile, %ctas : i32
          %qturn1 = arith.addi %qturn, %c1 : i32
          scf.yield %next, %turn1, %qturn1 : i32, i32, i32
        }
      }
    }
    hopper.return
  }
}
