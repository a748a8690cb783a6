# Operators with a state that goes from step to step.
target_sources(opd_ops PRIVATE recurrent/recurrent_contracts.c recurrent/lstm_shapes.c)
target_sources(opd_kernels PRIVATE recurrent/lstm_define.c recurrent/lstm_stages.c recurrent/lstm_variants.c recurrent/recurrent_kernels.c)
