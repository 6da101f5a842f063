// A negative test for each numbered constraint of products of a warp, pairs and packets.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// load_block C1
func.func @f(%r: !hopper.ring<3 x 32 x 128, bf16 warps 8>, %i: i32) {
  // expected-error@+1 {{C1: expects 16 rows from a multiple of 16 on, got row 32 of '!hopper.ring<3 x 32 x 128, bf16 warps 8>'}}
  %a = hopper.load_block %r[%i] of %i row 32 column 0 : !hopper.ring<3 x 32 x 128, bf16 warps 8>
  return
}

// -----

// load_block C1
func.func @f(%r: !hopper.ring<3 x 32 x 128, bf16 order octets warps 8>, %i: i32) {
  // expected-error@+1 {{C1: expects 16 rows from a multiple of 16 on, got row 8 of '!hopper.ring<3 x 32 x 128, bf16 order octets warps 8>'}}
  %a = hopper.load_block %r[%i] of %i row 8 column 0 : !hopper.ring<3 x 32 x 128, bf16 order octets warps 8>
  return
}

// -----

// load_block C2
func.func @f(%r: !hopper.ring<3 x 16 x 128, bf16 warps 8>, %i: i32) {
  // expected-error@+1 {{C2: expects a column that is a multiple of 16 below 128, got 8}}
  %a = hopper.load_block %r[%i] of %i row 0 column 8 : !hopper.ring<3 x 16 x 128, bf16 warps 8>
  return
}

// -----

// load_block C2: the depth of 72 columns is 80
func.func @f(%r: !hopper.ring<3 x 16 x 72, bf16 warps 8>, %i: i32) {
  // expected-error@+1 {{C2: expects a column that is a multiple of 16 below 80, got 80}}
  %a = hopper.load_block %r[%i] of %i row 0 column 80 : !hopper.ring<3 x 16 x 72, bf16 warps 8>
  return
}

// -----

// load_block C2
func.func @f(%r: !hopper.ring<3 x 16 x 128, bf16 warps 8>, %i: i32) {
  // expected-error@+1 {{C2: expects a column that is a multiple of 16 below 128, got -16}}
  %a = hopper.load_block %r[%i] of %i row 0 column -16 : !hopper.ring<3 x 16 x 128, bf16 warps 8>
  return
}

// -----

// contract_block C1
func.func @f(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error@+1 {{C1: expects elements of bf16 or f16, got 'f32'}}
  %d = hopper.contract_block %a, %b into %c of f32
  return
}

// -----

// round_pair C1
func.func @f(%x: vector<2xf32>) {
  // expected-error@+1 {{C1: expects elements of bf16, f16 or f8E4M3FN, got 'i16'}}
  %h = hopper.round_pair %x to i16
  return
}

// -----

// load_pair C1
func.func @f(%p: !hopper.pointer<i32>, %i: i32, %c: i1) {
  // expected-error@+1 {{C1: expects a pointer to bf16, f16 or f32, got 'i32'}}
  %x = hopper.load_pair %p[%i] if %c : !hopper.pointer<i32>
  return
}

// -----

// load_pair C2
func.func @f(%p: !hopper.pointer<bf16>, %i: i32, %c: i1) {
  // expected-error@+1 {{C2: expects zeros in place of 'bf16', got 1.000000e+00 : f32}}
  %x = hopper.load_pair %p[%i] if %c else 1.0 : !hopper.pointer<bf16>
  return
}

// -----

// store_pair C1
func.func @f(%x: i32, %p: !hopper.pointer<i8>, %i: i32, %c: i1) {
  // expected-error@+1 {{C1: expects a pointer to bf16, f16 or f8E4M3FN, got 'i8'}}
  hopper.store_pair %x, %p[%i] if %c : !hopper.pointer<i8>
  return
}

// -----

// hand_over C1
func.func @f(%x: vector<4xf32>, %p: !hopper.pointer<bf16>, %i: i32) {
  // expected-error@+1 {{C1: expects a pointer to f32, got '!hopper.pointer<bf16>'}}
  hopper.hand_over %x to %p[%i] : !hopper.pointer<bf16>
  return
}

// -----

// hand_over C2
func.func @f(%x: vector<4xf32>, %p: !hopper.pointer<f32>, %i: i32) {
  // expected-error@+1 {{C2: expects from 1 to 32 vectors, got 33}}
  hopper.hand_over %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x to %p[%i] : !hopper.pointer<f32>
  return
}

// -----

// collect C1
func.func @f(%p: !hopper.pointer<i32>, %i: i32) {
  // expected-error@+1 {{C1: expects a pointer to f32, got '!hopper.pointer<i32>'}}
  %x = hopper.collect 1 packets from %p[%i] stride 4 below %i : !hopper.pointer<i32> -> vector<4xf32>
  return
}

// -----

// collect C2
func.func @f(%p: !hopper.pointer<f32>, %i: i32) {
  // expected-error@+1 {{C2: expects from 1 to 32 vectors, as many for each packet, got 3 for 2 packets}}
  %x:3 = hopper.collect 2 packets from %p[%i] stride 4 below %i
    : !hopper.pointer<f32> -> vector<4xf32>, vector<4xf32>, vector<4xf32>
  return
}

// -----

// collect C2
func.func @f(%p: !hopper.pointer<f32>, %i: i32) {
  // expected-error@+1 {{C2: expects from 1 to 32 vectors, as many for each packet, got 1 for 0 packets}}
  %x = hopper.collect 0 packets from %p[%i] stride 4 below %i : !hopper.pointer<f32> -> vector<4xf32>
  return
}

// -----

// collect C2
func.func @f(%p: !hopper.pointer<f32>, %i: i32) {
  // expected-error@+1 {{C2: expects from 1 to 32 vectors, as many for each packet, got 33 for 33 packets}}
  %x:33 = "hopper.collect"(%p, %i, %i) {packets = 33 : i64, stride = 4 : i64} : (!hopper.pointer<f32>, i32, i32)
    -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
  return
}

// -----

// collect C3
func.func @f(%p: !hopper.pointer<f32>, %i: i32) {
  // expected-error@+1 {{C3: expects a stride that is a multiple of 4, at least 4, got 102}}
  %x:2 = hopper.collect 2 packets from %p[%i] stride 102 below %i : !hopper.pointer<f32> -> vector<4xf32>, vector<4xf32>
  return
}

// -----

// collect C3
func.func @f(%p: !hopper.pointer<f32>, %i: i32) {
  // expected-error@+1 {{C3: expects a stride that is a multiple of 4, at least 8, got 4}}
  %x:4 = hopper.collect 2 packets from %p[%i] stride 4 below %i
    : !hopper.pointer<f32> -> vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
  return
}

// -----

// Words are of 32 bits, one, two or four.
func.func @f(%w: !hopper.words<64>, %i: i32) {
  // expected-error@+1 {{op result #0 must be}}
  %x = hopper.load_words %w[%i] : !hopper.words<64> -> vector<3xf32>
  return
}

// -----

func.func @f(%x: i64, %w: !hopper.words<64>, %i: i32) {
  // expected-error@+1 {{op operand #0 must be}}
  hopper.store_words %x, %w[%i] : i64, !hopper.words<64>
  return
}

// -----

// widen_block C1
func.func @f(%x: vector<4xi32>) {
  // expected-error@+1 {{C1: expects part 0 or 1, got 2}}
  %a = hopper.widen_block %x part 2
  return
}
