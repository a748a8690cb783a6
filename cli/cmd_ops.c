/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug ops: the contracts of the operators this build knows, and what can compute them.
 */
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "document.h"
#include "guest.h"
#include "making.h"
#include "screen.h"

typedef struct ops_options {
    opd_shared shared;
    const char *name;
    int name_count;
    const char *library;
} ops_options;

enum { KEY_LIBRARY = 0x100 };

static const struct argp_option options[] = {
    { "library", KEY_LIBRARY, "FILE", 0, "A shared object with operators of your own", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    ops_options *o = state->input;
    if (key == ARGP_KEY_ARG) {
        opd_take_argument(state, &o->name, &o->name_count, 1, arg);
        return 0;
    }
    if (key == KEY_LIBRARY) {
        o->library = arg;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* The routine of that name, or the one that libraries export under it: "dgemm", "cblas_dgemm", "dgemm_64_". */
static const opd_routine *find_routine(const char *name)
{
    const opd_routine *routine = opd_routine_find(name);
    char symbol[64];
    for (int i = 0; i < opd_routine_count() && routine == NULL; i++) {
        for (int k = 0; k < opd_name_pattern_count() && routine == NULL; k++) {
            const opd_routine *candidate = opd_routine_at(i);
            bool is_it = opd_routine_symbol(symbol, sizeof symbol, candidate, opd_name_pattern_at(k)) &&
                         strcmp(symbol, name) == 0;
            routine = is_it ? candidate : NULL;
        }
    }
    return routine;
}

static const char *or_nothing(const char *text)
{
    return text != NULL ? text : "";
}

static const char *const levels[] = { "none", "run", "threads", "batch", "isa" };
static const char *const kinds[] = { "", "integer", "real", "complex", "letter", "word", "integers" };

/* ---------------------------------------------------------------------------------------------------- JSON */

static json_t *values_array(const opd_op *op, bool of_symbols)
{
    opd_op_value values[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS];
    int count = opd_op_values(op, values, (int)OPD_COUNT(values));
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const opd_op_value *value = &values[i];
        if (value->is_symbol != of_symbols) {
            continue;
        }
        json_t *object = json_object();
        opd_document_put(object, "name", json_string(value->name));
        opd_document_put(object, "default", json_string(value->initial));
        if (!of_symbols) {
            opd_document_put(object, "kind", json_string(kinds[value->kind]));
            opd_document_put(object, "optional", json_boolean(value->is_optional));
            opd_document_put(object, "legal", json_string(value->legal));
        }
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *bound_object(const opd_bound *bound)
{
    static const char *const names[] = { "gauge", "bits", "ulp" };
    json_t *object = json_object();
    opd_document_put(object, "kind", json_string(names[bound->kind]));
    if (bound->kind == OPD_BOUND_GAUGE) {
        opd_document_put(object, "limit", json_real(bound->limit > 0 ? (double)bound->limit : 16));
    } else if (bound->kind == OPD_BOUND_ULP) {
        opd_document_put(object, "limit", json_real((double)bound->limit));
        opd_document_put(object, "narrow_limit", json_real((double)bound->narrow_limit));
    }
    return object;
}

/* Bytes of scratch for the contract's default call; false: there is no such call, or the variant declines it. */
static bool workspace_of(size_t *bytes, const opd_op *op, const opd_variant *variant, int32_t threads)
{
    opd_call call;
    const opd_call_wish defaults = { .dtype = OPD_DTYPE_NONE };
    if (variant->is_library || opd_call_make(&call, op, &defaults) != OPD_OK) {
        return false;
    }
    if (opd_isa_missing(or_nothing(variant->isa)) != NULL ||
        (variant->declines != NULL && variant->declines(&call) != NULL)) {
        return false;
    }
    *bytes = variant->workspace != NULL ? variant->workspace(&call, threads) : 0;
    return true;
}

/* May several threads be in it at once? Variants must keep nothing between calls; who else computes, answers for himself. */
static const char *thread_safety(const opd_op *op)
{
    return opd_kernel_find(op->domain, op->name) != NULL ? "safe" : "of the library";
}

static json_t *variants_array(const opd_op *op)
{
    const opd_kernel *kernel = opd_kernel_find(op->domain, op->name);
    const opd_variant *variant = NULL;
    json_t *array = json_array();
    for (int i = 0; kernel != NULL && (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        const char *missing = opd_isa_missing(or_nothing(variant->isa));
        json_t *object = json_object();
        opd_document_put(object, "name", json_string(variant->name));
        opd_document_put(object, "isa", json_string(or_nothing(variant->isa)));
        opd_document_put(object, "missing", json_string(or_nothing(missing)));
        opd_document_put(object, "determinism", json_string(levels[variant->determinism]));
        opd_document_put(object, "widths", json_string(or_nothing(variant->widths)));
        size_t bytes = 0;
        bool has_default = workspace_of(&bytes, op, variant, 1);
        opd_document_put(object, "workspace_bytes", has_default ? opd_document_count(bytes) : json_null());
        opd_document_put(object, "allocates", json_boolean(variant->allocates || opd_variant_is_definition(variant)));
        opd_document_put(object, "fault", json_string(or_nothing(variant->fault)));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *op_object(const opd_op *op)
{
    json_t *object = json_object();
    opd_document_put(object, "domain", json_string(op->domain));
    opd_document_put(object, "name", json_string(op->name));
    opd_document_put(object, "summary", json_string(or_nothing(op->summary)));
    opd_document_put(object, "types", json_string(or_nothing(op->routines != NULL ? op->routines : op->types)));
    opd_document_put(object, "signature", json_string(op->signature));
    opd_document_put(object, "attributes", json_string(or_nothing(op->attributes)));
    opd_document_put(object, "call", json_string(or_nothing(op->call)));
    opd_document_put(object, "flops", json_string(or_nothing(op->flops)));
    opd_document_put(object, "since_version", json_integer(op->since_version));
    opd_document_put(object, "reduction", json_string(or_nothing(op->reduction)));
    opd_document_put(object, "symbols", values_array(op, true));
    opd_document_put(object, "attribute_values", values_array(op, false));
    opd_document_put(object, "bound", bound_object(&op->bound));
    opd_document_put(object, "determinism", json_string(levels[op->determinism]));
    opd_document_put(object, "thread_safety", json_string(thread_safety(op)));
    opd_document_put(object, "overflow", json_string(op->overflow == OPD_OVERFLOW_WRAP ? "wrap" : "saturate"));
    opd_document_put(object, "in_place", json_string(or_nothing(op->in_place)));
    opd_document_put(object, "checkpoints", json_string(or_nothing(op->checkpoints)));
    opd_document_put(object, "variants", variants_array(op));
    return object;
}

/* ---------------------------------------------------------------------------------------------------- text */

static void print_values(const opd_op *op)
{
    opd_op_value values[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS];
    int count = opd_op_values(op, values, (int)OPD_COUNT(values));
    bool is_first = true;
    for (int i = 0; i < count; i++) {
        if (values[i].is_symbol && values[i].initial[0] != '\0') {
            printf("%s%s=%s", is_first ? "sizes       " : " ", values[i].name, values[i].initial);
            is_first = false;
        }
    }
    printf("%s", is_first ? "" : "\n");
    is_first = true;
    for (int i = 0; i < count; i++) {
        const opd_op_value *value = &values[i];
        if (!value->is_symbol) {
            printf("%s%s=%s", is_first ? "attributes  " : "            ", value->name,
                   value->initial[0] != '\0' ? value->initial
                   : value->is_optional      ? "-"
                                             : "''");
            printf(value->legal[0] != '\0' ? " (%s of %s)\n" : " (%s%s)\n", kinds[value->kind], value->legal);
            is_first = false;
        }
    }
}

static void print_bound(const opd_bound *bound)
{
    switch (bound->kind) {
    case OPD_BOUND_BITS:
        printf("bound       the same bits\n");
        break;
    case OPD_BOUND_ULP:
        printf("bound       %g ULP; f16, bf16: %g ULP\n", (double)bound->limit, (double)bound->narrow_limit);
        break;
    default:
        printf("bound       %g units of the gauge\n", bound->limit > 0 ? (double)bound->limit : 16.0);
        break;
    }
}

/* Those that are wrong on purpose are for trying the tool: shown when asked for. */
static void print_variants(const opd_op *op, bool with_wrong)
{
    const opd_kernel *kernel = opd_kernel_find(op->domain, op->name);
    const opd_variant *variant = NULL;
    bool is_first = true;
    for (int i = 0; kernel != NULL && (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        const char *missing = opd_isa_missing(or_nothing(variant->isa));
        if (variant->fault != NULL && !with_wrong) {
            continue;
        }
        printf("%s%s", is_first ? "variants    " : "            ", variant->name);
        is_first = false;
        if (variant->isa != NULL && variant->isa[0] != '\0') {
            printf(" (%s)", variant->isa);
        }
        if (missing != NULL) {
            printf(", not on this CPU");
        }
        size_t one = 0;
        size_t two = 0;
        if (workspace_of(&one, op, variant, 1) && workspace_of(&two, op, variant, 2) && two > 0) {
            printf(", workspace %zu bytes", one);
            printf(two > one ? " and %zu for each more thread" : "", two - one);
        }
        if (variant->allocates || opd_variant_is_definition(variant)) {
            printf(", allocates");
        }
        if (variant->fault != NULL) {
            printf(", wrong on purpose: %s", variant->fault);
        }
        printf("\n");
    }
}

/* A line that is left out when there is nothing to say. */
static void print_line(const char *title, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        printf("%-11s %s\n", title, text);
    }
}

static void print_op(const opd_op *op, bool with_wrong)
{
    printf("%s.%s      %s\n", op->domain, op->name, or_nothing(op->summary));
    if (op->since_version > 0) {
        printf("semantics   of operator set %d\n", op->since_version);
    }
    print_line("types", op->routines != NULL ? op->routines : op->types);
    print_line("signature", op->signature);
    print_values(op);
    print_line("call", op->call);
    print_line("operations", op->flops);
    print_line("terms", op->reduction);
    print_bound(&op->bound);
    print_line("determinism", levels[op->determinism]);
    print_line("threads", thread_safety(op));
    print_line("in place", op->in_place);
    print_line("stages", op->checkpoints);
    print_variants(op, with_wrong);
}

static opd_status print_all(void)
{
    static const char *const titles[] = { "DOMAIN", "NAME", "TYPES", "SUMMARY" };
    opd_table *table = NULL;
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (int i = 0; i < opd_op_count() && status == OPD_OK; i++) {
        const opd_op *op = opd_op_at(i);
        opd_table_row(table);
        opd_table_cell(table, 0, "%s", op->domain);
        opd_table_cell(table, 1, "%s", op->name);
        opd_table_cell(table, 2, "%s", or_nothing(op->routines != NULL ? op->routines : op->types));
        opd_table_cell(table, 3, "%s", or_nothing(op->summary));
    }
    return status == OPD_OK ? opd_table_print(table) : status;
}

static int run(const opd_command *self, int argc, char **argv)
{
    ops_options o = { 0 };
    opd_command_parse(self, &o.shared, argc, argv);
    if (o.library != NULL && opd_guest_load(o.library, 0) != OPD_OK) {
        return opd_trouble();
    }
    json_t *array = json_array();
    const opd_routine *routine = o.name != NULL ? find_routine(o.name) : NULL;
    bool is_found = o.name == NULL;
    for (int i = 0; i < opd_op_count(); i++) {
        const opd_op *op = opd_op_at(i);
        bool is_named = o.name == NULL || strcmp(op->name, o.name) == 0 || (routine != NULL && routine->op == op);
        if (!is_named) {
            continue;
        }
        is_found = true;
        json_array_append_new(array, op_object(op));
        if (o.name != NULL && !o.shared.is_json && !o.shared.is_quiet) {
            print_op(op, o.shared.verbosity > 0);
        }
    }
    json_t *document = json_object();
    opd_document_put(document, "operators", array);
    if (o.shared.is_json && is_found) {
        return opd_document_print(document, OPD_EXIT_OK);
    }
    json_decref(document);
    if (!is_found) {
        (void)opd_making_unknown(o.name);
        return opd_trouble();
    }
    if (o.name == NULL && !o.shared.is_quiet && print_all() != OPD_OK) {
        return opd_trouble();
    }
    return OPD_EXIT_OK;
}

const opd_command opd_command_ops = {
    .name = "ops",
    .synopsis = "[NAME]",
    .summary = "List the operators this build knows, or print one contract",
    .details =
        "With -v, variants that are wrong on purpose are listed too; the tool is tried on them. Workspace is that of the\n"
        "contract's default call; threads: safe says that any number of threads may be in a variant at once.",
    .examples = "  ops-debug ops\n"
                "  ops-debug ops dgemm\n"
                "  ops-debug ops LayerNormalization --json\n"
                "  ops-debug ops cblas_zgemv64_\n"
                "  ops-debug ops --library ./my_norm.so RmsNorm\n",
    .options = options,
    .parse = parse,
    .run = run,
};
