// Every op, printed and read again.
// RUN: pagefold-opt %s --verify-roundtrip | FileCheck %s

!map = !hopper.tensor_map<box[64, 64, 2], bf16>
!page = !hopper.tensor_map<box[64, 2, 8], bf16>
!ring = !hopper.ring<2 x 64 x 128, bf16 note 8>
!octets = !hopper.ring<4 x 64 x 128, bf16 order octets>
!tiles = !hopper.shared<2 x 64 x 128, bf16>
!s = !hopper.fragment<64 x 64, f32>
!acc = !hopper.fragment<64 x 128, f32>
!p = !hopper.fragment<64 x 64, bf16>
!half = !hopper.fragment<64 x 128, bf16>

gpu.module @kernels {
  // CHECK-LABEL: hopper.kernel @all(
  // CHECK-SAME: !hopper.tensor_map<box[64, 64, 2], bf16>
  hopper.kernel @all(%map: !map, %page: !page, %out: !hopper.pointer<f32>, %counter: !hopper.pointer<i32>, %n: i32, %scale: f32) {
    // CHECK: hopper.alloc : <2 x 64 x 128, bf16>
    %o = hopper.alloc : !tiles
    // CHECK: hopper.alloc_ring readers 4 : <2 x 64 x 128, bf16 note 8>
    %r = hopper.alloc_ring readers 4 : !ring
    // CHECK: hopper.alloc_ring readers 4 : <4 x 64 x 128, bf16 order octets>
    %k = hopper.alloc_ring readers 4 : !octets
    // CHECK: hopper.roles {
    // CHECK-NEXT: producer warpgroups 1 registers 24 (%{{.*}}: i32, %{{.*}}: i32) {
    hopper.roles {
      producer warpgroups 1 registers 24 (%wg: i32, %warp: i32) {
        // CHECK: hopper.single_thread {
        hopper.single_thread {
          // CHECK: hopper.cta
          %cta = hopper.cta
          // CHECK: hopper.ctas
          %ctas = hopper.ctas
          // CHECK: hopper.ticket %{{.*}} last %{{.*}} : <i32>
          %t = hopper.ticket %counter last %n : !hopper.pointer<i32>
          // CHECK: hopper.acquire %{{.*}}[%{{.*}}] : <2 x
          hopper.acquire %r[%t] : !ring
          // CHECK: hopper.write_note
          hopper.write_note %r[%t], %n, %n, %n, %n, %n, %n, %n, %n : !ring
          // CHECK: hopper.expect
          hopper.expect %r[%t] : !ring
          // CHECK: hopper.fill %{{.*}}[%{{.*}}] from %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : <2 x
          hopper.fill %r[%t] from %map[%cta, %ctas, %n] : !ring, !map
          // CHECK: hopper.fill %{{.*}}[%{{.*}}] row %{{.*}} from %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] keep : <4 x
          hopper.fill %k[%t] row %n from %page[%n, %n, %n] keep : !octets, !page
          // CHECK: hopper.arrive
          hopper.arrive %r[%t] : !ring
        }
      }
      // CHECK: consumer warpgroups 1 registers 240 (
      consumer warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // CHECK: hopper.lane
        %lane = hopper.lane
        // CHECK: hopper.wait
        hopper.wait %r[%n] : !ring
        // CHECK: %{{.*}}:8 = hopper.read_note %{{.*}}[%{{.*}}] : <2 x 64 x 128, bf16 note 8> -> i32
        %note:8 = hopper.read_note %r[%n] : !ring -> i32, i32, i32, i32, i32, i32, i32, i32
        // CHECK: hopper.load_fragment %{{.*}}[%{{.*}}] row %{{.*}} : <2 x 64 x 128, bf16 note 8> -> <64 x 128, bf16>
        %q = hopper.load_fragment %r[%n] row %n : !ring -> !half
        // CHECK: hopper.release %{{.*}}[%{{.*}}] : <2 x
        hopper.release %r[%n] : !ring
        // CHECK: hopper.contract %{{.*}}, %{{.*}}[%{{.*}}] transposed : <64 x 128, bf16>, <4 x 64 x 128, bf16 order octets> -> <64 x 64, f32>
        %s0 = hopper.contract %q, %k[%n] transposed : !half, !octets -> !s
        // CHECK: hopper.wait_contracts %{{.*}} pending 0 : <64 x 64, f32>
        %s1 = hopper.wait_contracts %s0 pending 0 : !s
        // CHECK: hopper.contract_shared %{{.*}}[%{{.*}}] row %{{.*}}, %{{.*}}[%{{.*}}] transposed into %{{.*}} : <2 x
        %s2 = hopper.contract_shared %r[%n] row %n, %k[%n] transposed into %s1 : !ring, !octets -> !s
        %s3 = hopper.wait_contracts %s2 pending 0 : !s
        // CHECK: hopper.row_numbers
        %rows = hopper.row_numbers
        // CHECK: hopper.mask %{{.*}} below
        %s4 = hopper.mask %s3 below %rows : !s
        // CHECK: hopper.row_reduce max
        %m0 = hopper.row_reduce max %s4 : !s
        // CHECK: hopper.quad_reduce max
        %m1 = hopper.quad_reduce max %m0
        // CHECK: hopper.opaque
        %m2 = hopper.opaque %m1
        // CHECK: hopper.approx rcp
        %m3 = hopper.approx rcp %m2 : vector<2xf32>
        // CHECK: hopper.exp2 %{{.*}} scale %{{.*}} offset
        %p0 = hopper.exp2 %s4 scale %scale offset %m3 : !s
        // CHECK: hopper.release %{{.*}}[%{{.*}}] after %{{.*}} : <4 x 64 x 128, bf16 order octets>
        hopper.release %k[%n] after %p0 : !octets, !s
        // CHECK: hopper.convert %{{.*}} : <64 x 64, f32> -> <64 x 64, bf16>
        %p1 = hopper.convert %p0 : !s -> !p
        // CHECK: hopper.zero : <64 x 128, f32>
        %o0 = hopper.zero : !acc
        // CHECK: hopper.scale_rows %{{.*}} by
        %o1 = hopper.scale_rows %o0 by %m3 : !acc
        // CHECK: hopper.contract %{{.*}}, %{{.*}}[%{{.*}}] into %{{.*}} : <64 x 64, bf16>
        %o2 = hopper.contract %p1, %k[%n] into %o1 : !p, !octets -> !acc
        %o3 = hopper.wait_contracts %o2 pending 0 : !acc
        %oh = hopper.convert %o3 : !acc -> !half
        %greater = arith.cmpf ogt, %m2, %m3 : vector<2xf32>
        // CHECK: hopper.any
        %any = hopper.any %greater
        // CHECK: hopper.barrier_sync %{{.*}} threads 128
        hopper.barrier_sync %n threads 128
        // CHECK: hopper.barrier_arrive %{{.*}} threads 128
        hopper.barrier_arrive %n threads 128
        // CHECK: hopper.store_fragment %{{.*}}, %{{.*}}[%{{.*}}] : <64 x 128, bf16>, <2 x 64 x 128, bf16>
        hopper.store_fragment %oh, %o[%wg] : !half, !tiles
        // CHECK: hopper.fence_shared
        hopper.fence_shared
        hopper.single_thread {
          // CHECK: hopper.store_tile %{{.*}}[%{{.*}}] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : <2 x
          hopper.store_tile %o[%wg] to %map[%n, %n, %n] : !tiles, !map
          // CHECK: hopper.wait_stores read
          hopper.wait_stores read
          // CHECK: hopper.wait_stores{{$}}
          hopper.wait_stores
        }
        // CHECK: hopper.store_rows %{{.*}}, %{{.*}}[%{{.*}}] rows %{{.*}} below %{{.*}} : <f32>
        hopper.store_rows %m3, %out[%n] rows %rows below %n : !hopper.pointer<f32>
      }
    }
    // CHECK: hopper.return
    hopper.return
  }
}
