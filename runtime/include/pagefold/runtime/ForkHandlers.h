//===- ForkHandlers.h - state that survives a fork --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A child of fork() has one thread and a copy of every lock as it was. A lock that another thread
// held would stay held for ever, so each lock of the process is taken around fork() and the child
// forgets what belonged to threads that it does not have.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_FORKHANDLERS_H
#define PAGEFOLD_RUNTIME_FORKHANDLERS_H

#include <pthread.h>

namespace pagefold::runtime {

/// Runs `before` in the parent before a fork, `parent` and `child` after it. For the life of the
/// process: the library is linked with -z nodelete.
inline void onFork(void (*before)(), void (*parent)(), void (*child)()) {
  pthread_atfork(before, parent, child);
}

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_FORKHANDLERS_H
