// Each op of the white list of score and epilogue regions, once. A new row of RegionOps.cpp is not complete
// before it stands here and in docs/howto/add-an-epilogue-op.md.
// RUN: pagefold-opt %s --verify-roundtrip
// RUN: %python %source/scripts/docs/check-region-ops

!q = tensor<?x8x128xbf16>
func.func @each(%q: !q, %rows: tensor<?xi32>) -> !q {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 score(%s, %qi, %k, %h, %b) {
    %p = arith.constant true
    %f0 = arith.addf %s, %s : f32
    %f1 = arith.subf %s, %f0 : f32
    %f2 = arith.mulf %s, %f1 : f32
    %f3 = arith.divf %s, %f2 : f32
    %f4 = arith.negf %f3 : f32
    %f5 = arith.maximumf %s, %f4 : f32
    %f6 = arith.minimumf %s, %f5 : f32
    %f7 = arith.maxnumf %s, %f6 : f32
    %f8 = arith.minnumf %s, %f7 : f32
    %f9 = arith.truncf %f8 : f32 to bf16
    %f10 = arith.extf %f9 : bf16 to f32
    %f11 = arith.sitofp %k : i32 to f32
    %i0 = arith.addi %k, %h : i32
    %i1 = arith.subi %i0, %b : i32
    %i2 = arith.muli %i1, %i0 : i32
    %i3 = arith.divsi %i2, %h : i32
    %i4 = arith.remsi %i3, %h : i32
    %i5 = arith.maxsi %i4, %h : i32
    %i6 = arith.minsi %i5, %h : i32
    %i7 = arith.andi %i6, %h : i32
    %i8 = arith.ori %i7, %h : i32
    %i9 = arith.xori %i8, %h : i32
    %i10 = arith.shli %i9, %h : i32
    %i11 = arith.shrsi %i10, %h : i32
    %i12 = arith.fptosi %s : f32 to i32
    %i13 = arith.extui %p : i1 to i32
    %p0 = arith.cmpf olt, %s, %f11 : f32
    %p1 = arith.cmpi slt, %i11, %i12 : i32
    %p2 = arith.andi %p0, %p1 : i1
    %g0 = arith.select %p2, %s, %f10 : f32
    %g1 = math.absf %g0 : f32
    %g2 = math.ceil %g1 : f32
    %g3 = math.cos %g2 : f32
    %g4 = math.erf %g3 : f32
    %g5 = math.exp %g4 : f32
    %g6 = math.exp2 %g5 : f32
    %g7 = math.floor %g6 : f32
    %g8 = math.fma %g7, %s, %s : f32
    %g9 = math.log %g8 : f32
    %g10 = math.log2 %g9 : f32
    %g11 = math.rsqrt %g10 : f32
    %g12 = math.sin %g11 : f32
    %g13 = math.sqrt %g12 : f32
    %g14 = math.tanh %g13 : f32
    attn.yield %g14 : f32
  } : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}
