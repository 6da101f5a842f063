//===- PagedSource.h - finding the pages of a cache -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all sources of pages share: each lane finds pages, of keys of the tile.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGEDSOURCE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGEDSOURCE_H

#include "KVSource.h"
#include "PageTable.h"

namespace pagefold::hopper {

class PagedSource : public KVSource {
public:
  bool usesOneLane() const override { return false; }

protected:
  PagedSource(SpaceKernel &kernel, const PipelinedSpace &space)
      : KVSource(kernel, space), table(kernel, space) {}

  PageTable table;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGEDSOURCE_H
