// A negative test for each numbered constraint of rings, tiles and barriers.
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

// fill C4
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 32, 2], bf16>, %i: i32) {
  // expected-error@+1 {{C4: expects a ring of order octets, or of one panel, where a row and no panel is given, got '!hopper.ring<2 x 64 x 128, bf16>'}}
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

// fill C3
func.func @f(%r: !hopper.ring<2 x 64 x 96, bf16>, %m: !hopper.tensor_map<box[64, 32], bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects a box of the panel's 8192 bytes, got 4096}}
  hopper.fill %r[%i] panel 1 from %m[%i, %i] : !hopper.ring<2 x 64 x 96, bf16>, !hopper.tensor_map<box[64, 32], bf16>
  return
}

// -----

// fill C3
func.func @f(%r: !hopper.ring<2 x 64 x 96, bf16>, %m: !hopper.tensor_map<box[64, 4], bf16>, %i: i32) {
  // expected-error@+1 {{C3: expects a box of a multiple of 1024 bytes, at most 8192, got 512}}
  hopper.fill %r[%i] panel 1 row %i from %m[%i, %i] : !hopper.ring<2 x 64 x 96, bf16>, !hopper.tensor_map<box[64, 4], bf16>
  return
}

// -----

// fill C5
func.func @f(%r: !hopper.ring<2 x 64 x 96, bf16>, %m: !hopper.tensor_map<box[64, 64], bf16>, %i: i32) {
  // expected-error@+1 {{C5: expects a panel from 0 to 1 of a tile of order panels, got 2 of '!hopper.ring<2 x 64 x 96, bf16>'}}
  hopper.fill %r[%i] panel 2 from %m[%i, %i] : !hopper.ring<2 x 64 x 96, bf16>, !hopper.tensor_map<box[64, 64], bf16>
  return
}

// -----

// fill C5
func.func @f(%r: !hopper.ring<2 x 64 x 96, bf16 order octets>, %m: !hopper.tensor_map<box[64, 64], bf16>, %i: i32) {
  // expected-error@+1 {{C5: expects a panel from 0 to 1 of a tile of order panels, got 0 of '!hopper.ring<2 x 64 x 96, bf16 order octets>'}}
  hopper.fill %r[%i] panel 0 from %m[%i, %i] : !hopper.ring<2 x 64 x 96, bf16 order octets>, !hopper.tensor_map<box[64, 64], bf16>
  return
}

// -----

// clear_rows C1
func.func @f(%r: !hopper.ring<2 x 64 x 96, bf16>, %i: i32) {
  %b = arith.constant 0 : i32
  // expected-error@+1 {{C1: expects a barrier from 1 to 15, got 0}}
  hopper.clear_rows %r[%i] from %i barrier %b : !hopper.ring<2 x 64 x 96, bf16>
  return
}

// -----

// gather C1
func.func @f(%r: !hopper.ring<2 x 64 x 96, bf16>, %i: i32, %p: !hopper.pointer<f16>, %c: i1) {
  // expected-error@+1 {{C1: expects a pointer to 'bf16', got '!hopper.pointer<f16>'}}
  hopper.gather %r[%i] row %i unit %i from %p[%i] if %c : !hopper.ring<2 x 64 x 96, bf16>, !hopper.pointer<f16>
  return
}

// -----

// release C1
func.func @f(%r: !hopper.ring<2 x 64 x 128, bf16>, %p: !hopper.fragment<64 x 128, bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects an f32 fragment of at least 38 columns, got '!hopper.fragment<64 x 128, bf16>'}}
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
  // expected-error@+1 {{C3: expects a tile of order panels and a box of 16384 bytes, got '!hopper.shared<2 x 64 x 128, bf16>' and 8192 bytes}}
  hopper.store_tile %o[%i] to %m[%i, %i, %i] : !hopper.shared<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 32, 2], bf16>
  return
}

// -----

// store_tile C4
func.func @f(%o: !hopper.shared<2 x 64 x 128, bf16>, %m: !hopper.tensor_map<box[64, 64], bf16>, %i: i32) {
  // expected-error@+1 {{C4: expects a panel from 0 to 1 of a tile of order panels, got -1 of '!hopper.shared<2 x 64 x 128, bf16>'}}
  hopper.store_tile %o[%i] panel -1 to %m[%i, %i] : !hopper.shared<2 x 64 x 128, bf16>, !hopper.tensor_map<box[64, 64], bf16>
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
