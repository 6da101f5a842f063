// Functions without an instruction become arithmetic on vectors; those with one stay.
// RUN: pagefold-opt %s --host-expand-math | FileCheck %s

// CHECK-LABEL: func.func @expanded
// CHECK-NOT: math.{{exp|log|tanh|sin|cos|erf}}
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK-NOT: math.{{exp|log|tanh|sin|cos|erf}}
// CHECK: return
func.func @expanded(%x: vector<16xf32>) -> vector<16xf32> {
  %a = math.exp %x : vector<16xf32>
  %b = math.log %a : vector<16xf32>
  %c = math.tanh %b : vector<16xf32>
  %d = math.sin %c : vector<16xf32>
  %e = math.cos %d : vector<16xf32>
  %f = math.erf %e : vector<16xf32>
  %g = math.exp2 %f : vector<16xf32>
  %h = math.log2 %g : vector<16xf32>
  return %h : vector<16xf32>
}

// CHECK-LABEL: func.func @scalars
// CHECK-NOT: math.log
// CHECK: return
func.func @scalars(%x: f32) -> f32 {
  %a = math.log %x : f32
  return %a : f32
}

// CHECK-LABEL: func.func @instructions
// CHECK: math.sqrt
// CHECK: math.rsqrt
// CHECK: math.fma
// CHECK: math.floor
// CHECK: math.absf
func.func @instructions(%x: vector<16xf32>) -> vector<16xf32> {
  %a = math.sqrt %x : vector<16xf32>
  %b = math.rsqrt %a : vector<16xf32>
  %c = math.fma %a, %b, %x : vector<16xf32>
  %d = math.floor %c : vector<16xf32>
  %e = math.absf %d : vector<16xf32>
  return %e : vector<16xf32>
}
