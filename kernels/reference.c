/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference and the naive variant of every operator: the table from contract names to forms, and the entry points. The
 * same forms serve both; they differ in the precision of each operation.
 *
 * A result element whose operand is walked with increment 0 depends on the order of the writes: declined.
 */
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "definition.h"
#include "dnnl/dnnl_define.h"

static const struct definition {
    const char *op;
    opd_form *form;
    const char *left, *right;
    uint32_t traits;
} definitions[] = {
    { "gemm", opd_form_multiply, "A", "B", 0 },
    { "gemm3m", opd_form_multiply, "A", "B", 0 },
    { "symm", opd_form_multiply, "A", "B", OPD_TRAIT_SYMMETRIC },
    { "hemm", opd_form_multiply, "A", "B", OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN },
    { "trmm", opd_form_multiply, "A", "B", 0 },
    { "gemv", opd_form_multiply, "A", "x", 0 },
    { "gbmv", opd_form_multiply, "A", "x", 0 },
    { "symv", opd_form_multiply, "A", "x", OPD_TRAIT_SYMMETRIC },
    { "hemv", opd_form_multiply, "A", "x", OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN },
    { "sbmv", opd_form_multiply, "A", "x", OPD_TRAIT_SYMMETRIC },
    { "hbmv", opd_form_multiply, "A", "x", OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN },
    { "spmv", opd_form_multiply, "AP", "x", OPD_TRAIT_SYMMETRIC },
    { "hpmv", opd_form_multiply, "AP", "x", OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN },
    { "trmv", opd_form_multiply, "A", "x", 0 },
    { "tbmv", opd_form_multiply, "A", "x", 0 },
    { "tpmv", opd_form_multiply, "AP", "x", 0 },
    { "trsv", opd_form_solve, "A", "x", 0 },
    { "tbsv", opd_form_solve, "A", "x", 0 },
    { "tpsv", opd_form_solve, "AP", "x", 0 },
    { "trsm", opd_form_solve, "A", "B", 0 },
    { "ger", opd_form_update, "x", "y", OPD_TRAIT_KEEPS },
    { "geru", opd_form_update, "x", "y", OPD_TRAIT_KEEPS },
    { "gerc", opd_form_update, "x", "y", OPD_TRAIT_KEEPS | OPD_TRAIT_CONJUGATE },
    { "syr", opd_form_update, "x", NULL, OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC },
    { "her", opd_form_update, "x", NULL,
      OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN | OPD_TRAIT_CONJUGATE },
    { "spr", opd_form_update, "x", NULL, OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC },
    { "hpr", opd_form_update, "x", NULL,
      OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN | OPD_TRAIT_CONJUGATE },
    { "syr2", opd_form_update, "x", "y", OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC },
    { "her2", opd_form_update, "x", "y",
      OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN | OPD_TRAIT_CONJUGATE },
    { "spr2", opd_form_update, "x", "y", OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC },
    { "hpr2", opd_form_update, "x", "y",
      OPD_TRAIT_KEEPS | OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN | OPD_TRAIT_CONJUGATE },
    { "syrk", opd_form_update, "A", NULL, OPD_TRAIT_SYMMETRIC },
    { "herk", opd_form_update, "A", NULL, OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN | OPD_TRAIT_CONJUGATE },
    { "syr2k", opd_form_update, "A", "B", OPD_TRAIT_SYMMETRIC },
    { "her2k", opd_form_update, "A", "B", OPD_TRAIT_SYMMETRIC | OPD_TRAIT_HERMITIAN | OPD_TRAIT_CONJUGATE },
    { "scal", opd_form_scale_add, "x", NULL, 0 },
    { "rscal", opd_form_scale_add, "x", NULL, 0 },
    { "axpy", opd_form_scale_add, "x", NULL, OPD_TRAIT_KEEPS },
    { "axpby", opd_form_scale_add, "x", NULL, 0 },
    { "omatcopy", opd_form_scale_add, "A", NULL, 0 },
    { "imatcopy", opd_form_scale_add, "A", NULL, 0 },
    { "copy", opd_form_copy, "x", NULL, 0 },
    { "swap", opd_form_swap, "x", "y", 0 },
    { "dot", opd_form_dot, "x", "y", 0 },
    { "dotu", opd_form_dot, "x", "y", 0 },
    { "dotc", opd_form_dot, "x", "y", OPD_TRAIT_CONJUGATE },
    { "sdsdot", opd_form_dot, "x", "y", 0 },
    { "dsdot", opd_form_dot, "x", "y", 0 },
    { "nrm2", opd_form_norm2, "x", NULL, 0 },
    { "asum", opd_form_abs_sum, "x", NULL, 0 },
    { "iamax", opd_form_abs_max, "x", NULL, 0 },
    { "rot", opd_form_rotate, "x", "y", 0 },
    { "crot", opd_form_rotate, "x", "y", 0 },
    { "rotm", opd_form_rotate_modified, "x", "y", 0 },
    { "rotg", opd_form_make_rotation, "a", "b", 0 },
    { "rotmg", opd_form_make_rotation_modified, NULL, NULL, 0 },
};

static const struct definition *find_definition(const opd_call *call)
{
    for (size_t i = 0; call->op != NULL && i < OPD_COUNT(definitions); i++) {
        if (strcmp(call->op->domain, "blas") == 0 && strcmp(definitions[i].op, call->op->name) == 0) {
            return &definitions[i];
        }
    }
    return NULL;
}

opd_status opd_work_load(opd_dense *out, opd_work *work, const char *name)
{
    const opd_operand *operand = opd_call_operand(&work->call, name);
    if (operand == NULL) {
        return opd_fail(OPD_E_INVALID, "%s has no operand %s", work->call.name, name);
    }
    return opd_dense_load(out, &work->call, operand);
}

int opd_work_choice(opd_work *work, const char *name, int otherwise)
{
    const opd_value *value = opd_call_value(&work->call, name);
    bool is_letter = value != NULL && value->kind == OPD_VALUE_CHOICE && opd_choice_is_letter(value->i);
    return is_letter ? (int)value->i : otherwise;
}

opd_factor opd_work_scalar(opd_work *work, const char *name, long double otherwise)
{
    const opd_value *value = opd_call_value(&work->call, name);
    if (value == NULL) {
        return (opd_factor){ { otherwise, 0 }, true };
    }
    return (opd_factor){ { value->re, value->im }, value->kind == OPD_VALUE_REAL };
}

bool opd_work_wants(const opd_work *work, const char *name)
{
    return strcmp(work->wanted->name, name) == 0;
}

/* Is an element of an output written more than once? */
static bool has_repeated_output(const opd_operand *operand)
{
    const opd_tensor *view = &operand->view;
    for (int i = 0; i < view->rank; i++) {
        if (view->stride[i] == 0 && view->shape[i] > 1) {
            return true;
        }
    }
    return false;
}

static opd_status check_call(const opd_call *call, int operand)
{
    if ((call->flags & (OPD_CALL_BAD_ARGS | OPD_CALL_BAD_ORDER)) != 0) {
        return opd_fail(OPD_E_DECLINED, "%s has illegal arguments", call->name);
    }
    if (operand < 0 || operand >= call->operand_count || (call->operands[operand].role & OPD_ROLE_OUT) == 0) {
        return opd_fail(OPD_E_INVALID, "operand %d of %s is no output", operand, call->name);
    }
    for (int i = 0; i < call->operand_count; i++) {
        if ((call->operands[i].role & OPD_ROLE_OUT) != 0 && has_repeated_output(&call->operands[i])) {
            return opd_fail(OPD_E_DECLINED, "%s of %s has increment 0: its value depends on the order of writes",
                            call->operands[i].name, call->name);
        }
    }
    return OPD_OK;
}

/* By the definition of a general operator, which makes all outputs at once. */
static opd_status run_general(long double *value, long double *gauge, const opd_call *call, int operand, bool is_wide)
{
    long double *values[OPD_MAX_OPERANDS] = { NULL };
    long double *gauges[OPD_MAX_OPERANDS] = { NULL };
    opd_status status = opd_definition_run(values, gauge != NULL ? gauges : NULL, call, is_wide);
    if (status == OPD_OK && values[operand] == NULL) {
        status = opd_fail(OPD_E_INVALID, "%s of %s is absent", call->operands[operand].name, call->name);
    }
    size_t bytes = status == OPD_OK ? (size_t)opd_tensor_count(&call->operands[operand].view) * sizeof *value : 0;
    if (bytes > 0) {
        memcpy(value, values[operand], bytes);
    }
    if (bytes > 0 && gauge != NULL) {
        memcpy(gauge, gauges[operand], bytes);
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(values[i]);
        opd_free(gauges[i]);
    }
    return status;
}

static opd_status run(long double *value, long double *gauge, const opd_call *call, int operand, bool is_wide)
{
    const struct definition *definition = find_definition(call);
    bool is_primitive = opd_dnnl_is(call);
    bool is_general = definition == NULL && !is_primitive && opd_kernel_find(call->domain, call->name) != NULL;
    if (definition == NULL && !is_general && !is_primitive) {
        return opd_fail(OPD_E_DECLINED, "there is no reference for %s", call->name);
    }
    opd_status status = check_call(call, operand);
    if (status != OPD_OK) {
        return status;
    }
    if (is_primitive) {
        return opd_dnnl_define(value, gauge, call, operand, !is_wide);
    }
    if (is_general) {
        return run_general(value, gauge, call, operand, is_wide);
    }
    opd_precision own = opd_dtype_real(call->dtype) == OPD_F32 ? OPD_PRECISION_F32 : OPD_PRECISION_F64;
    opd_work work = { .call = *call,
                      .precision = is_wide ? OPD_PRECISION_WIDE : own,
                      .traits = definition->traits,
                      .left = definition->left,
                      .right = definition->right };
    work.wanted = &work.call.operands[operand];
    status = definition->form(&work);
    if (status == OPD_OK) {
        opd_dense_store(value, gauge, &work.result, &work.call, work.wanted);
    }
    opd_dense_free(&work.result);
    return status;
}

opd_status opd_reference_run(long double *value, long double *gauge, const opd_call *call, int operand)
{
    return run(value, gauge, call, operand, true);
}

opd_status opd_naive_run(long double *value, const opd_call *call, int operand)
{
    return run(value, NULL, call, operand, false);
}
