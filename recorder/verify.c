/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's worker: sampled calls are copied out of the arena before laps take them, and run again on the reference by a thread of low
 * priority. The queue is short, and what finds no room in it is counted: the collector never waits for the worker but at the end.
 */
#include "verify.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "collector.h"
#include "trigger.h"

#define JOBS       32u
#define JOBS_BYTES (UINT64_C(256) << 20) /* copies of operands that wait */
#define WORK_LIMIT 5e8                   /* operations: seconds on the reference */
#define NICE       10

typedef enum job_state { JOB_FREE, JOB_READY, JOB_DONE } job_state;

typedef struct job_content {
    opd_digest digest;
    opd_tensor view;
    void *bytes;
} job_content;

typedef struct job {
    job_state state;
    opd_watched *watched;
    opd_call call;
    char thread[17];
    job_content contents[2 * OPD_MAX_OPERANDS];
    uint32_t count;
    uint64_t bytes;
    opd_status status; /* OK: failure says how it went */
    opd_failure failure;
    char why[160]; /* it could not be judged */
} job;

struct opd_verifier {
    opd_verify_fn *run;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool is_closing;
    uint64_t bytes;
    uint32_t next, waiting; /* the job to run next; READY jobs */
    job *jobs[JOBS];        /* in the order of the calls, as a ring; NULL = free */
};

static void free_job(job *item)
{
    for (uint32_t i = 0; item != NULL && i < item->count; i++) {
        opd_free(item->contents[i].bytes);
    }
    opd_free(item);
}

/* ---------------------------------------------------------------------------------------------- the worker thread */

/* A bundle in memory. */
typedef struct memory_sink {
    opd_sink base;
    opd_buffer *buffer;
} memory_sink;

static opd_status write_memory(opd_sink *sink, const void *bytes, size_t size)
{
    opd_buffer *buffer = ((memory_sink *)sink)->buffer;
    opd_buffer_append(buffer, bytes, size);
    return buffer->status;
}

static opd_status leave_memory(opd_sink *sink)
{
    (void)sink;
    return OPD_OK;
}

static opd_status put_contents(opd_writer *writer, const job *item)
{
    opd_status status = OPD_OK;
    for (uint32_t i = 0; i < item->count && status == OPD_OK; i++) {
        const job_content *content = &item->contents[i];
        status = opd_writer_tensor(writer, &content->digest, &content->view, content->bytes);
    }
    return status;
}

static opd_status make_bundle(opd_buffer *out, const job *item)
{
    const opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "api" };
    memory_sink sink = { { write_memory, leave_memory, leave_memory, NULL }, out };
    opd_writer *writer = NULL;
    opd_call call = item->call;
    call.provider = 0;
    call.caller = 0;
    opd_status status = opd_writer_open_sink(&writer, &sink.base, &header);
    if (status != OPD_OK) {
        return status;
    }
    status = put_contents(writer, item);
    if (status == OPD_OK) {
        status = opd_writer_call(writer, &call);
    }
    if (status != OPD_OK) {
        opd_writer_abandon(writer, false);
        return status;
    }
    return opd_writer_close(writer);
}

static void run_job(const opd_verifier *verifier, job *item)
{
    opd_buffer buffer;
    opd_bundle *bundle = NULL;
    opd_buffer_init(&buffer, (size_t)JOBS_BYTES * 2);
    item->status = make_bundle(&buffer, item);
    if (item->status == OPD_OK) {
        item->status = opd_bundle_open_memory(&bundle, buffer.bytes, buffer.size);
    }
    if (item->status == OPD_OK) {
        item->status = verifier->run(verifier->context, &item->failure, bundle);
    }
    if (item->status != OPD_OK) {
        snprintf(item->why, sizeof(item->why), "%.159s", opd_error_text());
    }
    if (bundle != NULL) {
        opd_bundle_close(bundle);
    }
    opd_buffer_done(&buffer);
}

static void *work(void *context)
{
    opd_verifier *verifier = context;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE); /* of this thread, on Linux */
    pthread_mutex_lock(&verifier->lock);
    for (;;) {
        job *item = verifier->jobs[verifier->next];
        if (item == NULL || item->state != JOB_READY) {
            if (verifier->is_closing) {
                break;
            }
            pthread_cond_wait(&verifier->changed, &verifier->lock);
            continue;
        }
        pthread_mutex_unlock(&verifier->lock);
        run_job(verifier, item);
        pthread_mutex_lock(&verifier->lock);
        item->state = JOB_DONE;
        verifier->waiting--;
        verifier->next = (verifier->next + 1) % JOBS;
        pthread_cond_broadcast(&verifier->changed);
    }
    pthread_mutex_unlock(&verifier->lock);
    return NULL;
}

opd_status opd_verify_start(opd_collector *collector, const opd_record_options *options)
{
    void *block = NULL;
    sigset_t all;
    sigset_t old;
    if (collector->control->verify == 0) {
        return OPD_OK;
    }
    opd_status status = opd_alloc(&block, sizeof(opd_verifier));
    if (status != OPD_OK) {
        return status;
    }
    opd_verifier *verifier = block;
    verifier->run = options->verify_run;
    verifier->context = options->verify_context;
    pthread_mutex_init(&verifier->lock, NULL);
    pthread_cond_init(&verifier->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&verifier->thread, NULL, work, verifier);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error != 0) {
        opd_free(verifier);
        return opd_fail(OPD_E_NOMEM, "no thread to verify calls: %s", strerror(error));
    }
    collector->verifier = verifier;
    return OPD_OK;
}

/* --------------------------------------------------------------------------------------------- taking a call over */

/* Copies a content of size bytes; from: in the arena, where it may be overwritten meanwhile (place), or beside it (place NULL). */
static bool add_content(job *item, const opd_digest *digest, const opd_tensor *view, const void *from, uint64_t bytes)
{
    job_content *content = &item->contents[item->count];
    if (from == NULL || opd_tensor_packed_bytes(view) != bytes || opd_alloc(&content->bytes, bytes) != OPD_OK) {
        return false;
    }
    memcpy(content->bytes, from, bytes);
    content->digest = *digest;
    content->view = *view;
    item->count++;
    item->bytes += bytes;
    return true;
}

static bool add_place(job *item, const opd_watched *watched, const opd_digest *digest, const opd_tensor *view,
                      const opd_place *place)
{
    const void *from = opd_arena_find(watched->process, watched->bytes, place);
    return add_content(item, digest, view, from, place->bytes) &&
           opd_arena_find(watched->process, watched->bytes, place) == from;
}

static bool add_operand(job *item, const opd_watched *watched, const opd_ring_record *record, int index)
{
    const opd_operand *operand = &item->call.operands[index];
    opd_operand_part part;
    bool is_there = (operand->flags & OPD_OPERAND_ABSENT) == 0 && opd_tensor_check(&operand->view) == OPD_OK &&
                    opd_tensor_existing(&operand->view) > 0;
    if (!is_there) {
        return true;
    }
    if (!opd_decode_part(&part, record, (uint32_t)index)) {
        return false;
    }
    bool is_read = (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
    if (is_read && !add_place(item, watched, &operand->before, &operand->view, &part.place_before)) {
        return false;
    }
    if ((operand->role & OPD_ROLE_OUT) == 0) {
        return true;
    }
    if ((operand->flags & OPD_OPERAND_RETURNED) != 0) {
        uint64_t bytes = opd_tensor_packed_bytes(&operand->view);
        return bytes <= 2 * sizeof(record->word[0]) &&
               add_content(item, &operand->after, &operand->view, &record->word[OPD_R_RETURN], bytes);
    }
    return add_place(item, watched, &operand->after, &operand->view, &part.place_after);
}

/* Room for a call of so many bytes, and the place for it; NULL: the worker is behind. */
static job **find_room(opd_verifier *verifier, uint64_t bytes)
{
    job **place = &verifier->jobs[(verifier->next + verifier->waiting) % JOBS];
    return *place == NULL && verifier->bytes + bytes <= JOBS_BYTES ? place : NULL;
}

static uint64_t bytes_of(const opd_call *call)
{
    uint64_t bytes = 0;
    for (int i = 0; i < call->operand_count; i++) {
        bytes +=
            opd_tensor_check(&call->operands[i].view) == OPD_OK ? opd_tensor_packed_bytes(&call->operands[i].view) : 0;
    }
    return 2 * bytes;
}

static void hand_over(opd_collector *collector, opd_watched *watched, const opd_call *call, const char *thread)
{
    opd_verifier *verifier = collector->verifier;
    void *block = NULL;
    pthread_mutex_lock(&verifier->lock);
    job **place = find_room(verifier, bytes_of(call));
    pthread_mutex_unlock(&verifier->lock); /* only this thread fills places */
    if (place == NULL || opd_alloc(&block, sizeof(job)) != OPD_OK) {
        collector->report->verify.busy++;
        return;
    }
    job *item = block;
    item->watched = watched;
    item->call = *call;
    snprintf(item->thread, sizeof(item->thread), "%.16s", thread);
    bool is_whole = true;
    for (int i = 0; i < call->operand_count && is_whole; i++) {
        is_whole = add_operand(item, watched, collector->record, i);
    }
    if (!is_whole) {
        collector->report->verify.lost++;
        free_job(item);
        return;
    }
    watched->verifying++;
    item->state = JOB_READY;
    pthread_mutex_lock(&verifier->lock);
    *place = item;
    verifier->bytes += item->bytes;
    verifier->waiting++;
    pthread_cond_broadcast(&verifier->changed);
    pthread_mutex_unlock(&verifier->lock);
}

void opd_verify_offer(opd_collector *collector, opd_watched *watched, const opd_call *call, const char *thread)
{
    const opd_ring_record *record = collector->record;
    const uint32_t unfit = OPD_CALL_BAD_ARGS | OPD_CALL_IN_FLIGHT | OPD_CALL_VIEW;
    if (collector->verifier == NULL || record->operands == 0 || (call->flags & unfit) != 0 ||
        !opd_verify_wants(collector->control, call->thread, call->number)) {
        return;
    }
    opd_record_verify *report = &collector->report->verify;
    if (call->op == NULL) {
        report->unjudged++;
        if (report->why[0] == '\0') {
            snprintf(report->why, sizeof(report->why), "%.31s has no reference", call->name);
        }
    } else if (opd_call_flops(call) > WORK_LIMIT) {
        report->large++;
    } else {
        hand_over(collector, watched, call, thread);
    }
}

/* ------------------------------------------------------------------------------------------------- what came back */

static opd_status put_module(uint32_t *index, opd_writer *writer, const opd_watched *watched)
{
    uint32_t from = *index;
    *index = 0;
    return from > 0 && from <= OPD_PROCESS_MODULES ? opd_bundle_module_of(index, writer, watched, from) : OPD_OK;
}

static opd_status put_all(opd_writer *writer, job *item)
{
    opd_status status = opd_writer_thread(writer, (uint32_t)item->watched->pid, item->call.thread, item->thread);
    if (status == OPD_OK) {
        status = put_module(&item->call.provider, writer, item->watched);
    }
    if (status == OPD_OK) {
        status = put_module(&item->call.caller, writer, item->watched);
    }
    if (status == OPD_OK) {
        status = opd_writer_call(writer, &item->call);
    }
    if (status == OPD_OK) {
        status = opd_writer_failure(writer, &item->failure);
    }
    return status == OPD_OK ? put_contents(writer, item) : status;
}

static void write_mismatch(opd_collector *collector, job *item)
{
    char path[4352];
    const opd_naming naming = { opd_window_path, opd_outcome_name(item->failure.outcome), "failure" };
    opd_writer *writer = NULL;
    opd_status status = opd_bundle_begin(&writer, path, sizeof(path), collector, item->watched, &naming);
    if (status == OPD_OK && (status = put_all(writer, item)) != OPD_OK) {
        opd_writer_abandon(writer, true);
    } else if (status == OPD_OK) {
        uint64_t bytes = opd_writer_size(writer);
        status = opd_writer_close(writer);
        if (status == OPD_OK) {
            opd_bundle_note(collector, path, bytes);
        }
    }
    opd_tally_bundle(collector->report, (uint32_t)item->failure.outcome, item->call.name, status == OPD_OK);
    if (status != OPD_OK) {
        opd_collector_trouble(collector, "a wrong result of call %llu has no whole bundle: %s",
                              (unsigned long long)item->call.number, opd_error_text());
    }
}

/* The line of such failures; NULL: there are too many kinds. */
static void take_mismatch(opd_collector *collector, job *item)
{
    opd_record_report *report = collector->report;
    opd_record_failure *line = opd_tally_failure(report, (uint32_t)item->failure.outcome, item->call.name);
    item->failure.thread = item->call.thread;
    item->failure.call_number = item->call.number;
    item->failure.time_ns = item->call.end_ns;
    report->verify.mismatches++;
    bool is_repeat = line == NULL || line->written + line->cut > 0;
    bool is_wanted = item->watched->mismatches < opd_trigger_room(collector->control, is_repeat) &&
                     (line == NULL || line->written + line->cut < collector->control->per_failure) &&
                     !(collector->is_single && report->bundles > 0);
    if (line != NULL) {
        line->seen++;
    }
    if (!is_wanted) {
        report->suppressed++;
        return;
    }
    item->watched->mismatches++;
    write_mismatch(collector, item);
}

/* A job that is done, taken out; NULL: there is none. */
static job *take_done(opd_verifier *verifier)
{
    job *found = NULL;
    for (uint32_t i = 0; i < JOBS && found == NULL; i++) {
        job **place = &verifier->jobs[(verifier->next + verifier->waiting + i) % JOBS];
        if (*place != NULL && (*place)->state == JOB_DONE) {
            found = *place;
            *place = NULL;
            verifier->bytes -= found->bytes;
        }
    }
    return found;
}

static void settle(opd_collector *collector, job *item)
{
    opd_record_verify *report = &collector->report->verify;
    item->watched->verifying--;
    if (item->status != OPD_OK) {
        report->unjudged++;
        if (report->why[0] == '\0') {
            snprintf(report->why, sizeof(report->why), "%s", item->why);
        }
    } else {
        report->verified++;
        if (item->failure.outcome == OPD_OUTCOME_MISMATCH) {
            take_mismatch(collector, item);
        }
    }
    opd_collector_let_go(item->watched);
    free_job(item);
}

void opd_verify_settle(opd_collector *collector)
{
    opd_verifier *verifier = collector->verifier;
    job *item = NULL;
    do {
        if (verifier == NULL) {
            return;
        }
        pthread_mutex_lock(&verifier->lock);
        item = take_done(verifier);
        pthread_mutex_unlock(&verifier->lock);
        if (item != NULL) {
            settle(collector, item);
        }
    } while (item != NULL);
}

void opd_verify_finish(opd_collector *collector)
{
    opd_verifier *verifier = collector->verifier;
    if (verifier == NULL) {
        return;
    }
    pthread_mutex_lock(&verifier->lock);
    verifier->is_closing = true;
    pthread_cond_broadcast(&verifier->changed);
    pthread_mutex_unlock(&verifier->lock);
    pthread_join(verifier->thread, NULL); /* each job has a time limit of its own */
    opd_verify_settle(collector);
    pthread_cond_destroy(&verifier->changed);
    pthread_mutex_destroy(&verifier->lock);
    opd_free(verifier);
    collector->verifier = NULL;
}
