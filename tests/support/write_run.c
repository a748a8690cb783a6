/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a bundle with a random run, and beside it as JSON what was written, for checks that must not use our reader.
 *
 *     write_run SEED CALLS THREADS FILE.opsb        calls are made as a program makes them; prints {"calls": [...], ...}
 *     write_run details|empty FILE.opsb             one call of every odd kind; no call at all
 *     write_run export FILE.opsb OUT...             exports it to every OUT, by suffix; prints the reports
 */
#include <math.h>
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

/* ------------------------------------------------------------------------------------- one call of every odd kind */

static opd_call odd_call(const char *name, uint64_t number, uint64_t begin, uint64_t end)
{
    const opd_routine *routine = opd_routine_find(name);
    opd_call call;

    if (routine == NULL) {
        die(name);
    }
    must(opd_call_init(&call, routine->op, name, routine->dtype), name);
    call.pid = PID;
    call.thread = FIRST_TID;
    call.number = number;
    call.begin_ns = begin;
    call.end_ns = end;
    return call;
}

static void write_values(opd_writer *writer)
{
    opd_call call = odd_call("dgemm", 1, 1000, 2000);

    opd_call_value(&call, "alpha")->re = (double)NAN;
    opd_call_value(&call, "beta")->re = -(double)INFINITY;
    call.flags = OPD_CALL_CBLAS | OPD_CALL_ROW_MAJOR;
    call.operands[0].flags = OPD_OPERAND_MUST_NOT_READ | OPD_OPERAND_HAS_HEALTH;
    call.operands[0].health_before = (opd_health){
        .count = 9, .nan = 1, .pos_inf = 2, .neg_inf = 3, .subnormal = 4, .min = 0.1, .max = 2, .mean = -1
    };
    must(opd_writer_call(writer, &call), "call");

    call = odd_call("zgemv", 2, 1000, 2000); /* exactly inside the first one */
    opd_call_value(&call, "alpha")->re = 1.5;
    opd_call_value(&call, "alpha")->im = -2;
    must(opd_writer_call(writer, &call), "call");

    call = odd_call("ddot", 3, 2000, 2000); /* no length */
    must(opd_writer_call(writer, &call), "call");

    call = odd_call("dscal", 4, 2500, 3500); /* crosses the next one */
    must(opd_writer_call(writer, &call), "call");
    call = odd_call("dscal", 5, 3000, 4000);
    must(opd_writer_call(writer, &call), "call");

    call = odd_call("dgemm", 6, 5000, 5001);
    call.flags = OPD_CALL_BAD_ARGS;
    call.bad_arg = 9;
    must(opd_writer_call(writer, &call), "call");

    call = (opd_call){ .domain = "mine", .name = "frobnicate \"x\"", .pid = PID, .thread = FIRST_TID, .number = 7 };
    call.begin_ns = 6000;
    call.end_ns = 7000;
    call.dtype = OPD_BF16;
    must(opd_writer_call(writer, &call), "call");
}

/* One producer, 40 readers of what it made and of one weight that nobody made. */
static void write_fan(opd_writer *writer)
{
    opd_call call = odd_call("dgemm", 8, 10000, 10100);

    call.operands[2].after = content(1);
    must(opd_writer_call(writer, &call), "call");
    for (uint64_t i = 0; i < 40; i++) {
        call = odd_call("dgemm", 9 + i, 11000 + 10 * i, 11005 + 10 * i);
        call.operands[0].before = content(1);
        call.operands[1].before = content(i % 2 == 0 ? 2 : 1); /* the same producer twice is one arrow */
        must(opd_writer_call(writer, &call), "call");
    }
    call = odd_call("dgemm", 49, 12000, 0);
    call.flags = OPD_CALL_IN_FLIGHT;
    must(opd_writer_call(writer, &call), "call");
}

static void write_odd_events(opd_writer *writer)
{
    static const opd_event events[] = {
        { .kind = "range-pop", .name = "never pushed", .thread = FIRST_TID, .time_ns = 900 },
        { .kind = "range-push", .name = "never popped", .thread = FIRST_TID, .time_ns = 950 },
        { .kind = "drop", .name = "ring full", .thread = 0, .time_ns = 8000, .value = -3 },
        { .kind = "mark", .name = "in another thread", .thread = 999999, .time_ns = 20000 },
    };
    opd_failure failure = { .outcome = OPD_OUTCOME_CRASH,
                            .thread = FIRST_TID,
                            .call_number = 49,
                            .operand = "B",
                            .index_rank = 2,
                            .index = { 3, -4 },
                            .bad_count = 5,
                            .signal = 11,
                            .signal_code = 1,
                            .fault_address = 0xdeadbeef000,
                            .pc = 0x1234,
                            .pc_symbol = "dgemm_kernel+0x1f0",
                            .label = "int32-overflow",
                            .confidence = 0.75f,
                            .reason = "line \"one\"\nline two, \x01\xff" };

    for (size_t i = 0; i < OPD_COUNT(events); i++) {
        must(opd_writer_event(writer, &events[i]), "event");
    }
    must(opd_writer_failure(writer, &failure), "failure");
}

static int write_odd(const char *path, bool is_empty)
{
    opd_header_info header = { .version = OPD_FORMAT_VERSION, .producer = "write_run", .kind = "failure" };
    opd_writer *writer = NULL;

    header.pid = is_empty ? 0 : PID;
    must(opd_writer_open(&writer, path, &header), path);
    if (!is_empty) {
        must(opd_writer_thread(writer, PID, FIRST_TID, "w \"q\" \\ \x01 \xff \xc3\xa9,"), "thread");
        write_values(writer);
        write_fan(writer);
        write_odd_events(writer);
    }
    must(opd_writer_close(writer), "close");
    (void)printf("{}\n");
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
    if (argc == 3 && (strcmp(argv[1], "details") == 0 || strcmp(argv[1], "empty") == 0)) {
        return write_odd(argv[2], strcmp(argv[1], "empty") == 0);
    }
    if (argc == 5 && strtoul(argv[3], NULL, 10) > 0) {
        return write_bundle(argv + 1);
    }
    (void)fprintf(
        stderr,
        "usage: write_run SEED CALLS THREADS FILE.opsb | details FILE.opsb | empty FILE.opsb | export FILE.opsb OUT...\n");
    return 2;
}
