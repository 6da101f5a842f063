// A negative test for each numbered constraint of loads, stores and reports.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// load C1
func.func @f(%p: !hopper.pointer<f64>, %i: i32) {
  // expected-error@+1 {{C1: expects a pointer to i8, i32, i64, f16, bf16 or f32, got '!hopper.pointer<f64>'}}
  %v = hopper.load %p[%i] : !hopper.pointer<f64>
  return
}

// -----

// load C2
func.func @f(%p: !hopper.pointer<i32>, %i: i32, %c: i1) {
  // expected-error@+1 {{C2: expects a condition to come with another value of 'i32'}}
  %v = "hopper.load"(%p, %i, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!hopper.pointer<i32>, i32, i1) -> i32
  return
}

// -----

// store C1
func.func @f(%p: !hopper.pointer<i16>, %v: i16, %i: i32) {
  // expected-error@+1 {{C1: expects a pointer to i8, i32, i64, f16, bf16 or f32, got '!hopper.pointer<i16>'}}
  hopper.store %v, %p[%i] : !hopper.pointer<i16>
  return
}

// -----

// report C1
func.func @f(%p: !hopper.pointer<i32>, %i: i32, %c: i1) {
  // expected-error@+1 {{C1: expects a pointer to i64, got '!hopper.pointer<i32>'}}
  hopper.report %p, %i, %i, %i reason 1 if %c : !hopper.pointer<i32>
  return
}

// -----

// report C2
func.func @f(%p: !hopper.pointer<i64>, %i: i32, %c: i1) {
  // expected-error@+1 {{C2: expects a positive reason, got 0}}
  hopper.report %p, %i, %i, %i reason 0 if %c : !hopper.pointer<i64>
  return
}

// -----

// store_matrix C1
func.func @f(%h: !hopper.fragment<64 x 72, bf16>, %p: !hopper.pointer<f32>, %i: i64, %r: vector<2xi32>, %n: i32) {
  // expected-error@+1 {{C1: expects a pointer to 'bf16', got '!hopper.pointer<f32>'}}
  hopper.store_matrix %h, %p[%i] stride %i rows %r below %n : !hopper.fragment<64 x 72, bf16>, !hopper.pointer<f32>
  return
}

// -----

// store_rows C1
func.func @f(%v: vector<2xf32>, %p: !hopper.pointer<i32>, %i: i32, %r: vector<2xi32>) {
  // expected-error@+1 {{C1: expects a pointer to f32, got '!hopper.pointer<i32>'}}
  hopper.store_rows %v, %p[%i] rows %r below %i : !hopper.pointer<i32>
  return
}
