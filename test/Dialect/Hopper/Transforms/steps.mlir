// A first step of a fold and a loop of steps, as tile-to-hopper writes them; what the passes make of it.
// RUN: pagefold-opt %s --hopper-overlap-products | FileCheck %s --check-prefix=OVERLAP
// RUN: pagefold-opt %s --hopper-lazy-rescale | FileCheck %s --check-prefix=LAZY
// RUN: pagefold-opt %s --hopper-overlap-products --hopper-lazy-rescale | FileCheck %s --check-prefix=BOTH

!ring = !hopper.ring<2 x 64 x 64, bf16>
!s = !hopper.fragment<64 x 64, f32>
!p = !hopper.fragment<64 x 64, bf16>

gpu.module @kernels {
  hopper.kernel @steps(%out: !hopper.pointer<f32>, %tiles: i32, %scale: f32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant dense<1.0> : vector<2xf32>
    %q = hopper.alloc_ring readers 8 : !ring
    %k = hopper.alloc_ring readers 8 : !ring
    %v = hopper.alloc_ring readers 8 : !ring
    hopper.roles {
      consumer warpgroups 2 registers 240 (%wg: i32, %warp: i32) {
        %scales = vector.broadcast %scale : f32 to vector<2xf32>
        %rows = hopper.row_numbers
        %qf = hopper.load_fragment %q[%c0] row %c0 : !ring -> !p

        hopper.wait %k[%c0] : !ring
        %s0 = hopper.contract %qf, %k[%c0] transposed : !p, !ring -> !s
        %s1 = hopper.wait_contracts %s0 pending 0 : !s
        hopper.release %k[%c0] : !ring
        %r0 = hopper.row_reduce max %s1 : !s
        %m0 = hopper.quad_reduce max %r0
        %t0 = arith.mulf %m0, %scales : vector<2xf32>
        %n0 = arith.negf %t0 : vector<2xf32>
        %p0 = hopper.exp2 %s1 scale %scale offset %n0 : !s
        %z = hopper.zero : !s
        %h0 = hopper.convert %p0 : !s -> !p
        hopper.wait %v[%c0] : !ring
        %f0 = hopper.contract %h0, %v[%c0] into %z : !p, !ring -> !s
        %o0 = hopper.wait_contracts %f0 pending 0 : !s
        hopper.release %v[%c0] : !ring

        %last:3 = scf.while (%t = %c1, %o = %o0, %m = %m0) : (i32, !s, vector<2xf32>) -> (i32, !s, vector<2xf32>) {
          %more = arith.cmpi slt, %t, %tiles : i32
          scf.condition(%more) %t, %o, %m : i32, !s, vector<2xf32>
        } do {
        ^bb0(%t: i32, %o: !s, %m: vector<2xf32>):
          hopper.wait %k[%t] : !ring
          %sa = hopper.contract %qf, %k[%t] transposed : !p, !ring -> !s
          %sb = hopper.wait_contracts %sa pending 0 : !s
          hopper.release %k[%t] : !ring
          %ra = hopper.row_reduce max %sb : !s
          %rb = hopper.quad_reduce max %ra
          %new = arith.maxnumf %rb, %m : vector<2xf32>
          %top = arith.mulf %new, %scales : vector<2xf32>
          %offset = arith.negf %top : vector<2xf32>
          %old = arith.mulf %m, %scales : vector<2xf32>
          %less = arith.addf %old, %offset : vector<2xf32>
          %factor = hopper.approx ex2 %less : vector<2xf32>
          %pa = hopper.exp2 %sb scale %scale offset %offset : !s
          %scaled = hopper.scale_rows %o by %factor : !s
          %ha = hopper.convert %pa : !s -> !p
          hopper.wait %v[%t] : !ring
          %fa = hopper.contract %ha, %v[%t] into %scaled : !p, !ring -> !s
          %oa = hopper.wait_contracts %fa pending 0 : !s
          hopper.release %v[%t] : !ring
          %next = arith.addi %t, %c1 : i32
          scf.yield %next, %oa, %new : i32, !s, vector<2xf32>
        }
        // The division at the end is no rescale, and the merge of two states no step.
        %ended = hopper.scale_rows %last#1 by %one : !s
        %greater = arith.maxnumf %last#2, %m0 : vector<2xf32>
        %apart = arith.subf %m0, %greater : vector<2xf32>
        %exponent = arith.mulf %apart, %scales : vector<2xf32>
        %share = hopper.approx ex2 %exponent : vector<2xf32>
        %end = hopper.scale_rows %ended by %share : !s
        %sum = hopper.row_reduce sum %end : !s
        hopper.store_rows %sum, %out[%c0] rows %rows below %tiles : !hopper.pointer<f32>
      }
    }
    hopper.return
  }
}

// The first warpgroup starts; each has a barrier of its own.
// OVERLAP: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : i32
// OVERLAP: scf.if %[[FIRST]] {
// OVERLAP-NEXT: hopper.barrier_arrive %{{.*}} threads 256
// The first step: scores and softmax, no output yet, and nothing to be rescaled for it.
// OVERLAP: hopper.contract {{.*}} transposed
// OVERLAP: %[[ROUNDED:.*]] = hopper.convert
// OVERLAP-NEXT: %[[ONES:.*]] = arith.constant dense<1.000000e+00>
// OVERLAP-NOT: hopper.contract
// OVERLAP: scf.while ({{.*}} = %[[ROUNDED]], {{.*}} = %[[ONES]])
// OVERLAP: ^bb0(%[[T:.*]]: i32, %[[O:.*]]: !hopper.fragment<64 x 64, f32>, %{{.*}}: vector<2xf32>, %[[PENDING:.*]]: !hopper.fragment<64 x 64, bf16>, %[[FACTOR:.*]]: vector<2xf32>):
// OVERLAP: %[[BEFORE:.*]] = arith.subi %[[T]], %{{.*}} : i32
// OVERLAP: hopper.wait %[[K:.*]][%[[T]]]
// OVERLAP-NEXT: hopper.barrier_sync %[[MINE:.*]] threads 256
// OVERLAP-NEXT: %[[SCORES:.*]] = hopper.contract %{{.*}}, %[[K]][%[[T]]] transposed
// OVERLAP-NEXT: hopper.wait %[[V:.*]][%[[BEFORE]]]
// OVERLAP-NEXT: %[[SCALED:.*]] = hopper.scale_rows %[[O]] by %[[FACTOR]]
// OVERLAP-NEXT: %[[OUTPUT:.*]] = hopper.contract %[[PENDING]], %[[V]][%[[BEFORE]]] into %[[SCALED]]
// OVERLAP-NEXT: hopper.barrier_arrive %{{.*}} threads 256
// OVERLAP-NEXT: hopper.wait_contracts %[[SCORES]] pending 1
// K's stage is held back behind the exponentials; the weights are rounded once no product reads them.
// OVERLAP: %[[WEIGHTS:.*]] = hopper.exp2
// OVERLAP-NEXT: hopper.release %[[K]][%[[T]]] after %[[WEIGHTS]]
// OVERLAP: hopper.wait_contracts %[[OUTPUT]] pending 0
// OVERLAP-NEXT: hopper.release %[[V]][%[[BEFORE]]]
// OVERLAP-NEXT: hopper.convert %[[WEIGHTS]]
// OVERLAP-NEXT: scf.yield
// The last output behind the loop.
// OVERLAP: hopper.scale_rows
// OVERLAP-NEXT: hopper.wait %[[V]]
// OVERLAP-NEXT: hopper.contract
// OVERLAP-NEXT: hopper.wait_contracts %{{.*}} pending 0
// OVERLAP-NEXT: hopper.release %[[V]]

// LAZY: scf.while
// LAZY: ^bb0(%{{.*}}: i32, %[[O:.*]]: !hopper.fragment<64 x 64, f32>, %[[M:.*]]: vector<2xf32>):
// A row keeps its maximum unless it grew by more than 2^8.
// LAZY: %[[NEW:.*]] = arith.maxnumf %{{.*}}, %[[M]]
// LAZY-NEXT: %[[GROWTH:.*]] = arith.subf %[[NEW]], %[[M]]
// LAZY-NEXT: %[[SCALED:.*]] = arith.mulf %[[GROWTH]], %{{.*}}
// LAZY-NEXT: %[[LIMIT:.*]] = arith.constant dense<8.000000e+00>
// LAZY-NEXT: %[[GREW:.*]] = arith.cmpf ogt, %[[SCALED]], %[[LIMIT]]
// LAZY-NEXT: %[[KEPT:.*]] = arith.select %[[GREW]], %[[NEW]], %[[M]]
// LAZY-NEXT: arith.mulf %[[KEPT]], %{{.*}}
// Then the factor is exactly 1.
// LAZY: %[[EXP:.*]] = hopper.approx ex2
// LAZY-NEXT: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// LAZY-NEXT: %[[FACTOR:.*]] = arith.select %[[GREW]], %[[EXP]], %[[ONE]]
// A warp without another factor skips the rescale.
// LAZY: %[[HIDDEN:.*]] = hopper.opaque %[[FACTOR]]
// LAZY: %[[OTHER:.*]] = arith.cmpf une, %[[HIDDEN]]
// LAZY-NEXT: %[[ANY:.*]] = hopper.any %[[OTHER]]
// LAZY-NEXT: %[[ACC:.*]] = scf.if %[[ANY]]
// LAZY-NEXT: hopper.scale_rows %[[O]] by %[[HIDDEN]]
// LAZY: else
// LAZY-NEXT: scf.yield %[[O]]
// LAZY: hopper.contract {{.*}} into %[[ACC]]
// LAZY: scf.yield %{{.*}}, %{{.*}}, %[[KEPT]]
// LAZY-NOT: scf.if
// LAZY: hopper.scale_rows
// LAZY-NEXT: arith.maxnumf
// LAZY-NEXT: arith.subf
// LAZY-NEXT: arith.mulf
// LAZY-NEXT: %[[SHARE:.*]] = hopper.approx ex2
// LAZY-NEXT: hopper.scale_rows %{{.*}} by %[[SHARE]]

// In an overlapped loop the factor is the loop's; the comparison stands at its head. The drain is conditional too.
// BOTH: ^bb0({{.*}}, %[[FACTOR:[^:]*]]: vector<2xf32>):
// BOTH-NEXT: %[[HIDDEN:.*]] = hopper.opaque %[[FACTOR]]
// BOTH: hopper.contract {{.*}} transposed
// BOTH: arith.cmpf une, %[[HIDDEN]]
// BOTH: scf.if
// BOTH: scf.yield {{.*}} : i32
// BOTH: hopper.any
// BOTH: scf.if
// BOTH: hopper.contract
