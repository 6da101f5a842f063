// A negative test for each numbered constraint of kernels, roles and allocations.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// kernel C1
// expected-error@+1 {{C1: expects parameters to be tensor maps, pointers, i32, i64 or f32, got 'f64'}}
hopper.kernel @f(%x: f64) {
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// kernel C1
// expected-error@+1 {{C1: expects no result, got 1}}
hopper.kernel @f() -> i32 {
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// kernel C1
// expected-error@+1 {{C1: expects a body, got a declaration}}
hopper.kernel @f()

// -----

// kernel C2: 8 tiles of 32 KiB
// expected-error@+1 {{C2: expects at most 232448 bytes of shared memory, got 262144; take fewer stages or smaller tiles}}
hopper.kernel @f() {
  %a = hopper.alloc : !hopper.shared<8 x 128 x 128, bf16>
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// kernel C2: tiles alone would fit, barriers and notes do not
// expected-error@+1 {{C2: expects at most 232448 bytes of shared memory, got 232576}}
hopper.kernel @f() {
  %a = hopper.alloc_ring readers 4 : !hopper.ring<4 x 128 x 128, bf16>
  %b = hopper.alloc_ring readers 4 : !hopper.ring<4 x 96 x 128, bf16>
  %c = hopper.alloc : !hopper.shared<3 x 8 x 64, bf16>
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// kernel C2: a ring of warps has the tiles of all its warps, 8 x 3 x 4 KiB, and words count too
// expected-error@+1 {{C2: expects at most 232448 bytes of shared memory, got 233664}}
hopper.kernel @f() {
  %a = hopper.alloc_ring readers 0 : !hopper.ring<3 x 16 x 128, bf16 warps 8>
  %w = hopper.alloc_words : !hopper.words<33792>
  hopper.roles {
    all warpgroups 2 registers 256 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// kernel C3
// expected-error@+1 {{C3: expects exactly one hopper.roles, got 0}}
hopper.kernel @f() {
  hopper.return
}

// -----

// kernel C3
// expected-error@+1 {{C3: expects allocations in its own block, got one inside hopper.roles}}
hopper.kernel @f() {
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      %a = hopper.alloc : !hopper.shared<1 x 64 x 128, bf16>
    }
  }
  hopper.return
}

// -----

// kernel C4
!tiles = !hopper.shared<1 x 64 x 128, bf16>
hopper.kernel @f(%c: i32) {
  %a = hopper.alloc : !tiles
  %b = hopper.alloc : !tiles
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      %first = arith.cmpi eq, %c, %wg : i32
      // expected-error@+1 {{C4: expects shared memory to be results of allocations only}}
      %t = arith.select %first, %a, %b : !tiles
    }
  }
  hopper.return
}

// -----

// kernel C4
!tiles = !hopper.shared<1 x 64 x 128, bf16>
hopper.kernel @f(%c: i32) {
  %a = hopper.alloc : !tiles
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      // expected-error@+1 {{C4: expects no block argument that is shared memory}}
      scf.while (%t = %a) : (!tiles) -> () {
        %first = arith.cmpi eq, %c, %wg : i32
        scf.condition(%first)
      } do {
        scf.yield %a : !tiles
      }
    }
  }
  hopper.return
}

// -----

// kernel C4
hopper.kernel @f(%c: i32) {
  %a = hopper.alloc_words : !hopper.words<64>
  %b = hopper.alloc_words : !hopper.words<64>
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      %first = arith.cmpi eq, %c, %wg : i32
      // expected-error@+1 {{C4: expects shared memory to be results of allocations only}}
      %w = arith.select %first, %a, %b : !hopper.words<64>
    }
  }
  hopper.return
}

// -----

// kernel C5
!ring = !hopper.ring<2 x 16 x 128, bf16 warps 4>
hopper.kernel @f() {
  %a = hopper.alloc_ring readers 0 : !ring
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      // expected-error@+1 {{C5: expects a warp to be named for a ring of warps, and for no other, got '!hopper.ring<2 x 16 x 128, bf16 warps 4>'}}
      hopper.wait %a[%wg] : !ring
    }
  }
  hopper.return
}

// -----

// kernel C5
!ring = !hopper.ring<2 x 16 x 128, bf16>
hopper.kernel @f() {
  %a = hopper.alloc_ring readers 4 : !ring
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      // expected-error@+1 {{C5: expects a warp to be named for a ring of warps, and for no other, got '!hopper.ring<2 x 16 x 128, bf16>'}}
      %b = hopper.load_block %a[%wg] of %warp row 0 column 0 : !ring
    }
  }
  hopper.return
}

// -----

// kernel C5: nobody releases a ring of warps
!ring = !hopper.ring<2 x 16 x 128, bf16 warps 4>
hopper.kernel @f() {
  %a = hopper.alloc_ring readers 0 : !ring
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      // expected-error@+1 {{C5: expects a warp to be named for a ring of warps}}
      hopper.release %a[%wg] : !ring
    }
  }
  hopper.return
}

// -----

// kernel C6
hopper.kernel @f() {
  // expected-error@+1 {{C6: expects a ring of at most the roles' 4 warps, got '!hopper.ring<2 x 16 x 128, bf16 warps 8>'}}
  %a = hopper.alloc_ring readers 0 : !hopper.ring<2 x 16 x 128, bf16 warps 8>
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// roles C1
hopper.kernel @f() {
  // expected-error@+1 {{C1: expects roles of 1 to 8 warpgroups in all, got 5, 4}}
  hopper.roles {
    a warpgroups 5 registers 24 (%wg: i32, %warp: i32) {}
    b warpgroups 4 registers 24 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// roles C2
hopper.kernel @f() {
  // expected-error@+1 {{C2: expects registers to be a multiple of 8 from 24 to 256, got 20}}
  hopper.roles {
    a warpgroups 1 registers 20 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// roles C3: 32 beside 240 is within 65536 registers and yet more than the launch allocates
hopper.kernel @f() {
  // expected-error@+1 {{C3: expects at most 64512 registers (384 threads of 168), got 65536}}
  hopper.roles {
    producer warpgroups 1 registers 32 (%wg: i32, %warp: i32) {}
    consumer warpgroups 2 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// alloc_ring C1
hopper.kernel @f() {
  // expected-error@+1 {{C1: expects from 1 to 32 reading warps, got 0}}
  %a = hopper.alloc_ring readers 0 : !hopper.ring<2 x 64 x 128, bf16>
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// alloc_ring C1
hopper.kernel @f() {
  // expected-error@+1 {{C1: expects no reader of a ring of warps, got 4}}
  %a = hopper.alloc_ring readers 4 : !hopper.ring<2 x 16 x 128, bf16 warps 4>
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
  }
  hopper.return
}

// -----

// ticket C1
hopper.kernel @f(%p: !hopper.pointer<f32>, %n: i32) {
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      // expected-error@+1 {{C1: expects a pointer to i32, got '!hopper.pointer<f32>'}}
      %t = hopper.ticket %p last %n : !hopper.pointer<f32>
    }
  }
  hopper.return
}

// -----

// alloc_ring C2
gpu.module @kernels {
  hopper.kernel @f() {
    // expected-error@+1 {{C2: expects from 1 to 32 writing warps, got 33}}
    %r = hopper.alloc_ring readers 4 writers 33 : !hopper.ring<2 x 64 x 128, bf16>
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
    }
    hopper.return
  }
}

// -----

// kernel C5
!ring = !hopper.ring<2 x 16 x 128, bf16 warps 4>
hopper.kernel @f(%p: !hopper.pointer<bf16>) {
  %a = hopper.alloc_ring readers 0 writers 32 : !ring
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      %c = arith.constant true
      // expected-error@+1 {{C5: expects a warp to be named for a ring of warps}}
      hopper.gather %a[%wg] row %wg unit %wg from %p[%wg] if %c : !ring, !hopper.pointer<bf16>
    }
  }
  hopper.return
}

// -----

// kernel C7: each lane arrives
!ring = !hopper.ring<2 x 16 x 128, bf16 warps 4>
hopper.kernel @f() {
  %a = hopper.alloc_ring readers 0 : !ring
  hopper.roles {
    all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
      // expected-error@+1 {{C7: expects a ring of 32 writers, got 1}}
      hopper.arrive_gathered %a[%wg] of %warp : !ring
    }
  }
  hopper.return
}
