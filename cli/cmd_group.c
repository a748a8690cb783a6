/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug group: many failures into the few causes behind them.
 */
#include <inttypes.h>
#include <string.h>

#include <opsdebug/reduce.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"

typedef struct group_options {
    opd_shared shared;
    opd_paths paths;
    opd_status status;
} group_options;

static const struct argp_option options[] = { { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    group_options *o = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (o->status == OPD_OK) {
            o->status = opd_paths_add(&o->paths, arg);
        }
        return 0;
    case ARGP_KEY_NO_ARGS:
        opd_usage_error(state, "give bundles or folders of bundles");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *group_object(const opd_group *group)
{
    json_t *object = json_object();
    json_t *members = json_array();
    opd_document_put(object, "id", json_string(group->id));
    opd_document_put(object, "key", opd_document_text(group->key));
    opd_document_put(object, "reason", opd_document_text(group->reason));
    opd_document_put(object, "count", json_integer(group->count));
    opd_document_put(object, "representative", opd_document_text(group->members[group->representative].path));
    for (uint32_t i = 0; i < group->count; i++) {
        json_t *member = json_object();
        opd_document_put(member, "path", opd_document_text(group->members[i].path));
        opd_document_put(member, "failure", json_integer(group->members[i].failure));
        opd_document_put(member, "why", opd_document_text(group->members[i].why));
        json_array_append_new(members, member);
    }
    opd_document_put(object, "members", members);
    return object;
}

static opd_status print_groups(opd_grouping *grouping, const group_options *o)
{
    static const char *const titles[] = { "GROUP", ">COUNT", "KEY", "REPRESENTATIVE", "REASON" };
    opd_table *table = NULL;
    uint32_t count = opd_grouping_count(grouping);
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (uint32_t i = 0; i < count && status == OPD_OK; i++) {
        const opd_group *group = opd_grouping_at(grouping, i);
        opd_table_row(table);
        opd_table_cell(table, 0, "%.8s", group->id);
        opd_table_cell(table, 1, "%u", group->count);
        opd_table_cell(table, 2, "%s", group->key);
        opd_table_cell(table, 3, "%s", group->members[group->representative].path);
        opd_table_cell(table, 4, "%s", group->reason);
    }
    if (status == OPD_OK) {
        status = opd_table_print(table);
    }
    for (uint32_t i = 0; i < count && status == OPD_OK && o->shared.verbosity > 0; i++) {
        const opd_group *group = opd_grouping_at(grouping, i);
        for (uint32_t k = 0; k < group->count; k++) {
            printf("%.8s  %s: %s\n", group->id, group->members[k].path, group->members[k].why);
        }
    }
    if (status == OPD_OK && count > 0) {
        char word[600];
        const opd_group *first = opd_grouping_at(grouping, 0);
        const char *path = first->members[first->representative].path;
        opd_phrase_shell(word, sizeof word, path);
        if (opd_source_can_replay(path)) {
            opd_print_next("ops-debug reduce %s -o min%s", word, OPD_SUFFIX);
        }
    }
    return status;
}

static opd_status add_all(opd_grouping *grouping, const group_options *o)
{
    for (size_t i = 0; i < o->paths.count; i++) {
        opd_bundle *bundle = NULL;
        opd_status status = opd_source_open(&bundle, o->paths.items[i], &o->shared);
        if (status == OPD_OK) {
            status = opd_grouping_add(grouping, bundle);
        }
        opd_bundle_close(bundle);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

static int run(const opd_command *self, int argc, char **argv)
{
    group_options o = { 0 };
    opd_grouping *grouping = NULL;
    int exit_status = OPD_EXIT_OK;
    opd_command_parse(self, &o.shared, argc, argv);
    opd_status status = o.status;
    if (status == OPD_OK) {
        status = opd_grouping_new(&grouping);
    }
    if (status == OPD_OK) {
        status = add_all(grouping, &o);
    }
    if (status == OPD_OK && o.shared.is_json) {
        json_t *document = json_object();
        json_t *groups = json_array();
        for (uint32_t i = 0; i < opd_grouping_count(grouping); i++) {
            json_array_append_new(groups, group_object(opd_grouping_at(grouping, i)));
        }
        opd_document_put(document, "groups", groups);
        exit_status = opd_document_print(document, exit_status);
    } else if (status == OPD_OK && !o.shared.is_quiet) {
        status = print_groups(grouping, &o);
    }
    if (status != OPD_OK) {
        exit_status = opd_trouble();
    }
    opd_grouping_free(grouping);
    opd_paths_done(&o.paths);
    return exit_status;
}

const opd_command opd_command_group = {
    .name = "group",
    .synopsis = "BUNDLE|DIR...",
    .summary = "Sort failures into groups of one cause each",
    .details =
        "Groups are ordered by count; the representative is the smallest case of its group. -v tells of every bundle why it\n"
        "joined.",
    .examples = "  ops-debug group run/\n"
                "  ops-debug group monday/ tuesday/ -v\n",
    .options = options,
    .parse = parse,
    .run = run,
};
