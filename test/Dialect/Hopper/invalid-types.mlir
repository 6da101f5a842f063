// A negative test for each numbered constraint of the types.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// shared C1
// expected-error@+1 {{C1: expects from 1 to 16 tiles, got 17}}
func.func private @f(!hopper.shared<17 x 64 x 128, bf16>)

// -----

// shared C2
// expected-error@+1 {{C2: expects rows to be a multiple of 8 from 8 to 256, got 60}}
func.func private @f(!hopper.shared<1 x 60 x 128, bf16>)

// -----

// shared C3
// expected-error@+1 {{C3: expects columns to be a multiple of 8 from 8 to 256, got 100}}
func.func private @f(!hopper.shared<1 x 64 x 100, bf16>)

// -----

// shared C4
// expected-error@+1 {{C4: expects bf16 or f16 elements, got 'f32'}}
func.func private @f(!hopper.shared<1 x 64 x 128, f32>)

// -----

// ring C1
// expected-error@+1 {{C1: expects the number of stages to be from 1 to 16, got 17}}
func.func private @f(!hopper.ring<17 x 64 x 128, bf16>)

// -----

// ring C2
// expected-error@+1 {{C2: expects rows to be a multiple of 8 from 8 to 256, got 264}}
func.func private @f(!hopper.ring<2 x 264 x 128, bf16>)

// -----

// ring C3
// expected-error@+1 {{C3: expects columns to be a multiple of 8 from 8 to 256, got 320}}
func.func private @f(!hopper.ring<2 x 64 x 320, bf16>)

// -----

// ring C4
// expected-error@+1 {{C4: expects bf16 or f16 elements, got 'i8'}}
func.func private @f(!hopper.ring<2 x 64 x 128, i8>)

// -----

// ring C5
// expected-error@+1 {{C5: expects a note of a multiple of 4 words up to 32, got 5}}
func.func private @f(!hopper.ring<2 x 64 x 128, bf16 note 5>)

// -----

// ring C6
// expected-error@+1 {{C6: expects a ring of 1 to 32 warps to have no note, got 33 warps and 0 words}}
func.func private @f(!hopper.ring<2 x 16 x 128, bf16 warps 33>)

// -----

// ring C6
// expected-error@+1 {{C6: expects a ring of 1 to 32 warps to have no note, got 8 warps and 4 words}}
func.func private @f(!hopper.ring<2 x 16 x 128, bf16 note 4 warps 8>)

// -----

// words C1
// expected-error@+1 {{C1: expects a multiple of 4 words, at least 4, got 6}}
func.func private @f(!hopper.words<6>)

// -----

// words C1
// expected-error@+1 {{C1: expects a multiple of 4 words, at least 4, got 0}}
func.func private @f(!hopper.words<0>)

// -----

// fragment C1
// expected-error@+1 {{C1: expects 64 rows, got 128}}
func.func private @f(!hopper.fragment<128 x 128, f32>)

// -----

// fragment C2
// expected-error@+1 {{C2: expects columns to be a multiple of 8 from 8 to 256, got 260}}
func.func private @f(!hopper.fragment<64 x 260, f32>)

// -----

// fragment C2
// expected-error@+1 {{C2: expects columns to be a multiple of 8 from 8 to 256, got 20}}
func.func private @f(!hopper.fragment<64 x 20, bf16>)

// -----

// fragment C3
// expected-error@+1 {{C3: expects f32, bf16 or f16 elements, got 'f64'}}
func.func private @f(!hopper.fragment<64 x 64, f64>)

// -----

// tensor_map C1
// expected-error@+1 {{C1: expects a box of 1 to 5 extents, got 6}}
func.func private @f(!hopper.tensor_map<box[64, 1, 1, 1, 1, 1], bf16>)

// -----

// tensor_map C2
// expected-error@+1 {{C2: expects extents from 1 to 256, got 512}}
func.func private @f(!hopper.tensor_map<box[64, 512], bf16>)

// -----

// tensor_map C3
// expected-error@+1 {{C3: expects the innermost extent to be a panel of 64 elements (128 bytes), got 128}}
func.func private @f(!hopper.tensor_map<box[128, 64], bf16>)

// -----

// tensor_map C4
// expected-error@+1 {{C4: expects bf16, f16 or f8E4M3FN elements, got 'f32'}}
func.func private @f(!hopper.tensor_map<box[64, 64], f32>)

// -----

// ring C7
// expected-error@+1 {{C7: expects f8E4M3FN in a ring of warps only}}
func.func private @f(!hopper.ring<2 x 32 x 128, f8E4M3FN>)
