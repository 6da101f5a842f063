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

// expected-error@+1 {{C4: expects each of kernels to have a symbol and workers, one or all, got {symbol = "k", workers = "two"}}}
tile.plan @f {args = [], bounds = {batch = 4}, error_word = 0, scratch = 0, workspace = 320, workspace_head = 256, kernels = [{symbol = "k", workers = "two"}]}
