// A causal prefill kernel at level 3, by hand: dense bf16 of head dimension 128, one producer and two consumer warpgroups, Q in
// registers, Q K one tile ahead of P V, lazy rescale. scripts/gpu-check runs it on a GPU.
// RUN: pagefold-opt %s --pagefold-hopper-to-llvm | pagefold-translate --hopper-to-ptx | FileCheck %s

// CHECK: .version 8.6
// CHECK: .target sm_90a
// CHECK: .entry prefill_causal(
// CHECK: .reqntid 384
// CHECK: .minnctapersm 1
// CHECK: mbarrier.init
// CHECK: setmaxnreg.dec.sync.aligned.u32 24;
// CHECK: atom.global.inc.u32
// CHECK: cp.async.bulk.tensor.5d.shared::cluster.global
// CHECK: setmaxnreg.inc.sync.aligned.u32 240;
// CHECK: ldmatrix
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: ex2.approx.ftz.f32
// CHECK: vote.sync.any
// CHECK: cp.async.bulk.tensor.5d.global.shared::cta
// CHECK-NOT: .local

!qmap = !hopper.tensor_map<box[64, 128, 2, 1, 1], bf16>
!omap = !hopper.tensor_map<box[64, 64, 2, 1, 1], bf16>
!qring = !hopper.ring<1 x 128 x 128, bf16 note 4>
!kvring = !hopper.ring<2 x 128 x 128, bf16>
!otiles = !hopper.shared<2 x 64 x 128, bf16>
!acc = !hopper.fragment<64 x 128, f32>
!half = !hopper.fragment<64 x 128, bf16>

gpu.module @kernels {
  hopper.kernel @prefill_causal(%qmap: !qmap, %kmap: !qmap, %vmap: !qmap, %omap: !omap, %lse: !hopper.pointer<f32>,
                                %counter: !hopper.pointer<i32>, %q_len: i32, %kv_len: i32, %heads: i32, %group: i32,
                                %tiles: i32, %row_blocks: i32, %section: i32, %full_sections: i32,
                                %last_section: i32, %scale: f32) {
    %c-1 = arith.constant -1 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c64 = arith.constant 64 : i32
    %c127 = arith.constant 127 : i32
    %c128 = arith.constant 128 : i32
    %offset = arith.subi %kv_len, %q_len : i32 // of a query row's position
    %o = hopper.alloc : !otiles
    %q = hopper.alloc_ring readers 8 : !qring
    %k = hopper.alloc_ring readers 8 : !kvring
    %v = hopper.alloc_ring readers 8 : !kvring
    hopper.roles {
      producer warpgroups 1 registers 24 (%wg: i32, %warp: i32) {
        hopper.single_thread {
          %cta = hopper.cta
          %ctas = hopper.ctas
          %last = arith.subi %tiles, %c1 : i32
          %section_tiles = arith.muli %section, %row_blocks : i32
          %end:3 = scf.while (%tile = %cta, %turn = %c0, %qturn = %c0) : (i32, i32, i32) -> (i32, i32, i32) {
            %more = arith.cmpi ult, %tile, %tiles : i32
            scf.condition(%more) %tile, %turn, %qturn : i32, i32, i32
          } do {
          ^bb0(%tile: i32, %turn: i32, %qturn: i32):
            %ticket = hopper.ticket %counter last %last : !hopper.pointer<i32>
            %next = arith.addi %ticket, %ctas : i32
            // The tile's place: sections of heads; in a section the longest row blocks first.
            %s0 = arith.divui %tile, %section_tiles : i32
            %s = arith.minsi %s0, %full_sections : i32
            %before = arith.muli %s, %section_tiles : i32
            %in = arith.subi %tile, %before : i32
            %full = arith.cmpi ult, %s, %full_sections : i32
            %width = arith.select %full, %section, %last_section : i32
            %order = arith.divui %in, %width : i32
            %order_tiles = arith.muli %order, %width : i32
            %in_order = arith.subi %in, %order_tiles : i32
            %first_head = arith.muli %s, %section : i32
            %batch_head = arith.addi %first_head, %in_order : i32
            %batch = arith.divui %batch_head, %heads : i32
            %batch_heads = arith.muli %batch, %heads : i32
            %head = arith.subi %batch_head, %batch_heads : i32
            %kv_head = arith.divui %head, %group : i32
            %last_block = arith.subi %row_blocks, %c1 : i32
            %block = arith.subi %last_block, %order : i32
            %row = arith.muli %block, %c128 : i32
            // KV tiles: up to the last key that the block's last row sees, at least one.
            %kv_up = arith.addi %kv_len, %c127 : i32
            %kv_all = arith.divui %kv_up, %c128 : i32
            %r1 = arith.addi %row, %c128 : i32
            %r2 = arith.addi %r1, %offset : i32
            %r3 = arith.addi %r2, %c127 : i32
            %seen = arith.divsi %r3, %c128 : i32
            %kv_seen = arith.minsi %kv_all, %seen : i32
            %kv_tiles = arith.maxsi %kv_seen, %c1 : i32
            %newest = arith.subi %kv_tiles, %c1 : i32
            %krow = arith.muli %newest, %c128 : i32
            hopper.acquire %k[%turn] : !kvring
            hopper.expect %k[%turn] : !kvring
            hopper.fill %k[%turn] from %kmap[%c0, %krow, %c0, %kv_head, %batch] keep : !kvring, !qmap
            hopper.acquire %q[%qturn] : !qring
            hopper.write_note %q[%qturn], %block, %head, %batch, %kv_tiles : !qring
            hopper.expect %q[%qturn] : !qring
            hopper.fill %q[%qturn] from %qmap[%c0, %row, %c0, %head, %batch] : !qring, !qmap
            %second = arith.subi %kv_tiles, %c2 : i32
            %w:2 = scf.while (%n = %second, %t = %turn) : (i32, i32) -> (i32, i32) {
              %go = arith.cmpi sge, %n, %c0 : i32
              scf.condition(%go) %n, %t : i32, i32
            } do {
            ^bb0(%n: i32, %t: i32):
              %t1 = arith.addi %t, %c1 : i32
              %kr = arith.muli %n, %c128 : i32
              %vr = arith.addi %kr, %c128 : i32
              hopper.acquire %k[%t1] : !kvring
              hopper.expect %k[%t1] : !kvring
              hopper.fill %k[%t1] from %kmap[%c0, %kr, %c0, %kv_head, %batch] keep : !kvring, !qmap
              hopper.acquire %v[%t] : !kvring
              hopper.expect %v[%t] : !kvring
              hopper.fill %v[%t] from %vmap[%c0, %vr, %c0, %kv_head, %batch] keep : !kvring, !qmap
              %n1 = arith.subi %n, %c1 : i32
              scf.yield %n1, %t1 : i32, i32
            }
            hopper.acquire %v[%w#1] : !kvring
            hopper.expect %v[%w#1] : !kvring
            hopper.fill %v[%w#1] from %vmap[%c0, %c0, %c0, %kv_head, %batch] keep : !kvring, !qmap
            %turn1 = arith.addi %w#1, %c1 : i32
            %qturn1 = arith.addi %qturn, %c1 : i32
            scf.yield %next, %turn1, %qturn1 : i32, i32, i32
          }
          hopper.acquire %q[%end#2] : !qring
          hopper.write_note %q[%end#2], %c-1, %c-1, %c-1, %c-1 : !qring
          hopper.arrive %q[%end#2] : !qring
        }
      }
      consumer warpgroups 2 registers 240 (%wg: i32, %warp: i32) {
        %zero = arith.constant dense<0.0> : vector<2xf32>
        %one = arith.constant dense<1.0> : vector<2xf32>
        %minus_inf = arith.constant dense<0xFF800000> : vector<2xf32>
        %tau = arith.constant dense<8.0> : vector<2xf32>
        %ln2 = arith.constant dense<0.693147180559945> : vector<2xf32>
        %scales = vector.broadcast %scale : f32 to vector<2xf32>
        %is_first = arith.cmpi eq, %wg, %c0 : i32
        %mine = arith.addi %wg, %c1 : i32
        %wg2 = arith.addi %wg, %c2 : i32
        %other = arith.select %is_first, %wg2, %c1 : i32
        %store_barrier = arith.addi %wg, %c4 : i32
        scf.if %is_first {
          hopper.barrier_arrive %c1 threads 256
        }
        %wg_row = arith.muli %wg, %c64 : i32
        %lane_rows = hopper.row_numbers
        %done:6 = scf.while (%turn = %c0, %qturn = %c0) : (i32, i32) -> (i32, i32, i32, i32, i32, i32) {
          hopper.wait %q[%qturn] : !qring
          %note:4 = hopper.read_note %q[%qturn] : !qring -> i32, i32, i32, i32
          %more = arith.cmpi sge, %note#0, %c0 : i32
          scf.condition(%more) %turn, %qturn, %note#0, %note#1, %note#2, %note#3 : i32, i32, i32, i32, i32, i32
        } do {
        ^bb0(%turn: i32, %qturn: i32, %block: i32, %head: i32, %batch: i32, %kv_tiles: i32):
          %block_row = arith.muli %block, %c128 : i32
          %row = arith.addi %block_row, %wg_row : i32
          %row_b = vector.broadcast %row : i32 to vector<2xi32>
          %rows = arith.addi %row_b, %lane_rows : vector<2xi32>
          %offset1 = arith.addi %offset, %c1 : i32
          %offset1_b = vector.broadcast %offset1 : i32 to vector<2xi32>
          %kv_len_b = vector.broadcast %kv_len : i32 to vector<2xi32>
          %seen = arith.addi %rows, %offset1_b : vector<2xi32>
          %limits = arith.minsi %kv_len_b, %seen : vector<2xi32>
          %qf = hopper.load_fragment %q[%qturn] row %wg_row : !qring -> !half
          hopper.release %q[%qturn] : !qring

          // The newest KV tile: always masked, nothing to rescale.
          hopper.wait %k[%turn] : !kvring
          %s0 = hopper.contract %qf, %k[%turn] transposed : !half, !kvring -> !acc
          %s1 = hopper.wait_contracts %s0 pending 0 : !acc
          hopper.release %k[%turn] : !kvring
          %newest = arith.subi %kv_tiles, %c1 : i32
          %newest_key = arith.muli %newest, %c128 : i32
          %newest_b = vector.broadcast %newest_key : i32 to vector<2xi32>
          %limits0 = arith.subi %limits, %newest_b : vector<2xi32>
          %s2 = hopper.mask %s1 below %limits0 : !acc
          %m0 = hopper.row_reduce max %s2 : !acc
          %m1 = hopper.quad_reduce max %m0
          %mx = arith.mulf %m1, %scales fastmath<contract> : vector<2xf32>
          %empty = arith.cmpf oeq, %m1, %minus_inf : vector<2xf32>
          %mz = arith.select %empty, %zero, %mx : vector<2xi1>, vector<2xf32>
          %mn = arith.negf %mz : vector<2xf32>
          %p0 = hopper.exp2 %s2 scale %scale offset %mn : !acc
          %l0 = hopper.row_reduce sum %p0 : !acc
          %ph0 = hopper.convert %p0 : !acc -> !half
          %o0 = hopper.zero : !acc

          // Tiles that the causal diagonal crosses.
          %second = arith.subi %kv_tiles, %c2 : i32
          %d0 = arith.addi %block_row, %offset1 : i32
          %d1 = arith.maxsi %d0, %c0 : i32
          %full_below = arith.divui %d1, %c128 : i32
          %a:7 = scf.while (%n = %second, %t = %turn, %oa = %o0, %ph = %ph0, %m = %m1, %l = %l0, %alpha = %one)
              : (i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>)
              -> (i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>) {
            %go = arith.cmpi sge, %n, %full_below : i32
            scf.condition(%go) %n, %t, %oa, %ph, %m, %l, %alpha
              : i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>
          } do {
          ^bb0(%n: i32, %t: i32, %oa: !acc, %ph: !half, %m: vector<2xf32>, %l: vector<2xf32>, %alpha: vector<2xf32>):
            %al = hopper.opaque %alpha
            %t1 = arith.addi %t, %c1 : i32
            hopper.wait %k[%t1] : !kvring
            hopper.barrier_sync %mine threads 256
            %sa = hopper.contract %qf, %k[%t1] transposed : !half, !kvring -> !acc
            hopper.wait %v[%t] : !kvring
            %changed = arith.cmpf une, %al, %one : vector<2xf32>
            %any = hopper.any %changed
            %or = scf.if %any -> (!acc) {
              %scaled = hopper.scale_rows %oa by %al : !acc
              scf.yield %scaled : !acc
            } else {
              scf.yield %oa : !acc
            }
            %ob = hopper.contract %ph, %v[%t] into %or : !half, !kvring -> !acc
            hopper.barrier_arrive %other threads 256
            %sb = hopper.wait_contracts %sa pending 1 : !acc
            %key = arith.muli %n, %c128 : i32
            %key_b = vector.broadcast %key : i32 to vector<2xi32>
            %limit = arith.subi %limits, %key_b : vector<2xi32>
            %sc = hopper.mask %sb below %limit : !acc
            %r0 = hopper.row_reduce max %sc : !acc
            %r1 = hopper.quad_reduce max %r0
            %r2 = arith.maxnumf %r1, %m : vector<2xf32>
            %d = arith.subf %r2, %m fastmath<contract> : vector<2xf32>
            %ds = arith.mulf %d, %scales fastmath<contract> : vector<2xf32>
            %grew = arith.cmpf ogt, %ds, %tau : vector<2xf32>
            %mnew = arith.select %grew, %r2, %m : vector<2xi1>, vector<2xf32>
            %x0 = arith.mulf %mnew, %scales fastmath<contract> : vector<2xf32>
            %none = arith.cmpf oeq, %mnew, %minus_inf : vector<2xf32>
            %x1 = arith.select %none, %zero, %x0 : vector<2xi1>, vector<2xf32>
            %x = arith.negf %x1 : vector<2xf32>
            %g0 = arith.mulf %m, %scales fastmath<contract> : vector<2xf32>
            %g1 = arith.addf %g0, %x fastmath<contract> : vector<2xf32>
            %g = hopper.approx ex2 %g1 : vector<2xf32>
            %alnew = arith.select %grew, %g, %one : vector<2xi1>, vector<2xf32>
            %p = hopper.exp2 %sc scale %scale offset %x : !acc
            hopper.release %k[%t1] after %p : !kvring, !acc
            %sum = hopper.row_reduce sum %p : !acc
            %lal = arith.mulf %l, %alnew fastmath<contract> : vector<2xf32>
            %lnew = arith.addf %lal, %sum fastmath<contract> : vector<2xf32>
            %oc = hopper.wait_contracts %ob pending 0 : !acc
            hopper.release %v[%t] : !kvring
            %phnew = hopper.convert %p : !acc -> !half
            %n1 = arith.subi %n, %c1 : i32
            scf.yield %n1, %t1, %oc, %phnew, %mnew, %lnew, %alnew
              : i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>
          }

          // Tiles that all rows see.
          %b:7 = scf.while (%n = %a#0, %t = %a#1, %oa = %a#2, %ph = %a#3, %m = %a#4, %l = %a#5, %alpha = %a#6)
              : (i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>)
              -> (i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>) {
            %go = arith.cmpi sge, %n, %c0 : i32
            scf.condition(%go) %n, %t, %oa, %ph, %m, %l, %alpha
              : i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>
          } do {
          ^bb0(%n: i32, %t: i32, %oa: !acc, %ph: !half, %m: vector<2xf32>, %l: vector<2xf32>, %alpha: vector<2xf32>):
            %al = hopper.opaque %alpha
            %t1 = arith.addi %t, %c1 : i32
            hopper.wait %k[%t1] : !kvring
            hopper.barrier_sync %mine threads 256
            %sa = hopper.contract %qf, %k[%t1] transposed : !half, !kvring -> !acc
            hopper.wait %v[%t] : !kvring
            %changed = arith.cmpf une, %al, %one : vector<2xf32>
            %any = hopper.any %changed
            %or = scf.if %any -> (!acc) {
              %scaled = hopper.scale_rows %oa by %al : !acc
              scf.yield %scaled : !acc
            } else {
              scf.yield %oa : !acc
            }
            %ob = hopper.contract %ph, %v[%t] into %or : !half, !kvring -> !acc
            hopper.barrier_arrive %other threads 256
            %sc = hopper.wait_contracts %sa pending 1 : !acc
            %r0 = hopper.row_reduce max %sc : !acc
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
            %p = hopper.exp2 %sc scale %scale offset %x : !acc
            hopper.release %k[%t1] after %p : !kvring, !acc
            %sum = hopper.row_reduce sum %p : !acc
            %lal = arith.mulf %l, %alnew fastmath<contract> : vector<2xf32>
            %lnew = arith.addf %lal, %sum fastmath<contract> : vector<2xf32>
            %oc = hopper.wait_contracts %ob pending 0 : !acc
            hopper.release %v[%t] : !kvring
            %phnew = hopper.convert %p : !acc -> !half
            %n1 = arith.subi %n, %c1 : i32
            scf.yield %n1, %t1, %oc, %phnew, %mnew, %lnew, %alnew
              : i32, i32, !acc, !half, vector<2xf32>, vector<2xf32>, vector<2xf32>
          }

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
          hopper.wait %v[%b#1] : !kvring
          %of0 = hopper.contract %b#3, %v[%b#1] into %or : !half, !kvring -> !acc
          %of1 = hopper.wait_contracts %of0 pending 0 : !acc
          hopper.release %v[%b#1] : !kvring
          %lsum = hopper.quad_reduce sum %b#5
          %some = arith.cmpf ogt, %lsum, %zero : vector<2xf32>
          %rcp = hopper.approx rcp %lsum : vector<2xf32>
          %inverse = arith.select %some, %rcp, %zero : vector<2xi1>, vector<2xf32>
          %on = hopper.scale_rows %of1 by %inverse : !acc
          %oh = hopper.convert %on : !acc -> !half
          hopper.single_thread {
            hopper.wait_stores read
          }
          hopper.barrier_sync %store_barrier threads 128
          hopper.store_fragment %oh, %o[%wg] : !half, !otiles
          hopper.fence_shared
          hopper.barrier_sync %store_barrier threads 128
          hopper.single_thread {
            hopper.store_tile %o[%wg] to %omap[%c0, %row, %c0, %head, %batch] : !otiles, !omap
          }
          %log = hopper.approx lg2 %lsum : vector<2xf32>
          %ms = arith.mulf %b#4, %scales fastmath<contract> : vector<2xf32>
          %lse2 = arith.addf %ms, %log fastmath<contract> : vector<2xf32>
          %lsen = arith.mulf %lse2, %ln2 : vector<2xf32>
          %lser = arith.select %some, %lsen, %minus_inf : vector<2xi1>, vector<2xf32>
          %bh0 = arith.muli %batch, %heads : i32
          %bh = arith.addi %bh0, %head : i32
          %start = arith.muli %bh, %q_len : i32
          hopper.store_rows %lser, %lse[%start] rows %rows below %q_len : !hopper.pointer<f32>
          %turn1 = arith.addi %b#1, %c1 : i32
          %qturn1 = arith.addi %qturn, %c1 : i32
          scf.yield %turn1, %qturn1 : i32, i32
        }
        hopper.single_thread {
          hopper.wait_stores
        }
      }
    }
    hopper.return
  }
}
