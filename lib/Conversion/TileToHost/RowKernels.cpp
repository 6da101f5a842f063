//===- RowKernels.cpp - append, small row-wise ops, merges ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Finish.h"
#include "KVRows.h"
#include "KernelEmitters.h"
#include "RowEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

using Predicate = arith::CmpIPredicate;

static int64_t heads(Value buffer) { return cast<MemRefType>(buffer.getType()).getDimSize(1); }
static int64_t width(Value buffer) { return cast<MemRefType>(buffer.getType()).getDimSize(2); }

namespace {

/// A token of a request, its position, which may be negative, and the heads of it that a ticket
/// covers.
struct TokenItem {
  Request request;
  Value token, position, firstHead;
  int64_t heads;
};

} // namespace

static void forHeads(HostBuilder &b, const TokenItem &item, llvm::function_ref<void(Value)> body) {
  if (item.heads == 1)
    body(item.firstHead);
  else
    b.loop(item.firstHead, b.add(item.firstHead, item.heads), 1, body);
}

/// Every token of the batch, `heads` wide; `tokens` is a buffer with a row for each.
static void forTokens(Kernel &kernel, Value batch, Value tokens,
                      llvm::function_ref<void(const TokenItem &)> body) {
  HostBuilder &b = kernel.builder();
  int64_t width = kernel.headsOfTicket(heads(tokens)), parts = heads(tokens) / width;
  kernel.forTokens(batch, b.dim(tokens, 0), parts, [&](Request request, Value token, Value part) {
    Value row = b.sub(token, request.firstRow);
    body({request, token, b.add(b.sub(request.kvLen, request.qLen), row), b.mul(part, width),
          width});
  });
}

/// Every token of a buffer, `parts` times; without request and position.
static void forTokens(Kernel &kernel, Value buffer, int64_t parts,
                      llvm::function_ref<void(const TokenItem &, Value part)> body) {
  HostBuilder &b = kernel.builder();
  int64_t width = kernel.headsOfTicket(heads(buffer)), ofToken = heads(buffer) / width;
  kernel.forTickets(b.mul(b.dim(buffer, 0), ofToken * parts), [&](Value ticket) {
    Value part = parts == 1 ? b.index(0) : b.remainder(ticket, parts);
    Value item = parts == 1 ? ticket : b.divide(ticket, parts);
    Value first = ofToken == 1 ? b.index(0) : b.remainder(item, ofToken);
    body({{}, b.divide(item, ofToken), {}, b.mul(first, width), width}, part);
  });
}

//===----------------------------------------------------------------------===//
// Append
//===----------------------------------------------------------------------===//

void host::emitAppend(Kernel &kernel, tile::AppendOp op) {
  HostBuilder &b = kernel.builder();
  KVRows pages(kernel, op.getKv());
  Value key = kernel.find(op.getKey()), value = kernel.find(op.getValue());
  RowEmitter keyRow(kernel, width(key)), valueRow(kernel, width(value));
  auto write = [&](RowEmitter &row, Value source, Region &region, Value target, Value scale,
                   const RowPlace &place, ValueRange where) {
    row.load(source, place, region);
    b.forVectors(width(source), [&](Value offset, int64_t lanes) {
      HostBuilder::Values indices(where);
      indices.push_back(offset);
      Value x = b.loadVector(row.row(), {offset}, lanes);
      b.storeVector(scale ? b.fdiv(x, b.splat(scale, lanes)) : x, target, indices);
    });
  };
  Value pool = pages.poolSize();
  forTokens(kernel, op.getBatch(), key, [&](const TokenItem &item) {
    b.ifThen(b.compare(Predicate::sge, item.position, b.index(0)), [&] {
      forHeads(b, item, [&](Value head) {
        RowPlace place{item.token, head, item.position};
        HostBuilder::Values where = pages.locate(item.request.number, item.position, head);
        kernel.ifPageExists(item.request, where.front(), pool, [&] {
          write(keyRow, key, op.getKeyBody(), pages.keys(), pages.keyScale(head), place, where);
          write(valueRow, value, op.getValueBody(), pages.values(), pages.valueScale(head), place,
                where);
        });
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void host::emitRows(Kernel &kernel, tile::RowsOp op) {
  HostBuilder &b = kernel.builder();
  Value input = kernel.find(op.getInput()), output = kernel.find(op.getOutput());
  RowEmitter row(kernel, width(input));
  auto body = [&](const TokenItem &item) {
    forHeads(b, item, [&](Value head) {
      row.load(input, {item.token, head, item.position}, op.getBody());
      b.forVectors(width(input), [&](Value offset, int64_t lanes) {
        b.storeVector(b.loadVector(row.row(), {offset}, lanes), output, {item.token, head, offset});
      });
    });
  };
  if (op.getBatch())
    forTokens(kernel, op.getBatch(), input, body);
  else
    forTokens(kernel, input, 1, [&](const TokenItem &item, Value) { body(item); });
}

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

void host::emitMerge(Kernel &kernel, tile::MergeOp op) {
  HostBuilder &b = kernel.builder();
  Value outA = kernel.find(op.getOutA()), lseA = kernel.find(op.getLseA()),
        outB = kernel.find(op.getOutB()), lseB = kernel.find(op.getLseB()),
        out = kernel.find(op.getOutput()), lse = kernel.find(op.getLse());
  double nothing = -std::numeric_limits<double>::infinity();
  // The output of an empty side never enters, whatever it holds, and the other side passes bit for
  // bit.
  auto combine = [&](Value fa, Value fb, ValueRange at, int64_t lanes) {
    auto used = [&](Value f) {
      return b.splat(b.fcompare(arith::CmpFPredicate::UNE, f, b.f32(0)), lanes);
    };
    Value a = b.fmul(b.loadVector(outA, at, lanes), b.splat(fa, lanes));
    Value other = b.fmul(b.loadVector(outB, at, lanes), b.splat(fb, lanes));
    Value onlyA = b.select(used(fa), a, b.like(0, a));
    return b.select(used(fb), b.select(used(fa), b.fadd(a, other), other), onlyA);
  };
  int64_t columns = kernel.columnsOfTicket(width(out)), parts = width(out) / columns;
  forTokens(kernel, out, parts, [&](const TokenItem &item, Value part) {
    Value token = item.token;
    forHeads(b, item, [&](Value head) {
      Value la = b.load(lseA, {token, head}), lb = b.load(lseB, {token, head});
      Value top = b.finiteMax(b.fmax(la, lb));
      Value wa = b.exp(b.fsub(la, top)), wb = b.exp(b.fsub(lb, top)), sum = b.fadd(wa, wb);
      Value empty = b.fcompare(arith::CmpFPredicate::OEQ, sum, b.f32(0));
      Value scale = b.select(empty, b.f32(0), b.fdiv(b.f32(1), sum));
      auto storeLse = [&] {
        Value log = b.fadd(top, math::LogOp::create(b, sum));
        b.store(b.select(empty, b.f32(nothing), log), lse, {token, head});
      };
      Value fa = b.fmul(wa, scale), fb = b.fmul(wb, scale);
      if (parts == 1)
        storeLse();
      else
        b.ifThen(b.compare(Predicate::eq, part, b.index(0)), storeLse);
      b.forVectors(columns, [&](Value offset, int64_t lanes) {
        HostBuilder::Values at{token, head, b.add(offset, b.mul(part, columns))};
        b.storeVector(combine(fa, fb, at, lanes), out, at);
      });
    });
  });
}

void host::emitMergeSplits(Kernel &kernel, tile::MergeSplitsOp op) {
  HostBuilder &b = kernel.builder();
  Value partials = kernel.find(op.getPartials());
  auto type = cast<MemRefType>(partials.getType());
  int64_t splits = type.getDimSize(0), vDim = type.getDimSize(3) - 2;
  Value acc = kernel.scratch({paddedTo16(vDim)});
  Finish finish(kernel, op.getOutput(), op.getLse(), op.getSinks(), op.getBody());
  auto part = [&](Value split, Value token, Value head, int64_t i) {
    return b.load(partials, {split, token, head, b.index(i)});
  };
  forTokens(kernel, op.getBatch(), kernel.find(op.getOutput()), [&](const TokenItem &item) {
    Value token = item.token, row = b.sub(token, item.request.firstRow);
    forHeads(b, item, [&](Value head) {
      Value first = b.index(0), end = b.index(splits);
      HostBuilder::Values top =
          b.loop(first, end, 1, b.f32(-std::numeric_limits<double>::infinity()),
                 [&](Value split, ValueRange best) {
                   return HostBuilder::Values{b.fmax(best[0], part(split, token, head, 0))};
                 });
      Value m = b.finiteMax(top[0]);
      b.fill(acc, 0);
      HostBuilder::Values sum = b.loop(first, end, 1, b.f32(0), [&](Value split, ValueRange total) {
        Value weight = b.exp(b.fsub(part(split, token, head, 0), m));
        b.forVectors(vDim, [&](Value offset, int64_t lanes) {
          Value add = b.loadVector(partials, {split, token, head, b.add(offset, 2)}, lanes);
          Value old = b.loadVector(acc, {offset}, lanes);
          b.storeVector(b.fma(add, b.splat(weight, lanes), old), acc, {offset});
        });
        return HostBuilder::Values{b.fma(part(split, token, head, 1), weight, total[0])};
      });
      finish.emit({top[0], sum[0], acc, {}}, {row, head, item.position, token});
    });
  });
}
