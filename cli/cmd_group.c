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
#include "trial.h"

typedef struct group_options {
    opd_shared shared;
    opd_paths paths;
    opd_unread unread;
} group_options;

static const struct argp_option options[] = { { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    group_options *o = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (opd_paths_add(&o->paths, arg) != OPD_OK) {
            opd_unread_add(&o->unread, arg);
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
    if (status == OPD_OK && opd_grouping_requested(grouping) > 0) {
        char words[48];
        opd_phrase_count(words, sizeof words, opd_grouping_requested(grouping), "bundle");
        printf("%s asked for (exit, always, a signal), no failure: left out\n", words);
    }
    if (status == OPD_OK && count == 0 && opd_grouping_requested(grouping) == 0 && o->unread.paths.count == 0) {
        char words[48];
        opd_phrase_count(words, sizeof words, o->paths.count, "bundle");
        printf("no failures in %s\n", words);
    }
    for (uint32_t i = 0; i < count && status == OPD_OK && o->shared.verbosity > 0; i++) {
        const opd_group *group = opd_grouping_at(grouping, i);
        for (uint32_t k = 0; k < group->count; k++) {
            char why[512];
            printf("%.8s  %s: %s\n", group->id, group->members[k].path,
                   opd_phrase_line(why, sizeof why, group->members[k].why));
        }
    }
    if (status == OPD_OK && count > 0) {
        char word[600];
        const opd_group *first = opd_grouping_at(grouping, 0);
        const char *path = first->members[first->representative].path;
        opd_phrase_shell(word, sizeof word, path);
        if (opd_source_can_replay(path)) {
            opd_print_next("ops-debug reduce %s -o %s%s", word, opd_trial_reduced_stem(path), OPD_SUFFIX);
        }
    }
    return status;
}

/* A file that cannot be read is said and left out: one damaged file is no reason to say nothing of the others. */
static void add_all(opd_grouping *grouping, group_options *o)
{
    for (size_t i = 0; i < o->paths.count; i++) {
        opd_bundle *bundle = NULL;
        opd_status status = opd_source_glance(&bundle, o->paths.items[i], &o->shared);
        if (status == OPD_OK) {
            status = opd_source_check_left(bundle);
        }
        if (status == OPD_OK) {
            status = opd_grouping_add(grouping, bundle);
        }
        if (status != OPD_OK) {
            opd_unread_add(&o->unread, o->paths.items[i]);
        }
        opd_bundle_close(bundle);
    }
}

static int print_json(opd_grouping *grouping, const group_options *o, int exit_status)
{
    json_t *document = json_object();
    json_t *groups = json_array();
    for (uint32_t i = 0; i < opd_grouping_count(grouping); i++) {
        json_array_append_new(groups, group_object(opd_grouping_at(grouping, i)));
    }
    opd_document_put(document, "groups", groups);
    opd_document_put(document, "requested", json_integer(opd_grouping_requested(grouping)));
    opd_document_put(document, "unread", opd_document_unread(&o->unread));
    opd_document_put(document, "waiting", opd_document_waiting(&o->paths));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    return opd_document_print(document, exit_status);
}

static int run(const opd_command *self, int argc, char **argv)
{
    group_options o = { 0 };
    opd_grouping *grouping = NULL;
    opd_command_parse(self, &o.shared, argc, argv);
    size_t missing = o.unread.paths.count; /* arguments that lead to no file */
    int exit_status = OPD_EXIT_OK;
    if (opd_grouping_new(&grouping) != OPD_OK) {
        exit_status = opd_trouble();
    } else {
        opd_paths_mention_waiting(&o.paths, &o.shared);
        add_all(grouping, &o);
        exit_status = o.unread.paths.count > 0 ? OPD_EXIT_TROUBLE : OPD_EXIT_OK;
        if (o.shared.is_json) {
            exit_status = print_json(grouping, &o, exit_status);
        } else if (!o.shared.is_quiet && print_groups(grouping, &o) != OPD_OK) {
            exit_status = opd_trouble();
        }
        if (!o.shared.is_json && !o.shared.is_quiet) {
            opd_unread_print(&o.unread, missing, o.paths.count);
        }
    }
    opd_grouping_free(grouping);
    opd_paths_done(&o.paths);
    opd_unread_done(&o.unread);
    return exit_status;
}

const opd_command opd_command_group = {
    .name = "group",
    .synopsis = "BUNDLE|DIR...",
    .summary = "Sort failures into groups of one cause each",
    .details =
        "Groups are ordered by count; the representative is the smallest case of its group. -v tells of every bundle why it\n"
        "joined. A file that cannot be read, or in which damage left no call, is named and left out; the exit status is 3 then.",
    .examples = "  ops-debug group run/\n"
                "  ops-debug group monday/ tuesday/ -v\n",
    .options = options,
    .parse = parse,
    .run = run,
};
