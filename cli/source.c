/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles of a path, in name order so that no result depends on the order of a directory; calls by selector.
 */
#include "source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opsdebug/record.h>

#include "phrases.h"

#define PARTIAL_SUFFIX ".partial"

bool opd_path_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static opd_status append_to(char ***items, size_t *count, const char *path)
{
    opd_status status = opd_grow((void **)items, *count + 1, sizeof **items);
    if (status != OPD_OK) {
        return status;
    }
    status = opd_strdup(&(*items)[*count], path);
    if (status == OPD_OK) {
        *count += 1;
    }
    return status;
}

static opd_status append(opd_paths *paths, const char *path)
{
    return append_to(&paths->items, &paths->count, path);
}

/* What killed recordings into the path have left in shared memory, and the command that brings it; false when there is nothing. */
static bool describe_waiting(char *text, size_t size, const char *path)
{
    char word[4096];
    uint32_t killed = opd_record_left_behind(path).orphaned;
    if (killed == 0) {
        return false;
    }
    opd_phrase_shell(word, sizeof word, path);
    snprintf(text, size,
             "%u recording%s into it %s killed, whose calls wait in shared memory: ops-debug salvage %s brings them",
             killed, opd_phrase_plural(killed), killed == 1 ? "was" : "were", word);
    return true;
}

void opd_paths_mention_waiting(const opd_paths *paths, const opd_shared *shared)
{
    char text[4352];
    for (size_t i = 0; !shared->is_quiet && i < paths->folders.count; i++) {
        if (describe_waiting(text, sizeof text, paths->folders.items[i])) {
            fprintf(stderr, "ops-debug: %s: %s\n", paths->folders.items[i], text);
        }
    }
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length > tail && strcmp(text + length - tail, suffix) == 0;
}

static bool is_bundle_name(const char *name)
{
    return ends_with(name, OPD_SUFFIX) || ends_with(name, OPD_SUFFIX PARTIAL_SUFFIX);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A torn bundle beside its complete form is a leftover: NAME sorts right before NAME.partial, which is dropped. */
static void drop_leftovers(opd_paths *paths, size_t first)
{
    size_t kept = first;
    for (size_t i = first; i < paths->count; i++) {
        const char *last = kept > first ? paths->items[kept - 1] : "";
        size_t length = strlen(last);
        if (length > 0 && strncmp(paths->items[i], last, length) == 0 &&
            strcmp(paths->items[i] + length, PARTIAL_SUFFIX) == 0) {
            opd_free(paths->items[i]);
        } else {
            paths->items[kept++] = paths->items[i];
        }
    }
    paths->count = kept;
}

static opd_status add_directory(opd_paths *paths, const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
    }
    size_t first = paths->count;
    opd_status status = OPD_OK;
    for (struct dirent *entry = readdir(directory); entry != NULL && status == OPD_OK; entry = readdir(directory)) {
        char full[4096];
        if (!is_bundle_name(entry->d_name)) {
            continue;
        }
        int length = snprintf(full, sizeof full, "%s%s%s", path, ends_with(path, "/") ? "" : "/", entry->d_name);
        status = length > 0 && (size_t)length < sizeof full ? append(paths, full)
                                                            : opd_fail(OPD_E_LIMIT, "%s: path too long", path);
    }
    closedir(directory);
    if (status != OPD_OK) {
        return status;
    }
    char waiting[4352];
    if (paths->count == first && describe_waiting(waiting, sizeof waiting, path)) {
        return opd_fail(OPD_E_NOTFOUND, "%s: holds no bundle yet: %s", path, waiting);
    }
    if (paths->count == first) {
        return opd_fail(OPD_E_NOTFOUND, "%s: holds no bundle (*%s); record into it with ops-debug record -o", path,
                        OPD_SUFFIX);
    }
    qsort(paths->items + first, paths->count - first, sizeof *paths->items, compare_paths);
    drop_leftovers(paths, first);
    return append_to(&paths->folders.items, &paths->folders.count, path);
}

opd_status opd_paths_add(opd_paths *paths, const char *path)
{
    return opd_path_is_directory(path) ? add_directory(paths, path) : append(paths, path);
}

void opd_paths_done(opd_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        opd_free(paths->items[i]);
    }
    for (size_t i = 0; i < paths->folders.count; i++) {
        opd_free(paths->folders.items[i]);
    }
    opd_free(paths->items);
    opd_free(paths->folders.items);
    *paths = (opd_paths){ 0 };
}

void opd_unread_add(opd_unread *unread, const char *path)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", opd_error_text());
    (void)opd_trouble();
    if (append(&unread->paths, path) == OPD_OK && append(&unread->reasons, text) != OPD_OK) {
        opd_free(unread->paths.items[--unread->paths.count]);
    }
}

void opd_unread_print(const opd_unread *unread, size_t missing, size_t files)
{
    size_t count = unread->paths.count - missing;
    if (count > 0) {
        printf("%zu of %zu file%s could not be read\n", count, files, files == 1 ? "" : "s");
    }
}

void opd_unread_done(opd_unread *unread)
{
    opd_paths_done(&unread->paths);
    opd_paths_done(&unread->reasons);
}

static void say_damage(const opd_bundle *bundle)
{
    const opd_bundle_state *state = opd_bundle_state_of(bundle);
    char damage[96] = "";
    if (!state->is_partial && state->damaged == 0) {
        return;
    }
    if (state->damaged > 0) {
        snprintf(damage, sizeof damage, "%sdamaged in %" PRIu64 " place%s, first at offset %" PRIu64,
                 state->is_partial ? ", " : "", state->damaged, opd_phrase_plural(state->damaged), state->first_damage);
    }
    opd_remark("%s: %s%s; %" PRIu64 " whole record%s read; ops-debug salvage makes a sound bundle of that",
               opd_bundle_path(bundle), state->is_partial ? "not complete" : "", damage, state->records,
               opd_phrase_plural(state->records));
}

static opd_status open_bundle(opd_bundle **out, const char *path, const opd_shared *shared, bool is_glance)
{
    if (opd_path_is_directory(path)) {
        return opd_fail(OPD_E_IO, "%s: is a directory; give one bundle in it (ops-debug show %s lists them)", path,
                        path);
    }
    opd_remark_say();
    opd_status status = opd_bundle_open(out, path);
    char waiting[4352];
    if (status != OPD_OK && access(path, F_OK) != 0 && describe_waiting(waiting, sizeof waiting, path)) {
        return opd_fail(OPD_E_NOTFOUND, "%s: not written yet: %s", path, waiting);
    }
    if (status != OPD_OK) {
        return opd_fail_at(status, path);
    }
    if (!shared->is_quiet) {
        if (!is_glance) {
            opd_bundle_damage(*out, NULL, NULL);
        }
        say_damage(*out);
    }
    return OPD_OK;
}

opd_status opd_source_open(opd_bundle **out, const char *path, const opd_shared *shared)
{
    return open_bundle(out, path, shared, false);
}

opd_status opd_source_glance(opd_bundle **out, const char *path, const opd_shared *shared)
{
    return open_bundle(out, path, shared, true);
}

opd_status opd_source_check_left(const opd_bundle *bundle)
{
    const opd_bundle_state *state = opd_bundle_state_of(bundle);
    bool is_list = strcmp(opd_bundle_header(bundle)->kind, "run") == 0;
    bool is_growing = is_list && state->damaged == 0 && ends_with(opd_bundle_path(bundle), PARTIAL_SUFFIX);
    if ((!state->is_partial && state->damaged == 0) || is_growing || opd_bundle_call_count(bundle) > 0) {
        return OPD_OK;
    }
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        if (opd_bundle_failure(bundle, i)->call_number == 0) {
            return OPD_OK;
        }
    }
    return opd_fail(OPD_E_NOTFOUND, "%s: torn or damaged, and no call is left in it", opd_bundle_path(bundle));
}

static void attach_failure(opd_subject *subject, const opd_bundle *bundle)
{
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        if (opd_failure_is_real(failure) && failure->thread == subject->call.thread &&
            failure->call_number == subject->call.number) {
            subject->failure = *failure;
            subject->has_failure = true;
            return;
        }
    }
}

/* What made the expected values of a call; NULL = its outputs are those of a run. */
static const char *golden_maker(const opd_bundle *bundle, const opd_call *call)
{
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        if (strcmp(event->kind, OPD_EVENT_GOLDEN) == 0 && event->thread == call->thread &&
            event->value == (int64_t)call->number) {
            return event->name;
        }
    }
    return NULL;
}

opd_status opd_subject_at(opd_subject *out, const opd_bundle *bundle, uint64_t position)
{
    memset(out, 0, sizeof *out);
    out->position = position;
    out->is_reduced = strcmp(opd_bundle_header(bundle)->kind, "reduced") == 0;
    opd_status status = opd_bundle_call(&out->call, bundle, position);
    if (status == OPD_OK) {
        attach_failure(out, bundle);
        opd_ruling_read(&out->ruling, bundle, &out->call);
        const char *maker = golden_maker(bundle, &out->call);
        out->is_golden = maker != NULL;
        opd_phrase_line(out->golden_by, sizeof out->golden_by, maker != NULL ? maker : "");
    }
    return status;
}

bool opd_source_keeps_operands(const opd_bundle *bundle)
{
    opd_call call;
    for (uint64_t i = 0; i < opd_bundle_call_count(bundle); i++) {
        if (opd_bundle_call(&call, bundle, i) == OPD_OK && opd_source_is_replayable(bundle, &call)) {
            return true;
        }
    }
    return false;
}

bool opd_source_is_list(const opd_bundle *bundle)
{
    return strcmp(opd_bundle_header(bundle)->kind, "run") == 0 && opd_bundle_call_count(bundle) > 0 &&
           !opd_source_keeps_operands(bundle);
}

void opd_source_keeping_options(char *text, size_t size, const opd_bundle *bundle)
{
    opd_capture level = OPD_CAPTURE_INPUTS;
    const opd_header_info *header = opd_bundle_header(bundle);
    bool is_low = opd_capture_parse(&level, header->capture) == OPD_OK && level < OPD_CAPTURE_INPUTS;
    bool is_run = strcmp(header->kind, "run") == 0;
    snprintf(text, size, "%s%s%s", is_low ? "--capture inputs" : "", is_low && is_run ? " " : "",
             is_run ? "--trigger exit" : "");
}

/* Can every record of calls be read? */
static opd_status check_calls(const opd_bundle *bundle)
{
    opd_call call;
    for (uint64_t i = 0; i < opd_bundle_call_count(bundle); i++) {
        opd_status status = opd_bundle_call(&call, bundle, i);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

static opd_status find_failing(opd_subject *out, const opd_bundle *bundle)
{
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        uint64_t position = 0;
        if (opd_failure_is_real(failure) && failure->call_number != 0 &&
            opd_bundle_find_call(&position, bundle, failure->thread, failure->call_number) == OPD_OK) {
            return opd_subject_at(out, bundle, position);
        }
    }
    uint64_t count = opd_bundle_call_count(bundle);
    if (count == 1) {
        return opd_subject_at(out, bundle, 0);
    }
    if (count == 0) {
        opd_status lost = opd_source_check_left(bundle);
        return lost != OPD_OK ? lost : opd_fail(OPD_E_NOTFOUND, "%s: holds no call", opd_bundle_path(bundle));
    }
    opd_status status = check_calls(bundle);
    if (status != OPD_OK) {
        return status;
    }
    if (!opd_source_keeps_operands(bundle)) {
        char options[48];
        opd_source_keeping_options(options, sizeof options, bundle);
        return opd_fail(OPD_E_NOTFOUND,
                        "%s: keeps no operands of its %" PRIu64 " calls and no failing call; a failure bundle%s%s%s",
                        opd_bundle_path(bundle), count, options[0] != '\0' ? ", or record " : " has them", options,
                        options[0] != '\0' ? ", has them" : "");
    }
    return opd_fail(OPD_E_NOTFOUND,
                    "%s: records no failing call; choose one of its %" PRIu64
                    " calls with --call N (ops-debug show lists them)",
                    opd_bundle_path(bundle), count);
}

/* Digits only: neither sign nor blank. */
static bool parse_number(uint64_t *out, const char **text)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool parse_selector(const char *selector, uint64_t *thread, uint64_t *number)
{
    *thread = 0;
    bool is_good = parse_number(number, &selector);
    if (is_good && *selector == ':') {
        selector++;
        *thread = *number;
        is_good = parse_number(number, &selector);
    }
    return is_good && *selector == '\0';
}

#define SELECTOR_ERROR "--call: '%s' is neither NUMBER nor THREAD:NUMBER"

void opd_selector_check(const struct argp_state *state, const char *selector)
{
    uint64_t thread = 0;
    uint64_t number = 0;
    if (!parse_selector(selector, &thread, &number)) {
        opd_usage_error(state, SELECTOR_ERROR, selector);
    }
}

opd_status opd_subject_find(opd_subject *out, const opd_bundle *bundle, const char *selector)
{
    if (selector == NULL) {
        return find_failing(out, bundle);
    }
    uint64_t thread = 0;
    uint64_t number = 0;
    if (!parse_selector(selector, &thread, &number)) {
        return opd_fail(OPD_E_SYNTAX, SELECTOR_ERROR, selector);
    }
    uint64_t found = UINT64_MAX;
    uint32_t first_thread = 0;
    for (uint64_t i = 0; i < opd_bundle_call_count(bundle); i++) {
        opd_call call;
        opd_status status = opd_bundle_call(&call, bundle, i);
        if (status != OPD_OK) {
            return status;
        }
        if (call.number != number || (thread != 0 && call.thread != thread)) {
            continue;
        }
        if (found != UINT64_MAX && call.thread != first_thread) {
            return opd_fail(OPD_E_INVALID,
                            "--call: several threads have a call %" PRIu64 "; give THREAD:NUMBER, such as %u:%" PRIu64,
                            number, first_thread, number);
        }
        found = i;
        first_thread = call.thread;
    }
    if (found == UINT64_MAX) {
        return opd_fail(OPD_E_NOTFOUND, "%s: no call %s in it (ops-debug show lists them)", opd_bundle_path(bundle),
                        selector);
    }
    return opd_subject_at(out, bundle, found);
}

bool opd_source_has_failure(const opd_bundle *bundle)
{
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        if (opd_failure_is_real(failure) && failure->call_number != 0) {
            return true;
        }
    }
    return false;
}

bool opd_source_fails_outside(const opd_bundle *bundle)
{
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        if (opd_failure_is_real(opd_bundle_failure(bundle, i))) {
            return !opd_source_has_failure(bundle);
        }
    }
    return false;
}

void opd_source_remark_outside(const opd_bundle *bundle)
{
    if (opd_source_fails_outside(bundle)) {
        opd_remark("%s: its failure is of no recorded call; ops-debug show has the stack and what was called before",
                   opd_bundle_path(bundle));
    }
}

bool opd_source_is_replayable(const opd_bundle *bundle, const opd_call *call)
{
    if ((call->op == NULL && !opd_call_is_foreign(call)) || (call->flags & OPD_CALL_VIEW) != 0) {
        return false;
    }
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_needed = (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
        if (is_needed && opd_tensor_existing(&operand->view) > 0 && !opd_bundle_has_tensor(bundle, &operand->before)) {
            return false;
        }
    }
    return true;
}

bool opd_source_can_replay(const char *path)
{
    opd_bundle *bundle = NULL;
    opd_subject subject = { 0 };
    if (opd_bundle_open(&bundle, path) != OPD_OK) {
        return false;
    }
    bool can_run = !opd_source_fails_outside(bundle) && opd_subject_find(&subject, bundle, NULL) == OPD_OK &&
                   opd_source_is_replayable(bundle, &subject.call);
    opd_bundle_close(bundle);
    return can_run;
}

static bool has_event(const opd_bundle *bundle, const char *kind)
{
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        if (strcmp(opd_bundle_event(bundle, i)->kind, kind) == 0) {
            return true;
        }
    }
    return false;
}

bool opd_source_is_guarded(const opd_bundle *bundle)
{
    return has_event(bundle, OPD_EVENT_GUARD);
}

bool opd_source_is_golden(const opd_bundle *bundle)
{
    return has_event(bundle, OPD_EVENT_GOLDEN);
}

void opd_source_phrase(char *text, size_t size, const opd_bundle *bundle)
{
    char word[4096];
    opd_phrase_shell(word, sizeof word, opd_bundle_path(bundle));
    snprintf(text, size, "%s%s", word, opd_source_is_guarded(bundle) ? " --guard" : "");
}
