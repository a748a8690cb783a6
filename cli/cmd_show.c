/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug show: what a bundle, or each bundle of a folder, holds.
 */
#include <inttypes.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "bundle_events.h"
#include "count_table.h"
#include "document.h"
#include "phrases.h"
#include "screen.h"
#include "stacks.h"

enum { KEY_CALL = 0x100, KEY_ENVIRONMENT, KEY_ALL, SHOWN_CALLS = 24 };

#define PATHS_MOST 1024

typedef struct show_options {
    opd_shared shared;
    const char *paths[PATHS_MOST];
    int path_count;
    const char *path; /* the one of them that is shown now */
    const char *call;
    json_t *documents; /* of several paths, one document of all */
    bool with_environment;
    bool with_all;
} show_options;

static const struct argp_option options[] = {
    { "call", KEY_CALL, "N", 0, "One call in full: NUMBER or THREAD:NUMBER", 0 },
    { "environment", KEY_ENVIRONMENT, NULL, 0, "The machine, libraries and variables of the run", 0 },
    { "all", KEY_ALL, NULL, 0, "Every call, not only those next to the failure", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    show_options *o = state->input;
    switch (key) {
    case KEY_CALL:
        opd_selector_check(state, arg);
        o->call = arg;
        return 0;
    case KEY_ENVIRONMENT:
        o->with_environment = true;
        return 0;
    case KEY_ALL:
        o->with_all = true;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, o->paths, &o->path_count, PATHS_MOST, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        opd_usage_error(state, "give a bundle or a folder of bundles");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ------------------------------------------------------------------------------------------------- a folder */

typedef struct folder_row {
    char failure[256];
    char call[300];
    bool can_run; /* its failing call */
} folder_row;

static void read_row(folder_row *row, const opd_bundle *bundle)
{
    opd_subject subject;
    memset(row, 0, sizeof *row);
    if (opd_bundle_failure_count(bundle) > 0) {
        opd_phrase_failure(row->failure, sizeof row->failure, opd_bundle_failure(bundle, 0));
    }
    if (opd_source_has_failure(bundle) && opd_subject_find(&subject, bundle, NULL) == OPD_OK) {
        opd_phrase_failure(row->failure, sizeof row->failure, &subject.failure);
        opd_call_describe(row->call, sizeof row->call, &subject.call);
        row->can_run = opd_source_is_replayable(bundle, &subject.call);
    }
}

/* The whole answer, or a part of it when several paths are shown. */
static int print_document(const show_options *o, json_t *document, int exit_status)
{
    if (o->documents == NULL) {
        return opd_document_print(document, exit_status);
    }
    json_array_append_new(o->documents, document);
    return exit_status;
}

static json_t *row_object(const opd_bundle *bundle)
{
    json_t *object = opd_document_header(bundle);
    json_t *failures = json_array();
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        json_array_append_new(failures, opd_document_failure(opd_bundle_failure(bundle, i)));
    }
    opd_document_put(object, "failures", failures);
    return object;
}

typedef struct folder_view {
    const show_options *options;
    opd_paths paths;
    opd_unread unread;
    opd_table *table;
    json_t *array;
    char next[4096]; /* the first failing bundle that can be replayed, with what its replay needs; a shell's words */
} folder_view;

/* One bundle of the folder into the table and the document; one that cannot be read is said and counted. */
static void add_row(folder_view *view, const char *path)
{
    opd_bundle *bundle = NULL;
    folder_row row;
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    if (opd_source_glance(&bundle, path, &view->options->shared) != OPD_OK) {
        opd_unread_add(&view->unread, path);
        return;
    }
    read_row(&row, bundle);
    json_array_append_new(view->array, row_object(bundle));
    opd_table_row(view->table);
    opd_table_cell(view->table, 0, "%s", name);
    opd_table_cell(view->table, 1, "%s", opd_bundle_header(bundle)->kind);
    opd_table_cell(view->table, 2, "%" PRIu64, opd_bundle_call_count(bundle));
    opd_table_cell(view->table, 3, "%s%s%s", row.failure, row.call[0] != '\0' ? ": " : "", row.call);
    if (row.can_run && view->next[0] == '\0') {
        opd_source_phrase(view->next, sizeof view->next, bundle);
    }
    opd_bundle_close(bundle);
}

/* Takes the document that holds view->array. */
static int print_folder(folder_view *view, json_t *document, int exit_status)
{
    const opd_shared *shared = &view->options->shared;
    if (shared->is_json) {
        opd_table_free(view->table);
        opd_document_put(document, "unread", opd_document_unread(&view->unread));
        opd_document_put(document, "waiting", opd_document_waiting(&view->paths));
        return print_document(view->options, document, exit_status);
    }
    json_decref(document);
    if (shared->is_quiet) {
        opd_table_free(view->table);
        return exit_status;
    }
    if (opd_table_print(view->table) != OPD_OK) {
        return opd_trouble();
    }
    opd_unread_print(&view->unread, 0, view->paths.count);
    if (view->next[0] != '\0') {
        opd_print_next("ops-debug replay %s", view->next);
    }
    return exit_status;
}

static int show_folder(const show_options *o)
{
    static const char *const titles[] = { "BUNDLE", "KIND", ">CALLS", "FAILURE" };
    folder_view view = { .options = o };
    int exit_status = OPD_EXIT_TROUBLE;
    if (opd_paths_add(&view.paths, o->path) != OPD_OK ||
        opd_table_new(&view.table, titles, OPD_COUNT(titles)) != OPD_OK) {
        opd_trouble();
    } else {
        opd_paths_mention_waiting(&view.paths, &o->shared);
        json_t *document = json_object();
        view.array = json_array();
        opd_document_put(document, "bundles", view.array);
        for (size_t i = 0; i < view.paths.count; i++) {
            add_row(&view, view.paths.items[i]);
        }
        exit_status = print_folder(&view, document, view.unread.paths.count > 0 ? OPD_EXIT_TROUBLE : OPD_EXIT_OK);
    }
    opd_paths_done(&view.paths);
    opd_unread_done(&view.unread);
    return exit_status;
}

/* ------------------------------------------------------------------------------------------------ one bundle */

/* A text of the bundle within a line of the report. The last four are kept. */
static const char *on_line(const char *text)
{
    static char lines[4][1024];
    static unsigned next;
    char *line = lines[next++ % OPD_COUNT(lines)];
    return opd_phrase_line(line, sizeof lines[0], text);
}

static void print_environment(const opd_bundle *bundle, bool with_all)
{
    const opd_environment_info *environment = opd_bundle_environment(bundle);
    if (environment == NULL) {
        printf("environment  not recorded\n");
    } else {
        printf("machine      %s, %u CPUs\n", on_line(environment->cpu_model), environment->cpu_count);
    }
    if (environment != NULL && with_all) {
        printf("isa          %s\ncaches       L1d %u, L2 %u, L3 %u bytes\nsystem       %s, %s\nmxcsr        0x%04x\n",
               on_line(environment->isa), environment->l1d_bytes, environment->l2_bytes, environment->l3_bytes,
               on_line(environment->kernel), on_line(environment->libc), environment->mxcsr);
        for (const char *line = environment->variables; *line != '\0';) {
            int length = (int)strcspn(line, "\n");
            printf("variable     %.*s\n", length, line);
            line += length + (line[length] == '\n');
        }
    }
    for (uint32_t i = 1; i <= opd_bundle_module_count(bundle); i++) {
        const opd_module *module = opd_bundle_module(bundle, i);
        if (module == NULL || (module->core[0] == '\0' && module->config[0] == '\0' && !with_all)) {
            continue;
        }
        printf("library      %s%s%s", on_line(module->path), module->core[0] != '\0' ? ", core " : "",
               on_line(module->core));
        if (module->threads > 0) {
            printf(", %d thread%s", module->threads, opd_phrase_plural((uint64_t)module->threads));
        }
        if (with_all && module->build_id[0] != '\0') {
            printf(", build-id %s", on_line(module->build_id));
        }
        printf("%s%s\n", with_all && module->config[0] != '\0' ? ", " : "", with_all ? on_line(module->config) : "");
    }
}

static void print_failures(const opd_bundle *bundle, bool in_full)
{
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        char words[512];
        opd_phrase_failure(words, sizeof words, failure);
        printf("failure      %s%s%s", opd_failure_is_real(failure) ? opd_paint_on(stdout, OPD_PAINT_RED) : "", words,
               opd_paint_on(stdout, OPD_PAINT_OFF));
        if (failure->call_number != 0) {
            printf(", call %" PRIu64 " of thread %u", failure->call_number, failure->thread);
        }
        printf("\n");
        if (failure->label[0] != '\0') {
            printf("label        %s (%.0f %%)\n", opd_phrase_line(words, sizeof words, failure->label),
                   (double)failure->confidence * 100);
        }
        if (failure->reason[0] != '\0') {
            printf("reason       %s\n", opd_phrase_line(words, sizeof words, failure->reason));
        }
    }
    opd_stacks_print(bundle, in_full);
    for (uint32_t i = 0; i < opd_bundle_lineage_count(bundle); i++) {
        const opd_lineage *lineage = opd_bundle_lineage(bundle, i);
        printf("%s %s\n", i == 0 ? "reduced by  " : "            ", on_line(lineage->step));
    }
}

static void print_operand(const opd_operand *operand, const opd_bundle *bundle, bool in_full)
{
    static const char *const roles[] = { [OPD_ROLE_IN] = "in", [OPD_ROLE_OUT] = "out", [OPD_ROLE_INOUT] = "inout" };
    char words[256];
    char digest[OPD_DIGEST_TEXT];
    size_t role = (size_t)operand->role;
    opd_tensor_describe(words, sizeof words, &operand->view);
    printf("  %-8s %-5s %s", on_line(operand->name), role < OPD_COUNT(roles) && roles[role] != NULL ? roles[role] : "?",
           words);
    opd_phrase_operand_flags(words, sizeof words, operand);
    printf("%s%s", words[0] != '\0' ? ", " : "", words);
    if (in_full) {
        printf(", address 0x%" PRIx64, operand->address);
    }
    printf(", address mod 64 = %u\n", (unsigned)(operand->address % 64));
    const struct {
        const char *when;
        const opd_digest *digest;
        const opd_health *health;
        bool is_shown;
    } sides[] = {
        { "before", &operand->before, &operand->health_before, (operand->role & OPD_ROLE_IN) != 0 },
        { "after", &operand->after, &operand->health_after, (operand->role & OPD_ROLE_OUT) != 0 },
    };
    for (size_t i = 0; i < OPD_COUNT(sides); i++) {
        if (!sides[i].is_shown && opd_digest_is_none(sides[i].digest)) {
            continue;
        }
        words[0] = '\0';
        bool has_health = (operand->flags & OPD_OPERAND_HAS_HEALTH) != 0 && sides[i].health->count > 0;
        if (has_health && sides[i].is_shown) {
            opd_phrase_health(words, sizeof words, sides[i].health);
        }
        bool is_sampled = words[0] != '\0' && (operand->flags & OPD_OPERAND_SAMPLED) != 0;
        if (opd_digest_is_none(sides[i].digest)) {
            snprintf(digest, sizeof digest, "no digest");
        } else {
            opd_digest_print(digest, sides[i].digest);
        }
        bool is_kept = opd_bundle_has_tensor(bundle, sides[i].digest);
        printf("    %-6s %s%s%s", sides[i].when, digest, is_kept ? ", kept" : "", words[0] != '\0' ? ", " : "");
        if (is_sampled) {
            printf("sampled %" PRIu64 ": ", sides[i].health->count);
        }
        printf("%s\n", words);
    }
}

static void print_call(const opd_subject *subject, const opd_bundle *bundle, bool in_full)
{
    char words[512];
    opd_call_describe(words, sizeof words, &subject->call);
    printf("call         %s\n", on_line(words));
    opd_phrase_flags(words, sizeof words, &subject->call);
    printf("  called as %s, call %" PRIu64 " of thread %u%s%s\n", on_line(subject->call.symbol), subject->call.number,
           subject->call.thread, words[0] != '\0' ? ", " : "", words);
    opd_mxcsr_describe(words, sizeof words, subject->call.mxcsr);
    if (words[0] != '\0') {
        printf("  floating-point mode %s\n", words);
    }
    for (int i = 0; i < subject->call.operand_count; i++) {
        print_operand(&subject->call.operands[i], bundle, in_full);
    }
    opd_events_print_call(bundle, &subject->call);
}

static opd_status print_calls(const opd_bundle *bundle, const opd_subject *failing, bool with_all)
{
    static const char *const titles[] = { ">THREAD", ">CALL", ">TIME", "OPERATOR", "NOTE" };
    opd_table *table = NULL;
    uint64_t count = opd_bundle_call_count(bundle);
    uint64_t first = 0;
    uint64_t last = count;
    if (!with_all && count > SHOWN_CALLS) {
        uint64_t centre = failing != NULL ? failing->position : count - 1;
        first = centre > SHOWN_CALLS / 2 ? centre - SHOWN_CALLS / 2 : 0;
        first = first > count - SHOWN_CALLS ? count - SHOWN_CALLS : first;
        last = first + SHOWN_CALLS;
    }
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (uint64_t i = first; i < last && status == OPD_OK; i++) {
        opd_call call;
        char words[512];
        status = opd_bundle_call(&call, bundle, i);
        if (status != OPD_OK) {
            opd_table_free(table);
            return status;
        }
        opd_table_row(table);
        opd_table_cell(table, 0, "%u", call.thread);
        opd_table_cell(table, 1, "%" PRIu64, call.number);
        if (call.end_ns > call.begin_ns) {
            opd_phrase_time(words, sizeof words, call.end_ns - call.begin_ns);
            opd_table_cell(table, 2, "%s", words);
        }
        opd_call_describe(words, sizeof words, &call);
        opd_table_cell(table, 3, "%s", words);
        opd_phrase_flags(words, sizeof words, &call);
        bool is_failing = failing != NULL && failing->position == i;
        opd_table_cell(table, 4, "%s%s%s", is_failing ? failing->has_failure ? "FAILS" : "TRIGGERED" : "",
                       is_failing && words[0] != '\0' ? ", " : "", words);
    }
    if (status == OPD_OK) {
        status = opd_table_print(table);
    }
    if (status == OPD_OK && last - first < count) {
        printf("calls %" PRIu64 " to %" PRIu64 " of %" PRIu64 "; --all shows every one\n", first + 1, last, count);
    }
    return status;
}

/* Where calls were counted, those recorded only say of what kind. */
static opd_status print_calls_or_counts(const opd_bundle *bundle, const opd_subject *failing, bool with_all)
{
    if (opd_bundle_count_count(bundle) > 0) {
        return opd_counts_print(bundle, with_all);
    }
    return opd_bundle_call_count(bundle) > 0 ? print_calls(bundle, failing, with_all) : OPD_OK;
}

/* The last seed a generator was given; the ones before it are in the timeline. */
static void print_seed(const opd_bundle *bundle, uint32_t index)
{
    const opd_event *event = opd_bundle_event(bundle, index);
    for (uint32_t i = index + 1; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *later = opd_bundle_event(bundle, i);
        if (strcmp(later->kind, event->kind) == 0 && strcmp(later->name, event->name) == 0) {
            return;
        }
    }
    printf("seed         %s %" PRIu64 "\n", on_line(event->name), (uint64_t)event->value);
}

static json_t *generators_array(const opd_bundle *bundle)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        bool is_seed = strcmp(event->kind, "seed") == 0;
        if (is_seed || strcmp(event->kind, "state") == 0) {
            char text[24];
            json_t *object = json_object();
            snprintf(text, sizeof text, "%" PRIu64, (uint64_t)event->value);
            opd_document_put(object, "kind", opd_document_text(event->kind));
            opd_document_put(object, "name", opd_document_text(event->name));
            opd_document_put(object, is_seed ? "seed" : "bytes",
                             is_seed ? json_string(text) : json_integer(event->value));
            json_array_append_new(array, object);
        }
    }
    return array;
}

static json_t *bundle_document(const opd_bundle *bundle, const opd_subject *chosen)
{
    json_t *document = row_object(bundle);
    opd_stacks_document(document, bundle);
    json_t *calls = json_array();
    opd_document_put(document, "environment", opd_document_environment(bundle));
    opd_document_put(document, "generators", generators_array(bundle));
    opd_document_put(document, "events", opd_events_document(bundle));
    for (uint64_t i = 0; chosen == NULL && i < opd_bundle_call_count(bundle); i++) {
        opd_call call;
        if (opd_bundle_call(&call, bundle, i) == OPD_OK) {
            json_array_append_new(calls, opd_document_call(&call, true));
        }
    }
    if (chosen != NULL) {
        json_array_append_new(calls, opd_document_call(&chosen->call, true));
    }
    opd_document_put(document, "calls", calls);
    opd_document_put(document, "counts", opd_counts_document(bundle));
    return document;
}

static void print_head(const opd_bundle *bundle)
{
    const opd_header_info *header = opd_bundle_header(bundle);
    const opd_bundle_state *state = opd_bundle_state_of(bundle);
    char words[64];
    opd_phrase_bytes(words, sizeof words, state->bytes);
    printf("bundle       %s (%s, %s, format %u, %s%s)\n", opd_bundle_path(bundle), on_line(header->kind), words,
           header->version, on_line(header->producer), state->is_partial ? ", torn" : "");
    const char *command = header->command[0] != '\0' ? header->command : header->program;
    printf("program      %s (pid %u, capture %s)\n", on_line(command), header->pid, on_line(header->capture));
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        if (strcmp(event->kind, "note") == 0) {
            printf("note         %s\n", on_line(event->name));
        } else if (strcmp(event->kind, "seed") == 0) {
            print_seed(bundle, i);
        } else if (strcmp(event->kind, "state") == 0) {
            printf("state        %s (%" PRId64 " bytes)\n", on_line(event->name), event->value);
        } else if (strcmp(event->kind, OPD_EVENT_GOLDEN) == 0) {
            printf("expected     outputs of call %" PRId64 " are expected values (%s)\n", event->value,
                   on_line(event->name));
        }
    }
    opd_events_print(bundle);
    if (state->unknown > 0) {
        printf("unknown      %" PRIu64 " record%s of kinds that this build does not know\n", state->unknown,
               opd_phrase_plural(state->unknown));
    }
}

/* The call to be shown in full: what is asked for, else the failing one, else the one whose return was the trigger. */
static opd_status choose_call(opd_subject *chosen, bool *has_choice, const opd_bundle *bundle, const char *asked)
{
    char word[48];
    bool has_failure = opd_source_has_failure(bundle);
    for (uint32_t i = 0; asked == NULL && !has_failure && i < opd_bundle_failure_count(bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        if (failure->call_number != 0) {
            snprintf(word, sizeof word, "%u:%" PRIu64, failure->thread, failure->call_number);
            *has_choice = opd_subject_find(chosen, bundle, word) == OPD_OK;
            return OPD_OK; /* it need not be in the bundle */
        }
    }
    *has_choice = (asked != NULL || has_failure) && opd_subject_find(chosen, bundle, asked) == OPD_OK;
    bool is_wanted = asked != NULL || (has_failure && opd_bundle_call_count(bundle) > 0);
    return *has_choice || !is_wanted ? OPD_OK : OPD_E_NOTFOUND;
}

static int show_bundle(const show_options *o)
{
    opd_bundle *bundle = NULL;
    opd_subject chosen;
    bool has_choice = false;
    int exit_status = OPD_EXIT_OK;
    if (opd_source_open(&bundle, o->path, &o->shared) != OPD_OK) {
        return opd_trouble();
    }
    if (choose_call(&chosen, &has_choice, bundle, o->call) != OPD_OK) {
        opd_bundle_close(bundle);
        return opd_trouble();
    }
    if (o->shared.is_json) {
        exit_status = print_document(o, bundle_document(bundle, o->call != NULL ? &chosen : NULL), exit_status);
    } else if (!o->shared.is_quiet) {
        print_head(bundle);
        print_environment(bundle, o->with_environment);
        print_failures(bundle, o->shared.verbosity > 0);
        if (has_choice) {
            print_call(&chosen, bundle, o->call != NULL || o->shared.verbosity > 0);
        }
        if (o->call == NULL && print_calls_or_counts(bundle, has_choice ? &chosen : NULL, o->with_all) != OPD_OK) {
            exit_status = opd_trouble();
        }
        if (has_choice && chosen.has_failure && opd_source_is_replayable(bundle, &chosen.call)) {
            char words[4096];
            opd_source_phrase(words, sizeof words, bundle);
            opd_print_next("ops-debug replay %s", words);
        }
    }
    opd_bundle_close(bundle);
    return exit_status;
}

static int run(const opd_command *self, int argc, char **argv)
{
    show_options o = { 0 };
    int exit_status = OPD_EXIT_OK;
    opd_command_parse(self, &o.shared, argc, argv);
    bool is_one = o.path_count == 1;
    bool is_text = !o.shared.is_json && !o.shared.is_quiet;
    o.documents = is_one || !o.shared.is_json ? NULL : json_array();
    for (int i = 0; i < o.path_count; i++) {
        o.path = o.paths[i];
        if (!is_one && is_text) {
            char line[1024];
            printf("%s%s==> %s <==%s\n", i > 0 ? "\n" : "", opd_paint_on(stdout, OPD_PAINT_BOLD),
                   opd_phrase_line(line, sizeof line, o.path), opd_paint_on(stdout, OPD_PAINT_OFF));
            (void)fflush(stdout); /* before what standard error has to say of it */
        }
        int status = opd_path_is_directory(o.path) ? show_folder(&o) : show_bundle(&o);
        exit_status = status > exit_status ? status : exit_status;
    }
    if (o.documents != NULL) {
        json_t *document = json_object();
        opd_document_put(document, "shown", o.documents);
        exit_status = opd_document_print(document, exit_status);
    }
    return exit_status;
}

const opd_command opd_command_show = {
    .name = "show",
    .synopsis = "BUNDLE|DIR...",
    .summary = "Print what a bundle holds, or list the bundles of a folder",
    .details =
        "--call and -v print the addresses of operands in full. A file of a folder that cannot be read is named and left\n"
        "out; the exit status is 3 then. Several paths are shown one after the other, under their names.",
    .examples = "  ops-debug show run/\n"
                "  ops-debug show run/solve-4711-1-nan.opsb\n"
                "  ops-debug show run/*-nan.opsb\n"
                "  ops-debug show run/solve-4711-1-nan.opsb --call 7 --environment\n",
    .options = options,
    .parse = parse,
    .run = run,
};
