# Softmax, norms, and fused operators of them.
target_sources(opd_ops PRIVATE normalize/normalize_shapes.c normalize/normalize_contracts.c)
target_sources(opd_kernels PRIVATE normalize/normalize_kernels.c normalize/line_define.c normalize/norm_define.c
  normalize/softmax_define.c normalize/window_l2_define.c normalize/norm_stages.c normalize/norm_lines.c normalize/batch_norm.c
  normalize/softmax.c normalize/lp_norm.c normalize/window_l2.c normalize/wide_line.c)
