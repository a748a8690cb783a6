/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a bundle with a random run, and beside it as JSON what was written, for checks that must not use our reader.
 *
 *     write_run SEED CALLS THREADS FILE.opsb        calls are made as a program makes them; prints {"calls": [...], ...}
 *     write_run export FILE.opsb OUT...             exports it to every OUT, by suffix; prints the reports
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/bundle.h>
#include <opsdebug/random.h>
#include <opsdebug/view.h>

enum { CONTENTS = 40, MOST_DEPTH = 12, FIRST_TID = 501, PID = 500 };

typedef struct run {
    opd_writer *writer;
    uint64_t seed;
    uint64_t draws;
    uint32_t left; /* calls still to make */
    uint32_t tid;
    uint64_t number;
    bool is_first;
    uint32_t module;
} run;

static void die(const char *what)
{
    (void)fprintf(stderr, "write_run: %s: %s\n", what, opd_error_text());
    exit(3);
}

static void must(opd_status status, const char *what)
{
    if (status != OPD_OK) {
        die(what);
    }
}

/* Below limit. */
static uint64_t draw(run *made, uint64_t limit)
{
    return opd_random_u64(made->seed, 2, made->draws++) % limit;
}

static opd_digest content(uint64_t number)
{
    opd_digest digest;
    uint64_t half = opd_random_u64(number, 3, 0);

    memset(&digest, (int)number, sizeof(digest));
    memcpy(digest.bytes, &half, sizeof(half));
    return digest;
}

static void set_operands(run *made, opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if ((operand->role & OPD_ROLE_IN) != 0 && draw(made, 4) != 0) {
            operand->before = content(1 + draw(made, CONTENTS));
        }
        if ((operand->role & OPD_ROLE_OUT) != 0 && draw(made, 4) != 0) {
            operand->after = content(1 + draw(made, CONTENTS));
        }
        if (draw(made, 2) == 0) {
            operand->flags |= OPD_OPERAND_HAS_HEALTH;
            operand->health_before =
                (opd_health){ .count = 9, .nan = draw(made, 3), .min = -1, .max = 2, .mean = 0.25 };
            operand->health_after = operand->health_before;
        }
    }
}

static void print_digests(const opd_call *call)
{
    static const char *const keys[] = { "reads", "makes" };

    for (int side = 0; side < 2; side++) {
        const char *comma = "";
        (void)printf(", \"%s\": [", keys[side]);
        for (int i = 0; i < call->operand_count; i++) {
            const opd_operand *operand = &call->operands[i];
            const opd_digest *digest = side == 0 ? &operand->before : &operand->after;
            char text[OPD_DIGEST_TEXT];
            if (!opd_digest_is_none(digest)) {
                opd_digest_print(text, digest);
                (void)printf("%s\"%s\"", comma, text);
                comma = ", ";
            }
        }
        (void)printf("]");
    }
}

static void write_call(run *made, opd_call *call)
{
    must(opd_writer_call(made->writer, call), "call");
    (void)printf("%s\n{\"tid\": %u, \"number\": %llu, \"name\": \"%s\", \"begin\": %llu, \"end\": %llu, \"flight\": %d",
                 made->is_first ? "" : ",", call->thread, (unsigned long long)call->number, call->name,
                 (unsigned long long)call->begin_ns, (unsigned long long)call->end_ns,
                 (call->flags & OPD_CALL_IN_FLIGHT) != 0);
    print_digests(call);
    (void)printf("}");
    made->is_first = false;
}

static opd_call new_call(run *made)
{
    static const char *const names[] = { "dgemm", "sgemm", "dgemv", "ddot", "dscal", "zgemv" };
    const char *name = names[draw(made, OPD_COUNT(names))];
    const opd_routine *routine = opd_routine_find(name);
    opd_call call;

    if (routine == NULL) {
        die(name);
    }
    must(opd_call_init(&call, routine->op, name, routine->dtype), name);
    (void)snprintf(call.symbol, sizeof(call.symbol), "cblas_%s", name);
    call.pid = PID;
    call.thread = made->tid;
    call.number = ++made->number;
    call.flags |= OPD_CALL_CBLAS;
    call.provider = made->module;
    set_operands(made, &call);
    return call;
}

/* A call from begin to end and, inside it, others; written before or after them. */
static void nest(run *made, uint64_t begin, uint64_t end, int depth)
{
    opd_call call = new_call(made);
    bool is_written_first = draw(made, 2) == 0;
    uint64_t at = begin;

    call.begin_ns = begin;
    call.end_ns = end;
    call.depth = (uint32_t)depth;
    made->left--;
    if (is_written_first) {
        write_call(made, &call);
    }
    while (at < end && made->left > 0 && depth < MOST_DEPTH && draw(made, 3) != 0) {
        uint64_t from = at + draw(made, 2) * draw(made, end - at);
        uint64_t to = from + 1 + draw(made, end - from);
        nest(made, from, to, depth + 1);
        at = to;
    }
    if (!is_written_first) {
        write_call(made, &call);
    }
}

static void run_thread(run *made, uint32_t calls, uint64_t begin)
{
    uint64_t at = begin;

    made->left = calls;
    made->number = 0;
    while (made->left > 0) {
        uint64_t from = at + draw(made, 2) * draw(made, 1000);
        uint64_t to = from + 1 + draw(made, 100000);
        nest(made, from, to, 0);
        at = to;
    }
    /* The last one does not return. */
    if (draw(made, 2) == 0) {
        opd_call call = new_call(made);
        call.begin_ns = at + 5;
        call.flags |= OPD_CALL_IN_FLIGHT;
        write_call(made, &call);
    }
}

static uint32_t write_events(run *made, uint32_t threads)
{
    uint32_t marks = (uint32_t)draw(made, 5);

    for (uint32_t i = 0; i < marks; i++) {
        opd_event event = { .kind = "mark", .name = "here, \"now\"", .thread = FIRST_TID, .time_ns = 5000 + i };
        must(opd_writer_event(made->writer, &event), "event");
    }
    for (uint32_t i = 0; i < threads; i++) {
        opd_event event = { .kind = "range-push", .name = "step", .thread = FIRST_TID + i, .time_ns = 2000 };
        must(opd_writer_event(made->writer, &event), "event");
        (void)snprintf(event.kind, sizeof(event.kind), "range-pop");
        event.time_ns = 3000;
        must(opd_writer_event(made->writer, &event), "event");
    }
    opd_failure failure = { .outcome = OPD_OUTCOME_NAN_BORN,
                            .thread = FIRST_TID,
                            .call_number = 1,
                            .operand = "C",
                            .index_rank = 2,
                            .index = { 3, 4 },
                            .label = "unread-operand-read",
                            .confidence = 0.5f,
                            .reason = "alpha is 0 and A holds NaN",
                            .time_ns = 4000 };
    must(opd_writer_failure(made->writer, &failure), "failure");
    return marks + 1;
}

static int write_bundle(char **arguments)
{
    run made = { .seed = strtoull(arguments[0], NULL, 10), .is_first = true };
    uint32_t calls = (uint32_t)strtoul(arguments[1], NULL, 10);
    uint32_t threads = (uint32_t)strtoul(arguments[2], NULL, 10);
    opd_header_info header = { .version = OPD_FORMAT_VERSION,
                               .producer = "write_run",
                               .kind = "run",
                               .created_realtime_ns = 1700000000000000000u,
                               .created_monotonic_ns = 900,
                               .pid = PID,
                               .program = "/usr/bin/a.out",
                               .command = "a.out -v",
                               .capture = "stats" };
    opd_module module = { .path = "/usr/lib/libblas.so.3", .build_id = "0123" };

    must(opd_writer_open(&made.writer, arguments[3], &header), arguments[3]);
    must(opd_writer_module(made.writer, &made.module, &module), "module");
    (void)printf("{\"calls\": [");
    for (uint32_t i = 0; i < threads; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "worker %u", i);
        must(opd_writer_thread(made.writer, PID, FIRST_TID + i, name), "thread");
    }
    for (uint32_t i = 0; i < threads; i++) {
        made.tid = FIRST_TID + i;
        run_thread(&made, calls / threads, 1000 + draw(&made, 3000));
    }
    uint32_t marks = write_events(&made, threads);
    (void)printf("], \"threads\": %u, \"marks\": %u, \"ranges\": %u, \"range_duration\": %u}\n", threads, marks,
                 threads, threads * 1000);
    must(opd_writer_close(made.writer), "close");
    return 0;
}

static int export_bundle(int count, char **arguments)
{
    opd_bundle *bundle = NULL;

    must(opd_bundle_open(&bundle, arguments[0]), "open");
    (void)printf("[");
    for (int i = 1; i < count; i++) {
        opd_view_report report;
        must(opd_view_export(&report, bundle, arguments[i], opd_view_format_of_path(arguments[i])), "export");
        (void)printf(
            "%s{\"slices\": %llu, \"instants\": %llu, \"counters\": %llu, \"flow_pairs\": %llu, \"cut\": %llu, \"bytes\": %llu, "
            "\"unfinished\": %llu}",
            i == 1 ? "" : ", ", (unsigned long long)report.slices, (unsigned long long)report.instants,
            (unsigned long long)report.counters, (unsigned long long)report.flows, (unsigned long long)report.flows_cut,
            (unsigned long long)report.bytes, (unsigned long long)report.unfinished);
    }
    (void)printf("]\n");
    opd_bundle_close(bundle);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "export") == 0) {
        return export_bundle(argc - 2, argv + 2);
    }
    if (argc == 5 && strtoul(argv[3], NULL, 10) > 0) {
        return write_bundle(argv + 1);
    }
    (void)fprintf(stderr, "usage: write_run SEED CALLS THREADS FILE.opsb | write_run export FILE.opsb OUT...\n");
    return 2;
}
