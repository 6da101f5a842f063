// Ops of warps, global memory and gathers, and tiles whose columns do not fill their panels: printed and read again.
// RUN: pagefold-opt %s --verify-roundtrip | FileCheck %s

!page = !hopper.tensor_map<box[64, 16, 1], bf16>
!half_out = !hopper.tensor_map<box[64, 64, 1], bf16>
!kring = !hopper.ring<2 x 128 x 72, bf16 note 16>
!vring = !hopper.ring<1 x 128 x 72, bf16>
!tiles = !hopper.shared<1 x 64 x 72, bf16>
!q = !hopper.fragment<64 x 80, bf16>
!s = !hopper.fragment<64 x 128, f32>
!p = !hopper.fragment<64 x 128, bf16>
!acc = !hopper.fragment<64 x 72, f32>
!half = !hopper.fragment<64 x 72, bf16>

gpu.module @kernels {
  // CHECK-LABEL: hopper.kernel @all(
  // CHECK-SAME: %{{.*}}: i64
  hopper.kernel @all(%page: !page, %omap: !half_out, %data: !hopper.pointer<bf16>, %lse: !hopper.pointer<f32>,
                     %ints: !hopper.pointer<i32>, %error: !hopper.pointer<i64>, %n: i32, %stride: i64) {
    %o = hopper.alloc : !tiles
    // CHECK: hopper.alloc_ring readers 4 : <2 x 128 x 72, bf16 note 16>
    %k = hopper.alloc_ring readers 4 : !kring
    // CHECK: hopper.alloc_ring readers 4 writers 4 : <1 x 128 x 72, bf16>
    %v = hopper.alloc_ring readers 4 writers 4 : !vring
    hopper.roles {
      producer warpgroups 1 registers 24 (%wg: i32, %warp: i32) {
        // CHECK: hopper.thread
        %t = hopper.thread
        // CHECK: hopper.prefetch_map %{{.*}} : <box[64, 16, 1], bf16>
        hopper.prefetch_map %page : !page
        // CHECK: hopper.warp_reduce min %
        %min = hopper.warp_reduce min %t
        // CHECK: hopper.warp_scan %
        %scan = hopper.warp_scan %min
        // CHECK: hopper.shuffle %{{.*}} from %
        %last = hopper.shuffle %scan from %n
        %ok = arith.cmpi slt, %last, %n : i32
        // CHECK: hopper.ballot %
        %bits = hopper.ballot %ok
        // CHECK: hopper.load %{{.*}}[%{{.*}}] : <i32>{{$}}
        %len = hopper.load %ints[%bits] : !hopper.pointer<i32>
        // CHECK: hopper.load %{{.*}}[%{{.*}}] if %{{.*}} else %{{.*}} : <i32>, i64
        %id = hopper.load %ints[%stride] if %ok else %len : !hopper.pointer<i32>, i64
        // CHECK: hopper.store %{{.*}}, %{{.*}}[%{{.*}}] : <i32>{{$}}
        hopper.store %id, %ints[%n] : !hopper.pointer<i32>
        // CHECK: hopper.store %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} : <i32>, i64
        hopper.store %id, %ints[%stride] if %ok : !hopper.pointer<i32>, i64
        // CHECK: hopper.report %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} reason 5 if %{{.*}} : <i64>
        hopper.report %error, %id, %len, %n reason 5 if %ok : !hopper.pointer<i64>
        // CHECK: hopper.sync_warp
        hopper.sync_warp
        // CHECK: hopper.fill %{{.*}}[%{{.*}}] panel 1 row %{{.*}} from %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : <2 x
        hopper.fill %k[%n] panel 1 row %t from %page[%n, %t, %id] : !kring, !page
        // CHECK: hopper.gather %{{.*}}[%{{.*}}] row %{{.*}} unit %{{.*}} from %{{.*}}[%{{.*}}] if %{{.*}} : <1 x 128 x 72, bf16>, <bf16>, i64
        hopper.gather %v[%n] row %t unit %warp from %data[%stride] if %ok : !vring, !hopper.pointer<bf16>, i64
        // CHECK: hopper.gather %{{.*}}[%{{.*}}] row %{{.*}} unit %{{.*}} from %{{.*}}[%{{.*}}] if %{{.*}} : <1 x 128 x 72, bf16>, <bf16>{{$}}
        hopper.gather %v[%n] row %t unit %warp from %data[%id] if %ok : !vring, !hopper.pointer<bf16>
        // CHECK: hopper.arrive_gathered %{{.*}}[%{{.*}}] : <1 x
        hopper.arrive_gathered %v[%n] : !vring
      }
      consumer warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // The depth of 72 columns is 80.
        // CHECK: hopper.load_fragment %{{.*}} -> <64 x 80, bf16>
        %q = hopper.load_fragment %k[%n] row %n : !kring -> !q
        %s0 = hopper.contract %q, %k[%n] transposed : !q, !kring -> !s
        %s1 = hopper.wait_contracts %s0 pending 0 : !s
        %rows = hopper.row_numbers
        // CHECK: hopper.mask %{{.*}} from %{{.*}} below %{{.*}} : <64 x 128, f32>
        %s2 = hopper.mask %s1 from %rows below %rows : !s
        // CHECK: hopper.mask %{{.*}} from %{{.*}} : <64 x 128, f32>
        %s3 = hopper.mask %s2 from %rows : !s
        // CHECK: hopper.map %{{.*}} rows(%{{.*}} : vector<2xi32>) {
        // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: i32):
        %s4 = hopper.map %s3 rows(%rows : vector<2xi32>) {
        ^bb0(%x: f32, %row: i32, %column: i32):
          %far = arith.cmpi sgt, %column, %row : i32
          %negative = arith.negf %x : f32
          %y = arith.select %far, %negative, %x : f32
          // CHECK: hopper.yield %{{.*}} : f32
          hopper.yield %y : f32
        // CHECK: } : <64 x 128, f32>
        } : !s
        // CHECK: hopper.map %{{.*}} {
        %s5 = hopper.map %s4 {
        ^bb0(%x: f32, %column: i32):
          hopper.yield %x : f32
        } : !s
        // CHECK: hopper.clear_rows %{{.*}}[%{{.*}}] from %{{.*}} barrier %{{.*}} : <1 x
        hopper.clear_rows %v[%n] from %n barrier %n : !vring
        %p = hopper.convert %s5 : !s -> !p
        // CHECK: hopper.contract %{{.*}} -> <64 x 72, f32>
        %o0 = hopper.contract %p, %v[%n] : !p, !vring -> !acc
        %o1 = hopper.wait_contracts %o0 pending 0 : !acc
        %oh = hopper.convert %o1 : !acc -> !half
        // CHECK: hopper.store_matrix %{{.*}}, %{{.*}}[%{{.*}}] stride %{{.*}} rows %{{.*}} below %{{.*}} : <64 x 72, bf16>, <bf16>
        hopper.store_matrix %oh, %data[%stride] stride %stride rows %rows below %n : !half, !hopper.pointer<bf16>
        hopper.store_fragment %oh, %o[%wg] : !half, !tiles
        // CHECK: hopper.store_tile %{{.*}}[%{{.*}}] panel 1 to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : <1 x
        hopper.single_thread {
          hopper.store_tile %o[%wg] panel 1 to %omap[%n, %n, %n] : !tiles, !half_out
        }
        %sum = hopper.row_reduce sum %o1 : !acc
        // CHECK: hopper.store_rows %{{.*}}, %{{.*}}[%{{.*}}] stride %{{.*}} rows %{{.*}} below %{{.*}} : <f32>, i64
        hopper.store_rows %sum, %lse[%stride] stride %stride rows %rows below %n : !hopper.pointer<f32>, i64
      }
    }
    hopper.return
  }
}
