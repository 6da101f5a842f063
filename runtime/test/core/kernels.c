/*===- kernels.c - host kernels as the compiler would make them ------------===*\
|*
|* Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Built to a shared object and packed into an artifact by ArtifactFixture.h, which holds the plans
|* of these functions. The frame is that of Launch.h.
|*
\*===----------------------------------------------------------------------===*/

#include <stdint.h>
#include <string.h>

enum { kColumns = 8, kPageReason = 5, kWidthReason = 4, kScratchReason = 99 };

static void *address(const int64_t *words) { return (void *)words[1]; }

static int64_t draw(int64_t *ticket) { return __atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED); }

static void report(int64_t *error, int64_t request, int64_t reason, int64_t value, int64_t limit) {
  int64_t none = 0;
  if (!__atomic_compare_exchange_n(&error[0], &none, request + 1, 0, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED))
    return;
  error[1] = reason;
  error[2] = value;
  error[3] = limit;
}

/* gather: out[r, :] = bias + sum of the rows of `values` that r's table names + the same sum over
   all requests. The partial sums pass through the workspace from kernel to kernel.
     args       values f32 [pages, 8] at 0, table i32 [batch, width] at 7, lens i32 [batch] at 14,
                bias f32 scalar at 19, out f32 [batch, 8] at 20
     workspace  at 27: error word at 0, counters at 64, totals at 128, partial sums at 192
     scratch at 32, ticket at 37 */
enum { kTotals = 128, kPartials = 192 };

static float *row(const int64_t *tensor, int64_t index) {
  return (float *)address(tensor) + index * tensor[5];
}

static int checkScratch(const int64_t *frame, int64_t *error) {
  unsigned char *scratch = address(frame + 32);
  if ((uintptr_t)scratch % 64) {
    report(error, 0, kScratchReason, (uintptr_t)scratch % 64, 64);
    return 0;
  }
  memset(scratch, 0xab, frame[35]);
  return 1;
}

static void sumRequest(const int64_t *frame, int64_t r, float *sum) {
  char *workspace = address(frame + 27);
  const int32_t *table = (const int32_t *)address(frame + 7) + r * frame[12];
  int32_t length = ((const int32_t *)address(frame + 14))[r];
  memset(sum, 0, kColumns * sizeof(float));
  if (length > frame[11]) {
    report((int64_t *)workspace, r, kWidthReason, length, frame[11]);
    return;
  }
  for (int32_t i = 0; i < length; ++i) {
    if (table[i] < 0 || table[i] >= frame[3]) {
      report((int64_t *)workspace, r, kPageReason, table[i], frame[3]);
      return;
    }
    for (int c = 0; c < kColumns; ++c)
      sum[c] += row(frame, table[i])[c];
  }
  __atomic_fetch_add((int64_t *)(workspace + 64) + 4, length, __ATOMIC_RELAXED);
}

void gather_k0(const int64_t *frame) {
  char *workspace = address(frame + 27);
  if (!checkScratch(frame, (int64_t *)workspace))
    return;
  for (int64_t r; (r = draw(address(frame + 37))) < frame[10];) {
    sumRequest(frame, r, address(frame + 32));
    memcpy(workspace + kPartials + r * kColumns * sizeof(float), address(frame + 32),
           kColumns * sizeof(float));
  }
}

void gather_k1(const int64_t *frame) {
  char *workspace = address(frame + 27);
  float *totals = (float *)(workspace + kTotals), *partials = (float *)(workspace + kPartials);
  memset(totals, 0, kColumns * sizeof(float));
  for (int64_t i = 0; i < frame[10] * kColumns; ++i)
    totals[i % kColumns] += partials[i];
}

void gather_k2(const int64_t *frame) {
  char *workspace = address(frame + 27);
  const float *totals = (float *)(workspace + kTotals);
  const float *partials = (float *)(workspace + kPartials);
  float bias;
  memcpy(&bias, &frame[19], sizeof(bias));
  for (int64_t r; (r = draw(address(frame + 37))) < frame[10];)
    for (int c = 0; c < kColumns; ++c)
      row(frame + 20, r)[c] = bias + partials[r * kColumns + c] + totals[c];
}

/* words: ten scalars, then out i64 [10] at 10: the scalars' words as they are. */
void words_k0(const int64_t *frame) { memcpy(address(frame + 10), frame, 10 * sizeof(int64_t)); }

/* wait: says that it runs (out i32 [] at 3) and waits until flag (i32 [] at 0) is set. */
void wait_k0(const int64_t *frame) {
  __atomic_store_n((int32_t *)address(frame + 3), 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n((int32_t *)address(frame), __ATOMIC_ACQUIRE))
    ;
}
