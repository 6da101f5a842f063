"""Prints graphs whose pages no TMA box brings: each page size, head dimension and element, and what takes more registers."""

GRAPH = """
func.func @{name}(%q: tensor<?x8x{k}x{half}>, %rows: tensor<?xi32>, %k: tensor<?x{page}x2x{k}x{half}>, %v: tensor<?x{page}x2x{v}x{half}>,
    %table: {table}, {starts_argument}%lens: tensor<?xi32>) -> tensor<?x8x{v}x{half}>
    attributes {{attn.bounds = #attn.bounds<batch 64, q_len {q_len}, kv_len 16384>}} {{
  %cache = attn.cache %k, %v table(%table) {starts}lens(%lens) layout(nhd)
    : tensor<?x{page}x2x{k}x{half}>, tensor<?x{page}x2x{v}x{half}>, {table}, tensor<?xi32>
    -> !attn.paged_kv<2 heads, {k} x {v}, {half}, page {page}>
  %o = attn.attention %q, %cache rows(%rows) scale 0.09 mask <{mask}>
    : tensor<?x8x{k}x{half}>, !attn.paged_kv<2 heads, {k} x {v}, {half}, page {page}>, tensor<?xi32> -> tensor<?x8x{v}x{half}>
  return %o : tensor<?x8x{v}x{half}>
}}"""

PAGES = (1, 2, 12, 48)
DIMS = ((64, 64), (96, 96), (128, 128), (192, 128), (256, 256))


def graph(page, k, v, half, q_len=8192, mask="causal", starts=False):
    print(
        GRAPH.format(
            name=f"p{page}_{k}x{v}_{half}_{q_len}{'_starts' if starts else ''}",
            page=page,
            k=k,
            v=v,
            half=half,
            q_len=q_len,
            mask=mask,
            table="tensor<?xi32>" if starts else "tensor<?x?xi32>",
            starts_argument="%starts: tensor<?xi32>, " if starts else "",
            starts="starts(%starts : tensor<?xi32>) " if starts else "",
        )
    )


for half in ("bf16", "f16"):
    for page in PAGES:
        for k, v in DIMS:
            graph(page, k, v, half)
for page in PAGES:  # a list of pages with row starts, parts of the keys, three ranges of tiles
    graph(page, 128, 128, "bf16", q_len=16, mask="causal and sink_window(4, 1000)", starts=True)
graph(12, 40, 40, "f16")
