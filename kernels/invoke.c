/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls a BLAS routine by address from a call's words, by libffi, in the calling convention its flags name:
 *   CBLAS     enumerations, integers and real scalars by value, complex scalars by pointer, complex results through a
 *             last pointer argument (NAME_sub) or in registers (OPD_CALL_DIRECT), index results as size_t.
 *   Fortran   everything by pointer, one hidden length (size_t, 1) per character argument after all others, complex
 *             results in registers (gfortran; not the f2c convention), index results as the integer type.
 */
#include <ffi.h>
#include <string.h>

#include "plan.h"

enum { MAX_FFI_ARGS = 2 * OPD_PLAN_ARGS + 2 };

/* Room for one argument or result of any kind. */
union cell {
    int32_t i32;
    int64_t i64;
    size_t size;
    char letter;
    float f32[2];
    double f64[2];
    void *pointer;
    ffi_arg small; /* libffi widens small integer results to this */
};

struct frame {
    bool is_cblas;
    bool is_ilp64;
    int count;
    ffi_type *types[MAX_FFI_ARGS];
    void *values[MAX_FFI_ARGS];
    union cell cells[MAX_FFI_ARGS];    /* what values point at */
    union cell pointees[MAX_FFI_ARGS]; /* what pointer arguments made here point at */
    int lengths;                       /* hidden character lengths still to append */
};

static union cell *add(struct frame *frame, ffi_type *type)
{
    int at = frame->count++;
    frame->types[at] = type;
    frame->values[at] = &frame->cells[at];
    return &frame->cells[at];
}

/* A pointer argument to a cell of the frame; returns that cell. */
static union cell *add_reference(struct frame *frame)
{
    union cell *pointee = &frame->pointees[frame->count];
    add(frame, &ffi_type_pointer)->pointer = pointee;
    return pointee;
}

static void add_integer(struct frame *frame, int64_t value)
{
    union cell *cell =
        frame->is_cblas ? add(frame, frame->is_ilp64 ? &ffi_type_sint64 : &ffi_type_sint32) : add_reference(frame);
    if (frame->is_ilp64) {
        cell->i64 = value;
    } else {
        cell->i32 = (int32_t)value;
    }
}

static void add_choice(struct frame *frame, const char *letters, int64_t letter)
{
    if (frame->is_cblas) {
        add(frame, &ffi_type_sint32)->i32 = opd_choice_to_cblas(letters, letter);
        return;
    }
    add_reference(frame)->letter = (char)letter;
    frame->lengths++;
}

static void add_scalar(struct frame *frame, opd_dtype dtype, const uint64_t *words)
{
    double parts[2] = { 0 };
    bool is_complex = opd_dtype_is_complex(dtype);
    bool is_single = opd_dtype_real(dtype) == OPD_F32;
    memcpy(parts, words, is_complex ? sizeof parts : sizeof parts[0]);
    bool by_value = frame->is_cblas && !is_complex;
    union cell *cell = by_value ? add(frame, is_single ? &ffi_type_float : &ffi_type_double) : add_reference(frame);
    for (int i = 0; i < (is_complex ? 2 : 1); i++) {
        if (is_single) {
            cell->f32[i] = (float)parts[i];
        } else {
            cell->f64[i] = parts[i];
        }
    }
}

static void add_arguments(struct frame *frame, const opd_call *call, const opd_plan *plan, const uint64_t *words)
{
    if (call->op->has_layout) {
        if (frame->is_cblas || call->op->has_order_argument) {
            add_choice(frame, "RC", (int64_t)words[0]);
        }
        words++;
    }
    for (int i = 0; i < plan->arg_count; i++) {
        int slot = plan->args[i].slot;
        if (slot < 0) {
            add(frame, &ffi_type_pointer)->pointer = (void *)(uintptr_t)*words++;
            continue;
        }
        const opd_plan_value *value = &plan->values[slot];
        if (value->use == OPD_USE_CHOICE) {
            add_choice(frame, opd_plan_letters(value, call->dtype), (int64_t)*words++);
        } else if (value->use == OPD_USE_SCALAR) {
            opd_dtype dtype = opd_plan_dtype(value->type, OPD_DTYPE_NONE, call->dtype);
            add_scalar(frame, dtype, words);
            words += opd_dtype_is_complex(dtype) ? 2 : 1;
        } else {
            add_integer(frame, (int64_t)*words++);
        }
    }
}

static ffi_type *result_type(const struct frame *frame, const opd_operand *returned)
{
    if (returned == NULL) {
        return &ffi_type_void;
    }
    switch (returned->view.dtype) {
    case OPD_F32:
        return &ffi_type_float;
    case OPD_F64:
        return &ffi_type_double;
    case OPD_C64:
        return &ffi_type_complex_float;
    case OPD_C128:
        return &ffi_type_complex_double;
    default:
        return frame->is_cblas || frame->is_ilp64 ? &ffi_type_sint64 : &ffi_type_sint32;
    }
}

static void store_result(void *data, const struct frame *frame, const opd_operand *returned, const union cell *result)
{
    if (data == NULL) {
        return;
    }
    if ((returned->flags & OPD_OPERAND_INDEX) == 0) {
        memcpy(data, result, opd_dtype_size(returned->view.dtype));
        return;
    }
    /* Some CBLAS declare an int where others have size_t: without 64-bit integers only the low half is sure. */
    int64_t index = frame->is_ilp64 ? result->i64 : (int64_t)(int32_t)(uint32_t)result->small;
    memcpy(data, &index, sizeof index);
}

opd_status opd_routine_call(opd_function *function, const opd_call *call)
{
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    uint64_t words[OPD_MAX_WORDS];
    opd_call_to_words(words, call);
    struct frame frame = { .is_cblas = (call->flags & OPD_CALL_CBLAS) != 0,
                           .is_ilp64 = (call->flags & OPD_CALL_ILP64) != 0 };
    add_arguments(&frame, call, plan, words);
    const opd_operand *returned = NULL;
    for (int i = 0; i < plan->operand_count; i++) {
        returned = (call->operands[i].flags & OPD_OPERAND_RETURNED) != 0 ? &call->operands[i] : returned;
    }
    union cell result;
    memset(&result, 0, sizeof result);
    ffi_type *type = result_type(&frame, returned);
    if (frame.is_cblas && call->op->has_sub_form && (call->flags & OPD_CALL_DIRECT) == 0) {
        add(&frame, &ffi_type_pointer)->pointer = &result;
        type = &ffi_type_void;
    }
    for (; frame.lengths > 0; frame.lengths--) {
        add(&frame, &ffi_type_uint64)->size = 1;
    }
    ffi_cif cif;
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)frame.count, type, frame.types) != FFI_OK) {
        return opd_fail(OPD_E_UNSUPPORTED, "the signature of %s cannot be called", call->name);
    }
    ffi_call(&cif, function, type == &ffi_type_void ? NULL : &result, frame.values);
    if (returned != NULL) {
        store_result(returned->view.data, &frame, returned, &result);
    }
    return OPD_OK;
}
