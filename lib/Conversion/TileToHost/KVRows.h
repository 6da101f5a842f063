//===- KVRows.h - where the rows of keys and values lie ---------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_KVROWS_H
#define PAGEFOLD_CONVERSION_TILETOHOST_KVROWS_H

#include "Kernel.h"

namespace pagefold::host {

/// Reads keys and values through the page table, or as dense rows.
class KVRows {
public:
  KVRows(Kernel &kernel, mlir::Value kv);

  /// The indices of element 0 of key (or value) `key` of the request: append the element's number.
  HostBuilder::Values locate(mlir::Value request, mlir::Value key, mlir::Value head);
  mlir::Value keys() const { return keyBuffer; }
  mlir::Value values() const { return valueBuffer; }

  /// By what the stored elements of a head are multiplied, f32; null where the cache has no scales.
  mlir::Value keyScale(mlir::Value head);
  mlir::Value valueScale(mlir::Value head);

  /// The page in a column of the request's part of the table, and how many pages there are.
  mlir::Value pageOf(mlir::Value request, mlir::Value column);
  mlir::Value poolSize();

  tile::KVType type;

private:
  HostBuilder &b;
  mlir::Value keyBuffer, valueBuffer;
  mlir::Value keyScales, valueScales; ///< null without scales
  mlir::Value table, starts;          ///< paged
  mlir::Value rows;                   ///< dense
};

/// The lengths of a KV: of the cache, or from its row offsets.
mlir::Value kvLength(Kernel &kernel, mlir::Value kv, mlir::Value request);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_KVROWS_H
