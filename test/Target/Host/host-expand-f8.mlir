// Conversions of f8E4M3FN are integer arithmetic; those of other types stay. Every byte and every tie is tried by running:
// python/tests/test_f8.py.
// RUN: pagefold-opt %s --host-expand-f8 | FileCheck %s

// CHECK-LABEL: func.func @extended
// CHECK-NOT: arith.extf
// CHECK: %[[BYTE:.*]] = arith.bitcast %{{.*}} : vector<16xf8E4M3FN> to vector<16xi8>
// CHECK: arith.extui %[[BYTE]] : vector<16xi8> to vector<16xi32>
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK-NOT: arith.extf
// CHECK: return
func.func @extended(%x: vector<16xf8E4M3FN>) -> vector<16xf32> {
  %y = arith.extf %x : vector<16xf8E4M3FN> to vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: func.func @truncated
// CHECK-NOT: arith.truncf
// CHECK: arith.minui {{.*}} : i32
// CHECK: arith.bitcast %{{.*}} : i8 to f8E4M3FN
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @truncated(%x: f32) -> f8E4M3FN {
  %y = arith.truncf %x : f32 to f8E4M3FN
  return %y : f8E4M3FN
}

// CHECK-LABEL: func.func @others
// CHECK: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: arith.truncf %{{.*}} : f32 to f8E5M2
func.func @others(%x: vector<8xbf16>, %y: f32) -> (vector<8xf32>, f8E5M2) {
  %z = arith.extf %x : vector<8xbf16> to vector<8xf32>
  %t = arith.truncf %y : f32 to f8E5M2
  return %z, %t : vector<8xf32>, f8E5M2
}
