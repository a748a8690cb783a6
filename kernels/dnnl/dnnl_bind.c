/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of a oneDNN call from its symbols, and its symbols from recorded dimensions. Both ways read the same pattern of an operand (dnnl_form.h),
 * expanded to one item for each dimension.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_define.h"
#include "dnnl_form.h"

#define UNKNOWN INT64_C(-1)

typedef enum item_kind { ITEM_PRODUCT, ITEM_WINDOW, ITEM_TRANSPOSED, ITEM_SUM, ITEM_NUMBER } item_kind;

/* What one dimension is made of. */
typedef struct item {
    item_kind kind;
    char name[2][8]; /* PRODUCT: of one or two symbols */
    int axis;        /* WINDOW, TRANSPOSED: spatial dimension */
    int64_t number;
} item;

typedef struct pattern {
    item items[DNNL_MAX_NDIMS];
    int count;
    int spatial; /* of the call */
} pattern;

int64_t opd_dnnl_symbol(const opd_call *call, const char *name, int64_t otherwise)
{
    for (int i = 0; i < call->symbol_count; i++) {
        if (strcmp(call->symbols[i].name, name) == 0) {
            return call->symbols[i].i;
        }
    }
    return otherwise;
}

static void add_symbol(opd_call *call, const char *name)
{
    if (opd_dnnl_symbol(call, name, INT64_MIN) == INT64_MIN && call->symbol_count < OPD_MAX_SYMBOLS) {
        opd_value *symbol = &call->symbols[call->symbol_count++];
        *symbol = (opd_value){ .kind = OPD_VALUE_INT, .i = UNKNOWN };
        opd_dnnl_join(symbol->name, sizeof symbol->name, name, "");
    }
}

static item *next_item(pattern *out)
{
    if (out->count == DNNL_MAX_NDIMS) {
        return NULL;
    }
    item *next = &out->items[out->count++];
    memset(next, 0, sizeof *next);
    return next;
}

/* "ih", "d0" */
static void add_named(pattern *out, char letter, char which)
{
    item *next = next_item(out);
    if (next != NULL) {
        next->kind = ITEM_PRODUCT;
        next->name[0][0] = letter;
        next->name[0][1] = which;
    }
}

/* A size that follows from others. */
static void add_formula(pattern *out, item_kind kind, int axis)
{
    item *next = next_item(out);
    if (next != NULL) {
        *next = (item){ .kind = kind, .axis = axis };
    }
}

/* Does a letter stand for one dimension, whatever the rank? */
static bool is_single(char letter)
{
    return strchr("EGHQR", letter) != NULL;
}

/* "H", "R": the size of the hidden state. */
static void add_hidden(pattern *out, const opd_call *call, bool is_side_by_side)
{
    bool is_projected = false;
    for (int i = 0; i < call->operand_count; i++) {
        is_projected |= strcmp(call->operands[i].name, "weights_projection") == 0;
    }
    item *next = next_item(out);
    if (next != NULL) {
        bool is_both = is_side_by_side && strcmp(opd_call_text(call, "direction", ""), "bidirectional_concat") == 0;
        *next = (item){ .kind = ITEM_PRODUCT };
        snprintf(next->name[0], sizeof next->name[0], "%s", is_projected ? "dic" : "dhc");
        snprintf(next->name[1], sizeof next->name[1], "%s", is_both ? "dir" : "");
    }
}

/* "G", "Q": gates of a recurrent cell. */
static void add_gates(pattern *out, const opd_call *call, bool is_bias)
{
    static const struct {
        const char *alg;
        int gates, of_bias;
    } cells[] = { { "vanilla_rnn", 1, 1 }, { "vanilla_lstm", 4, 4 }, { "vanilla_gru", 3, 3 }, { "lbr_gru", 3, 4 } };
    item *next = next_item(out);
    for (size_t i = 0; next != NULL && i < OPD_COUNT(cells); i++) {
        if (strcmp(opd_call_text(call, "alg", ""), cells[i].alg) == 0) {
            *next = (item){ .kind = ITEM_NUMBER, .number = is_bias ? cells[i].of_bias : cells[i].gates };
        }
    }
}

/* "E": one offset for all, for each row or for each column of a product's result. */
static void add_offsets(pattern *out, const opd_call *call)
{
    char letter = opd_call_text(call, "offsetc", "")[0];
    item *next = next_item(out);
    if (next != NULL) {
        *next = (item){ .kind = letter == 'F' ? ITEM_NUMBER : ITEM_PRODUCT, .number = 1 };
        next->name[0][0] = letter == 'C' ? 'm' : letter == 'R' ? 'n' : '\0';
    }
}

static void add_single(pattern *out, char letter, const opd_call *call)
{
    if (letter == 'E') {
        add_offsets(out, call);
        return;
    }
    if (letter == 'G' || letter == 'Q') {
        add_gates(out, call, letter == 'Q');
    } else {
        add_hidden(out, call, letter == 'R');
    }
}

/* Dimension j of a family of count. */
static void add_member(pattern *out, char letter, int j, int count, const opd_call *call, int source)
{
    char side = count <= 3 ? "dhw"[3 - count + j] : '?';
    char number = j < 10 ? (char)('0' + j) : '?'; /* views have no more than 8 */
    bool is_axis = j == (int)opd_call_int(call, "axis", 0);
    if (letter == 'I' || letter == 'K' || letter == 'P') {
        add_named(out, letter == 'I' ? 'i' : letter == 'K' ? 'k' : 'o', side);
    } else if (letter == 'O' || letter == 'U') {
        add_formula(out, letter == 'O' ? ITEM_WINDOW : ITEM_TRANSPOSED, j);
    } else if (letter == 'C' && is_axis) {
        add_named(out, 'c', source < 10 ? (char)('0' + source) : '?');
    } else if (letter == 'S' && is_axis) {
        add_formula(out, ITEM_SUM, j);
    } else {
        add_named(out, letter == 'B' ? 'b' : 'd', number);
    }
}

/* As many items as the operand's rank leaves. */
static void add_family(pattern *out, char letter, int count, const opd_call *call, int source)
{
    for (int j = 0; j < count; j++) {
        add_member(out, letter, j, count, call, source);
    }
}

static void name_item(char name[8], const char *text, size_t size)
{
    memcpy(name, text, size < 8 ? size : 7); /* the rest is zero */
}

static void add_token(pattern *out, const char *token, size_t size)
{
    item *next = next_item(out);
    if (next == NULL) {
        return;
    }
    const char *star = memchr(token, '*', size);
    size_t first = star != NULL ? (size_t)(star - token) : size;
    next->kind = ITEM_PRODUCT;
    if (token[0] >= '0' && token[0] <= '9') {
        next->kind = ITEM_NUMBER;
        next->number = token[0] - '0';
        return;
    }
    name_item(next->name[0], token, first);
    if (star != NULL) {
        name_item(next->name[1], star + 1, size - first - 1);
    }
}

/* Expands the dims of a row for an operand of that rank; has_group: a [g] is there. */
static bool expand(pattern *out, const char *dims, int rank, bool has_group, const opd_call *call, int source)
{
    int plain = 0;
    for (const char *at = dims; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        bool is_family = size == 1 && at[0] >= 'A' && at[0] <= 'Z' && !is_single(at[0]);
        plain += at[0] == '[' ? has_group : !is_family;
        at += size;
    }
    out->count = 0;
    for (const char *at = dims; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == 1 && is_single(at[0])) {
            add_single(out, at[0], call);
        } else if (size == 1 && at[0] >= 'A' && at[0] <= 'Z') {
            add_family(out, at[0], rank - plain, call, source);
        } else if (at[0] != '[') {
            add_token(out, at, size);
        } else if (has_group) {
            add_token(out, at + 1, size - 2);
        }
        at += size;
    }
    return out->count == rank;
}

int64_t opd_dnnl_spatial(const opd_call *call, const char *name, int axis, int64_t otherwise)
{
    int64_t numbers[OPD_MAX_INTS];
    return axis < opd_call_ints(call, name, numbers) ? numbers[axis] : otherwise;
}

/* Size of a window's output, or that of its transposed; UNKNOWN where there is none. */
static int64_t window_size(const opd_call *call, int axis, int spatial, bool is_transposed)
{
    const int64_t limit = INT64_C(1) << 40;
    char side = spatial <= 3 && axis < spatial ? "dhw"[3 - spatial + axis] : '?';
    const char names[2][3] = { { 'i', side, '\0' }, { 'k', side, '\0' } };
    int64_t image = opd_dnnl_symbol(call, names[0], UNKNOWN);
    int64_t kernel = opd_dnnl_symbol(call, names[1], UNKNOWN);
    int64_t stride = opd_dnnl_spatial(call, "strides", axis, 1);
    int64_t dilate = opd_dnnl_spatial(call, "dilates", axis, 0);
    int64_t pads = opd_dnnl_spatial(call, "pads_begin", axis, 0) + opd_dnnl_spatial(call, "pads_end", axis, 0);
    bool is_sane = image >= 0 && image < limit && kernel > 0 && kernel < (1 << 20) && stride > 0 &&
                   stride < (1 << 20) && dilate >= 0 && dilate < (1 << 20) && pads > -limit && pads < limit;
    if (!is_sane) {
        return UNKNOWN;
    }
    int64_t range = (kernel - 1) * (dilate + 1) + 1;
    int64_t size = is_transposed ? (image - 1) * stride - pads + range : image + pads - range;
    if (size < 0 || (is_transposed && size == 0)) {
        return UNKNOWN;
    }
    return is_transposed ? size : size / stride + 1;
}

static int64_t sources_sum(const opd_call *call)
{
    int64_t sum = 0;
    for (int i = 0; i < 10; i++) {
        const char name[3] = { 'c', (char)('0' + i), '\0' };
        int64_t size = opd_dnnl_symbol(call, name, 0);
        if (size < 0 || !opd_add_i64(&sum, sum, size)) {
            return UNKNOWN;
        }
    }
    return sum;
}

/* Size of a dimension; UNKNOWN when a symbol is. */
static int64_t item_size(const item *of, const opd_call *call, int spatial)
{
    int64_t size = 1;
    switch (of->kind) {
    case ITEM_NUMBER:
        return of->number;
    case ITEM_SUM:
        return sources_sum(call);
    case ITEM_WINDOW:
    case ITEM_TRANSPOSED:
        return window_size(call, of->axis, spatial, of->kind == ITEM_TRANSPOSED);
    case ITEM_PRODUCT:
        break;
    }
    for (int k = 0; k < 2 && of->name[k][0] != '\0'; k++) {
        /* Only a group may be missing: without it there is one. */
        int64_t factor = opd_dnnl_symbol(call, of->name[k], strcmp(of->name[k], "g") == 0 ? 1 : UNKNOWN);
        if (factor < 0 || !opd_mul_i64(&size, size, factor)) {
            return UNKNOWN;
        }
    }
    return size;
}

int opd_dnnl_spatial_count(const opd_call *call)
{
    return (opd_dnnl_symbol(call, "id", UNKNOWN) >= 0) + (opd_dnnl_symbol(call, "ih", UNKNOWN) >= 0) +
           (opd_dnnl_symbol(call, "iw", UNKNOWN) >= 0);
}

bool opd_dnnl_layout_get(opd_dnnl_layout *out, const opd_call *call, int operand)
{
    char name[OPD_NAME + 4];
    opd_dnnl_join(name, sizeof name, call->operands[operand].name, ".md");
    const char *text = opd_call_text(call, name, "");
    return text[0] != '\0' && text[0] != '?' && opd_dnnl_layout_parse(out, text);
}

static bool is_post_op(const char *name)
{
    return strncmp(name, "post_op", 7) == 0;
}

static bool pattern_of(pattern *out, const opd_call *call, int operand, const opd_dnnl_layout *layout)
{
    const opd_dnnl_form *form = opd_dnnl_form_of(call);
    const char *name = call->operands[operand].name;
    int source = 0;
    const opd_dnnl_row *row = form != NULL ? opd_dnnl_row_of(form, is_post_op(name) ? "dst" : name, &source) : NULL;
    if (row == NULL || strcmp(row->dims, "=") == 0) {
        return false;
    }
    out->spatial = opd_dnnl_spatial_count(call);
    return expand(out, row->dims, layout->rank, opd_dnnl_symbol(call, "g", UNKNOWN) >= 0, call, source);
}

opd_status opd_dnnl_dims(int64_t dims[DNNL_MAX_NDIMS], int *rank, const opd_call *call, int operand)
{
    opd_dnnl_layout layout;
    pattern of;
    const char *name = call->operands[operand].name;
    if (!opd_dnnl_layout_get(&layout, call, operand)) {
        return opd_fail(OPD_E_INVALID, "%s: the layout of %s is one that only the library knows", call->name, name);
    }
    if (!pattern_of(&of, call, operand, &layout)) {
        return opd_fail(OPD_E_INVALID, "%s has no operand %s of %d dimensions", call->name, name, layout.rank);
    }
    *rank = layout.rank;
    for (int d = 0; d < layout.rank; d++) {
        bool is_one = (layout.broadcast >> d & 1) != 0;
        dims[d] = is_one ? 1 : item_size(&of.items[d], call, of.spatial);
        if (dims[d] < 0) {
            return opd_fail(OPD_E_INVALID, "%s: dimension %d of %s has no size: the window does not fit", call->name, d,
                            name);
        }
    }
    return OPD_OK;
}

/* Statistics are computed or given; a destination that is added to is read. */
static opd_role role_of(const opd_call *call, const opd_dnnl_row *row)
{
    bool is_training = strcmp(opd_call_text(call, "prop", ""), "forward_training") == 0;
    bool is_given = (opd_call_int(call, "flags", 0) & dnnl_use_global_stats) != 0;
    bool is_statistic = row->arg == DNNL_ARG_MEAN || row->arg == DNNL_ARG_VARIANCE;
    if (opd_dnnl_kind(call) == dnnl_gemm && row->role == OPD_ROLE_INOUT) {
        return opd_call_real(call, "beta", 0) != 0 ? OPD_ROLE_INOUT : OPD_ROLE_OUT;
    }
    if (is_statistic) {
        return is_training && !is_given ? OPD_ROLE_OUT : OPD_ROLE_IN;
    }
    opd_dnnl_post_op post_ops[OPD_DNNL_POST_OPS];
    int count = row->arg == DNNL_ARG_DST && row->role == OPD_ROLE_OUT ? opd_dnnl_post_ops(post_ops, call) : 0;
    for (int i = 0; i < count; i++) {
        if (post_ops[i].kind == dnnl_sum) {
            return OPD_ROLE_INOUT;
        }
    }
    return (opd_role)row->role;
}

opd_status opd_dnnl_bind(opd_call *call)
{
    const opd_dnnl_form *form = opd_dnnl_form_of(call);
    if (form == NULL) {
        return opd_fail(OPD_E_INVALID, "%s is no operator of oneDNN that is known here", call->name);
    }
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        int64_t dims[DNNL_MAX_NDIMS];
        int rank = 0;
        int number = 0;
        opd_dnnl_layout layout;
        const opd_dnnl_row *row = opd_dnnl_row_of(form, operand->name, &number);
        if (opd_dnnl_quant_arg(call, i) != 0) {
            continue; /* when all dimensions are known */
        }
        if (row != NULL) {
            operand->role = role_of(call, row);
        }
        if (row != NULL && strcmp(row->dims, "=") == 0) {
            continue; /* as it was recorded */
        }
        opd_status status = opd_dnnl_dims(dims, &rank, call, i);
        if (status != OPD_OK) {
            return status;
        }
        if (!opd_dnnl_layout_get(&layout, call, i) || !opd_dnnl_layout_view(&operand->view, &layout, dims)) {
            return opd_fail(OPD_E_INVALID, "the span of %s does not fit 64 bits", operand->name);
        }
    }
    opd_status status = OPD_OK;
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        status = opd_dnnl_quant_arg(call, i) != 0 ? opd_dnnl_quant_bind(call, i) : OPD_OK;
    }
    return status;
}

opd_status opd_dnnl_compact(opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_dnnl_layout layout;
        char name[OPD_NAME + 4];
        opd_dnnl_join(name, sizeof name, call->operands[i].name, ".md");
        opd_value *value = opd_call_value(call, name);
        if (value != NULL && opd_dnnl_layout_get(&layout, call, i) && layout.has_strides) {
            layout.has_strides = false;
            opd_dnnl_layout_print(value->text, &layout);
        }
    }
    return opd_dnnl_bind(call);
}

/* ------------------------------------------------------------------------------------------------------ solving */

/* Gives a symbol of this dimension its size where only one is not known. True: something was learned. */
static bool learn(opd_call *call, const item *of, int64_t size, bool is_broadcast)
{
    int unknown = -1;
    int64_t rest = 1;
    if (of->kind != ITEM_PRODUCT) {
        return false;
    }
    for (int k = 0; k < 2 && of->name[k][0] != '\0'; k++) {
        int64_t value = opd_dnnl_symbol(call, of->name[k], 1);
        if (value >= 0) {
            rest *= value;
        } else if (unknown >= 0) {
            return false;
        } else {
            unknown = k;
        }
    }
    opd_value *symbol = unknown >= 0 ? opd_call_value(call, of->name[unknown]) : NULL;
    if (symbol == NULL || rest <= 0 || size % rest != 0 || (is_broadcast && size == 1)) {
        return false;
    }
    symbol->i = size / rest;
    return true;
}

/* Symbols of all items, in the order in which they come. */
static void collect(opd_call *call, const pattern *of)
{
    for (int d = 0; d < of->count; d++) {
        for (int k = 0; k < 2 && of->items[d].name[k][0] != '\0'; k++) {
            add_symbol(call, of->items[d].name[k]);
        }
    }
}

/* Without [g] there is no symbol for it, and all that are left unknown were broadcast everywhere. */
static bool settle(opd_call *call, bool has_group)
{
    for (int i = 0; i < call->symbol_count; i++) {
        opd_value *symbol = &call->symbols[i];
        if (strcmp(symbol->name, "g") == 0 && !has_group) {
            memmove(symbol, symbol + 1, (size_t)(call->symbol_count - i - 1) * sizeof *symbol);
            call->symbol_count--;
            i--;
        } else if (symbol->i < 0) {
            symbol->i = 1;
        }
    }
    return call->symbol_count < OPD_MAX_SYMBOLS;
}

bool opd_dnnl_solve(opd_call *call, const opd_dnnl_form *form, int64_t (*dims)[DNNL_MAX_NDIMS], const int *ranks)
{
    pattern patterns[OPD_MAX_OPERANDS] = { { .count = 0 } };
    const opd_dnnl_row *rows[OPD_MAX_OPERANDS] = { NULL };
    bool has_group = false;
    int image = 0; /* rank of what is no filter */
    for (int i = 0; i < call->operand_count; i++) {
        const opd_dnnl_row *row = opd_dnnl_row_of(form, call->operands[i].name, &(int){ 0 });
        image = row != NULL && strncmp(row->dims, "mb", 2) == 0 ? ranks[i] : image;
    }
    for (int i = 0; i < call->operand_count; i++) {
        int source = 0;
        rows[i] = opd_dnnl_row_of(form, call->operands[i].name, &source);
        patterns[i].count = 0;
        if (rows[i] == NULL || strcmp(rows[i]->dims, "=") == 0) {
            continue;
        }
        bool is_grouped = rows[i]->dims[0] == '[' && ranks[i] == image + 1;
        has_group |= is_grouped;
        if (!expand(&patterns[i], rows[i]->dims, ranks[i], is_grouped, call, source)) {
            return false;
        }
        collect(call, &patterns[i]);
    }
    opd_value *group = opd_call_value(call, "g");
    if (group != NULL && !has_group) {
        group->i = 1;
    }
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (int i = 0; i < call->operand_count; i++) {
            for (int d = 0; rows[i] != NULL && d < patterns[i].count; d++) {
                is_new |= learn(call, &patterns[i].items[d], dims[i][d], rows[i]->is_broadcast);
            }
        }
    }
    return settle(call, has_group);
}
