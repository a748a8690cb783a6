/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes small bundles for tests: make_bundle KIND PATH. Kinds stand in the table at the end.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/bundle.h>

enum { THREAD = 4712 };

static opd_header_info header_of(const char *kind)
{
    opd_header_info header = { .version = OPD_FORMAT_VERSION,
                               .created_realtime_ns = 1700000000000000000u,
                               .created_monotonic_ns = 1000,
                               .pid = 4711 };
    snprintf(header.producer, sizeof header.producer, "make_bundle");
    snprintf(header.kind, sizeof header.kind, "%s", kind);
    snprintf(header.program, sizeof header.program, "solve");
    snprintf(header.command, sizeof header.command, "solve input.dat");
    return header;
}

/* C += A B with n x n complex operands; the values stand in fill. */
static opd_status make_gemm(opd_case *out, int64_t n, uint64_t number, double scale)
{
    opd_call call;
    opd_status status = opd_call_init(&call, opd_op_find("blas", "gemm"), "zgemm", OPD_C128);
    for (size_t i = 0; i < 3 && status == OPD_OK; i++) {
        status = opd_call_set(&call, (const char *const[]){ "m", "n", "k" }[i], n);
    }
    if (status == OPD_OK) {
        status = opd_call_compact(&call);
    }
    if (status == OPD_OK) {
        status = opd_case_allocate(out, &call, 1 << 20);
    }
    if (status != OPD_OK) {
        return status;
    }
    out->call.flags |= OPD_CALL_CBLAS;
    snprintf(out->call.symbol, sizeof out->call.symbol, "cblas_zgemm");
    out->call.pid = 4711;
    out->call.thread = THREAD;
    out->call.number = number;
    out->call.begin_ns = 1000 * number;
    out->call.end_ns = 1000 * number + 700;
    for (int i = 0; i < out->call.operand_count; i++) {
        opd_operand *operand = &out->call.operands[i];
        bool is_result = strcmp(operand->name, "C") == 0;
        for (int64_t k = 0; k < opd_tensor_count(&operand->view); k++) {
            int64_t index[OPD_MAX_RANK];
            double part = is_result ? 0.0 : k == 0 ? scale : 1.0;
            opd_tensor_unflatten(&operand->view, k, index);
            opd_element_store(OPD_C128, (char *)operand->view.data + opd_tensor_offset(&operand->view, index), part,
                              part);
        }
        operand->address = 0x7f0000000000u + 4096 * (unsigned)i;
    }
    return OPD_OK;
}

static opd_status write_gemm(opd_writer *writer, int64_t n, uint64_t number, double scale)
{
    opd_case item = { 0 };
    opd_status status = make_gemm(&item, n, number, scale);
    if (status == OPD_OK) {
        status = opd_writer_call_with_data(writer, &item.call);
    }
    opd_case_done(&item);
    return status;
}

/* Two calls as the list of a run has them: no operand's data. */
static opd_status write_list(opd_writer *writer)
{
    opd_status status = OPD_OK;
    for (uint64_t i = 1; i <= 2 && status == OPD_OK; i++) {
        opd_case item = { 0 };
        status = make_gemm(&item, 3, i, 2.0);
        for (int k = 0; status == OPD_OK && k < item.call.operand_count; k++) {
            opd_operand *operand = &item.call.operands[k];
            operand->before = opd_tensor_digest(&operand->view);
        }
        if (status == OPD_OK) {
            status = opd_writer_call(writer, &item.call);
        }
        opd_case_done(&item);
    }
    return status;
}

static opd_status write_failure(opd_writer *writer, uint64_t number)
{
    opd_failure failure = { .outcome = OPD_OUTCOME_NAN_BORN,
                            .thread = THREAD,
                            .call_number = number,
                            .operand = "C",
                            .index_rank = 2,
                            .bad_count = 1,
                            .time_ns = 1000 * number + 700 };
    return opd_writer_failure(writer, &failure);
}

/* Two calls, the second makes a NaN: (1e160 + 1e160 i)^2. */
static opd_status write_nan(opd_writer *writer)
{
    opd_status status = write_gemm(writer, 3, 1, 2.0);
    if (status == OPD_OK) {
        status = write_gemm(writer, 4, 2, 1e160);
    }
    return status == OPD_OK ? write_failure(writer, 2) : status;
}

/* One call that does what it should, no failure. */
static opd_status write_fine(opd_writer *writer)
{
    return write_gemm(writer, 3, 1, 2.0);
}

static opd_status write_several(opd_writer *writer)
{
    opd_status status = OPD_OK;
    for (uint64_t i = 1; i <= 3 && status == OPD_OK; i++) {
        status = write_gemm(writer, 3, i, 2.0);
    }
    return status;
}

/* A failure of an operator that no build knows. */
static opd_status write_unknown(opd_writer *writer)
{
    opd_call call = {
        .domain = "com.example", .name = "Frobnicate", .thread = THREAD, .number = 1, .begin_ns = 1, .end_ns = 2
    };
    call.dtype = OPD_F32;
    opd_status status = opd_writer_call(writer, &call);
    return status == OPD_OK ? write_failure(writer, 1) : status;
}

/* ESC, BEL, a line end, DEL, and controls of older sets as a byte and as UTF-8; a letter of two bytes is none. */
#define HOSTILE "a\033[2Jb\007\n\177\233\303\302\233\303\251"

#define PUT_HOSTILE(field) snprintf(field, sizeof(field), "%s", HOSTILE)

static opd_status write_hostile_machine(opd_writer *writer)
{
    uint32_t id = 0;
    opd_environment_info environment = { .cpu_count = 2 };
    opd_module module = { .threads = 2, .start = 0x1000, .end = 0x2000 };
    PUT_HOSTILE(environment.cpu_model);
    PUT_HOSTILE(environment.isa);
    PUT_HOSTILE(environment.kernel);
    PUT_HOSTILE(environment.libc);
    snprintf(environment.variables, sizeof environment.variables, "OMP_NUM_THREADS=%s\n%s=1", HOSTILE, HOSTILE);
    PUT_HOSTILE(module.path);
    PUT_HOSTILE(module.build_id);
    PUT_HOSTILE(module.core);
    PUT_HOSTILE(module.config);
    opd_status status = opd_writer_environment(writer, &environment);
    status = status == OPD_OK ? opd_writer_module(writer, &id, &module) : status;
    return status == OPD_OK ? opd_writer_thread(writer, 4711, THREAD, HOSTILE) : status;
}

static opd_status write_hostile_calls(opd_writer *writer)
{
    opd_case item = { 0 };
    opd_call call = { .thread = THREAD, .number = 3, .begin_ns = 1, .end_ns = 2, .dtype = OPD_F32, .operand_count = 1 };
    PUT_HOSTILE(call.domain);
    PUT_HOSTILE(call.name);
    PUT_HOSTILE(call.symbol);
    PUT_HOSTILE(call.operands[0].name);
    call.operands[0].role = OPD_ROLE_IN;
    opd_status status = make_gemm(&item, 4, 2, 1e160);
    if (status == OPD_OK) {
        PUT_HOSTILE(item.call.symbol);
        status = opd_writer_call_with_data(writer, &item.call);
    }
    opd_case_done(&item);
    return status == OPD_OK ? opd_writer_call(writer, &call) : status;
}

static opd_status write_hostile_failure(opd_writer *writer)
{
    opd_failure failure = {
        .outcome = OPD_OUTCOME_NAN_BORN, .thread = THREAD, .call_number = 2, .index_rank = -1, .pc = 0x1010
    };
    opd_frame frame = { .address = 0x1010, .module = 1 };
    opd_stack stack = { .thread = THREAD, .state = OPD_STACK_CRASHED, .frames = &frame, .frame_count = 1 };
    opd_crash_info crash = {
        .thread = THREAD, .access = OPD_ACCESS_READ, .address = 0x10, .place = OPD_PLACE_AFTER, .index_rank = -1
    };
    opd_lineage lineage = { .step = "" };
    PUT_HOSTILE(failure.operand);
    PUT_HOSTILE(failure.pc_symbol);
    PUT_HOSTILE(failure.label);
    PUT_HOSTILE(failure.reason);
    PUT_HOSTILE(frame.symbol);
    PUT_HOSTILE(stack.name);
    PUT_HOSTILE(crash.operand);
    PUT_HOSTILE(lineage.parent);
    PUT_HOSTILE(lineage.step);
    PUT_HOSTILE(lineage.verdict);
    opd_status status = opd_writer_failure(writer, &failure);
    status = status == OPD_OK ? opd_writer_stack(writer, &stack) : status;
    status = status == OPD_OK ? opd_writer_crash(writer, &crash) : status;
    return status == OPD_OK ? opd_writer_lineage(writer, &lineage) : status;
}

/* Every text that a bundle can hold. */
static opd_status write_hostile(opd_writer *writer)
{
    static const char *const kinds_of_event[] = { "note", "seed",   "state",  "overhead",
                                                  "mark", "golden", "recipe", HOSTILE };
    opd_status status = write_hostile_machine(writer);
    status = status == OPD_OK ? write_hostile_calls(writer) : status;
    status = status == OPD_OK ? write_hostile_failure(writer) : status;
    for (size_t i = 0; i < OPD_COUNT(kinds_of_event) && status == OPD_OK; i++) {
        opd_event event = { .thread = THREAD, .value = 2 };
        snprintf(event.kind, sizeof event.kind, "%s", kinds_of_event[i]);
        PUT_HOSTILE(event.name);
        status = opd_writer_event(writer, &event);
    }
    return status;
}

static const struct {
    const char *name;
    const char *kind;
    uint32_t version;
    opd_status (*write)(opd_writer *writer);
    const char *capture;
} kinds[] = {
    { "nan", "failure", OPD_FORMAT_VERSION, write_nan, "inputs" },
    { "fine", "run", OPD_FORMAT_VERSION, write_fine, "inputs" },
    { "list", "run", OPD_FORMAT_VERSION, write_list, "inputs" },
    { "list-meta", "run", OPD_FORMAT_VERSION, write_list, "meta" },
    { "several", "run", OPD_FORMAT_VERSION, write_several, "inputs" },
    { "unknown-operator", "failure", OPD_FORMAT_VERSION, write_unknown, "inputs" },
    { "hostile", HOSTILE, OPD_FORMAT_VERSION, write_hostile, HOSTILE },
    { "other-version", "failure", OPD_FORMAT_VERSION + 98, write_nan, "inputs" },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < OPD_COUNT(kinds); i++) {
        if (strcmp(argv[1], kinds[i].name) != 0) {
            continue;
        }
        opd_writer *writer = NULL;
        opd_header_info header = header_of(kinds[i].kind);
        header.version = kinds[i].version;
        snprintf(header.capture, sizeof header.capture, "%s", kinds[i].capture);
        if (kinds[i].write == write_hostile) {
            PUT_HOSTILE(header.producer);
            PUT_HOSTILE(header.program);
            PUT_HOSTILE(header.command);
        }
        opd_status status = opd_writer_open(&writer, argv[2], &header);
        if (status == OPD_OK) {
            status = opd_writer_thread(writer, 4711, THREAD, "solver");
        }
        if (status == OPD_OK) {
            status = kinds[i].write(writer);
        }
        if (status == OPD_OK) {
            status = opd_writer_close(writer);
        }
        if (status != OPD_OK) {
            fprintf(stderr, "make_bundle: %s\n", opd_error_text());
        }
        return status == OPD_OK ? 0 : 1;
    }
    fprintf(stderr, "usage: make_bundle KIND PATH\n");
    return 2;
}
