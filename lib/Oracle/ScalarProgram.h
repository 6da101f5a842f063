//===- ScalarProgram.h - scalar regions, ready to run -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Score and epilogue regions and the bodies of linalg.generic run once an element. They are
// translated into a list of instructions over numbered slots first, so that a run walks no IR.
//
// Conversions between float types are identities: rounding is a kernel's business, not the
// oracle's.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ORACLE_SCALARPROGRAM_H
#define PAGEFOLD_LIB_ORACLE_SCALARPROGRAM_H

#include "Values.h"

#include "mlir/IR/Block.h"

namespace pagefold::oracle {

/// The state of one run. A thread has its own; slots of constants are filled once.
struct ScalarFrame {
  std::vector<Scalar> slots;
  std::vector<TensorRef> tables; ///< by slot
  int64_t position = 0;          ///< attn.position: q + kv_len - q_len
  int64_t token = 0;             ///< attn.token: rows[r] + q
};

struct ScalarInstruction {
  using Function = void (*)(const ScalarInstruction &, ScalarFrame &);
  Function run;
  double (*real)(double, double, double) = nullptr; ///< of float arithmetic
  int64_t (*integer)(int64_t, int64_t) = nullptr;   ///< of integer arithmetic
  std::vector<unsigned> operands;
  unsigned result = 0;
  unsigned width = 64;   ///< of an integer result; of the operand where only that is an integer
  int64_t predicate = 0; ///< of comparisons
  bool realResult = false;
};

class ScalarProgram {
public:
  /// A block's operations, its arguments being the inputs and its terminator's operands the
  /// outputs.
  static Result<ScalarProgram> build(mlir::Block &block);
  /// One operation, its operands being the inputs and its results the outputs.
  static Result<ScalarProgram> build(mlir::Operation *op);

  /// A frame with the constants in place; the inputs are the caller's to set.
  ScalarFrame makeFrame() const { return initial_; }
  void setInput(ScalarFrame &frame, unsigned i, Scalar scalar) const {
    frame.slots[inputs_[i]] = scalar;
  }
  void setReal(ScalarFrame &frame, unsigned i, double x) const { frame.slots[inputs_[i]].real = x; }
  void setInteger(ScalarFrame &frame, unsigned i, int64_t x) const {
    frame.slots[inputs_[i]].integer = x;
  }
  /// A captured tensor, for attn.lookup.
  void setTable(ScalarFrame &frame, unsigned i, TensorRef table) const {
    frame.tables[inputs_[i]] = std::move(table);
  }
  void run(ScalarFrame &frame) const;
  Scalar output(const ScalarFrame &frame, unsigned i) const { return frame.slots[outputs_[i]]; }
  unsigned numOutputs() const { return outputs_.size(); }

private:
  Status addOperation(mlir::Operation *op);
  Status admitOperands(mlir::Operation *op);
  void addConstant(mlir::Value value, mlir::Attribute attribute);
  unsigned slot(mlir::Value value);

  llvm::DenseMap<mlir::Value, unsigned> slotOf_;
  std::vector<ScalarInstruction> instructions_;
  std::vector<unsigned> inputs_, outputs_; ///< their slots
  ScalarFrame initial_;
};

/// `x` as an integer of `width` bits, sign-extended.
int64_t wrap(int64_t x, unsigned width);

} // namespace pagefold::oracle

#endif // PAGEFOLD_LIB_ORACLE_SCALARPROGRAM_H
