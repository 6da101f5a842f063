//===- Products.cpp - wgmma -----------------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One asm block for each product: between the wgmmas of a group nothing may be scheduled, and the
// upstream op has no left operand in registers. Descriptors are made inside the block by 32-bit
// adds on their low word.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

static constexpr int64_t kStepBytes = kHopper.stepDepth * 2; ///< 16 columns of a row
static constexpr int64_t kStepsPerPanel = kHopper.swizzleBytes / kStepBytes;

//===----------------------------------------------------------------------===//
// Descriptors of shared operands
//===----------------------------------------------------------------------===//

namespace {

/// A matrix descriptor: addresses and strides in units of 16 bytes; start and leading stride are in
/// the low word.
struct Descriptor {
  Value lowWord;
  int64_t highWord;
  int64_t stepStride; ///< bytes to the next 16 of the depth, inside a panel
  int64_t panelStride =
      0; ///< bytes to the next panel, where the depth runs along the row; 0: it runs down the rows

  int64_t stepOffset(int64_t k) const {
    if (!panelStride)
      return k * stepStride >> 4;
    return (k % kStepsPerPanel * stepStride + k / kStepsPerPanel * panelStride) >> 4;
  }
};

} // namespace

static constexpr int64_t kSwizzle128 = 1 << 30; ///< layout field of the high word

static Descriptor makeDescriptor(Emitter &emitter, Value address, int64_t leading, int64_t stride) {
  Value word = LLVM::OrOp::create(emitter.builder, emitter.loc, emitter.shiftRight(address, 4),
                                  emitter.i32(leading >> 4 << 16));
  return {word, kSwizzle128 | stride >> 4, 0};
}

/// The depth runs along the tile's rows: leading strides mean nothing with a swizzle.
static Descriptor depthAlongRows(Emitter &emitter, Value address, RingType tile) {
  Descriptor descriptor = makeDescriptor(emitter, address, 16, tile.octetStride());
  descriptor.stepStride = kStepBytes;
  descriptor.panelStride = tile.panelStride();
  return descriptor;
}

/// The depth runs down the tile's rows: 16 rows are two octets.
static Descriptor depthDownRows(Emitter &emitter, Value address, RingType tile) {
  Descriptor descriptor = makeDescriptor(emitter, address, tile.panelStride(), tile.octetStride());
  descriptor.stepStride = kHopper.stepDepth / kHopper.octetRows * tile.octetStride();
  return descriptor;
}

//===----------------------------------------------------------------------===//
// The asm block
//===----------------------------------------------------------------------===//

namespace {

/// Writes the text of one product. Operands of the block: result registers, left operand (registers
/// or the low word of a descriptor), low word of the right descriptor, and the accumulator tied to
/// the result.
class ProductWriter {
public:
  ProductWriter(FragmentType result, Type element, int64_t depth, bool transposed)
      : resultRegisters(result.registers()), columns(result.getColumns()),
        steps(depth / kHopper.stepDepth), elementName(element.isBF16() ? "bf16" : "f16"),
        transposed(transposed) {}

  Value write(Emitter &emitter, ValueRange lhsRegisters, std::optional<Descriptor> lhs,
              const Descriptor &rhs, ValueRange accumulator);

private:
  std::string registers(int64_t first, int64_t count) const;
  std::string descriptor(StringRef name, const Descriptor &operand, int64_t number,
                         int64_t step) const;
  std::string instruction(int64_t step, bool lhsInRegisters) const;

  int64_t resultRegisters, columns, steps;
  std::string elementName;
  bool transposed;
};

} // namespace

std::string ProductWriter::registers(int64_t first, int64_t count) const {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

/// `name = descriptor of step k`: 64-bit adds would put carry chains between the wgmmas (-3 %).
std::string ProductWriter::descriptor(StringRef name, const Descriptor &operand, int64_t number,
                                      int64_t step) const {
  return "add.s32 t, $" + std::to_string(number) + ", " + std::to_string(operand.stepOffset(step)) +
         "; mov.b64 " + name.str() + ", {t, " + std::to_string(operand.highWord) + "}; ";
}

std::string ProductWriter::instruction(int64_t step, bool lhsInRegisters) const {
  std::string text = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." +
                     elementName + "." + elementName + " " + registers(0, resultRegisters) + ", ";
  text += lhsInRegisters ? registers(resultRegisters + 4 * step, 4) : "a" + std::to_string(step);
  text += ", b" + std::to_string(step) + ", p, 1, 1, ";
  if (!lhsInRegisters)
    text += "0, "; // the left operand's depth runs along its rows
  return text + (transposed ? "0; " : "1; ");
}

Value ProductWriter::write(Emitter &emitter, ValueRange lhsRegisters, std::optional<Descriptor> lhs,
                           const Descriptor &rhs, ValueRange accumulator) {
  SmallVector<Value> operands(lhsRegisters);
  if (lhs)
    operands.push_back(lhs->lowWord);
  operands.push_back(rhs.lowWord);
  int64_t lhsNumber = resultRegisters, rhsNumber = resultRegisters + operands.size() - 1;

  std::string count = std::to_string(steps);
  std::string text = "{ .reg .pred p; .reg .b64 a<" + count + ">, b<" + count + ">; .reg .b32 t; ";
  // Without an accumulator the first step writes and the others add.
  text += accumulator.empty() ? "setp.ne.b32 p, 0, 0; " : "setp.eq.b32 p, 0, 0; ";
  for (int64_t step = 0; step < steps; ++step) {
    if (lhs)
      text += descriptor("a" + std::to_string(step), *lhs, lhsNumber, step);
    text += descriptor("b" + std::to_string(step), rhs, rhsNumber, step);
  }
  for (int64_t step = 0; step < steps; ++step) {
    if (step == 1 && accumulator.empty())
      text += "setp.eq.b32 p, 0, 0; ";
    text += instruction(step, !lhs);
  }

  std::string constraints;
  for (int64_t i = 0; i < resultRegisters; ++i)
    constraints += "=f,";
  for (size_t i = 0; i < operands.size(); ++i)
    constraints += "r,";
  for (size_t i = 0; i < accumulator.size(); ++i)
    constraints += std::to_string(i) + ",";
  constraints.pop_back();
  llvm::append_range(operands, accumulator);
  auto type = LLVM::LLVMStructType::getLiteral(
      emitter.builder.getContext(),
      SmallVector<Type>(resultRegisters, emitter.builder.getF32Type()));
  return emitter.assembly(type, text + "}", constraints, operands);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static Descriptor rightOperand(Emitter &emitter, TypedValue<RingType> ring, Value turn,
                               bool transposed) {
  Value address = emitter.tileAddress(ring, turn);
  return transposed ? depthAlongRows(emitter, address, ring.getType())
                    : depthDownRows(emitter, address, ring.getType());
}

/// A group of its own, behind a fence of its own (else ptxas serialises: C7519).
static Value writeGroup(Emitter &emitter, llvm::function_ref<Value()> product) {
  NVVM::WgmmaFenceAlignedOp::create(emitter.builder, emitter.loc);
  Value result = product();
  NVVM::WgmmaGroupSyncAlignedOp::create(emitter.builder, emitter.loc);
  return result;
}

static Value lowerContract(ContractOp op, ContractOp::Adaptor adaptor, Emitter &emitter) {
  FragmentType lhs = op.getLhs().getType();
  SmallVector<Value> registers = emitter.unpack(adaptor.getLhs()), accumulator;
  if (adaptor.getAcc())
    accumulator = emitter.unpack(adaptor.getAcc());
  Descriptor rhs = rightOperand(emitter, op.getRhs(), adaptor.getTurn(), op.getTransposed());
  ProductWriter writer(op.getType(), lhs.getElementType(), lhs.getColumns(), op.getTransposed());
  return writeGroup(
      emitter, [&] { return writer.write(emitter, registers, std::nullopt, rhs, accumulator); });
}

static Value lowerContractShared(ContractSharedOp op, ContractSharedOp::Adaptor adaptor,
                                 Emitter &emitter) {
  RingType type = op.getLhs().getType();
  SmallVector<Value> accumulator;
  if (adaptor.getAcc())
    accumulator = emitter.unpack(adaptor.getAcc());
  Value firstRow = emitter.mul(adaptor.getRow(), type.octetStride() / kHopper.octetRows);
  Value address = emitter.add(emitter.tileAddress(op.getLhs(), adaptor.getLhsTurn()), firstRow);
  Descriptor lhs = depthAlongRows(emitter, address, type);
  Descriptor rhs = rightOperand(emitter, op.getRhs(), adaptor.getTurn(), op.getTransposed());
  ProductWriter writer(op.getType(), type.getElementType(), type.depth(), op.getTransposed());
  return writeGroup(emitter, [&] { return writer.write(emitter, {}, lhs, rhs, accumulator); });
}

static Value lowerWaitContracts(WaitContractsOp op, WaitContractsOp::Adaptor adaptor,
                                Emitter &emitter) {
  NVVM::WgmmaWaitGroupSyncOp::create(emitter.builder, emitter.loc, op.getPending());
  return emitter.pack(emitter.tie(emitter.unpack(adaptor.getFragment())),
                      adaptor.getFragment().getType());
}

//===----------------------------------------------------------------------===//
// ldmatrix and stmatrix: 16 columns at a time, 16 rows a warp
//===----------------------------------------------------------------------===//

MatrixRows::MatrixRows(Emitter &emitter, Value tile, Value row, int64_t panelStride)
    : emitter(emitter), panelStride(panelStride) {
  Value lane = emitter.lane();
  Value ownRow = emitter.add(emitter.shiftLeft(emitter.warp(), 4), emitter.bitAnd(lane, 15));
  if (row)
    ownRow = emitter.add(ownRow, row);
  base = emitter.add(tile, emitter.mul(ownRow, kHopper.swizzleBytes));
  // 16-byte unit of the lane's 8 columns, permuted by its row modulo 8.
  unit = emitter.shiftLeft(emitter.bitXor(emitter.shiftRight(lane, 4), emitter.bitAnd(lane, 7)), 4);
}

Value MatrixRows::step(int64_t k) {
  Value inPanel = emitter.bitXor(unit, emitter.i32(k % kStepsPerPanel * kStepBytes));
  return emitter.add(emitter.add(base, inPanel), k / kStepsPerPanel * panelStride);
}

static Value lowerLoadFragment(LoadFragmentOp op, LoadFragmentOp::Adaptor adaptor,
                               Emitter &emitter) {
  MatrixRows rows(emitter, emitter.tileAddress(op.getRing(), adaptor.getTurn()), adaptor.getRow(),
                  op.getRing().getType().panelStride());
  auto four = LLVM::LLVMStructType::getLiteral(op.getContext(),
                                               SmallVector<Type>(4, emitter.builder.getI32Type()));
  SmallVector<Value> registers;
  for (int64_t step = 0; step < op.getType().getColumns() / kHopper.stepDepth; ++step)
    llvm::append_range(registers,
                       emitter.unpack(emitter.assembly(
                           four, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];",
                           "=r,=r,=r,=r,r,~{memory}", rows.step(step))));
  // One lane's release of the tile speaks for the reads of all.
  emitter.syncWarp();
  auto type = LLVM::LLVMStructType::getLiteral(
      op.getContext(), SmallVector<Type>(registers.size(), emitter.builder.getI32Type()));
  return emitter.pack(registers, type);
}

static void lowerStoreFragment(StoreFragmentOp op, StoreFragmentOp::Adaptor adaptor,
                               Emitter &emitter) {
  MatrixRows rows(emitter, emitter.tileAddress(op.getTiles(), adaptor.getIndex()), Value(),
                  op.getTiles().getType().panelStride());
  SmallVector<Value> registers = emitter.unpack(adaptor.getFragment());
  for (size_t i = 0; i + 4 <= registers.size(); i += 4)
    emitter.assembly(
        {}, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
        "r,r,r,r,r,~{memory}",
        {rows.step(i / 4), registers[i], registers[i + 1], registers[i + 2], registers[i + 3]});
  if (size_t last = registers.size() - 2; registers.size() % 4) // half a step
    emitter.assembly({}, "stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0], {$1, $2};",
                     "r,r,r,~{memory}",
                     {rows.step(last / 4), registers[last], registers[last + 1]});
}

void pagefold::hopper::addProductLowerings(const LoweringContext &context) {
  addLowering(context, lowerContract);
  addLowering(context, lowerContractShared);
  addLowering(context, lowerWaitContracts);
  addLowering(context, lowerLoadFragment);
  addLowering(context, lowerStoreFragment);
}
