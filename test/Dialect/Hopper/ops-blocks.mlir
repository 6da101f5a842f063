// Products of a warp, rings of warps, words and packets: printed and read again.
// RUN: pagefold-opt %s --verify-roundtrip | FileCheck %s

!keys = !hopper.ring<3 x 16 x 128, bf16 warps 4>
!values = !hopper.ring<2 x 16 x 72, f16 warps 4>
!map = !hopper.tensor_map<box[64, 16, 2], bf16>
!words = !hopper.words<1024>

gpu.module @kernels {
  // CHECK-LABEL: hopper.kernel @blocks(
  hopper.kernel @blocks(%map: !map, %halves: !hopper.pointer<bf16>, %floats: !hopper.pointer<f16>,
                        %states: !hopper.pointer<f32>, %eighths: !hopper.pointer<f8E4M3FN>, %n: i32, %i: i64) {
    // CHECK: %[[K:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 128, bf16 warps 4>
    %k = hopper.alloc_ring readers 0 : !keys
    // CHECK: %[[V:.*]] = hopper.alloc_ring readers 0 writers 2 : <2 x 16 x 72, f16 warps 4>
    %v = hopper.alloc_ring readers 0 writers 2 : !values
    // CHECK: %[[W:.*]] = hopper.alloc_words : <1024>
    %w = hopper.alloc_words : !words
    hopper.roles {
      stream warpgroups 1 registers 256 (%wg: i32, %warp: i32) {
        // CHECK: hopper.expect %[[K]][%{{.*}}] of %[[WARP:.*]] : <3 x 16 x 128, bf16 warps 4>
        hopper.expect %k[%n] of %warp : !keys
        // CHECK: hopper.fill %[[K]][%{{.*}}] of %[[WARP]] from %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : <3 x
        hopper.fill %k[%n] of %warp from %map[%n, %n, %n] : !keys, !map
        // CHECK: hopper.wait %[[K]][%{{.*}}] of %[[WARP]] : <3 x 16 x 128, bf16 warps 4>
        hopper.wait %k[%n] of %warp : !keys
        // CHECK: %[[A:.*]] = hopper.load_block %[[K]][%{{.*}}] of %[[WARP]] row 0 column 112 : <3 x
        %a = hopper.load_block %k[%n] of %warp row 0 column 112 : !keys
        // The depth of 72 columns is 80.
        // CHECK: %[[B:.*]] = hopper.load_block %[[V]][%{{.*}}] of %[[WARP]] row 0 column 64 transposed : <2 x
        %b = hopper.load_block %v[%n] of %warp row 0 column 64 transposed : !values
        // CHECK: hopper.widen_block %[[A]] part 1
        %wide = hopper.widen_block %a part 1
        // CHECK: hopper.widen_block %[[B]] part 0 transposed
        %wide_t = hopper.widen_block %b part 0 transposed
        %yes = arith.constant true
        // CHECK: %[[Q:.*]] = hopper.load_pair %{{.*}}[%{{.*}}] if %{{.*}} : <bf16>, i64
        %q0 = hopper.load_pair %halves[%i] if %yes : !hopper.pointer<bf16>, i64
        // CHECK: hopper.load_pair %{{.*}}[%{{.*}}] if %{{.*}} : <f16>{{$}}
        %q1 = hopper.load_pair %floats[%n] if %yes : !hopper.pointer<f16>
        // CHECK: hopper.load_pair %{{.*}}[%{{.*}}] if %{{.*}} : <f32>{{$}}
        %sine = hopper.load_pair %states[%n] if %yes : !hopper.pointer<f32>
        // CHECK: %[[COS:.*]] = hopper.load_pair %{{.*}}[%{{.*}}] if %{{.*}} else 1.000000e+00 : <f32>, i64
        %cosine = hopper.load_pair %states[%i] if %yes else 1.0 : !hopper.pointer<f32>, i64
        // CHECK: %[[BYTES:.*]] = hopper.round_pair %[[COS]] to f8E4M3FN
        %bytes = hopper.round_pair %cosine to f8E4M3FN
        // CHECK: hopper.store_pair %[[BYTES]], %{{.*}}[%{{.*}}] if %{{.*}} : <f8E4M3FN>, i64
        hopper.store_pair %bytes, %eighths[%i] if %yes : !hopper.pointer<f8E4M3FN>, i64
        // CHECK: hopper.put_pair %{{.*}}, %[[K]][%{{.*}}] of %[[WARP]] row %{{.*}} column %{{.*}} if %{{.*}} : <3 x
        hopper.put_pair %q0, %k[%n] of %warp row %n column %n if %yes : !keys
        // CHECK: hopper.fence_shared if %{{.*}}
        hopper.fence_shared if %yes
        // CHECK: hopper.fence_shared{{$}}
        hopper.fence_shared
        %q = vector.from_elements %q0, %q1 : vector<2xi32>
        %zero = arith.constant dense<0.0> : vector<4xf32>
        // CHECK: %[[S:.*]] = hopper.contract_block %[[A]], %{{.*}} into %{{.*}} of bf16
        %s = hopper.contract_block %a, %q into %zero of bf16
        // CHECK: hopper.contract_block %[[B]], %{{.*}} into %[[S]] of f16
        %t = hopper.contract_block %b, %q into %s of f16
        %first = vector.extract %t[0] : f32 from vector<4xf32>
        %second = vector.extract %t[1] : f32 from vector<4xf32>
        %row = vector.from_elements %first, %second : vector<2xf32>
        // CHECK: %[[MAX:.*]] = hopper.column_reduce max %
        %max = hopper.column_reduce max %row
        // CHECK: hopper.column_reduce sum %[[MAX]]
        %sum = hopper.column_reduce sum %max
        // CHECK: %[[PAIR:.*]] = hopper.round_pair %{{.*}} to bf16
        %pair = hopper.round_pair %sum to bf16
        // CHECK: %[[TURNED:.*]] = hopper.transpose_pairs %[[PAIR]]
        %turned = hopper.transpose_pairs %pair
        // CHECK: hopper.store_pair %[[TURNED]], %{{.*}}[%{{.*}}] if %{{.*}} : <bf16>, i64
        hopper.store_pair %turned, %halves[%i] if %yes : !hopper.pointer<bf16>, i64
        // CHECK: hopper.store_pair %[[TURNED]], %{{.*}}[%{{.*}}] if %{{.*}} : <f16>{{$}}
        hopper.store_pair %turned, %floats[%n] if %yes : !hopper.pointer<f16>
        // CHECK: hopper.store_words %{{.*}}, %[[W]][%{{.*}}] : vector<4xf32>, <1024>
        hopper.store_words %t, %w[%n] : vector<4xf32>, !words
        // CHECK: hopper.store_words %{{.*}}, %[[W]][%{{.*}}] : i32, <1024>
        hopper.store_words %n, %w[%n] : i32, !words
        // CHECK: hopper.load_words %[[W]][%{{.*}}] : <1024> -> vector<2xi32>
        %note = hopper.load_words %w[%n] : !words -> vector<2xi32>
        // CHECK: hopper.load_words %[[W]][%{{.*}}] : <1024> -> f32
        %x = hopper.load_words %w[%n] : !words -> f32
        // CHECK: %[[E:.*]] = hopper.approx ex2 %{{.*}} : f32
        %e = hopper.approx ex2 %x : f32
        // CHECK: hopper.hand_over %{{.*}}, %{{.*}} to %{{.*}}[%{{.*}}] : <f32>
        hopper.hand_over %s, %t to %states[%n] : !hopper.pointer<f32>
        // CHECK: %{{.*}}:4 = hopper.collect 2 packets from %{{.*}}[%{{.*}}] stride 4160 below %{{.*}} : <f32> -> vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
        %c:4 = hopper.collect 2 packets from %states[%n] stride 4160 below %n
          : !hopper.pointer<f32> -> vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
      }
    }
    hopper.return
  }
}
