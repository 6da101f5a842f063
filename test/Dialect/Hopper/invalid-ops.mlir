// A negative test for each numbered constraint of the ops in a role.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// fill C1
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 64, 2], bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects 3 coordinates, got 2}}
  hopper.fill %r[%i] from %m[%i, %i] : !hopper.ring<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 64, 2], bf16>
  return
}

// -----

// fill C2
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 64, 2], f16>, %i: i32) {
  // expected-error@+1 {{C2: expects a map of 'bf16', got '!hopper.tensor_map<box[64, 64, 2], f16>'}}
  hopper.fill %r[%i] from %m[%i, %i, %i] : !hopper.ring<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 64, 2], f16>
  return
}

// -----

// fill C3
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 32, 2], bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects a box of the tile's 16384 bytes, got 8192}}
  hopper.fill %r[%i] from %m[%i, %i, %i] : !hopper.ring<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 32, 2], bf16>
  return
}

// -----

// fill C3
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 32, 2], bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects a ring of order octets where a row is given, got '!hopper.ring<2 x 64 x 128, bf16>'}}
  hopper.fill %r[%i] row %i from %m[%i, %i, %i] : !hopper.ring<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 32, 2], bf16>
  return
}

// -----

// fill C3
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16 order octets>, %m: !hopper.tensor_map<box[64, 2, 4], bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects a box of a multiple of 2048 bytes, at most 16384, got 1024}}
  hopper.fill %r[%i] row %i from %m[%i, %i, %i] : !hopper.ring<2 x 64 x 128, bf16 order octets>, !hopper.tensor_map<box[64, 2, 4], bf16>
  return
}

// -----

// release C1
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %p: !hopper.fragment<64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects an f32 fragment of at least 34 columns, got '!hopper.fragment<64 x 128, bf16>'}}
  hopper.release %r[%i] after %p : !hopper.ring<2 x 64 x 128, bf16>, !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// write_note C1
func.func @f(%r: !hopper.ring<1 x 64 x 128, bf16 note 4>, %i: i32) {
  // expected-error@+1 {{C1: expects the 4 words of the ring's note, got 2}}
  hopper.write_note %r[%i], %i, %i : !hopper.ring<1 x 64 x 128, bf16 note 4>
  return
}

// -----

// read_note C1
func.func @f(%r: !hopper.ring<1 x 64 x 128, bf16 note 4>, %i: i32) {
  // expected-error@+1 {{C1: expects the 4 words of the ring's note, got 1}}
  %w = hopper.read_note %r[%i] : !hopper.ring<1 x 64 x 128, bf16 note 4> -> i32
  return
}

// -----

// store_fragment C1
func.func @f(%h: !hopper.fragment<64 x 128, bf16>, %o: !hopper.shared<2 x 128 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a tile of order panels with the fragment's rows, columns and elements, got '!hopper.fragment<64 x 128, bf16>' into '!hopper.shared<2 x 128 x 128, bf16>'}}
  hopper.store_fragment %h, %o[%i] : !hopper.fragment<64 x 128, bf16>, !hopper.shared<2 x 128 x 128, bf16>
  return
}

// -----

// store_fragment C2
func.func @f(%h: !hopper.fragment<64 x 128, f32>, %o: !hopper.shared<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C2: expects a fragment of bf16 or f16, got '!hopper.fragment<64 x 128, f32>'}}
  hopper.store_fragment %h, %o[%i] : !hopper.fragment<64 x 128, f32>, !hopper.shared<2 x 64 x 128, bf16>
  return
}

// -----

// store_tile C1
func.func @f(%o: !hopper.shared<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 64, 2], bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects 3 coordinates, got 1}}
  hopper.store_tile %o[%i] to %m[%i] : !hopper.shared<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 64, 2], bf16>
  return
}

// -----

// store_tile C2
func.func @f(%o: !hopper.shared<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 64, 2], f16>, %i: i32) {
  // expected-error@+1 {{C2: expects a map of 'bf16', got '!hopper.tensor_map<box[64, 64, 2], f16>'}}
  hopper.store_tile %o[%i] to %m[%i, %i, %i] : !hopper.shared<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 64, 2], f16>
  return
}

// -----

// store_tile C3
func.func @f(%o: !hopper.shared<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 32, 2], bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects a tile of order panels and a box of its 16384 bytes, got '!hopper.shared<2 x 64 x 128, bf16>' and 8192 bytes}}
  hopper.store_tile %o[%i] to %m[%i, %i, %i] : !hopper.shared<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 32, 2], bf16>
  return
}

// -----

// barrier_sync C1
func.func @f(%b: i32) {
  // expected-error@+1 {{C1: expects threads to be a multiple of 32 from 32 to 1024, got 100}}
  hopper.barrier_sync %b threads 100
  return
}

// -----

// barrier_sync C2
func.func @f() {
  %b = arith.constant 0 : i32
  // expected-error@+1 {{C2: expects a barrier from 1 to 15, got 0}}
  hopper.barrier_sync %b threads 128
  return
}

// -----

// barrier_arrive C1
func.func @f(%b: i32) {
  // expected-error@+1 {{C1: expects threads to be a multiple of 32 from 32 to 1024, got 2048}}
  hopper.barrier_arrive %b threads 2048
  return
}

// -----

// barrier_arrive C2
func.func @f() {
  %b = arith.constant 16 : i32
  // expected-error@+1 {{C2: expects a barrier from 1 to 15, got 16}}
  hopper.barrier_arrive %b threads 128
  return
}

// -----

// zero C1
func.func @f() {
  // expected-error@+1 {{C1: expects a fragment of f32, got '!hopper.fragment<64 x 128, bf16>'}}
  %z = hopper.zero : !hopper.fragment<64 x 128, bf16>
  return
}

// -----

// load_fragment C1
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a tile of a multiple of 64 rows with the fragment's columns and elements, got '!hopper.ring<2 x 64 x 128, bf16>' -> '!hopper.fragment<64 x 64, bf16>'}}
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

// -----

// store_rows C1
func.func @f(%v: vector<2xf32>, %p: !hopper.pointer<i32>, %i: i32, %r: vector<2xi32>) {
  // expected-error@+1 {{C1: expects a pointer to f32, got '!hopper.pointer<i32>'}}
  hopper.store_rows %v, %p[%i] rows %r below %i : !hopper.pointer<i32>
  return
}
