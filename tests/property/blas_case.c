/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and combinations for the BLAS property tests. */
#include "blas_case.h"

#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>

enum { MARGIN = 256, POISON = 0xff };

uint64_t dice_u64(dice *d)
{
    return opd_random_u64(d->seed, 7, d->count++);
}

int64_t dice_between(dice *d, int64_t low, int64_t high)
{
    return low + (int64_t)(dice_u64(d) % (uint64_t)(high - low + 1));
}

/* Random values in [-1, -1/4] and [1/4, 1]: diagonals stay away from zero. */
static void fill_elements(const opd_tensor *view, dice *d)
{
    int64_t count = opd_tensor_count(view);
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        if (!opd_tensor_exists(view, index)) {
            continue;
        }
        double part[2];
        for (int i = 0; i < 2; i++) {
            double size = 0.25 + (double)(dice_u64(d) % 100000) / 100000.0 * 0.75;
            part[i] = dice_u64(d) % 2 == 0 ? size : -size;
        }
        opd_element_store(view->dtype, (char *)view->data + opd_tensor_offset(view, index), part[0], part[1]);
    }
}

static int pointer_owner(const opd_call *call, int index)
{
    int shared = opd_call_shared(call, index);
    return shared >= 0 ? shared : index;
}

void blas_case_fill(blas_case *item, dice *d, bool poison)
{
    opd_call *call = &item->call;
    int64_t lows[OPD_MAX_OPERANDS] = { 0 };
    int64_t highs[OPD_MAX_OPERANDS] = { 0 };
    for (int i = 0; i < call->operand_count; i++) {
        int64_t low;
        int64_t high;
        opd_tensor_span(&call->operands[i].view, &low, &high);
        int owner = pointer_owner(call, i);
        lows[owner] = low < lows[owner] ? low : lows[owner];
        highs[owner] = high > highs[owner] ? high : highs[owner];
    }
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        int owner = pointer_owner(call, i);
        if (owner == i) {
            item->sizes[i] = (size_t)(highs[i] - lows[i]) + 2 * MARGIN;
            item->buffers[i] = malloc(item->sizes[i]);
            memset(item->buffers[i], POISON, item->sizes[i]);
        }
        operand->view.data = item->buffers[owner] + MARGIN - lows[owner];
        operand->address = (uint64_t)(uintptr_t)operand->view.data;
        bool is_input = (operand->role & OPD_ROLE_IN) != 0;
        bool is_unread = (operand->flags & OPD_OPERAND_MUST_NOT_READ) != 0;
        if (is_input && !(is_unread && poison)) {
            fill_elements(&operand->view, d);
        }
    }
    for (int i = 0; i < call->operand_count; i++) {
        if (item->buffers[i] != NULL) {
            item->snapshots[i] = malloc(item->sizes[i]);
            memcpy(item->snapshots[i], item->buffers[i], item->sizes[i]);
        }
    }
}

void blas_case_done(blas_case *item)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        free(item->buffers[i]);
        free(item->snapshots[i]);
    }
    memset(item, 0, sizeof *item);
}

static void mark_elements(uint8_t *may_change, const uint8_t *buffer, const opd_tensor *view)
{
    int64_t count = opd_tensor_count(view);
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        if (opd_tensor_exists(view, index)) {
            const uint8_t *element = (const uint8_t *)view->data + opd_tensor_offset(view, index);
            memset(may_change + (element - buffer), 1, opd_dtype_size(view->dtype));
        }
    }
}

int64_t blas_case_stray_write(const blas_case *item, int *operand)
{
    const opd_call *call = &item->call;
    for (int i = 0; i < call->operand_count; i++) {
        if (item->buffers[i] == NULL) {
            continue;
        }
        uint8_t *may_change = calloc(1, item->sizes[i]);
        for (int k = 0; k < call->operand_count; k++) {
            bool is_output = (call->operands[k].role & OPD_ROLE_OUT) != 0;
            bool is_in_place = strcmp(call->op->name, "imatcopy") == 0;
            if (pointer_owner(call, k) == i && (is_output || is_in_place)) {
                mark_elements(may_change, item->buffers[i], &call->operands[k].view);
            }
        }
        int64_t stray = -1;
        for (size_t at = 0; at < item->sizes[i] && stray < 0; at++) {
            stray = !may_change[at] && item->buffers[i][at] != item->snapshots[i][at] ? (int64_t)at : -1;
        }
        free(may_change);
        if (stray >= 0) {
            *operand = i;
            return stray;
        }
    }
    return -1;
}

/* ------------------------------------------------------------------------------------------ combinations */

struct combination {
    const opd_routine *routine;
    opd_arg args[24];
    int arg_count;
    int radix[24]; /* choices of each argument that are counted through; 1 = none */
};

static int usable_letters(char *out, const char *letters, const char *refused)
{
    int count = 0;
    for (const char *letter = letters; *letter != '\0'; letter++) {
        if (strchr(refused, *letter) == NULL || strcmp(letters, "LR") == 0) {
            out[count++] = *letter;
        }
    }
    out[count] = '\0';
    return count;
}

static bool is_named(const opd_arg *arg, const char *prefix)
{
    return strncmp(arg->name, prefix, strlen(prefix)) == 0;
}

static void set_scalar(opd_value *value, int scalar_class, dice *d)
{
    double other = 0.3 + (double)dice_between(d, 0, 100) / 64;
    value->re = scalar_class == 2 ? -other : scalar_class;
    value->im = scalar_class == 2 && value->kind == OPD_VALUE_COMPLEX ? other / 2 : 0;
}

/* Dimensions: small, with the edges 0 and 1 now and then; level 1 also tries increments of both signs and larger steps. */
static void set_integers(opd_call *call, const struct combination *c, dice *d)
{
    for (int i = 0; i < c->arg_count; i++) {
        const opd_arg *arg = &c->args[i];
        opd_value *value = opd_call_value(call, arg->name);
        if (arg->kind != OPD_ARG_INT) {
            continue;
        }
        if (is_named(arg, "inc")) {
            value->i = dice_between(d, 0, 3) == 0 ? 1 : dice_between(d, -3, 3);
            value->i = value->i == 0 ? 2 : value->i;
        } else if (is_named(arg, "ld")) {
            value->i = 0;
        } else {
            value->i = dice_between(d, 0, 9) == 0 ? dice_between(d, 0, 1) : dice_between(d, 2, 13);
            /* OpenBLAS 0.3.21 rejects empty matrix copies. */
            value->i += call->op->has_order_argument && value->i == 0;
        }
    }
    /* opd_call_set gives the leading dimensions their smallest values for these dimensions; then they grow. */
    for (int i = 0; i < c->arg_count; i++) {
        if (c->args[i].kind == OPD_ARG_INT && !is_named(&c->args[i], "ld")) {
            (void)opd_call_set(call, c->args[i].name, opd_call_value(call, c->args[i].name)->i);
        }
    }
    for (int i = 0; i < c->arg_count; i++) {
        if (is_named(&c->args[i], "ld")) {
            opd_call_value(call, c->args[i].name)->i += dice_between(d, 0, 2);
        }
    }
}

static void visit_one(struct combination *c, uint64_t number, dice *d, const char *refused, visit_call *visit,
                      void *context)
{
    opd_call call;
    if (opd_call_init(&call, c->routine->op, c->routine->name, c->routine->dtype) != OPD_OK) {
        abort();
    }
    int form = (int)(number % 3);
    number /= 3;
    call.flags |= form > 0 ? OPD_CALL_CBLAS : 0;
    bool may_be_row_major = form == 2 || c->routine->op->has_order_argument;
    bool is_row_major = c->routine->op->has_layout && may_be_row_major && (form == 2 || dice_between(d, 0, 1) == 1);
    call.flags |= is_row_major ? OPD_CALL_ROW_MAJOR : 0;
    for (int i = 0; i < c->arg_count; i++) {
        int digit = (int)(number % (uint64_t)c->radix[i]);
        number /= (uint64_t)c->radix[i];
        opd_value *value = opd_call_value(&call, c->args[i].name);
        if (c->args[i].kind == OPD_ARG_CHOICE) {
            char letters[8];
            usable_letters(letters, c->args[i].letters, refused);
            value->i = letters[digit];
        } else if (c->args[i].kind == OPD_ARG_SCALAR) {
            set_scalar(value, digit, d);
        }
    }
    set_integers(&call, c, d);
    if (opd_call_bind(&call) != OPD_OK) {
        abort();
    }
    visit(context, &call, d);
}

void blas_combinations(const opd_routine *routine, const char *refused_letters, dice *d, visit_call *visit,
                       void *context)
{
    struct combination c = { .routine = routine };
    c.arg_count = opd_routine_args(routine, c.args, (int)OPD_COUNT(c.args));
    uint64_t count = 3;
    for (int i = 0; i < c.arg_count; i++) {
        char letters[8];
        c.radix[i] = 1;
        if (c.args[i].kind == OPD_ARG_CHOICE) {
            c.radix[i] = usable_letters(letters, c.args[i].letters, refused_letters);
        } else if (c.args[i].kind == OPD_ARG_SCALAR) {
            c.radix[i] = 3;
        }
        count *= (uint64_t)c.radix[i];
    }
    uint64_t least = 48; /* routines with few options: more random dimensions */
    for (uint64_t number = 0; number < count || number < least; number++) {
        visit_one(&c, number % count, d, refused_letters, visit, context);
    }
}
