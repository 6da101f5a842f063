// A negative test for each constraint of the types.
// RUN: pagefold-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{C1: expects at least 1 head, got 0}}
func.func private @kv_c1(!tile.kv<0 heads, 128 x 128, bf16, page 16>)

// -----

// expected-error@+1 {{C2: expects head dims that are multiples of 8 from 8 to 512, got 60}}
func.func private @kv_c2(!tile.kv<8 heads, 60 x 128, bf16, page 16>)

// -----

// expected-error@+1 {{C2: expects head dims that are multiples of 8 from 8 to 512, got 520}}
func.func private @kv_c2(!tile.kv<8 heads, 128 x 520, bf16, page 16>)

// -----

// expected-error@+1 {{C3: expects f32, f16 or bf16 elements without pages, got 'f64'}}
func.func private @kv_c3(!tile.kv<8 heads, 128 x 128, f64>)

// -----

// expected-error@+1 {{C3: expects f32, f16 or bf16 elements without pages, got 'f8E4M3FN'}}
func.func private @kv_c3(!tile.kv<8 heads, 128 x 128, f8E4M3FN>)

// -----

// expected-error@+1 {{C3: expects f32, f16, bf16 or f8E4M3FN elements, got 'f8E5M2'}}
func.func private @kv_c3(!tile.kv<8 heads, 128 x 128, f8E5M2, page 16>)

// -----

// expected-error@+1 {{C4: expects a page of 1 to 1024 tokens, got 2048}}
func.func private @kv_c4(!tile.kv<8 heads, 128 x 128, bf16, page 2048>)

// -----

// expected-error@+1 {{expects an extent: a number, q, kv or all, got keys}}
func.func private @tile_word(!tile.tile<q x keys, f32>)

// -----

// expected-error@+1 {{expects an extent of at least 1, got 0}}
func.func private @tile_extent(!tile.tile<q x 0, f32>)
