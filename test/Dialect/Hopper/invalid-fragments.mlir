// A negative test for each numbered constraint of products and fragments.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// zero C1
func.func @f() {
  // expected-error@+1 {{C1: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %z = hopper.zero : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// load_fragment C1
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a tile of a multiple of 64 rows with the fragment's elements and columns (the tile's, up to the next multiple of 16), got '!hopper.ring<2 x 64 x 128, bf16>' -> '!hopper.fragment<64 x 64, bf16>'}}
  %q = hopper.load_fragment %r[%i] row %i : !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 64, bf16>
  return
}

// -----

// load_fragment C2
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16 order octets>, %i: i32) {
  // expected-error@+1 {{C2: expects a tile of order panels, got '!hopper.ring<2 x 64 x 128, bf16 order octets>'}}
  %q = hopper.load_fragment %r[%i] row %i : !hopper.ring<2 x 64 x 128, bf16 order octets> -> !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// contract C1
func.func @f(%a: !hopper.fragment<64 x 64, bf16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a right operand of depth 64, got 128}}
  %s = hopper.contract %a, %r[%i] transposed : !hopper.fragment<64 x 64, bf16>, !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 64, f32>
  return
}

// -----

// contract C1: the columns of a tile count up to the next multiple of 16
func.func @f(%a: !hopper.fragment<64 x 72, bf16>, %r: !hopper.ring<2 x 64 x 72, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a right operand of depth 72, got 80}}
  %s = hopper.contract %a, %r[%i] transposed : !hopper.fragment<64 x 72, bf16>, !hopper.ring<2 x 64 x 72, bf16> -> !hopper.fragment<64 x 64, f32>
  return
}

// -----

// contract C1
func.func @f(%a: !hopper.fragment<64 x 24, bf16>, %r: !hopper.ring<2 x 24 x 64, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a depth that is a multiple of 16, got 24}}
  %s = hopper.contract %a, %r[%i] : !hopper.fragment<64 x 24, bf16>, !hopper.ring<2 x 24 x 64, bf16> -> !hopper.fragment<64 x 64, f32>
  return
}

// -----

// contract C2
func.func @f(%a: !hopper.fragment<64 x 128, bf16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C2: expects a result of 64 columns, got 128}}
  %s = hopper.contract %a, %r[%i] transposed : !hopper.fragment<64 x 128, bf16>, !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
  return
}

// -----

// contract C2
func.func @f(%a: !hopper.fragment<64 x 128, bf16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32, %acc: !hopper.fragment<64 x 128, f32>) {
  // expected-error@+1 {{C2: expects an accumulator of '!hopper.fragment<64 x 64, f32>', got '!hopper.fragment<64 x 128, f32>'}}
  %s = "hopper.contract"(%a, %r, %i, %acc) {transposed} : (!hopper.fragment<64 x 128, bf16>, !hopper.ring<2 x 64 x 128, bf16>, i32, !hopper.fragment<64 x 128, f32>) -> !hopper.fragment<64 x 64, f32>
  return
}

// -----

// contract C3
func.func @f(%a: !hopper.fragment<64 x 128, f16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects equal elements of left and right and a result of f32, got 'f16' x 'bf16' -> 'f32'}}
  %s = hopper.contract %a, %r[%i] transposed : !hopper.fragment<64 x 128, f16>, !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 64, f32>
  return
}

// -----

// contract_shared C1
func.func @f(%a: !hopper.ring<2 x 64 x 128, bf16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a right operand of depth 128, got 64}}
  %s = hopper.contract_shared %a[%i] row %i, %r[%i] : !hopper.ring<2 x 64 x 128, bf16>, !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
  return
}

// -----

// contract_shared C2
func.func @f(%a: !hopper.ring<2 x 64 x 128, bf16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C2: expects a result of 64 columns, got 128}}
  %s = hopper.contract_shared %a[%i] row %i, %r[%i] transposed : !hopper.ring<2 x 64 x 128, bf16>, !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
  return
}

// -----

// contract_shared C3
func.func @f(%a: !hopper.ring<2 x 64 x 128, bf16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects equal elements of left and right and a result of f32, got 'bf16' x 'bf16' -> 'bf16'}}
  %s = hopper.contract_shared %a[%i] row %i, %r[%i] transposed : !hopper.ring<2 x 64 x 128, bf16>, !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 64, bf16>
  return
}

// -----

// contract_shared C4
func.func @f(%a: !hopper.ring<2 x 96 x 128, bf16>, %r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C4: expects a left tile of a multiple of 64 rows, got 96}}
  %s = hopper.contract_shared %a[%i] row %i, %r[%i] transposed : !hopper.ring<2 x 96 x 128, bf16>, !hopper.ring<2 x 64 x 128, bf16> -> !hopper.fragment<64 x 64, f32>
  return
}

// -----

// wait_contracts C1
func.func @f(%a: !hopper.fragment<64 x 128, f32>) {
  // expected-error@+1 {{C1: expects from 0 to 7 pending products, got 8}}
  %s = hopper.wait_contracts %a pending 8 : !hopper.fragment<64 x 128, f32>
  return
}

// -----

// wait_contracts C2
func.func @f(%a: !hopper.fragment<64 x 128, bf16>) {
  // expected-error@+1 {{C2: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %s = hopper.wait_contracts %a pending 0 : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// row_reduce C1
func.func @f(%a: !hopper.fragment<64 x 128, bf16>) {
  // expected-error@+1 {{C1: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %s = hopper.row_reduce max %a : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// exp2 C1
func.func @f(%a: !hopper.fragment<64 x 128, bf16>, %c: f32, %v: vector<2xf32>) {
  // expected-error@+1 {{C1: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %s = hopper.exp2 %a scale %c offset %v : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// mask C1
func.func @f(%a: !hopper.fragment<64 x 128, bf16>, %v: vector<2xi32>) {
  // expected-error@+1 {{C1: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %s = hopper.mask %a below %v : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// mask C2
func.func @f(%a: !hopper.fragment<64 x 128, f32>) {
  // expected-error@+1 {{C2: expects a limit, from or below}}
  %s = hopper.mask %a : !hopper.fragment<64 x 128, f32>
  return
}

// -----

// map C1
func.func @f(%a: !hopper.fragment<64 x 128, bf16>) {
  // expected-error@+1 {{C1: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %s = hopper.map %a {
  ^bb0(%x: f32, %column: i32):
    hopper.yield %x : f32
  } : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// map C2
func.func @f(%a: !hopper.fragment<64 x 128, f32>, %v: vector<4xf32>) {
  // expected-error@+1 {{C2: expects a vector of two elements for each value of rows, got 'vector<4xf32>'}}
  %s = hopper.map %a rows(%v : vector<4xf32>) {
  ^bb0(%x: f32, %row: f32, %column: i32):
    hopper.yield %x : f32
  } : !hopper.fragment<64 x 128, f32>
  return
}

// -----

// map C2
func.func @f(%a: !hopper.fragment<64 x 128, f32>, %v: vector<2xi32>) {
  // expected-error@+1 {{C2: expects a region that takes ('f32', 'i32', 'i32'), got ('f32', 'f32', 'i32')}}
  %s = hopper.map %a rows(%v : vector<2xi32>) {
  ^bb0(%x: f32, %row: f32, %column: i32):
    hopper.yield %x : f32
  } : !hopper.fragment<64 x 128, f32>
  return
}

// -----

// map C3
func.func @f(%a: !hopper.fragment<64 x 128, f32>) {
  // expected-error@+1 {{C3: expects a region that yields f32}}
  %s = hopper.map %a {
  ^bb0(%x: f32, %column: i32):
    hopper.yield %column : i32
  } : !hopper.fragment<64 x 128, f32>
  return
}

// -----

// map C4
func.func @f(%a: !hopper.fragment<64 x 128, f32>) {
  %s = hopper.map %a {
  ^bb0(%x: f32, %column: i32):
    // expected-error@+1 {{C4: expects an op of arith or math, or hopper.load, over scalars in a hopper.map}}
    %lane = hopper.lane
    hopper.yield %x : f32
  } : !hopper.fragment<64 x 128, f32>
  return
}

// -----

// map C4
func.func @f(%a: !hopper.fragment<64 x 128, f32>, %v: vector<2xf32>) {
  %s = hopper.map %a {
  ^bb0(%x: f32, %column: i32):
    // expected-error@+1 {{C4: expects an op of arith or math, or hopper.load, over scalars in a hopper.map}}
    %sum = arith.addf %v, %v : vector<2xf32>
    hopper.yield %x : f32
  } : !hopper.fragment<64 x 128, f32>
  return
}

// -----

// scale_rows C1
func.func @f(%a: !hopper.fragment<64 x 128, bf16>, %v: vector<2xf32>) {
  // expected-error@+1 {{C1: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %s = hopper.scale_rows %a by %v : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// convert C1
func.func @f(%a: !hopper.fragment<64 x 128, f32>) {
  // expected-error@+1 {{C1: expects f32 to bf16 or f16 with the same columns, got '!hopper.fragment<64 x 128, f32>' -> '!hopper.fragment<64 x 64, bf16>'}}
  %s = hopper.convert %a : !hopper.fragment<64 x 128, f32> -> !hopper.fragment<64 x 64, bf16>
  return
}
