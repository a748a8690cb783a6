/* SPDX-License-Identifier: Apache-2.0 */
/* A failure as a bundle: the calls of the window with the data that still stand, what failed and where. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector.h"
#include "inquest.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* -------------------------------------------------------------------------------------------------- the window */

/* Content to be stored, once all calls are. */
typedef struct content {
    opd_digest digest;
    opd_tensor view;
    opd_place place;
    uint64_t returned[2]; /* the content itself where place has no bytes: what a function returned */
} content;

typedef struct window {
    opd_collector *collector;
    opd_watched *watched;
    const opd_shared_trigger *trigger;
    opd_writer *writer;
    uint32_t modules[OPD_PROCESS_MODULES];
    uint64_t frozen;  /* data of leases before this may be overwritten while we read */
    opd_wreck *wreck; /* of a crash; NULL = none */
    opd_crash_info crash;
    opd_failure failure;
    content *contents;
    size_t content_count;
    size_t failing_first, failing_end; /* those of the failing call */
    uint64_t calls;
    bool is_told; /* calls and failure are in the file */
} window;

static opd_status map_module(window *at, uint32_t *index)
{
    uint32_t from = *index;
    *index = 0;
    if (from == 0 || from > OPD_PROCESS_MODULES) {
        return OPD_OK;
    }
    if (at->modules[from - 1] == 0) {
        opd_status status = opd_bundle_module_of(&at->modules[from - 1], at->writer, at->watched, from);
        if (status != OPD_OK) {
            return status;
        }
    }
    *index = at->modules[from - 1];
    return OPD_OK;
}

static opd_status note_content(window *at, const content *found)
{
    size_t count = at->content_count;
    if ((count & (count - 1)) == 0) {
        opd_status status = opd_grow((void **)&at->contents, count > 0 ? 2 * count : 1, sizeof(*found));
        if (status != OPD_OK) {
            return status;
        }
    }
    at->contents[at->content_count++] = *found;
    return OPD_OK;
}

static const void *find_content(const window *at, const content *wanted)
{
    const opd_place *place = &wanted->place;
    if (place->bytes == 0) {
        return wanted->returned;
    }
    return place->serial >= at->frozen && place->bytes == opd_tensor_packed_bytes(&wanted->view)
               ? opd_arena_find(at->watched->process, at->watched->bytes, place)
               : NULL;
}

/* Notes content of the arena; *is_kept tells whether it is still there, and it stays there while the window is frozen. */
static opd_status note_place(window *at, const opd_digest *digest, const opd_tensor *view, const opd_place *place,
                             bool *is_kept)
{
    content found = { .digest = *digest, .view = *view, .place = *place };
    *is_kept = place->bytes > 0 && find_content(at, &found) != NULL;
    return *is_kept && !opd_digest_is_none(digest) ? note_content(at, &found) : OPD_OK;
}

/* The value a function returned stands in the record itself. */
static opd_status note_returned(window *at, const opd_operand *operand, const opd_ring_record *record)
{
    content found = { .digest = operand->after, .view = operand->view };
    if ((operand->flags & OPD_OPERAND_RETURNED) == 0 || opd_digest_is_none(&operand->after) ||
        opd_tensor_packed_bytes(&operand->view) > sizeof(found.returned)) {
        return OPD_OK;
    }
    memcpy(found.returned, &record->word[OPD_R_RETURN], sizeof(found.returned));
    return note_content(at, &found);
}

static opd_status note_operands(window *at, opd_call *call, const opd_ring_record *record)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        opd_operand_part part;
        bool is_kept = false;
        if (!opd_decode_part(&part, record, (uint32_t)i)) {
            continue;
        }
        opd_status status = note_place(at, &operand->before, &operand->view, &part.place_before, &is_kept);
        if (!opd_digest_is_none(&operand->before) && !is_kept) {
            operand->flags |= OPD_OPERAND_NOT_KEPT;
        }
        if (status == OPD_OK && !opd_digest_is_none(&operand->after)) {
            status = note_place(at, &operand->after, &operand->view, &part.place_after, &is_kept);
        }
        if (status == OPD_OK) {
            status = note_returned(at, operand, record);
        }
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

static opd_status put_content(const window *at, const content *found)
{
    const void *bytes = find_content(at, found);
    if (bytes == NULL) {
        return OPD_OK;
    }
    opd_record_report *report = at->collector->report;
    uint64_t before = opd_writer_size(at->writer);
    opd_status status = opd_writer_tensor(at->writer, &found->digest, &found->view, bytes);
    uint64_t stored = opd_writer_size(at->writer) - before;
    report->content_raw += stored > 0 ? opd_tensor_packed_bytes(&found->view) : 0; /* else it was there already */
    report->content_stored += stored;
    return status;
}

/* The failing call's first, then back in time: should the disk fill up, the most wanted are there. */
static opd_status put_contents(const window *at)
{
    opd_status status = OPD_OK;
    for (size_t i = at->failing_first; status == OPD_OK && i < at->failing_end; i++) {
        status = put_content(at, &at->contents[i]);
    }
    for (size_t i = at->content_count; status == OPD_OK && i-- > 0;) {
        status = put_content(at, &at->contents[i]);
    }
    return status;
}

static void place_failure(opd_failure *failure, const opd_shared_trigger *trigger, const opd_call *call)
{
    if (trigger->operand < 0 || trigger->operand >= call->operand_count) {
        return;
    }
    const opd_operand *operand = &call->operands[trigger->operand];
    snprintf(failure->operand, sizeof(failure->operand), "%s", operand->name);
    if (trigger->element >= 0 && opd_window_locate(failure->index, &operand->view, trigger->element)) {
        failure->index_rank = operand->view.rank;
    }
}

/* What was found in the output, and that it was not in the inputs, as far as these were looked at. */
static void describe_born(opd_failure *failure, const opd_shared_trigger *trigger, const opd_call *call,
                          const char *what)
{
    bool is_sampled = trigger->operand >= 0 && trigger->operand < call->operand_count &&
                      (call->operands[trigger->operand].flags & OPD_OPERAND_SAMPLED) != 0;
    snprintf(failure->reason, sizeof(failure->reason), "%llu %s in %s%s of %s, none in what it must read%s",
             (unsigned long long)trigger->bad_count, trigger->outcome == OPD_OUTCOME_NAN_BORN ? "NaN" : "Inf",
             is_sampled ? "a sample of " : "", failure->operand, what, is_sampled ? ", as far as it was sampled" : "");
}

/* The largest value of the output that went beyond the limit. */
static void describe_large(const window *at, opd_failure *failure, const opd_call *call, const char *what)
{
    int32_t index = at->trigger->operand;
    if (index < 0 || index >= call->operand_count) {
        return;
    }
    const opd_health *health = &call->operands[index].health_after;
    snprintf(failure->reason, sizeof(failure->reason), "%g in %s of %s, beyond the limit of +-%g",
             health->max > -health->min ? health->max : health->min, failure->operand, what,
             at->collector->control->magnitude);
}

/* Where and why, in words, now that the failing call is at hand. */
static void describe_failure(window *at, opd_call *call)
{
    opd_failure *failure = &at->failure;
    const opd_shared_trigger *trigger = at->trigger;
    char text[256];
    const opd_operand *overflow = NULL;
    bool is_legal = call->op == NULL || opd_call_check(call, text, sizeof(text), &overflow);
    place_failure(failure, trigger, call);
    char what[200];
    opd_call_describe(what, sizeof(what), call);
    const char *given = trigger->reason[0] != '\0' ? trigger->reason : NULL;
    size_t size = sizeof(failure->reason);
    switch ((opd_outcome)trigger->outcome) {
    case OPD_OUTCOME_NAN_BORN:
    case OPD_OUTCOME_INF_BORN:
        describe_born(failure, trigger, call, what);
        break;
    case OPD_OUTCOME_BAD_ARGS:
        given = given != NULL ? given : is_legal ? NULL : text;
        snprintf(failure->reason, size, "%.150s%s%.200s", what, given != NULL ? ": " : "", given != NULL ? given : "");
        break;
    case OPD_OUTCOME_MAGNITUDE:
        describe_large(at, failure, call, what);
        break;
    case OPD_OUTCOME_INPUT_MUTATED:
        snprintf(failure->reason, size, "%s changed its input %s", what, failure->operand);
        break;
    default:
        snprintf(failure->reason, size, "%.150s%s%.150s%s%s%s", what, given != NULL ? ": " : "",
                 given != NULL ? given : "", overflow != NULL ? "; the span of " : "",
                 overflow != NULL ? overflow->name : "", overflow != NULL ? " overflows 32-bit offsets" : "");
        break;
    }
}

/* Where the reading of one thread's ring has got to. */
typedef struct ring_reading {
    const opd_slot *slot;
    uint32_t index;
    uint32_t tid; /* of the call before */
    opd_recipes recipes;
} ring_reading;

/* A call and all it stands on. */
static opd_status put_call(window *at, ring_reading *reading, opd_call *call)
{
    opd_status status = OPD_OK;
    if (reading->tid != call->thread) {
        char name[17];
        snprintf(name, sizeof(name), "%.16s", reading->slot->name);
        reading->tid = call->thread;
        status = opd_writer_thread(at->writer, (uint32_t)at->watched->pid, call->thread, name);
    }
    if (status == OPD_OK) {
        status = note_operands(at, call, at->collector->record);
    }
    if (status == OPD_OK) {
        status = map_module(at, &call->provider);
    }
    if (status == OPD_OK) {
        status = map_module(at, &call->caller);
    }
    if (status == OPD_OK) {
        status = opd_writer_call(at->writer, call);
    }
    if (status == OPD_OK) {
        status = opd_recipes_put(&reading->recipes, at->writer, call);
    }
    return status;
}

/* A record of the ring: a call, an event, or neither. */
static opd_status put_record(window *at, ring_reading *reading)
{
    opd_collector *collector = at->collector;
    opd_call *call = collector->call;
    opd_event event;
    if (opd_decode_call(call, collector, at->watched, collector->record) != OPD_OK) {
        if (opd_decode_event(&event, collector, collector->record) != OPD_OK) {
            return OPD_OK;
        }
        opd_recipes_note(&reading->recipes, &event);
        return opd_writer_event(at->writer, &event);
    }
    size_t first = at->content_count;
    opd_status status = put_call(at, reading, call);
    if (status != OPD_OK) {
        return status;
    }
    at->calls++;
    if (reading->index == at->trigger->slot && call->number == at->trigger->number &&
        call->thread == at->trigger->tid) {
        describe_failure(at, call);
        opd_inquest_place(&at->crash, call); /* of no crash, no address: nothing */
        at->failing_first = first;
        at->failing_end = at->content_count;
    }
    return OPD_OK;
}

/* All calls that the ring of one thread still has. */
static opd_status put_slot(window *at, uint32_t index)
{
    opd_slot *slot = &at->watched->process->slots[index];
    ring_reading reading = { .slot = slot, .index = index };
    uint64_t position = opd_ring_oldest(slot);
    opd_ring_result result;
    opd_status status = OPD_OK;
    while (status == OPD_OK && (result = opd_ring_read(slot, &position, at->collector->record)) != OPD_RING_EMPTY) {
        if (result == OPD_RING_RECORD) {
            status = put_record(at, &reading);
        }
    }
    return status;
}

static void take_crash(window *at)
{
    const opd_shared_crash *crash = &at->watched->process->crash;
    opd_failure *failure = &at->failure;
    if (at->trigger->outcome != OPD_OUTCOME_CRASH) {
        return;
    }
    failure->signal = (int32_t)at->trigger->bad_count;
    failure->bad_count = 0;
    if (at->trigger->is_survived != 0) {
        opd_inquest_survived(failure, &at->crash, at->trigger, at->watched);
        return;
    }
    if (atomic_load(&crash->is_set) == 2) {
        char path[512];
        snprintf(path, sizeof(path), "%.511s", crash->module);
        failure->signal_code = crash->code;
        failure->fault_address = crash->address;
        failure->pc = crash->pc;
        opd_object_symbol(failure->pc_symbol, sizeof(failure->pc_symbol), path, crash->module_start, crash->pc);
        size_t used = strlen(failure->reason);
        snprintf(failure->reason + used, sizeof(failure->reason) - used, ", at address 0x%llx, in %s of %s",
                 (unsigned long long)crash->address, failure->pc_symbol[0] != '\0' ? failure->pc_symbol : "?",
                 base_name(path));
    }
    if (at->wreck != NULL) {
        size_t used = strlen(failure->reason);
        opd_inquest_say(failure->reason + used, sizeof(failure->reason) - used, &at->crash, failure);
    }
}

/* The place of the crash and the call that led there. */
static opd_status put_backtrace(const window *at)
{
    opd_frame frame = { .address = at->failure.pc };
    if (at->wreck != NULL) {
        return opd_inquest_put(at->writer, &at->crash, at->wreck, at->watched, at->collector->record);
    }
    if (frame.address == 0) {
        return OPD_OK;
    }
    snprintf(frame.symbol, sizeof(frame.symbol), "%s", at->failure.pc_symbol);
    return opd_writer_backtrace(at->writer, at->trigger->tid, &frame, 1);
}

/* Calls and failure first, in the file before the first byte of data: they are small, and say what the data would be. */
static opd_status put_all(window *at)
{
    opd_process *process = at->watched->process;
    uint32_t used = atomic_load(&process->slots_used);
    opd_status status = OPD_OK;
    for (uint32_t i = 0; status == OPD_OK && i < used && i < OPD_PROCESS_THREADS; i++) {
        status = opd_session_slot(process, i) != NULL ? put_slot(at, i) : OPD_OK;
    }
    take_crash(at);
    if (status == OPD_OK) {
        status = put_backtrace(at);
    }
    if (status == OPD_OK) {
        status = opd_writer_failure(at->writer, &at->failure);
    }
    if (status == OPD_OK) {
        status = opd_writer_flush(at->writer);
    }
    at->is_told = status == OPD_OK;
    if (status == OPD_OK) {
        status = opd_counts_put(at->writer, at->collector, at->watched);
    }
    if (status == OPD_OK) {
        status = opd_generators_put(at->writer, process);
    }
    return status == OPD_OK ? put_contents(at) : status;
}

/* A name of its own: neither another process with this pid nor a bundle that was cut short has it. */
void opd_window_path(char *path, size_t size, const opd_collector *collector, opd_watched *watched, const char *what)
{
    char program[64];
    if (collector->is_single) {
        snprintf(path, size, "%s", collector->out);
        return;
    }
    char full[256];
    snprintf(full, sizeof(full), "%.255s", watched->process->program);
    snprintf(program, sizeof(program), "%.63s", base_name(full));
    do {
        snprintf(path, size, "%s/%s-%d-%u-%s%s", collector->out, program[0] != '\0' ? program : "program", watched->pid,
                 ++watched->bundles, what, OPD_SUFFIX);
    } while (opd_bundle_is_taken(path));
}

static opd_status begin_window(window *at, char *path, size_t size)
{
    const opd_naming naming = { opd_window_path, opd_outcome_name(at->failure.outcome),
                                at->failure.outcome == OPD_OUTCOME_REQUESTED ? "requested" : "failure" };
    return opd_bundle_begin(&at->writer, path, size, at->collector, at->watched, &naming);
}

static void cut_short(window *at, const char *path)
{
    char why[512];
    snprintf(why, sizeof(why), "%s", opd_error_text());
    (void)opd_collector_keep_old(at->collector); /* else the name would open the old one, not what there is of this */
    opd_tally_bundle(at->collector->report, at->trigger->outcome, at->trigger->routine, false);
    if (at->is_told) {
        opd_collector_trouble(
            at->collector,
            "%s.partial is cut short: its %llu calls and what failed are whole, data of operands are missing: %s", path,
            (unsigned long long)at->calls, why);
    } else {
        opd_collector_trouble(at->collector, "%s.partial is cut short: %s", path, why);
    }
}

void opd_bundle_note(opd_collector *collector, const char *path, uint64_t bytes)
{
    opd_record_report *report = collector->report;
    report->bytes_stored += bytes;
    if (report->bundles < OPD_COUNT(report->bundle_paths)) {
        snprintf(report->bundle_paths[report->bundles], sizeof(report->bundle_paths[0]), "%.511s", path);
    }
    report->bundles++;
    snprintf(collector->last_bundle, sizeof(collector->last_bundle), "%.511s", path);
}

static void complete_window(window *at, const char *path)
{
    if (put_all(at) != OPD_OK || opd_writer_flush(at->writer) != OPD_OK) {
        cut_short(at, path);
        opd_writer_abandon(at->writer, true);
        return;
    }
    uint64_t bytes = opd_writer_size(at->writer);
    if (opd_collector_keep_old(at->collector) != OPD_OK) {
        cut_short(at, path);
        opd_writer_abandon(at->writer, true);
        return;
    }
    if (opd_writer_close(at->writer) != OPD_OK) {
        cut_short(at, path);
        return;
    }
    opd_bundle_note(at->collector, path, bytes);
    opd_tally_bundle(at->collector->report, at->trigger->outcome, at->trigger->routine, true);
}

void opd_window_write(opd_collector *collector, opd_watched *watched, const opd_shared_trigger *trigger)
{
    char path[4352];
    if (collector->is_single && collector->report->bundles > 0) {
        collector->report->suppressed++;
        return;
    }
    window at = { .collector = collector, .watched = watched, .trigger = trigger };
    uint64_t frozen = atomic_load(&watched->process->arena.frozen);
    at.frozen = frozen == OPD_NO_LIMIT ? 0 : frozen;
    at.failure = (opd_failure){ .outcome = (opd_outcome)trigger->outcome,
                                .thread = trigger->tid,
                                .call_number = trigger->number,
                                .index_rank = -1,
                                .bad_count = trigger->bad_count,
                                .time_ns = opd_ticks_to_ns(&collector->ticks, trigger->ticks) };
    snprintf(at.failure.reason, sizeof(at.failure.reason), "%.383s", trigger->reason);
    if (trigger->is_survived != 0) {
        at.crash = (opd_crash_info){
            .thread = trigger->tid, .access = (opd_access)trigger->access, .address = trigger->address, .index_rank = -1
        };
    } else if (trigger->outcome == OPD_OUTCOME_CRASH && atomic_load(&watched->process->crash.is_set) == 2 &&
               opd_wreck_read(&at.wreck, watched->path) == OPD_OK) {
        opd_inquest_begin(&at.crash, at.wreck);
    }
    if (begin_window(&at, path, sizeof(path)) != OPD_OK) {
        opd_wreck_free(at.wreck);
        opd_tally_bundle(collector->report, trigger->outcome, trigger->routine, false);
        opd_collector_trouble(collector, "%s", opd_error_text());
        return;
    }
    complete_window(&at, path);
    opd_wreck_free(at.wreck);
    opd_free(at.contents);
}
