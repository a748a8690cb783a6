// SPDX-License-Identifier: Apache-2.0
// What a stand-alone program needs of a call: its symbol, where its pointer arguments lie, which operands share an array. All of
// it comes from the routine's contract and from the words of the call.
#include <stdio.h>
#include <string.h>

#include "emit.h"

enum {
    MAPPED_ELEMENTS = 4096, /* longer arrays that are mostly gaps are mapped */
    WRITTEN_ELEMENTS = 64,  /* longer arrays that are mostly gaps are not written out */
};

/* The pattern by which the library names the routine: that of symbol, else the first of the call's form and width. */
static const opd_name_pattern *find_pattern(const opd_emitter *emit, const char *symbol)
{
    char text[64];
    int bytes = (emit->item->call.flags & OPD_CALL_ILP64) != 0 ? 8 : 4;
    for (int i = 0; i < opd_name_pattern_count(); i++) {
        const opd_name_pattern *pattern = opd_name_pattern_at(i);
        if (pattern->is_cblas != emit->is_cblas || !opd_routine_symbol(text, sizeof(text), emit->routine, pattern)) {
            continue;
        }
        if (symbol[0] != '\0' ? strcmp(text, symbol) == 0 : pattern->int_bytes == bytes) {
            return pattern;
        }
    }
    return NULL;
}

/* xerbla of the library that has names by pattern: the Fortran name with the same prefix ("scipy_") and integers. */
static void name_refusal(opd_emitter *emit, const opd_name_pattern *of)
{
    const opd_routine xerbla = { .op = emit->routine->op, .name = "xerbla" };
    size_t prefix = (size_t)(strchr(of->format, '%') - of->format) - (of->is_cblas ? strlen("cblas_") : 0);
    for (int i = 0; i < opd_name_pattern_count(); i++) {
        const opd_name_pattern *pattern = opd_name_pattern_at(i);
        if (!pattern->is_cblas && pattern->int_bytes == of->int_bytes &&
            strncmp(pattern->format, of->format, prefix) == 0 && pattern->format[prefix] == '%') {
            opd_routine_symbol(emit->refusal, sizeof(emit->refusal), &xerbla, pattern);
            return;
        }
    }
}

/* The symbol that ran, else the recorded one; its integers are as wide as its pattern says. */
static opd_status name_symbol(opd_emitter *emit)
{
    const opd_call *call = &emit->item->call;
    const char *ran = emit->options->symbol;
    const char *symbol = ran != NULL && ran[0] != '\0' ? ran : call->symbol;
    const opd_name_pattern *pattern = find_pattern(emit, symbol);
    pattern = pattern != NULL ? pattern : find_pattern(emit, "");
    if (pattern == NULL) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s: no library names it in the form that was called", call->name);
    }
    emit->is_direct = pattern->is_direct;
    emit->int_type = pattern->int_bytes == 8 ? "int64_t" : "int";
    opd_routine_symbol(emit->symbol, sizeof(emit->symbol), emit->routine, pattern);
    if (symbol[0] != '\0') {
        snprintf(emit->symbol, sizeof(emit->symbol), "%s", symbol);
    }
    name_refusal(emit, pattern);
    return OPD_OK;
}

static int operand_named(const opd_call *call, const char *name)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static void place_pointers(opd_emitter *emit)
{
    const opd_call *call = &emit->item->call;
    int word = call->op->has_layout ? 1 : 0;
    for (int i = 0; i < emit->arg_count; i++) {
        const opd_arg *arg = &emit->args[i];
        emit->word_of[i] = word;
        word += arg->kind == OPD_ARG_SCALAR && opd_dtype_is_complex(arg->dtype) ? 2 : 1;
        int operand = arg->kind == OPD_ARG_OPERAND ? operand_named(call, arg->name) : -1;
        if (operand >= 0) {
            emit->pointer_of[operand] = (uintptr_t)emit->words[emit->word_of[i]];
        }
    }
}

/* Memory an operand needs: its existing elements and the element its pointer argument names. */
static void range_of(const opd_emitter *emit, int operand, uintptr_t *low, uintptr_t *high)
{
    const opd_tensor *view = &emit->item->call.operands[operand].view;
    int64_t first = 0;
    int64_t last = 0;
    opd_tensor_span(view, &first, &last);
    *low = (uintptr_t)view->data + (uintptr_t)first;
    *high = (uintptr_t)view->data + (uintptr_t)last;
    uintptr_t pointer = emit->pointer_of[operand];
    if (first == last) {
        *low = pointer != 0 ? pointer : (uintptr_t)view->data;
        *high = *low;
    } else if (pointer != 0 && pointer < *low) {
        *low = pointer;
    }
}

static void add_to_array(opd_emitter *emit, int operand)
{
    const opd_operand *bound = &emit->item->call.operands[operand];
    uintptr_t low = 0;
    uintptr_t high = 0;
    emit->array_of[operand] = -1;
    if ((bound->flags & OPD_OPERAND_RETURNED) != 0 || bound->view.data == NULL) {
        return;
    }
    range_of(emit, operand, &low, &high);
    for (int i = 0; i < emit->array_count; i++) {
        opd_emit_array *array = &emit->arrays[i];
        bool meets = (low < array->high && array->low < high) || low == array->low;
        if (meets && opd_dtype_real(array->dtype) == opd_dtype_real(bound->view.dtype)) {
            array->low = low < array->low ? low : array->low;
            array->high = high > array->high ? high : array->high;
            emit->array_of[operand] = i;
            return;
        }
    }
    opd_emit_array *array = &emit->arrays[emit->array_count];
    snprintf(array->name, sizeof(array->name), "%s", bound->name);
    array->dtype = bound->view.dtype;
    array->low = low;
    array->high = high;
    emit->array_of[operand] = emit->array_count++;
}

static void classify_arrays(opd_emitter *emit)
{
    const opd_call *call = &emit->item->call;
    int guarded = emit->failure->outcome == OPD_OUTCOME_OOB_READ || emit->failure->outcome == OPD_OUTCOME_OOB_WRITE
                      ? operand_named(call, emit->failure->operand)
                      : -1;
    for (int i = 0; i < emit->array_count; i++) {
        opd_emit_array *array = &emit->arrays[i];
        int64_t existing = 0;
        for (int o = 0; o < call->operand_count; o++) {
            existing += emit->array_of[o] == i ? opd_tensor_existing(&call->operands[o].view) : 0;
        }
        int64_t elements = (int64_t)((array->high - array->low) / opd_dtype_size(array->dtype));
        array->is_scattered = elements > WRITTEN_ELEMENTS && existing < elements / 4;
        array->is_sparse = elements > MAPPED_ELEMENTS && array->is_scattered;
        array->is_guarded = guarded >= 0 && emit->array_of[guarded] == i && !array->is_sparse;
    }
}

static bool is_fatal(opd_outcome outcome)
{
    return outcome == OPD_OUTCOME_OOB_READ || outcome == OPD_OUTCOME_OOB_WRITE || outcome == OPD_OUTCOME_CRASH ||
           outcome == OPD_OUTCOME_HANG || outcome == OPD_OUTCOME_UNSUPPORTED;
}

opd_status opd_emit_prepare(opd_emitter *emit, opd_buffer *out, const opd_case *item, const opd_failure *failure,
                            const opd_emit_options *options)
{
    const opd_call *call = &item->call;
    memset(emit, 0, sizeof(*emit));
    emit->out = out;
    emit->item = item;
    emit->failure = failure;
    emit->options = options;
    emit->routine = call->op != NULL ? opd_routine_find(call->name) : NULL;
    if (emit->routine == NULL) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s is not a BLAS routine: there is no C form to write", call->name);
    }
    emit->is_fatal = is_fatal(failure->outcome);
    emit->is_cblas = (call->flags & OPD_CALL_CBLAS) != 0;
    emit->has_order = call->op->has_layout && (emit->is_cblas || call->op->has_order_argument);
    emit->arg_count = opd_routine_args(emit->routine, emit->args, OPD_MAX_WORDS);
    opd_call_to_words(emit->words, call);
    opd_status status = name_symbol(emit);
    if (status != OPD_OK) {
        return status;
    }
    place_pointers(emit);
    for (int o = 0; o < call->operand_count; o++) {
        add_to_array(emit, o);
    }
    classify_arrays(emit);
    emit->mutated = failure->outcome == OPD_OUTCOME_INPUT_MUTATED ? operand_named(call, failure->operand) : -1;
    emit->born = -1;
    emit->born = opd_emit_find_born(emit);
    return OPD_OK;
}
