// A negative test for each numbered constraint of the types and attributes.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// paged_kv C1
// expected-error@+1 {{expects at least 1 head, got 0}}
func.func private @f(!attn.paged_kv<0 heads, 128 x 128, bf16, page 16>)

// -----

// paged_kv C2
// expected-error@+1 {{expects k_dim to be a multiple of 8 from 8 to 512, got 100}}
func.func private @f(!attn.paged_kv<8 heads, 100 x 128, bf16, page 16>)

// -----

// paged_kv C2
// expected-error@+1 {{expects v_dim to be a multiple of 8 from 8 to 512, got 520}}
func.func private @f(!attn.paged_kv<8 heads, 128 x 520, bf16, page 16>)

// -----

// paged_kv C3
// expected-error@+1 {{expects f32, f16, bf16 or f8E4M3FN elements, got 'f64'}}
func.func private @f(!attn.paged_kv<8 heads, 128 x 128, f64, page 16>)

// -----

// paged_kv C3, A32: of the floats of 8 bits only the one
// expected-error@+1 {{expects f32, f16, bf16 or f8E4M3FN elements, got 'f8E5M2'}}
func.func private @f(!attn.paged_kv<8 heads, 128 x 128, f8E5M2, page 16>)

// -----

// paged_kv C3: e4m3 with infinities
// expected-error@+1 {{expects f32, f16, bf16 or f8E4M3FN elements, got 'f8E4M3'}}
func.func private @f(!attn.paged_kv<8 heads, 128 x 128, f8E4M3, page 16>)

// -----

// paged_kv C3: e4m3 without a negative zero
// expected-error@+1 {{expects f32, f16, bf16 or f8E4M3FN elements, got 'f8E4M3FNUZ'}}
func.func private @f(!attn.paged_kv<8 heads, 128 x 128, f8E4M3FNUZ, page 16>)

// -----

// paged_kv C4
// expected-error@+1 {{expects a page of 1 to 1024 tokens, got 0}}
func.func private @f(!attn.paged_kv<8 heads, 128 x 128, bf16, page 0>)

// -----

// paged_kv C4
// expected-error@+1 {{expects a page of 1 to 1024 tokens, got 2048}}
func.func private @f(!attn.paged_kv<8 heads, 128 x 128, bf16, page 2048>)

// -----

// mask: text that says nothing
// expected-error@+1 {{mask expects a name or a number, got the end of the mask}}
func.func private @f() attributes {m = #attn.mask<"q +">}

// -----

// mask C2: a name that nothing declares
// expected-error@+1 {{mask does not know the name 'w'; expects q, k, q_len, kv_len or a symbol declared by a trailing 'where w'}}
func.func private @f() attributes {m = #attn.mask<"k >= w">}

// -----

// bounds C1
// expected-error@+1 {{expects batch from 1 to 2147483647, got 0}}
func.func private @f() attributes {attn.bounds = #attn.bounds<batch 0, q_len 1, kv_len 8>}

// -----

// bounds C1
// expected-error@+1 {{expects kv_len from 1 to 2147483647, got 4294967296}}
func.func private @f() attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 4294967296>}

// -----

// bounds C2
// expected-error@+1 {{expects tokens of at most batch x q_len = 8, got 9}}
func.func private @f() attributes {attn.bounds = #attn.bounds<batch 4, q_len 2, kv_len 8, tokens 9>}

// -----

// bounds stand on functions
// expected-error@+1 {{expects 'attn.bounds' on a function, got it on 'builtin.module'}}
module attributes {attn.bounds = #attn.bounds<batch 4, q_len 2, kv_len 8>} {}

// -----

// bounds are #attn.bounds
// expected-error@+1 {{expects 'attn.bounds' to be an #attn.bounds attribute or a list of them, got 4 : i64}}
func.func private @f() attributes {attn.bounds = 4}

// -----

// A misspelt attribute declares nothing, so it is refused.
// expected-error@+1 {{expects no attribute 'attn.bound' of the attn dialect, which knows 'attn.bounds' and 'attn.graph' only}}
func.func private @f() attributes {attn.bound = #attn.bounds<batch 4, q_len 2, kv_len 8>}

// -----

// expected-error@+1 {{expects 'attn.bounds' to be an #attn.bounds attribute or a list of them, got [#attn.bounds<batch 4, q_len 2, kv_len 8>, 4]}}
func.func private @f() attributes {attn.bounds = [#attn.bounds<batch 4, q_len 2, kv_len 8>, 4]}

// -----

// expected-error@+1 {{expects at least one #attn.bounds in the list of 'attn.bounds', got none}}
func.func private @f() attributes {attn.bounds = []}

// -----

// An entry that no batch would take. Tokens that are left out count as batch x q_len.
// expected-error@+1 {{to hold calls that those before it do not, as the first that fits is taken; #attn.bounds<batch 4, q_len 2, kv_len 8, tokens 7> comes after #attn.bounds<batch 4, q_len 2, kv_len 8>}}
func.func private @f() attributes {attn.bounds = [#attn.bounds<batch 4, q_len 2, kv_len 8>, #attn.bounds<batch 4, q_len 2, kv_len 8, tokens 7>]}

// -----

// One that has more in one number alone is taken.
func.func private @f() attributes {attn.bounds = [#attn.bounds<batch 4, q_len 2, kv_len 8, tokens 7>, #attn.bounds<batch 4, q_len 2, kv_len 8>]}

// -----

// expected-error@+1 {{expects 'attn.graph' to be a string, got 4 : i64}}
func.func private @f() attributes {attn.graph = 4}
