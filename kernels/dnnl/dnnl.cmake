# oneDNN primitives as calls. Types come from oneDNN's headers; nothing is linked with its library.
target_sources(opd_ops PRIVATE dnnl/dnnl_forms.c dnnl/dnnl_forms_other.c dnnl/dnnl_form_find.c dnnl/dnnl_words.c dnnl/dnnl_layout.c dnnl/dnnl_bind.c dnnl/dnnl_call.c dnnl/dnnl_descriptor.c dnnl/dnnl_work.c dnnl/dnnl_quantize.c)
target_sources(opd_kernels PRIVATE dnnl/dnnl_reference.c dnnl/dnnl_products.c dnnl/dnnl_elements.c dnnl/dnnl_lines.c dnnl/dnnl_window.c dnnl/dnnl_recurrent.c)
