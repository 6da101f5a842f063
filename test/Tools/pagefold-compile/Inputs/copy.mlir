// Level 4 for target cuda, by hand: one kernel and its launch plan.
gpu.module @kernels {
  llvm.func @copy_k0(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                     %x: !llvm.ptr, %n: i32, %out: !llvm.ptr)
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %inside = llvm.icmp "ult" %tid, %n : i32
    llvm.cond_br %inside, ^copy, ^end
  ^copy:
    %from = llvm.getelementptr %x[%tid] : (!llvm.ptr, i32) -> !llvm.ptr, bf16
    %value = llvm.load %from : !llvm.ptr -> bf16
    %to = llvm.getelementptr %out[%tid] : (!llvm.ptr, i32) -> !llvm.ptr, bf16
    llvm.store %value, %to : bf16, !llvm.ptr
    llvm.br ^end
  ^end:
    llvm.return
  }
}
tile.plan @copy {
  args = [{name = "x", dtype = "bf16", shape = ["tokens", 64], access = "read"},
          {name = "out0", dtype = "bf16", shape = ["tokens", 64], access = "write"}],
  bounds = {tokens = 64}, workspace = 512, workspace_head = 256, scratch = 0, error_word = 0, init = [{offset = 256, size = 64, byte = 255}],
  kernels = [{symbol = "copy_k0", op = "linalg.generic", threads = 128, shared = 0, ctas = 1, params = [
    {kind = "map", arg = 0, element = "bf16", box = [64, 16], dims = [{extent = 64}, {extent_of = 0, stride_of = 0}]},
    {kind = "pointer", arg = 0}, {kind = "extent", arg = 0, dim = 0, add = -1}, {kind = "pointer", arg = 1}]}]
}
