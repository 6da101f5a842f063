// Schedules: spelled, and refused outside of their ranges.
// RUN: pagefold-opt %s -split-input-file -verify-diagnostics | pagefold-opt -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: #tile.schedule<outer, q_tile 96, kv_tile 128, splits 1>
// CHECK-SAME: #tile.schedule<outer, q_tile 512, kv_tile 1024, splits 128>
// CHECK-SAME: #tile.schedule<dot, q_tile 1, kv_tile 16, splits 7>
// CHECK-SAME: #tile.schedule<pipelined, q_tile 128, kv_tile 176, splits 1>
// CHECK-SAME: #tile.schedule<simt, q_tile 1, kv_tile 16, splits 128>
// CHECK-SAME: #tile.schedule<streaming, q_tile 8, kv_tile 16, splits 1>
func.func private @spelled() attributes {
  tile.a = #tile.schedule<outer, q_tile 96, kv_tile 128, splits 1>,
  tile.b = #tile.schedule<outer, q_tile 512, kv_tile 1024, splits 128>,
  tile.c = #tile.schedule<dot, q_tile 1, kv_tile 16, splits 7>,
  tile.d = #tile.schedule<pipelined, q_tile 128, kv_tile 176, splits 1>,
  tile.e = #tile.schedule<simt, q_tile 1, kv_tile 16, splits 128>,
  tile.f = #tile.schedule<streaming, q_tile 8, kv_tile 16, splits 1>}

// -----

// expected-error@+1 {{C1: expects q_tile to be a multiple of 16 from 16 to 512 for outer, got 40}}
func.func private @c1() attributes {tile.a = #tile.schedule<outer, q_tile 40, kv_tile 128, splits 1>}

// -----

// expected-error@+1 {{C1: expects q_tile from 1 to 16 for dot, got 17}}
func.func private @c1() attributes {tile.a = #tile.schedule<dot, q_tile 17, kv_tile 128, splits 1>}

// -----

// expected-error@+1 {{C1: expects q_tile to be a multiple of 64 from 64 to 256 for pipelined, got 96}}
func.func private @c1() attributes {tile.a = #tile.schedule<pipelined, q_tile 96, kv_tile 128, splits 1>}

// -----

// expected-error@+1 {{C1: expects q_tile from 1 to 4 for simt, got 8}}
func.func private @c1() attributes {tile.a = #tile.schedule<simt, q_tile 8, kv_tile 16, splits 1>}

// -----

// expected-error@+1 {{C1: expects q_tile to be a multiple of 8 from 8 to 16 for streaming, got 4}}
func.func private @c1() attributes {tile.a = #tile.schedule<streaming, q_tile 4, kv_tile 16, splits 1>}

// -----

// expected-error@+1 {{C1: expects q_tile to be a multiple of 8 from 8 to 16 for streaming, got 24}}
func.func private @c1() attributes {tile.a = #tile.schedule<streaming, q_tile 24, kv_tile 16, splits 1>}

// -----

// expected-error@+1 {{C2: expects kv_tile to be a multiple of 16 from 16 to 1024 for dot, got 100}}
func.func private @c2() attributes {tile.a = #tile.schedule<dot, q_tile 4, kv_tile 100, splits 1>}

// -----

// expected-error@+1 {{C2: expects kv_tile to be a multiple of 16 from 16 to 256 for pipelined, got 272}}
func.func private @c2() attributes {tile.a = #tile.schedule<pipelined, q_tile 128, kv_tile 272, splits 1>}

// -----

// expected-error@+1 {{C2: expects kv_tile to be a multiple of 16 from 16 to 32 for streaming, got 48}}
func.func private @c2() attributes {tile.a = #tile.schedule<streaming, q_tile 8, kv_tile 48, splits 1>}

// -----

// expected-error@+1 {{C3: expects splits from 1 to 128, got 0}}
func.func private @c3() attributes {tile.a = #tile.schedule<dot, q_tile 4, kv_tile 128, splits 0>}

// -----

// expected-error@+2 {{expected ::pagefold::tile::ScheduleKind to be one of: outer, dot, pipelined, simt, streaming}}
// expected-error@+1 {{failed to parse Tile_ScheduleAttr parameter 'kind'}}
func.func private @kind() attributes {tile.a = #tile.schedule<fast, q_tile 4, kv_tile 128, splits 1>}
