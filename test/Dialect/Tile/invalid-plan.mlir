// A negative test for each constraint of the launch plan.
// RUN: pagefold-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{C1: expects an integer of at least 0 as scratch}}
tile.plan @f {args = [], bounds = {batch = 4}, error_word = 0, workspace = 320, workspace_head = 256, kernels = []}

// -----

// expected-error@+1 {{C1: expects an integer of at least 0 as workspace}}
tile.plan @f {args = [], bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = -1, workspace_head = 256, kernels = []}

// -----

// expected-error@+1 {{C1: expects an integer of at least 0 as counters}}
tile.plan @f {args = [], bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = [], counters = "64"}

// -----

// expected-error@+1 {{C2: expects bounds to map names to integers}}
tile.plan @f {args = [], bounds = {batch = "many"}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = []}

// -----

// expected-error@+1 {{C3: expects an array args}}
tile.plan @f {bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = []}

// -----

// expected-error@+1 {{C3: expects each of args to have a name, a dtype, a shape and an access, got {access = "rw"}}
tile.plan @f {args = [{name = "q", dtype = "f32", shape = [], access = "rw"}], bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = []}

// -----

// expected-error@+1 {{C3: expects each of args to have a name, a dtype, a shape and an access, got {access}}
tile.plan @f {args = [{name = "q", dtype = "f32", access = "read"}], bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = []}

// -----

// expected-error@+1 {{C3: expects each of args to have a name, a dtype, a shape and an access, got {access = "read", align = "16"}}
tile.plan @f {args = [{name = "q", dtype = "f32", shape = [], access = "read", align = "16"}], bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = []}

// -----

// expected-error@+1 {{C4: expects each of kernels to have a symbol and workers, one or all, or threads, shared, params and ctas or ctas_per_sm, got {symbol = "k", workers = "two"}}}
tile.plan @f {args = [], bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = [{symbol = "k", workers = "two"}]}

// -----

// expected-error@+1 {{C1: expects an integer of at least 0 as workspace_head}}
tile.plan @f {args = [], bounds = {}, workspace = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = []}]}

// -----

// expected-error@+1 {{C4: expects each of kernels to have a symbol and workers, one or all, or threads, shared, params and ctas or ctas_per_sm, got {params = [], shared = 0 : i64, symbol = "k", threads = 32 : i64}}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, params = []}]}

// -----

// expected-error@+1 {{C4: expects the first of kernels to start after all that was before the launch, got one that is early}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, early, params = []}]}

// -----

// expected-error@+1 {{C5: expects each of params to have a kind and its keys, got {kind = "texture"}}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = [{kind = "texture"}]}]}

// -----

// expected-error@+1 {{C5: expects each of params to have a kind and its keys, got {arg = 0 : i64, kind = "extent"}}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = [{kind = "extent", arg = 0}]}]}

// -----

// expected-error@+1 {{C5: expects each of params to have a kind and its keys, got {arg = 0 : i64, box = [64], dims = [64], element = "bf16", kind = "map"}}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = [{kind = "map", arg = 0, element = "bf16", box = [64], dims = [64]}]}]}

// -----

// expected-error@+1 {{C5: expects each of params to have a kind and its keys, got {arg = 0 : i64, bits = "7", kind = "constant"}}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = [{kind = "constant", arg = 0, bits = "7"}]}]}

// -----

// expected-error@+1 {{C5: expects each of params to have a kind and its keys, got {arg = 0 : i64, box_rows = 16 : i64, kind = "page_map", panels = 2 : i64}}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = [{kind = "page_map", arg = 0, panels = 2, box_rows = 16}]}]}

// -----

// expected-error@+1 {{C5: expects each of params to have a kind and its keys, got {arg = 0 : i64, kind = "page_step", of = "slot", panels = 2 : i64}}}
tile.plan @f {args = [], bounds = {}, workspace = 0, workspace_head = 0, kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = [{kind = "page_step", arg = 0, panels = 2, of = "slot"}]}]}

// -----

// expected-error@+1 {{C6: expects each of init to have an offset, a size and a byte, got {byte = 255 : i64, offset = 0 : i64}}}
tile.plan @f {args = [], bounds = {}, workspace = 64, workspace_head = 0, init = [{offset = 0, byte = 255}], kernels = [{symbol = "k", threads = 32, shared = 0, ctas = 1, params = []}]}
