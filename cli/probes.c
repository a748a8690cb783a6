/* SPDX-License-Identifier: Apache-2.0 */
/* The list of an operator's probes, from its contract alone: symbols, operands, attributes, dtypes. */
#include "probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

/* Values that show different faults: zeros, ties, overflow, cancellation, epsilon, subnormals, NaN and Inf. */
static const char *const fills[] = {
    "constant:0",   "constant:1",    "constant:-1",    "constant:2",     "constant:85",
    "constant:100", "constant:200",  "constant:1e9",   "constant:1e-40", "constant:nan",
    "integers",     "normal:1000:1", "normal:0:0.003", "longtail:1:4",   "special",
};
#define MANY_OPERATIONS 4e6   /* of a boundary size: the reference is slow, and size is not what it is about */
#define LONG_OPERATIONS 1.2e7 /* of the longest line, where it is */
#define MANY_BYTES      ((uint64_t)2 << 20)
#define LONG_BYTES      ((uint64_t)16 << 20)
#define WIDE            1000
static const int64_t sizes[] = { 0, 1, 2, 7, 8, 9, 15, 17, 33, 63, 65, 129 };

static opd_probe *add(opd_probe_list *list, opd_status *status, opd_probe_kind kind)
{
    if (*status == OPD_OK) {
        *status = opd_grow((void **)&list->items, (size_t)list->count + 1, sizeof *list->items);
    }
    if (*status != OPD_OK) {
        return NULL;
    }
    opd_probe *probe = &list->items[list->count++];
    memset(probe, 0, sizeof *probe);
    probe->kind = kind;
    return probe;
}

void opd_probe_print_shapes(char *text, size_t size, const opd_call *call)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_absent = (operand->flags & OPD_OPERAND_ABSENT) != 0;
        if (operand->role == OPD_ROLE_OUT || used + 24 > size) {
            continue;
        }
        const char *separator = used > 0 ? ";" : "";
        if (is_absent) {
            used += (size_t)snprintf(text + used, size - used, "%s-", separator);
            continue;
        }
        bool is_own = operand->view.dtype == call->dtype;
        used += (size_t)snprintf(text + used, size - used, "%s%s[", separator,
                                 is_own ? "" : opd_dtype_name(operand->view.dtype));
        for (int k = 0; k < operand->view.rank && used + 24 < size; k++) {
            used += (size_t)snprintf(text + used, size - used, "%s%lld", k > 0 ? "," : "",
                                     (long long)operand->view.shape[k]);
        }
        used += (size_t)snprintf(text + used, size - used, "]");
    }
}

/* Small sizes that differ from each other, which no order of dimensions survives. */
static void make_odd(opd_call *call)
{
    static const int64_t odd[] = { 2, 3, 5, 4, 7, 6, 2, 3 };
    for (int i = 0; i < call->symbol_count; i++) {
        opd_call changed = *call;
        if (opd_call_set(&changed, call->symbols[i].name, odd[i % (int)OPD_COUNT(odd)]) == OPD_OK) {
            *call = changed;
        }
    }
}

static uint64_t bytes_of(const opd_call *call)
{
    uint64_t total = 0;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_tensor *view = &call->operands[i].view;
        total += (uint64_t)opd_tensor_count(view) * opd_dtype_size(view->dtype);
    }
    return total;
}

static void add_size(opd_probe_list *list, opd_status *status, const opd_call *odd, const char *symbol, int64_t size)
{
    opd_call changed = *odd;
    if (opd_call_set(&changed, symbol, size) != OPD_OK || opd_call_flops(&changed) > MANY_OPERATIONS ||
        bytes_of(&changed) > MANY_BYTES) {
        return;
    }
    opd_probe *probe = add(list, status, size == 0 ? OPD_PROBE_EMPTY : OPD_PROBE_SHAPE);
    if (probe != NULL) {
        opd_probe_print_shapes(probe->shapes, sizeof probe->shapes, &changed);
        snprintf(probe->changed, sizeof probe->changed, "%s", symbol);
        probe->value = size;
    }
}

static void add_sizes(opd_probe_list *list, opd_status *status, const opd_call *odd)
{
    for (int i = 0; i < odd->symbol_count; i++) {
        for (size_t k = 0; k < OPD_COUNT(sizes); k++) {
            if (odd->symbols[i].i != sizes[k]) {
                add_size(list, status, odd, odd->symbols[i].name, sizes[k]);
            }
        }
    }
}

static bool is_usual_size(int64_t size)
{
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        if (sizes[i] == size) {
            return true;
        }
    }
    return false;
}

static void set_ones(opd_call *call)
{
    for (int i = 0; i < call->symbol_count; i++) {
        opd_call changed = *call;
        if (opd_call_set(&changed, call->symbols[i].name, 1) == OPD_OK) {
            *call = changed;
        }
    }
}

/*
 * One less, as much and one more than each number of "tile=64 vector=8", and twice it and one more: two whole tiles and the start of a third. Of wide
 * ones a line of otherwise ones shows as much.
 */
static void add_widths(opd_probe_list *list, opd_status *status, const opd_call *odd, const char *widths)
{
    opd_call ones = *odd;
    set_ones(&ones);
    for (const char *at = widths != NULL ? strchr(widths, '=') : NULL; at != NULL; at = strchr(at + 1, '=')) {
        int64_t width = strtoll(at + 1, NULL, 10);
        const int64_t around[] = { width - 1, width, width + 1, 2 * width + 1 };
        const opd_call *base = width > WIDE ? &ones : odd;
        for (int i = 0; i < base->symbol_count && width > 1; i++) {
            for (size_t k = 0; k < OPD_COUNT(around); k++) {
                if (!is_usual_size(around[k]) && base->symbols[i].i != around[k]) {
                    add_size(list, status, base, base->symbols[i].name, around[k]);
                }
            }
        }
    }
}

/* All ones; lines, also beyond 16 bits and of 2^20. */
static void add_extremes(opd_probe_list *list, opd_status *status, const opd_call *odd)
{
    opd_call ones = *odd;
    set_ones(&ones);
    opd_probe *probe = add(list, status, OPD_PROBE_SHAPE);
    if (probe != NULL) {
        opd_probe_print_shapes(probe->shapes, sizeof probe->shapes, &ones);
        snprintf(probe->changed, sizeof probe->changed, "all");
        probe->value = 1;
    }
    static const int64_t lengths[] = { 5, 8, 65537, 1 << 20 };
    for (size_t k = 0; k < OPD_COUNT(lengths); k++) {
        double most = lengths[k] < 1 << 20 ? MANY_OPERATIONS : LONG_OPERATIONS;
        for (int i = odd->symbol_count - 1; i >= 0; i--) {
            opd_call changed = ones;
            if (opd_call_set(&changed, odd->symbols[i].name, lengths[k]) != OPD_OK || opd_call_flops(&changed) > most ||
                bytes_of(&changed) > LONG_BYTES) {
                continue;
            }
            probe = add(list, status, OPD_PROBE_SHAPE);
            if (probe != NULL) {
                opd_probe_print_shapes(probe->shapes, sizeof probe->shapes, &changed);
                snprintf(probe->changed, sizeof probe->changed, "%s", odd->symbols[i].name);
                probe->value = lengths[k];
            }
            break;
        }
    }
}

static bool has_same_outputs(const opd_call *one, const opd_call *other)
{
    bool is_same = one->operand_count == other->operand_count;
    for (int i = 0; is_same && i < other->operand_count; i++) {
        const opd_tensor *a = &one->operands[i].view;
        const opd_tensor *b = &other->operands[i].view;
        is_same = one->operands[i].role != OPD_ROLE_OUT ||
                  (a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0);
    }
    return is_same;
}

/* A dimension of an input that may be 1, or leading ones that may be missing, with the outputs as they were. */
static void add_broadcast(opd_probe_list *list, opd_status *status, const opd_op *op, const opd_call *odd)
{
    for (int i = 0; i < odd->operand_count; i++) {
        const opd_tensor *view = &odd->operands[i].view;
        for (int k = 0; k <= view->rank && odd->operands[i].role == OPD_ROLE_IN; k++) {
            opd_call changed = *odd;
            opd_call made;
            opd_tensor *other = &changed.operands[i].view;
            opd_probe probe = { .kind = OPD_PROBE_BROADCAST, .value = k };
            if (k < view->rank) {
                other->shape[k] = 1;
            } else if (view->rank > 1) {
                other->rank--;
                memmove(other->shape, other->shape + 1, (size_t)other->rank * sizeof other->shape[0]);
            }
            if (view->rank == 0 || (k < view->rank && view->shape[k] == 1) || (k == view->rank && view->rank == 1)) {
                continue;
            }
            opd_probe_print_shapes(probe.shapes, sizeof probe.shapes, &changed);
            opd_call_wish wish = { .dtype = odd->dtype, .shapes = probe.shapes };
            bool is_same = opd_call_make(&made, op, &wish) == OPD_OK && has_same_outputs(&made, odd);
            opd_probe *kept = is_same ? add(list, status, OPD_PROBE_BROADCAST) : NULL;
            if (kept != NULL) {
                snprintf(probe.changed, sizeof probe.changed, "%s", odd->operands[i].name);
                *kept = probe;
            }
        }
    }
}

static void try_attribute(opd_probe_list *list, opd_status *status, const opd_op *op, const char *shapes,
                          const char *name, const char *value)
{
    opd_probe probe = { .kind = OPD_PROBE_ATTRIBUTE };
    opd_call made;
    snprintf(probe.attributes, sizeof probe.attributes, "%s=%s", name, value);
    snprintf(probe.shapes, sizeof probe.shapes, "%s", shapes);
    snprintf(probe.changed, sizeof probe.changed, "%s", name);
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].kind == OPD_PROBE_ATTRIBUTE && strcmp(list->items[i].attributes, probe.attributes) == 0) {
            return; /* the end of its range is a usual value too */
        }
    }
    opd_call_wish wish = { .shapes = probe.shapes, .attributes = probe.attributes };
    if (opd_call_make(&made, op, &wish) != OPD_OK) {
        wish.shapes = NULL; /* other sizes may fit */
        probe.shapes[0] = '\0';
        if (opd_call_make(&made, op, &wish) != OPD_OK) {
            return;
        }
    }
    opd_probe *kept = add(list, status, OPD_PROBE_ATTRIBUTE);
    if (kept != NULL) {
        *kept = probe;
    }
    bool has_unread = false;
    bool is_whole = false;
    for (int i = 0; i < made.operand_count; i++) {
        has_unread |= (made.operands[i].flags & OPD_OPERAND_MUST_NOT_READ) != 0;
        is_whole |= made.operands[i].role == OPD_ROLE_OUT && made.operands[i].view.dtype != OPD_DTYPE_NONE &&
                    !opd_dtype_is_float(made.operands[i].view.dtype) && opd_dtype_is_float(made.dtype);
    }
    kept = is_whole ? add(list, status, OPD_PROBE_ATTRIBUTE) : NULL;
    if (kept != NULL) { /* beyond the range of short integers */
        *kept = probe;
        snprintf(kept->fill, sizeof kept->fill, "normal:0:300");
    }
    kept = has_unread ? add(list, status, OPD_PROBE_UNREAD) : NULL;
    if (kept != NULL) {
        *kept = probe;
        kept->kind = OPD_PROBE_UNREAD;
    }
}

/* One value of an attribute; of a list as one, two and four elements (axes, kernels, pads). */
static void try_value(opd_probe_list *list, opd_status *status, const opd_call *odd, const opd_op_value *attribute,
                      const char *value)
{
    static const char *const forms[] = { "[%s]", "[%s,%s]", "[%s,%s,%s,%s]" };
    char shapes[sizeof list->items->shapes];
    opd_probe_print_shapes(shapes, sizeof shapes, odd);
    if (attribute->kind != OPD_VALUE_INTS || value[0] == '[') {
        try_attribute(list, status, odd->op, shapes, attribute->name, value);
        return;
    }
    for (size_t i = 0; i < OPD_COUNT(forms); i++) {
        char text[96];
        snprintf(text, sizeof text, forms[i], value, value, value, value);
        try_attribute(list, status, odd->op, shapes, attribute->name, text);
    }
}

/* Each word of text between separators. */
static void try_words(opd_probe_list *list, opd_status *status, const opd_call *odd, const opd_op_value *attribute,
                      const char *text, const char *separators)
{
    while (*text != '\0') {
        char word[48];
        size_t size = strcspn(text, separators);
        snprintf(word, sizeof word, "%.*s", (int)size, text);
        if (size > 0) {
            try_value(list, status, odd, attribute, word);
        }
        text += size + (text[size] != '\0');
    }
}

/* The ends of the legal range, as the contract has it: "0:1", "constant|reflect|edge", "axis(X)". */
static void try_legal(opd_probe_list *list, opd_status *status, const opd_call *odd, const opd_op_value *attribute)
{
    static const char axis[] = "axis(";
    if (strncmp(attribute->legal, axis, strlen(axis)) != 0) {
        try_words(list, status, odd, attribute, attribute->legal, "|:");
        return;
    }
    char name[OPD_NAME];
    opd_call named = *odd;
    snprintf(name, sizeof name, "%s", attribute->legal + strlen(axis));
    name[strcspn(name, ")")] = '\0';
    const opd_operand *operand = opd_call_operand(&named, name);
    int rank = operand != NULL ? operand->view.rank : 0;
    for (int at = -rank; at < rank; at++) {
        char word[16];
        snprintf(word, sizeof word, "%d", at);
        try_value(list, status, odd, attribute, word);
    }
}

static void add_attributes(opd_probe_list *list, opd_status *status, const opd_call *odd)
{
    /* Tried of every attribute of that kind, as far as it is legal. */
    static const struct {
        opd_value_kind kind;
        const char *words;
    } usual[] = { { OPD_VALUE_INT, "0 1 2 3 -1 -2" },
                  { OPD_VALUE_REAL, "0 0.5 2" },
                  { OPD_VALUE_INTS, "[1] [0,1] [1,1] [2,2] [1,0] [0,2,1] [1,2,0] [1,1,1,1] [0,1,1,0]" } };
    opd_op_value values[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS];
    int count = opd_op_values(odd->op, values, (int)OPD_COUNT(values));
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < OPD_COUNT(usual) && !values[i].is_symbol; k++) {
            if (usual[k].kind == values[i].kind) {
                try_words(list, status, odd, &values[i], usual[k].words, " ");
            }
        }
        if (!values[i].is_symbol) {
            try_legal(list, status, odd, &values[i]);
        }
    }
}

static void add_dtypes(opd_probe_list *list, opd_status *status, const opd_op *op, opd_dtype first)
{
    for (int dtype = OPD_F16; dtype <= OPD_BOOL; dtype++) {
        opd_call made;
        opd_call_wish wish = { .dtype = (opd_dtype)dtype };
        if (dtype == (int)first || opd_call_make(&made, op, &wish) != OPD_OK) {
            continue;
        }
        opd_probe *probe = add(list, status, OPD_PROBE_DTYPE);
        if (probe != NULL) {
            probe->dtype = (opd_dtype)dtype;
        }
    }
}

/* Things that are done with the small call and the default one alike. */
static void add_conduct(opd_probe_list *list, opd_status *status, const opd_op *op, const opd_call *odd)
{
    static const opd_probe_kind kinds[] = { OPD_PROBE_GUARD,      OPD_PROBE_STRIDED,  OPD_PROBE_MISALIGNED,
                                            OPD_PROBE_SAME_INPUT, OPD_PROBE_IN_PLACE, OPD_PROBE_NEGATIVE,
                                            OPD_PROBE_POISONED,   OPD_PROBE_REPEAT,   OPD_PROBE_THREADS,
                                            OPD_PROBE_AT_ONCE };
    for (size_t i = 0; i < OPD_COUNT(kinds); i++) {
        bool has_any = kinds[i] != OPD_PROBE_IN_PLACE || op->in_place != NULL;
        for (int k = 0; k < 2 && has_any; k++) {
            opd_probe *probe = add(list, status, kinds[i]);
            if (probe != NULL && k == 0) {
                opd_probe_print_shapes(probe->shapes, sizeof probe->shapes, odd);
            }
        }
    }
}

opd_status opd_probes_make(opd_probe_list *out, const opd_op *op, const char *widths, bool all_dtypes)
{
    opd_probe_list list = { .items = NULL };
    opd_call plain;
    const opd_call_wish defaults = { .dtype = OPD_DTYPE_NONE };
    opd_status status = opd_call_make(&plain, op, &defaults);
    if (status != OPD_OK) {
        return status;
    }
    opd_call odd = plain;
    make_odd(&odd);
    (void)add(&list, &status, OPD_PROBE_PLAIN);
    opd_probe *small = add(&list, &status, OPD_PROBE_PLAIN);
    if (small != NULL) {
        opd_probe_print_shapes(small->shapes, sizeof small->shapes, &odd);
    }
    for (size_t i = 0; i < OPD_COUNT(fills); i++) {
        opd_probe *probe = add(&list, &status, OPD_PROBE_FILL);
        if (probe != NULL) {
            snprintf(probe->fill, sizeof probe->fill, "%s", fills[i]);
            opd_probe_print_shapes(probe->shapes, sizeof probe->shapes, &odd);
        }
    }
    add_conduct(&list, &status, op, &odd);
    add_broadcast(&list, &status, op, &odd);
    add_attributes(&list, &status, &odd);
    add_extremes(&list, &status, &odd);
    add_sizes(&list, &status, &odd);
    add_widths(&list, &status, &odd, widths);
    if (all_dtypes) {
        add_dtypes(&list, &status, op, plain.dtype);
    }
    if (status != OPD_OK) {
        opd_probes_done(&list);
        return status;
    }
    *out = list;
    return OPD_OK;
}

opd_status opd_probes_one(opd_probe_list *out, const opd_probe *probe)
{
    opd_probe_list list = { .items = NULL };
    opd_status status = OPD_OK;
    opd_probe *kept = add(&list, &status, probe->kind);
    if (kept != NULL) {
        *kept = *probe;
        *out = list;
    }
    return status;
}

void opd_probes_done(opd_probe_list *list)
{
    opd_free(list->items);
    *list = (opd_probe_list){ .items = NULL };
}

const char *opd_probe_fill_at(int index)
{
    return fills[(size_t)index % OPD_COUNT(fills)];
}

const char *opd_probe_kind_text(opd_probe_kind kind)
{
    static const char *const texts[OPD_PROBE_KINDS] = {
        [OPD_PROBE_PLAIN] = "plain",
        [OPD_PROBE_DTYPE] = "dtypes",
        [OPD_PROBE_FILL] = "values",
        [OPD_PROBE_SHAPE] = "boundary sizes",
        [OPD_PROBE_EMPTY] = "empty operands",
        [OPD_PROBE_BROADCAST] = "broadcasting",
        [OPD_PROBE_ATTRIBUTE] = "attributes",
        [OPD_PROBE_NEGATIVE] = "negative indices",
        [OPD_PROBE_UNREAD] = "operands that must not be read",
        [OPD_PROBE_STRIDED] = "strided operands",
        [OPD_PROBE_MISALIGNED] = "misaligned operands",
        [OPD_PROBE_SAME_INPUT] = "one memory for two inputs",
        [OPD_PROBE_IN_PLACE] = "in place",
        [OPD_PROBE_GUARD] = "guard pages",
        [OPD_PROBE_REPEAT] = "several runs",
        [OPD_PROBE_POISONED] = "after NaN",
        [OPD_PROBE_THREADS] = "thread counts",
        [OPD_PROBE_AT_ONCE] = "threads at once",
    };
    return texts[kind];
}

void opd_probe_describe(char *text, size_t size, const opd_probe *probe)
{
    snprintf(text, size, "%s%s%s%s%s%s%s%s%s", opd_probe_kind_text(probe->kind),
             probe->dtype != OPD_DTYPE_NONE ? ", " : "",
             probe->dtype != OPD_DTYPE_NONE ? opd_dtype_name(probe->dtype) : "", probe->shapes[0] != '\0' ? ", " : "",
             probe->shapes, probe->attributes[0] != '\0' ? ", " : "", probe->attributes,
             probe->fill[0] != '\0' ? ", fill " : "", probe->fill);
}
