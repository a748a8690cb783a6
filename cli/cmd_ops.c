/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug ops: the contracts of the operators this build knows.
 */
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

#include "document.h"
#include "screen.h"

typedef struct ops_options {
    opd_shared shared;
    const char *name;
    int name_count;
} ops_options;

static const struct argp_option options[] = { { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    ops_options *o = state->input;
    if (key == ARGP_KEY_ARG) {
        opd_take_argument(state, &o->name, &o->name_count, 1, arg);
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
    return object;
}

static void print_op(const opd_op *op)
{
    printf("%s.%s      %s\n", op->domain, op->name, or_nothing(op->summary));
    printf("types       %s\n", or_nothing(op->routines != NULL ? op->routines : op->types));
    printf("signature   %s\n", op->signature);
    printf("attributes  %s\n", or_nothing(op->attributes));
    if (op->call != NULL) {
        printf("call        %s\n", op->call);
    }
    printf("operations  %s\n", or_nothing(op->flops));
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
            print_op(op);
        }
    }
    json_t *document = json_object();
    opd_document_put(document, "operators", array);
    if (o.shared.is_json && is_found) {
        return opd_document_print(document, OPD_EXIT_OK);
    }
    json_decref(document);
    if (!is_found) {
        opd_fail(OPD_E_NOTFOUND, "ops: no operator or routine '%s'; ops-debug ops lists them", o.name);
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
    .examples = "  ops-debug ops\n"
                "  ops-debug ops dgemm\n"
                "  ops-debug ops cblas_zgemv64_\n",
    .options = options,
    .parse = parse,
    .run = run,
};
