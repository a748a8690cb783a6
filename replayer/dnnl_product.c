/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_sgemm and its like: letters and numbers from the call's attributes, leading dimensions from the layouts. */
#include "dnnl_product.h"

#include <dlfcn.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>
#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

/* What the routines take. */
typedef struct arguments {
    opd_dnnl_product what;
    dnnl_dim_t sizes[3]; /* m, n, k */
    dnnl_dim_t ld[3];
    void *data[4];
} arguments;

bool opd_dnnl_product_is(const opd_call *call)
{
    return opd_dnnl_kind(call) == dnnl_gemm;
}

static opd_status add_matrix(arguments *to, const opd_call *call, int operand, int trans, const int *sizes)
{
    dnnl_memory_desc_t md;
    opd_status status = opd_dnnl_memory_desc(&md, call, operand);
    bool is_turned = trans == 'T';
    if (status != OPD_OK) {
        return status;
    }
    const dnnl_dim_t *strides = md.format_desc.blocking.strides;
    dnnl_dim_t inner = strides[is_turned ? 0 : 1];
    dnnl_dim_t columns = md.dims[is_turned ? 0 : 1];
    dnnl_dim_t ld = strides[is_turned ? 1 : 0];
    bool is_matrix = md.ndims == 2 && md.format_desc.blocking.inner_nblks == 0 && (is_turned || trans == 'N') &&
                     (inner == 1 || columns == 1);
    if (!is_matrix) {
        return opd_fail(OPD_E_INVALID, "%s: the layout of %s is not that of its letter", call->name,
                        call->operands[operand].name);
    }
    /* A single row may stand anywhere. */
    to->ld[operand] = ld > columns || md.dims[is_turned ? 1 : 0] > 1 ? ld : columns;
    to->sizes[sizes[0]] = md.dims[0];
    to->sizes[sizes[1]] = md.dims[1];
    return to->ld[operand] >= columns
               ? OPD_OK
               : opd_fail(OPD_E_INVALID, "%s: rows of %s overlap", call->name, call->operands[operand].name);
}

static opd_status take(arguments *to, const opd_call *call)
{
    static const int sizes[3][2] = { { 0, 2 }, { 2, 1 }, { 0, 1 } };
    opd_dnnl_descriptor descriptor;
    bool has_offsets = opd_call_text(call, "offsetc", "")[0] != '\0';
    opd_status status = opd_dnnl_describe(&descriptor, call, false);
    if (status == OPD_OK && call->operand_count != (has_offsets ? 4 : 3)) {
        status = opd_fail(OPD_E_INVALID, "%s with %d operands", call->name, call->operand_count);
    }
    if (status != OPD_OK) {
        return status;
    }
    memset(to, 0, sizeof *to);
    to->what = descriptor.product;
    const int letters[] = { to->what.transa, to->what.transb, 'N' };
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        bool is_in_order = opd_dnnl_arg(call, i) == OPD_DNNL_PRODUCT_A + i;
        status = is_in_order ? OPD_OK : opd_fail(OPD_E_INVALID, "operands of %s out of order", call->name);
        to->data[i] = call->operands[i].view.data;
        if (status == OPD_OK && i < 3) {
            status = add_matrix(to, call, i, letters[i], sizes[i]);
        }
    }
    dnnl_memory_desc_t offsets; /* as many as the result asks for */
    return status == OPD_OK && has_offsets ? opd_dnnl_memory_desc(&offsets, call, 3) : status;
}

static dnnl_status_t call_f32(void *function, const arguments *of)
{
    __typeof__(&dnnl_sgemm) routine;
    memcpy(&routine, &function, sizeof routine);
    return routine((char)of->what.transa, (char)of->what.transb, of->sizes[0], of->sizes[1], of->sizes[2],
                   of->what.alpha, of->data[0], of->ld[0], of->data[1], of->ld[1], of->what.beta, of->data[2],
                   of->ld[2]);
}

#define INTEGER_CALL(routine_name, type)                                                                      \
    static dnnl_status_t call_##type(void *function, const arguments *of)                                     \
    {                                                                                                         \
        __typeof__(&(routine_name)) routine;                                                                  \
        memcpy(&routine, &function, sizeof routine);                                                          \
        return routine((char)of->what.transa, (char)of->what.transb, (char)of->what.offsetc, of->sizes[0],    \
                       of->sizes[1], of->sizes[2], of->what.alpha, of->data[0], of->ld[0], (type)of->what.ao, \
                       of->data[1], of->ld[1], (int8_t)of->what.bo, of->what.beta, of->data[2], of->ld[2],    \
                       of->data[3]);                                                                          \
    }

INTEGER_CALL(dnnl_gemm_u8s8s32, uint8_t)
INTEGER_CALL(dnnl_gemm_s8s8s32, int8_t)

opd_status opd_dnnl_product_run(void *handle, const opd_call *call)
{
    static const struct {
        const char *name;
        opd_dtype a, b, c;
        dnnl_status_t (*call)(void *function, const arguments *of);
    } routines[] = {
        { "dnnl_sgemm", OPD_F32, OPD_F32, OPD_F32, call_f32 },
        { "dnnl_gemm_u8s8s32", OPD_U8, OPD_I8, OPD_I32, call_uint8_t },
        { "dnnl_gemm_s8s8s32", OPD_I8, OPD_I8, OPD_I32, call_int8_t },
    };
    arguments of;
    opd_status status = take(&of, call);
    if (status != OPD_OK) {
        return status;
    }
    for (size_t i = 0; i < OPD_COUNT(routines); i++) {
        bool is_it = strcmp(routines[i].name, call->name) == 0;
        bool has_types = call->operands[0].view.dtype == routines[i].a &&
                         call->operands[1].view.dtype == routines[i].b &&
                         call->operands[2].view.dtype == routines[i].c &&
                         (call->operand_count == 3 || call->operands[3].view.dtype == OPD_I32);
        void *function = is_it && has_types ? dlsym(handle, call->name) : NULL;
        if (function != NULL) {
            dnnl_status_t given = routines[i].call(function, &of);
            return given == dnnl_success ? OPD_OK
                                         : opd_fail(OPD_E_CHILD, "the library gave up with its status %d", (int)given);
        }
    }
    return opd_fail(OPD_E_NOTFOUND, "the library has no %s on such operands", call->name);
}
