// Level 4 for target cuda, by hand: a kernel that is given a map of short pages and its steps.
gpu.module @kernels {
  llvm.func @peek_k0(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                     %head_panel: i32, %page: i32, %head_page: i32, %seven: i32)
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    llvm.return
  }
}
tile.plan @peek {
  args = [{name = "k_pages", dtype = "f16", shape = [unit, 16, 8, 128], access = "read"}],
  bounds = {}, workspace = 256, workspace_head = 256,
  kernels = [{symbol = "peek_k0", op = "tile.space", threads = 32, shared = 0, ctas = 1, params = [
    {kind = "page_map", arg = 0, element = "f16", panels = 2, box_rows = 8},
    {kind = "page_step", arg = 0, panels = 2, of = "head_panel"}, {kind = "page_step", arg = 0, panels = 2, of = "page"},
    {kind = "page_step", arg = 0, panels = 2, of = "head_page"}, {kind = "constant", bits = 7}]}]
}
