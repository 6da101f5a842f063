// A graph without declared maxima.
func.func @no_bounds(%x: tensor<?x2x64xf32>, %w: tensor<64xf32>) -> tensor<?x2x64xf32> {
  %y = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x2x64xf32>, tensor<64xf32>
  return %y : tensor<?x2x64xf32>
}
