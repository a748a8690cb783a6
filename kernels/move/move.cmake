# Operators that move elements without computing (Resize interpolates).
target_sources(opd_ops PRIVATE move/move_contracts.c move/move_contents.c move/move_shapes.c move/resize_shapes.c)
target_sources(opd_kernels PRIVATE move/move_define.c move/move_copy.c move/move_variants.c move/move_lookup.c
  move/resize_variants.c move/move_kernels.c)
