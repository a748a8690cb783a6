/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that say what a move does (starts, pads, scales, indices): read from memory, or made up so that the call is legal. What is made up
 * depends on the seed, the shapes and the attributes only, so that shapes can be told before there is memory.
 */
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#include "move.h"

enum { STREAM = 0x6d6f7665 }; /* apart from those of fills, which are operand numbers */

/* A whole number in [low, high], the item-th of the seed. */
static int64_t draw(uint64_t seed, uint64_t item, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;
    return low + (int64_t)(opd_random_u64(seed, STREAM, item) % span);
}

static bool is_there(const opd_call *call, int operand)
{
    return operand < call->operand_count && (call->operands[operand].flags & OPD_OPERAND_ABSENT) == 0;
}

static int64_t count_of(const opd_call *call, int operand)
{
    return is_there(call, operand) ? opd_tensor_count(&call->operands[operand].view) : 0;
}

/* ----------------------------------------------------------------------------------------------------- made up */

static void make_slice(double *values, const opd_call *call, int operand, uint64_t seed)
{
    const opd_tensor *data = &call->operands[0].view;
    bool has_axes = is_there(call, 3);
    bool has_steps = is_there(call, 4);
    int64_t turn = has_axes && data->rank > 0 ? draw(seed, 0, 0, data->rank - 1) : 0;
    for (int64_t j = 0; j < count_of(call, operand); j++) {
        uint64_t item = 8 * (uint64_t)j;
        int64_t axis = data->rank > 0 ? (j + turn) % data->rank : 0;
        int64_t n = data->rank > 0 ? data->shape[axis] : 0;
        int64_t step = has_steps ? draw(seed, item + 1, 1, 3) * (draw(seed, item + 2, 0, 2) == 0 ? -1 : 1) : 1;
        int64_t low = draw(seed, item + 3, 0, n / 4);
        int64_t high = n - draw(seed, item + 4, -2, n / 4); /* past the end now and then */
        int64_t start = step > 0 ? low : high - 1;
        int64_t end = step > 0 ? high : low - 1;
        bool is_from_end = draw(seed, item + 5, 0, 1) != 0;
        start -= is_from_end && start >= 0 && start < n ? n : 0;
        end -= end < 0 || (is_from_end && end < n) ? n : 0; /* -1 itself would be the last element */
        axis -= draw(seed, item + 6, 0, 1) * data->rank;
        const int64_t parts[] = { 0, start, end, axis, step };
        values[j] = (double)parts[operand];
    }
}

static void make_split(double *values, const opd_call *call, int operand, uint64_t seed)
{
    const opd_tensor *data = &call->operands[0].view;
    int axis = opd_move_axis(opd_call_int(call, "axis", 0), data->rank);
    int64_t parts = count_of(call, operand);
    int64_t n = axis >= 0 ? data->shape[axis] : 0;
    for (int64_t j = 0; j < parts; j++) {
        int64_t length = n / parts + (j < n % parts ? 1 : 0);
        values[j] = (double)length;
    }
    if (parts > 1) { /* from one to the next, all of it now and then */
        int64_t giver = draw(seed, 0, 0, parts - 1);
        int64_t shift = draw(seed, 1, 0, (int64_t)values[giver]);
        values[giver] -= (double)shift;
        values[(giver + 1) % parts] += (double)shift;
    }
}

static void make_reshape(double *values, const opd_call *call, int operand, uint64_t seed)
{
    const opd_tensor *data = &call->operands[0].view;
    int64_t rank = count_of(call, operand);
    int64_t left = opd_tensor_count(data);
    bool allows_zero = opd_call_int(call, "allowzero", 0) != 0;
    int64_t open = rank > 0 && left > 0 ? draw(seed, 0, 0, rank - 1) : 0; /* takes what the others leave */
    for (int64_t d = 0; d < rank; d++) {
        values[d] = 1;
        int64_t factor = draw(seed, 8 + (uint64_t)d, 1, 6);
        bool can_copy =
            !allows_zero && d < data->rank && data->shape[d] > 0 && left % (data->shape[d] + (left == 0)) == 0;
        if (d == open || left == 0) {
            continue;
        }
        if (can_copy && draw(seed, 16 + (uint64_t)d, 0, 2) == 0) {
            values[d] = 0;
            left /= data->shape[d];
        } else if (left % factor == 0) {
            values[d] = (double)factor;
            left /= factor;
        }
    }
    if (rank > 0) {
        bool is_said = left > 0 && draw(seed, 1, 0, 1) != 0;
        values[open] = is_said ? (double)left : left == 0 && allows_zero ? 0 : -1;
    }
}

static void make_pads(double *values, const opd_call *call, int operand, uint64_t seed)
{
    const opd_tensor *data = &call->operands[0].view;
    bool is_constant = strcmp(opd_call_text(call, "mode", "constant"), "constant") == 0;
    bool has_axes = is_there(call, 3);
    int64_t pairs = count_of(call, 1) / 2;
    int64_t named = has_axes ? count_of(call, 3) : 0;
    int64_t turn = has_axes && data->rank > 0 ? draw(seed, 0, 0, data->rank - 1) : 0;
    for (int64_t j = 0; j < (operand == 1 ? pairs : named); j++) {
        uint64_t item = 8 * (uint64_t)j;
        int64_t axis = data->rank > 0 ? (j + turn) % data->rank : 0;
        int64_t n = data->rank > 0 ? data->shape[axis] : 0;
        int64_t before = draw(seed, item + 1, n > 4 ? -1 : 0, 4);
        int64_t after = draw(seed, item + 2, n > 4 ? -1 : 0, 4);
        if (operand == 3) {
            values[j] = (double)(axis - draw(seed, item + 3, 0, 1) * data->rank);
        } else {
            bool has_source = is_constant || n > 0;
            values[j] = has_source ? (double)before : 0;
            values[pairs + j] = has_source ? (double)after : 0;
        }
    }
}

static void make_expand(double *values, const opd_call *call, int operand, uint64_t seed)
{
    const opd_tensor *data = &call->operands[0].view;
    int64_t rank = count_of(call, operand);
    for (int64_t d = 0; d < rank; d++) {
        int64_t own = data->rank - rank + d;
        int64_t n = own >= 0 ? data->shape[own] : 1;
        bool keeps = draw(seed, 8 + (uint64_t)d, 0, 1) != 0;
        values[d] = n == 1 ? (double)draw(seed, (uint64_t)d, 1, 5) : keeps ? (double)n : 1;
    }
}

static void make_resize(double *values, const opd_call *call, int operand, uint64_t seed)
{
    static const double scales[] = { 1, 2, 0.5, 1.5, 2.6, 0.6, 0.375, 3 };
    const opd_tensor *data = &call->operands[0].view;
    int64_t listed[OPD_MAX_INTS];
    int named = opd_call_ints(call, "axes", listed);
    int64_t count = count_of(call, operand);
    for (int64_t j = 0; j < count; j++) {
        int64_t pairs = count / 2;
        int64_t wanted = named > 0 ? listed[j % named] : j;
        int axis = opd_move_axis(wanted, data->rank);
        int64_t n = axis >= 0 ? data->shape[axis] : 1;
        if (operand == 1) { /* some of it lies outside */
            values[j] = j < pairs ? 0.125 * (double)draw(seed, 32 + (uint64_t)j, -1, 3)
                                  : 1 - 0.125 * (double)draw(seed, 32 + (uint64_t)j, -1, 3);
        } else if (operand == 2) {
            bool keeps = axis < data->rank - 2 && draw(seed, (uint64_t)j, 0, 3) != 0; /* a batch or channels */
            values[j] = keeps ? 1 : scales[draw(seed, 16 + (uint64_t)j, 0, (int64_t)OPD_COUNT(scales) - 1)];
        } else {
            values[j] = n > 0 ? (double)draw(seed, (uint64_t)j, 1, 2 * n) : 0;
        }
    }
}

static const struct maker {
    const char *name;
    int first, last; /* operands that it makes */
    void (*make)(double *values, const opd_call *call, int operand, uint64_t seed);
} makers[] = {
    { "Slice", 1, 4, make_slice },   { "Split", 1, 1, make_split }, { "Reshape", 1, 1, make_reshape },
    { "Pad", 1, 1, make_pads },      { "Pad", 3, 3, make_pads },    { "Expand", 1, 1, make_expand },
    { "Resize", 1, 3, make_resize },
};

static const struct maker *find_maker(const opd_call *call, int operand)
{
    for (size_t i = 0; i < OPD_COUNT(makers); i++) {
        const struct maker *maker = &makers[i];
        bool is_role =
            operand >= maker->first && operand <= maker->last && (call->operands[operand].role & OPD_ROLE_IN) != 0;
        if (is_role && strcmp(maker->name, call->op->name) == 0) {
            return maker;
        }
    }
    return NULL;
}

/* Gather's indices may be many. Those that count from the end are for the probe that tries them alone. */
static void generate_indices(const opd_call *call, uint64_t seed)
{
    const opd_tensor *data = &call->operands[0].view;
    const opd_tensor *view = &call->operands[1].view;
    int axis = opd_move_axis(opd_call_int(call, "axis", 0), data->rank);
    int64_t n = axis >= 0 && data->shape[axis] > 0 ? data->shape[axis] : 1;
    for (int64_t flat = 0; flat < opd_tensor_count(view); flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        opd_element_store_wide(view->dtype, (uint8_t *)view->data + opd_tensor_offset(view, index),
                               (long double)draw(seed, (uint64_t)flat, 0, n - 1));
    }
}

bool opd_move_generate(const opd_call *call, int index, uint64_t seed)
{
    const opd_tensor *view = &call->operands[index].view;
    if (strcmp(call->op->name, "Gather") == 0 && index == 1) {
        generate_indices(call, seed);
        return true;
    }
    const struct maker *maker = find_maker(call, index);
    int64_t count = opd_tensor_count(view);
    double values[OPD_MOVE_NUMBERS] = { 0 };
    if (maker == NULL || count > OPD_MOVE_NUMBERS) {
        return false;
    }
    maker->make(values, call, index, seed);
    for (int64_t i = 0; i < count; i++) {
        int64_t at[OPD_MAX_RANK];
        opd_tensor_unflatten(view, i, at);
        opd_element_store_wide(view->dtype, (uint8_t *)view->data + opd_tensor_offset(view, at),
                               (long double)values[i]);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------- read */

bool opd_move_is_unknown(const opd_call *call, int first, int last)
{
    for (int i = first; i <= last && i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (is_there(call, i) && operand->view.data == NULL && operand->address != 0) {
            return true;
        }
    }
    return false;
}

static int read_values(long double *values, const opd_call *call, int operand)
{
    if (!is_there(call, operand)) {
        return 0;
    }
    const opd_tensor *view = &call->operands[operand].view;
    int64_t count = opd_tensor_count(view);
    if (count > OPD_MOVE_NUMBERS || opd_move_is_unknown(call, operand, operand)) {
        return -1;
    }
    double made[OPD_MOVE_NUMBERS] = { 0 };
    const struct maker *maker = view->data == NULL ? find_maker(call, operand) : NULL;
    if (maker != NULL) {
        maker->make(made, call, operand, call->seed);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t at[OPD_MAX_RANK];
        opd_tensor_unflatten(view, i, at);
        values[i] = view->data != NULL
                        ? opd_element_load_wide(view->dtype, (const uint8_t *)view->data + opd_tensor_offset(view, at))
                        : (long double)made[i];
    }
    return (int)count;
}

int opd_move_integers(int64_t values[OPD_MOVE_NUMBERS], const opd_call *call, int operand)
{
    long double wide[OPD_MOVE_NUMBERS];
    int count = read_values(wide, call, operand);
    for (int i = 0; i < count; i++) {
        values[i] = (int64_t)wide[i];
    }
    return count;
}

int opd_move_reals(double values[OPD_MOVE_NUMBERS], const opd_call *call, int operand)
{
    long double wide[OPD_MOVE_NUMBERS];
    int count = read_values(wide, call, operand);
    for (int i = 0; i < count; i++) {
        values[i] = (double)wide[i];
    }
    return count;
}
