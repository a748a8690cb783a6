// SPDX-License-Identifier: Apache-2.0
// Numbers, arrays and tables of the stand-alone program. A number is the shortest decimal that reads back as the same value.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

enum {
    LINE_COLUMNS = 100,
    FILL_ELEMENTS = 64, /* longer arrays of one value are filled by a loop */
};

const char *opd_emit_type(opd_dtype dtype)
{
    opd_dtype real = opd_dtype_real(dtype);
    return real == OPD_F32 ? "float" : real == OPD_F64 ? "double" : "long long";
}

void opd_emit_number(char *text, size_t size, opd_dtype dtype, double value)
{
    bool is_single = opd_dtype_real(dtype) == OPD_F32;
    if (isnan(value) || isinf(value)) {
        snprintf(text, size, "%s", isnan(value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY");
        return;
    }
    if (value == 0 && signbit(value)) {
        snprintf(text, size, "-0.0");
        return;
    }
    char number[40]; /* room for 17 digits, sign, point and exponent */
    for (int digits = 1; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(number, sizeof(number), "%.*g", digits, value);
        bool is_back = is_single ? strtof(number, NULL) == (float)value : strtod(number, NULL) == value;
        if (is_back) {
            break;
        }
    }
    snprintf(text, size, "%s%s", number, is_single && strpbrk(number, ".e") != NULL ? "f" : "");
}

/* Comma-separated items, wrapped. */
typedef struct list {
    opd_buffer *out;
    int column;
    bool is_first;
} list;

static void list_add(list *items, const char *text)
{
    int length = (int)strlen(text);
    if (!items->is_first) {
        opd_buffer_print(items->out, ",");
        items->column++;
    }
    if (items->column + length + 2 > LINE_COLUMNS) {
        opd_buffer_print(items->out, "\n   ");
        items->column = 3;
    }
    opd_buffer_print(items->out, " %s", text);
    items->column += length + 1;
    items->is_first = false;
}

static int parts_of(opd_dtype dtype)
{
    return opd_dtype_is_complex(dtype) ? 2 : 1;
}

/* Marks the elements of an array that exist; the rest are gaps. */
static void mark_existing(uint8_t *exists, const opd_emitter *emit, int which)
{
    const opd_emit_array *array = &emit->arrays[which];
    for (int o = 0; o < emit->item->call.operand_count; o++) {
        const opd_tensor *view = &emit->item->call.operands[o].view;
        opd_runs runs;
        opd_run run;
        if (emit->array_of[o] != which) {
            continue;
        }
        opd_runs_begin(&runs, view);
        while (opd_runs_next(&runs, &run)) {
            uintptr_t at = (uintptr_t)view->data + (uintptr_t)run.offset - array->low;
            for (int64_t i = 0; i < run.count; i++) {
                exists[(at + (uintptr_t)(i * run.step)) / opd_dtype_size(array->dtype)] = 1;
            }
        }
    }
}

static void load_at(const opd_emit_array *array, size_t element, double part[2])
{
    const char *base = (const char *)array->low; // NOLINT(performance-no-int-to-ptr): an address of the case's memory
    opd_element_load(array->dtype, base + element * opd_dtype_size(array->dtype), &part[0], &part[1]);
}

static bool same_number(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b && signbit(a) == signbit(b);
}

/* One value everywhere and no gap? */
static bool is_uniform(const opd_emit_array *array, const uint8_t *exists, size_t count, double first[2])
{
    double now[2];
    if (count <= FILL_ELEMENTS || !exists[0]) {
        return false;
    }
    load_at(array, 0, first);
    for (size_t i = 0; i < count; i++) {
        if (!exists[i]) {
            return false; /* its memory need not be ours to read */
        }
        load_at(array, i, now);
        if (!same_number(first[0], now[0]) || !same_number(first[1], now[1])) {
            return false;
        }
    }
    return first[1] == 0;
}

static void print_initialiser(opd_emitter *emit, const opd_emit_array *array, const uint8_t *exists, size_t count)
{
    int parts = parts_of(array->dtype);
    list items = { emit->out, 0, true };
    opd_buffer_print(emit->out, "static %s %s_data[%zu] = {", opd_emit_type(array->dtype), array->name,
                     count * (size_t)parts);
    items.column = 24 + (int)strlen(array->name);
    for (size_t i = 0; i < count; i++) {
        double part[2] = { 0, 0 };
        char text[48] = "GAP";
        if (exists[i]) {
            load_at(array, i, part);
        }
        for (int p = 0; p < parts; p++) {
            if (exists[i]) {
                opd_emit_number(text, sizeof(text), array->dtype, part[p]);
            }
            list_add(&items, text);
        }
    }
    opd_buffer_print(emit->out, " };\n");
}

static opd_status print_array(opd_emitter *emit, int which)
{
    const opd_emit_array *array = &emit->arrays[which];
    size_t count = (array->high - array->low) / opd_dtype_size(array->dtype);
    int parts = parts_of(array->dtype);
    uint8_t *exists = NULL;
    double first[2];
    if (array->is_sparse || count == 0) {
        opd_buffer_print(emit->out, count == 0 ? "static %s %s_data[1];\n" : "static %s *%s_data;\n",
                         opd_emit_type(array->dtype), array->name);
        return OPD_OK;
    }
    opd_status status = opd_alloc((void **)&exists, count);
    if (status != OPD_OK) {
        return status;
    }
    mark_existing(exists, emit, which);
    if (array->is_scattered || is_uniform(array, exists, count, first)) {
        opd_buffer_print(emit->out, "static %s %s_data[%zu];\n", opd_emit_type(array->dtype), array->name,
                         count * (size_t)parts);
    } else {
        print_initialiser(emit, array, exists, count);
    }
    opd_free(exists);
    return OPD_OK;
}

static void print_scattered_fill(opd_emitter *emit, int which)
{
    const opd_emit_array *array = &emit->arrays[which];
    int parts = parts_of(array->dtype);
    size_t bytes = array->high - array->low;
    if (array->is_sparse) {
        opd_buffer_print(emit->out, "    %s_data = reserve(%zuu);\n", array->name, bytes);
    } else {
        opd_buffer_print(emit->out, "    for (size_t i = 0; i < %zu; i++) {\n        %s_data[i] = GAP;\n    }\n",
                         bytes / opd_dtype_size(opd_dtype_real(array->dtype)), array->name);
    }
    for (int o = 0; o < emit->item->call.operand_count; o++) {
        const opd_tensor *view = &emit->item->call.operands[o].view;
        opd_runs runs;
        opd_run run;
        if (emit->array_of[o] != which) {
            continue;
        }
        opd_runs_begin(&runs, view);
        while (opd_runs_next(&runs, &run)) {
            size_t at = (uintptr_t)view->data + (uintptr_t)run.offset - array->low;
            for (int64_t i = 0; i < run.count; i++) {
                size_t element = (at + (size_t)(i * run.step)) / opd_dtype_size(array->dtype);
                double part[2];
                load_at(array, element, part);
                for (int p = 0; p < parts; p++) {
                    char text[48];
                    opd_emit_number(text, sizeof(text), array->dtype, part[p]);
                    opd_buffer_print(emit->out, "    %s_data[%zu] = %s;\n", array->name,
                                     element * (size_t)parts + (size_t)p, text);
                }
            }
        }
    }
}

static opd_status print_fill(opd_emitter *emit, int which)
{
    const opd_emit_array *array = &emit->arrays[which];
    size_t count = (array->high - array->low) / opd_dtype_size(array->dtype);
    uint8_t *exists = NULL;
    double first[2];
    char text[48];
    if (array->is_scattered) {
        print_scattered_fill(emit, which);
        return OPD_OK;
    }
    if (count <= FILL_ELEMENTS) {
        return OPD_OK;
    }
    opd_status status = opd_alloc((void **)&exists, count);
    if (status != OPD_OK) {
        return status;
    }
    mark_existing(exists, emit, which);
    if (is_uniform(array, exists, count, first) && (first[0] != 0 || signbit(first[0]))) {
        int parts = parts_of(array->dtype);
        opd_emit_number(text, sizeof(text), array->dtype, first[0]);
        opd_buffer_print(emit->out, "    for (size_t i = 0; i < %zu; i%s) {\n        %s_data[i] = %s;\n    }\n",
                         count * (size_t)parts, parts == 2 ? " += 2" : "++", array->name, text);
    }
    opd_free(exists);
    return OPD_OK;
}

void opd_emit_fills(opd_emitter *emit)
{
    for (int i = 0; i < emit->array_count && emit->out->status == OPD_OK; i++) {
        emit->out->status = print_fill(emit, i);
    }
}

static bool has_gap(const opd_emitter *emit)
{
    for (int i = 0; i < emit->array_count; i++) {
        const opd_emit_array *array = &emit->arrays[i];
        size_t count = (array->high - array->low) / opd_dtype_size(array->dtype);
        uint8_t *exists = NULL;
        if (array->is_sparse || count == 0 || opd_alloc((void **)&exists, count) != OPD_OK) {
            continue;
        }
        mark_existing(exists, emit, i);
        bool found = memchr(exists, 0, count) != NULL;
        opd_free(exists);
        if (found) {
            return true;
        }
    }
    return false;
}

void opd_emit_arrays(opd_emitter *emit)
{
    if (has_gap(emit)) {
        opd_buffer_print(emit->out, "#define GAP NAN /* memory between elements: nobody may read it */\n");
    }
    for (int i = 0; i < emit->array_count && emit->out->status == OPD_OK; i++) {
        emit->out->status = print_array(emit, i);
    }
    for (int o = 0; o < emit->item->call.operand_count; o++) {
        const opd_operand *operand = &emit->item->call.operands[o];
        if ((operand->flags & OPD_OPERAND_RETURNED) != 0) {
            opd_buffer_print(emit->out, "static %s %s_data[%d];\n", opd_emit_type(operand->view.dtype), operand->name,
                             parts_of(operand->view.dtype));
        }
    }
}

/* ---------------------------------------------------------------------------------------------------- tables */

bool opd_emit_is_checked(const opd_emitter *emit, int operand)
{
    const opd_operand *bound = &emit->item->call.operands[operand];
    bool has_memory = emit->array_of[operand] >= 0 || (bound->flags & OPD_OPERAND_RETURNED) != 0;
    bool is_output = (bound->role & OPD_ROLE_OUT) != 0;
    return (is_output || operand == emit->mutated) && has_memory && !emit->is_fatal && emit->item->call.bad_arg == 0 &&
           opd_tensor_existing(&bound->view) > 0;
}

bool opd_emit_has_values(const opd_emitter *emit, int operand)
{
    return operand == emit->mutated || (operand != emit->born && emit->options->want[operand] != NULL);
}

bool opd_emit_has_table(const opd_emitter *emit, bool with_values)
{
    for (int o = 0; o < emit->item->call.operand_count; o++) {
        if (opd_emit_is_checked(emit, o) && opd_emit_has_values(emit, o) == with_values) {
            return true;
        }
    }
    return false;
}

/* Unit in the last place of a value of dtype's component. */
static double ulp_of(opd_dtype dtype, double value)
{
    int exponent = 0;
    double size = fabs(value);
    double least = opd_dtype_real(dtype) == OPD_F32 ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
    if (size == 0 || !isfinite(size)) {
        return least;
    }
    frexp(size, &exponent);
    return fmax(ldexp(opd_dtype_epsilon(dtype), exponent - 1), least);
}

static double round_to(opd_dtype dtype, long double value)
{
    return opd_dtype_real(dtype) == OPD_F32 ? (double)(float)value : (double)value;
}

typedef struct goal {
    double want, bound;
} goal;

/*
 * The right value of one component, and its bound: ratio 16 of the gauge and one unit in the last place. Where the terms are so large
 * that the bound leaves the range, any finite value will do.
 */
static goal goal_of(const opd_emitter *emit, int operand, const int64_t *index, int64_t flat, int part)
{
    const long double largest_bound = 1.79e308L; /* its three digits can be written as a double */
    const opd_tensor *view = &emit->item->call.operands[operand].view;
    const long double *gauge = emit->options->gauge[operand];
    if (operand == emit->mutated) {
        double parts[2];
        opd_element_load(view->dtype, (const char *)view->data + opd_tensor_offset(view, index), &parts[0], &parts[1]);
        return (goal){ parts[part], 0 };
    }
    goal out = { round_to(view->dtype, emit->options->want[operand][flat * parts_of(view->dtype) + part]), 0 };
    if (opd_dtype_is_float(view->dtype) && isfinite(out.want)) {
        long double terms = gauge != NULL ? gauge[flat] : (long double)fabs(out.want);
        long double bound = 16 * (long double)opd_dtype_epsilon(view->dtype) * terms + ulp_of(view->dtype, out.want);
        out.bound = bound < largest_bound ? (double)bound : (double)largest_bound;
    }
    return out;
}

/* As the program's is_wrong. */
static bool is_met(goal aim, double got)
{
    return isnan(aim.want) ? isnan(got) : isinf(aim.want) ? got == aim.want : fabs(got - aim.want) <= aim.bound;
}

/* Without what the call left: could the right value be the failure itself? */
static bool is_of_class(goal aim, opd_outcome outcome)
{
    return outcome == OPD_OUTCOME_NAN_BORN ? isnan(aim.want) : isinf(aim.want);
}

static bool is_all_right(const opd_emitter *emit, int operand)
{
    const opd_tensor *view = &emit->item->call.operands[operand].view;
    const opd_tensor *got = emit->options->got[operand];
    int64_t count = opd_tensor_count(view);
    int64_t index[OPD_MAX_RANK] = { 0 };
    for (int64_t flat = 0; flat < count; flat++) {
        double parts[2] = { 0, 0 };
        opd_tensor_unflatten(view, flat, index);
        if (!opd_tensor_exists(view, index)) {
            continue;
        }
        if (got != NULL) {
            const char *element = (const char *)got->data + opd_tensor_offset(got, index);
            opd_element_load(got->dtype, element, &parts[0], &parts[1]);
        }
        for (int p = 0; p < parts_of(view->dtype); p++) {
            goal aim = goal_of(emit, operand, index, flat, p);
            if (got != NULL ? !is_met(aim, parts[p]) : !is_of_class(aim, emit->failure->outcome)) {
                return false;
            }
        }
    }
    return true;
}

int opd_emit_find_born(const opd_emitter *emit)
{
    const opd_call *call = &emit->item->call;
    opd_outcome outcome = emit->failure->outcome;
    for (int o = 0; o < call->operand_count; o++) {
        bool is_it = (outcome == OPD_OUTCOME_NAN_BORN || outcome == OPD_OUTCOME_INF_BORN) &&
                     strcmp(call->operands[o].name, emit->failure->operand) == 0;
        if (is_it && opd_emit_is_checked(emit, o) && emit->options->want[o] != NULL && is_all_right(emit, o)) {
            return o;
        }
    }
    return -1;
}

static void print_table(opd_emitter *emit, int operand)
{
    const opd_operand *bound = &emit->item->call.operands[operand];
    const opd_tensor *view = &bound->view;
    bool has_values = opd_emit_has_values(emit, operand);
    int parts = parts_of(view->dtype);
    int64_t count = opd_tensor_count(view);
    int64_t size = (int64_t)opd_dtype_size(view->dtype) / parts;
    int64_t index[OPD_MAX_RANK] = { 0 };
    bool is_returned = (bound->flags & OPD_OPERAND_RETURNED) != 0;
    list items = { emit->out, 60, true };
    if (operand == emit->born) {
        opd_buffer_print(
            emit->out,
            "/* The right value is no finite number either: that it came from such data is the failure. */\n");
    }
    opd_buffer_print(emit->out,
                     has_values ? "static const expected %s_expected[] = {" : "static const long %s_at[] = {",
                     bound->name);
    for (int64_t flat = 0; flat < count; flat++) {
        opd_tensor_unflatten(view, flat, index);
        if (!opd_tensor_exists(view, index)) {
            continue;
        }
        uintptr_t base = is_returned ? (uintptr_t)view->data : emit->arrays[emit->array_of[operand]].low;
        int64_t at =
            is_returned ? 0 : (int64_t)((uintptr_t)view->data + (uintptr_t)opd_tensor_offset(view, index) - base);
        for (int p = 0; p < parts; p++) {
            char text[128];
            char value[48];
            int used = snprintf(text, sizeof(text), has_values ? "{ %lld" : "%lld", (long long)at / size + p);
            if (has_values && used > 0) {
                goal aim = goal_of(emit, operand, index, flat, p);
                opd_emit_number(value, sizeof(value), OPD_F64, aim.want);
                snprintf(text + used, sizeof(text) - (size_t)used, ", %s, %.3g }", value, aim.bound);
            }
            list_add(&items, text);
        }
    }
    opd_buffer_print(emit->out, " };\n");
}

void opd_emit_tables(opd_emitter *emit)
{
    if (opd_emit_has_table(emit, true)) {
        opd_buffer_print(emit->out, "\n/* Where in the array, the right value, and how far rounding may take it. */\n"
                                    "typedef struct expected {\n    long at;\n    double want, bound;\n} expected;\n");
    }
    for (int o = 0; o < emit->item->call.operand_count; o++) {
        if (opd_emit_is_checked(emit, o)) {
            print_table(emit, o);
        }
    }
}
